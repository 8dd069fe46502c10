//! SOSP 2009, Figure 11: gets a second of a cluster by time, with values of 1 KB and of 256 bytes and without front-ends' caches.

use std::time::Duration;

use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, TestbedClient, a_second, by_time};
use crate::testbed::cluster::{TestbedCluster, shape, size};

/// Gets of the paper's cluster of 21 nodes.
const PRINTED: [(&str, f64); 2] = [("1 KB", 24_000.0), ("256 B", 36_000.0)];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(2 << 20, 48 << 20, 4 << 30);
    let time = run.pick(Duration::from_millis(700), Duration::from_secs(3), Duration::from_mins(1));
    let mut finding =
        Finding::of(&[("values", "values", None), ("seconds", "s", Some(1)), ("gets_a_second", "gets/s", Some(0))]);
    let shape = shape(run, 1);
    let work = ClientWork { depth: 4, ..ClientWork::gets(time) };
    for (name, value_bytes) in [("1 KB", 1024), ("256 B", 256)] {
        let cluster = TestbedCluster::start(run, &format!("cluster-{value_bytes}"), shape)?;
        let keys = ServerKeys { count: bytes / (value_bytes + 20) as u64, value_bytes };
        let (client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
        let measured = client.run(&ClientWork { warm_up: Duration::ZERO, ..work }, "gets")?;
        drop(client);
        cluster.stop()?;
        for (seconds, rate) in by_time(&measured) {
            finding.row(json!({ "values": name, "seconds": seconds, "gets_a_second": rate }));
        }
        finding.note(format!("{name}: {:.0} gets a second on the average", a_second(&measured)));
        if let Some(us) = measured.server_cpu_us {
            let each = us / measured.stats.answered().max(1) as f64;
            finding.note(format!("{name}: {each:.1} CPU-us a get, of all nodes together"));
        }
    }
    for (name, rate) in PRINTED {
        for seconds in [0.0, time.as_secs_f64()] {
            finding.printed(json!({ "values": name, "seconds": seconds, "gets_a_second": rate }));
        }
    }
    shape.tell(&mut finding);
    work.tell(&mut finding);
    finding.parameter("bytes", bytes);
    finding.charts = vec![
        Chart::lines(
            "Gets of a cluster by time",
            Axis::linear("seconds", "seconds"),
            Axis::log("gets_a_second", "gets a second"),
        )
        .by("values"),
    ];
    finding.note(format!(
        "the paper's cluster has 21 nodes and 20 GB, and a separate machine for the client; here there are {}, and \
        all nodes and the client share this machine. The paper prints an average, which is drawn over the whole \
        time. For queries per joule, or per second of CPU time, see sosp-figure-12",
        size(shape, bytes)
    ));
    Ok(finding)
}
