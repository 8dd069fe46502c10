//! What is agreed, and redundancy: while no member fails, no planned change leaves a range with fewer members than before
//! and than it is to have, and no copy is given up before every member of the chains that have its keys has one.

use std::collections::BTreeSet;

use fawn_kv::chain::Replica;
use fawn_kv::ids::{NodeId, RangeId};
use fawn_kv::manager::{Command, Into, Standing};
use fawn_ring::{Interval, MachineId};

use super::acts::Act;
use super::courses::LATE_US;
use super::coverage::Seen;
use super::script::Script;
use super::world::{Party, World};

impl Act {
    /// Whether no node can seem to have failed by it.
    pub(super) fn spares_members(&self) -> bool {
        match self {
            Self::Lead { .. }
            | Self::Lag { .. }
            | Self::RestartManager { .. }
            | Self::Clock { .. }
            | Self::ClockJump { .. }
            | Self::Drain { .. }
            | Self::Stay { .. }
            | Self::Replicas { .. }
            | Self::Rules { .. }
            | Self::CrashFront { .. }
            | Self::PauseFront { .. }
            | Self::Join { .. }
            | Self::Ask { .. }
            | Self::Nothing => true,
            Self::Crash { .. }
            | Self::CrashAt { .. }
            | Self::PowerFailure { .. }
            | Self::LoseDisk { .. }
            | Self::OtherDisk { .. }
            | Self::Cut { .. }
            | Self::Sever { .. }
            | Self::Pause { .. }
            | Self::PauseAtRead { .. }
            | Self::Network { .. }
            | Self::HoldBack { .. }
            | Self::HoldBackAt { .. }
            | Self::Full { .. }
            | Self::BadRead { .. }
            | Self::FailDisk { .. }
            | Self::CutFront { .. } => false,
        }
    }
}

impl Script {
    /// Whether the first of two nodes, which are to have all ranges, is spared by all that happens: only the second fails,
    /// and links to it come up again sooner than managers take them for broken.
    pub(super) fn keeps_first(&self) -> bool {
        let second = Party::Node(1);
        let spares = |act: &Act| match act {
            Act::LoseDisk { node, .. } | Act::Crash { node, .. } => *node == 1,
            Act::Cut { links, .. } => links.iter().all(|(from, to)| {
                let is_member = |party: &Party| !matches!(party, Party::Manager(_) | Party::Client(_));
                (*from == second || *to == second) && is_member(from) && is_member(to)
            }),
            Act::Lead { manager } => manager.is_some(),
            Act::Ask { .. } | Act::Nothing => true,
            _ => false,
        };
        let is_soon = |(at_us, act): &(u64, Act)| {
            let Act::Cut { for_us: cut_us, .. } = act else { return true };
            self.acts.iter().any(|(other_us, other)| {
                matches!(other, Act::LoseDisk { for_us, .. } if other_us == at_us && *cut_us <= for_us + LATE_US)
            })
        };
        let (plan, wipes) = (self.plan, self.has(|act| matches!(act, Act::LoseDisk { .. })));
        let fits = plan.nodes == 2 && plan.replicas == 2 && plan.late == 0 && wipes;
        fits && self.acts.iter().all(|act| spares(&act.1) && is_soon(act))
    }
}

impl World {
    /// A command is agreed.
    pub(super) fn agree(&mut self, command: &Command) -> Result<(), String> {
        self.look_for_losses(command);
        self.see(command);
        let loses = self.owners_lost_by(command);
        let parents = self.parents(command);
        let least = parents.iter().map(|range| self.agreed.ranges[range].chain.members.len()).min().unwrap_or(0);
        let Some(did) = self.agreed.apply(command) else { return Ok(()) };
        self.fewest_wanted = self.fewest_wanted.min(self.agreed.settings.replicas as usize);
        self.weaken(&loses);
        self.look_for_the_first(&did.active)?;
        if !self.spares_members || parents.is_empty() || least == 0 {
            return Ok(());
        }
        self.summary.coverage.see(Seen::PlannedChange);
        // An attempt may have been planned before the operator asked for more.
        let members = self.agreed.nodes.values().filter(|node| node.standing == Standing::Member);
        let machines: BTreeSet<MachineId> = members.map(|node| node.machine).collect();
        let least = least.min(self.fewest_wanted).min(machines.len());
        for id in did.active {
            let chain = &self.agreed.ranges[&id].chain;
            if chain.members.len() < least {
                return Err(format!("no member failed, but {id:?} has fewer than {least} members: {chain:?}"));
            }
        }
        Ok(())
    }

    /// Where only the second of two nodes is wiped, and links to it come up late, the first stays in every chain.
    fn look_for_the_first(&self, active: &[RangeId]) -> Result<(), String> {
        let chains = active.iter().filter(|_| self.keeps_first).map(|id| &self.agreed.ranges[id].chain);
        match chains.into_iter().find(|chain| !chain.has_node(NodeId(0))) {
            Some(chain) => Err(format!("the first node gave way to a newcomer that nobody reached: {chain:?}")),
            None => Ok(()),
        }
    }

    /// The ranges that a command changes, or ends.
    pub(super) fn parents(&self, command: &Command) -> Vec<RangeId> {
        let Command::Activate { range, into, .. } = command else { return Vec::new() };
        let upper = if let Into::Merge { upper } = into { Some(*upper) } else { None };
        std::iter::once(*range).chain(upper).filter(|range| self.agreed.ranges.contains_key(range)).collect()
    }

    /// A node is told to drop a range: every member of the chains that have its keys has all of them.
    pub(super) fn look_at_drop(&mut self, number: usize, dropped: RangeId) -> Result<(), String> {
        let replica = self.places[number].node.as_ref().and_then(|node| node.replica(dropped));
        let Some(keys) = replica.map(Replica::keys) else { return Ok(()) };
        if !self.spares_members {
            return Ok(());
        }
        let has = |node: usize, keys: &Interval| {
            let Some(node) = &self.places[node].node else { return false };
            let mut copies = node.replicas().filter(|(_, replica)| replica.is_complete());
            copies.any(|(_, replica)| replica.keys().overlaps(keys))
        };
        for (id, range) in self.agreed.ranges.iter().filter(|(_, range)| range.chain.keys.overlaps(&keys)) {
            let chain = &range.chain;
            if let Some(member) = chain.members.iter().find(|member| !has(member.node.0 as usize, &chain.keys)) {
                return Err(format!(
                    "node {number} is to drop {dropped:?}, but {member:?} has no whole copy of {id:?}: {chain:?}"
                ));
            }
        }
        self.summary.coverage.see(Seen::PlannedDrop);
        Ok(())
    }

    /// Of a merge and a wedge that passes on at the same time the one ends while the other goes on.
    pub(super) fn meets_take_over(&self, command: &Command) -> bool {
        let wedges = self.agreed.wedges.wedges();
        match command {
            Command::Activate { into: Into::Merge { .. }, .. } => {
                let merged = self.parents(command);
                let mut keys = merged.iter().map(|range| self.agreed.ranges[range].chain.keys);
                keys.any(|keys| wedges.iter().any(|wedge| wedge.released && wedge.keys.overlaps(&keys)))
            }
            Command::WedgeGrant { wedge, .. } => {
                let Some(wedge) = wedges.get(wedge.0 as usize).filter(|wedge| wedge.released) else { return false };
                let merges = |into: Into| matches!(into, Into::Merge { .. } | Into::MergedBy { .. });
                let mut merged = self.agreed.under_way.iter().map(|range| &self.agreed.ranges[range]);
                merged.any(|range| {
                    let pending = range.pending.as_ref();
                    pending.is_some_and(|pending| merges(pending.into)) && range.chain.keys.overlaps(&wedge.keys)
                })
            }
            _ => false,
        }
    }
}
