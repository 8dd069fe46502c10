//! One store, driven from one thread as an event loop does it: puts, gets and what its helper threads have done are
//! taken in turn, and nothing blocks but the wait for the next of them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fawn_flash::{Caching, DeviceTraffic, Directory, Engine, Files, PollOutcome, Reader, ReaderOptions};
use fawn_machine::process::thread_cpu_us;
use fawn_machine::wait::wait;
use fawn_ring::Secret;
use fawn_store::flash::FlashError;
use fawn_store::{Gate, Opening, Options, Refusal, Stats, Store, Write};
use fawn_workload::{key_of, write_value};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::error::{Error, FlagBytes};
use crate::setup::Setup;
use crate::usage::{Stopwatch, StoreCounts, WorkUsage};

/// So long nothing may happen before a store is taken for settled.
const QUIET: Duration = Duration::from_millis(100);
/// How often a store that settles is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// The longest of the steps in which the event loop takes in what the store's threads have done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTimes {
    /// Wall time of the longest, microseconds.
    pub longest_us: f64,
    /// CPU time of that which took the most, microseconds.
    pub longest_cpu_us: f64,
    /// The last one's wall time, if it has not been asked for yet.
    last_us: Option<f64>,
}

impl StepTimes {
    /// The wall time of the last step, once.
    pub fn take_last(&mut self) -> Option<f64> {
        self.last_us.take()
    }
}

/// An open store and its reader.
pub struct StoreDriver {
    engine: Engine,
    pub(crate) reader: Reader,
    epoll: OwnedFd,
    secret: Secret,
    began: Instant,
    now_ms: u64,
    pub(crate) unix: u32,
    value: Vec<u8>,
    /// What opening has found.
    pub opening: Opening,
    /// Steps since they were last reset.
    pub steps: StepTimes,
    path: PathBuf,
    /// Its lock ends after the store.
    _directory: Directory,
}

impl StoreDriver {
    /// Opens the store of this setup in `directory`, or makes it.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::Open`], [`Error::Flash`].
    pub fn open(directory: &Path, setup: &Setup) -> Result<Self, Error> {
        let Setup { memory, miss_filter, ack, value_bytes, depth, .. } = *setup;
        let directory = Directory::open(directory, 1)?;
        let options = Options { ack, miss_filter, ..Options::new(directory.secret(), memory) };
        directory.make_room(&options)?;
        let files = Arc::new(directory.files(0, Caching::Auto)?);
        let unix = unix_now();
        let (engine, opening) = Engine::open(Arc::clone(&files), options, unix)?;
        let reader = Reader::new(files, ReaderOptions { depth, ..ReaderOptions::default() })?;
        let system = |errno: Errno| FlashError::Io(format!("epoll: {errno}"));
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(system)?;
        // As an event loop watches them: edges of counters that nobody reads.
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &engine, EventData::new_u64(0), edge).map_err(system)?;
        epoll::add(&epoll, &reader, EventData::new_u64(1), edge).map_err(system)?;
        Ok(Self {
            secret: directory.secret(),
            path: directory.store_path(0),
            engine,
            reader,
            epoll,
            began: Instant::now(),
            now_ms: 0,
            unix,
            value: vec![0; value_bytes],
            opening,
            steps: StepTimes::default(),
            _directory: directory,
        })
    }

    /// The store.
    #[inline]
    pub fn store(&mut self) -> &mut Store {
        self.engine.store()
    }

    /// The store and the reader of its files.
    #[inline]
    pub fn halves(&mut self) -> (&mut Store, &mut Reader) {
        (self.engine.store(), &mut self.reader)
    }

    /// The store's files.
    pub fn files(&self) -> &Arc<Files> {
        self.engine.files()
    }

    /// The directory of the store's files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The secret that tells where keys lie.
    #[inline]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Bytes of a value.
    pub fn value_bytes(&self) -> usize {
        self.value.len()
    }

    /// The store's figures.
    pub fn stats(&self) -> Stats {
        self.engine.store_ref().stats()
    }

    /// The store's counts.
    pub fn counts(&self) -> StoreCounts {
        let (stats, traffic) = (self.stats(), self.files().traffic());
        StoreCounts {
            reads: stats.reads.reads,
            pages_read: stats.reads.pages,
            false_reads: stats.reads.false_reads,
            cache_hits: stats.cache.hits,
            batches: stats.log.batches,
            seals: stats.maintenance.seals,
            merges: stats.maintenance.merges,
            written_bytes: traffic.written_bytes,
            maintenance_read_bytes: traffic.read_bytes,
        }
    }

    /// Begins to measure.
    pub fn meter(&self) -> Stopwatch {
        Stopwatch::start(self.counts())
    }

    /// What was used since `meter` began.
    pub fn usage(&self, meter: &Stopwatch) -> WorkUsage {
        meter.usage(self.counts())
    }

    /// Puts entry `index` in this version; what its acknowledgement waits for, or `None`: the store is busy, to be tried
    /// again after a [`poll`](Self::poll).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Refused`], [`Error::Unfit`].
    #[inline]
    pub fn put(&mut self, index: u64, version: u32) -> Result<Option<Gate>, Error> {
        let name = key_of(index);
        let key = self.secret.position(&name);
        write_value(index, version, &mut self.value);
        match self.engine.store().append(&key, Write::value(&name, &self.value), self.unix) {
            Ok(appended) => Ok(Some(appended.gate)),
            Err(Refusal::Busy) => Ok(None),
            Err(refusal) => Err(self.refused(refusal)),
        }
    }

    #[cold]
    fn refused(&self, refusal: Refusal) -> Error {
        let stats = self.stats();
        match refusal {
            Refusal::OutOfMemory => Error::OutOfMemory { memory: stats.memory_limit, entries: stats.entries },
            Refusal::TooLarge => Error::Unfit(format!(
                "with --memory {} the store keeps values of {} bytes in separate files, which this benchmark does \
                not measure: give smaller values, or more memory",
                FlagBytes(stats.memory_limit),
                self.value.len()
            )),
            refusal => Error::Refused(refusal),
        }
    }

    /// Whether answers that wait for `gate` may leave.
    #[inline]
    pub fn is_durable(&self, gate: Gate) -> bool {
        self.engine.store_ref().durable() >= gate
    }

    /// Takes in what the store's threads have done and hands out what there is to do.
    ///
    /// # Errors
    /// [`Error::Flash`] when the store has stopped.
    #[inline]
    pub fn poll(&mut self) -> Result<PollOutcome, Error> {
        let began = Instant::now();
        let now_ms = began.duration_since(self.began).as_millis() as u64;
        if now_ms / 1000 != self.now_ms / 1000 {
            self.unix = unix_now();
        }
        self.now_ms = now_ms;
        let cpu = self.engine.poll_is_due(now_ms).then(thread_cpu_us);
        let polled = self.engine.poll(self.unix, now_ms);
        if let Some(cpu) = cpu {
            let (us, cpu) = (began.elapsed().as_secs_f64() * 1e6, thread_cpu_us() - cpu);
            self.steps.longest_us = self.steps.longest_us.max(us);
            self.steps.longest_cpu_us = self.steps.longest_cpu_us.max(cpu);
            self.steps.last_us = Some(us);
            if let Some(why) = self.engine.store_ref().stopped() {
                return Err(Error::Flash(FlashError::Io(why.to_owned())));
            }
        }
        Ok(polled)
    }

    /// Waits until a read has come back, the store's threads have done something, something is due, or for `most`.
    ///
    /// # Errors
    /// [`Error::Flash`] when the system cannot wait.
    pub fn wait(&mut self, most: Duration) -> Result<(), Error> {
        let timeout = most.min(Duration::from_millis(self.engine.timeout_ms(self.now_ms)));
        let mut events = Vec::with_capacity(4);
        match wait(&self.epoll, &mut events, timeout) {
            Ok(()) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::Flash(FlashError::Io(format!("waiting for events: {errno}")))),
        }
    }

    /// Waits until all indexes are loaded.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn load(&mut self) -> Result<(), Error> {
        loop {
            let polled = self.poll()?;
            let stats = self.stats();
            if stats.index.slices_loaded == stats.index.slices {
                return Ok(());
            }
            if !polled.more {
                self.wait(LOOK)?;
            }
        }
    }

    /// Seals what is in memory and waits until the store has nothing left to do; what was used since `meter` began, up to
    /// the moment from which on it was quiet.
    ///
    /// # Errors
    /// As [`poll`](Self::poll), or [`Error::Refused`] when there is no space.
    pub fn settle(&mut self, meter: &Stopwatch) -> Result<WorkUsage, Error> {
        let mut sealed = false;
        // When it became quiet, what had been done to its files by then, and what was used.
        let mut quiet: Option<(Instant, (DeviceTraffic, u64), WorkUsage)> = None;
        loop {
            if !sealed {
                sealed = match self.store().seal() {
                    Ok(()) => true,
                    Err(Refusal::Busy) => false,
                    Err(refusal) => return Err(refusal.into()),
                };
            }
            let polled = self.poll()?;
            if polled.more {
                continue;
            }
            let is_busy = !sealed
                || self.store().upkeep().is_cleaning()
                || !self.store().is_idle()
                || self.stats().buffered_entries > 0;
            // Files are read, written and removed where nobody looks.
            let touched = (self.files().traffic(), self.files().removals());
            match &quiet {
                _ if is_busy => quiet = None,
                Some((since, before, usage)) if *before == touched => {
                    if since.elapsed() >= QUIET {
                        return Ok(*usage);
                    }
                }
                _ => quiet = Some((Instant::now(), touched, self.usage(meter))),
            }
            self.wait(LOOK)?;
        }
    }

    /// Stops cleanly.
    ///
    /// # Errors
    /// [`Error::Flash`].
    pub fn close(self) -> Result<(), Error> {
        Ok(self.engine.close()?)
    }
}

fn unix_now() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u32::try_from(since.as_secs()).unwrap_or(u32::MAX))
}
