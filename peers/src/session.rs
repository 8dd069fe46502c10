//! An engine with its data, and puts to it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use fawn_bench::usage::{StoreCounts, Stopwatch, WorkUsage};
use fawn_machine::process::resident_bytes;
use fawn_report::BenchReport;
use fawn_workload::{Draw, Order, WriteHistory};
use serde_json::{Map, Value};

use crate::data::EngineDirectory;
use crate::engine::{AckPolicy, PutBatch, Engine, Settings};
use crate::engines::EngineKind;
use crate::keeper::Keeper;
use crate::tell::ProgressWriter;

/// An open engine.
pub struct EngineSession {
    /// Which it is.
    pub kind: EngineKind,
    /// What it was opened with.
    pub settings: Settings,
    /// The same on the command line.
    pub ack_name: String,
    /// Puts that are acknowledged together.
    pub batch: usize,
    /// Its directory.
    pub place: EngineDirectory,
    /// The page cache's. It ends before the engine, whose map it knows.
    pub keeper: Keeper,
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// What was written.
    pub history: RwLock<WriteHistory>,
    /// Where it is told how far things are.
    pub progress: ProgressWriter,
}

/// Takes the measure of a stretch of work, without the keeper's part.
pub struct WorkMeter {
    meter: Stopwatch,
    keeper_cpu_us: f64,
}

impl EngineSession {
    /// What was written so far.
    pub fn history(&self) -> RwLockReadGuard<'_, WriteHistory> {
        self.history.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn history_mut(&self) -> RwLockWriteGuard<'_, WriteHistory> {
        self.history.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a stretch.
    pub fn stretch(&self) -> WorkMeter {
        WorkMeter { keeper_cpu_us: self.keeper.cpu_us(), meter: Stopwatch::start(StoreCounts::default()) }
    }

    /// What was used since it began.
    pub fn usage(&self, stretch: &WorkMeter) -> WorkUsage {
        let usage = stretch.meter.usage(StoreCounts::default());
        WorkUsage { cpu_us: usage.cpu_us - (self.keeper.cpu_us() - stretch.keeper_cpu_us), ..usage }
    }

    /// Bytes of keys and values of so many entries.
    pub fn user_bytes(&self, entries: u64) -> f64 {
        self.settings.user_bytes() as f64 / self.settings.entries as f64 * entries as f64
    }

    /// A report of this engine.
    pub fn report(&self, experiment: &str) -> BenchReport {
        let mut report = BenchReport::new(experiment);
        report.parameter("engine", self.kind.name());
        report.parameter("engine_version", self.kind.version());
        report.parameter("entries", self.settings.entries);
        report.parameter("value_bytes", self.settings.value_bytes);
        report.parameter("memory_bytes", self.settings.memory);
        report.parameter("ack", self.ack_name.clone());
        report.parameter("puts_in_flight", self.batch);
        report.parameter("bloom_bits", self.settings.bloom_bits);
        report.parameter("memory_shares", self.engine.shares());
        report
    }

    /// Ends a report of what was measured when everything had been written `versions` times.
    pub fn finish(&self, report: &mut BenchReport, versions: f64) {
        let resident = resident_bytes().map(|(_, most)| most);
        for row in &mut report.rows {
            self.mark(row, resident, versions);
        }
        report.notes.push(format!("memory: {}", self.engine.shares()));
        if let Some(budget) = self.engine.page_cache() {
            let (mean, most) = self.keeper.cached();
            report.notes.push(if self.keeper.is_blind() {
                "the kernel is older than 6.5 and does not tell what is cached: limit the page cache with a control group"
                    .to_owned()
            } else {
                let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
                format!(
                    "the page cache of its files was to be held at {:.1} MiB, and had {:.1} on the average and {:.1} at most just \
                     before it was cut down; the CPU time of that is left out, and puts waited {:.1} s for it",
                    mib(budget),
                    mib(mean),
                    mib(most),
                    self.keeper.waited_seconds()
                )
            });
        }
    }

    fn mark(&self, row: &mut Map<String, Value>, most_rss_bytes: Option<u64>, versions: f64) {
        for (name, value) in [
            ("engine", self.kind.name().into()),
            ("engine_version", self.kind.version().into()),
            ("entries", self.settings.entries.into()),
            ("memory_bytes", self.settings.memory.into()),
            ("most_rss_bytes", most_rss_bytes.into()),
            ("versions", versions.into()),
        ] {
            row.insert(name.to_owned(), value);
        }
    }

    /// Waits until there is nothing left to do; what was used since `stretch` began.
    ///
    /// # Errors
    /// What the engine says.
    pub fn settle(&self, stretch: &WorkMeter) -> anyhow::Result<WorkUsage> {
        self.progress.tell(0, 1, "waiting until it is settled");
        let idle = self.engine.settle()?;
        let usage = self.usage(stretch);
        Ok(WorkUsage { seconds: usage.seconds - idle.as_secs_f64(), ..usage })
    }
}

/// Makes puts, from one thread.
pub struct Puts<'s> {
    session: &'s EngineSession,
    /// Of a skewed workload.
    skewed: Option<Draw>,
    batch: PutBatch,
    entries: Vec<u64>,
    synced: Instant,
}

impl<'s> Puts<'s> {
    /// None yet; entries are drawn by `skewed`, or come each once in random order.
    pub fn new(session: &'s EngineSession, skewed: Option<Draw>) -> Self {
        let batch = PutBatch::new(session.settings.value_bytes);
        Self { session, skewed, batch, entries: Vec::new(), synced: Instant::now() }
    }

    /// Puts the next entries, at most `most`; how many were put.
    ///
    /// # Errors
    /// What the engine says.
    pub fn put(&mut self, most: u64) -> anyhow::Result<u64> {
        self.entries.clear();
        let version = {
            let mut history = self.session.history_mut();
            match &mut self.skewed {
                None => history.announce(most, &mut self.entries),
                Some(draw) => {
                    self.entries.extend((0..most).map(|_| draw.draw()));
                    let version = match history.last() {
                        Some(phase) if phase.order == Order::Drawn => phase.version,
                        _ => history.begin(Order::Drawn),
                    };
                    history.drew();
                    version
                }
            }
        };
        self.batch.fill(&self.entries, version);
        self.session.keeper.wait_for_room();
        self.session.engine.put(&self.batch)?;
        if self.skewed.is_none() {
            let mut history = self.session.history_mut();
            self.entries.iter().for_each(|_| history.wrote());
        }
        if let AckPolicy::Interval { ms } = self.session.settings.ack
            && self.synced.elapsed() >= Duration::from_millis(ms.into())
        {
            self.session.engine.sync()?;
            self.synced = Instant::now();
        }
        Ok(self.entries.len() as u64)
    }

    /// Makes `count` puts; `look` is told how many were made, and ends it by `false`. How many were made.
    ///
    /// # Errors
    /// What the engine says.
    pub fn put_many(&mut self, count: u64, mut look: impl FnMut(u64) -> bool) -> anyhow::Result<u64> {
        let mut made = 0;
        while made < count {
            made += self.put((count - made).min(self.session.batch as u64))?;
            if !look(made) {
                break;
            }
        }
        Ok(made)
    }
}
