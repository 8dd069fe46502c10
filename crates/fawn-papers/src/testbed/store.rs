//! Stores to measure: loaded, and driven with the means of `fawn bench store`.

use std::path::Path;
use std::time::{Duration, Instant};

use fawn_bench::closed::ClosedLoop;
use fawn_bench::lookups::Lookups;
use fawn_bench::usage::WorkUsage;
use fawn_bench::{BenchSession, Setup};
use fawn_flash::Ack;
use fawn_machine::fresh_seed;
use fawn_report::Latencies;
use fawn_ring::Key;
use fawn_workload::{Draw, KEY_BYTES};

use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;

/// Gets in flight where an experiment does not say: one event loop keeps as many.
pub const DEPTH: u32 = 32;

/// Puts that wait for their acknowledgement.
const PUTS_IN_FLIGHT: usize = 1024;

/// How often a store is looked at that has an order to carry out.
pub const LOOK: Duration = Duration::from_millis(5);

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Entries, at least 1.
    pub entries: u64,
    /// Bytes of each value.
    pub value_bytes: usize,
    /// Its memory budget, bytes.
    pub memory: u64,
}

impl Size {
    /// As many entries as have so many bytes together, keys and values.
    pub fn of_bytes(bytes: u64, value_bytes: usize, memory: u64) -> Self {
        Self { entries: (bytes / (KEY_BYTES + value_bytes) as u64).max(1), value_bytes, memory }
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> u64 {
        self.entries * (KEY_BYTES + self.value_bytes) as u64
    }

    /// Says in a finding what was measured.
    pub fn tell(&self, finding: &mut Finding) {
        finding.parameter("entries", self.entries);
        finding.parameter("value_bytes", self.value_bytes);
        finding.parameter("memory_bytes", self.memory);
    }

    /// What the measuring code is told, with up to `depth` gets in flight.
    pub fn setup(&self, dir: &Path, depth: u32) -> Setup {
        Setup {
            dir: dir.to_owned(),
            entries: self.entries,
            value_bytes: self.value_bytes,
            memory: self.memory,
            miss_filter: false,
            ack: Ack::Memory,
            puts_in_flight: PUTS_IN_FLIGHT,
            depth,
            again: false,
            meter: None,
        }
    }
}

/// Opens an empty store in a directory of the run's.
///
/// # Errors
/// What opening a store says.
pub fn empty<'w>(run: &'w Run<'_>, name: &str, size: Size) -> Result<BenchSession<'w>, Error> {
    Ok(BenchSession::open(&size.setup(&run.dir.join(name), DEPTH), run.watch)?)
}

/// What putting all entries took.
#[derive(Clone, Copy, Debug)]
pub struct LoadCost {
    /// Until the last put was acknowledged, in memory.
    pub put: WorkUsage,
    /// Until all of it was on flash, and the store had nothing left to do.
    pub settled: WorkUsage,
}

/// Opens a store and puts all of its entries, in random order; it is settled.
///
/// # Errors
/// As puts have them.
pub fn loaded<'w>(run: &'w Run<'_>, name: &str, size: Size) -> Result<(BenchSession<'w>, LoadCost), Error> {
    let mut session = empty(run, name, size)?;
    let load = put_all(&mut session)?;
    Ok((session, load))
}

/// Puts all entries once, and waits until the store is settled.
///
/// # Errors
/// As puts have them.
pub fn put_all(session: &mut BenchSession<'_>) -> Result<LoadCost, Error> {
    let entries = session.setup.entries;
    let meter = session.driver.meter();
    session.put_many(entries, |session, made| {
        session.watch.progress(made, entries, "putting all entries");
        Ok(true)
    })?;
    let put = session.driver.usage(&meter);
    Ok(LoadCost { put, settled: session.settle_since(&meter)? })
}

/// What gets took.
#[derive(Clone, Debug)]
pub struct GetsCost {
    /// How many were answered.
    pub gets: u64,
    /// Of these, without a read.
    pub from_dram: u64,
    /// What they took.
    pub usage: WorkUsage,
    /// How long each took.
    pub latencies: Latencies,
}

impl GetsCost {
    /// Gets a second.
    pub fn a_second(&self) -> f64 {
        self.gets as f64 / self.usage.seconds
    }

    /// The share that needed no read.
    pub fn from_dram(&self) -> f64 {
        self.from_dram as f64 / self.gets.max(1) as f64
    }
}

/// Gets of any entries, all alike, as fast as they go.
///
/// # Errors
/// [`Error::WrongOverNetwork`] and others.
pub fn gets(session: &mut BenchSession<'_>, depth: u32, time: Duration) -> Result<GetsCost, Error> {
    let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
    let mut lookups = Lookups::new(session.setup.value_bytes);
    let meter = session.driver.meter();
    let closed = ClosedLoop { depth: depth as usize, time, gets_a_put: None };
    session.closed(&mut lookups, closed, || draw.draw())?;
    let usage = session.driver.usage(&meter);
    let Lookups { answered, from_dram, latencies, .. } = lookups;
    Ok(GetsCost { gets: answered, from_dram, usage, latencies })
}

/// Cuts the whole range of a store into `ranges` of equal parts.
///
/// # Errors
/// As [`Driver::poll`](fawn_bench::driver::StoreDriver::poll).
pub fn cut(session: &mut BenchSession<'_>, ranges: u64) -> Result<(), Error> {
    for number in 1..ranges {
        split(session, part(number, ranges))?;
    }
    Ok(())
}

/// Where part `number` of `parts` equal ones begins.
pub fn part(number: u64, parts: u64) -> Key {
    Key::lowest_with_prefix(((u128::from(number) << 64) / u128::from(parts)) as u64)
}

/// Splits a range, and waits until it is done; how long that took.
///
/// # Errors
/// As [`Driver::poll`](fawn_bench::driver::StoreDriver::poll).
pub fn split(session: &mut BenchSession<'_>, at: Key) -> Result<Duration, Error> {
    let ranges = session.driver.store().ranges().intervals().count();
    let began = Instant::now();
    session.driver.store().split_range(at);
    until(session, |session| session.driver.store().ranges().intervals().count() > ranges)?;
    Ok(began.elapsed())
}

/// Merges the ranges that meet at a key, and waits until it is done; how long that took.
///
/// # Errors
/// As [`Driver::poll`](fawn_bench::driver::StoreDriver::poll); [`Error`].
pub fn merge(session: &mut BenchSession<'_>, at: Key) -> Result<Duration, Error> {
    let ranges = session.driver.store().ranges().intervals().count();
    let began = Instant::now();
    session.driver.store().merge_ranges(at)?;
    until(session, |session| session.driver.store().ranges().intervals().count() < ranges)?;
    Ok(began.elapsed())
}

/// Takes in what the store's threads do until something is so.
///
/// # Errors
/// As [`Driver::poll`](fawn_bench::driver::StoreDriver::poll).
pub fn until(session: &mut BenchSession<'_>, is_so: impl Fn(&mut BenchSession<'_>) -> bool) -> Result<(), Error> {
    loop {
        let polled = session.driver.poll()?;
        if is_so(session) {
            return Ok(());
        }
        if !polled.more {
            session.driver.wait(LOOK)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal() {
        assert_eq!(part(0, 4), Key::MIN);
        assert!(part(1, 4) < part(2, 4) && part(2, 4) == Key::lowest_with_prefix(1 << 63));
    }

    #[test]
    fn a_size_has_at_least_an_entry() {
        assert_eq!(Size::of_bytes(10, 1000, 0).entries, 1);
        let size = Size::of_bytes(1_000_000, 230, 0);
        assert_eq!((size.entries, size.bytes()), (4000, 1_000_000));
    }
}
