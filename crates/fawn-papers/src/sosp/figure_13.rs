//! SOSP 2009, Figure 13: gets a second of a cluster by time while a node joins it, at the highest load and at 30 % of it.

use std::thread;
use std::time::{Duration, Instant};

use fawn_loadgen::phase::PhaseResult;
use serde_json::json;

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, Refusals, ServerKeys, TestbedClient, a_second, by_time};
use crate::testbed::cluster::{TestbedCluster, shape, size};

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(1 << 20, 24 << 20, 2 << 30);
    let time = run.pick(Duration::from_millis(1500), Duration::from_secs(8), Duration::from_secs(100));
    let shape = shape(run, 3);
    let mut finding = Finding::of(&[
        ("load", "load", None),
        ("seconds", "s", Some(1)),
        ("gets_a_second", "gets/s", Some(0)),
        ("during", "during", None),
    ]);
    let mut cluster = TestbedCluster::start(run, "cluster", shape)?;
    let keys = ServerKeys { count: bytes / 276, value_bytes: 256 };
    let (mut client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
    // A chain that changes may refuse what comes too late for its old members.
    client.set_refusals(Refusals::Count);
    let work = ClientWork { depth: 4, warm_up: Duration::ZERO, ..ClientWork::gets(time) };
    let highest = a_second(&client.run(&ClientWork { time: time / 4, ..work }, "the highest load")?);
    for (load, rate) in [("highest", None), ("30 % of it", Some(0.3 * highest))] {
        let work = ClientWork { rate, ..work };
        let (measured, joined) = join_meanwhile(&mut cluster, &client, &work)?;
        tell(&mut finding, load, &measured, joined);
        client.set_servers(&cluster.addresses(), cluster.pids());
    }
    drop(client);
    cluster.stop()?;
    shape.tell(&mut finding);
    work.tell(&mut finding);
    finding.parameter("bytes", bytes);
    finding.charts = vec![
        Chart::lines(
            "Gets of a cluster while a node joins",
            Axis::linear("seconds", "seconds"),
            Axis::linear("gets_a_second", "gets a second"),
        )
        .by("load"),
    ];
    finding.note(format!(
        "the paper draws this figure without numbers, for 20 nodes with 10 GB. At the highest load the rate of the \
        three nodes that send data to the new one falls by a third, and that of the other 17 does not; at 30 % the \
        rate does not fall. Here there are {} before the first join: a new node shares this machine's processors \
        with the others and the client, and all of three nodes send",
        size(shape, bytes)
    ));
    Ok(finding)
}

/// When a node was started, and when every range was whole again.
#[derive(Clone, Copy, Debug)]
struct JoinTimes {
    from: Duration,
    to: Duration,
}

/// Gets, and after a quarter of their time one node more.
fn join_meanwhile(
    cluster: &mut TestbedCluster,
    client: &TestbedClient<'_>,
    work: &ClientWork,
) -> Result<(PhaseResult, JoinTimes), Error> {
    let began = Instant::now();
    thread::scope(|scope| {
        let joining = scope.spawn(move || {
            thread::sleep(work.time / 4);
            let from = began.elapsed();
            cluster.add_node()?;
            cluster.settle()?;
            Ok::<_, Error>(JoinTimes { from, to: began.elapsed() })
        });
        let measured = client.run(work, "gets while a node joins");
        let joined = joining.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((measured?, joined?))
    })
}

fn tell(finding: &mut Finding, load: &str, measured: &PhaseResult, joined: JoinTimes) {
    let (from, to) = (joined.from.as_secs_f64(), joined.to.as_secs_f64());
    for (seconds, rate) in by_time(measured) {
        let during = if (from..to).contains(&seconds) { "join" } else { "rest" };
        finding.row(json!({ "load": load, "seconds": seconds, "gets_a_second": rate, "during": during }));
    }
    let latencies = measured.stats.gets().latencies;
    finding.note(format!(
        "load {load}: the node was started after {from:.1} s, and every range had all of its copies after {to:.1} \
        s; p99.9 of all gets {:.1} ms, the longest {:.0} ms, {} refused, which the rates do not count{}",
        latencies.us(0.999) / 1e3,
        latencies.longest_us() / 1e3,
        measured.stats.refused.count,
        match measured.stats.unsent {
            0 => String::new(),
            unsent =>
                format!("; {unsent} gets that were due were not sent in time, and count only among the latencies"),
        }
    ));
}
