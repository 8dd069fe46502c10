//! FAWN-DHT, §5.3: how long it takes until a new node has a copy of all that there is, and how long to fill a node at first.

use std::time::Instant;

use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ServerKeys, TestbedClient};
use crate::testbed::cluster::{ClusterShape, TestbedCluster, shape};

const MIB: u64 = 1 << 20;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let sizes = run.pick(vec![1], vec![8, 64], vec![256, 1024, 4096]);
    let shape = ClusterShape { nodes: 1, ..shape(run, 2) };
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("mib", "MiB", None),
        ("seconds", "s", Some(2)),
        ("mb_a_second", "MB/s", Some(1)),
    ]);
    for mib in sizes {
        let keys = ServerKeys { count: mib * MIB / 276, value_bytes: 256 };
        let bytes = (keys.count * 276) as f64;
        let mut cluster = TestbedCluster::start(run, &format!("cluster-{mib}"), shape)?;
        let (client, loaded) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
        drop(client);
        run.watch.progress(1, 2, "a node joins");
        let began = Instant::now();
        cluster.add_node()?;
        cluster.settle()?;
        let joined = began.elapsed().as_secs_f64();
        cluster.stop()?;
        let path = run.dir.join(format!("cluster-{mib}"));
        std::fs::remove_dir_all(&path).map_err(Error::io(path))?;
        for (what, seconds) in [("filling a node", loaded.seconds), ("copying all to a new node", joined)] {
            finding.row(json!({
                "what": what, "mib": mib, "seconds": seconds, "mb_a_second": bytes / seconds / 1e6,
            }));
        }
    }
    for (what, minutes) in [("filling a node", 10.0), ("copying all to a new node", 25.0)] {
        let seconds = minutes * 60.0;
        finding.printed(json!({
            "what": what, "mib": 1024, "seconds": seconds, "mb_a_second": 1024.0 * MIB as f64 / seconds / 1e6,
        }));
    }
    shape.tell(&mut finding);
    finding.charts = vec![
        Chart::lines(
            "Until a node has all",
            Axis::log("mib", "MiB of keys and values"),
            Axis::log("seconds", "seconds"),
        )
        .by("what"),
    ];
    finding.note(
        "a join lasts from the start of the new node's process until every range has two copies and nothing moves, \
        without other load: here a second node joins the first, on one machine. For small stores its time is that \
        of the protocol. The report's 25 minutes for 1 GB are a split of 10 minutes and 15 on a network of 10 \
        Mbit/s. Copies are not throttled here (--copy-rate 4G)",
    );
    Ok(finding)
}
