//! How the first ranges come to be what a plain directory's stores hold, where a node has been started on one.
//!
//! Each of its seats has a store with some of the keys, and offers it in place of saying hello. Once all have been heard,
//! and no range was ever made, they become ranges by one command: each as if its node had been alone in its chain, in a
//! life before its first (so the chain revives from what that node has, like any other whose members all stopped). Keys
//! that no store was made for are in ranges that begin empty. Only then is a node told to adopt, so that until then nothing
//! in the directory has changed.
//!
//! There is room for one directory: where ranges have been made, others are told so.

use super::state::{Adopted, State, StateChange};
use crate::ids::{Chain, Epoch, Incarnation, Member, Position, Seq};
use crate::store::ADOPTED;
use fawn_ring::{Interval, Key};

impl State {
    /// The first ranges are these, in the order of their keys, and what lies between them.
    pub(super) fn adopt(&mut self, ranges: &[Adopted]) -> Option<StateChange> {
        let ordered = ranges.windows(2).all(|two| two[0].keys.high < two[1].keys.low);
        let distinct = (1..ranges.len()).all(|at| ranges[..at].iter().all(|other| other.node != ranges[at].node));
        if !self.is_unformed() || ranges.is_empty() || !ordered || !distinct || self.settings.check().is_err() {
            return None;
        }
        self.forget_unformed();
        let mut next = Some(Key::MIN);
        for Adopted { node, keys } in ranges {
            if let Some(low) = next.filter(|low| *low < keys.low) {
                let high = keys.low.predecessor().expect("something lies below");
                self.add_range(Chain::none(Interval::new(low, high)), Vec::new());
            }
            let chain = Chain {
                keys: *keys,
                epoch: Epoch(1),
                attempt: ADOPTED,
                members: vec![Member { node: *node, incarnation: Incarnation(0) }],
                after: Position::default(),
                first: Seq(1),
                rules: self.settings.rules,
            };
            let range = self.add_range(chain, Vec::new());
            self.adopted.insert(*node, range);
            next = keys.high.successor();
        }
        if let Some(low) = next {
            self.add_range(Chain::none(Interval::new(low, Key::MAX)), Vec::new());
        }
        Some(StateChange::default())
    }
}
