//! Events in the order of their times; of two at the same time the one that was scheduled first comes first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events that are still to come.
pub struct EventQueue<E> {
    heap: BinaryHeap<QueueEntry<E>>,
    next_number: u64,
}

/// An event, when it happens, and its number in the order of scheduling.
struct QueueEntry<E> {
    at_us: u64,
    number: u64,
    event: E,
}

impl<E> EventQueue<E> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), next_number: 0 }
    }

    pub fn push(&mut self, at_us: u64, event: E) {
        self.heap.push(QueueEntry { at_us, number: self.next_number, event });
        self.next_number += 1;
    }

    /// The next event and its time.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|QueueEntry { at_us, event, .. }| (at_us, event))
    }

    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.heap.iter().map(|entry| &entry.event)
    }
}

impl<E> PartialEq for QueueEntry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for QueueEntry<E> {}

impl<E> PartialOrd for QueueEntry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for QueueEntry<E> {
    /// The heap's largest entry comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_us, other.number).cmp(&(self.at_us, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_time_come_in_the_order_of_scheduling() {
        let mut queue = EventQueue::new();
        for (at_us, event) in [(5, 'b'), (1, 'a'), (5, 'c'), (5, 'd')] {
            queue.push(at_us, event);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, "abcd");
    }
}
