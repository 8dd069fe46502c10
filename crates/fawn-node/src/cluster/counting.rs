//! Counting what a node has: of all its ranges, and of those whose tail it is.

use super::ranges::Ranges;
use fawn_kv::node::Node;
use fawn_kv::status::Role;
use fawn_store::{Count, CountedKeys, Held};

/// What a node has, about, without what was flushed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Of all its ranges.
    pub all: Held,
    /// Of the ranges whose tail it is: so each item of a cluster is counted once.
    pub tails: Held,
}

impl Counted {
    /// What was held of each part, of which some are of ranges whose tail the node is.
    pub fn of(held: Vec<Held>, is_tail: &[bool]) -> Self {
        let mut counted = Self::default();
        for (held, is_tail) in held.into_iter().zip(is_tail) {
            add(&mut counted.all, held);
            if *is_tail {
                add(&mut counted.tails, held);
            }
        }
        counted
    }
}

/// A count of what a node has that is under way.
#[derive(Debug)]
pub struct Counting {
    pub count: Count,
    /// Of each part, whether the node is the tail of its range.
    pub is_tail: Vec<bool>,
}

impl Counting {
    pub fn of(node: &Node<Ranges>) -> Self {
        let (mut parts, mut all) = (Vec::new(), Vec::new());
        for (_, replica) in node.replicas() {
            let (keys, role) = (replica.keys(), replica.figures().role);
            all.push(keys);
            if role != Role::Idle {
                let is_tail = matches!(role, Role::Tail | Role::Alone);
                let stretches = replica.meta().alive.flushed(&keys);
                parts.extend(stretches.map(|(keys, flushed)| (CountedKeys { keys, flushed }, is_tail)));
            }
        }
        parts.sort_unstable_by_key(|(part, _)| part.keys.low);
        let (parts, is_tail) = parts.into_iter().unzip();
        Self { count: Count::new(parts, all), is_tail }
    }
}

/// Counts what a node has at once, which takes milliseconds.
pub fn count(node: &Node<Ranges>) -> Counted {
    let mut counting = Counting::of(node);
    loop {
        if let Some(held) = node.store().flash().store().count_on(&mut counting.count, usize::MAX) {
            return Counted::of(held, &counting.is_tail);
        }
    }
}

fn add(sum: &mut Held, held: Held) {
    sum.entries += held.entries;
    sum.bytes += held.bytes;
}
