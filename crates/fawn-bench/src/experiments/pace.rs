//! Gets at a pace below what the store can take, with and without maintenance beside them: overwrites, a seal a second and
//! merges of one slice after another. A get counts from the moment at which it was to be asked, whether the store kept up or
//! not.

use std::time::{Duration, Instant};

use fawn_machine::fresh_seed;
use fawn_meter::Energy;
use fawn_report::latency::median;
use fawn_report::{BenchReport, ByTime, Timeline};
use fawn_workload::Draw;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::closed::ClosedLoop;
use crate::driver::StepTimes;
use crate::error::Error;
use crate::lookups::Lookups;
use crate::paced::OpenLoop;
use crate::session::BenchSession;
use crate::usage::WorkUsage;

/// Gets in flight when the capacity is measured.
const DEPTH: usize = 128;
/// How often a segment is sealed, in stretches with maintenance, however few puts there are.
const SEAL: Duration = Duration::from_secs(1);

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PaceExperiment {
    /// Loads, in percent of what the store can take, above 0 and below 100.
    pub percents: Vec<u32>,
    /// Pairs of a stretch with maintenance and one without, for each load.
    pub pairs: u32,
    /// How long a stretch takes.
    pub time: Duration,
    /// Gets for each overwrite, in stretches with maintenance.
    pub gets_a_put: u64,
}

/// One stretch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PaceInterval {
    percent: u32,
    idle: bool,
    asked_a_second: f64,
    gets: u64,
    puts: u64,
    usage: WorkUsage,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    longest_us: f64,
    longest_step_us: f64,
    longest_step_cpu_us: f64,
    timeline: Timeline,
    #[serde(default)]
    energy: Option<Energy>,
}

impl PaceExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Wrong`] and others.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        let is_below = |percent: &u32| (1..100).contains(percent);
        if self.percents.is_empty() || !self.percents.iter().all(is_below) || self.gets_a_put == 0 {
            return Err(Error::Unfit(
                "a load is above 0 and below 100 percent, with at least 1 get per put: give --shares 50,80".to_owned(),
            ));
        }
        let mut done: Vec<PaceInterval> = session.unfinished(name).unwrap_or_default();
        session.changed();
        if session.history.last().is_some_and(|phase| phase.version == 1) {
            // A store without garbage has nothing to merge.
            let entries = session.setup.entries;
            session.put_many(entries, |session, made| {
                session.watch.progress(0, 1, &format!("overwriting all once: {} %", made * 100 / entries));
                Ok(true)
            })?;
        }
        let total = u64::from(self.pairs) * self.percents.len() as u64 * 2;
        let stretches = (0..self.pairs).flat_map(|pair| self.percents.iter().map(move |percent| (pair, *percent)));
        for (number, (pair, percent)) in stretches.enumerate().skip(done.len() / 2) {
            done.truncate(2 * number);
            session.settle()?;
            let capacity = self.capacity(session)?;
            for idle in if pair % 2 == 0 { [true, false] } else { [false, true] } {
                let load = if idle { "at rest" } else { "with overwrites" };
                session.watch.progress(done.len() as u64, total, &format!("{percent} %, {load}"));
                session.settle()?;
                done.push(self.stretch(session, capacity, percent, idle)?);
            }
            session.note(name, &done)?;
        }
        session.settle()?;
        let report = self.tell(session, done);
        session.finish(name, report)
    }

    /// Gets a second that the store answers as fast as it goes.
    fn capacity(&self, session: &mut BenchSession<'_>) -> Result<f64, Error> {
        let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
        let mut lookups = Lookups::new(session.setup.value_bytes);
        let time = (self.time / 4).min(Duration::from_secs(2));
        let depth = DEPTH.min(session.setup.depth as usize);
        let began = Instant::now();
        session.closed(&mut lookups, ClosedLoop { depth, time, gets_a_put: None }, || draw.draw())?;
        Ok(lookups.answered as f64 / began.elapsed().as_secs_f64())
    }

    fn stretch(
        &self,
        session: &mut BenchSession<'_>,
        capacity: f64,
        percent: u32,
        idle: bool,
    ) -> Result<PaceInterval, Error> {
        let rate = capacity * f64::from(percent) / 100.0;
        let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
        let mut lookups = Lookups::new(session.setup.value_bytes);
        if !idle {
            session.expect_puts()?;
        }
        session.driver.steps = StepTimes::default();
        let metering = session.metering()?;
        let meter = session.driver.meter();
        let began = Instant::now();
        lookups.by_time = Some((began, ByTime::default()));
        let gets_a_put = (!idle).then_some(self.gets_a_put);
        let mut sealed = Instant::now();
        let puts = session.paced(
            &mut lookups,
            &mut draw,
            OpenLoop { rate, time: self.time, gets_a_put, began },
            |session| {
                if idle {
                    return Ok(());
                }
                let store = session.driver.store();
                if !store.upkeep().is_cleaning() {
                    store.compact();
                }
                // One that is refused as the buffers are full is on its way.
                if sealed.elapsed() >= SEAL && store.seal().is_ok() {
                    sealed = Instant::now();
                }
                Ok(())
            },
        )?;
        let usage = session.driver.usage(&meter);
        let energy = fawn_meter::stop(metering)?;
        let (steps, latencies) = (session.driver.steps, &lookups.latencies);
        let kind = if idle { "at rest" } else { "with maintenance" };
        let stretch = PaceInterval {
            percent,
            idle,
            asked_a_second: rate,
            gets: lookups.answered,
            puts,
            usage,
            energy,
            p50_us: latencies.us(0.5),
            p99_us: latencies.us(0.99),
            p999_us: latencies.us(0.999),
            longest_us: latencies.longest_us(),
            longest_step_us: steps.longest_us,
            longest_step_cpu_us: steps.longest_cpu_us,
            timeline: Timeline {
                name: format!("{percent} % {kind}"),
                idle,
                tenths: lookups.by_time.take().map(|(_, by_time)| by_time.tenths()).unwrap_or_default(),
            },
        };
        Ok(stretch)
    }

    fn tell(&self, session: &BenchSession<'_>, done: Vec<PaceInterval>) -> BenchReport {
        let mut report = session.report("pace");
        report.parameter("pairs", self.pairs);
        report.parameter("seconds", self.time.as_secs_f64());
        report.parameter("gets_a_put", self.gets_a_put);
        for percent in &self.percents {
            let of = |idle: bool| -> Vec<&PaceInterval> {
                done.iter().filter(|stretch| stretch.percent == *percent && stretch.idle == idle).collect()
            };
            let (idle, busy) = (of(true), of(false));
            let over_idle = idle.iter().zip(&busy).map(|(idle, busy)| busy.p999_us / idle.p999_us.max(1e-3));
            report.row(row("at rest", &idle, None));
            report.row(row("overwrites", &busy, median(over_idle)));
            if busy.iter().all(|stretch| stretch.usage.counts.merges == 0) {
                report.notes.push(format!("at {percent} % no merge ended within its interval: give a longer --time"));
            }
        }
        report.notes.push(
            "with overwrites the store does one seal per second and one merge after another, due or not; latencies \
            count from when a get was due; gets are independent (exponential intervals); p50 to p99.9 are medians \
            of the intervals, the longest are those of all"
                .to_owned(),
        );
        report.metered(fawn_meter::provenance(&report.rows, done.iter().find_map(|stretch| stretch.energy.as_ref())));
        report.timelines = done.into_iter().map(|stretch| stretch.timeline).collect();
        report
    }
}

fn row(what: &str, stretches: &[&PaceInterval], p999_over_idle: Option<f64>) -> serde_json::Value {
    let middle = |of: &dyn Fn(&PaceInterval) -> f64| median(stretches.iter().map(|stretch| of(stretch)));
    let most = |of: &dyn Fn(&PaceInterval) -> f64| stretches.iter().map(|stretch| of(stretch)).fold(0.0, f64::max);
    let sum = |of: &dyn Fn(&PaceInterval) -> u64| stretches.iter().map(|stretch| of(stretch)).sum::<u64>();
    let mut row = json!({
        "share": stretches.first().map(|stretch| f64::from(stretch.percent) / 100.0),
        "what": what,
        "gets_asked_a_second": middle(&|stretch| stretch.asked_a_second),
        "gets_a_second": middle(&|stretch| stretch.gets as f64 / stretch.usage.seconds),
        "puts_a_second": middle(&|stretch| stretch.puts as f64 / stretch.usage.seconds),
        "p50_us": middle(&|stretch| stretch.p50_us),
        "p99_us": middle(&|stretch| stretch.p99_us),
        "p999_us": middle(&|stretch| stretch.p999_us),
        "p999_over_idle": p999_over_idle,
        "longest_us": most(&|stretch| stretch.longest_us),
        "longest_step_us": most(&|stretch| stretch.longest_step_us),
        "longest_step_cpu_us": most(&|stretch| stretch.longest_step_cpu_us),
        "seals": sum(&|stretch| stretch.usage.counts.seals),
        "merges": sum(&|stretch| stretch.usage.counts.merges),
        "cpu_share": middle(&|stretch| stretch.usage.cpu_us / stretch.usage.seconds / 1e6),
    });
    let (operations, all) =
        (sum(&|stretch| stretch.gets + stretch.puts) as f64, |of: &dyn Fn(&PaceInterval) -> f64| {
            stretches.iter().map(|stretch| of(stretch)).sum::<f64>()
        });
    let rate = operations / all(&|stretch| stretch.usage.seconds);
    let cpu_us = all(&|stretch| stretch.usage.cpu_us) / operations.max(1.0);
    let energy = fawn_meter::sum(stretches.iter().map(|stretch| stretch.energy.as_ref()));
    fawn_meter::write_row(row.as_object_mut().expect("a row is an object"), energy.as_ref(), rate, Some(cpu_us));
    row
}
