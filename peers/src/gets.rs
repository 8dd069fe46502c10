//! Gets: as many threads as there are gets in flight, each with one at a time, as these engines' calls block.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Condvar, Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use fawn_bench::usage::WorkUsage;
use fawn_machine::fresh_seed;
use fawn_report::Latencies;
use fawn_workload::{Draw, WriteHistory, key_of, mix, version_of};

use crate::engine::EngineReader;
use crate::session::{Puts, EngineSession};

/// The writer is woken when it owes so many puts; else it looks once in a while.
const WAKE: u64 = 16;
const LOOK: Duration = Duration::from_millis(1);
/// Beside puts a thread counts its gets by so many, so that threads seldom meet at the count of all.
const LOT: u64 = 8;
/// A thread has so many latencies, a multiple of [`LOT`], when it adds them to the histogram of all. A histogram of its
/// own would take a quarter of a MiB of memory.
const KEPT: usize = 512;

/// How a closed loop runs.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    /// Gets in flight.
    pub depth: u32,
    /// For so long.
    pub time: Duration,
    /// A put after so many gets; none: gets alone.
    pub gets_a_put: Option<u64>,
    /// Entries are drawn from `first..first + count`.
    pub first: u64,
    /// How many there are to draw from.
    pub count: u64,
}

/// What it came to.
pub struct ClosedLoopResult {
    /// Gets answered.
    pub gets: u64,
    /// Puts made.
    pub puts: u64,
    /// The longest that puts which were due had to wait until they were made.
    pub longest_put: Duration,
    /// Latencies of gets.
    pub latencies: Latencies,
    /// What it took.
    pub usage: WorkUsage,
}

/// What the threads have in common.
struct Common {
    begin: Barrier,
    is_over: AtomicBool,
    /// Beside puts, as far as threads have counted them.
    gets: AtomicU64,
    puts: AtomicU64,
    /// Getters wait for the writer.
    turn: Mutex<()>,
    goes_on: Condvar,
    latencies: Mutex<Latencies>,
    failed: Mutex<Option<anyhow::Error>>,
}

impl Common {
    fn owed(&self, gets_a_put: u64) -> u64 {
        (self.gets.load(Relaxed) / gets_a_put).saturating_sub(self.puts.load(Relaxed))
    }

    /// Counts a lot of gets and wakes the writer, and waits while it owes more than `most` puts; whether it has waited.
    fn count(&self, gets_a_put: u64, most: u64, writer: &Thread) -> bool {
        let before = self.gets.fetch_add(LOT, Relaxed);
        let a_wake = gets_a_put * WAKE;
        if before / a_wake < (before + LOT) / a_wake {
            writer.unpark();
        }
        let mut has_waited = false;
        while self.owed(gets_a_put) > most && !self.is_over.load(Relaxed) {
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.goes_on.wait_timeout(turn, LOOK).unwrap_or_else(PoisonError::into_inner));
            has_waited = true;
        }
        has_waited
    }

    /// Adds what a thread has kept, and empties it.
    fn add(&self, kept: &mut Vec<Duration>) {
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drain(..).for_each(|latency| latencies.add(latency));
    }

    /// What came of it. An error is kept, and ends all.
    fn or_fail<T: Default>(&self, result: anyhow::Result<T>) -> T {
        result.unwrap_or_else(|error| {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.is_over.store(true, Relaxed);
            T::default()
        })
    }
}

impl EngineSession {
    /// Runs it.
    ///
    /// # Errors
    /// What the engine says; a value that was not put.
    pub fn closed(&self, closed: ClosedLoop) -> anyhow::Result<ClosedLoopResult> {
        let common = Common {
            begin: Barrier::new(closed.depth as usize + 1),
            is_over: AtomicBool::new(false),
            gets: AtomicU64::new(0),
            puts: AtomicU64::new(0),
            turn: Mutex::new(()),
            goes_on: Condvar::new(),
            latencies: Mutex::new(Latencies::default()),
            failed: Mutex::new(None),
        };
        let (writer, seed) = (std::thread::current(), fresh_seed());
        let (stretch, longest_put) = std::thread::scope(|scope| {
            for number in 0..closed.depth {
                let (common, writer, seed) = (&common, &writer, mix(seed ^ u64::from(number)));
                scope.spawn(move || common.or_fail(self.getter(closed, seed, common, writer)));
            }
            common.begin.wait();
            let stretch = self.stretch();
            let longest_put = common.or_fail(self.writer(closed, &common));
            common.is_over.store(true, Relaxed);
            common.goes_on.notify_all();
            (stretch, longest_put)
        });
        let usage = self.usage(&stretch);
        if let Some(error) = common.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let latencies = common.latencies.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(ClosedLoopResult { gets: latencies.count(), puts: common.puts.into_inner(), longest_put, latencies, usage })
    }

    /// Waits for the end, and makes the puts until then; the longest that it took to make some that were due.
    fn writer(&self, closed: ClosedLoop, common: &Common) -> anyhow::Result<Duration> {
        let end = Instant::now() + closed.time;
        let mut puts = Puts::new(self, None);
        let mut longest = Duration::ZERO;
        while !common.is_over.load(Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let Some(gets_a_put) = closed.gets_a_put else {
                std::thread::park_timeout(left);
                continue;
            };
            let owed = common.owed(gets_a_put);
            if owed == 0 {
                std::thread::park_timeout(LOOK.min(left));
                continue;
            }
            let began = Instant::now();
            let made = puts.put(owed.min(self.batch as u64))?;
            longest = longest.max(began.elapsed());
            common.puts.fetch_add(made, Relaxed);
            common.goes_on.notify_all();
        }
        Ok(longest)
    }

    fn getter(&self, closed: ClosedLoop, seed: u64, common: &Common, writer: &Thread) -> anyhow::Result<()> {
        let mut draw = Draw::uniform(closed.count, seed);
        let reader = self.engine.reader(closed.gets_a_put.is_some());
        // Without puts nobody changes it.
        let history = closed.gets_a_put.is_none().then(|| self.history());
        let mut kept = Vec::with_capacity(KEPT);
        common.begin.wait();
        let mut reader = reader?;
        let mut began = Instant::now();
        while !common.is_over.load(Relaxed) {
            self.get(reader.as_mut(), closed.first + draw.draw(), history.as_deref())?;
            let now = Instant::now();
            kept.push(now - began);
            began = now;
            if let Some(gets_a_put) = closed.gets_a_put
                && (kept.len() as u64).is_multiple_of(LOT)
                && common.count(gets_a_put, self.batch as u64, writer)
            {
                began = Instant::now();
            }
            if kept.len() == KEPT {
                common.add(&mut kept);
                began = Instant::now();
            }
        }
        common.add(&mut kept);
        Ok(())
    }

    /// Asks the history: what is `held`, or, where others change it, what it is now.
    fn ask<T>(&self, held: Option<&WriteHistory>, of: impl FnOnce(&WriteHistory) -> T) -> T {
        match held {
            Some(history) => of(history),
            None => of(&self.history()),
        }
    }

    /// One get, verified by the history that is `held`, if nobody changes it.
    fn get(&self, reader: &mut dyn EngineReader, index: u64, held: Option<&WriteHistory>) -> anyhow::Result<()> {
        let least = self.ask(held, |history| history.least(index));
        let mut version = None;
        let mut is_sound = true;
        let is_there = reader.get(&key_of(index), &mut |value| {
            version = version_of(index, value).filter(|_| value.len() == self.settings.value_bytes);
            is_sound = version.is_some();
        })?;
        let is_right = version == least || self.ask(held, |history| history.admits(index, least, version));
        if is_sound && is_there == version.is_some() && is_right {
            return Ok(());
        }
        let found = match version {
            Some(version) => format!("version {version}"),
            None if is_there => "a value that was never put".to_owned(),
            None => "nothing".to_owned(),
        };
        bail!("{} gave {found} for entry {index}, of which version {least:?} or a later one was put", self.kind.name())
    }
}
