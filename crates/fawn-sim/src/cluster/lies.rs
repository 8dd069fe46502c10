//! Clocks that are wrong for so long that processes go by them: what may expire then, and what must not come back.
//!
//! A range's time that was stamped by such a clock may be set back to the right time, and what had expired since is there
//! again. It is never set back any further: then what everybody has seen to expire would come back.

use std::collections::BTreeMap;

use fawn_kv::ids::RangeId;
use fawn_kv::node::Node;
use fawn_ring::Interval;

use super::node_store::NodeStore;
use super::place::RIGHT_S;
use super::world::World;

/// What is watched once some process goes by a clock that is wrong.
#[derive(Debug, Default)]
pub(super) struct Lying {
    /// The times of the ranges of each node in its life.
    times: BTreeMap<(usize, RangeId), (u32, u32)>,
    /// What time it was when a log first had a record of each second. It may be committed long after that.
    stamped: BTreeMap<u32, u32>,
}

/// A range's time was set back to a second.
#[derive(Debug)]
pub(super) struct SetBack {
    range: RangeId,
    keys: Interval,
    time: u32,
    /// What time it was when that was stamped.
    right: u32,
}

impl Lying {
    /// The ranges of a node, in a life of it, whose time was set back.
    pub(super) fn look(&mut self, (number, run): (usize, u32), node: &Node<NodeStore>, right: u32) -> Vec<SetBack> {
        let mut all = Vec::new();
        for (range, replica) in node.replicas() {
            self.stamped.entry(replica.last_time()).or_insert(right);
            if !replica.is_complete() {
                // What is split, merged or copied again is another range: a copy has the time of its source.
                self.times.remove(&(number, range));
                continue;
            }
            let time = replica.meta().alive.time;
            let before = self.times.insert((number, range), (run, time));
            if before.is_some_and(|(other, before)| other == run && time < before) {
                let right = self.stamped.get(&time).copied().unwrap_or(right);
                all.push(SetBack { range, keys: replica.keys(), time, right });
            }
        }
        all
    }
}

impl World {
    /// A process goes by a clock that is wrong: whatever has an expiry may be gone from now on, and nothing needs to be.
    pub(super) fn clocks_lie(&mut self) -> Result<(), String> {
        if self.lying.is_some() {
            return Ok(());
        }
        self.lying = Some(Lying::default());
        for (key, value, expiry) in std::mem::take(&mut self.expiring) {
            self.expires_ever(key, value, expiry)?;
        }
        let flushes: Vec<u64> = self.later.iter().map(|later| later.operation).collect();
        for operation in flushes {
            self.may_flush(operation)?;
        }
        Ok(())
    }

    /// At rest every range takes another session, whatever its time was.
    pub(super) fn look_for_room(&self) -> Result<(), String> {
        for node in self.places.iter().filter_map(|place| place.node.as_ref()) {
            let active = node.replicas().filter(|(_, replica)| replica.chain().is_some());
            for (range, replica) in active {
                let (meta, bounds) = (replica.meta(), self.timing.sessions);
                if !meta.sessions.makes_room(&bounds, meta.alive.time) {
                    let (horizon, time) = (meta.sessions.horizon(), meta.alive.time);
                    return Err(format!(
                        "{range:?} has no room for a session: its horizon is {horizon}, its time {time}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The time of ranges was set back, to what time it is or later. What expires is judged no more.
    pub(super) fn look_at_set_back(&mut self, all: &[SetBack]) -> Result<(), String> {
        for SetBack { range, keys, time, right } in all {
            if time + RIGHT_S < *right {
                return Err(format!("the time of {range:?} is set back to {time}, and it is {right}"));
            }
            for key in 0..self.plan.keys {
                if super::client::expires(key) && keys.contains(&self.positions[key as usize]) {
                    self.checkers[key as usize] = None;
                }
            }
        }
        Ok(())
    }
}
