//! FAWN-DHT, Figures 7 and 8: how long inserting takes, by the number of files that records are spread over.
//!
//! Ranges stand for the report's files: its store has a file for each, ours cuts them out of sorted segments.

use fawn_bench::experiments::Experiment;
use fawn_bench::peers::{PROGRAM, Peers};
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::sosp::bdb::{BUILD, TREE};
use crate::testbed::store;
use crate::testbed::store::Size;

/// The report's records: 1.8 GB of keys and values in seven million.
const VALUE_BYTES: usize = 237;
const RECORDS: f64 = 7e6;

/// What its rows are called.
const BERKELEY: &str = "BerkeleyDB";

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let size = Size {
        entries: run.pick(10_000, 600_000, 7_000_000),
        value_bytes: VALUE_BYTES,
        memory: run.pick(8 << 20, 16 << 20, 256 << 20),
    };
    let ranges = [1u64, 8, 32];
    let mut finding = Finding::of(&[
        ("what", "store", None),
        ("files", "files, or ranges", None),
        ("records", "records", Some(0)),
        ("seconds", "s", Some(2)),
        ("seconds_a_million", "s a million records", Some(3)),
        ("written_over_user", "bytes written a byte", Some(2)),
    ]);
    for (at, ranges) in ranges.into_iter().enumerate() {
        run.watch.progress(at as u64, 3, &format!("putting into {ranges} ranges"));
        let name = format!("ranges-{ranges}");
        let mut session = store::empty(run, &name, size)?;
        store::cut(&mut session, ranges)?;
        let before = session.driver.counts().written_bytes;
        let load = store::put_all(&mut session)?;
        let written = session.driver.counts().written_bytes - before;
        session.close()?;
        let path = run.dir.join(name);
        std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
        finding.row(json!({
            "what": "the store", "files": ranges, "records": size.entries, "seconds": load.settled.seconds,
            "seconds_a_million": load.settled.seconds * 1e6 / size.entries as f64,
            "written_over_user": written as f64 / size.bytes() as f64,
        }));
    }
    berkeley(run, size, &mut finding)?;
    for (what, seconds) in [(BERKELEY, [46_240.0, 11_867.0, 8_757.0]), ("the store", [578.0, 590.0, 596.0])] {
        for (files, seconds) in ranges.into_iter().zip(seconds) {
            finding.printed(json!({
                "what": what, "files": files, "records": RECORDS, "seconds": seconds,
                "seconds_a_million": seconds * 1e6 / RECORDS,
            }));
        }
    }
    size.tell(&mut finding);
    finding.charts = vec![
        Chart::lines(
            "Inserting by the number of files",
            Axis::log("files", "files, or ranges"),
            Axis::log("seconds_a_million", "seconds a million records"),
        )
        .by("what"),
    ];
    finding.note("times end when all records are on flash and the store has nothing left to do");
    Ok(finding)
}

/// `BerkeleyDB`'s row, or why there is none.
fn berkeley(run: &Run<'_>, size: Size, finding: &mut Finding) -> Result<(), Error> {
    let Some(program) = &run.tools.peers else {
        finding.note(format!(
            "BerkeleyDB was not measured: {PROGRAM} is not installed. To measure it beside the store: {BUILD}, and \
            --again"
        ));
        return Ok(());
    };
    let scale = run.pick(1, 4, 1);
    let peers = Peers { engines: Vec::new(), scale, program: program.clone() };
    let path = run.dir.join("berkeley");
    let report = match peers.measure(&size.setup(&path, 1), &Experiment::Load, TREE, run.watch) {
        Err(fawn_bench::Error::NoEngine { reason, .. }) => {
            finding.note(format!(
                "BerkeleyDB was not measured: {reason}. To measure it beside the store: {BUILD}, and --again"
            ));
            return Ok(());
        }
        done => done?,
    };
    std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
    let records = (size.entries / scale).max(1);
    for row in &report.rows {
        let figure = |name: &str| row.get(name).and_then(serde_json::Value::as_f64);
        let bytes = (size.bytes() / size.entries * records) as f64;
        let seconds = figure("settled_mb_a_second").map(|mb| bytes / 1e6 / mb);
        finding.row(json!({
            "what": BERKELEY, "files": 1, "records": records, "seconds": seconds,
            "seconds_a_million": seconds.map(|seconds| seconds * 1e6 / records as f64),
            "written_over_user": figure("written_over_user"),
        }));
    }
    finding.note(
        "BerkeleyDB is its B-tree here, in one file, because the report does not say which of its methods it used. \
        Its time with 8 and 32 files, each of which the report fills in turn, is not measured",
    );
    if scale > 1 {
        finding
            .note(format!("BerkeleyDB has {scale} times fewer records than the store, and {scale} times less memory"));
    }
    finding.notes.extend(report.notes.into_iter().map(|note| format!("{BERKELEY}: {note}")));
    Ok(())
}
