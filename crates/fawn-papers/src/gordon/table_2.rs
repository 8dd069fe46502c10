//! Gordon, Table 2: the workloads, as the synthetic traces after them.

use fawn_gordon::node::workloads::{NODES, TABLE_2, TraceShape, synthetic};
use serde_json::json;

use super::computed;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;

/// Computes it.
pub fn run(run: &Run<'_>) -> Finding {
    let nodes = run.pick(4, NODES, NODES);
    let mut finding = computed(&[
        ("workload", "workload", None),
        ("size_gb", "size, GB", Some(0)),
        ("read_mb", "read, MB", Some(0)),
        ("write_mb", "written, MB", Some(0)),
        ("seconds", "trace, s", None),
        ("tera_instructions", "10^12 instructions", Some(2)),
    ]);
    for workload in &TABLE_2 {
        let trace = synthetic(workload, &TraceShape::fitted(), nodes, 1);
        let totals = trace.totals();
        finding.row(json!({
            "workload": workload.name, "size_gb": workload.size_gb, "read_mb": totals.disk_read_bytes / 1e6,
            "write_mb": totals.disk_write_bytes / 1e6, "seconds": trace.seconds(),
            "tera_instructions": totals.instructions / 1e12,
        }));
        finding.printed(json!({
            "workload": workload.name, "size_gb": workload.size_gb, "read_mb": workload.read_mb,
            "write_mb": workload.write_mb,
        }));
    }
    finding.parameter("nodes", nodes);
    finding.charts = vec![Chart::bars("Written to disks", "workload", Axis::log("write_mb", "MB"))];
    finding.note(
        "no workload runs here: the traces are synthetic, with exactly these bytes. The paper has seven workloads; the \
         eighth line in the legend of its Figure 5 is their average. Instructions and lengths are not in the paper",
    );
    finding
}
