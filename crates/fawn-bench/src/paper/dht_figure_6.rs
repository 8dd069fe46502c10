//! FAWN-DHT, Figure 6: gets a second by the number of nodes.

use std::time::Duration;

use serde_json::json;

use super::client::{Client, Keys, Work, a_second};
use super::cluster::{Cluster, Shape};
use super::finding::{Axis, Chart, Finding};
use super::run::Run;
use super::sosp_figure_11::{shape, size};
use crate::error::Error;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let most = run.pick(2, 4, 8);
    let bytes: u64 = run.pick(1 << 20, 24 << 20, 1 << 30);
    let time = run.pick(Duration::from_millis(200), Duration::from_millis(1500), Duration::from_secs(20));
    let shape = Shape { nodes: 1, ..shape(run, 1) };
    let mut finding = Finding::of(&[
        ("what", "nodes of", None),
        ("nodes", "nodes", None),
        ("gets_a_second", "gets/s", Some(0)),
        ("cpu_us_a_get", "CPU-us a get, all nodes", Some(2)),
    ]);
    let mut cluster = Cluster::start(run, "cluster", shape)?;
    let keys = Keys { count: bytes / 276, value_bytes: 256 };
    let (mut client, _) = Client::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
    let work = Work { depth: 4, ..Work::gets(time) };
    loop {
        let measured = client.run(&work, "gets")?;
        let answered = measured.tally.answered().max(1) as f64;
        finding.row(json!({
            "what": "this machine, together", "nodes": cluster.nodes(), "gets_a_second": a_second(&measured),
            "cpu_us_a_get": measured.server_cpu_us.map(|us| us / answered),
        }));
        if cluster.nodes() == most as usize {
            break;
        }
        cluster.add_node()?;
        cluster.settle()?;
        client.set_servers(&cluster.addresses(), cluster.pids());
    }
    drop(client);
    cluster.stop()?;
    for (nodes, gets) in [(1, 334), (8, 2431)] {
        finding.printed(json!({ "what": "Soekris, a machine each", "nodes": nodes, "gets_a_second": gets }));
    }
    shape.tell(&mut finding);
    finding.parameter("nodes", most);
    work.tell(&mut finding);
    finding.parameter("keys", bytes / 276);
    finding.charts = vec![
        Chart::lines(
            "Gets by the number of nodes",
            Axis::linear("nodes", "nodes"),
            Axis::log("gets_a_second", "gets a second"),
        )
        .by("what"),
    ];
    let largest = Shape { nodes: most, ..shape };
    finding.note(format!(
        "the report's nodes are machines of their own, 8 at most, and it prints the ends of its line in its Table 2, and no size. Here \
         there are at most {}, and all nodes share this machine with the client: what grows with nodes is what they cost for each \
         get, and the rate only as long as there are processors for them",
        size(largest, bytes)
    ));
    Ok(finding)
}
