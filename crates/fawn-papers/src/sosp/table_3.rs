//! SOSP 2009, Table 3: queries a joule of one node that answers gets of 256 bytes from its flash, without a network.

use std::time::Duration;

use serde_json::json;

use crate::efficiency::{COLUMNS, MeteredWork, note};
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

/// What the paper prints: system, queries a second, watts, queries a joule.
const PRINTED: [(&str, f64, f64, f64); 5] = [
    ("Alix3c2, CompactFlash", 1298.0, 3.75, 346.0),
    ("Soekris, CompactFlash", 334.0, 3.75, 89.0),
    ("Desktop, SSD", 4289.0, 83.0, 51.7),
    ("MacBook Pro, disk", 66.0, 29.0, 2.3),
    ("Desktop, disk", 171.0, 87.0, 1.96),
];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 256 << 20, 3_584 << 20);
    let size = Size::of_bytes(bytes, 256, run.pick(8 << 20, 16 << 20, 256 << 20));
    let time = run.pick(Duration::from_millis(100), Duration::from_secs(2), Duration::from_secs(30));
    let (mut session, _) = store::loaded(run, "store", size)?;
    let mut finding = Finding::of(COLUMNS);
    for depth in [1, DEPTH] {
        run.watch.progress(u64::from(depth > 1), 2, &format!("gets, {depth} at a time"));
        let metered = MeteredWork::begin(run)?;
        let gets = store::gets(&mut session, depth, time)?;
        let taken = metered.end(gets.gets, gets.usage.seconds, Some(gets.usage.cpu_us))?;
        let mut row = taken.row(&format!("this machine, {depth} at a time"));
        row["from_dram"] = gets.from_dram().into();
        finding.row(row);
    }
    session.close()?;
    size.tell(&mut finding);
    finding.parameter("seconds", time.as_secs_f64());
    printed(&mut finding, &PRINTED);
    note(&mut finding, run);
    Ok(finding)
}

/// Adds what a paper prints of systems, and the charts that go with it.
pub fn printed(finding: &mut Finding, systems: &[(&str, f64, f64, f64)]) {
    for (what, queries, watts, a_joule) in systems {
        finding.printed(json!({
            "what": what, "queries_a_second": queries, "watts": watts, "queries_a_joule": a_joule,
        }));
    }
    finding.charts = vec![
        Chart::bars("Queries a second", "what", Axis::log("queries_a_second", "queries a second")),
        Chart::bars("Queries a joule", "what", Axis::log("queries_a_joule", "queries a joule")),
        Chart::bars("Queries a second of CPU time", "what", Axis::log("queries_a_cpu_second", "queries a CPU-second")),
    ];
}
