//! FAWN-DHT, Figure 6: gets a second by the number of nodes.

use std::time::Duration;

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
    let counts = run.pick(vec![1, 2], vec![1, 2, 4], vec![1, 2, 4, 8]);
    let bytes: u64 = run.pick(1 << 20, 24 << 20, 1 << 30);
    // All nodes together have as much, however many they are: more nodes are not to mean more DRAM.
    let memory: u64 = run.pick(16 << 20, 32 << 20, 256 << 20);
    let time = run.pick(Duration::from_millis(200), Duration::from_millis(1500), Duration::from_secs(20));
    let mut finding = Finding::of(&[
        ("what", "nodes of", None),
        ("nodes", "nodes", None),
        ("gets_a_second", "gets/s", Some(0)),
        ("cpu_us_a_get", "CPU-us a get, all nodes", Some(2)),
        ("from_dram", "share that DRAM answered", Some(3)),
    ]);
    let keys = ServerKeys { count: bytes / 276, value_bytes: 256 };
    let work = ClientWork { depth: 4, ..ClientWork::gets(time) };
    let mut largest = shape(run, 1);
    for nodes in counts {
        largest = ClusterShape { nodes, memory: memory / u64::from(nodes), ..largest };
        let name = format!("cluster-{nodes}");
        let cluster = TestbedCluster::start(run, &name, largest)?;
        let (client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys.clone(), run.watch)?;
        let (measured, from_dram) = client.run_telling_dram(&work, "gets")?;
        drop(client);
        cluster.stop()?;
        let path = run.dir.join(name);
        std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
        let answered = measured.stats.answered().max(1) as f64;
        finding.row(json!({
            "what": "this machine, together", "nodes": nodes, "gets_a_second": a_second(&measured),
            "cpu_us_a_get": measured.server_cpu_us.map(|us| us / answered), "from_dram": from_dram,
        }));
    }
    for (nodes, gets) in [(1, 334), (8, 2431)] {
        finding.printed(json!({ "what": "Soekris, a machine each", "nodes": nodes, "gets_a_second": gets }));
    }
    largest.tell(&mut finding);
    finding.parameter("memory_bytes_of_all_nodes", memory);
    work.tell(&mut finding);
    finding.parameter("keys", keys.count);
    finding.charts = vec![
        Chart::lines(
            "Gets by the number of nodes",
            Axis::linear("nodes", "nodes"),
            Axis::log("gets_a_second", "gets a second"),
        )
        .by("what"),
    ];
    finding.note(format!(
        "the report's nodes are separate machines, 8 at most. It prints the ends of its line in its Table 2, and no \
        size. Here there are at most {}; each number of nodes is a separate cluster, with as much DRAM for all \
        nodes together. All share this machine with the client: the figure shows how the cost per get grows with \
        the nodes, and the rate grows only while there are idle processors",
        size(largest, bytes)
    ));
    Ok(finding)
}
