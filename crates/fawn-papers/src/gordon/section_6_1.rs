//! Gordon, §6.1: copies on disks that rest, measured on clusters of real processes with archives.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, TestbedClient, a_second};
use crate::testbed::cluster::{ClusterShape, TestbedCluster, shape};
use crate::testbed::servers::ask;

/// Keys that are asked for while a node is gone: so many that some were answered by it.
const PROBES: usize = 64;

/// The longest that an answer is waited for.
const ANSWERED: Duration = Duration::from_mins(1);

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let keys = ServerKeys { count: run.pick(500, 50_000, 1_000_000), value_bytes: 256 };
    let time = run.pick(Duration::from_millis(200), Duration::from_secs(2), Duration::from_secs(15));
    let mut finding = Finding::of(&[
        ("what", "three copies on", None),
        ("puts_a_second", "puts/s", Some(0)),
        ("cpu_us_a_put", "CPU-us a put", Some(2)),
        ("gets_a_second", "gets/s", Some(0)),
        ("cpu_us_a_get", "CPU-us a get", Some(2)),
        ("seconds_without_gets", "s until gets after a loss", Some(2)),
        ("gets_a_second_after", "gets/s after it", Some(0)),
    ]);
    let shape = ClusterShape { virtual_ids: 1, ..shape(run, 3) };
    let shapes = [
        ("three nodes that serve", shape),
        ("one, and two archives", ClusterShape { archives: 2, ..shape }),
        ("one, and two archives that rest", ClusterShape { archives: 2, rest: 10, ..shape }),
    ];
    for (number, (what, shape)) in shapes.into_iter().enumerate() {
        let mut cluster = TestbedCluster::start(run, &format!("cluster-{number}"), shape)?;
        let (front, address) = cluster.start_front()?;
        let pids = [cluster.pids(), vec![front.pid()]].concat();
        let (mut client, _) = TestbedClient::load(&[address], pids, keys.clone(), run.watch)?;
        let work = |puts: f64| ClientWork { puts, warm_up: time / 3, ..ClientWork::gets(time) };
        let puts = client.run(&work(1.0), "puts")?;
        let gets = client.run(&work(0.0), "gets")?;
        let each = |measured: &fawn_loadgen::phase::PhaseResult| {
            measured.server_cpu_us.map(|us| us / measured.stats.answered().max(1) as f64)
        };
        for_each_probe(|key| await_answer(address, &format!("set {key} 0 0 1\r\nx\r\n"), "STORED"))?;
        let lost = cluster.take_first();
        let began = Instant::now();
        if let Some(node) = lost {
            node.kill();
        }
        for_each_probe(|key| await_answer(address, &format!("get {key}\r\n"), "VALUE"))?;
        let seconds = began.elapsed().as_secs_f64();
        for_each_probe(|key| await_answer(address, &format!("set {key} 0 0 1\r\nx\r\n"), "STORED"))?;
        client.set_pids([cluster.pids(), vec![front.pid()]].concat());
        let after = client.run(&work(0.0), "gets after the loss")?;
        finding.row(json!({
            "what": what,
            "puts_a_second": a_second(&puts), "cpu_us_a_put": each(&puts),
            "gets_a_second": a_second(&gets), "cpu_us_a_get": each(&gets),
            "seconds_without_gets": seconds, "gets_a_second_after": a_second(&after),
        }));
        drop(client);
        front.stop()?;
        cluster.stop()?;
    }
    finding.parameter("keys", keys.count);
    finding.parameter("value_bytes", keys.value_bytes);
    shape.tell(&mut finding);
    ClientWork::gets(time).tell(&mut finding);
    finding.note(format!(
        "clients go to one front-end without a cache. CPU microseconds are those of the front-end and all nodes. The \
        node that is killed is the first: with archives it is the only one that serves, and the archives answer from \
        then on. Gets are answered again once {PROBES} keys are, each asked for until it is. All processes share one \
        machine and its disk, so a sync of an archive takes as long as one of the others. Archives that rest sync every \
        ten seconds. What the disks of archives draw is in `fawn gordon cost`",
    ));
    Ok(finding)
}

/// Does something with each of the probes' keys.
fn for_each_probe(act: impl Fn(&str) -> Result<(), Error>) -> Result<(), Error> {
    (0..PROBES).try_for_each(|number| act(&format!("probe-{number}")))
}

/// Says the same until it is answered so.
fn await_answer(address: SocketAddr, say: &str, answer: &str) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let mut line = String::new();
        let asked = ask(address, say.as_bytes(), Duration::from_secs(5)).and_then(|mut said| said.read_line(&mut line));
        if asked.is_ok() && line.starts_with(answer) {
            return Ok(());
        }
        if began.elapsed() > ANSWERED {
            return Err(Error::Server {
                name: "the front-end".to_owned(),
                what: format!("answers {line:?} to {say:?}"),
            });
        }
        thread::sleep(Duration::from_millis(10));
    }
}
