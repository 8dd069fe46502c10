//! Records of a log that are not durable yet: with which write each will be, and how many bytes they have.

use crate::ids::Seq;
use crate::store::Gate;
use std::collections::VecDeque;

/// Those records, oldest first.
#[derive(Debug, Default)]
pub(super) struct SyncQueue {
    records: VecDeque<(Gate, Seq, usize)>,
    bytes: usize,
}

impl SyncQueue {
    /// A record of so many bytes is durable once `gate` is.
    pub(super) fn push(&mut self, gate: Gate, seq: Seq, bytes: usize) {
        self.bytes += bytes;
        self.records.push_back((gate, seq, bytes));
    }

    /// Takes what is durable by now; the last of it.
    pub(super) fn take(&mut self, durable: Gate) -> Option<Seq> {
        let mut last = None;
        while let Some((_, seq, bytes)) = self.records.pop_front_if(|(gate, ..)| *gate <= durable) {
            self.bytes -= bytes;
            last = Some(seq);
        }
        last
    }

    /// What follows `last` has been cut off.
    pub(super) fn cut(&mut self, last: Seq) {
        while let Some((.., bytes)) = self.records.pop_back_if(|(_, seq, _)| *seq > last) {
            self.bytes -= bytes;
        }
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
        assert_eq!(unsynced.take(Gate(1)), Some(Seq(3)));
        assert_eq!(unsynced.take(Gate(1)), None);
        unsynced.cut(Seq(5));
        assert_eq!(unsynced.size(), (2, 90));
        assert_eq!(unsynced.take(Gate(9)), Some(Seq(5)));
        assert_eq!(unsynced.size(), (0, 0));
    }
}
