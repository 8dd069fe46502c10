//! Gordon, Table 2: the workloads, as they were recorded or as synthetic traces after them.

use fawn_gordon::node::ClusterTrace;
use fawn_gordon::node::workloads::{NODES, PaperWorkload, TABLE_2, TraceShape, synthetic};
use serde_json::{Value, json};

use super::computed;
use super::traces::recorded;
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding, RowOrigin};
use crate::run::Run;

/// Computes it.
///
/// # Errors
/// A recording cannot be read.
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = computed(&[
        ("workload", "workload", None),
        ("way", "from, to", None),
        ("nodes", "nodes", None),
        ("size_gb", "size, GB", Some(3)),
        ("read_mb", "read, MB", Some(0)),
        ("write_mb", "written, MB", Some(0)),
        ("read_of_size", "read/size", Some(2)),
        ("write_of_size", "written/size", Some(2)),
        ("write_of_read", "written/read", Some(2)),
        ("seconds", "trace, s", None),
        ("tera_instructions", "10^12 instructions", Some(2)),
    ]);
    if let Some(runs) = recorded(run, &mut finding)? {
        finding.state = RowOrigin::Measured;
        for job in runs.iter().flat_map(|run| &run.jobs) {
            finding.row(row_of(job.workload, &job.way, job.size_bytes / 1e9, &job.trace));
        }
        finding.note(
            "recorded jobs on Hadoop. Sizes are of the input, or of the output if there is no input, as in the paper. Bytes are \
             those of the nodes' disks, the sync of what was written included. Intermediate data were read from memory, so less is \
             read than in the paper. Instructions are processor time by the rating of 7-Zip",
        );
    } else {
        let nodes = run.pick(4, NODES, NODES);
        finding.parameter("nodes", nodes);
        for workload in &TABLE_2 {
            let trace = synthetic(workload, &TraceShape::fitted(), nodes, 1);
            finding.row(row_of(workload, "synthetic", workload.size_gb, &trace));
        }
        finding.note(
            "no workload runs here: the traces are synthetic, with exactly these bytes. Instructions and lengths are not in the \
             paper",
        );
    }
    for workload in &TABLE_2 {
        let (read_mb, write_mb) = (workload.read_mb, workload.write_mb);
        finding.printed(sizes(workload, workload.size_gb, read_mb, write_mb));
    }
    finding.charts =
        vec![Chart::bars("Written for each byte of size", "workload", Axis::log("write_of_size", "times"))];
    finding.note("the paper has seven workloads; the eighth line in the legend of its Figure 5 is their average");
    Ok(finding)
}

fn row_of(workload: &PaperWorkload, way: &str, size_gb: f64, trace: &ClusterTrace) -> Value {
    let totals = trace.totals();
    let mut row = sizes(workload, size_gb, totals.disk_read_bytes / 1e6, totals.disk_write_bytes / 1e6);
    row["way"] = way.into();
    row["nodes"] = trace.nodes.len().into();
    row["seconds"] = trace.seconds().into();
    row["tera_instructions"] = (totals.instructions / 1e12).into();
    row
}

fn sizes(workload: &PaperWorkload, size_gb: f64, read_mb: f64, write_mb: f64) -> Value {
    let ratio = |above: f64, below: f64| (below > 0.0).then_some(above / below);
    json!({
        "workload": workload.name, "size_gb": size_gb, "read_mb": read_mb, "write_mb": write_mb,
        "read_of_size": ratio(read_mb, size_gb * 1e3), "write_of_size": ratio(write_mb, size_gb * 1e3),
        "write_of_read": ratio(write_mb, read_mb),
    })
}
