//! SOSP 2009, Table 1 and the lookup and bulk store speed of §4.1.1: what flash gives through the file system, and what the store
//! makes of it.

use std::time::Duration;

use fawn_bench::device::Segments;
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::raw::Raw;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

const KB: f64 = 1024.0;
const VALUE_BYTES: usize = 1024;

/// The row of writes that are on the device for certain at the end alone.
const RANDOM_WRITES: &str = "file: random writes, one sync at the end";

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(8 << 20, 256 << 20, 3_584 << 20);
    let memory = run.pick(8 << 20, 32 << 20, 256 << 20);
    let time = run.pick(Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(10));
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("mb_a_second", "MB/s", Some(1)),
        ("operations_a_second", "operations/s", Some(0)),
        ("transfer_bytes", "bytes each", None),
        ("depth", "at a time", None),
    ]);
    raw(run, &mut finding, bytes, time)?;
    let size = Size::of_bytes(bytes, VALUE_BYTES, memory);
    let (mut session, load) = store::loaded(run, "store", size)?;
    let segments = Segments::of(session.driver.path(), &run.dir.join("links"))?;
    for depth in [1, DEPTH] {
        run.watch.progress(3, 4, &format!("gets, {depth} at a time"));
        let device = segments.read(run.tools.device, session.driver.files(), depth, time)?;
        finding.row(json!({
            "what": format!("file: random reads, {depth} at a time"), "operations_a_second": device.reads_a_second,
            "transfer_bytes": 4096, "depth": depth,
        }));
        let gets = store::gets(&mut session, depth, time)?;
        finding.row(json!({
            "what": format!("store: random gets, {depth} at a time"), "operations_a_second": gets.a_second(),
            "transfer_bytes": VALUE_BYTES, "depth": depth,
        }));
    }
    for (what, usage) in
        [("store: puts of new keys", load.put), ("store: the same, until all is on flash", load.settled)]
    {
        finding.row(json!({
            "what": what, "mb_a_second": size.bytes() as f64 / usage.seconds / 1e6,
            "operations_a_second": size.entries as f64 / usage.seconds, "transfer_bytes": VALUE_BYTES,
        }));
    }
    size.tell(&mut finding);
    finding.parameter("file_bytes", bytes);
    finding.parameter("seconds", time.as_secs_f64());
    finding.parameter("device", run.tools.device.name());
    session.close()?;
    printed(&mut finding);
    finding.charts = vec![
        Chart::bars("Random operations", "what", Axis::log("operations_a_second", "operations a second")),
        Chart::bars("In order", "what", Axis::log("mb_a_second", "MB/s")),
    ];
    finding.note(
        "the paper's transfers are of 1 KB, through the page cache of a node with 256 MB. Here files are read and \
        written past the page cache if the file system allows it: in pages of 4 KiB, the smallest read of flash, or \
        in order by 1 MiB. Puts are acknowledged in memory, and durable when their segment is, as the paper's are \
        not synced either. Random writes are not synced one by one: their time includes one sync at the end, so the \
        device may keep them in its own buffers until then",
    );
    Ok(finding)
}

/// The file's rows.
fn raw(run: &Run<'_>, finding: &mut Finding, bytes: u64, time: Duration) -> Result<(), Error> {
    let path = run.dir.join("raw");
    let raw = Raw::create(&path)?;
    run.watch.progress(0, 4, "writing a file in order");
    let written = raw.write_in_order(bytes)?;
    run.watch.progress(1, 4, "reading it in order");
    let read = raw.read_in_order(bytes)?;
    for (what, rate) in [("file: writes in order", written), ("file: reads in order", read)] {
        finding.row(json!({ "what": what, "mb_a_second": rate / 1e6, "transfer_bytes": 1 << 20, "depth": 1 }));
    }
    run.watch.progress(2, 4, "random writes");
    let writes = raw.overwrite_at_random(bytes, time)?;
    finding.row(json!({
        "what": RANDOM_WRITES, "operations_a_second": writes, "transfer_bytes": 4096, "depth": 1,
    }));
    if !raw.is_direct {
        finding.note(
            "the file system does not bypass the page cache, which answers part of the reads and holds the writes \
            until the sync",
        );
    }
    drop(raw);
    std::fs::remove_file(&path).map_err(Error::io(&path))
}

fn printed(finding: &mut Finding) {
    let mb = |mb: f64| mb * KB * KB / 1e6;
    for (what, mb_a_second, operations) in [
        ("file: reads in order", Some(mb(28.5)), None),
        ("file: random reads, 1 at a time", None, Some(1424.0)),
        ("file: writes in order", Some(mb(24.0)), None),
        ("file: random writes, 1 at a time", None, Some(110.0)),
        ("store: random gets, 1 at a time", None, Some(1150.0)),
        ("store: puts of new keys", Some(mb(23.2)), Some(24_000.0)),
    ] {
        finding.printed(json!({
            "what": what, "mb_a_second": mb_a_second, "operations_a_second": operations, "transfer_bytes": 1024,
        }));
    }
}
