//! SOSP 2009, Figure 9: "semi-random" writes: appending to more and more files in turn.
//!
//! The paper's store has a file for each range of keys, so that puts append to several of them. Ours has one log, and cuts ranges
//! out of files that are ordered by hash; so both are measured: what the device makes of appends to many files, and what the
//! store makes of puts into as many ranges.

use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::raw::{Raw, append_in_turn};
use crate::testbed::store;
use crate::testbed::store::Size;

/// Pages of a piece: 64 KiB.
const PIECE: usize = 16;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 64 << 20, 2 << 30);
    let files = run.pick(vec![1, 8], vec![1, 4, 16, 64, 256], vec![1, 2, 4, 8, 16, 32, 64, 128, 256]);
    let ranges = run.pick(vec![1, 8], vec![1, 8, 32], vec![1, 2, 4, 8, 16, 32, 64]);
    let memory = run.pick(8 << 20, 32 << 20, 256 << 20);
    let mut finding =
        Finding::of(&[("what", "what", None), ("files", "files, or ranges", None), ("mb_a_second", "MB/s", Some(1))]);
    let total = (files.len() + ranges.len()) as u64;
    for (at, files) in files.iter().enumerate() {
        run.watch.progress(at as u64, total, &format!("appending to {files} files"));
        let rate = appended(run, *files, bytes)?;
        finding.row(json!({ "what": "appends of 64 KiB to files in turn", "files": files, "mb_a_second": rate / 1e6 }));
    }
    for (at, ranges) in ranges.iter().enumerate() {
        run.watch.progress((files.len() + at) as u64, total, &format!("puts into {ranges} ranges"));
        let size = Size::of_bytes(bytes, 1024, memory);
        let name = format!("ranges-{ranges}");
        let mut session = store::empty(run, &name, size)?;
        store::cut(&mut session, *ranges)?;
        let load = store::put_all(&mut session)?;
        session.close()?;
        let path = run.dir.join(name);
        std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
        let rate = size.bytes() as f64 / load.settled.seconds;
        finding.row(json!({ "what": "puts into ranges of one store", "files": ranges, "mb_a_second": rate / 1e6 }));
    }
    finding.parameter("bytes", bytes);
    finding.parameter("memory_bytes", memory);
    finding.charts = vec![
        Chart::lines(
            "Writes by the number of files",
            Axis::log("files", "files, or ranges of the store"),
            Axis::linear("mb_a_second", "MB/s"),
        )
        .by("what"),
    ];
    finding.note(
        "the paper draws this figure without numbers, for five devices of 2008: CompactFlash and two of the SSDs \
        slow down as files grow more, the two of Intel do not up to 256. Files are written past the page cache if \
        the file system allows it, and synced at the end; puts are of 1 KB values, until all of them are on flash",
    );
    Ok(finding)
}

/// Bytes a second of appending to so many files.
fn appended(run: &Run<'_>, count: u64, bytes: u64) -> Result<f64, Error> {
    let paths: Vec<_> = (0..count).map(|number| run.dir.join(format!("file-{number}"))).collect();
    let files = paths.iter().map(|path| Raw::create(path)).collect::<Result<Vec<_>, _>>()?;
    let rate = append_in_turn(&files, bytes, PIECE)?;
    drop(files);
    for path in &paths {
        std::fs::remove_file(path).map_err(Error::io(path))?;
    }
    Ok(rate)
}
