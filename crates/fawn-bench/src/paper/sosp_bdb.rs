//! SOSP 2009, §4.1.2: putting new entries into `BerkeleyDB`, whose pages are written where they lie, beside the store's log.

use serde_json::{Value, json};

use super::finding::{Axis, Chart, Finding};
use super::run::Run;
use super::store::Size;
use crate::error::Error;
use crate::experiments::Experiment;
use crate::peers::{PROGRAM, Peers};

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let Some(program) = &run.tools.peers else {
        return Ok(Finding::skipped(format!(
            "BerkeleyDB is measured by {PROGRAM}, which is not installed: `apt-get install libdb-dev gcc`, and `cargo build \
             --release --manifest-path peers/Cargo.toml --target-dir target --no-default-features --features bdb`"
        )));
    };
    // The paper's entries have 200 bytes, and its nodes 256 MB for 1.5 GB of them.
    let size = Size {
        entries: run.pick(5_000, 300_000, 7_000_000),
        value_bytes: 180,
        memory: run.pick(8 << 20, 12 << 20, 256 << 20),
    };
    let peers = Peers { engines: vec!["bdb".to_owned()], scale: 1, program: program.clone() };
    let report = peers.run(&size.setup(&run.dir.join("store"), 1), &Experiment::Load, run.watch)?;
    let mut finding = Finding::of(&[
        ("what", "store", None),
        ("entries", "entries", Some(0)),
        ("seconds", "s", Some(1)),
        ("mb_a_second", "MB/s", Some(3)),
        ("settled_mb_a_second", "MB/s until all is on flash", Some(3)),
        ("written_over_user", "bytes written a byte", Some(2)),
        ("cpu_us_a_put", "CPU-us a put", Some(2)),
    ]);
    for row in &report.rows {
        let figure = |name: &str| row.get(name).cloned().unwrap_or(Value::Null);
        let seconds = figure("user_mb_a_second").as_f64().map(|mb| size.bytes() as f64 / 1e6 / mb);
        let engine = figure("engine");
        let what = if engine == "bdb" { json!("BerkeleyDB, hash") } else { json!("the store") };
        finding.row(json!({
            "what": what, "entries": size.entries, "seconds": seconds,
            "mb_a_second": figure("user_mb_a_second"), "settled_mb_a_second": figure("settled_mb_a_second"),
            "written_over_user": figure("written_over_user"), "cpu_us_a_put": figure("cpu_us_a_put"),
        }));
    }
    let hours = 3600.0;
    for (what, entries, seconds, mb) in [
        ("BerkeleyDB, B-tree", 7_000_000, Some(6.0 * hours), Some(0.07)),
        ("BerkeleyDB, hash", 7_000_000, Some(27.0 * hours), None),
        ("the store", 2_000_000, None, Some(23.2 * 1.048_576)),
    ] {
        finding.printed(json!({ "what": what, "entries": entries, "seconds": seconds, "mb_a_second": mb }));
    }
    size.tell(&mut finding);
    finding.charts =
        vec![Chart::bars("Rate of inserting", "what", Axis::log("mb_a_second", "MB/s of keys and values"))];
    finding
        .note("the paper's rate of the store is of entries of 1 KB; docs/peers.md tells what BerkeleyDB is given here");
    finding.notes.extend(report.notes);
    Ok(finding)
}
