//! SOSP 2009, §4.3: how long puts take with one copy and with three, alone and beside gets.

use std::time::Duration;

use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, TestbedClient};
use crate::testbed::cluster::{TestbedCluster, shape, size};

/// Shares of all puts whose latency is drawn.
const SHARES: [f64; 9] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];

/// Puts of all operations where gets come beside: a put to six gets, as the paper has it of caches.
const MIXED: f64 = 1.0 / 7.0;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let count = run.pick(2_000, 50_000, 1_000_000);
    let time = run.pick(Duration::from_millis(200), Duration::from_secs(2), Duration::from_secs(30));
    let mut finding =
        Finding::of(&[("what", "puts", None), ("share", "share of puts", Some(4)), ("us", "us", Some(0))]);
    for replicas in [1, 3] {
        let shape = shape(run, replicas);
        let cluster = TestbedCluster::start(run, &format!("cluster-{replicas}"), shape)?;
        let keys = ServerKeys { count, value_bytes: 256 };
        let (client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
        for (who, connections) in [("one client", 1), ("32 clients", 32)] {
            for (beside, puts) in [("", 1.0), (", with six gets to a put", MIXED)] {
                let work = ClientWork { connections, depth: 1, puts, ..ClientWork::gets(time) };
                let measured = client.run(&work, "puts")?;
                let (what, puts) = (format!("{}, {who}{beside}", name(replicas)), measured.stats.sets());
                for share in SHARES {
                    finding.row(json!({ "what": what, "share": share, "us": puts.latencies.us(share) }));
                }
            }
        }
        drop(client);
        cluster.stop()?;
        shape.tell(&mut finding);
    }
    for (replicas, share, us) in [(1, 0.5, 500.0), (1, 0.999, 24_500.0), (3, 0.5, 1_580.0), (3, 0.999, 30_000.0)] {
        finding.printed(json!({ "what": format!("{}, one client", name(replicas)), "share": share, "us": us }));
    }
    finding.parameter("keys", count);
    finding.parameter("seconds", time.as_secs_f64());
    finding.parameter("replicas", "1, 3");
    finding.charts = vec![
        Chart::lines("Latency of puts", Axis::log("us", "microseconds"), Axis::linear("share", "share of puts"))
            .by("what"),
    ];
    finding.note(format!(
        "a put is answered when all of its copies are synced; the paper's are not synced. Here there are {}, where \
        the paper has 21 nodes: with three copies three nodes, three logs and the clients share this machine. The \
        paper says that with concurrent gets the 99.9th percentile rose significantly, and prints no number",
        size(shape(run, 1), count * 276)
    ));
    Ok(finding)
}

fn name(replicas: u32) -> &'static str {
    if replicas == 1 { "one copy" } else { "three copies" }
}
