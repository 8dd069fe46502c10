//! FAWN-DHT, §3.3: a put that goes to all copies at once, in no order, beside one that goes down a chain (SOSP 2009, §3.4.2);
//! and gets while a node fails.

use std::thread;
use std::time::Duration;

use fawn_loadgen::phase::PhaseResult;
use serde_json::{Value, json};

use crate::error::Error;
use crate::finding::{Axis, Chart, Finding};
use crate::run::Run;
use crate::testbed::client::{ClientWork, Refusals, ServerKeys, TestbedClient, a_second, by_time};
use crate::testbed::cluster::{ClusterShape, TestbedCluster, shape, size};

/// Gets are back once there are so many again, of those before.
const BACK_SHARE: f64 = 0.5;

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let keys = ServerKeys { count: run.pick(2_000, 50_000, 1_000_000), value_bytes: 256 };
    let time = run.pick(Duration::from_millis(300), Duration::from_secs(3), Duration::from_secs(30));
    let failing = run.pick(Duration::from_secs(5), Duration::from_secs(12), Duration::from_secs(30));
    let mut finding = Finding::of(&[
        ("what", "what", None),
        ("consistency", "consistency", None),
        ("operations_a_second", "operations/s", Some(0)),
        ("us_median", "median, us", Some(0)),
        ("us_999", "99.9 %, us", Some(0)),
        ("cpu_us", "CPU-us each, all nodes", Some(1)),
        ("seconds_until_back", "s until half are back", Some(1)),
        ("refused", "refused", Some(0)),
        ("lost", "older or gone", Some(0)),
    ]);
    let shape = shape(run, 3);
    for is_weak in [false, true] {
        measure(run, &mut finding, (ClusterShape { is_weak, ..shape }, &keys), (time, failing))?;
    }
    shape.tell(&mut finding);
    finding.parameter("keys", keys.count);
    finding.parameter("seconds", time.as_secs_f64());
    finding.parameter("seconds_while_a_node_fails", failing.as_secs_f64());
    finding.charts = vec![Chart::bars("Median latency", "named", Axis::linear("us_median", "microseconds"))];
    finding.note(format!(
        "three copies, {}, all nodes and the client on this machine; every put is synced before its \
        acknowledgement: in a strong cluster by all copies, in a weak one by the owner. A node is killed (kill -9) \
        after a quarter of the time, and its clients ask the others; meanwhile there are no puts. The report prints \
        no figures of this",
        size(shape, keys.count * 276)
    ));
    Ok(finding)
}

fn measure(
    run: &Run<'_>,
    finding: &mut Finding,
    (shape, keys): (ClusterShape, &ServerKeys),
    (time, failing): (Duration, Duration),
) -> Result<(), Error> {
    let consistency = if shape.is_weak { "weak" } else { "strong" };
    let mut cluster = TestbedCluster::start(run, &format!("cluster-{consistency}"), shape)?;
    let (mut client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys.clone(), run.watch)?;
    let mut tell = |what: &str, measured: &PhaseResult, back: Value| {
        let tally = &measured.stats;
        let of = if tally.sets().latencies.count() > 0 { tally.sets() } else { tally.gets() };
        finding.row(json!({
            "what": what,
            "consistency": consistency,
            "named": format!("{what}, {consistency}"),
            "operations_a_second": a_second(measured),
            "us_median": of.latencies.us(0.5),
            "us_999": of.latencies.us(0.999),
            "cpu_us": measured.server_cpu_us.map(|us| us / tally.answered().max(1) as f64),
            "seconds_until_back": back,
            "refused": tally.refused.count,
            "lost": tally.misses + tally.wrong.count,
        }));
    };
    for (what, connections, puts) in
        [("puts, one client", 1, 1.0), ("puts, 32 clients", 32, 1.0), ("gets, 32 clients", 32, 0.0)]
    {
        let measured = client.run(&ClientWork { connections, depth: 1, puts, ..ClientWork::gets(time) }, what)?;
        tell(what, &measured, Value::Null);
    }
    let killed = cluster.take_last();
    client.set_servers(&cluster.addresses(), cluster.pids());
    // A weak cluster may lose what only the node that fails had.
    client.set_refusals(if shape.is_weak { Refusals::CountLosses } else { Refusals::Count });
    let work = ClientWork { connections: 32, depth: 1, warm_up: Duration::ZERO, ..ClientWork::gets(failing) };
    let after = failing / 4;
    let measured = thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(after);
            if let Some(killed) = killed {
                killed.kill();
            }
        });
        client.run(&work, "gets while a node is killed")
    })?;
    let back = until_back(&by_time(&measured), after.as_secs_f64());
    tell("gets while a node is killed, 32 clients", &measured, json!(back));
    drop(client);
    cluster.stop()
}

/// Seconds from a failure until there are half as many gets again as before it; 0 where there always were, `None` where there
/// never are.
fn until_back(rates: &[(f64, f64)], failed_at: f64) -> Option<f64> {
    let before: Vec<f64> = rates.iter().filter(|(at, _)| *at < failed_at).map(|(_, rate)| *rate).collect();
    let least = BACK_SHARE * before.iter().sum::<f64>() / before.len().max(1) as f64;
    let mut after = rates.iter().filter(|(at, _)| *at >= failed_at).skip_while(|(_, rate)| *rate >= least).peekable();
    if after.peek().is_none() {
        return Some(0.0);
    }
    after.find(|(_, rate)| *rate >= least).map(|(at, _)| at - failed_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gets_are_back_with_the_first_stretch_of_half_as_many_after_one_of_fewer() {
        let rates = [(0.5, 100.0), (1.5, 80.0), (2.5, 0.0), (3.5, 20.0), (4.5, 95.0), (5.5, 90.0)];
        assert_eq!(until_back(&rates, 2.0), Some(2.5));
        assert_eq!(until_back(&rates[..2], 2.0), Some(0.0));
        assert_eq!(until_back(&rates[..4], 2.0), None, "not within the time");
        assert_eq!(until_back(&rates, 4.0), Some(0.0));
    }
}
