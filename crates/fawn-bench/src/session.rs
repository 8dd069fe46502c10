//! One directory, its store open, and what is known of it: what every experiment works on.

use std::time::{Duration, Instant};

use fawn_flash::Ack;
use fawn_meter::{Meter as EnergyMeter, Metering};
use fawn_report::{BenchReport, Watch};
use fawn_workload::{Draw, Order, WriteHistory};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::derived::memory;
use crate::driver::StoreDriver;
use crate::error::Error;
use crate::journal::{Data, Journal};
use crate::puts::Puts;
use crate::setup::Setup;
use crate::usage::{Stopwatch, WorkUsage};

/// How often it is noted how far writing has come.
const NOTE: Duration = Duration::from_secs(2);

/// Puts between two looks at what the store's threads have done.
const A_TURN: usize = 64;

/// An open directory.
pub struct BenchSession<'w> {
    /// What was asked for.
    pub setup: Setup,
    /// The notes.
    pub journal: Journal,
    /// The store.
    pub driver: StoreDriver,
    /// What was written to it.
    pub history: WriteHistory,
    /// Who looks on.
    pub watch: &'w dyn Watch,
    pub(crate) puts: Puts,
    /// Of a skewed workload.
    pub(crate) skewed: Option<Draw>,
    age: u64,
    loaded_with: u64,
    noted: Instant,
    /// What was noted last holds for what was sealed: whatever is put from then on is not in it.
    noted_sealed: bool,
}

impl<'w> BenchSession<'w> {
    /// Opens the directory, whose data must fit if there are any; loads none.
    ///
    /// # Errors
    /// [`Error::OtherData`], [`Error::Foreign`], and what opening a store says.
    pub fn open(setup: &Setup, watch: &'w dyn Watch) -> Result<Self, Error> {
        setup.check()?;
        let journal = Journal::open(&setup.dir)?;
        Self::of(setup, journal, watch)
    }

    /// As [`open`](Self::open), of notes that were read.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of(setup: &Setup, mut journal: Journal, watch: &'w dyn Watch) -> Result<Self, Error> {
        if let Some(held) = journal.data() {
            if (held.entries, held.value_bytes) != (setup.entries, setup.value_bytes) {
                return Err(Error::OtherData {
                    path: setup.dir.clone(),
                    held_entries: held.entries,
                    held_bytes: held.value_bytes,
                    entries: setup.entries,
                    value_bytes: setup.value_bytes,
                });
            }
        } else {
            // What a crash left before it was noted.
            journal.delete()?;
        }
        let driver = StoreDriver::open(&journal.data_path(), setup)?;
        let data = journal.data().cloned();
        let (phases, age, loaded_with) =
            data.map_or((Vec::new(), 0, setup.memory), |data| (data.phases, data.age, data.memory));
        let mut session = Self {
            setup: setup.clone(),
            journal,
            driver,
            history: WriteHistory::new(setup.entries, phases),
            watch,
            puts: Puts::new(setup.puts_in_flight),
            skewed: None,
            age,
            loaded_with,
            noted: Instant::now(),
            noted_sealed: true,
        };
        session.driver.load()?;
        if session.journal.data().is_none() {
            session.note_data(false)?;
        }
        Ok(session)
    }

    /// Whether all entries were put.
    pub fn is_loaded(&self) -> bool {
        let first = self.history.phases().into_iter().next();
        first.is_some_and(|phase| phase.order == Order::Shuffled && phase.certain == self.setup.entries)
    }

    /// The memory budget with which the data were loaded.
    pub fn loaded_with(&self) -> u64 {
        self.loaded_with
    }

    /// How often the data have changed.
    pub fn age(&self) -> u64 {
        self.age
    }

    /// The data are others now than those on which was measured before.
    pub fn changed(&mut self) {
        self.age += 1;
    }

    /// Notes what is there: after a clean end of writing, all of it; else what a crash now would leave for certain.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn note_data(&mut self, is_sealed: bool) -> Result<(), Error> {
        let unsure = match self.setup.ack {
            Ack::Durable => self.puts.waiting() as u64,
            Ack::Memory | Ack::Interval { .. } => self.driver.stats().buffered_entries,
        };
        let phases = if is_sealed { self.history.phases() } else { self.history.if_it_crashed(unsure) };
        self.noted = Instant::now();
        self.noted_sealed = is_sealed;
        self.journal.set_data(Data {
            entries: self.setup.entries,
            value_bytes: self.setup.value_bytes,
            memory: self.loaded_with,
            phases,
            age: self.age,
        })
    }

    /// Notes that puts follow, which takes a sync: before they can be found, and before time is taken.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn expect_puts(&mut self) -> Result<(), Error> {
        if self.noted_sealed { self.note_data(false) } else { Ok(()) }
    }

    /// Whether it is time to note how far writing has come.
    pub(crate) fn is_note_due(&self) -> bool {
        self.noted.elapsed() >= NOTE
    }

    /// Seals and settles, and notes what is there.
    ///
    /// # Errors
    /// As [`StoreDriver::settle`].
    pub fn settle(&mut self) -> Result<(), Error> {
        let meter = self.driver.meter();
        self.settle_since(&meter).map(|_| ())
    }

    /// The same; what was used since `meter` began until then.
    ///
    /// # Errors
    /// As [`StoreDriver::settle`].
    pub fn settle_since(&mut self, meter: &Stopwatch) -> Result<WorkUsage, Error> {
        let usage = self.driver.settle(meter)?;
        self.puts.acknowledge(&self.driver);
        self.note_data(true)?;
        Ok(usage)
    }

    /// What a finished experiment of this name has come to, unless it is to be measured anew; then that is forgotten.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn kept(&mut self, name: &str) -> Result<Option<BenchReport>, Error> {
        if self.setup.again {
            self.journal.forget(name)?;
        }
        Ok(self.journal.result(name).cloned())
    }

    /// How far an experiment of this name has come.
    pub fn unfinished<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.journal.unfinished(name)
    }

    /// Notes how far it has come.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn note(&mut self, name: &str, how_far: &impl Serialize) -> Result<(), Error> {
        self.journal.note(name, how_far)
    }

    /// Begins to meter energy, if that was asked for; the first time after the machine was metered at rest.
    ///
    /// # Errors
    /// [`Error::Meter`].
    pub(crate) fn metering(&self) -> Result<Option<Metering>, Error> {
        if let Some(meter) = &self.setup.meter {
            if !meter.owed_rest().is_zero() {
                self.watch.progress(0, 1, "metering the machine at rest");
            }
            meter.rest()?;
        }
        Ok(fawn_meter::start(self.setup.meter.as_ref())?)
    }

    /// A report of this store.
    pub fn report(&self, experiment: &str) -> BenchReport {
        let mut report = BenchReport::new(experiment);
        report.parameter("entries", self.setup.entries);
        report.parameter("value_bytes", self.setup.value_bytes);
        report.parameter("memory_bytes", self.setup.memory);
        report.parameter("miss_filter", self.setup.miss_filter);
        report.parameter("loaded_with_memory_bytes", self.loaded_with);
        report.parameter("ack", self.setup.ack_name());
        report.parameter("files", self.driver.files().path_name());
        report.parameter("reads", self.driver.reader.name());
        report
    }

    /// Ends a report, and keeps it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(&mut self, name: &str, mut report: BenchReport) -> Result<BenchReport, Error> {
        report.memory = Some(memory(&self.driver.stats()));
        report.notes.extend(self.setup.meter.as_ref().and_then(EnergyMeter::loss));
        report.notes.push(if self.driver.files().is_direct() {
            "the store opens files with O_DIRECT: the page cache answers no reads".to_owned()
        } else {
            "the file system refuses O_DIRECT: the page cache answers part of the reads, so limit it with the \
            process (a cgroup counts both)"
                .to_owned()
        });
        self.journal.finish(name, &report)?;
        Ok(report)
    }

    /// Stops the store cleanly.
    ///
    /// # Errors
    /// [`Error::Flash`].
    pub fn close(self) -> Result<(), Error> {
        self.driver.close()
    }
}

impl BenchSession<'_> {
    /// Puts one entry; `false`: the store is busy, or enough puts wait.
    ///
    /// # Errors
    /// As [`StoreDriver::put`].
    #[inline]
    pub fn put_one(&mut self) -> Result<bool, Error> {
        if !self.puts.has_room() {
            return Ok(false);
        }
        let is_drawn = self.skewed.is_some();
        let before = self.history.last().map(|phase| phase.version);
        let (index, version) = next(&mut self.history, self.skewed.as_mut());
        if before != Some(version) {
            // Before a value can be found that the note has not heard of.
            self.note_data(false)?;
        }
        self.expect_puts()?;
        let Some(gate) = self.driver.put(index, version)? else { return Ok(false) };
        if is_drawn {
            self.history.drew();
        } else {
            self.history.wrote();
        }
        self.puts.add(gate);
        Ok(true)
    }

    /// Makes `count` puts and waits until they are acknowledged; `look` is called now and then with the number made, and
    /// ends it by `false`. How many were made.
    ///
    /// # Errors
    /// As [`StoreDriver::put`] and [`StoreDriver::poll`].
    pub fn put_many(
        &mut self,
        count: u64,
        mut look: impl FnMut(&mut Self, u64) -> Result<bool, Error>,
    ) -> Result<u64, Error> {
        let mut made = 0;
        let mut goes_on = true;
        loop {
            let mut is_stuck = false;
            for _ in 0..A_TURN {
                if made == count || !goes_on {
                    break;
                }
                if !self.put_one()? {
                    is_stuck = true;
                    break;
                }
                made += 1;
            }
            let polled = self.driver.poll()?;
            self.puts.acknowledge(&self.driver);
            let is_over = made == count || !goes_on;
            if is_over && self.puts.waiting() == 0 {
                return Ok(made);
            }
            if made % 4096 < A_TURN as u64 && goes_on {
                goes_on = look(self, made)?;
            }
            if (is_stuck || is_over) && !polled.more {
                self.driver.wait(Duration::from_millis(100))?;
            }
        }
    }
}

/// The entry to be put next, with its version. A drawn one is drawn by `skewed`.
fn next(history: &mut WriteHistory, skewed: Option<&mut Draw>) -> (u64, u32) {
    if let Some(draw) = skewed {
        let version = match history.last() {
            Some(phase) if phase.order == Order::Drawn => phase.version,
            _ => history.begin(Order::Drawn),
        };
        return (draw.draw(), version);
    }
    if let Some(next) = history.next() {
        return next;
    }
    history.begin(Order::Shuffled);
    history.next().expect("a phase that was just begun has entries")
}
