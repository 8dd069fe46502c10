//! Idle stretches: times in which no request is in the servers' hands.
//!
//! The generator sees them from outside: a stretch begins when the last answer came, and ends when the next request left. So
//! a server has rested a little longer than this says.

use std::ops::Range;

use fawn_report::Latencies;

/// The idle stretches within the time that is measured.
#[derive(Clone, Debug, Default)]
pub struct IdleStats {
    /// Their nanoseconds together.
    pub total_ns: u64,
    /// Their lengths.
    pub stretches: Latencies,
}

impl IdleStats {
    /// Their share of so many seconds.
    pub fn share(&self, seconds: f64) -> f64 {
        self.total_ns as f64 / 1e9 / seconds.max(1e-9)
    }
}

/// Follows how many requests of all loops are under way.
#[derive(Clone, Debug)]
pub struct IdleTracker {
    /// What is measured, nanoseconds after the beginning.
    window: Range<u64>,
    in_flight: usize,
    /// When the last answer came.
    since_ns: u64,
    stats: IdleStats,
}

impl IdleTracker {
    /// Nothing is under way yet.
    pub fn new(window: Range<u64>) -> Self {
        Self { window, in_flight: 0, since_ns: 0, stats: IdleStats::default() }
    }

    /// So many requests leave.
    pub fn note_sent(&mut self, now_ns: u64, count: usize) {
        if self.in_flight == 0 && count > 0 {
            self.end_stretch(now_ns);
        }
        self.in_flight += count;
    }

    /// So many answers came, or are not waited for any more.
    pub fn note_answered(&mut self, now_ns: u64, count: usize) {
        self.in_flight -= count;
        if self.in_flight == 0 && count > 0 {
            self.since_ns = now_ns;
        }
    }

    /// The stretches, the last of which ends with the time that is measured.
    pub fn finish(mut self) -> IdleStats {
        if self.in_flight == 0 {
            self.end_stretch(self.window.end);
        }
        self.stats
    }

    /// Counts what of a stretch lies within the time that is measured.
    fn end_stretch(&mut self, now_ns: u64) {
        let (from, to) = (self.since_ns.max(self.window.start), now_ns.min(self.window.end));
        if from < to {
            self.stats.total_ns += to - from;
            self.stats.stretches.add_ns(to - from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Total, number, mean and longest, microseconds.
    fn figures(stats: &IdleStats) -> (u64, u64, f64, f64) {
        let round = |us: f64| us.round();
        let stretches = &stats.stretches;
        (stats.total_ns / 1000, stretches.count(), round(stretches.mean_us()), round(stretches.longest_us()))
    }

    #[test]
    fn a_stretch_is_from_the_last_answer_to_the_next_request() {
        let mut idle = IdleTracker::new(0..1_000_000);
        // Idle from 0 to 100 us, from 400 to 450, and from 700 to the end.
        idle.note_sent(100_000, 2);
        idle.note_answered(200_000, 1);
        idle.note_sent(250_000, 1);
        idle.note_answered(400_000, 2);
        idle.note_sent(450_000, 1);
        idle.note_answered(700_000, 1);
        let stats = idle.finish();
        assert_eq!(figures(&stats), (450, 3, 150.0, 300.0));
        assert!((stats.share(0.001) - 0.45).abs() < 1e-9);
    }

    #[test]
    fn what_lies_outside_of_the_time_that_is_measured_does_not_count() {
        let mut idle = IdleTracker::new(500_000..1_000_000);
        idle.note_sent(100_000, 1);
        idle.note_answered(200_000, 1);
        // 200 to 600 us, of which 100 count.
        idle.note_sent(600_000, 1);
        idle.note_answered(1_200_000, 1);
        idle.note_sent(1_300_000, 1);
        assert_eq!(figures(&idle.finish()), (100, 1, 100.0, 100.0));
    }

    #[test]
    fn nothing_is_idle_while_a_request_has_no_answer() {
        let mut idle = IdleTracker::new(0..1_000_000);
        idle.note_sent(0, 2);
        idle.note_answered(300_000, 1);
        assert_eq!(figures(&idle.finish()), (0, 0, 0.0, 0.0));
    }
}
