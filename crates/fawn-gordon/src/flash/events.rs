//! Events in the order of their time; those of one time in the order in which they were added.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::SimTime;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayEvent {
    /// A bus finishes what it carries.
    Bus(u32),
    /// A die's cells finish.
    Die(u32),
    /// A time that the controller asked for has come.
    Timer(u32),
}

/// What is still to happen.
#[derive(Debug, Default)]
pub struct EventQueue {
    /// Time, order and event in one number each, so that two are compared at once.
    heap: BinaryHeap<Reverse<u128>>,
    added: u64,
}

// The lower 32 bits of a key are the event, the next 32 the order: a number that wraps after 2^32 events would order two events
// of one time wrongly only if 2^32 others lay between them. The upper 64 are the time.
const KIND_SHIFT: u32 = 30;

impl EventQueue {
    #[inline]
    pub fn add(&mut self, at: SimTime, event: ArrayEvent) {
        let code = match event {
            ArrayEvent::Bus(bus) => bus,
            ArrayEvent::Die(die) => 1 << KIND_SHIFT | die,
            ArrayEvent::Timer(tag) => 2 << KIND_SHIFT | tag,
        };
        self.heap.push(Reverse(u128::from(at.ns()) << 64 | u128::from(self.added << 32 | u64::from(code))));
        self.added += 1;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, ArrayEvent)> {
        let Reverse(key) = self.heap.pop()?;
        let code = key as u32;
        let number = code & ((1 << KIND_SHIFT) - 1);
        let event = match code >> KIND_SHIFT {
            0 => ArrayEvent::Bus(number),
            1 => ArrayEvent::Die(number),
            _ => ArrayEvent::Timer(number),
        };
        Some((Self::time(key), event))
    }

    #[inline]
    pub fn next_at(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse(key)| Self::time(*key))
    }

    #[inline]
    fn time(key: u128) -> SimTime {
        SimTime::from_ns((key >> 64) as u64)
    }
}
