//! Counting the items of a node: of all its ranges, and of those of which it answers gets.

use super::ranges::Ranges;
use fawn_kv::node::Node;
use fawn_kv::status::Role;
use fawn_store::{Count, CountedKeys, Holdings};

/// Between two counts.
const COUNT_MS: u64 = 1000;

/// Entries of the store's buffers that are counted in one turn: a tenth of a millisecond at most.
const COUNTED_A_TURN: usize = 64;

/// The items of a node, about, without what was flushed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ItemCounts {
    /// Of all its ranges.
    pub all: Holdings,
    /// Of the ranges of which it answers gets: so each item of a cluster is counted once.
    pub answered: Holdings,
}

impl ItemCounts {
    /// The sums over parts of the key space, of which some are of ranges of which the node answers gets.
    fn of(held: Vec<Holdings>, is_reader: &[bool]) -> Self {
        let mut counted = Self::default();
        for (held, is_reader) in held.into_iter().zip(is_reader) {
            add(&mut counted.all, held);
            if *is_reader {
                add(&mut counted.answered, held);
            }
        }
        counted
    }
}

/// A count that is under way.
#[derive(Debug)]
struct RunningCount {
    count: Count,
    /// Of each part, whether the node answers gets of its range.
    is_reader: Vec<bool>,
}

impl RunningCount {
    fn of(node: &Node<Ranges>) -> Self {
        let (mut parts, mut all) = (Vec::new(), Vec::new());
        for (_, replica) in node.replicas() {
            let (keys, role) = (replica.keys(), replica.figures().role);
            all.push(keys);
            if role != Role::Idle {
                let is_reader = replica.is_reader();
                let stretches = replica.meta().alive.flushed(&keys);
                parts.extend(stretches.map(|(keys, flushed)| (CountedKeys { keys, flushed }, is_reader)));
            }
        }
        parts.sort_unstable_by_key(|(part, _)| part.keys.low);
        let (parts, is_reader) = parts.into_iter().unzip();
        Self { count: Count::new(parts, all), is_reader }
    }

    /// Counts so many entries; the sums once all parts are counted.
    fn step(&mut self, node: &Node<Ranges>, entries: usize) -> Option<ItemCounts> {
        let held = node.store().flash().store().contents().count_on(&mut self.count, entries)?;
        Some(ItemCounts::of(held, &self.is_reader))
    }
}

/// The items of a node, counted at once, which takes milliseconds.
pub fn count(node: &Node<Ranges>) -> ItemCounts {
    let mut running = RunningCount::of(node);
    loop {
        if let Some(counts) = running.step(node, usize::MAX) {
            return counts;
        }
    }
}

/// Counts the items of a node again and again, a little in each turn.
#[derive(Debug, Default)]
pub struct ItemCounter {
    last: Option<ItemCounts>,
    running: Option<RunningCount>,
    /// When the next count begins.
    next_ms: u64,
}

impl ItemCounter {
    /// The last count; the first one is made at once.
    pub fn last(&mut self, node: Option<&Node<Ranges>>) -> ItemCounts {
        *self.last.get_or_insert_with(|| node.map(count).unwrap_or_default())
    }

    /// Goes on counting, once a second; whether there is more to count now.
    pub fn step(&mut self, node: &Node<Ranges>, now_ms: u64) -> bool {
        if self.running.is_none() && now_ms >= self.next_ms {
            self.next_ms = now_ms + COUNT_MS;
            self.running = Some(RunningCount::of(node));
        }
        let Some(running) = &mut self.running else { return false };
        if let Some(counts) = running.step(node, COUNTED_A_TURN) {
            self.last = Some(counts);
            self.running = None;
        }
        self.running.is_some()
    }
}

fn add(sum: &mut Holdings, held: Holdings) {
    sum.entries += held.entries;
    sum.bytes += held.bytes;
}
