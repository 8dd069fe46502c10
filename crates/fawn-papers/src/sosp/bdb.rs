//! SOSP 2009, §4.1.2: putting new entries into `BerkeleyDB`, whose pages are written where they lie, beside the store's log.

use fawn_bench::experiments::Experiment;
use fawn_bench::peers::{PROGRAM, Peers};
use serde_json::{Value, json};

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store::Size;

/// How to get the program that measures `BerkeleyDB`.
pub const BUILD: &str = "`apt-get install libdb-dev gcc`, and `cargo build --release --manifest-path peers/Cargo.toml --target-dir \
                         target --no-default-features --features bdb`";

/// The engine that is its B-tree, which the paper found the better one.
pub const TREE: &str = "bdb-btree";
/// The one that is its hash.
const HASH: &str = "bdb";

/// The paper's entries, and their bytes with keys.
const ENTRIES: u64 = 7_000_000;
const ENTRY_BYTES: u64 = 200;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let Some(program) = &run.tools.peers else {
        return Ok(Finding::skipped(format!("BerkeleyDB is measured by {PROGRAM}, which is not installed: {BUILD}")));
    };
    // The paper's entries have 200 bytes, and its nodes 256 MB for 1.5 GB of them.
    let size = Size {
        entries: run.pick(5_000, 300_000, ENTRIES),
        value_bytes: 180,
        memory: run.pick(8 << 20, 12 << 20, 256 << 20),
    };
    let scale = run.pick(1, 3, 2);
    let engines = vec![TREE.to_owned(), HASH.to_owned()];
    let peers = Peers { engines, scale, program: program.clone() };
    let report = match peers.run(&size.setup(&run.dir.join("store"), 1), &Experiment::Load, run.watch) {
        Err(fawn_bench::Error::NoEngine { engine, reason }) => {
            return Ok(Finding::skipped(format!("{engine}: {reason}; to build {PROGRAM}: {BUILD}")));
        }
        done => done?,
    };
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
        let what = match figure("engine").as_str() {
            Some(TREE) => "BerkeleyDB, B-tree",
            Some(HASH) => "BerkeleyDB, hash",
            _ => "the store",
        };
        finding.row(json!({
            "what": what, "entries": figure("entries"), "seconds": figure("seconds"),
            "mb_a_second": figure("user_mb_a_second"), "settled_mb_a_second": figure("settled_mb_a_second"),
            "written_over_user": figure("written_over_user"), "cpu_us_a_put": figure("cpu_us_a_put"),
        }));
    }
    let (of_tree, of_hash) = (6.0 * 3600.0, 27.0 * 3600.0);
    let derived = (ENTRIES * ENTRY_BYTES) as f64 / of_hash / 1e6;
    for (what, entries, seconds, mb) in [
        ("BerkeleyDB, B-tree", ENTRIES, Some(of_tree), 0.07),
        ("BerkeleyDB, hash", ENTRIES, Some(of_hash), derived),
        ("the store", 2_000_000, None, 23.2 * 1.048_576),
    ] {
        finding.printed(json!({ "what": what, "entries": entries, "seconds": seconds, "mb_a_second": mb }));
    }
    size.tell(&mut finding);
    finding.parameter("berkeleydb_scale", scale);
    finding.charts =
        vec![Chart::bars("Rate of inserting", "what", Axis::log("mb_a_second", "MB/s of keys and values"))];
    finding.note(
        "the paper prints 0.07 MB/s of the B-tree, and of the hash only the hours: its rate is derived here, 7 \
        million entries of 200 bytes over 27 hours. Its rate of the store is of entries of 1 KB. For BerkeleyDB's \
        settings here, see papers/peers in the book",
    );
    if scale > 1 {
        finding.note(format!(
            "BerkeleyDB has {scale} times fewer entries than the store, and {scale} times less memory, so the ratio \
            of data to memory is the same: nearly every put reads a page and writes one. As many entries as the \
            store's, twice, would take too long on a disk of 10,000 random writes per second"
        ));
    }
    // The store's own are of what this table does not have.
    let of_engines = |note: &String| [TREE, HASH].iter().any(|engine| note.starts_with(&format!("{engine}: ")));
    finding.notes.extend(report.notes.into_iter().filter(of_engines));
    Ok(finding)
}
