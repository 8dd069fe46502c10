//! Records of a log that are not durable yet: with which write each will be, and how many bytes they have.

use crate::ids::Seq;
use crate::store::Gate;
use std::collections::VecDeque;

/// Those records, oldest first, and up to where the log is durable.
#[derive(Debug, Default)]
pub(super) struct SyncQueue {
    records: VecDeque<(Gate, Seq, usize)>,
    bytes: usize,
    synced: Seq,
}

impl SyncQueue {
    /// All of a log that ends there is durable.
    pub(super) fn synced_to(synced: Seq) -> Self {
        Self { synced, ..Self::default() }
    }

    /// Up to here the log is durable.
    pub(super) fn synced(&self) -> Seq {
        self.synced
    }

    /// A record of so many bytes is durable once `gate` is.
    pub(super) fn push(&mut self, gate: Gate, seq: Seq, bytes: usize) {
        self.bytes += bytes;
        self.records.push_back((gate, seq, bytes));
    }

    /// Learns what is durable by now.
    pub(super) fn learn(&mut self, durable: Gate) {
        while let Some((_, seq, bytes)) = self.records.pop_front_if(|(gate, ..)| *gate <= durable) {
            self.bytes -= bytes;
            self.synced = self.synced.max(seq);
        }
    }

    /// What follows `last` has been cut off.
    pub(super) fn cut(&mut self, last: Seq) {
        while let Some((.., bytes)) = self.records.pop_back_if(|(_, seq, _)| *seq > last) {
            self.bytes -= bytes;
        }
        self.synced = self.synced.min(last);
    }

    /// How many they are, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.records.len(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_records_that_are_left() {
        let mut unsynced = SyncQueue::default();
        for seq in 1..=6 {
            unsynced.push(Gate(seq / 2), Seq(seq), 10 * seq as usize);
        }
        unsynced.learn(Gate(1));
        assert_eq!((unsynced.synced(), unsynced.size()), (Seq(3), (3, 150)));
        unsynced.learn(Gate(1));
        unsynced.cut(Seq(5));
        assert_eq!((unsynced.synced(), unsynced.size()), (Seq(3), (2, 90)));
        unsynced.learn(Gate(9));
        assert_eq!((unsynced.synced(), unsynced.size()), (Seq(5), (0, 0)));
    }

    #[test]
    fn what_was_cut_off_is_not_durable_any_more() {
        let mut unsynced = SyncQueue::synced_to(Seq(9));
        unsynced.cut(Seq(4));
        unsynced.push(Gate(3), Seq(5), 10);
        assert_eq!(unsynced.synced(), Seq(4));
        unsynced.learn(Gate(3));
        assert_eq!(unsynced.synced(), Seq(5));
    }
}
