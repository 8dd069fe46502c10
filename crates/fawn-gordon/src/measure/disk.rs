//! A disk under requests, and what came of it.

use fawn_report::Watch;
use serde::Serialize;

use super::report::{EnergyReport, LatencySummary, PartShare, ResourceShare, ServedSums, Throughput, parts};
use super::workload::Pacing;
use crate::disk::presets::DiskPower;
use crate::disk::{
    ClosedReplay, DiskActivity, DiskCompletion, DiskDevice, DiskModel, DiskRefusal, DiskRequest, DiskService,
    ModelError, OpenReplay,
};
use crate::trace::{BlockRequest, SECTOR_BYTES};

/// Requests between two looks at the progress.
const STRIDE: u64 = 1024;

/// A disk that is about to be measured.
#[derive(Clone, Debug)]
pub struct DiskMeasurement {
    model: DiskModel,
    power: Option<DiskPower>,
    device: DiskDevice,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskReport {
    /// The disk.
    pub name: String,
    /// Where its values are from.
    pub source: String,
    /// Its bytes.
    pub capacity_bytes: u64,
    /// When requests were issued.
    pub pacing: Pacing,
    /// Requests that the host kept at the disk; absent if they came at their own times.
    pub outstanding: Option<usize>,
    /// What was served.
    pub throughput: Throughput,
    /// Seconds until all that was written is on the platters: the simulated time, or longer.
    pub settled_s: f64,
    /// Bytes per second, read and written.
    pub bytes_per_s: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Of all requests.
    pub latency: Option<LatencySummary>,
    /// Of reads.
    pub read_latency: Option<LatencySummary>,
    /// Of writes.
    pub write_latency: Option<LatencySummary>,
    /// Where the time of requests went.
    pub latency_parts: Vec<PartShare>,
    /// How requests were served.
    pub services: DiskServices,
    /// What the arm and the head did until then.
    pub resources: Vec<ResourceShare>,
    /// Parts of the write buffer that were brought to the platters.
    pub drains: u64,
    /// Modelled energy until then; absent if the disk's power is not known.
    pub energy: Option<EnergyReport>,
}

/// How requests were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiskServices {
    /// Reads from the buffer.
    pub read_hits: u64,
    /// Reads from the platters.
    pub read_misses: u64,
    /// Writes that the buffer took.
    pub write_hits: u64,
    /// Writes to the platters.
    pub write_misses: u64,
    /// Flushes and discards.
    pub controls: u64,
}

impl DiskMeasurement {
    /// A disk at rest.
    ///
    /// # Errors
    /// The model makes no sense.
    pub fn new(model: DiskModel, power: Option<DiskPower>) -> Result<Self, ModelError> {
        let device = DiskDevice::new(&model)?;
        Ok(Self { model, power, device })
    }

    /// Its bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.device.sectors() * SECTOR_BYTES
    }

    /// Serves all requests, at their times or `outstanding` at a time. `total` is how many there are, for the progress.
    ///
    /// # Errors
    /// A request does not lie on the disk.
    pub fn run(
        mut self,
        requests: impl Iterator<Item = BlockRequest>,
        total: u64,
        pacing: Pacing,
        outstanding: usize,
        watch: &dyn Watch,
    ) -> Result<DiskReport, DiskRefusal> {
        let sectors = self.device.sectors();
        let requests = requests.zip(0..).filter_map(|(request, id)| DiskRequest::fitted(&request, id, sectors));
        let mut sums = DiskSums::default();
        let mut add = |done: Result<DiskCompletion, DiskRefusal>| {
            if sums.served.throughput.requests.is_multiple_of(STRIDE) {
                watch.progress(sums.served.throughput.requests, total, "simulating");
            }
            done.map(|done| sums.add(&done))
        };
        match pacing {
            Pacing::Timed => OpenReplay::new(&mut self.device, requests).try_for_each(&mut add)?,
            Pacing::Saturated => ClosedReplay::new(&mut self.device, requests, outstanding).try_for_each(&mut add)?,
        }
        let activity = self.device.activity();
        Ok(self.report(sums, activity, pacing, outstanding))
    }

    fn report(self, sums: DiskSums, activity: DiskActivity, pacing: Pacing, outstanding: usize) -> DiskReport {
        let capacity_bytes = self.capacity_bytes();
        let DiskSums { served, services, waiting, seek, rotation, transfer } = sums;
        let ServedSums { throughput, all, reads, writes } = served;
        let latency_parts = parts(
            &[
                ("queue, controller and interface", waiting),
                ("seek", seek),
                ("rotation", rotation),
                ("transfer", transfer),
            ],
            throughput.requests,
        );
        // The disk goes on after the last reply.
        let settled_s = throughput.elapsed_s.max(self.device.now_ns() as f64 / 1e9);
        let active_s = (activity.seek_ns + activity.rotation_ns + activity.transfer_ns) as f64 / 1e9;
        let energy = self.power.as_ref().map(|power| {
            let bytes = throughput.bytes_read + throughput.bytes_written;
            // The head does not tell for whom it moves: both kinds have their share by bytes.
            let reading = throughput.bytes_read as f64 / (bytes as f64).max(1.0);
            let joules = power.watts.joules(settled_s, active_s * reading, active_s * (1.0 - reading));
            let told = format!(
                "{} W at rest, {} W reading, {} W writing ({}); time of the head by bytes read and written",
                power.watts.idle, power.watts.read, power.watts.write, power.source
            );
            EnergyReport::of(joules, settled_s, bytes, told)
        });
        DiskReport {
            name: self.model.name.to_string(),
            source: self.model.source.to_string(),
            capacity_bytes,
            pacing,
            outstanding: (pacing == Pacing::Saturated).then_some(outstanding),
            bytes_per_s: throughput.bytes_per_s(),
            requests_per_s: throughput.requests_per_s(),
            latency: all.summary(),
            read_latency: reads.summary(),
            write_latency: writes.summary(),
            latency_parts,
            services,
            resources: resources(activity, settled_s),
            settled_s,
            drains: activity.drains,
            energy,
            throughput,
        }
    }
}

/// What the arm and the head did in so many seconds, the longest first.
fn resources(activity: DiskActivity, on_s: f64) -> Vec<ResourceShare> {
    let DiskActivity { seek_ns, rotation_ns, transfer_ns, .. } = activity;
    let share = |ns: u64| (ns as f64 / 1e9 / on_s.max(f64::MIN_POSITIVE)).min(1.0);
    let mut all: Vec<ResourceShare> =
        [("arm (seeks)", seek_ns), ("platters (rotation)", rotation_ns), ("head (transfer)", transfer_ns)]
            .into_iter()
            .map(|(resource, ns)| ResourceShare { resource: resource.to_owned(), busy_share: share(ns) })
            .collect();
    all.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share));
    all
}

/// Sums over completions.
#[derive(Debug, Default)]
struct DiskSums {
    served: ServedSums,
    services: DiskServices,
    waiting: u128,
    seek: u128,
    rotation: u128,
    transfer: u128,
}

impl DiskSums {
    fn add(&mut self, done: &DiskCompletion) {
        self.served.add(done.request.access, done.request.sectors * SECTOR_BYTES, done.response_ns());
        let elapsed_s = &mut self.served.throughput.elapsed_s;
        *elapsed_s = elapsed_s.max(done.finish_ns as f64 / 1e9);
        let services = &mut self.services;
        *match done.service {
            DiskService::ReadHit => &mut services.read_hits,
            DiskService::ReadMiss => &mut services.read_misses,
            DiskService::WriteHit => &mut services.write_hits,
            DiskService::WriteMiss => &mut services.write_misses,
            DiskService::Control => &mut services.controls,
        } += 1;
        self.waiting += u128::from(done.waiting_ns());
        self.seek += u128::from(done.seek_ns);
        self.rotation += u128::from(done.rotation_ns);
        self.transfer += u128::from(done.transfer_ns);
    }
}

#[cfg(test)]
mod tests {
    use fawn_report::Nobody;

    use super::*;
    use crate::disk::presets;
    use crate::trace::{AddressPattern, Arrivals, TracePattern};

    #[test]
    fn random_reads_are_bound_by_the_arm_and_the_platters() {
        let preset = presets::preset("sata-1tb-2008").unwrap();
        let disk = DiskMeasurement::new(preset.model, preset.power).unwrap();
        let pattern = TracePattern {
            addresses: AddressPattern::Uniform { least_bytes: 4096, most_bytes: 4096 },
            arrivals: Arrivals::Together,
            read_share: 1.0,
            capacity_bytes: disk.capacity_bytes(),
            requests: 2_000,
            seed: 1,
        };
        let report = disk.run(pattern.trace().unwrap(), 2_000, Pacing::Saturated, 1, &Nobody).unwrap();
        assert!((75.0..81.0).contains(&report.requests_per_s), "{}", report.requests_per_s);
        assert_eq!((report.throughput.reads, report.services.read_misses), (2_000, 2_000));
        assert_eq!(report.resources[0].resource, "arm (seeks)");
        let busy: f64 = report.resources.iter().map(|it| it.busy_share).sum();
        assert!((0.95..=1.0).contains(&busy), "{busy}");
        let energy = report.energy.unwrap();
        // Table 3's disk between rest and reads.
        assert!((12.0..13.0).contains(&energy.modelled_w), "{energy:?}");
        let mean = report.latency.unwrap().mean_us;
        let sum: f64 = report.latency_parts.iter().map(|part| part.mean_us).sum();
        assert!((sum / mean - 1.0).abs() < 1e-6, "{sum} {mean}");
    }

    /// The head's busy share altogether, and the report.
    fn report(addresses: AddressPattern, read_share: f64, requests: u64) -> (f64, DiskReport) {
        let preset = presets::preset("sata-1tb-2008").unwrap();
        let disk = DiskMeasurement::new(preset.model, preset.power).unwrap();
        let (arrivals, capacity_bytes) = (Arrivals::Together, disk.capacity_bytes());
        let pattern = TracePattern { addresses, arrivals, read_share, capacity_bytes, requests, seed: 1 };
        let report = disk.run(pattern.trace().unwrap(), requests, Pacing::Saturated, 1, &Nobody).unwrap();
        (report.resources.iter().map(|it| it.busy_share).sum(), report)
    }

    #[test]
    fn reading_ahead_is_work_of_the_head() {
        let (busy, report) = report(AddressPattern::Sequential { bytes: 1 << 20 }, 1.0, 500);
        assert!(report.services.read_hits > 400, "{:?}", report.services);
        assert!((0.85..=1.0).contains(&busy), "{busy}");
        let watts = report.energy.unwrap().modelled_w;
        assert!((12.4..=13.0).contains(&watts), "a disk that reads takes 13 W, one at rest 9 W: {watts}");
    }

    #[test]
    fn what_is_written_behind_takes_time_and_energy_after_the_last_reply() {
        let addresses = AddressPattern::Uniform { least_bytes: 4096, most_bytes: 4096 };
        let (busy, report) = report(addresses, 0.0, 500);
        assert!(report.settled_s > 10.0 * report.throughput.elapsed_s, "{report:?}");
        assert!((0.95..=1.0).contains(&busy), "the arm, the platters and the head are busy in turn: {busy}");
        let energy = report.energy.unwrap();
        assert!((energy.modelled_j / report.settled_s / energy.modelled_w - 1.0).abs() < 1e-6, "{energy:?}");
    }
}
