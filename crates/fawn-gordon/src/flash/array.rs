//! The simulation of an array.

use super::bus::Bus;
use super::command::{Command, CommandCompletion, CommandKind};
use super::design::FlashDesign;
use super::die::Die;
use super::events::{ArrayEvent, EventQueue};
use super::geometry::GeometryError;
use super::slots::{CommandStage, NONE, Slot, Slots};
use super::usage::{ArrayUsage, CommandCounts};
use crate::time::SimTime;

/// What one event brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something moved on inside the array.
    Progress(SimTime),
    /// A command is finished.
    Finished(CommandCompletion),
    /// A time has come that was asked for, with its tag.
    Timer(SimTime, u32),
}

impl Step {
    /// When it happened.
    pub fn at(&self) -> SimTime {
        match self {
            Self::Progress(at) | Self::Timer(at, _) => *at,
            Self::Finished(finished) => finished.at,
        }
    }
}

/// An array of flash dies on buses.
///
/// Every run checks that a bus carries one thing at a time and no more than its rating, and that a die's cells do one thing
/// at a time. A violation is a bug of the simulator and panics.
#[derive(Debug)]
pub struct FlashArray {
    design: FlashDesign,
    dies_per_bus: u32,
    buses: Vec<Bus>,
    dies: Vec<Die>,
    slots: Slots,
    events: EventQueue,
    now: SimTime,
    counts: CommandCounts,
    bytes_before: Option<(u32, SimTime)>,
}

impl FlashArray {
    /// An idle array.
    ///
    /// # Errors
    ///
    /// The geometry cannot be simulated.
    pub fn new(design: &FlashDesign) -> Result<Self, GeometryError> {
        design.geometry.check()?;
        Ok(Self {
            dies_per_bus: design.geometry.dies_per_bus(),
            buses: vec![Bus::new(); design.geometry.buses as usize],
            dies: vec![Die::new(); design.geometry.dies() as usize],
            slots: Slots::default(),
            events: EventQueue::default(),
            now: SimTime::ZERO,
            counts: CommandCounts::default(),
            bytes_before: None,
            design: design.clone(),
        })
    }

    /// The design that is simulated.
    pub fn design(&self) -> &FlashDesign {
        &self.design
    }

    /// The time of the last event.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The time of the next event, if there is any.
    pub fn next_at(&self) -> Option<SimTime> {
        self.events.next_at()
    }

    /// Lets idle time pass until then, which is no later than the next event.
    pub fn pass(&mut self, until: SimTime) {
        debug_assert!(self.events.next_at().is_none_or(|at| until <= at), "an event is left out");
        self.now = self.now.max(until);
    }

    /// Asks for a [`Step::Timer`] at this time, no earlier than now, with a tag below 2³⁰.
    pub fn wake_at(&mut self, at: SimTime, tag: u32) {
        self.events.add(at.max(self.now), ArrayEvent::Timer(tag));
    }

    /// Gives a die a command, now.
    pub fn submit(&mut self, command: Command) {
        let die = command.die;
        let id = self.slots.add(command);
        let slot = self.slots.get_mut(id);
        slot.waits_since = self.now;
        slot.cleaning_before = self.dies[die as usize].cleaning.at(self.now);
        self.dies[die as usize].queue.push(&mut self.slots, id);
        self.begin_queued(die);
    }

    /// Carries out the next event.
    pub fn step(&mut self) -> Option<Step> {
        let (at, event) = self.events.pop()?;
        assert!(at >= self.now, "time runs forward");
        self.now = at;
        let finished = match event {
            ArrayEvent::Bus(bus) => self.bus_ends(bus),
            ArrayEvent::Die(die) => self.cells_end(die),
            ArrayEvent::Timer(tag) => return Some(Step::Timer(at, tag)),
        };
        Some(finished.map_or(Step::Progress(at), Step::Finished))
    }

    /// Commands that are under way, with whether they change the cells at this moment.
    pub fn under_way(&self) -> impl Iterator<Item = (&Command, bool)> {
        self.slots.active().map(|slot| (&slot.command, slot.stage == CommandStage::Cell))
    }

    /// What the array has done so far.
    pub fn usage(&self) -> ArrayUsage {
        ArrayUsage {
            elapsed: self.now,
            counts: self.counts,
            bus_busy: self.buses.iter().map(Bus::busy).collect(),
            bus_bytes: self.buses.iter().map(Bus::bytes).collect(),
            die_busy: self.dies.iter().map(Die::busy).collect(),
        }
    }

    fn begin_queued(&mut self, die: u32) {
        loop {
            let state = &mut self.dies[die as usize];
            let id = state.queue.head();
            if id == NONE {
                return;
            }
            let (kind, cleaning) = {
                let command = &self.slots.get(id).command;
                (command.kind, command.cleaning)
            };
            let cache_register = self.design.die.cache_register;
            if !state.can_begin(&self.slots, kind, cache_register) {
                return;
            }
            state.queue.pop(&self.slots);
            self.waited_for_die(id);
            let state = &mut self.dies[die as usize];
            if cleaning {
                state.cleaning.enter(self.now);
            }
            if kind == CommandKind::Program {
                if cache_register {
                    state.register = id;
                } else {
                    state.cells = id;
                }
                self.wait_for_bus(id, CommandStage::Data);
            } else {
                state.cells = id;
                self.wait_for_bus(id, CommandStage::Command);
            }
        }
    }

    fn waited_for_die(&mut self, id: u32) {
        let slot = self.slots.get_mut(id);
        let waited = self.now - slot.waits_since;
        let cleaned = self.dies[slot.command.die as usize].cleaning.at(self.now) - slot.cleaning_before;
        slot.parts.cleaning += cleaned;
        slot.parts.die += waited - cleaned;
    }

    fn waited_for_bus(&mut self, id: u32) {
        let bus = self.bus_of(id);
        let slot = self.slots.get_mut(id);
        let waited = self.now - slot.waits_since;
        let cleaned = self.buses[bus].cleaning_at(self.now) - slot.cleaning_before;
        slot.parts.cleaning += cleaned;
        slot.parts.bus += waited - cleaned;
    }

    fn bus_of(&self, id: u32) -> usize {
        (self.slots.get(id).command.die / self.dies_per_bus) as usize
    }

    fn wait_for_bus(&mut self, id: u32, stage: CommandStage) {
        let bus = self.bus_of(id);
        let cleaning_before = self.buses[bus].cleaning_at(self.now);
        let slot = self.slots.get_mut(id);
        slot.stage = stage;
        slot.waits_since = self.now;
        slot.cleaning_before = cleaning_before;
        self.buses[bus].wait(&mut self.slots, id, stage == CommandStage::Command);
        self.grant(bus);
    }

    fn grant(&mut self, bus: usize) {
        let Some(id) = self.buses[bus].next(&self.slots) else { return };
        self.waited_for_bus(id);
        let Slot { command, stage, .. } = *self.slots.get(id);
        let data = match stage {
            CommandStage::Data => self.data_time(command.bytes),
            _ => SimTime::ZERO,
        };
        let held = match (stage, command.kind) {
            (CommandStage::Data, CommandKind::Read) => data,
            (_, CommandKind::CopyBack) => self.design.bus.commands(2 * command.planes) + command.overhead,
            _ => data + self.design.bus.commands(command.planes) + command.overhead,
        };
        self.slots.get_mut(id).parts.transfer += held;
        self.buses[bus].begin(id, self.now, command.cleaning);
        self.events.add(self.now + held, ArrayEvent::Bus(bus as u32));
    }

    /// Most transfers have the same size, so the last result is kept.
    fn data_time(&mut self, bytes: u32) -> SimTime {
        match self.bytes_before {
            Some((before, time)) if before == bytes => time,
            _ => {
                let time = self.design.bus.data(bytes);
                self.bytes_before = Some((bytes, time));
                time
            }
        }
    }

    fn bus_ends(&mut self, bus: u32) -> Option<CommandCompletion> {
        let bus = bus as usize;
        let id = self.buses[bus].current();
        let Slot { command, stage, .. } = *self.slots.get(id);
        let bytes = if stage == CommandStage::Data { command.bytes } else { 0 };
        let rated = self.data_time(bytes);
        self.buses[bus].end(&self.slots, self.now, bytes, rated);
        let finished = match (stage, command.kind) {
            (CommandStage::Data, CommandKind::Read) => Some(self.read_is_out(id)),
            (CommandStage::Data, _) => {
                self.program_is_loaded(id);
                None
            }
            _ => {
                self.work(id);
                None
            }
        };
        self.grant(bus);
        finished
    }

    fn work(&mut self, id: u32) {
        let slot = self.slots.get_mut(id);
        let Command { die, kind, page, .. } = slot.command;
        let cells = &self.design.cells;
        let takes = match kind {
            CommandKind::Read => cells.read(page),
            CommandKind::Program => cells.program(page),
            CommandKind::Erase => cells.erase,
            CommandKind::CopyBack => cells.read(page) + cells.program(page),
        };
        slot.stage = CommandStage::Cell;
        slot.parts.cell += takes;
        self.dies[die as usize].work(self.now, self.now + takes);
        self.events.add(self.now + takes, ArrayEvent::Die(die));
    }

    fn program_is_loaded(&mut self, id: u32) {
        let die = &mut self.dies[self.slots.get(id).command.die as usize];
        if die.register == id {
            let cleaning_before = die.cleaning.at(self.now);
            let slot = self.slots.get_mut(id);
            slot.stage = CommandStage::Loaded;
            slot.waits_since = self.now;
            slot.cleaning_before = cleaning_before;
            let die = slot.command.die;
            self.program_from_register(die);
        } else {
            self.work(id);
        }
    }

    fn program_from_register(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let id = state.register;
        if state.cells != NONE || id == NONE || self.slots.get(id).stage != CommandStage::Loaded {
            return;
        }
        state.cells = id;
        state.register = NONE;
        self.waited_for_die(id);
        self.work(id);
        self.begin_queued(die);
    }

    fn cells_end(&mut self, die: u32) -> Option<CommandCompletion> {
        let state = &mut self.dies[die as usize];
        let id = state.cells;
        if self.slots.kind(id) != Some(CommandKind::Read) {
            state.cells = NONE;
            let finished = self.finish(id);
            self.program_from_register(die);
            self.begin_queued(die);
            return Some(finished);
        }
        if !self.design.die.cache_register {
            self.wait_for_bus(id, CommandStage::Data);
        } else if state.register == NONE {
            self.transfer_from_register(die);
        } else {
            let bus = self.bus_of(id);
            let cleaning_before = self.buses[bus].cleaning_at(self.now);
            let slot = self.slots.get_mut(id);
            slot.stage = CommandStage::Sensed;
            slot.waits_since = self.now;
            slot.cleaning_before = cleaning_before;
        }
        None
    }

    /// The next command goes ahead of the data, so that the cells work while the data crosses the bus.
    fn transfer_from_register(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let id = state.cells;
        state.register = id;
        state.cells = NONE;
        self.begin_queued(die);
        self.wait_for_bus(id, CommandStage::Data);
    }

    fn read_is_out(&mut self, id: u32) -> CommandCompletion {
        let die = self.slots.get(id).command.die;
        let state = &mut self.dies[die as usize];
        if state.register == id {
            state.register = NONE;
            let waiting = state.cells;
            if waiting != NONE && self.slots.get(waiting).stage == CommandStage::Sensed {
                self.waited_for_bus(waiting);
                let finished = self.finish(id);
                self.transfer_from_register(die);
                return finished;
            }
        } else {
            state.cells = NONE;
        }
        let finished = self.finish(id);
        self.begin_queued(die);
        finished
    }

    fn finish(&mut self, id: u32) -> CommandCompletion {
        let Slot { command, parts, .. } = self.slots.remove(id);
        self.counts.count(command.kind);
        if command.cleaning {
            self.dies[command.die as usize].cleaning.leave(self.now);
        }
        CommandCompletion { at: self.now, tag: command.tag, parts }
    }
}

#[cfg(test)]
#[path = "array_tests.rs"]
mod tests;
