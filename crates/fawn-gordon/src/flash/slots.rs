//! Commands that are under way, and lists of them.

use super::command::{Command, CommandKind, LatencyParts};
use crate::time::SimTime;

/// No slot.
pub const NONE: u32 = u32::MAX;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandStage {
    /// The slot is free.
    Free,
    /// Waits for its die.
    Queued,
    /// Its command waits for the bus, or crosses it.
    Command,
    /// In the cells.
    Cell,
    /// Read from the cells; waits for the cache register.
    Sensed,
    /// Its data waits for the bus, or crosses it.
    Data,
    /// In the cache register; waits for the cells.
    Loaded,
}

/// A command that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub command: Command,
    pub stage: CommandStage,
    pub next: u32,
    /// The bus of its die.
    pub bus: u32,
    /// How long its data takes at the bus's rating.
    pub data: SimTime,
    pub waits_since: SimTime,
    pub cleaning_before: SimTime,
    pub parts: LatencyParts,
}

/// All commands that are under way.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    free: u32,
}

impl Default for Slots {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }
}

impl Slots {
    #[inline]
    pub fn add(&mut self, command: Command, bus: u32, data: SimTime) -> u32 {
        let slot = Slot {
            command,
            stage: CommandStage::Queued,
            next: NONE,
            bus,
            data,
            waits_since: SimTime::ZERO,
            cleaning_before: SimTime::ZERO,
            parts: LatencyParts::default(),
        };
        if self.free == NONE {
            self.slots.push(slot);
            return self.slots.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.slots[id as usize].next;
        self.slots[id as usize] = slot;
        id
    }

    #[inline]
    pub fn remove(&mut self, id: u32) -> Slot {
        let slot = self.slots[id as usize];
        self.slots[id as usize].stage = CommandStage::Free;
        self.slots[id as usize].next = self.free;
        self.free = id;
        slot
    }

    #[inline]
    pub fn get(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Slot {
        &mut self.slots[id as usize]
    }

    #[inline]
    pub fn kind(&self, id: u32) -> Option<CommandKind> {
        if id == NONE { None } else { Some(self.slots[id as usize].command.kind) }
    }

    pub fn active(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.stage != CommandStage::Free)
    }
}

/// A queue of slots, linked through them.
#[derive(Clone, Copy, Debug)]
pub struct SlotQueue {
    head: u32,
    tail: u32,
}

impl SlotQueue {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub fn head(self) -> u32 {
        self.head
    }

    #[inline]
    pub fn push(&mut self, slots: &mut Slots, id: u32) {
        slots.get_mut(id).next = NONE;
        if self.head == NONE {
            self.head = id;
        } else {
            slots.get_mut(self.tail).next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub fn pop(&mut self, slots: &Slots) -> u32 {
        let id = self.head;
        if id != NONE {
            self.head = slots.get(id).next;
        }
        id
    }

    /// Takes out the one that comes after `previous`, or the head.
    pub fn take_after(&mut self, slots: &mut Slots, previous: u32) -> u32 {
        if previous == NONE {
            return self.pop(slots);
        }
        let id = slots.get(previous).next;
        let next = slots.get(id).next;
        slots.get_mut(previous).next = next;
        if next == NONE {
            self.tail = previous;
        }
        id
    }
}
