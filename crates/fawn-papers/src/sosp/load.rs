//! SOSP 2009, §5.1: queries a joule of one node as its load falls from the highest.

use std::time::Duration;

use serde_json::json;

use crate::efficiency::{COLUMNS, OperationCost, note};
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, a_second};
use crate::testbed::served;

/// Loads, in percent of the highest.
const PERCENTS: [u32; 5] = [10, 25, 50, 75, 90];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 64 << 20, 3_584 << 20);
    let memory = run.pick(8 << 20, 16 << 20, 256 << 20);
    let time = run.pick(Duration::from_millis(200), Duration::from_millis(1500), Duration::from_secs(30));
    let keys = ServerKeys { count: bytes / 276, value_bytes: 256 };
    let (what, taken) = COLUMNS.split_first().expect("it has columns");
    let mut columns = vec![*what, ("load_share", "load", Some(2))];
    columns.extend(taken);
    columns.extend([("p50_us", "p50 us", Some(0)), ("p99_us", "p99 us", Some(0))]);
    columns.extend([("due_a_second", "due/s", Some(0)), ("unsent", "due and not sent", Some(0))]);
    let mut finding = Finding::of(&columns);
    finding.parameter("keys", keys.count);
    finding.parameter("value_bytes", 256);
    finding.parameter("memory_bytes", memory);
    let (server, client, _) = served::start(run, keys, memory)?;
    let work = ClientWork { depth: 4, ..ClientWork::gets(time) };
    let highest = a_second(&client.run(&work, "the highest load")?);
    finding.parameter("queries_a_second_at_the_highest_load", highest);
    let loads = PERCENTS.iter().map(|percent| (f64::from(*percent) / 100.0, Some(*percent)));
    for (share, percent) in loads.chain([(1.0, None)]) {
        let work = ClientWork { rate: percent.map(|_| highest * share), warm_up: Duration::ZERO, ..work };
        let (measured, from_dram) = client.run_telling_dram(&work, "gets at a pace")?;
        let mut row = OperationCost::from(&measured).row("this machine");
        let latencies = measured.stats.gets().latencies;
        row["load_share"] = share.into();
        row["from_dram"] = json!(from_dram);
        row["due_a_second"] = json!(work.rate);
        row["unsent"] = json!(work.rate.map(|_| measured.stats.unsent));
        row["p50_us"] = latencies.us(0.5).into();
        row["p99_us"] = latencies.us(0.99).into();
        finding.row(row);
    }
    server.stop()?;
    work.tell(&mut finding);
    for (what, queries, watts, a_joule) in [
        ("Desktop with SSD", Some(4289.0), Some(83.0), 52.0),
        ("FAWN, fully populated", Some(1298.0), Some(3.75), 346.0),
        ("FAWN, three nodes and a switch", None, None, 240.0),
    ] {
        finding.printed(json!({
            "what": what, "load_share": 1.0, "queries_a_second": queries, "watts": watts, "queries_a_joule": a_joule,
        }));
    }
    let load = || Axis::linear("load_share", "share of the highest load");
    finding.charts = vec![
        Chart::lines("Queries a joule by load", load(), Axis::log("queries_a_joule", "queries a joule")).by("what"),
        Chart::lines(
            "Queries a CPU-second by load",
            load(),
            Axis::linear("queries_a_cpu_second", "queries a second of CPU time"),
        )
        .by("what"),
    ];
    note(&mut finding, run);
    finding.note(
        "shares are of the rate of an earlier run at the highest load (queries_a_second_at_the_highest_load): the \
        last row is another such run, and its rate may differ",
    );
    finding.note(
        "the paper prints the highest load alone, 64 W for the desktop at rest and 83 W busy. It says that queries \
        a joule fall drastically with the load. It prints neither rate nor watts of its 240 of three nodes with a \
        switch of 10 W. These follow from 1,700 queries a second and 3.75 W of each node",
    );
    Ok(finding)
}
