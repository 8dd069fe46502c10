//! The simulation of an array.

use super::bus::Bus;
use super::command::{Command, CommandCompletion, CommandKind};
use super::design::FlashDesign;
use super::die::Die;
use super::events::{ArrayEvent, EventQueue};
use super::geometry::GeometryError;
use super::slots::{CommandStage, NONE, Slot, Slots};
use super::suspension::Suspension;
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
    suspension: Option<Suspension>,
    bytes_before: (u32, SimTime),
    /// How long the commands of so many pages take, by their number.
    command_times: Vec<SimTime>,
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
            suspension: None,
            bytes_before: (0, SimTime::ZERO),
            command_times: (0..=2 * design.geometry.planes_per_die).map(|pages| design.bus.commands(pages)).collect(),
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

    /// Lets reads interrupt programs and erases from now on, or not.
    pub fn set_suspension(&mut self, suspension: Option<Suspension>) {
        self.suspension = suspension;
    }

    /// Gives a die a command, now.
    pub fn submit(&mut self, command: Command) {
        let die = command.die;
        let data = self.data_time(command.bytes);
        let id = self.slots.add(command, die / self.dies_per_bus, data);
        let state = &mut self.dies[die as usize];
        let slot = self.slots.get_mut(id);
        slot.waits_since = self.now;
        slot.cleaning_before = state.cleaning.at(self.now);
        state.queue.push(&mut self.slots, id);
        if self.suspension.is_some() {
            self.interrupt(die);
        }
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
            if kind != CommandKind::Read {
                state.reads_ahead = 0;
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
        self.slots.get(id).bus as usize
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
        let Slot { command, stage, data, .. } = *self.slots.get(id);
        let held = match (stage, command.kind) {
            (CommandStage::Data, CommandKind::Read) => data,
            (CommandStage::Data, _) => data + self.command_time(command.planes) + command.overhead,
            (_, CommandKind::CopyBack) => self.command_time(2 * command.planes) + command.overhead,
            _ => self.command_time(command.planes) + command.overhead,
        };
        self.slots.get_mut(id).parts.transfer += held;
        self.buses[bus].begin(id, self.now, command.cleaning);
        self.events.add(self.now + held, ArrayEvent::Bus(bus as u32));
    }

    /// Most transfers have the same size, so the last result is kept.
    #[inline]
    fn data_time(&mut self, bytes: u32) -> SimTime {
        if bytes == 0 {
            return SimTime::ZERO;
        }
        if self.bytes_before.0 != bytes {
            self.bytes_before = (bytes, self.design.bus.data(bytes));
        }
        self.bytes_before.1
    }

    #[inline]
    fn command_time(&self, pages: u32) -> SimTime {
        let known = self.command_times.get(pages as usize);
        known.copied().unwrap_or_else(|| self.design.bus.commands(pages))
    }

    fn bus_ends(&mut self, bus: u32) -> Option<CommandCompletion> {
        let bus = bus as usize;
        let id = self.buses[bus].current();
        let Slot { command, stage, data, .. } = *self.slots.get(id);
        let (bytes, rated) = if stage == CommandStage::Data { (command.bytes, data) } else { (0, SimTime::ZERO) };
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
        if state.ends_at != self.now {
            // What was to end now was interrupted.
            return None;
        }
        state.ends_at = SimTime::NEVER;
        if state.is_stopping {
            state.suspend();
            self.cells_are_free(die);
            return None;
        }
        let id = state.cells;
        if self.slots.kind(id) != Some(CommandKind::Read) {
            state.cells = NONE;
            let finished = self.finish(id);
            self.cells_are_free(die);
            return Some(finished);
        }
        let interrupts = state.suspended != NONE || self.slots.kind(state.register) == Some(CommandKind::Program);
        if !self.design.die.cache_register || interrupts {
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
        self.cells_are_free(die);
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
        if self.dies[die as usize].cells == NONE {
            self.cells_are_free(die);
        } else {
            self.begin_queued(die);
        }
        finished
    }

    /// Gives the cells something to do: a read that goes ahead, then what reads have interrupted, then what is next.
    #[inline]
    fn cells_are_free(&mut self, die: u32) {
        if let Some(suspension) = self.suspension
            && (self.begin_read_ahead(die) || self.resume(die, &suspension))
        {
            return;
        }
        self.program_from_register(die);
        self.begin_queued(die);
    }

    /// A command has come that may be a read. It interrupts what the cells do, or goes ahead of what waits.
    fn interrupt(&mut self, die: u32) {
        let Some(suspension) = self.suspension else { return };
        let state = &self.dies[die as usize];
        if state.cells == NONE {
            self.begin_read_ahead(die);
            return;
        }
        let slot = self.slots.get(state.cells);
        let (stops, takes) = match slot.command.kind {
            CommandKind::Program => (suspension.programs, suspension.program_stop),
            CommandKind::Erase => (suspension.erases, suspension.erase_stop),
            CommandKind::Read | CommandKind::CopyBack => return,
        };
        let is_working = slot.stage == CommandStage::Cell && !state.is_stopping;
        if stops && is_working && state.ends_at > self.now + takes && self.read_ahead(die).is_some() {
            self.dies[die as usize].stop(self.now, takes);
            self.events.add(self.now + takes, ArrayEvent::Die(die));
            self.counts.suspensions += 1;
        }
    }

    /// The first read of the host in a die's queue, by the command before it, if it may go ahead of everything.
    fn read_ahead(&self, die: u32) -> Option<u32> {
        let suspension = self.suspension?;
        let state = &self.dies[die as usize];
        if state.reads_ahead >= suspension.reads_ahead {
            return None;
        }
        let (mut previous, mut at) = (NONE, state.queue.head());
        let read = loop {
            if at == NONE {
                return None;
            }
            let command = &self.slots.get(at).command;
            match command.kind {
                CommandKind::Read if !command.cleaning => break command,
                CommandKind::Read => {}
                CommandKind::Program | CommandKind::CopyBack if suspension.programs => {}
                CommandKind::Erase if suspension.erases => {}
                _ => return None,
            }
            (previous, at) = (at, self.slots.get(at).next);
        };
        let is_of_its_page = |id: u32| {
            let command = &self.slots.get(id).command;
            matches!(command.kind, CommandKind::Program | CommandKind::CopyBack) && command.page == read.page
        };
        for id in [state.cells, state.suspended, state.register] {
            if id != NONE && is_of_its_page(id) {
                return None;
            }
        }
        if self.slots.kind(state.register) == Some(CommandKind::Program) && !suspension.programs {
            return None;
        }
        let mut before = state.queue.head();
        while before != at {
            if is_of_its_page(before) {
                return None;
            }
            before = self.slots.get(before).next;
        }
        Some(previous)
    }

    /// Lets a read go ahead, on cells that are free. Whether there is one.
    fn begin_read_ahead(&mut self, die: u32) -> bool {
        let Some(previous) = self.read_ahead(die) else { return false };
        let state = &mut self.dies[die as usize];
        let id = state.queue.take_after(&mut self.slots, previous);
        state.cells = id;
        state.reads_ahead += 1;
        self.waited_for_die(id);
        self.wait_for_bus(id, CommandStage::Command);
        true
    }

    /// Goes on with what reads have interrupted. Whether there is anything.
    fn resume(&mut self, die: u32, suspension: &Suspension) -> bool {
        let state = &mut self.dies[die as usize];
        if state.suspended == NONE {
            return false;
        }
        let later = state.resume(self.now, suspension.resume);
        let (id, ends_at) = (state.cells, state.ends_at);
        self.slots.get_mut(id).parts.die += later;
        self.events.add(ends_at, ArrayEvent::Die(die));
        self.begin_queued(die);
        true
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
