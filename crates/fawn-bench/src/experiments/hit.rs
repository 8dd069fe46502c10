//! Gets that DRAM answers: of a few entries, over and over.

use std::time::Duration;

use fawn_meter::Energy;
use fawn_report::BenchReport;
use fawn_report::latency::median;
use fawn_workload::Draw;
use serde::Serialize;
use serde_json::json;

use crate::closed::{ClosedLoop, generator_us_a_get};
use crate::error::Error;
use crate::lookups::{GROUP, Lookups};
use crate::session::BenchSession;
use crate::usage::WorkUsage;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HitExperiment {
    /// Hot entries.
    pub keys: u64,
    /// Rounds, of which the median counts.
    pub rounds: u32,
    /// How long each takes.
    pub time: Duration,
}

impl HitExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Wrong`] and others.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        session.settle()?;
        let entries = session.setup.entries;
        let keys = self.keys.clamp(1, entries);
        // As long as the few follow each other in a random order, any few will do.
        let hot = |number: u64| number * (entries / keys);
        let mut draw = Draw::uniform(keys, 1);
        let mut lookups = Lookups::new(session.setup.value_bytes);
        let closed = ClosedLoop { depth: GROUP, time: self.time, gets_a_put: None };
        session.closed(&mut lookups, ClosedLoop { time: self.time / 2, ..closed }, || hot(draw.draw()))?;
        let (mut rates, mut costs) = (Vec::new(), Vec::new());
        let (mut gets, mut from_dram) = (0, 0);
        let (mut used, mut stretches) = (WorkUsage::none(), Vec::<Option<Energy>>::new());
        for round in 0..self.rounds {
            session.watch.progress(u64::from(round), u64::from(self.rounds), "gets of hot entries");
            let mut lookups = Lookups::new(session.setup.value_bytes);
            let metering = session.metering()?;
            let meter = session.driver.meter();
            session.closed(&mut lookups, closed, || hot(draw.draw()))?;
            let usage = session.driver.usage(&meter);
            stretches.push(fawn_meter::stop(metering)?);
            used.add(&usage);
            rates.push(lookups.answered as f64 / usage.seconds);
            costs.push(usage.cpu_us / lookups.answered.max(1) as f64);
            (gets, from_dram) = (gets + lookups.answered, from_dram + lookups.from_dram);
        }
        let mut report = session.report("hit");
        report.parameter("rounds", self.rounds);
        report.parameter("seconds", self.time.as_secs_f64());
        let mut row = json!({
            "keys": keys,
            "gets": gets,
            "gets_a_second": median(rates),
            "cpu_us_a_get": median(costs),
            "generator_cpu_us": generator_us_a_get(keys, session.setup.value_bytes),
            "from_dram": from_dram as f64 / gets.max(1) as f64,
        });
        let energy = fawn_meter::sum(stretches.iter().map(Option::as_ref));
        let (rate, cpu_us) = (gets as f64 / used.seconds, used.cpu_us / gets.max(1) as f64);
        fawn_meter::write_row(row.as_object_mut().expect("a row is an object"), energy.as_ref(), rate, Some(cpu_us));
        report.row(row);
        report.metered(fawn_meter::provenance(&report.rows, energy.as_ref()));
        session.finish(name, report)
    }
}
