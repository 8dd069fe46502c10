//! SOSP 2009, Table 2: random gets of one node without a network, by the size of the store.

use std::time::Duration;

use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::store;
use crate::testbed::store::{DEPTH, Size};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The paper's sizes, in bytes.
const FULL: [u64; 8] = [10 * KIB, 125 * MIB, 250 * MIB, 500 * MIB, 1024 * MIB, 2048 * MIB, 3584 * MIB, 16 * 1024 * MIB];

/// What the paper prints: bytes of the store, gets a second of 1 KB and of 256 B.
const PRINTED: [(u64, u64, u64); 7] = [
    (10 * KIB, 72_352, 85_012),
    (125 * MIB, 51_968, 65_412),
    (250 * MIB, 6_824, 5_902),
    (500 * MIB, 2_016, 2_449),
    (1024 * MIB, 1_595, 1_964),
    (2048 * MIB, 1_446, 1_613),
    (3584 * MIB, 1_150, 1_298),
];

/// A cache is warm when its share of the gets grows by less than this from one quarter of a measurement to the next.
const STEADY: f64 = 0.005;
/// Quarters of a measurement that it is warmed up for at most.
const MOST_WARM_UPS: usize = 40;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let sizes =
        run.pick(vec![10 * KIB, MIB], vec![10 * KIB, MIB, 8 * MIB, 32 * MIB, 96 * MIB, 256 * MIB], FULL.to_vec());
    // The paper's nodes have 256 MB, of which the page cache takes what is free.
    let memory = run.pick(8 * MIB, 32 * MIB, 256 * MIB);
    let time = run.pick(Duration::from_millis(50), Duration::from_millis(600), Duration::from_secs(10));
    let mut finding = Finding::of(&[
        ("values", "values", None),
        ("store_mib", "store, MiB", Some(2)),
        ("gets_a_second", "gets/s, 32 at a time", Some(0)),
        ("gets_a_second_alone", "gets/s, one at a time", Some(0)),
        ("from_dram", "share that DRAM answered", Some(3)),
        ("reads_a_get", "reads of flash a get", Some(4)),
        ("cpu_us_a_get", "CPU-us a get", Some(2)),
    ]);
    let total = 2 * sizes.len() as u64;
    for (row, value_bytes) in [1024usize, 256].into_iter().enumerate() {
        for (column, bytes) in sizes.iter().enumerate() {
            let done = (row * sizes.len() + column) as u64;
            run.watch.progress(done, total, &format!("{value_bytes} B, {} MiB", bytes / MIB));
            finding.row(cell(run, Size::of_bytes(*bytes, value_bytes, memory), time)?);
        }
    }
    for (bytes, of_1024, of_256) in PRINTED {
        for (value_bytes, gets) in [(1024, of_1024), (256, of_256)] {
            finding.printed(json!({
                "values": name(value_bytes), "store_mib": bytes as f64 / MIB as f64, "gets_a_second_alone": gets,
                "gets_a_second": gets,
            }));
        }
    }
    finding.parameter("memory_bytes", memory);
    finding.parameter("seconds", time.as_secs_f64());
    finding.charts = vec![
        Chart::lines(
            "Random gets by the size of the store",
            Axis::log("store_mib", "MiB of keys and values"),
            Axis::log("gets_a_second", "gets a second"),
        )
        .by("values"),
    ];
    finding.note(
        "small stores are answered from DRAM, by unsealed records and by the record cache; the memory of the store \
        stands for the DRAM of the paper's nodes. The paper's client asks one at a time, of a store that it calls, \
        so its row is in both columns; an event loop keeps as many gets in flight as it has clients",
    );
    Ok(finding)
}

fn name(value_bytes: usize) -> String {
    if value_bytes == 1024 { "1 KB".to_owned() } else { format!("{value_bytes} B") }
}

fn cell(run: &Run<'_>, size: Size, time: Duration) -> Result<serde_json::Value, Error> {
    let dir = format!("store-{}-{}", size.value_bytes, size.entries);
    let (mut session, _) = store::loaded(run, &dir, size)?;
    // What was read lately is what a store in use has in its cache: gets, until it answers no larger share of them.
    let mut share = 0.0;
    for _ in 0..MOST_WARM_UPS {
        let before = std::mem::replace(&mut share, store::gets(&mut session, DEPTH, time / 4)?.from_dram());
        if share < before + STEADY {
            break;
        }
    }
    let gets = store::gets(&mut session, DEPTH, time)?;
    let alone = store::gets(&mut session, 1, time / 2)?;
    session.close()?;
    let path = run.dir.join(dir);
    std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
    let from_flash = gets.gets - gets.from_dram;
    Ok(json!({
        "values": name(size.value_bytes),
        "store_mib": size.bytes() as f64 / MIB as f64,
        "gets_a_second": gets.a_second(),
        "gets_a_second_alone": alone.a_second(),
        "from_dram": gets.from_dram(),
        "reads_a_get": (from_flash > 0).then(|| gets.usage.counts.reads as f64 / from_flash as f64),
        "cpu_us_a_get": gets.usage.cpu_us / gets.gets.max(1) as f64,
    }))
}
