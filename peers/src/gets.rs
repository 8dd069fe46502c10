//! Gets: as many threads as there are gets in flight, each with one at a time, as these engines' calls block.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Condvar, Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use fawn_bench::latency::Latencies;
use fawn_bench::usage::Usage;
use fawn_bench::workload::{Draw, name, version_of};

use crate::engine::Reader;
use crate::session::{Puts, Session};

/// The writer is woken when it owes so many puts; else it looks once in a while.
const WAKE: u64 = 16;
const LOOK: Duration = Duration::from_millis(1);
/// Histograms are shared by some threads each, as they are large.
const HISTOGRAMS: usize = 4;

/// How a closed loop runs.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
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
    /// Another seed, other draws.
    pub seed: u64,
}

/// What it came to.
pub struct Came {
    /// Gets answered.
    pub gets: u64,
    /// Puts made.
    pub puts: u64,
    /// Latencies of gets.
    pub latencies: Latencies,
    /// What it took.
    pub usage: Usage,
}

/// What the threads have in common.
struct Common {
    begin: Barrier,
    is_over: AtomicBool,
    gets: AtomicU64,
    puts: AtomicU64,
    /// Getters wait for the writer.
    turn: Mutex<()>,
    goes_on: Condvar,
    latencies: Vec<Mutex<Latencies>>,
    failed: Mutex<Option<anyhow::Error>>,
}

impl Common {
    fn owed(&self, gets_a_put: u64) -> u64 {
        (self.gets.load(Relaxed) / gets_a_put).saturating_sub(self.puts.load(Relaxed))
    }

    fn fail(&self, result: anyhow::Result<()>) {
        if let Err(error) = result {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.is_over.store(true, Relaxed);
        }
    }
}

impl Session {
    /// Runs it.
    ///
    /// # Errors
    /// What the engine says; a value that was not put.
    pub fn closed(&self, closed: Closed) -> anyhow::Result<Came> {
        let common = Common {
            begin: Barrier::new(closed.depth as usize + 1),
            is_over: AtomicBool::new(false),
            gets: AtomicU64::new(0),
            puts: AtomicU64::new(0),
            turn: Mutex::new(()),
            goes_on: Condvar::new(),
            latencies: (0..HISTOGRAMS).map(|_| Mutex::new(Latencies::default())).collect(),
            failed: Mutex::new(None),
        };
        let writer = std::thread::current();
        let stretch = std::thread::scope(|scope| {
            for number in 0..closed.depth {
                let (common, writer) = (&common, &writer);
                scope.spawn(move || common.fail(self.getter(closed, number, common, writer)));
            }
            common.begin.wait();
            let stretch = self.stretch();
            common.fail(self.writer(closed, &common));
            common.is_over.store(true, Relaxed);
            common.goes_on.notify_all();
            stretch
        });
        let usage = self.usage(&stretch);
        if let Some(error) = common.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut latencies = Latencies::default();
        for part in common.latencies {
            latencies.merge(&part.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        Ok(Came { gets: common.gets.into_inner(), puts: common.puts.into_inner(), latencies, usage })
    }

    /// Waits for the end, and makes the puts until then.
    fn writer(&self, closed: Closed, common: &Common) -> anyhow::Result<()> {
        let end = Instant::now() + closed.time;
        let mut puts = Puts::new(self, None);
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
            let made = puts.put(owed.min(self.batch as u64))?;
            common.puts.fetch_add(made, Relaxed);
            common.goes_on.notify_all();
        }
        Ok(())
    }

    fn getter(&self, closed: Closed, number: u32, common: &Common, writer: &Thread) -> anyhow::Result<()> {
        let mut draw = Draw::uniform(closed.count, closed.seed << 16 | u64::from(number));
        let latencies = &common.latencies[number as usize % HISTOGRAMS];
        let reader = self.engine.reader(closed.gets_a_put.is_some());
        common.begin.wait();
        let mut reader = reader?;
        let mut began = Instant::now();
        while !common.is_over.load(Relaxed) {
            self.get(reader.as_mut(), closed.first + draw.draw())?;
            let now = Instant::now();
            latencies.lock().unwrap_or_else(PoisonError::into_inner).add(now - began);
            began = now;
            let gets = common.gets.fetch_add(1, Relaxed) + 1;
            let Some(gets_a_put) = closed.gets_a_put else { continue };
            if gets.is_multiple_of(gets_a_put * WAKE) {
                writer.unpark();
            }
            if common.owed(gets_a_put) > self.batch as u64 {
                let turn = common.turn.lock().unwrap_or_else(PoisonError::into_inner);
                drop(common.goes_on.wait_timeout(turn, LOOK).unwrap_or_else(PoisonError::into_inner));
                began = Instant::now();
            }
        }
        Ok(())
    }

    /// One get, verified.
    fn get(&self, reader: &mut dyn Reader, index: u64) -> anyhow::Result<()> {
        let least = self.history().least(index);
        let mut version = None;
        let mut is_sound = true;
        let is_there = reader.get(&name(index), &mut |value| {
            version = version_of(index, value).filter(|_| value.len() == self.settings.value_bytes);
            is_sound = version.is_some();
        })?;
        let is_right = version == least || self.history().admits(index, least, version);
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
