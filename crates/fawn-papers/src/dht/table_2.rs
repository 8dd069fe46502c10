//! FAWN-DHT, Table 2: queries a joule of one node that answers gets over the network; memcached, which has its values in DRAM,
//! beside.

use std::time::Duration;

use fawn_report::amount::number;
use serde_json::json;

use crate::efficiency::{COLUMNS, OperationCost, note};
use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;
use crate::sosp::table_3::printed;
use crate::testbed::client::{ClientWork, ServerKeys, TestbedClient};
use crate::testbed::machine::MachineInfo;
use crate::testbed::peer;
use crate::testbed::served;
use crate::testbed::served::memcached_bytes;
use crate::testbed::servers::output;

/// What the report prints: system, queries a second, watts, queries a joule.
const PRINTED: [(&str, f64, f64, f64); 8] = [
    ("Alix", 704.0, 6.0, 117.0),
    ("Soekris", 334.0, 3.75, 89.0),
    ("8 Soekris", 2431.0, 30.0, 81.0),
    ("Desktop, SSD", 2728.0, 80.0, 34.0),
    ("Gumstix", 50.0, 2.0, 25.0),
    ("MacBook Pro, disk", 53.0, 29.0, 1.8),
    ("Desktop, disk", 160.0, 87.0, 1.8),
    ("Server, 15 disks", 600.0, 400.0, 1.2),
];

/// Requests in flight on each of 32 connections.
const DEPTHS: [usize; 2] = [1, 16];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = measure(run, 256)?;
    memcached(run, &keys(run, 256), &mut finding)?;
    note(&mut finding, run);
    printed(&mut finding, &PRINTED);
    finding
        .note("the report's 1.2 queries a joule of the server do not follow from its 600 queries a second and 400 W");
    Ok(finding)
}

/// Gets of values of this size from the flash of a node, over the network. What metered them is to be noted.
///
/// # Errors
/// [`Error`].
pub fn measure(run: &Run<'_>, value_bytes: usize) -> Result<Finding, Error> {
    let memory = run.pick(8 << 20, 16 << 20, 256 << 20);
    let keys = keys(run, value_bytes);
    let mut finding = Finding::of(COLUMNS);
    finding.parameter("keys", keys.count);
    finding.parameter("value_bytes", value_bytes);
    finding.parameter("memory_bytes", memory);
    let (server, client, _) = served::start(run, keys, memory)?;
    let names = ["this machine, 32 connections", "this machine, 32 connections with 16 requests each"];
    gets(run, &client, names, &mut finding)?;
    server.stop()?;
    finding.parameter("seconds", time(run).as_secs_f64());
    finding.note(
        "the client runs on the same machine, over its loopback: CPU time is the server's alone, and the \
        rate is what both together reach",
    );
    Ok(finding)
}

fn keys(run: &Run<'_>, value_bytes: usize) -> ServerKeys {
    let bytes: u64 = run.pick(4 << 20, 128 << 20, 3_584 << 20);
    ServerKeys { count: bytes / (value_bytes + 20) as u64, value_bytes }
}

fn time(run: &Run<'_>) -> Duration {
    run.pick(Duration::from_millis(200), Duration::from_millis(1500), Duration::from_secs(30))
}

/// A row of gets at each depth.
fn gets(
    run: &Run<'_>,
    client: &TestbedClient<'_>,
    names: [&'static str; 2],
    finding: &mut Finding,
) -> Result<(), Error> {
    let time = time(run);
    for (what, depth) in names.into_iter().zip(DEPTHS) {
        let work = ClientWork { depth, warm_up: time / 5, ..ClientWork::gets(time) };
        let (measured, from_dram) = client.run_telling_dram(&work, what)?;
        let mut row = OperationCost::from(&measured).row(what);
        row["from_dram"] = json!(from_dram);
        finding.row(row);
    }
    Ok(())
}

/// memcached's rows by the same load, or why there are none.
fn memcached(run: &Run<'_>, all: &ServerKeys, finding: &mut Finding) -> Result<(), Error> {
    let Some(program) = peer::find("memcached", std::env::var_os("PATH").as_deref()) else {
        finding.note(
            "memcached was not measured: it is not in PATH. To measure it beside the node: `apt-get install \
            memcached`, and --again",
        );
        return Ok(());
    };
    let keys = ServerKeys { count: fitting(all, MachineInfo::here(&run.dir).dram_bytes), value_bytes: all.value_bytes };
    let version = output(&program, &["-V"])?;
    finding.note(format!(
        "{} has one worker and all values in DRAM, and the same client asks it in the same way; the node has its \
        values on flash",
        version.trim()
    ));
    if keys.count < all.count {
        finding.note(format!(
            "memcached has {} keys, as many as fit into a quarter of this machine's DRAM, where the node has {}",
            number(keys.count as f64, 0),
            number(all.count as f64, 0)
        ));
    }
    finding.parameter("memcached_keys", keys.count);
    let (server, client, _) = served::start_memcached(run, &program, keys)?;
    gets(run, &client, ["memcached, values in DRAM", "memcached, values in DRAM, 16 requests each"], finding)?;
    server.stop()
}

/// How many of these keys memcached is given: as many as fit into a quarter of so much DRAM, if that is known, and one at least.
fn fitting(all: &ServerKeys, dram_bytes: Option<u64>) -> u64 {
    let most = dram_bytes.map_or(u64::MAX, |bytes| bytes / 4 / memcached_bytes(all.value_bytes));
    all.count.min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memcached_is_given_what_fits_into_a_quarter_of_the_memory() {
        let all = ServerKeys { count: 13_616_291, value_bytes: 256 };
        assert_eq!(fitting(&all, Some(64 << 30)), all.count);
        let fewer = fitting(&all, Some(8 << 30));
        assert!((4_000_000..6_000_000).contains(&fewer), "{fewer}");
        assert!(fewer * memcached_bytes(256) <= 2 << 30);
        assert_eq!((fitting(&all, None), fitting(&all, Some(0))), (all.count, 1));
    }
}
