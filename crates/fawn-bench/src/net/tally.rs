//! What a loop counts.

use crate::latency::Latencies;

/// What came of a phase, of one loop or of several.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Gets and sets: latencies of those that count.
    pub gets: Latencies,
    /// The same of sets.
    pub sets: Latencies,
    /// How late operations left that came by the clock.
    pub late: Latencies,
    /// Gets answered within the time that is measured.
    pub answered_gets: u64,
    /// Sets answered within it.
    pub answered_sets: u64,
    /// Of these gets, those that found no value.
    pub misses: u64,
    /// Operations that were due within it, and not sent at its end.
    pub unsent: u64,
    /// Values that cannot be, at any time.
    pub wrong: Faults,
    /// Errors that the server answered with, at any time.
    pub refused: Faults,
    /// CPU time of the loops within the time that is measured, microseconds.
    pub cpu_us: f64,
    /// When the last answer came, nanoseconds after the beginning.
    pub ended_ns: u64,
}

/// Answers of one bad kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How many.
    pub count: u64,
    /// The first of them, for people.
    pub first: Option<String>,
}

impl Faults {
    /// Counts one.
    pub fn add(&mut self, tell: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(tell);
    }

    fn merge(&mut self, more: Self) {
        self.count += more.count;
        self.first = self.first.take().or(more.first);
    }
}

impl Tally {
    /// Operations answered within the time that is measured.
    pub fn answered(&self) -> u64 {
        self.answered_gets + self.answered_sets
    }

    /// Adds another loop's.
    pub fn merge(&mut self, more: Self) {
        self.gets.merge(&more.gets);
        self.sets.merge(&more.sets);
        self.late.merge(&more.late);
        self.answered_gets += more.answered_gets;
        self.answered_sets += more.answered_sets;
        self.misses += more.misses;
        self.unsent += more.unsent;
        self.wrong.merge(more.wrong);
        self.refused.merge(more.refused);
        self.cpu_us += more.cpu_us;
        self.ended_ns = self.ended_ns.max(more.ended_ns);
    }
}
