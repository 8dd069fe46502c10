//! `fawn node drain` and `fawn node remove`: members that leave.

use std::time::Duration;

use anyhow::bail;
use fawn_kv::ids::SeatId;
use fawn_kv::manager::roster::Member;
use fawn_kv::status::unserved::DUMP;
use fawn_kv::status::{Question, Status};

use super::arguments::{DrainArguments, NodeCommand, RemoveArguments};
use super::status::short_ranges;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::tell::tell;

/// Between two looks at a member that leaves.
const LOOK: Duration = Duration::from_millis(500);

/// Does what is below `fawn node`.
pub fn run(command: &NodeCommand) -> anyhow::Result<CommandStatus> {
    match command {
        NodeCommand::Drain(arguments) => drain(arguments),
        NodeCommand::Remove(arguments) => remove(arguments),
    }
}

fn remove(arguments: &RemoveArguments) -> anyhow::Result<CommandStatus> {
    let RemoveArguments { managers, name, force } = arguments;
    let before = managers.status()?;
    let seats: Vec<SeatId> = before.roster.members.get(name).into_iter().flat_map(Member::seats).collect();
    let alone = before.held_alone(|seat| seats.contains(&seat));
    managers.order(&Question::Remove { name: name.clone(), force: *force })?;
    tell(format_args!("{name} is no longer a member of the cluster"));
    if alone > 0 {
        let ranges = before.ranges.len();
        tell(format_args!(
            "no other member had the latest data of {alone} of {ranges} ranges, which are now out of service: {DUMP}"
        ));
    }
    if managers.certs.certs.is_some() {
        tell(format_args!(
            "the certificate of {name} is no longer valid for a member; if it is also a manager's, it is still \
            valid for that (see fawn certs show)"
        ));
    }
    Ok(CommandStatus::Done)
}

fn drain(arguments: &DrainArguments) -> anyhow::Result<CommandStatus> {
    let DrainArguments { managers, name, undo, no_wait } = arguments;
    let before = ranges_of(&managers.status()?, name)?;
    managers.order(&Question::Drain { name: name.clone(), leave: !undo })?;
    if *undo {
        tell(format_args!("{name} stays"));
        return Ok(CommandStatus::Done);
    }
    if *no_wait {
        tell(format_args!(
            "{name} is draining: it has {before} ranges now; fawn status shows drained once other members have all \
            of its data"
        ));
        return Ok(CommandStatus::Done);
    }
    let progress = TerminalBar::ranges(before as u64);
    let mut least = before;
    loop {
        let status = managers.status()?;
        let left = ranges_of(&status, name)?;
        least = least.min(left);
        progress.update((before - least) as u64, format!("{left} ranges left"));
        if left == 0 {
            progress.finish();
            tell(format_args!("other members have all data of {name}: stop it, and run fawn node remove {name}"));
            if let Some(warning) = fewer_copies(&status) {
                tell(format_args!("{warning}"));
            }
            return Ok(CommandStatus::Done);
        }
        std::thread::sleep(LOOK);
    }
}

/// What there are too few members for, once one of them has left: a sentence.
fn fewer_copies(status: &Status) -> Option<String> {
    let wanted = status.settings.replicas;
    let short = short_ranges(status);
    let least = status.ranges.iter().map(|range| range.chain.members.len()).min()?;
    let ranges = status.ranges.len();
    (short > 0).then(|| {
        format!(
            "{short} of {ranges} ranges now have fewer than {wanted} copies, the least {least}: add a node, or \
            lower fawn cluster set --replicas"
        )
    })
}

/// Ranges whose chain a member is in.
fn ranges_of(status: &Status, name: &str) -> anyhow::Result<usize> {
    let Some(member) = status.roster.members.get(name) else {
        bail!("there is no member {name}: see fawn status");
    };
    let seats: Vec<SeatId> = member.seats().collect();
    let is_in = |range: &&fawn_kv::status::RangeStatus| {
        range.chain.members.iter().any(|member| seats.iter().any(|seat| u64::from(seat.0) == member.node.0))
    };
    Ok(status.ranges.iter().filter(is_in).count())
}
