//! Events in the order of their time; those of one time in the order in which they were added.
//!
//! Most events are a few microseconds ahead: they lie in a wheel of slots, each for a granule of time, with a bit for each slot
//! that is not empty. The few that are further ahead lie in a heap.

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

/// A granule is 2^9 ns.
const GRANULE_BITS: u32 = 9;
/// So the wheel reaches 2.1 ms ahead.
const SLOTS: u64 = 4_096;
const NONE: u32 = u32::MAX;

// The lower 32 bits of a key are the event, the next 32 the order: a number that wraps after 2^32 events would order two events
// of one time wrongly only if 2^32 others lay between them. The upper 64 are the time.
const KIND_SHIFT: u32 = 30;

#[derive(Clone, Copy, Debug)]
struct WheelEntry {
    key: u128,
    next: u32,
}

/// What is still to happen.
#[derive(Debug)]
pub struct EventQueue {
    /// The first entry of each slot.
    slots: Vec<u32>,
    /// A bit for each slot that has one.
    words: [u64; 64],
    /// A bit for each word that has one.
    summary: u64,
    entries: Vec<WheelEntry>,
    free: u32,
    /// The granule of the last event. All in the wheel are less than its length later.
    floor: u64,
    far: BinaryHeap<Reverse<u128>>,
    added: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            slots: vec![NONE; SLOTS as usize],
            words: [0; 64],
            summary: 0,
            entries: Vec::new(),
            free: NONE,
            floor: 0,
            far: BinaryHeap::new(),
            added: 0,
        }
    }
}

impl EventQueue {
    #[inline]
    pub fn add(&mut self, at: SimTime, event: ArrayEvent) {
        let code = match event {
            ArrayEvent::Bus(bus) => bus,
            ArrayEvent::Die(die) => 1 << KIND_SHIFT | die,
            ArrayEvent::Timer(tag) => 2 << KIND_SHIFT | tag,
        };
        let key = u128::from(at.ns()) << 64 | u128::from(self.added << 32 | u64::from(code));
        self.added += 1;
        let granule = at.ns() >> GRANULE_BITS;
        if granule - self.floor >= SLOTS {
            self.far.push(Reverse(key));
            return;
        }
        let slot = (granule % SLOTS) as usize;
        let entry = WheelEntry { key, next: self.slots[slot] };
        self.slots[slot] = self.keep(entry);
        self.words[slot / 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
    }

    #[inline]
    fn keep(&mut self, entry: WheelEntry) -> u32 {
        if self.free == NONE {
            self.entries.push(entry);
            return self.entries.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.entries[id as usize].next;
        self.entries[id as usize] = entry;
        id
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, ArrayEvent)> {
        let near = self.nearest();
        let key = match (near, self.far.peek()) {
            (Some((slot, id, previous)), far)
                if far.is_none_or(|Reverse(far)| self.entries[id as usize].key < *far) =>
            {
                self.take(slot, id, previous)
            }
            _ => self.far.pop()?.0,
        };
        self.floor = Self::time(key).ns() >> GRANULE_BITS;
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
        let near = self.nearest().map(|(_, id, _)| Self::time(self.entries[id as usize].key));
        let far = self.far.peek().map(|Reverse(key)| Self::time(*key));
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// The first entry of the wheel: its slot, itself, and the one before it in the slot.
    #[inline]
    fn nearest(&self) -> Option<(usize, u32, u32)> {
        let start = (self.floor % SLOTS) as usize;
        let (word, bit) = (start / 64, start % 64);
        let here = self.words[word] >> bit << bit;
        let slot = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            let later = if word == 63 { 0 } else { self.summary >> (word + 1) << (word + 1) };
            let of = if later != 0 { later } else { self.summary };
            if of == 0 {
                return None;
            }
            let word = of.trailing_zeros() as usize;
            word * 64 + self.words[word].trailing_zeros() as usize
        };
        let (mut best, mut before_best) = (self.slots[slot], NONE);
        let (mut previous, mut at) = (best, self.entries[best as usize].next);
        while at != NONE {
            if self.entries[at as usize].key < self.entries[best as usize].key {
                (best, before_best) = (at, previous);
            }
            (previous, at) = (at, self.entries[at as usize].next);
        }
        Some((slot, best, before_best))
    }

    #[inline]
    fn take(&mut self, slot: usize, id: u32, previous: u32) -> u128 {
        let WheelEntry { key, next } = self.entries[id as usize];
        if previous == NONE {
            self.slots[slot] = next;
            if next == NONE {
                self.words[slot / 64] &= !(1 << (slot % 64));
                if self.words[slot / 64] == 0 {
                    self.summary &= !(1 << (slot / 64));
                }
            }
        } else {
            self.entries[previous as usize].next = next;
        }
        self.entries[id as usize].next = self.free;
        self.free = id;
        key
    }

    #[inline]
    fn time(key: u128) -> SimTime {
        SimTime::from_ns((key >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    /// Near and far, at equal times, and with idle time in between.
    #[test]
    fn events_come_in_the_order_of_a_heap() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let (mut queue, mut heap) = (EventQueue::default(), BinaryHeap::new());
        let (mut now, mut added) = (0, 0_u32);
        for round in 0..200_000 {
            let grows = heap.len() < 4 || (heap.len() < 300 && random.next_u64() % 2 == 0);
            if grows && round < 190_000 {
                let ahead = match random.next_u64() % 8 {
                    0 => 0,
                    1 => random.next_u64() % 10_000_000,
                    2 => (SLOTS << GRANULE_BITS) - random.next_u64() % 1_024,
                    _ => random.next_u64() % 100_000,
                };
                queue.add(SimTime::from_ns(now + ahead), ArrayEvent::Timer(added));
                heap.push(Reverse((now + ahead, added)));
                added += 1;
            } else if let Some(Reverse((at, tag))) = heap.pop() {
                assert_eq!(queue.next_at(), Some(SimTime::from_ns(at)));
                assert_eq!(queue.pop(), Some((SimTime::from_ns(at), ArrayEvent::Timer(tag))));
                now = at;
            }
        }
        assert!(heap.is_empty() && queue.pop().is_none() && queue.next_at().is_none());
    }
}
