//! Clocks that are wrong for so long that processes go by them: what may expire then, and what must not come back.
//!
//! A range's time that was stamped by such a clock may be set back to the right time, and what had expired since is there
//! again. It is never set back any further: then what everybody has seen to expire would come back.

use std::collections::BTreeMap;

use fawn_kv::ids::RangeId;
use fawn_kv::node::Node;
use fawn_ring::Interval;

use crate::cluster::processes::store::node_store::NodeStore;
use crate::cluster::time::RIGHT_S;

/// Which clocks are wrong, and what is watched then.
#[derive(Debug)]
pub struct WrongClocks {
    /// The clock of some node began in 1970.
    is_one_lost: bool,
    /// Some process goes by a clock that is wrong.
    watch: Option<RangeTimes>,
}

/// The times of ranges.
#[derive(Debug, Default)]
struct RangeTimes {
    /// The times of the ranges of each node in its life.
    times: BTreeMap<(usize, RangeId), (u32, u32)>,
    /// What time it was when a log first had a record of each second. It may be committed long after that.
    stamped: BTreeMap<u32, u32>,
}

/// A range's time was set back to a second.
#[derive(Debug)]
pub struct SetBack {
    range: RangeId,
    keys: Interval,
    time: u32,
    /// What time it was when that was stamped.
    right: u32,
}

impl SetBack {
    /// The keys of the range, whose expiries are judged no more.
    ///
    /// # Errors
    /// It was set back further than to what time it is.
    pub fn keys(&self) -> Result<Interval, String> {
        let Self { range, keys, time, right } = self;
        if time + RIGHT_S < *right {
            return Err(format!("the time of {range:?} is set back to {time}, and it is {right}"));
        }
        Ok(*keys)
    }
}

impl WrongClocks {
    /// The clocks of a run in which all are right at first, but that one may be lost.
    pub fn new(is_one_lost: bool) -> Self {
        Self { is_one_lost, watch: None }
    }

    /// Whether some process goes by a clock that is wrong, or did.
    pub fn is_any_wrong(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether all processes know what time it is, nearly.
    pub fn all_know_the_time(&self) -> bool {
        !self.is_one_lost && !self.is_any_wrong()
    }

    /// A process goes by a clock that is wrong; whether it is the first.
    pub fn note_wrong(&mut self) -> bool {
        let is_first = self.watch.is_none();
        self.watch.get_or_insert_default();
        is_first
    }

    /// The ranges of a node, in a life of it, whose time was set back.
    pub fn look(&mut self, (number, run): (usize, u32), node: &Node<NodeStore>, right: u32) -> Vec<SetBack> {
        let mut all = Vec::new();
        let Some(watch) = &mut self.watch else { return all };
        for (range, replica) in node.replicas() {
            watch.stamped.entry(replica.last_time()).or_insert(right);
            if !replica.is_complete() {
                // What is split, merged or copied again is another range: a copy has the time of its source.
                watch.times.remove(&(number, range));
                continue;
            }
            let time = replica.meta().alive.time;
            let before = watch.times.insert((number, range), (run, time));
            if before.is_some_and(|(other, before)| other == run && time < before) {
                let right = watch.stamped.get(&time).copied().unwrap_or(right);
                all.push(SetBack { range, keys: replica.keys(), time, right });
            }
        }
        all
    }
}
