//! What was measured at a load.

use std::time::Duration;

use fawn_loadgen::phase::PhaseResult;
use fawn_report::chart::Row;
use serde_json::{Value, json};

use super::qos::{AnswerTally, ServiceCost};

/// A generator that sends one of a hundred requests later than this has not kept to its schedule.
const MOST_LATE: Duration = Duration::from_millis(1);
/// So does one that could not send this share of them at all.
const MOST_UNSENT: f64 = 0.001;

/// What was measured at a load.
#[derive(Clone, Debug)]
pub struct KvPoint {
    /// The share of the capacity that was asked; `None`: this is the capacity, by a closed loop.
    pub load: Option<f64>,
    /// Requests per second that were asked; `None`: as many as were answered.
    pub rate: Option<f64>,
    /// What the generator has counted.
    pub result: PhaseResult,
    /// Event loops of the generator.
    pub threads: usize,
}

/// Who kept requests from leaving at their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleDelay {
    /// The generator, or the machine that it runs on: there was room for more requests.
    Generator,
    /// The servers: all connections had as many requests in flight as they may.
    Servers,
}

impl ScheduleDelay {
    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Servers => "servers",
        }
    }
}

impl KvPoint {
    /// What became of the requests.
    pub fn tally(&self) -> AnswerTally {
        AnswerTally::of(&self.result.stats)
    }

    /// What it cost.
    pub fn cost(&self) -> ServiceCost<'_> {
        ServiceCost {
            seconds: self.result.seconds,
            server_cpu_seconds: self.result.server_cpu_us.map(|us| us / 1e6),
            energy: self.result.energy.as_ref(),
        }
    }

    /// Who kept requests from leaving at their times; `None`: they left.
    pub fn delay(&self) -> Option<ScheduleDelay> {
        self.rate?;
        let stats = &self.result.stats;
        let is_late = stats.late.us(0.99) > MOST_LATE.as_micros() as f64;
        let is_short = stats.unsent as f64 > MOST_UNSENT * stats.asked as f64;
        let who = if stats.full_turns > 0 { ScheduleDelay::Servers } else { ScheduleDelay::Generator };
        (is_late || is_short).then_some(who)
    }

    /// The row of the point, with its answers by one objective.
    pub fn row(&self, objective: Duration) -> Row {
        let (tally, result) = (self.tally(), &self.result);
        let stats = &result.stats;
        let if_any = |us: f64| (tally.latencies.count() > 0).then_some(us);
        let count = tally.count(objective);
        let mut row = Row::new();
        let mut insert = |name: &str, value: Value| row.insert(name.to_owned(), value);
        insert("what", json!(if self.load.is_some() { "load" } else { "capacity" }));
        insert("load_percent", json!(self.load.map(percent)));
        insert("asked_a_second", json!(self.rate));
        insert("seconds", json!(result.seconds));
        insert("mean_us", json!(if_any(tally.latencies.mean_us())));
        for (name, share) in [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999)] {
            insert(name, json!(if_any(tally.latencies.us(share))));
        }
        insert("longest_us", json!(if_any(tally.latencies.longest_us())));
        insert("objective_us", json!(micros(objective)));
        insert("asked", json!(tally.asked));
        insert("within", json!(count.within));
        insert("late", json!(count.late));
        insert("wrong", json!(count.wrong));
        insert("missing", json!(count.missing));
        insert("not_found", json!(stats.shortfall.not_found));
        insert("refused", json!(stats.shortfall.refused));
        insert("unsent", json!(stats.unsent));
        insert("server_cpu_seconds", json!(result.server_cpu_us.map(|us| us / 1e6)));
        insert("generator_cpu_seconds", json!(stats.cpu_us / 1e6));
        insert("machine_cpu_seconds", json!(result.machine.map(|(us, _)| us / 1e6)));
        insert("stolen_share", json!(result.machine.map(|(_, share)| share)));
        insert("generator_busy_share", json!(self.generator_share()));
        insert("late_p99_us", json!(self.rate.filter(|_| stats.late.count() > 0).map(|_| stats.late.us(0.99))));
        insert("delayed_by", json!(self.delay().map(ScheduleDelay::name)));
        if let Some(idle) = &result.idle {
            insert("idle_share", json!(idle.share(result.seconds)));
            insert("idle_stretches", json!(idle.stretches.count()));
            insert("idle_mean_us", json!(idle.stretches.mean_us()));
            insert("idle_longest_us", json!(idle.stretches.longest_us()));
        }
        self.cost().write(&mut row, stats.right());
        row
    }

    /// A row for each objective: the answers within it, and what they cost.
    pub fn objective_rows(&self, objectives: &[Duration]) -> Vec<Row> {
        let (tally, cost) = (self.tally(), self.cost());
        let row = |objective: &Duration| {
            let count = tally.count(*objective);
            let mut row = Row::new();
            let mut insert = |name: &str, value: Value| row.insert(name.to_owned(), value);
            insert("what", json!("objective"));
            insert("load_percent", json!(self.load.map(percent)));
            insert("objective_us", json!(micros(*objective)));
            insert("asked", json!(tally.asked));
            insert("within", json!(count.within));
            insert("late", json!(count.late));
            insert("wrong", json!(count.wrong));
            insert("missing", json!(count.missing));
            cost.write(&mut row, count.within);
            // The row of the point has all of it.
            row.remove("energy");
            row
        };
        objectives.iter().map(row).collect()
    }

    /// How much of its time the generator has computed.
    fn generator_share(&self) -> f64 {
        self.result.stats.cpu_us / 1e6 / (self.threads as f64 * self.result.seconds.max(1e-9))
    }
}

/// A share in percent, without what binary fractions leave behind the point.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
pub(crate) mod tests {
    use fawn_loadgen::mix::RequestPurpose;
    use fawn_loadgen::stats::{AnswerFault, OperationStats};

    use super::*;

    /// A point of one second in which the servers computed for 100 ms: 98 answers within 1 ms, one late, one wrong.
    pub(crate) fn point(load: Option<f64>) -> KvPoint {
        let mut stats = OperationStats::default();
        (stats.asked, stats.cpu_us) = (100, 50_000.0);
        let gets = stats.of_mut(RequestPurpose::Get);
        gets.answered = 99;
        (0..98).for_each(|_| gets.latencies.add_ns(200_000));
        gets.latencies.add_ns(7_000_000);
        stats.shortfall.add(AnswerFault::Wrong, None);
        stats.late.add_ns(5000);
        let result = PhaseResult {
            stats,
            seconds: 1.0,
            server_cpu_us: Some(100_000.0),
            machine: None,
            samples: Vec::new(),
            energy: None,
            idle: None,
        };
        KvPoint { load, rate: load.map(|_| 100.0), result, threads: 1 }
    }

    #[test]
    fn a_row_has_the_answers_by_their_objective_and_each_request_once() {
        let row = point(Some(0.1)).row(Duration::from_millis(1));
        let of = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row:?}"));
        assert_eq!((of("load_percent"), of("asked"), of("within"), of("late")), (10.0, 100.0, 98.0, 1.0));
        let fates = ["within", "late", "wrong", "missing"].map(|name| row[name].as_u64());
        assert_eq!(row["asked"].as_u64(), fates.into_iter().sum());
        assert!((of("mean_us") - 268.7).abs() < 1.0 && (of("longest_us") - 7000.0).abs() < 10.0, "{row:?}");
        assert_eq!((of("work_a_second"), of("operations_a_cpu_second")), (99.0, 990.0));
        assert!((of("generator_busy_share") - 0.05).abs() < 1e-9 && row["delayed_by"].is_null(), "{row:?}");
        let rows = point(Some(0.1)).objective_rows(&[100, 1000, 10_000].map(Duration::from_micros));
        let figures: Vec<_> = rows.iter().map(|row| row["operations_a_cpu_second"].as_f64().unwrap()).collect();
        assert_eq!(figures, [0.0, 980.0, 990.0]);
    }

    #[test]
    fn a_key_that_was_not_found_is_no_answer() {
        let mut lost = point(Some(0.1));
        lost.result.stats.misses = 9;
        assert_eq!(lost.row(Duration::from_millis(1))["work_a_second"], 90.0);
    }

    #[test]
    fn a_point_says_who_kept_requests_from_leaving_at_their_times() {
        let mut late = point(Some(1.0));
        (0..10).for_each(|_| late.result.stats.late.add_ns(3_000_000));
        assert_eq!(late.delay(), Some(ScheduleDelay::Generator));
        late.result.stats.full_turns = 7;
        assert_eq!(late.delay(), Some(ScheduleDelay::Servers));
        let mut unsent = point(Some(1.0));
        unsent.result.stats.unsent = 1;
        assert_eq!(unsent.delay(), Some(ScheduleDelay::Generator));
        // A closed loop has no schedule.
        late.rate = None;
        assert_eq!(late.delay(), None);
    }
}
