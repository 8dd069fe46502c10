//! What was issued to a store, what of it is acknowledged, and what may never repeat.

use std::collections::{BTreeMap, VecDeque};

use fawn_store::{Ack, Gate};

use super::oracle::{Oracle, OracleItem};

/// The changes of one store, its restarts included.
pub(super) struct History {
    pub(super) oracle: Oracle,
    /// How the store acknowledges.
    ack: Ack,
    /// Gates of changes that are not acknowledged yet, with the states that they make.
    pending: VecDeque<(Gate, u64)>,
    /// Highest sequence number ever given out for each key.
    highest_seq: BTreeMap<Vec<u8>, u64>,
}

impl History {
    pub(super) fn new(oracle: Oracle, ack: Ack) -> Self {
        Self { oracle, ack, pending: VecDeque::new(), highest_seq: BTreeMap::new() }
    }

    /// That of a store which goes on from what a crash has left of this one.
    pub(super) fn fork(&self) -> Self {
        let (oracle, highest_seq) = (self.oracle.clone(), self.highest_seq.clone());
        Self { oracle, ack: self.ack, pending: VecDeque::new(), highest_seq }
    }

    /// The store acknowledges so from here on.
    pub(super) fn set_ack(&mut self, ack: Ack) {
        self.ack = ack;
    }

    /// The store has taken a change of a key, or its deletion; durable once the gate is.
    pub(super) fn change(&mut self, name: &[u8], item: Option<OracleItem>, gate: Gate) {
        let state = self.oracle.change(name, item);
        self.pending.push_back((gate, state));
    }

    /// The store has deleted everything; durable once the gate is.
    pub(super) fn flush(&mut self, gate: Gate) {
        let state = self.oracle.flush(|_| true);
        self.pending.push_back((gate, state));
    }

    /// Sequence numbers (and so cas) never repeat, even those of changes that a power cut took back: an answer to a get
    /// may have shown them.
    pub(super) fn note_seq(&mut self, name: &[u8], seq: u64) {
        let highest = match self.highest_seq.get_mut(name) {
            Some(highest) => highest,
            None => self.highest_seq.entry(name.to_vec()).or_default(),
        };
        assert!(
            seq > *highest,
            "a sequence number of {:?} repeats: {seq} after {highest}",
            String::from_utf8_lossy(name)
        );
        *highest = seq;
    }

    /// All up to a gate is durable: it must survive from now on, if the store acknowledges then.
    pub(super) fn release(&mut self, durable: Gate) {
        if self.ack != Ack::Durable {
            return;
        }
        while let Some(&(gate, state)) = self.pending.front()
            && gate <= durable
        {
            self.oracle.acknowledge(state);
            self.pending.pop_front();
        }
    }

    /// An answer has left that shows a state: it must survive from now on.
    pub(super) fn shown(&mut self, state: u64) {
        if self.ack == Ack::Durable {
            self.oracle.acknowledge(state);
        }
    }

    /// Everything issued so far must survive from now on.
    pub(super) fn acknowledge_all(&mut self) {
        self.oracle.acknowledge(self.oracle.issued());
    }

    /// The store was stopped: nothing is acknowledged any more.
    pub(super) fn forget_pending(&mut self) {
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_durable_must_survive_and_the_rest_need_not() {
        let mut history = History::new(Oracle::default(), Ack::Durable);
        history.change(b"a", None, Gate(3));
        history.change(b"b", None, Gate(5));
        history.release(Gate(4));
        assert_eq!((history.oracle.safe(), history.oracle.issued()), (1, 2));
        history.set_ack(Ack::Memory);
        history.release(Gate(9));
        assert_eq!(history.oracle.safe(), 1);
        history.acknowledge_all();
        assert_eq!(history.oracle.safe(), 2);
    }

    #[test]
    #[should_panic(expected = "repeats: 4 after 4")]
    fn a_sequence_number_that_repeats_is_found() {
        let mut history = History::new(Oracle::default(), Ack::Durable);
        history.note_seq(b"a", 4);
        history.fork().note_seq(b"a", 4);
    }
}
