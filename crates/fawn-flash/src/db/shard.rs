//! One store of a [`Db`](super::Db), shared by all its threads.
//!
//! The store is behind a mutex that is held for the length of a lookup or an append, never while anything is read,
//! written or waited for: a cold get locks twice, once to plan its read and once to finish it.
//!
//! # Layout
//!
//! `shard`: opening, events, locks. `commit`: group commit and durability. `get`: reads. `change`: writes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fawn_ring::Key;
use fawn_store::work::{MaintenanceEvent, MaintenanceWork, ScanPart};
use fawn_store::{Ack, Batch, OpenError, Opening, Options, Store};

use super::error::Error;
use crate::engine::pace::{MaintenancePace, PaceSetter};
use crate::engine::{SETTLING_TICKS, commit_thread, maintenance_thread};
use crate::files::Files;
use crate::os::notify::Notify;
use crate::os::{clock, threads};
use crate::reader::Reader;

/// Index entries installed without letting go of the lock: about 0.1 ms.
const INSTALL_BUDGET: usize = 2048;
/// How long a thread that waits for an event sleeps before it looks again all the same.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);
/// Counters of writes, by key.
const STRIPES: usize = 1024;

/// One store and what its users share.
pub(super) struct Shard {
    pub files: Arc<Files>,
    pub ack: Ack,
    core: Mutex<ShardCore>,
    /// Gate of the newest durable batch; the greatest there is where puts do not wait for one.
    pub(super) durable: AtomicU64,
    /// The store has stopped: its reason is in `core`.
    pub(super) stopped: AtomicBool,
    /// Notified when an even, or an odd, batch is durable.
    pub(super) commits: [Notify; 2],
    /// Notified after every event and every batch.
    pub events: Notify,
    /// Readers that no [`Db::get_many`](super::Db::get_many) is using.
    readers: Mutex<Vec<Reader>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the lock protects.
pub(super) struct ShardCore {
    pub store: Store,
    work: Option<Sender<MaintenanceWork>>,
    batches: Option<Sender<Batch>>,
    /// A batch is being written, here or on the commit thread, or its writer has yet to look for the next one.
    pub(super) committing: bool,
    pub(super) batches_taken: u64,
    pub(super) batches_done: u64,
    /// Number of appends to keys of each stripe (wrapping), so that a change that had to read its key's old version
    /// notices another in between.
    writes: Box<[u32; STRIPES]>,
    /// Parts of scans that nobody has fetched yet.
    pub(super) scanned: HashMap<u64, ScanPart>,
    closed: bool,
    /// Seconds since it was opened, about.
    ticks: u32,
    /// How fast the maintenance thread goes.
    pace: Arc<MaintenancePace>,
    setter: PaceSetter,
}

impl Shard {
    /// Opens the store on `files` and starts its threads.
    pub fn open(files: Arc<Files>, options: Options) -> Result<(Arc<Self>, Opening), OpenError> {
        let (index, ack) = (options.index, options.ack);
        let (store, maintenance, opening) = Store::open(options, &*files, clock::unix())?;
        let (work, work_inbox) = channel();
        let (batches, batch_inbox) = channel();
        let pace = Arc::<MaintenancePace>::default();
        let core = ShardCore {
            store,
            work: Some(work),
            batches: Some(batches),
            committing: false,
            batches_taken: 0,
            batches_done: 0,
            writes: Box::new([0; STRIPES]),
            scanned: HashMap::new(),
            closed: false,
            ticks: 0,
            pace: Arc::clone(&pace),
            setter: PaceSetter::default(),
        };
        let shard = Arc::new(Self {
            files: Arc::clone(&files),
            ack,
            durable: AtomicU64::new(core.store.durable().0),
            stopped: AtomicBool::new(false),
            core: Mutex::new(core),
            commits: <[Notify; 2]>::default(),
            events: Notify::default(),
            readers: Mutex::default(),
            threads: Mutex::default(),
        });
        let (its_shard, its_files) = (Arc::clone(&shard), Arc::clone(&files));
        let tend = threads::start(format!("fawn-tend-{index}"), move || {
            let deliver = |event| its_shard.deliver(event);
            maintenance_thread::maintain(maintenance, &its_files, &pace, &work_inbox, deliver);
        })?;
        let its_shard = Arc::clone(&shard);
        let log = threads::start(format!("fawn-log-{index}"), move || {
            commit_thread::commit(&files, &batch_inbox, |committed| its_shard.committed(committed));
        })?;
        shard.threads.lock().expect("nobody else knows of it yet").extend([tend, log]);
        shard.lock().hand_out();
        Ok((shard, opening))
    }

    /// The readers that nobody is using.
    pub fn readers(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the readers that would keep the space of removed files from others, as nothing may be read for long.
    pub fn let_go_of_removed(&self) {
        self.readers().retain(|reader| !reader.holds_removed());
    }

    /// The store, whether it is closed or not.
    pub fn lock(&self) -> MutexGuard<'_, ShardCore> {
        self.core.lock().expect("a panic under the lock left the store in an unknown state")
    }

    /// The store, while it is open.
    #[inline]
    pub fn open_core(&self) -> Result<MutexGuard<'_, ShardCore>, Error> {
        let core = self.lock();
        if core.closed { Err(Error::Closed) } else { Ok(core) }
    }

    /// Installs what the maintenance thread has done; called by it.
    fn deliver(&self, event: MaintenanceEvent) {
        let mut core = self.lock();
        core.store.handle(event);
        while core.store.step(INSTALL_BUDGET) {
            // Let others have the store in between.
            drop(core);
            thread::yield_now();
            core = self.lock();
        }
        while let Some(part) = core.store.reports().take_scanned() {
            core.scanned.insert(part.id, part);
        }
        core.set_pace(clock::monotonic_ms());
        core.hand_out();
        let stopped = core.store.stopped().is_some();
        drop(core);
        if stopped {
            self.stop();
        }
        self.events.notify();
    }

    /// Makes known that the store has stopped.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        for notify in &self.commits {
            notify.notify();
        }
        self.events.notify();
    }

    /// Fails when the store has stopped.
    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.stopped.load(Ordering::Acquire) {
            return Ok(());
        }
        let why = self.lock().store.stopped().unwrap_or("its device failed").to_owned();
        Err(Error::Stopped(why))
    }

    /// Lets go of the store until the next event, or a little longer than that may take.
    pub(super) fn pause(&self, mut core: MutexGuard<'_, ShardCore>, heard: u32) -> Result<(), Error> {
        let now_ms = clock::monotonic_ms();
        core.set_pace(now_ms);
        core.hand_out();
        let batch = core.begin_batch(now_ms);
        drop(core);
        self.check()?;
        match batch {
            Some(batch) => self.write_here(batch),
            None => self.events.wait(heard, Some(PATIENCE)),
        }
        Ok(())
    }

    /// What is due with time: batches in interval mode, and once a second a look at the device. Returns when to come
    /// back at the latest, on the same clock.
    pub fn tick(&self, now_ms: u64, second: bool) -> u64 {
        self.let_go_of_removed();
        let mut core = self.lock();
        if second && !core.closed {
            core.ticks = core.ticks.saturating_add(1);
            let settled = core.ticks > SETTLING_TICKS;
            core.store.tick(clock::unix(), settled);
        }
        core.set_pace(now_ms);
        core.hand_out();
        if let Some(batch) = core.begin_batch(now_ms) {
            core.send(batch);
        }
        let period = match self.ack {
            Ack::Interval { ms } => u64::from(ms).clamp(1, 1000),
            Ack::Durable | Ack::Memory => 1000,
        };
        let deadline = core.store.log().batch_deadline_ms().unwrap_or(u64::MAX);
        deadline.clamp(now_ms + 1, now_ms + period)
    }

    /// Syncs everything, records a clean end and stops the threads. Later calls do nothing.
    pub fn close(&self) -> Result<(), Error> {
        if self.lock().closed {
            return Ok(());
        }
        let synced = self.sync();
        let mut core = self.lock();
        if core.closed {
            return Ok(());
        }
        core.closed = true;
        core.store.hurry();
        drop(core);
        let result = synced.and_then(|()| self.record_end());
        let mut core = self.lock();
        (core.work, core.batches) = (None, None);
        drop(core);
        for thread in self.threads.lock().expect("closing does not panic").drain(..) {
            // A panic there has stopped the process.
            let _ = thread.join();
        }
        self.events.notify();
        result
    }

    fn record_end(&self) -> Result<(), Error> {
        let mut begun = false;
        loop {
            let heard = self.events.listen();
            let mut core = self.lock();
            if core.store.upkeep().is_closed() {
                return Ok(());
            }
            if !begun && !core.committing && core.store.is_idle() {
                begun = true;
                core.store.close();
            }
            self.pause(core, heard)?;
        }
    }
}

impl ShardCore {
    /// Passes on what the store wants done.
    #[inline]
    pub fn hand_out(&mut self) {
        while let Some(work) = self.store.take_work() {
            self.submit(work);
        }
    }

    pub fn submit(&mut self, work: MaintenanceWork) {
        if matches!(work, MaintenanceWork::Seal { .. }) {
            self.set_pace(clock::monotonic_ms());
        }
        if let Some(inbox) = &self.work {
            // A thread that is gone has stopped the process.
            let _ = inbox.send(work);
        }
    }

    /// Has the maintenance thread go as fast as it has to.
    pub(super) fn set_pace(&mut self, now_ms: u64) {
        self.setter.set(&self.pace, &self.store, now_ms);
    }

    /// A number for a new value file.
    pub fn new_value_file(&mut self) -> u64 {
        self.store.new_value_file()
    }

    /// Has the commit thread write `batch`.
    pub fn send(&self, batch: Batch) {
        if let Some(inbox) = &self.batches {
            let _ = inbox.send(batch);
        }
    }

    /// Number of writes (wrapping) to keys of `key`'s stripe.
    #[inline]
    pub fn writes(&self, key: &Key) -> u32 {
        self.writes[stripe(key)]
    }

    /// Notes a write to `key`.
    #[inline]
    pub fn note_write(&mut self, key: &Key) {
        let writes = &mut self.writes[stripe(key)];
        *writes = writes.wrapping_add(1);
    }
}

/// By the last bytes: the first ones chose the shard.
#[inline]
fn stripe(key: &Key) -> usize {
    (usize::from(key.0[18]) << 8 | usize::from(key.0[19])) % STRIPES
}
