//! Redundancy: while no member fails, no planned change leaves a range with fewer members than before and than it is to
//! have, and no copy is given up before every member of the chains that have its keys has one.

use std::collections::BTreeSet;

use fawn_kv::chain::Replica;
use fawn_kv::ids::{NodeId, RangeId};
use fawn_kv::manager::{Command, Into, Standing, State};
use fawn_ring::{Interval, MachineId};

use crate::cluster::processes::Processes;

/// What planned changes must leave.
pub struct Redundancy {
    /// The fewest members that ranges were ever to have.
    fewest_wanted: usize,
    /// Nothing happens by which a node could seem to have failed.
    spares_members: bool,
    /// The first node may leave no chain.
    keeps_first: bool,
}

impl Redundancy {
    /// Of a run that spares its members, or keeps the first node in all chains, or neither.
    pub fn new(replicas: u32, spares_members: bool, keeps_first: bool) -> Self {
        Self { fewest_wanted: replicas as usize, spares_members, keeps_first }
    }

    /// A member fails.
    pub fn note_failure(&mut self) {
        self.spares_members = false;
    }

    /// A command has changed the chains of these ranges, as is `agreed` now; before, the ranges that it has changed or ended
    /// had at least so many members. Whether it is a planned change.
    ///
    /// # Errors
    /// A range has too few members, or lacks one that may leave no chain.
    pub fn look_at_change(
        &mut self,
        agreed: &State,
        changed: &[RangeId],
        least: Option<usize>,
    ) -> Result<bool, String> {
        self.fewest_wanted = self.fewest_wanted.min(agreed.settings.replicas as usize);
        self.look_for_the_first(agreed, changed)?;
        let Some(least) = least.filter(|least| self.spares_members && *least > 0) else { return Ok(false) };
        // An attempt may have been planned before the operator asked for more.
        let members = agreed.nodes.values().filter(|node| node.standing == Standing::Member);
        let machines: BTreeSet<MachineId> = members.map(|node| node.machine).collect();
        let least = least.min(self.fewest_wanted).min(machines.len());
        for id in changed {
            let chain = &agreed.ranges[id].chain;
            if chain.members.len() < least {
                return Err(format!("no member failed, but {id:?} has fewer than {least} members: {chain:?}"));
            }
        }
        Ok(true)
    }

    /// Where only the second of two nodes is wiped, and links to it come up late, the first stays in every chain.
    fn look_for_the_first(&self, agreed: &State, changed: &[RangeId]) -> Result<(), String> {
        let mut chains = changed.iter().filter(|_| self.keeps_first).map(|id| &agreed.ranges[id].chain);
        match chains.find(|chain| !chain.has_node(NodeId(0))) {
            Some(chain) => Err(format!("the first node gave way to a newcomer that nobody reached: {chain:?}")),
            None => Ok(()),
        }
    }

    /// A node is told to drop a range: every member of the chains that have its keys has all of them. Whether it was planned.
    ///
    /// # Errors
    /// A member has no whole copy.
    pub fn look_at_drop(
        &self,
        agreed: &State,
        processes: &Processes,
        number: usize,
        dropped: RangeId,
    ) -> Result<bool, String> {
        let replica = processes.nodes[number].node().and_then(|node| node.replica(dropped));
        let Some(keys) = replica.map(Replica::keys).filter(|_| self.spares_members) else { return Ok(false) };
        let has = |node: usize, keys: &Interval| {
            let Some(node) = processes.nodes[node].node() else { return false };
            let mut copies = node.replicas().filter(|(_, replica)| replica.is_complete());
            copies.any(|(_, replica)| replica.keys().overlaps(keys))
        };
        for (id, range) in agreed.ranges.iter().filter(|(_, range)| range.chain.keys.overlaps(&keys)) {
            let chain = &range.chain;
            if let Some(member) = chain.members.iter().find(|member| !has(member.node.number() as usize, &chain.keys)) {
                return Err(format!(
                    "node {number} is to drop {dropped:?}, but {member:?} has no whole copy of {id:?}: {chain:?}"
                ));
            }
        }
        Ok(true)
    }
}

/// The ranges that a command changes, or ends.
pub fn parents(agreed: &State, command: &Command) -> Vec<RangeId> {
    let Command::Activate { range, into, .. } = command else { return Vec::new() };
    let upper = if let Into::Merge { upper } = into { Some(*upper) } else { None };
    std::iter::once(*range).chain(upper).filter(|range| agreed.ranges.contains_key(range)).collect()
}

/// Of a merge and a wedge that passes on at the same time the one ends while the other goes on.
pub fn meets_take_over(agreed: &State, command: &Command) -> bool {
    let wedges = agreed.wedges.wedges();
    match command {
        Command::Activate { into: Into::Merge { .. }, .. } => {
            let merged = parents(agreed, command);
            let mut keys = merged.iter().map(|range| agreed.ranges[range].chain.keys);
            keys.any(|keys| wedges.iter().any(|wedge| wedge.released && wedge.keys.overlaps(&keys)))
        }
        Command::WedgeGrant { wedge, .. } => {
            let Some(wedge) = wedges.get(wedge.0 as usize).filter(|wedge| wedge.released) else { return false };
            let merges = |into: Into| matches!(into, Into::Merge { .. } | Into::MergedBy { .. });
            let mut merged = agreed.under_way.iter().map(|range| &agreed.ranges[range]);
            merged.any(|range| {
                let pending = range.pending.as_ref();
                pending.is_some_and(|pending| merges(pending.into)) && range.chain.keys.overlaps(&wedge.keys)
            })
        }
        _ => false,
    }
}
