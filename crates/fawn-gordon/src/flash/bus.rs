//! One bus: what it carries, what waits for it, and what it has carried.

use super::clock::BusyClock;
use super::slots::{NONE, SlotQueue, Slots};
use crate::time::SimTime;

/// A bus of the array.
#[derive(Clone, Copy, Debug)]
pub struct Bus {
    current: u32,
    since: SimTime,
    /// Commands go first: they are short, and the cells that they start work while data crosses the bus.
    commands: SlotQueue,
    data: SlotQueue,
    cleaning: BusyClock,
    busy: SimTime,
    bytes: u64,
}

impl Bus {
    pub fn new() -> Self {
        Self {
            current: NONE,
            since: SimTime::ZERO,
            commands: SlotQueue::EMPTY,
            data: SlotQueue::EMPTY,
            cleaning: BusyClock::default(),
            busy: SimTime::ZERO,
            bytes: 0,
        }
    }

    pub fn cleaning_at(&self, now: SimTime) -> SimTime {
        self.cleaning.at(now)
    }

    #[inline]
    pub fn wait(&mut self, slots: &mut Slots, id: u32, is_command: bool) {
        if is_command {
            self.commands.push(slots, id);
        } else {
            self.data.push(slots, id);
        }
    }

    /// The next one that may use the bus, if it is free.
    #[inline]
    pub fn next(&mut self, slots: &Slots) -> Option<u32> {
        if self.current != NONE {
            return None;
        }
        let id = self.commands.pop(slots);
        let id = if id == NONE { self.data.pop(slots) } else { id };
        (id != NONE).then_some(id)
    }

    #[inline]
    pub fn begin(&mut self, id: u32, now: SimTime, cleaning: bool) {
        assert!(self.current == NONE, "a bus carries one thing at a time");
        self.current = id;
        self.since = now;
        if cleaning {
            self.cleaning.enter(now);
        }
    }

    /// Ends what the bus carries, and checks that it carried no more than its rating.
    #[inline]
    pub fn end(&mut self, slots: &Slots, now: SimTime, bytes: u32, rated: SimTime) {
        let id = self.current;
        assert!(id != NONE, "a bus ends what it has begun");
        let held = now - self.since;
        assert!(held >= rated, "{bytes} bytes took {held}, less than the bus's rating allows");
        self.busy += held;
        self.bytes += u64::from(bytes);
        assert!(self.busy <= now, "a bus was busy for {} by {now}", self.busy);
        self.current = NONE;
        if slots.get(id).command.cleaning {
            self.cleaning.leave(now);
        }
    }

    pub fn current(&self) -> u32 {
        self.current
    }

    pub fn busy(&self) -> SimTime {
        self.busy
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
