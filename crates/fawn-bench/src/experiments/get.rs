//! Gets of entries at random, every value verified, in turns with reads of the device at the same depth.

use std::time::Duration;

use fawn_machine::fresh_seed;
use fawn_meter::Energy;
use fawn_report::BenchReport;
use fawn_report::latency::median;
use fawn_store::page::PAGE_BYTES;
use fawn_workload::Draw;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::closed::{ClosedLoop, generator_us_a_get};
use crate::device::{DeviceReader, DeviceReads, Segments};
use crate::error::Error;
use crate::lookups::Lookups;
use crate::session::BenchSession;
use crate::usage::WorkUsage;

/// Our count of pages and the system's may differ by this share.
const AGREEMENT: f64 = 0.02;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GetExperiment {
    /// Gets in flight.
    pub depths: Vec<u32>,
    /// Turns of store and device, for each depth.
    pub rounds: u32,
    /// How long each takes.
    pub time: Duration,
    /// Who reads the device.
    pub device: DeviceReader,
}

/// One turn of both at one depth.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Round {
    depth: u32,
    gets: u64,
    from_dram: u64,
    usage: WorkUsage,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    device: DeviceReads,
    #[serde(default)]
    energy: Option<Energy>,
}

impl Round {
    fn reads_a_second(&self) -> f64 {
        self.usage.counts.reads as f64 / self.usage.seconds
    }
}

impl GetExperiment {
    /// Runs it.
    ///
    /// # Errors
    /// [`Error::Wrong`] and others.
    pub(super) fn run(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
        session.settle()?;
        let segments = Segments::of(session.driver.path(), &session.setup.dir.join("links"))?;
        let mut rounds: Vec<Round> = session.unfinished(name).unwrap_or_default();
        let total = u64::from(self.rounds) * self.depths.len() as u64;
        for number in rounds.len() as u64..total {
            let (turn, at) = (number / self.depths.len() as u64, number as usize % self.depths.len());
            let depth = self.depths[at];
            session.watch.progress(number, total, &format!("gets, {depth} in flight"));
            rounds.push(self.round(session, &segments, depth, turn)?);
            session.note(name, &rounds)?;
        }
        let mut report = session.report("get");
        report.parameter("rounds", self.rounds);
        report.parameter("seconds", self.time.as_secs_f64());
        report.parameter("device", self.device.name());
        let ours = generator_us_a_get(session.setup.entries, session.setup.value_bytes);
        for depth in &self.depths {
            let of_depth: Vec<&Round> = rounds.iter().filter(|round| round.depth == *depth).collect();
            tell(&mut report, *depth, &of_depth, ours);
        }
        report.metered(fawn_meter::provenance(&report.rows, rounds.iter().find_map(|round| round.energy.as_ref())));
        report.notes.push(format!("reader of the device: {}", self.device.name()));
        session.finish(name, report)
    }

    fn round(
        &self,
        session: &mut BenchSession<'_>,
        segments: &Segments,
        depth: u32,
        turn: u64,
    ) -> Result<Round, Error> {
        let read = |session: &BenchSession<'_>| segments.read(self.device, session.driver.files(), depth, self.time);
        // Whoever comes first may find the device in another mood.
        let first = if turn.is_multiple_of(2) { None } else { Some(read(session)?) };
        let mut draw = Draw::uniform(session.setup.entries, fresh_seed());
        let mut lookups = Lookups::new(session.setup.value_bytes);
        let metering = session.metering()?;
        let meter = session.driver.meter();
        let closed = ClosedLoop { depth: depth as usize, time: self.time, gets_a_put: None };
        session.closed(&mut lookups, closed, || draw.draw())?;
        let usage = session.driver.usage(&meter);
        let energy = fawn_meter::stop(metering)?;
        let device = first.map_or_else(|| read(session), Ok)?;
        Ok(Round {
            depth,
            gets: lookups.answered,
            from_dram: lookups.from_dram,
            usage,
            p50_us: lookups.latencies.us(0.5),
            p99_us: lookups.latencies.us(0.99),
            p999_us: lookups.latencies.us(0.999),
            device,
            energy,
        })
    }
}

fn tell(report: &mut BenchReport, depth: u32, rounds: &[&Round], generator_us: f64) {
    let middle = |of: &dyn Fn(&Round) -> f64| median(rounds.iter().map(|round| of(round)));
    let sum = |of: &dyn Fn(&Round) -> u64| rounds.iter().map(|round| of(round)).sum::<u64>() as f64;
    let from_flash = sum(&|round| round.gets - round.from_dram);
    let each = |count: f64| (from_flash > 0.0).then(|| count / from_flash);
    let pages = sum(&|round| round.usage.counts.pages_read);
    let maintenance = sum(&|round| round.usage.counts.maintenance_read_bytes) / PAGE_BYTES as f64;
    let is_known = rounds.iter().all(|round| round.usage.read_bytes.is_some());
    let by_system = is_known.then(|| sum(&|round| round.usage.read_bytes.unwrap_or(0)) / PAGE_BYTES as f64);
    let agrees = by_system.map(|by_system| (by_system - pages - maintenance).abs() <= AGREEMENT * by_system);
    let mut row = json!({
        "depth": depth,
        "gets": sum(&|round| round.gets),
        "from_dram": sum(&|round| round.from_dram) / sum(&|round| round.gets).max(1.0),
        "gets_a_second": middle(&|round| round.gets as f64 / round.usage.seconds),
        "reads_a_second": middle(&Round::reads_a_second),
        "device_reads_a_second": middle(&|round| round.device.reads_a_second),
        "ratio": middle(&|round| round.reads_a_second() / round.device.reads_a_second),
        "cpu_us_a_get": middle(&|round| round.usage.cpu_us / round.gets as f64),
        "generator_cpu_us": generator_us,
        "device_cpu_us_a_read": middle(&|round| round.device.cpu_us_a_read),
        "reads_a_get": each(sum(&|round| round.usage.counts.reads)),
        "false_reads": sum(&|round| round.usage.counts.false_reads),
        "pages_a_get": each(pages),
        "system_pages_a_get": by_system.and_then(each),
        "counts_agree": agrees,
        "device_pages_a_get": by_system.map(|pages| pages / sum(&|round| round.gets).max(1.0)),
        "p50_us": middle(&|round| round.p50_us),
        "p99_us": middle(&|round| round.p99_us),
        "p999_us": middle(&|round| round.p999_us),
        "ratios": rounds.iter().map(|round| round.reads_a_second() / round.device.reads_a_second).collect::<Vec<_>>(),
    });
    let (gets, seconds) = (sum(&|round| round.gets), rounds.iter().map(|round| round.usage.seconds).sum::<f64>());
    let cpu_us = rounds.iter().map(|round| round.usage.cpu_us).sum::<f64>() / gets.max(1.0);
    let energy = fawn_meter::sum(rounds.iter().map(|round| round.energy.as_ref()));
    fawn_meter::write_row(
        row.as_object_mut().expect("a row is an object"),
        energy.as_ref(),
        gets / seconds,
        Some(cpu_us),
    );
    report.row(row);
    if agrees == Some(false) {
        report.notes.push(format!(
            "at depth {depth} our count of pages and the system's differ by more than {:.0} %: something else than \
            the device answers, or another process reads",
            AGREEMENT * 100.0
        ));
    }
}
