//! How long requests take: counts by log-linear bounds, a loop's own, that cost no reading of a clock.
//!
//! The loop reads its clock once after each event, or group of sockets, to know when its turn has lasted long enough. A request
//! that is answered at once took as long as the group that brought it, which others have come with; one that waits (for flash, a
//! sync, another loop, a chain) took until the end of the last event before its answer, to four microseconds. Answers of one
//! connection that wait for one sync are all counted like the first of them.

use crate::observe::counters::Counter;
use std::sync::Arc;

/// Bounds of the counts; what took longer than the last, 25 s, is counted beside them.
pub const BOUNDS: usize = 48;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// It looks.
    Get = 1,
    /// It may change something.
    Write = 2,
}

impl RequestKind {
    /// All.
    pub const ALL: [Self; 2] = [Self::Get, Self::Write];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Write => "write",
        }
    }
}

/// When a request was read, by its loop's clock, and what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(u32);

impl Stamp {
    /// Of something that is not measured.
    pub const NONE: Self = Self(0);

    /// Of a request that was read at a microsecond.
    pub fn new(at_us: u64, what: RequestKind) -> Self {
        Self(at_us as u32 & !3 | what as u32)
    }

    /// What the request does; `None`: it is not measured.
    #[inline]
    pub fn what(self) -> Option<RequestKind> {
        RequestKind::ALL.into_iter().find(|what| self.0 & 3 == *what as u32)
    }

    /// Microseconds from then to `now_us`, which is no more than an hour later.
    fn until(self, now_us: u64) -> u64 {
        u64::from((now_us as u32 & !3).wrapping_sub(self.0 & !3))
    }
}

/// How many took how long.
#[derive(Debug)]
struct Histogram {
    buckets: [Counter; BOUNDS + 1],
    sum_us: Counter,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| Counter::default()), sum_us: Counter::default() }
    }
}

/// The requests of one loop's clients.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Latencies([Histogram; 2]);

/// The number of the lowest bound that is not below `us`: bounds are 2, 3, 4, 6, 8, 12 and so on.
fn bucket(us: u64) -> usize {
    let below = us.max(2) - 1;
    if below < 2 {
        return 0;
    }
    let exponent = below.ilog2() as usize;
    let upper_half = below >> (exponent - 1) & 1;
    (2 * exponent - 1 + upper_half as usize).min(BOUNDS)
}

/// A bound, in microseconds.
fn bound(number: usize) -> u64 {
    (2 + number as u64 % 2) << (number / 2)
}

impl Latencies {
    /// So many took so long. Only the owning loop may call it.
    #[inline]
    pub fn add(&self, what: RequestKind, count: u64, us: u64) {
        let Histogram { buckets, sum_us } = &self.0[what as usize - 1];
        buckets[bucket(us)].add(count);
        sum_us.add(count * us);
    }

    /// Sets all counts to 0; one made meanwhile may be lost.
    pub fn reset(&self) {
        for Histogram { buckets, sum_us } in &self.0 {
            buckets.iter().chain([sum_us]).for_each(Counter::reset);
        }
    }

    /// So many like one that was read at `stamp` are answered. Only the owning loop may call it.
    #[inline]
    pub fn answered(&self, stamp: Stamp, count: u64, now_us: u64) {
        if let Some(what) = stamp.what() {
            self.add(what, count, stamp.until(now_us));
        }
    }
}

/// Times the requests of one loop, with one reading of the clock for each event.
#[derive(Debug)]
pub struct RequestTimer {
    latencies: Arc<Latencies>,
    /// Microsecond of the loop's clock at which the event at hand began.
    at_us: u64,
    /// By kind: requests of the event at hand that were answered at once.
    answered: [u32; 2],
}

impl RequestTimer {
    /// A timer that counts in `latencies`.
    pub fn new(latencies: Arc<Latencies>) -> Self {
        Self { latencies, at_us: 0, answered: [0; 2] }
    }

    /// An event begins.
    pub fn begin(&mut self, now_us: u64) {
        self.at_us = now_us;
    }

    /// The stamp of a request that was read now.
    #[inline]
    pub fn stamp(&self, what: RequestKind) -> Stamp {
        Stamp::new(self.at_us, what)
    }

    /// A request was answered in the event that brought it.
    #[inline]
    pub fn answered_at_once(&mut self, what: RequestKind) {
        self.answered[what as usize - 1] += 1;
    }

    /// So many like one that was read at `stamp` are answered.
    #[inline]
    pub fn answered(&self, stamp: Stamp, count: u64) {
        self.latencies.answered(stamp, count, self.at_us);
    }

    /// The event at hand is over, or a part of the turn: what was answered at once took until now.
    pub fn event_ends(&mut self, now_us: u64) {
        for what in RequestKind::ALL {
            let count = std::mem::take(&mut self.answered[what as usize - 1]);
            if count > 0 {
                self.latencies.add(what, u64::from(count), now_us - self.at_us);
            }
        }
        self.at_us = now_us;
    }
}

/// What several loops have counted of one kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencySummary {
    /// Bounds in seconds, and how many took no longer.
    pub buckets: Vec<(f64, u64)>,
    /// How many there were.
    pub count: u64,
    /// Seconds that they took together.
    pub sum_s: f64,
}

impl LatencySummary {
    /// The sum over loops.
    pub fn of<'a>(what: RequestKind, loops: impl Iterator<Item = &'a Latencies> + Clone) -> Self {
        let histograms = loops.map(|latencies| &latencies.0[what as usize - 1]);
        let mut count = 0;
        let mut below = |number: usize| {
            count += histograms.clone().map(|histogram| histogram.buckets[number].get()).sum::<u64>();
            count
        };
        let buckets = (0..BOUNDS).map(|number| (bound(number) as f64 / 1e6, below(number))).collect();
        let count = below(BOUNDS);
        let sum_s = histograms.map(|histogram| histogram.sum_us.get()).sum::<u64>() as f64 / 1e6;
        Self { buckets, count, sum_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_counted_at_the_lowest_bound_that_holds_it() {
        for us in
            (0..5000).chain((13..33).flat_map(|exponent| [(1 << exponent) - 1, 1 << exponent, (1 << exponent) + 1]))
        {
            let number = bucket(us);
            assert!(number == BOUNDS || us <= bound(number), "{us} is within {}", bound(number));
            assert!(number == 0 || us > bound(number - 1), "{us} is above {}", bound(number - 1));
        }
        assert!(bound(BOUNDS - 1) > 25_000_000, "{}", bound(BOUNDS - 1));
    }

    #[test]
    fn what_waits_is_counted_by_its_stamp_even_when_the_clock_comes_round() {
        let latencies = Latencies::default();
        let read_us = u64::from(u32::MAX) - 99;
        latencies.answered(Stamp::new(read_us, RequestKind::Write), 2, read_us + 1000);
        latencies.answered(Stamp::NONE, 1, 5);
        latencies.add(RequestKind::Get, 3, 5);
        let writes = LatencySummary::of(RequestKind::Write, std::iter::once(&latencies));
        assert_eq!((writes.count, writes.sum_s), (2, 0.002));
        let counted = |us: f64| writes.buckets.iter().find(|(bound, _)| *bound * 1e6 >= us).unwrap().1;
        assert_eq!((counted(768.0), counted(1024.0)), (0, 2));
        let both = [&latencies, &latencies];
        assert_eq!(LatencySummary::of(RequestKind::Get, both.into_iter()).count, 6);
        latencies.reset();
        let none = LatencySummary::of(RequestKind::Get, std::iter::once(&latencies));
        assert_eq!((none.count, none.sum_s), (0, 0.0));
    }
}
