//! FAWN-DHT, Figure 10: gets a second of a cluster by how few keys get most of them, with and without front-ends' caches.

use std::time::Duration;

use fawn_loadgen::{Distribution, HotKeys};
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, TestbedClient, a_second};
use crate::testbed::cluster::{ClusterShape, TestbedCluster, shape, size};

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let count: u64 = run.pick(2_000, 100_000, 4_000_000);
    let time = run.pick(Duration::from_millis(150), Duration::from_millis(1200), Duration::from_secs(15));
    let biases = run.pick(
        vec![0.5, 0.99, 1.0],
        vec![0.5, 0.8, 0.9, 0.99, 0.999, 0.9999, 1.0],
        vec![0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999, 0.9999, 0.999_99, 1.0],
    );
    let mut finding = Finding::of(&[
        ("what", "front-ends", None),
        ("bias", "bias", Some(5)),
        ("popular_keys", "popular keys", Some(0)),
        ("gets_a_second", "gets/s", Some(0)),
        ("cpu_us_a_get", "CPU-us a get, all nodes", Some(2)),
    ]);
    let shape = shape(run, 1);
    for (what, cache) in [("with a cache", 64 << 20), ("without", 0)] {
        let shape = ClusterShape { cache, ..shape };
        let cluster = TestbedCluster::start(run, &format!("cluster-{cache}"), shape)?;
        let keys = ServerKeys { count, value_bytes: 256 };
        let (client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
        for bias in &biases {
            let hot = ((1.0 - bias) * count as f64).round().max(1.0);
            let distribution = Distribution::Hot { keys: HotKeys::Count(hot as u64), share: *bias };
            let work = ClientWork { depth: 4, distribution, warm_up: time / 3, ..ClientWork::gets(time) };
            let measured = client.run(&work, "gets")?;
            let answered = measured.stats.answered().max(1) as f64;
            finding.row(json!({
                "what": what, "bias": bias, "popular_keys": hot, "gets_a_second": a_second(&measured),
                "cpu_us_a_get": measured.server_cpu_us.map(|us| us / answered),
            }));
        }
        drop(client);
        cluster.stop()?;
        shape.tell(&mut finding);
    }
    finding.parameter("keys", count);
    finding.parameter("cache_bytes_a_front_end", "64 MiB, 0");
    ClientWork { depth: 4, ..ClientWork::gets(time) }.tell(&mut finding);
    finding.charts = vec![
        Chart::lines(
            "Gets by the number of popular keys",
            Axis::log("popular_keys", "popular keys, which get the share `bias` of all gets"),
            Axis::linear("gets_a_second", "gets a second"),
        )
        .by("what"),
    ];
    finding.note(format!(
        "at a bias of 99 %, 1 % of the keys get 99 % of the gets; at 100 %, one key gets all. The report draws this \
        figure without numbers: the rate rises with the bias. Without a front-end's cache it falls, as few keys are \
        left, to the rate at which one node serves from memory. Here there are {}, on one machine with the client, \
        where the report has 8 machines. Every node is a front-end, and gets of a key join one that is in flight, \
        so few keys cost little even without a cache",
        size(shape, count * 276)
    ));
    Ok(finding)
}
