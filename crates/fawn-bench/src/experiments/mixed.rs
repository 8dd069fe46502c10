//! Gets and puts together; and gets of keys that are not there.

use std::time::Duration;

use fawn_machine::fresh_seed;
use fawn_report::BenchReport;
use fawn_store::page::PAGE_BYTES;
use fawn_workload::Draw;
use serde::Serialize;
use serde_json::json;

use crate::closed::{ClosedLoop, ClosedLoopPuts, generator_us_a_get, generator_us_a_put};
use crate::derived::versions;
use crate::error::Error;
use crate::lookups::Lookups;
use crate::session::BenchSession;
use crate::usage::WorkUsage;

/// Keys beyond the entries, of which the absent are drawn.
const ABSENT: u64 = 1 << 40;

/// Pages read from the device for each get, by the system's count.
fn device_pages_a_get(usage: &WorkUsage, gets: u64) -> Option<f64> {
    Some(usage.read_bytes? as f64 / PAGE_BYTES as f64 / gets.max(1) as f64)
}

/// Parameters of gets and puts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixedExperiment {
    /// Gets in flight.
    pub depth: u32,
    /// Gets for each put.
    pub gets_a_put: u64,
    /// How long it takes.
    pub time: Duration,
}

impl MixedExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Wrong`] and others.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        if self.gets_a_put == 0 {
            return Err(Error::Unfit("overwrite measures puts alone: give --gets-a-put 1 or more".to_owned()));
        }
        session.settle()?;
        let before = versions(&session.history);
        session.changed();
        session.watch.progress(0, 1, "gets and puts");
        let (entries, value_bytes) = (session.setup.entries, session.setup.value_bytes);
        let mut draw = Draw::uniform(entries, fresh_seed());
        let mut lookups = Lookups::new(value_bytes);
        session.expect_puts()?;
        let metering = session.metering()?;
        let meter = session.driver.meter();
        let closed = ClosedLoop { depth: self.depth as usize, time: self.time, gets_a_put: Some(self.gets_a_put) };
        let ClosedLoopPuts { puts, longest_refused } = session.closed(&mut lookups, closed, || draw.draw())?;
        let usage = session.driver.usage(&meter);
        let energy = fawn_meter::stop(metering)?;
        // It began settled, and so what is written until it is settled again is what these puts have caused.
        let whole = session.settle_since(&meter)?;
        let gets = lookups.answered;
        let ours = (generator_us_a_get(entries, value_bytes) * gets as f64
            + generator_us_a_put(entries, value_bytes) * puts as f64)
            / (gets + puts).max(1) as f64;
        let mut report = session.report("mixed");
        report.parameter("gets_a_put", self.gets_a_put);
        report.parameter("seconds", self.time.as_secs_f64());
        report.parameter("versions", before);
        let user = session.setup.user_bytes(puts.max(1)) as f64;
        let mut row = json!({
            "depth": self.depth,
            "gets": gets,
            "puts": puts,
            "from_dram": lookups.from_dram as f64 / gets.max(1) as f64,
            "operations_a_second": (gets + puts) as f64 / usage.seconds,
            "gets_a_second": gets as f64 / usage.seconds,
            "puts_a_second": puts as f64 / usage.seconds,
            "cpu_us_an_operation": usage.cpu_us / (gets + puts).max(1) as f64,
            "generator_cpu_us": ours,
            "reads_a_get": usage.counts.reads as f64 / (gets - lookups.from_dram).max(1) as f64,
            "device_pages_a_get": device_pages_a_get(&usage, gets),
            "write_amplification": whole.write_bytes.map(|bytes| bytes as f64 / user),
            "store_write_amplification": whole.counts.written_bytes as f64 / user,
            "seals": usage.counts.seals,
            "merges": usage.counts.merges,
            "longest_put_us": longest_refused.as_secs_f64() * 1e6,
        });
        report.notes.push(
            "a put takes as long as it is refused; gets that wait behind puts are issued later, which their \
            latencies do not include"
                .to_owned(),
        );
        if usage.counts.seals == 0 {
            report
                .notes
                .push("no segment was sealed before the end: give a longer --time to see maintenance".to_owned());
        }
        let fields = row.as_object_mut().expect("a row is an object");
        lookups.latencies.write_into(fields);
        let operations = (gets + puts).max(1) as f64;
        fawn_meter::write_row(fields, energy.as_ref(), operations / usage.seconds, Some(usage.cpu_us / operations));
        report.row(row);
        report.metered(fawn_meter::provenance(&report.rows, energy.as_ref()));
        session.finish(name, report)
    }
}

/// Parameters of gets of what is not there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AbsentExperiment {
    /// Gets in flight.
    pub depth: u32,
    /// How long it takes.
    pub time: Duration,
}

impl AbsentExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Wrong`] and others.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        session.settle()?;
        session.watch.progress(0, 1, "gets of absent keys");
        let entries = session.setup.entries;
        let mut draw = Draw::uniform(ABSENT, fresh_seed());
        let mut lookups = Lookups::new(session.setup.value_bytes);
        let metering = session.metering()?;
        let (before, meter) = (session.driver.stats(), session.driver.meter());
        let closed = ClosedLoop { depth: self.depth as usize, time: self.time, gets_a_put: None };
        session.closed(&mut lookups, closed, || entries + draw.draw())?;
        let usage = session.driver.usage(&meter);
        let energy = fawn_meter::stop(metering)?;
        let after = session.driver.stats();
        let passed = after.reads.filter_passed - before.reads.filter_passed;
        let judged = passed + after.reads.filter_refused - before.reads.filter_refused;
        let in_bases = after.sealed.records.saturating_sub(after.index.slots).max(1);
        let filter_bits = after.index.filter_bytes as f64 * 8.0 / in_bases as f64;
        let gets = lookups.answered.max(1) as f64;
        let mut report = session.report("absent");
        report.parameter("seconds", self.time.as_secs_f64());
        let mut row = json!({
            "depth": self.depth,
            "gets": lookups.answered,
            "gets_a_second": gets / usage.seconds,
            "cpu_us_a_get": usage.cpu_us / gets,
            "generator_cpu_us": generator_us_a_get(entries, 8),
            "reads_a_get": usage.counts.reads as f64 / gets,
            "filter_bits_a_record": (after.index.filter_bytes > 0).then_some(filter_bits),
            "filter_judged": judged,
            "filter_false_positives": (judged > 0).then(|| passed as f64 / judged as f64),
            "device_pages_a_get": device_pages_a_get(&usage, lookups.answered),
        });
        let fields = row.as_object_mut().expect("a row is an object");
        lookups.latencies.write_into(fields);
        fawn_meter::write_row(fields, energy.as_ref(), gets / usage.seconds, Some(usage.cpu_us / gets));
        report.row(row);
        report.metered(fawn_meter::provenance(&report.rows, energy.as_ref()));
        session.finish(name, report)
    }
}
