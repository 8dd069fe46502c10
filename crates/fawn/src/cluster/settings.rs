//! `fawn cluster set` and `fawn rebalance`.

use std::collections::BTreeMap;
use std::io::Write;

use fawn_kv::ids::SeatId;
use fawn_kv::manager::roster::Roster;
use fawn_kv::status::{Answer, NewSettings, PlannedChange, Question};

use super::arguments::{ClusterArguments, ClusterCommand, RebalanceArguments, SetClusterArguments};
use super::managers::unexpected;
use super::status::{ack_told, new_table, share};
use crate::outcome::CommandStatus;
use crate::tell::{tell, unless_closed};

/// Does what is below `fawn cluster`.
pub fn run(arguments: &ClusterArguments) -> anyhow::Result<CommandStatus> {
    let ClusterCommand::Set(SetClusterArguments { managers, new }) = &arguments.command;
    let new = NewSettings {
        replicas: new.replicas,
        ack: new.ack.map(Into::into),
        min_write_replicas: new.min_write_replicas,
        spread_reads: new.spread_reads,
        unsynced: new.unsynced,
    };
    managers.order(&Question::Set(new))?;
    tell(format_args!("the cluster has new settings: {}", changed(&new)));
    Ok(CommandStatus::Done)
}

/// Settings that were changed, for people.
fn changed(new: &NewSettings) -> String {
    let NewSettings { replicas, ack, min_write_replicas, spread_reads, unsynced } = new;
    let told = [
        replicas.map(|replicas| format!("replicas {replicas}")),
        ack.map(|ack| format!("ack {}", ack_told(ack))),
        min_write_replicas.map(|least| format!("min-write-replicas {least}")),
        spread_reads.map(|spread| format!("spread-reads {spread}")),
        unsynced.map(|unsynced| format!("unsynced {unsynced}")),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Prints which ranges would change.
pub fn rebalance(arguments: &RebalanceArguments) -> anyhow::Result<CommandStatus> {
    let question = Question::Plan { without: arguments.without.clone() };
    let changes = match arguments.managers.ask(&question)? {
        Answer::Plan(changes) => changes,
        other => return unexpected(other),
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut out, &changes).map_err(std::io::Error::from)?;
        unless_closed(writeln!(out))?;
        return Ok(CommandStatus::Done);
    }
    let roster = arguments.managers.status()?.roster;
    unless_closed(out.write_all(told(&changes, &roster).as_bytes()))?;
    Ok(CommandStatus::Done)
}

fn told(changes: &[PlannedChange], roster: &Roster) -> String {
    if changes.is_empty() {
        return "nothing would change\n".to_owned();
    }
    let name = |seat: &SeatId| match roster.member_of(*seat) {
        Some((name, member)) if member.said.seats > 1 => format!("{name}/{}", seat.0 - member.first.0),
        Some((name, _)) => name.to_owned(),
        None => format!("seat {}", seat.number()),
    };
    let names = |seats: &[SeatId]| seats.iter().map(&name).collect::<Vec<_>>().join(" → ");
    let mut table = new_table(["keys", "share", "chain", "would be"]);
    let mut gains: BTreeMap<SeatId, f64> = BTreeMap::new();
    for PlannedChange { keys, from, to } in changes {
        let (keys_told, part) = (format!("{:?}", keys.high), share(keys));
        for seat in to.iter().filter(|seat| !from.contains(seat)) {
            *gains.entry(*seat).or_default() += part;
        }
        table.add_row([
            format!("up to {}", &keys_told[..8.min(keys_told.len())]),
            percent(part),
            names(from),
            names(to),
        ]);
    }
    let gains = gains.iter().map(|(seat, part)| format!("{} would copy {} of all keys\n", name(seat), percent(*part)));
    format!("{table}\n{}", gains.collect::<String>())
}

/// A part as a percentage.
fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
