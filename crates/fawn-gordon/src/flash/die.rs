//! One die: its cells with their register, perhaps a cache register, and the commands that wait.

use super::clock::BusyClock;
use super::command::CommandKind;
use super::slots::{NONE, SlotQueue, Slots};
use crate::time::SimTime;

/// A die of the array.
#[derive(Clone, Copy, Debug)]
pub struct Die {
    /// Has the cells and the page register.
    pub cells: u32,
    /// Has the cache register.
    pub register: u32,
    pub queue: SlotQueue,
    pub cleaning: BusyClock,
    /// A program or erase that reads have interrupted. Then the cells serve a read.
    pub suspended: u32,
    /// The cells stop what they do, for a read.
    pub is_stopping: bool,
    /// When the cells are done. An event at another time is of what was interrupted.
    pub ends_at: SimTime,
    /// Reads that went ahead of what the cells are to do next.
    pub reads_ahead: u32,
    /// What is left of what was interrupted, and when that was.
    left: SimTime,
    stopped_at: SimTime,
    busy_until: SimTime,
    busy: SimTime,
}

impl Die {
    pub fn new() -> Self {
        Self {
            cells: NONE,
            register: NONE,
            queue: SlotQueue::EMPTY,
            cleaning: BusyClock::default(),
            suspended: NONE,
            is_stopping: false,
            ends_at: SimTime::NEVER,
            reads_ahead: 0,
            left: SimTime::ZERO,
            stopped_at: SimTime::ZERO,
            busy_until: SimTime::ZERO,
            busy: SimTime::ZERO,
        }
    }

    /// Whether the command at the head of the queue can begin.
    ///
    /// With a cache register, a program loads beside the cells' work and a read is transferred beside it. A program may not
    /// take the register that a read in the cells needs next. Nothing overtakes a program that is loaded.
    #[inline]
    pub fn can_begin(&self, slots: &Slots, kind: CommandKind, cache_register: bool) -> bool {
        if !cache_register {
            return self.cells == NONE;
        }
        match kind {
            CommandKind::Program => self.register == NONE && slots.kind(self.cells) != Some(CommandKind::Read),
            CommandKind::Read | CommandKind::Erase | CommandKind::CopyBack => {
                self.cells == NONE && slots.kind(self.register) != Some(CommandKind::Program)
            }
        }
    }

    /// The cells work until then. They do one thing at a time.
    #[inline]
    pub fn work(&mut self, now: SimTime, until: SimTime) {
        assert!(self.busy_until <= now, "a die's cells do one thing at a time");
        self.busy_until = until;
        self.ends_at = until;
        self.busy += until - now;
        assert!(self.busy <= until, "a die was busy for {} by {until}", self.busy);
    }

    /// The cells begin to stop what they do.
    pub fn stop(&mut self, now: SimTime, takes: SimTime) {
        self.left = self.busy_until - now;
        self.stopped_at = now;
        self.busy = self.busy - self.left;
        self.busy_until = now;
        self.is_stopping = true;
        self.work(now, now + takes);
    }

    /// The cells have stopped.
    pub fn suspend(&mut self) {
        self.is_stopping = false;
        self.suspended = std::mem::replace(&mut self.cells, NONE);
    }

    /// What was interrupted goes on. By how much later it ends.
    pub fn resume(&mut self, now: SimTime, takes: SimTime) -> SimTime {
        self.cells = std::mem::replace(&mut self.suspended, NONE);
        self.work(now, now + takes + self.left);
        now + takes - self.stopped_at
    }

    pub fn busy(&self) -> SimTime {
        self.busy
    }
}
