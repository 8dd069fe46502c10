//! One event loop and one background thread on a disk, in simulated time.
//!
//! The background thread is the caller: its reads and writes block, and while they do, the event loop goes on ([`Foreground`]). So
//! the code of a store runs as it is, in one real thread.

use std::cell::RefCell;

use fawn_store::flash::{FileId, Flash, FlashError, Space};
use fawn_store::page::{PAGE_BYTES, Page};
use zerocopy::IntoBytes as _;

use super::disk::{SimulatedDisk, Ticket};
use super::settings::StoreTrialError;
use crate::time::SimTime;

/// What an event loop does.
pub trait Foreground {
    /// When it has something to do by the clock.
    fn next_at(&self, now: SimTime) -> Option<SimTime>;
    /// Does what is due.
    fn wake(&mut self, disk: &mut SimulatedDisk);
    /// Something that it asked of the disk is done.
    fn done(&mut self, ticket: Ticket, disk: &mut SimulatedDisk);
}

/// No event loop yet: a store that is being opened.
impl<F: Foreground> Foreground for Option<F> {
    fn next_at(&self, now: SimTime) -> Option<SimTime> {
        self.as_ref().and_then(|it| it.next_at(now))
    }

    fn wake(&mut self, disk: &mut SimulatedDisk) {
        if let Some(it) = self {
            it.wake(disk);
        }
    }

    fn done(&mut self, ticket: Ticket, disk: &mut SimulatedDisk) {
        if let Some(it) = self {
            it.done(ticket, disk);
        }
    }
}

/// Looks at disk and event loop after each event.
pub type Probe<'p, F> = Box<dyn FnMut(&SimulatedDisk, &F) + 'p>;

struct WorldState<'p, F> {
    disk: SimulatedDisk,
    foreground: F,
    /// What the background thread waits for.
    waits_for: Option<Ticket>,
    failed: Option<StoreTrialError>,
    probe: Option<Probe<'p, F>>,
}

/// A disk with an event loop.
pub struct World<'p, F> {
    state: RefCell<WorldState<'p, F>>,
}

impl<'p, F: Foreground> World<'p, F> {
    /// Of these.
    pub fn new(disk: SimulatedDisk, foreground: F) -> Self {
        Self { state: RefCell::new(WorldState { disk, foreground, waits_for: None, failed: None, probe: None }) }
    }

    /// Calls this after each event from now on.
    pub fn set_probe(&self, probe: Probe<'p, F>) {
        self.state.borrow_mut().probe = Some(probe);
    }

    /// Does something with the event loop, between two events.
    pub fn with<R>(&self, action: impl FnOnce(&mut F, &mut SimulatedDisk) -> R) -> R {
        let state = &mut *self.state.borrow_mut();
        action(&mut state.foreground, &mut state.disk)
    }

    /// Simulated time.
    pub fn now(&self) -> SimTime {
        self.state.borrow().disk.now()
    }

    /// Why the drive has failed, if it has.
    pub fn take_failure(&self) -> Option<StoreTrialError> {
        self.state.borrow_mut().failed.take()
    }

    /// Lets the next thing happen that is due before then. False if there is nothing.
    pub fn advance(&self, until: SimTime) -> bool {
        let state = &mut *self.state.borrow_mut();
        if state.failed.is_some() {
            return false;
        }
        let (timer, device) = (state.foreground.next_at(state.disk.now()), state.disk.next_at());
        let happened = match (timer, device) {
            (Some(at), _) if at <= until && device.is_none_or(|device| at <= device) => {
                state.disk.pass(at.max(state.disk.now()));
                state.foreground.wake(&mut state.disk);
                true
            }
            (_, Some(at)) if at <= until => state.disk.has_done() || state.step(),
            // Requests may wait although no event is due: the FTL makes room then.
            (None, None) if state.disk.is_busy() => state.step(),
            _ => false,
        };
        while let Some(ticket) = state.disk.take_done() {
            if state.waits_for == Some(ticket) {
                state.waits_for = None;
            } else {
                state.foreground.done(ticket, &mut state.disk);
            }
        }
        if let Some(mut probe) = state.probe.take() {
            probe(&state.disk, &state.foreground);
            state.probe = Some(probe);
        }
        happened
    }

    /// Lets the next thing happen.
    ///
    /// # Errors
    /// The drive failed, or nothing is under way.
    pub fn go_on(&self) -> Result<(), StoreTrialError> {
        if self.advance(SimTime::NEVER) {
            return Ok(());
        }
        let nothing = || StoreTrialError::Stuck("nothing is under way".to_owned());
        Err(self.take_failure().unwrap_or_else(nothing))
    }

    /// Lets time pass until then.
    pub fn sleep(&self, until: SimTime) {
        while self.advance(until) {}
        let state = &mut *self.state.borrow_mut();
        if state.failed.is_none() && until > state.disk.now() {
            state.disk.pass(until);
        }
    }

    /// Waits for what was asked of the disk.
    ///
    /// # Errors
    /// The drive failed.
    pub fn wait(&self, ticket: Option<Ticket>) -> Result<(), FlashError> {
        let Some(ticket) = ticket else { return Ok(()) };
        self.state.borrow_mut().waits_for = Some(ticket);
        while self.state.borrow().waits_for.is_some() {
            if !self.advance(SimTime::NEVER) && self.state.borrow().waits_for.is_some() {
                let why =
                    self.state.borrow().failed.as_ref().map_or("nothing is under way".to_owned(), ToString::to_string);
                return Err(FlashError::Io(why));
            }
        }
        Ok(())
    }

    /// Asks something of the disk and waits for it.
    ///
    /// # Errors
    /// The drive failed.
    pub fn block_on(&self, ask: impl FnOnce(&mut SimulatedDisk) -> Option<Ticket>) -> Result<(), FlashError> {
        let ticket = self.with(|_, disk| ask(disk));
        self.wait(ticket)
    }
}

impl<F: Foreground> WorldState<'_, F> {
    fn step(&mut self) -> bool {
        match self.disk.step() {
            Ok(more) => more,
            Err(error) => {
                self.failed = Some(error.into());
                false
            }
        }
    }
}

/// The store's own boundary. A write is on flash when it returns, so that a sync has only the journal to write.
impl<F: Foreground> Flash for World<'_, F> {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        if self.with(|_, disk| disk.volume.has(file)) {
            return Err(FlashError::Io(format!("{file} exists already")));
        }
        let create = || self.with(|_, disk| disk.volume.create(file, pages));
        // What was freed may be used once the journal holds that.
        if create() || (self.block_on(SimulatedDisk::sync).is_ok() && create()) {
            Ok(())
        } else {
            Err(FlashError::NoSpace)
        }
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        let ticket = self.with(|_, disk| {
            let length = disk.volume.length(file).ok_or(FlashError::NotFound(file))?;
            let fits = first.checked_add(pages.len() as u64).is_some_and(|end| end <= length);
            if fits { Ok(disk.read_file(file, first, pages.len() as u64)) } else { Err(FlashError::Short(file)) }
        })?;
        self.wait(ticket)?;
        let bytes = pages.as_mut_bytes();
        if self.with(|_, disk| disk.copy_file(file, first, bytes)) { Ok(()) } else { Err(FlashError::NotFound(file)) }
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        if !self.with(|_, disk| disk.volume.has(file)) {
            return Err(FlashError::NotFound(file));
        }
        let write = || self.with(|_, disk| disk.write_file(file, first, pages.len() as u64, Some(pages.as_bytes())));
        let mut ticket = write();
        if ticket.is_none() {
            self.block_on(SimulatedDisk::sync)?;
            ticket = write();
        }
        if ticket.is_none() { Err(FlashError::NoSpace) } else { self.wait(ticket) }
    }

    fn sync(&self, file: FileId) -> Result<(), FlashError> {
        self.block_on(|disk| disk.sync_file(file))
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        self.block_on(SimulatedDisk::sync)
    }

    fn punch(&self, file: FileId, first: u64, count: u64) -> Result<(), FlashError> {
        self.with(|_, disk| disk.volume.punch(file, first, count));
        Ok(())
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.with(|_, disk| disk.volume.truncate(file, pages));
        Ok(())
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        if self.with(|_, disk| disk.volume.remove(file)) { Ok(()) } else { Err(FlashError::NotFound(file)) }
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        Ok(self.with(|_, disk| disk.volume.list()))
    }

    fn space(&self) -> Result<Space, FlashError> {
        let (total, free) = self.with(|_, disk| disk.volume.space());
        Ok(Space { total: total * PAGE_BYTES as u64, free: free * PAGE_BYTES as u64 })
    }
}
