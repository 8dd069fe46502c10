//! What operators order, as decisions.

use super::committed::CommittedState;
use super::seats::{Liveness, node_of};
use crate::replicated_state::Decision;
use fawn_kv::ids::Consistency;
use fawn_kv::manager::roster::Change;
use fawn_kv::manager::{Command, Settings, Standing, State};
use fawn_kv::status::unserved::{DUMP, held_alone};
use fawn_kv::status::{NewSettings, PlannedChange, Question};
use fawn_ring::NodeId;
use std::collections::BTreeSet;

/// What an operator orders, for the log; nothing for a question alone.
pub fn describe(committed: &CommittedState, question: &Question) -> String {
    match question {
        Question::Drain { name, leave: true } => format!("drains {name}"),
        Question::Drain { name, leave: false } => format!("cancels the drain of {name}"),
        Question::Remove { name, force: false } => format!("removes {name}"),
        Question::Remove { name, force: true } => format!("removes {name} by force"),
        Question::Set(new) => {
            let before = committed.state().ok().map(|state| state.settings);
            let changes = before.map(|before| changed(&before, new)).unwrap_or_default();
            format!("changes settings: {changes}")
        }
        Question::Status
        | Question::Plan { .. }
        | Question::Backup
        | Question::AddManager { .. }
        | Question::RemoveManager { .. } => String::new(),
    }
}

/// A member is to leave, or to stay after all.
///
/// # Errors
/// Too few machines would be left, or there is no such member.
pub fn drain(committed: &CommittedState, name: &str, leave: bool) -> Result<Vec<Decision>, String> {
    let (member, state) = (committed.member(name)?, committed.state()?);
    let nodes: BTreeSet<NodeId> = member.seats().map(node_of).collect();
    let standing = if leave { Standing::Draining } else { Standing::Member };
    if leave {
        let rest = state.nodes.iter().filter(|(id, node)| node.standing == Standing::Member && !nodes.contains(id));
        let machines: BTreeSet<_> = rest.map(|(_, node)| node.machine).collect();
        let least = usize::from(state.settings.rules.min_write_replicas).max(1);
        if machines.len() < least && nodes.iter().any(|node| state.nodes.contains_key(node)) {
            return Err(format!(
                "without {name} there are {} machines that keep data, and writes need {least}: add one first",
                machines.len()
            ));
        }
        leaves_one_that_serves(state, &nodes, name)?;
    }
    let stand = |node: &NodeId| {
        let known = state.nodes.get(node).filter(|known| known.standing != standing)?;
        let command = Command::Stand { node: *node, incarnation: known.incarnation, standing };
        Some(Decision::command(&command))
    };
    Ok(nodes.iter().filter_map(stand).collect())
}

/// Archives are never to be alone: nobody would make new data durable at once, and chains have one node that serves.
fn leaves_one_that_serves(state: &State, nodes: &BTreeSet<NodeId>, name: &str) -> Result<(), String> {
    let mut rest = state.nodes.iter().filter(|(id, node)| node.standing == Standing::Member && !nodes.contains(id));
    let takes_one = nodes.iter().any(|id| !id.is_archive() && state.nodes.contains_key(id));
    let leaves_archives = rest.clone().next().is_some();
    if takes_one && leaves_archives && rest.all(|(id, _)| id.is_archive()) {
        return Err(format!(
            "without {name} there are only archives: add a node that serves first, which copies from them"
        ));
    }
    Ok(())
}

/// A member is gone for good.
///
/// # Errors
/// It runs, or data would be lost, and the order is not by force; or only archives would be left.
pub fn remove(
    committed: &CommittedState,
    alive: Liveness<'_>,
    name: &str,
    force: bool,
) -> Result<Vec<Decision>, String> {
    let facts = committed.facts();
    if facts.struck.contains(name) {
        // Whoever asked did not hear that it was done, and asks again.
        return Ok(Vec::new());
    }
    let (member, state) = (committed.member(name)?, committed.state()?);
    if !force && alive.is_alive(member.seats()) {
        return Err(format!(
            "{name} still runs: stop it first (after fawn node drain {name}), or remove it with --force"
        ));
    }
    let nodes: BTreeSet<NodeId> = member.seats().map(node_of).collect();
    leaves_one_that_serves(state, &nodes, name)?;
    let left = nodes.iter().filter_map(|node| state.by_node.get(node)).map(BTreeSet::len).sum::<usize>();
    let is_its = |seat| nodes.contains(&node_of(seat));
    let is_known = |seat| facts.roster.member_of(seat).is_some();
    let alone = held_alone(state.ranges.values().map(|range| &range.chain), is_its, is_known);
    if !force && alone > 0 {
        let ranges = state.ranges.len();
        return Err(format!(
            "{name} alone has the latest data of {alone} of {ranges} ranges, which nobody can serve without it: \
            start it with its directory, or {DUMP}"
        ));
    }
    if !force && left > 0 {
        return Err(format!(
            "{name} is still in the chains of {left} ranges: drain it, wait until others have its data, or \
            remove it with --force and lose what only it has"
        ));
    }
    let stand = |node: &NodeId| {
        let known = state.nodes.get(node).filter(|known| known.standing != Standing::Gone)?;
        let (incarnation, standing) = (known.incarnation, Standing::Gone);
        Some(Decision::command(&Command::Stand { node: *node, incarnation, standing }))
    };
    let mut decisions: Vec<Decision> = nodes.iter().filter_map(stand).collect();
    decisions.push(Decision::Roster(Change::Strike { name: name.to_owned() }));
    Ok(decisions)
}

/// Other settings.
///
/// # Errors
/// No cluster can go by them.
pub fn set(committed: &CommittedState, new: NewSettings) -> Result<Vec<Decision>, String> {
    let before = committed.state()?.settings;
    if new.min_write_replicas == Some(0) {
        return Err("a write needs at least one replica: set --min-write-replicas to 1 or more".to_owned());
    }
    let mut rules = before.rules;
    rules.ack = new.ack.unwrap_or(rules.ack);
    rules.min_write_replicas = new.min_write_replicas.unwrap_or(rules.min_write_replicas);
    rules.spread_reads = new.spread_reads.unwrap_or(rules.spread_reads);
    rules.unsynced = new.unsynced.unwrap_or(rules.unsynced);
    let settings = Settings { replicas: new.replicas.unwrap_or(before.replicas), rules, ..before };
    settings.check().map_err(|error| error.to_string())?;
    if rules.spread_reads && rules.consistency == Consistency::Weak && new.spread_reads.is_some() {
        return Err("this cluster is weak, and only the owner of a key answers gets: leave --spread-reads false".into());
    }
    let command = (settings != before).then(|| Decision::command(&Command::Set(settings)));
    Ok(command.into_iter().collect())
}

/// What would change without these members.
///
/// # Errors
/// There is no such member.
pub fn plan(committed: &CommittedState, without: &[String]) -> Result<Vec<PlannedChange>, String> {
    let state = committed.state()?;
    let mut nodes = BTreeSet::new();
    for name in without {
        nodes.extend(committed.member(name)?.seats().map(node_of));
    }
    Ok(state.would_change(&nodes))
}

/// Which settings become what.
fn changed(before: &Settings, new: &NewSettings) -> String {
    let rules = &before.rules;
    let ack = |ack| format!("{ack:?}").to_lowercase();
    let changes = [
        ("replicas", before.replicas.to_string(), new.replicas.map(|new| new.to_string())),
        ("ack", ack(rules.ack), new.ack.map(ack)),
        ("min-write-replicas", rules.min_write_replicas.to_string(), new.min_write_replicas.map(|new| new.to_string())),
        ("spread-reads", rules.spread_reads.to_string(), new.spread_reads.map(|new| new.to_string())),
        ("unsynced", rules.unsynced.to_string(), new.unsynced.map(|new| new.to_string())),
    ];
    let texts = changes.into_iter().filter_map(|(name, before, new)| {
        let new = new.filter(|new| *new != before)?;
        Some(format!("{name} {before} to {new}"))
    });
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::seats::Seats;
    use super::super::testing;
    use super::*;
    use crate::links::table::LinkTable;
    use fawn_kv::ids::{Ack, Rules};
    use fawn_kv::manager::roster::{Enrolment, NodeClass};
    use fawn_kv::manager::{Effects, Leases};
    use fawn_ring::MachineId;

    #[test]
    fn settings_that_change_are_told_with_what_they_were() {
        let before = Settings { replicas: 3, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let new = NewSettings {
            replicas: Some(2),
            min_write_replicas: Some(2),
            ack: Some(Ack::Durable),
            ..NewSettings::default()
        };
        let text = changed(&before, &new);
        let least = before.rules.min_write_replicas;
        assert_eq!(text, format!("replicas 3 to 2, min-write-replicas {least} to 2"), "what stays is not told");
    }

    #[test]
    fn settings_that_no_cluster_can_go_by_are_refused_and_those_that_are_in_force_change_nothing() {
        let committed = testing::committed(&[]);
        let replicas = |replicas| NewSettings { replicas: Some(replicas), ..NewSettings::default() };
        assert_eq!(set(&committed, replicas(1)), Ok(Vec::new()));
        assert_eq!(set(&committed, replicas(3)).map(|decisions| decisions.len()), Ok(1));
        let none = NewSettings { min_write_replicas: Some(0), ..NewSettings::default() };
        assert!(set(&committed, none).unwrap_err().contains("at least one replica"));
    }

    #[test]
    fn the_last_node_that_serves_neither_leaves_nor_is_removed_while_there_are_archives() {
        let mut committed = testing::committed(&["a", "b"]);
        let archive = Enrolment { node: NodeClass::Archive, ..testing::enrolment("c") };
        assert!(committed.apply(&Decision::Roster(Change::Enrol(archive)), 0).did);
        let nodes = ["a", "b", "c"].map(|name| node_of(committed.member(name).unwrap().seats().next().unwrap()));
        let decide = |committed: &mut CommittedState, command: &Command| {
            committed.manager_mut().unwrap().committed(0, command, &mut Effects::default());
        };
        for node in nodes {
            let machine = MachineId(node.0);
            decide(&mut committed, &Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 1 });
        }
        let (seats, table) = (Seats::default(), LinkTable::default());
        let alive = Liveness { seats: &seats, table: &table, led_us: 0, now_us: 0 };
        assert!(remove(&committed, alive, "a", true).is_ok() && drain(&committed, "c", true).is_ok());
        let (node, incarnation) = (nodes[0], committed.state().unwrap().nodes[&nodes[0]].incarnation);
        decide(&mut committed, &Command::Stand { node, incarnation, standing: Standing::Gone });
        let why = drain(&committed, "b", true).unwrap_err();
        assert!(why.contains("only archives"), "{why}");
        assert_eq!(remove(&committed, alive, "b", true).unwrap_err(), why);
        assert!(remove(&committed, alive, "c", true).is_ok());
        assert!(drain(&committed, "b", false).is_ok());
    }

    #[test]
    fn a_member_without_ranges_that_does_not_run_is_removed_and_only_once() {
        let mut committed = testing::committed(&["a", "b"]);
        let (seats, table) = (Seats::default(), LinkTable::default());
        let alive = Liveness { seats: &seats, table: &table, led_us: 0, now_us: 0 };
        let strike = Decision::Roster(Change::Strike { name: "a".to_owned() });
        assert_eq!(remove(&committed, alive, "a", false), Ok(vec![strike.clone()]));
        assert!(remove(&committed, alive, "c", false).unwrap_err().contains("there is no member c"));
        committed.apply(&Decision::Version(fawn_kv::wire::version::NEWEST), 0);
        committed.apply(&strike, 0);
        assert_eq!(remove(&committed, alive, "a", false), Ok(Vec::new()), "it is done already");
    }
}
