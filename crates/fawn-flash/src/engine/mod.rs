//! [`Engine`]: one store and its two threads, for an event loop.
//!
//! The store itself stays on the event loop's thread. A maintenance thread seals, merges, loads and scans; a commit
//! thread writes the commit log's batches, one at a time. What they have done waits in a mailbox until
//! [`poll`](Engine::poll); the mailbox's eventfd is written when the first piece of it arrives, so that a batch costs
//! one wake-up each way, and none where the other side is awake.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fawn_store::flash::FlashError;
use fawn_store::work::{MaintenanceEvent, MaintenanceWork};
use fawn_store::{Batch, Maintenance, OpenError, Opening, Options, Store};

use crate::files::Files;
use crate::os::{clock, threads};

pub mod commit_thread;
mod mailbox;
pub mod maintenance_thread;
pub mod pace;
mod store_handle;

use mailbox::Mailbox;
use pace::{MaintenancePace, PaceSetter};
pub use store_handle::StoreHandle;

/// Index entries installed in one [`Engine::poll`]: 0.1 ms, or 0.3 where others compete for the processor's caches.
const INSTALL_BUDGET: usize = 256;
/// Milliseconds between looks at the device's space and at scheduled flushes.
const TICK_MS: u64 = 1000;

/// Ticks after the opening before anything is dropped because it has expired: ten minutes. A machine that has just started may
/// have its clock set right only then.
pub(crate) const SETTLING_TICKS: u32 = 600;

/// What [`Engine::poll`] has done, and what its caller should do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, not a state of one machine")]
pub struct PollOutcome {
    /// Operations that were refused as busy, or had to wait for a load, should be tried again; scans may have answers.
    pub retry: bool,
    /// A batch was written: compare the gates of waiting answers with [`Store::durable`].
    pub committed: bool,
    /// There is more to install: poll again without waiting, after what else is ready.
    pub more: bool,
    /// A merged slice took the place of the old one.
    pub swapped: bool,
}

/// One store and the threads that work for it. Dropping it without [`close`](Self::close) is like a crash: what was
/// acknowledged as durable is there at the next opening.
pub struct Engine<S: StoreHandle = Store> {
    store: S,
    files: Arc<Files>,
    mailbox: Arc<Mailbox>,
    work: Option<Sender<MaintenanceWork>>,
    batches: Option<Sender<Batch>>,
    threads: Vec<JoinHandle<()>>,
    /// What the threads have done and the store has not taken yet, in order.
    events: VecDeque<MaintenanceEvent>,
    /// An installation is under way.
    installing: bool,
    last_tick_ms: u64,
    /// Ticks since the opening.
    ticks: u32,
    /// How fast the maintenance thread goes.
    pace: Arc<MaintenancePace>,
    setter: PaceSetter,
}

impl Engine<Store> {
    /// Opens the store on `files`, or makes it, and starts its threads. `now` is the Unix second.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(files: Arc<Files>, options: Options, now: u32) -> Result<(Self, Opening), OpenError> {
        let index = options.index;
        let (store, maintenance, opening) = Store::open(options, &*files, now)?;
        Ok((Self::start(files, store, maintenance, index)?, opening))
    }
}

impl<S: StoreHandle> Engine<S> {
    /// Starts the threads of a store that was opened on `files`; `index` names them.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the system has no thread or descriptor left.
    pub fn start(files: Arc<Files>, store: S, maintenance: Maintenance, index: u32) -> Result<Self, FlashError> {
        let mailbox = Arc::new(Mailbox::new()?);
        let (work, work_inbox) = channel();
        let (batches, batch_inbox) = channel();
        let mut workers = Vec::new();
        let pace = Arc::<MaintenancePace>::default();
        let (its_files, its_mailbox, its_pace) = (Arc::clone(&files), Arc::clone(&mailbox), Arc::clone(&pace));
        workers.push(threads::start(format!("fawn-tend-{index}"), move || {
            let deliver = |event| its_mailbox.put(|mail| mail.events.push(event));
            maintenance_thread::maintain(maintenance, &its_files, &its_pace, &work_inbox, deliver);
        })?);
        let (its_files, its_mailbox) = (Arc::clone(&files), Arc::clone(&mailbox));
        workers.push(threads::start(format!("fawn-log-{index}"), move || {
            commit_thread::commit(&its_files, &batch_inbox, |committed| {
                its_mailbox.put(|mail| mail.committed = Some(committed));
                None
            });
        })?);
        let mut engine = Self {
            store,
            files,
            mailbox,
            work: Some(work),
            batches: Some(batches),
            threads: workers,
            events: VecDeque::new(),
            installing: false,
            last_tick_ms: 0,
            ticks: 0,
            pace,
            setter: PaceSetter::default(),
        };
        engine.hand_out_work();
        Ok(engine)
    }

    /// The store. After a round of requests, call [`poll`](Self::poll).
    #[inline]
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// The store, to look at.
    pub fn store_ref(&self) -> &S {
        &self.store
    }

    /// The store's files, for a [`Reader`](crate::Reader).
    pub fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Hands work to the maintenance thread.
    fn submit(&mut self, work: MaintenanceWork) {
        if let Some(inbox) = &self.work {
            // A thread that is gone has stopped the process.
            let _ = inbox.send(work);
        }
    }

    /// Whether the next [`poll`](Self::poll) at `now_ms` has more to do than to hand out what requests left: something to
    /// take in or to install, or the look at what is due that comes once a second.
    #[inline]
    pub fn poll_is_due(&self, now_ms: u64) -> bool {
        self.has_left() || self.mailbox.has_mail() || now_ms >= self.last_tick_ms + TICK_MS
    }

    /// Takes in what the threads have done and gives them what there is to do. Cheap when that is nothing: to be called
    /// once a turn of the event loop. `now` is the Unix second, `now_ms` any monotonic clock.
    pub fn poll(&mut self, now: u32, now_ms: u64) -> PollOutcome {
        let mut polled = PollOutcome::default();
        let merges = self.store.inner().upkeep().stats().merges;
        if let Some(mail) = self.mailbox.take() {
            if let Some(committed) = mail.committed {
                self.store.committed(committed);
                polled.committed = true;
                polled.retry = true;
            }
            self.events.extend(mail.events);
        }
        // One a turn: each may take a good part of what a turn may take.
        if !self.installing
            && let Some(event) = self.events.pop_front()
        {
            self.store.handle(event);
            self.installing = true;
        }
        if now_ms >= self.last_tick_ms + TICK_MS {
            self.last_tick_ms = now_ms;
            self.ticks = self.ticks.saturating_add(1);
            self.store.tick(now, self.ticks > SETTLING_TICKS);
        }
        if self.installing {
            self.installing = self.store.step(INSTALL_BUDGET);
            polled.retry |= !self.installing;
        }
        polled.more = self.has_left();
        polled.swapped = self.store.inner().upkeep().stats().merges > merges;
        self.setter.set(&self.pace, self.store.inner(), now_ms);
        self.hand_out_work();
        if let Some(batch) = self.store.take_batch(now_ms)
            && let Some(inbox) = &self.batches
        {
            let _ = inbox.send(batch);
        }
        polled
    }

    /// Milliseconds that the event loop may wait, from `now_ms`, before [`poll`](Self::poll) is due whatever happens.
    pub fn timeout_ms(&self, now_ms: u64) -> u64 {
        if self.has_left() {
            return 0;
        }
        let tick = self.last_tick_ms + TICK_MS;
        self.store.inner().log().batch_deadline_ms().map_or(tick, |deadline| deadline.min(tick)).saturating_sub(now_ms)
    }

    /// Whether there is more to install than one turn's part.
    #[inline]
    fn has_left(&self) -> bool {
        self.installing || !self.events.is_empty()
    }

    fn hand_out_work(&mut self) {
        while let Some(work) = self.store.take_work() {
            self.submit(work);
        }
    }

    /// Stops cleanly: everything appended is synced, and the next opening has nothing to replay that it must doubt.
    /// Reads in flight are given up. Blocks.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the store stops instead, or when there is no space for what was in memory alone; what was
    /// acknowledged as durable is safe even then.
    pub fn close(mut self) -> Result<(), FlashError> {
        self.store.hurry();
        let mut closing = false;
        while !self.store.is_closed() {
            self.mailbox.drain();
            let polled = self.poll(clock::unix(), clock::monotonic_ms());
            if let Some(why) = self.store.stopped() {
                return Err(FlashError::Io(why));
            }
            if !closing && self.store.is_idle() {
                closing = true;
                self.store.close();
                self.hand_out_work();
            } else if self.store.inner().cannot_stop_cleanly() {
                let lost = self.store.inner().stats().buffered_entries;
                let why = format!("{}; up to {lost} records that were only in memory are lost", FlashError::NoSpace);
                return Err(FlashError::Io(why));
            } else if polled == PollOutcome::default() {
                self.mailbox.wait(Duration::from_millis(self.timeout_ms(clock::monotonic_ms()).max(1)));
            }
        }
        Ok(())
    }
}

impl<S: StoreHandle> Drop for Engine<S> {
    fn drop(&mut self) {
        (self.work, self.batches) = (None, None);
        for thread in self.threads.drain(..) {
            // A panic there has stopped the process.
            let _ = thread.join();
        }
    }
}

/// An eventfd that is written when [`Engine::poll`] has something to take in, and never read: register it as
/// `EPOLLIN | EPOLLET`.
impl<S: StoreHandle> AsFd for Engine<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.mailbox.as_fd()
    }
}

#[cfg(test)]
mod tests;
