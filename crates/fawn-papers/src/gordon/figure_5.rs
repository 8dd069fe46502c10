//! Gordon, Figure 5: what larger super-pages and joining bring to applications.

use fawn_gordon::flash::presets::GordonCells;
use fawn_gordon::ftl::measurement::{AccessOrder, BandwidthTest, paper_array, paper_settings};
use fawn_gordon::node::workloads::TABLE_2;
use serde_json::json;

use super::simulated;
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;

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
    let total = 2 * TABLE_2.len() as u64 * (pages.len() as u64 + 1);
    let mut done = 0;
    for joins in [false, true] {
        let mut sums = vec![0.0; pages.len()];
        for workload in &TABLE_2 {
            let read_share = workload.read_mb / (workload.read_mb + workload.write_mb);
            let test = BandwidthTest { order: AccessOrder::HeadAndRest, read_share, bytes };
            let mut rate = |page: u32| {
                run.watch.progress(done, total, workload.name);
                done += 1;
                test.bandwidth(&design, paper_settings(page, joins))
            };
            let least = rate(8)?;
            for (&page, sum) in pages.iter().zip(&mut sums) {
                let rate = rate(page)?;
                *sum += rate / least;
                let with = if joins { "with" } else { "without" };
                finding.row(json!({
                    "workload": workload.name, "joins": joins, "page_kb": page, "mb_a_second": rate / 1e6,
                    "times": rate / least, "what": format!("{}, {page} KB, {with} joining", workload.name),
                }));
            }
        }
        for (&page, sum) in pages.iter().zip(&sums) {
            let times = sum / TABLE_2.len() as f64;
            finding.row(json!({ "workload": "average", "joins": joins, "page_kb": page, "times": times }));
        }
    }
    for (what, times) in [("least of all workloads", 1.1), ("most of all workloads", 6.3)] {
        finding.printed(json!({ "workload": what, "joins": true, "page_kb": 64, "times": times }));
    }
    let chart = Chart::lines("Bandwidth over that of 8 KB", Axis::log("page_kb", "KB"), Axis::linear("times", "times"));
    finding.charts = vec![chart.by("workload")];
    finding.note(
        "the paper's block traces are lost. Accesses here follow its own description: 8 KB at a random multiple of 128 KB, \
         then the other 120 KB, with each workload's share of reads in Table 2. So workloads differ by that share alone; \
         the paper's differ more",
    );
    Ok(finding)
}
