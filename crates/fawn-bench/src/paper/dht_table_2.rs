//! FAWN-DHT, Table 2: queries a joule of one node that answers gets over the network.

use std::time::Duration;

use super::client::{Keys, Work};
use super::efficiency::{COLUMNS, Taken, note};
use super::finding::Finding;
use super::run::Run;
use super::served;
use super::sosp_table_3::printed;
use crate::error::Error;

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

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let mut finding = measure(run, 256)?;
    printed(&mut finding, &PRINTED);
    finding
        .note("the report's 1.2 queries a joule of the server do not follow from its 600 queries a second and 400 W");
    Ok(finding)
}

/// Gets of values of this size from the flash of a node, over the network.
///
/// # Errors
/// [`Error`].
pub fn measure(run: &Run<'_>, value_bytes: usize) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 128 << 20, 3_584 << 20);
    let memory = run.pick(8 << 20, 16 << 20, 256 << 20);
    let time = run.pick(Duration::from_millis(200), Duration::from_millis(1500), Duration::from_secs(30));
    let keys = Keys { count: bytes / (value_bytes + 20) as u64, value_bytes };
    let mut finding = Finding::of(COLUMNS);
    finding.parameter("keys", keys.count);
    finding.parameter("value_bytes", value_bytes);
    finding.parameter("memory_bytes", memory);
    let (server, client, _) = served::start(run, keys, memory)?;
    for (what, depth) in
        [("this machine, 32 connections", 1), ("this machine, 32 connections with 16 requests each", 16)]
    {
        let work = Work { depth, ..Work::gets(time) };
        let measured = client.run(&Work { warm_up: time / 5, ..work }, what)?;
        finding.row(Taken::from(&measured).row(what));
    }
    server.stop()?;
    finding.parameter("seconds", time.as_secs_f64());
    note(&mut finding, run);
    finding.note("the client runs on the same machine, over its loopback: CPU time is the server's alone, the rate is what both leave");
    Ok(finding)
}
