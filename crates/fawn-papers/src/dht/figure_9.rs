//! FAWN-DHT, Figure 9: how long a split and a merge of ranges take, by the size of the store.

use fawn_report::latency::median;
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store;
use crate::testbed::store::Size;

const MIB: u64 = 1 << 20;

/// Splits and merges of each store, of which the medians are told.
const ROUNDS: u64 = 3;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let sizes = run.pick(vec![2, 4], vec![8, 32, 128, 256], vec![16, 32, 64, 128, 256, 512, 1024, 4096]);
    let memory = run.pick(8 * MIB, 16 * MIB, 64 * MIB);
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("store_mib", "store, MiB", None),
        ("seconds", "s", Some(5)),
        ("written_bytes", "bytes written, split and merge", Some(0)),
    ]);
    for (at, mib) in sizes.iter().enumerate() {
        run.watch.progress(at as u64, sizes.len() as u64, &format!("{mib} MiB"));
        let name = format!("store-{mib}");
        let (mut session, _) = store::loaded(run, &name, Size::of_bytes(mib * MIB, 256, memory))?;
        let (mut splits, mut merges, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            session.settle()?;
            // In two halves, but not twice at one place: there would be nothing left to cut.
            let middle = store::part((1 << 20) + round, 2 << 20);
            let before = session.driver.counts().written_bytes;
            splits.push(store::split(&mut session, middle)?.as_secs_f64());
            merges.push(store::merge(&mut session, middle)?.as_secs_f64());
            session.settle()?;
            written.push((session.driver.counts().written_bytes - before) as f64);
        }
        session.close()?;
        let path = run.dir.join(name);
        std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
        for (what, times) in [("split into two halves", splits), ("merge of two halves", merges)] {
            finding.row(json!({
                "what": what, "store_mib": mib, "seconds": median(times), "written_bytes": median(written.clone()),
            }));
        }
    }
    for (what, mib, seconds) in
        [("BerkeleyDB, split and merge", 128, 840.0), ("split or merge, less than", 1024, 600.0)]
    {
        finding.printed(json!({ "what": what, "store_mib": mib, "seconds": seconds }));
    }
    finding.parameter("value_bytes", 256);
    finding.parameter("memory_bytes", memory);
    finding.parameter("rounds", ROUNDS);
    finding.charts = vec![
        Chart::lines(
            "Splits and merges by the size of the store",
            Axis::log("store_mib", "MiB of keys and values"),
            Axis::log("seconds", "seconds"),
        )
        .by("what"),
    ];
    finding.note(
        "the report draws two lines without numbers, and prints 840 s for BerkeleyDB with 128 MB and less than 10 \
        minutes for 1 GB. Its splits and merges copy a file; here they split and join the references to sorted \
        records, at rest",
    );
    Ok(finding)
}
