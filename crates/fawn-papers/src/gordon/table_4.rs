//! Gordon, Table 4: performance of the components. The paper prints "simulated" for disk and flash; here are ours.

use fawn_gordon::disk::{ClosedReplay, DiskDevice, DiskRequest, presets};
use fawn_gordon::flash::presets::GordonCells;
use fawn_gordon::ftl::HostKind;
use fawn_gordon::ftl::measurement::{AccessOrder, BandwidthTest, paper_array, paper_settings};
use fawn_gordon::survey::paper;
use fawn_gordon::trace::{AddressPattern, Arrivals, TracePattern};
use serde_json::json;

use super::simulated;
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;

/// Simulates it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("what", "component", None),
        ("value", "value", Some(1)),
        ("unit", "", None),
        ("survey", "the survey's value", Some(1)),
    ]);
    let (core2, atom) = (paper::core2(), paper::atom());
    for (what, model, printed) in [("Core 2, one core", &core2, 1.5), ("Atom", &atom, 0.5)] {
        finding.row(json!({ "what": what, "value": model.instructions_per_cycle, "unit": "instructions a cycle" }));
        finding.printed(json!({ "what": what, "value": printed, "unit": "instructions a cycle" }));
    }
    let requests = run.pick(200, 2_000, 20_000);
    let large = AddressPattern::Sequential { bytes: 1 << 20 };
    let small = AddressPattern::Uniform { least_bytes: 4_096, most_bytes: 4_096 };
    let latency = 1e3 * disk(&small, 1.0, requests) / requests as f64;
    finding.row(json!({ "what": "disk, a random read of 4 KiB", "value": latency, "unit": "ms" }));
    let surveyed = paper::disk();
    for (what, read_share, rate) in
        [("disk, reads in order", 1.0, surveyed.read), ("disk, writes in order", 0.0, surveyed.write)]
    {
        let megabytes = requests as f64 * f64::from(1 << 20) / 1e6;
        let value = megabytes / disk(&large, read_share, requests);
        finding.row(json!({ "what": what, "value": value, "unit": "MB/s", "survey": rate.bytes_per_second / 1e6 }));
    }
    let design = paper_array(GordonCells::Slc, 133.0, run.pick(32, 64, 256));
    let flash = paper::flash();
    for (what, kind, rate) in
        [("flash array, reads", HostKind::Read, flash.read), ("flash array, writes", HostKind::Write, flash.write)]
    {
        run.watch.progress(1, 2, what);
        let value =
            BandwidthTest::peak(&design, paper_settings(64, true), kind, AccessOrder::Sequential(256 << 10))? / 1e6;
        finding.row(json!({ "what": what, "value": value, "unit": "MB/s", "survey": rate.bytes_per_second / 1e6 }));
        finding.printed(json!({ "what": what, "value": 900.0, "unit": "MB/s" }));
    }
    finding.row(json!({ "what": "network", "value": 1000.0, "unit": "Mbit/s", "survey": 1000.0 }));
    finding.printed(json!({ "what": "network", "value": 1000.0, "unit": "Mbit/s" }));
    finding.note(
        "the paper prints that disk and flash were simulated, without figures; 900 MB/s of flash are from its §4.2. Its \
         disk's parameters are lost: ours are those of data sheets. In order is from the outermost track on, and the survey \
         takes the mean over the disk",
    );
    Ok(finding)
}

/// Seconds that so many accesses take, one at a time.
fn disk(addresses: &AddressPattern, read_share: f64, requests: u64) -> f64 {
    let mut disk = DiskDevice::new(&presets::sata_1tb_2008()).expect("a preset is a disk");
    let sectors = disk.sectors();
    let pattern = TracePattern {
        addresses: *addresses,
        arrivals: Arrivals::Together,
        read_share,
        capacity_bytes: sectors * 512,
        requests,
        seed: 1,
    };
    let trace = pattern.trace().expect("the pattern fits the disk");
    let fitted = trace.zip(0..).filter_map(|(request, id)| DiskRequest::fitted(&request, id, sectors));
    let last = ClosedReplay::new(&mut disk, fitted, 1).last();
    last.and_then(Result::ok).map_or(f64::NAN, |end| end.finish_ns as f64 / 1e9)
}
