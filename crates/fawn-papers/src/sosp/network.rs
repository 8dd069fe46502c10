//! SOSP 2009, §4.2: what one node answers over the network, of what it answers locally.

use std::time::Duration;

use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, a_second};
use crate::testbed::store::{DEPTH, Size};
use crate::testbed::{served, store};

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(4 << 20, 128 << 20, 512 << 20);
    let size = Size::of_bytes(bytes, 256, run.pick(8 << 20, 16 << 20, 64 << 20));
    let time = run.pick(Duration::from_millis(150), Duration::from_millis(1500), Duration::from_secs(20));
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("gets_a_second", "gets/s", Some(0)),
        ("of_local", "of local gets", Some(2)),
        ("cpu_us_a_get", "CPU-us a get", Some(2)),
        ("from_dram", "share that DRAM answered", Some(3)),
    ]);
    let (mut session, _) = store::loaded(run, "local", size)?;
    store::gets(&mut session, DEPTH, time / 5)?;
    let local = store::gets(&mut session, DEPTH, time)?;
    session.close()?;
    let rate = local.a_second();
    finding.row(json!({
        "what": "local, 32 at a time", "gets_a_second": rate, "of_local": 1.0,
        "cpu_us_a_get": local.usage.cpu_us / local.gets.max(1) as f64, "from_dram": local.from_dram(),
    }));
    let keys = ServerKeys { count: size.entries, value_bytes: size.value_bytes };
    let (server, client, _) = served::start(run, keys, size.memory)?;
    for (what, depth) in [
        ("over the network, 32 connections with 1 request each", 1),
        ("over the network, 32 connections with 16 requests each", 16),
    ] {
        let work = ClientWork { depth, warm_up: time / 5, ..ClientWork::gets(time) };
        let (measured, from_dram) = client.run_telling_dram(&work, what)?;
        let answered = measured.stats.answered().max(1) as f64;
        finding.row(json!({
            "what": what, "gets_a_second": a_second(&measured), "of_local": a_second(&measured) / rate,
            "cpu_us_a_get": measured.server_cpu_us.map(|us| us / answered), "from_dram": from_dram,
        }));
    }
    server.stop()?;
    for (what, gets) in [("local", 2450.0), ("over the network", 1850.0)] {
        finding.printed(json!({ "what": what, "gets_a_second": gets, "of_local": gets / 2450.0 }));
    }
    size.tell(&mut finding);
    finding.parameter("seconds", time.as_secs_f64());
    finding.charts =
        vec![Chart::bars("Local and over the network", "what", Axis::log("gets_a_second", "gets a second"))];
    finding.note(
        "the paper prints 2,450 and 1,850 gets a second of 256 bytes of a store of 512 MB. It says that this is \
        about 70 %, but not how many are in flight. The client runs on the same machine, over its loopback, and \
        takes its part of the processors; CPU time is the server's alone",
    );
    Ok(finding)
}
