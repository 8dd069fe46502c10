//! Replies that wait until their records are durable.

use crate::request::Completion;
use crate::shard::stores::Gates;
use fawn_store::Gate;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A reply that waits for a sync.
#[derive(Debug)]
struct GatedReply {
    gate: Gate,
    /// Keeps replies of one gate in order.
    number: u64,
    /// Gates of other stores that the reply waits for after this one.
    rest: Vec<(usize, Gate)>,
    completion: Completion,
}

impl PartialEq for GatedReply {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for GatedReply {}

impl PartialOrd for GatedReply {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GatedReply {
    /// The heap's largest is the one to leave first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.gate, other.number).cmp(&(self.gate, self.number))
    }
}

/// The completions of one loop: those that wait for a sync, and those that may leave.
#[derive(Debug)]
pub struct GatedReplies {
    /// By store.
    waiting: Vec<BinaryHeap<GatedReply>>,
    /// By store: nothing more will become durable.
    stopped: Vec<bool>,
    /// Completions that have waited so far.
    number: u64,
    ready: VecDeque<Completion>,
}

impl GatedReplies {
    /// No completions of `stores` stores.
    pub fn new(stores: usize) -> Self {
        let waiting = (0..stores).map(|_| BinaryHeap::new()).collect();
        Self { waiting, stopped: vec![false; stores], number: 0, ready: VecDeque::new() }
    }

    /// Whether `store` has stopped: what is not durable by now never will be.
    #[inline]
    pub fn is_stopped(&self, store: usize) -> bool {
        self.stopped[store]
    }

    /// Whether no completion waits or has yet to leave.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.waiting.iter().all(BinaryHeap::is_empty)
    }

    /// A completion that may leave.
    pub fn push(&mut self, completion: Completion) {
        self.ready.push_back(completion);
    }

    /// A completion that may leave once all `gates` are durable.
    pub fn push_behind(&mut self, mut gates: Vec<(usize, Gate)>, completion: Completion, stores: &impl Gates) {
        while let Some((store, gate)) = gates.pop() {
            if gate > stores.durable(store) && self.stopped[store] {
                return self.push(completion.failed_by_stop());
            }
            if gate > stores.durable(store) {
                self.number += 1;
                return self.waiting[store].push(GatedReply { gate, number: self.number, rest: gates, completion });
            }
        }
        self.push(completion);
    }

    /// Looks which completions may leave by now.
    pub fn release(&mut self, stores: &impl Gates) {
        for store in 0..self.waiting.len() {
            let durable = stores.durable(store);
            while self.waiting[store].peek().is_some_and(|gated| gated.gate <= durable) {
                let gated = self.waiting[store].pop().expect("the top was just seen");
                self.push_behind(gated.rest, gated.completion, stores);
            }
        }
    }

    /// `store` has stopped: what waits for it fails.
    pub fn fail(&mut self, store: usize) {
        self.stopped[store] = true;
        for gated in std::mem::take(&mut self.waiting[store]) {
            self.push(gated.completion.failed_by_stop());
        }
    }

    /// The next completion that may leave.
    pub fn next_ready(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::latency::Stamp;
    use crate::request::{CompletionStatus, ReplySlot, ReplyTo};
    use crate::runtime::slab::Token;

    struct Durable([u64; 2]);

    impl Gates for Durable {
        fn durable(&self, store: usize) -> Gate {
            Gate(self.0[store])
        }
    }

    fn completion(answer: u64) -> Completion {
        let slot = ReplySlot { connection: Token::from_u64(0), answer, part: 0, stamp: Stamp::NONE };
        Completion::of(ReplyTo { home: 0, slot, request_bytes: 0 }, b"reply".to_vec())
    }

    fn ready(replies: &mut GatedReplies) -> Vec<(u64, CompletionStatus)> {
        std::iter::from_fn(|| replies.next_ready().map(|done| (done.to.slot.answer, done.status))).collect()
    }

    #[test]
    fn replies_leave_in_order_once_all_their_gates_are_durable() {
        let mut replies = GatedReplies::new(2);
        replies.push_behind(vec![(0, Gate(1))], completion(1), &Durable([0, 0]));
        replies.push_behind(vec![(0, Gate(1)), (1, Gate(5))], completion(2), &Durable([0, 0]));
        replies.push_behind(vec![(0, Gate(1))], completion(3), &Durable([0, 0]));
        replies.push_behind(Vec::new(), completion(4), &Durable([0, 0]));
        assert_eq!(ready(&mut replies), [(4, CompletionStatus::Done)]);
        replies.release(&Durable([1, 4]));
        assert_eq!(ready(&mut replies), [(1, CompletionStatus::Done), (3, CompletionStatus::Done)]);
        replies.release(&Durable([1, 5]));
        assert_eq!((ready(&mut replies).len(), replies.is_empty()), (1, true));
    }

    #[test]
    fn what_a_stopped_store_never_makes_durable_fails() {
        let mut replies = GatedReplies::new(2);
        replies.push_behind(vec![(0, Gate(2))], completion(1), &Durable([1, 0]));
        replies.fail(0);
        replies.push_behind(vec![(0, Gate(2))], completion(2), &Durable([1, 0]));
        replies.push_behind(vec![(0, Gate(1))], completion(3), &Durable([1, 0]));
        let (failed, done) = (CompletionStatus::StoreStopped, CompletionStatus::Done);
        assert_eq!(ready(&mut replies), [(1, failed), (2, failed), (3, done)]);
        assert!(replies.is_stopped(0) && !replies.is_stopped(1));
    }
}
