//! Gordon, Figure 5: what larger super-pages and joining bring to applications.
//!
//! Recorded requests of a node's disk, where there are recordings, else the paper's pattern of accesses.

use fawn_gordon::flash::FlashDesign;
use fawn_gordon::flash::presets::GordonCells;
use fawn_gordon::ftl::measurement::{AccessOrder, BandwidthTest, bandwidth_of_trace, paper_array, paper_settings};
use fawn_gordon::ftl::{FtlError, FtlSettings};
use fawn_gordon::node::workloads::{PaperWorkload, TABLE_2};
use fawn_gordon::trace::BlockRequest;
use serde_json::json;

use super::simulated;
use super::traces::recorded;
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::traces::{GordonTraces, as_in_the_paper};

/// What a workload asks of the array.
enum WorkloadRequests {
    /// The paper's pattern of accesses, with the workload's share of reads.
    Pattern(BandwidthTest),
    /// What a node's disk was asked.
    Recorded(Vec<BlockRequest>),
}

impl WorkloadRequests {
    fn bandwidth(&self, design: &FlashDesign, settings: FtlSettings) -> Result<f64, FtlError> {
        match self {
            Self::Pattern(test) => test.bandwidth(design, settings),
            Self::Recorded(requests) => bandwidth_of_trace(design, settings, requests),
        }
    }
}

/// The requests of each workload, up to so many bytes.
fn workloads(run: &Run<'_>, finding: &mut Finding, bytes: u64) -> Result<Vec<(&'static str, WorkloadRequests)>, Error> {
    let Some(runs) = recorded(run, finding)? else {
        let pattern = |workload: &PaperWorkload| {
            let read_share = workload.read_mb / (workload.read_mb + workload.write_mb);
            WorkloadRequests::Pattern(BandwidthTest { order: AccessOrder::HeadAndRest, read_share, bytes })
        };
        return Ok(TABLE_2.iter().map(|workload| (workload.name, pattern(workload))).collect());
    };
    let mut all = Vec::new();
    for job in as_in_the_paper(&runs) {
        let mut left = bytes;
        let mut requests = job.requests()?;
        requests.retain(|request| {
            let is_taken = left > 0;
            left = left.saturating_sub(request.bytes);
            is_taken
        });
        if !requests.is_empty() {
            all.push((job.workload.name, WorkloadRequests::Recorded(requests)));
        }
    }
    Ok(all)
}

/// Simulates it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = simulated(&[
        ("workload", "workload", None),
        ("joins", "bypass and combining", None),
        ("page_kb", "super-page, KB", None),
        ("mb_a_second", "MB/s", Some(0)),
        ("times", "times that of 8 KB", Some(2)),
        ("what", "", None),
    ]);
    let design = paper_array(GordonCells::Slc, 133.0, run.pick(32, 32, 128));
    let bytes = run.pick(16 << 20, 256 << 20, 2 << 30);
    finding.parameter("bytes", bytes);
    let pages: &[u32] = run.pick(&[64], &[16, 32, 64, 128, 256], &[16, 32, 64, 128, 256]);
    let workloads = workloads(run, &mut finding, bytes)?;
    let total = 2 * workloads.len() as u64 * (pages.len() as u64 + 1);
    let mut done = 0;
    for joins in [false, true] {
        let mut sums = vec![0.0; pages.len()];
        for (name, requests) in &workloads {
            let mut rate = |page: u32| {
                run.watch.progress(done, total, name);
                done += 1;
                requests.bandwidth(&design, paper_settings(page, joins))
            };
            let least = rate(8)?;
            for (&page, sum) in pages.iter().zip(&mut sums) {
                let rate = rate(page)?;
                *sum += rate / least;
                let with = if joins { "with" } else { "without" };
                finding.row(json!({
                    "workload": name, "joins": joins, "page_kb": page, "mb_a_second": rate / 1e6,
                    "times": rate / least, "what": format!("{name}, {page} KB, {with} joining"),
                }));
            }
        }
        for (&page, sum) in pages.iter().zip(&sums) {
            let times = sum / workloads.len().max(1) as f64;
            finding.row(json!({ "workload": "average", "joins": joins, "page_kb": page, "times": times }));
        }
    }
    for (what, times) in [("least of all workloads", 1.1), ("most of all workloads", 6.3)] {
        finding.printed(json!({ "workload": what, "joins": true, "page_kb": 64, "times": times }));
    }
    let chart = Chart::lines("Bandwidth over that of 8 KB", Axis::log("page_kb", "KB"), Axis::linear("times", "times"));
    finding.charts = vec![chart.by("workload")];
    if run.tools.traces != GordonTraces::Synthetic {
        finding.note(
            "the paper's block traces are lost. These are the requests to the disk of one recorded node, as soon as the array takes \
             them. Linux merges what is in order, so most bytes are in transfers larger than the paper's 128 KB",
        );
        return Ok(finding);
    }
    finding.note(
        "the paper's block traces are lost. Accesses here are synthetic and follow its own description: 8 KB at a random multiple of 128 KB, \
         then the other 120 KB, with each workload's share of reads in Table 2. So workloads differ by that share alone; \
         the paper's differ more",
    );
    Ok(finding)
}
