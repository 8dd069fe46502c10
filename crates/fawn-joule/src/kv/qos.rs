//! Quality of service: how many answers were right and within an objective, and what one of them cost.
//!
//! The paper asks for one metric of "average, worst-case and baseline performance requirements" (e-Energy 2010, §4) and defines
//! none. Here it is the number of right answers within an objective, divided by joules. An answer that is late, wrong or missing
//! counts nothing, and its joules count all the same.

use std::time::Duration;

use fawn_loadgen::stats::OperationStats;
use fawn_meter::{Energy, write_row};
use fawn_report::Latencies;
use fawn_report::amount::{number, plain};
use fawn_report::chart::Row;

/// What became of the requests that were due within the time of a point.
#[derive(Clone, Debug, Default)]
pub struct AnswerTally {
    /// How many were due.
    pub asked: u64,
    /// Latencies of right answers and of those in `faulty`, from when each request was due.
    pub latencies: Latencies,
    /// Of these, latencies of wrong answers, and how long was waited for missing ones.
    pub faulty: Latencies,
    /// Answered with a wrong value, none or an error.
    pub wrong: u64,
    /// Without an answer.
    pub missing: u64,
}

/// The requests of a point, by an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectiveCount {
    /// The objective.
    pub objective: Duration,
    /// Right answers that took no longer.
    pub within: u64,
    /// Right answers that took longer.
    pub late: u64,
    /// Answered with a wrong value, none or an error.
    pub wrong: u64,
    /// Without an answer.
    pub missing: u64,
}

impl AnswerTally {
    /// Of what the load generator has counted.
    pub fn of(stats: &OperationStats) -> Self {
        let shortfall = &stats.shortfall;
        Self {
            asked: stats.asked,
            latencies: stats.operations().latencies,
            faulty: shortfall.latencies.clone(),
            wrong: shortfall.wrong + shortfall.not_found + shortfall.refused,
            missing: shortfall.unanswered + stats.unsent,
        }
    }

    /// Right answers, however late.
    pub fn right(&self) -> u64 {
        self.latencies.count() - self.faulty.count()
    }

    /// By an objective.
    pub fn count(&self, objective: Duration) -> ObjectiveCount {
        let within = self.latencies.count_within(objective) - self.faulty.count_within(objective);
        let late = self.right() - within;
        ObjectiveCount { objective, within, late, wrong: self.wrong, missing: self.missing }
    }
}

/// What a stretch of time cost, in which answers came.
#[derive(Clone, Copy, Debug)]
pub struct ServiceCost<'a> {
    /// Its length.
    pub seconds: f64,
    /// CPU time of the servers; `None`: it was not counted.
    pub server_cpu_seconds: Option<f64>,
    /// Joules; `None`: they were not metered.
    pub energy: Option<&'a Energy>,
}

impl ServiceCost<'_> {
    /// Writes what so many answers cost into their row, as [`Cost::write`](crate::Cost::write) does for other work. No answers for
    /// some cost are 0 for a joule.
    pub fn write(&self, row: &mut Row, answers: u64) {
        let rate = answers as f64 / self.seconds.max(1e-9);
        // Joules are of the time in which all were answered, which may be longer.
        let metered = answers as f64 / self.energy.map_or(self.seconds, |energy| energy.seconds).max(1e-9);
        // Infinite if nothing was answered; the row then has 0 answers per CPU second.
        let cpu_us = self.server_cpu_seconds.map(|seconds| seconds * 1e6 / answers as f64);
        row.insert("work_a_second".to_owned(), rate.into());
        write_row(row, self.energy, metered, cpu_us);
    }
}

/// `200 us`, `5 ms`.
pub fn objective_name(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", number(us / 1e6, 0)),
        us if us >= 1e3 => format!("{} ms", plain(us / 1e3)),
        us => format!("{} us", plain(us)),
    }
}

#[cfg(test)]
mod tests {
    use fawn_meter::{MeterKind, Scope, Uncertainty};

    use super::*;

    fn latencies(us: &[u64]) -> Latencies {
        let mut all = Latencies::default();
        for us in us {
            all.add(Duration::from_micros(*us));
        }
        all
    }

    fn energy(kind: MeterKind, joules: f64, seconds: f64) -> Energy {
        Energy {
            joules,
            measured: kind.is_measured(),
            kind,
            instrument: "it".to_owned(),
            scope: Scope::Wall,
            seconds,
            watts: joules / seconds,
            began_unix_seconds: 0.0,
            samples: 11,
            samples_a_second: 1.1,
            longest_gap_seconds: 1.0,
            is_counter: false,
            uncertainty: Uncertainty::of(joules, (Some(0.01), "a data sheet"), 0.0, 0.0),
            idle: None,
            dynamic_joules: None,
            dynamic_uncertainty_joules: None,
            parts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Ten requests: six right answers, a wrong one after 300 us, one refused, one that never left and was due 4 ms before the
    /// end, one that was waited for in vain.
    fn tally() -> AnswerTally {
        AnswerTally {
            asked: 10,
            latencies: latencies(&[80, 120, 150, 600, 3000, 40_000, 300, 4000, 250_000]),
            faulty: latencies(&[300, 4000, 250_000]),
            wrong: 2,
            missing: 2,
        }
    }

    #[test]
    fn objectives_have_the_unit_that_people_use() {
        assert_eq!(
            [200.0, 1000.0, 1500.0, 100_000.0, 2e6].map(objective_name),
            ["200 us", "1 ms", "1.5 ms", "100 ms", "2 s"]
        );
    }

    #[test]
    fn answers_count_within_an_objective_and_all_others_count_nothing() {
        let tally = tally();
        assert_eq!(tally.right(), 6);
        for (us, within) in [(50, 0), (100, 1), (200, 3), (500, 3), (1000, 4), (5000, 5), (1_000_000, 6)] {
            let count = tally.count(Duration::from_micros(us));
            assert_eq!((count.within, count.late), (within, 6 - within), "{us} us");
            assert_eq!(count.within + count.late + count.wrong + count.missing, tally.asked);
        }
    }

    #[test]
    fn answers_for_each_joule_are_by_the_joules_of_all_that_was_asked() {
        let (measured, modelled) = (energy(MeterKind::Rapl, 8.0, 2.0), energy(MeterKind::Model, 4.0, 2.0));
        let within = tally().count(Duration::from_millis(1)).within;
        let cost = ServiceCost { seconds: 2.0, server_cpu_seconds: Some(0.5), energy: Some(&measured) };
        let mut row = Row::new();
        cost.write(&mut row, within);
        // Four answers in two seconds, for 8 J and half a second of CPU time.
        assert_eq!((&row["work_a_second"], &row["operations_a_joule"]), (&2.0.into(), &0.5.into()));
        assert_eq!((&row["operations_a_cpu_second"], &row["joules"]), (&8.0.into(), &8.0.into()));
        let mut row = Row::new();
        ServiceCost { energy: Some(&modelled), ..cost }.write(&mut row, within);
        assert_eq!(row["operations_a_modelled_joule"], 1.0);
        assert!(!row.contains_key("operations_a_joule"), "{row:?}");
    }

    #[test]
    fn no_answer_in_time_is_nothing_for_a_joule_and_what_cost_nothing_known_has_no_figure() {
        let measured = energy(MeterKind::Rapl, 8.0, 2.0);
        let cost = ServiceCost { seconds: 2.0, server_cpu_seconds: Some(0.5), energy: Some(&measured) };
        let mut row = Row::new();
        cost.write(&mut row, 0);
        assert_eq!((&row["operations_a_joule"], &row["operations_a_cpu_second"]), (&0.0.into(), &0.0.into()));
        let mut row = Row::new();
        ServiceCost { server_cpu_seconds: None, energy: None, ..cost }.write(&mut row, 4);
        assert!(row["operations_a_cpu_second"].is_null() && !row.contains_key("operations_a_joule"), "{row:?}");
    }
}
