//! SOSP 2009, Figure 12: what a cluster draws by time: at rest, with gets, with puts.
//!
//! Where there is no meter, the processors that the nodes keep busy stand for it, and are said to be that.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fawn_loadgen::system::processes_cpu_us;
use serde_json::json;

use crate::efficiency::{MeteredWork, note};
use crate::error::Error;
use crate::finding::{Axis, Chart, Finding, Row};
use crate::run::Run;
use crate::testbed::client::{ClientWork, ServerKeys, TestbedClient};
use crate::testbed::cluster::{TestbedCluster, shape, size};

/// What is done, in turn, and the share of puts in it.
const PHASES: [(&str, f64); 4] = [("rest", 0.0), ("gets", 0.0), ("rest again", 0.0), ("puts", 1.0)];

/// Measures it.
///
/// # Errors
/// [`Error`].
pub fn run(run: &Run<'_>) -> Result<Finding, Error> {
    let bytes: u64 = run.pick(2 << 20, 32 << 20, 4 << 30);
    let time = run.pick(Duration::from_millis(500), Duration::from_secs(2), Duration::from_mins(1));
    let shape = shape(run, 1);
    let mut finding = Finding::of(&[
        ("phase", "phase", None),
        ("seconds", "s", Some(1)),
        ("busy_processors", "processors that nodes keep busy", Some(2)),
        ("watts", "watts", Some(1)),
        ("modelled_watts", "watts, modelled", Some(1)),
        ("operations_a_second", "operations/s", Some(0)),
        ("queries_a_joule", "queries a joule", Some(1)),
        ("queries_a_modelled_joule", "queries a modelled joule", Some(1)),
        ("queries_a_cpu_second", "queries a CPU-second", Some(0)),
    ]);
    let cluster = TestbedCluster::start(run, "cluster", shape)?;
    let keys = ServerKeys { count: bytes / 276, value_bytes: 256 };
    let (client, _) = TestbedClient::load(&cluster.addresses(), cluster.pids(), keys, run.watch)?;
    let work = ClientWork { depth: 4, warm_up: Duration::ZERO, ..ClientWork::gets(time) };
    let (pids, stop, now) = (cluster.pids(), AtomicBool::new(false), Mutex::new(PHASES[0].0));
    let began = Instant::now();
    let (phases, busy) = thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&pids, began, time / 10, &stop, &now));
        let phases = phases(run, &client, &work, time, &now);
        stop.store(true, Ordering::Relaxed);
        let busy = watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (phases, busy)
    });
    drop(client);
    cluster.stop()?;
    for (phase, seconds, processors) in busy? {
        finding.row(json!({ "phase": phase, "seconds": seconds, "busy_processors": processors }));
    }
    for phase in phases? {
        finding.row(phase);
    }
    finding.printed(json!({ "phase": "rest", "watts": 83.0 }));
    finding
        .printed(json!({ "phase": "gets", "watts": 99.0, "operations_a_second": 36_000.0, "queries_a_joule": 364.0 }));
    finding.printed(json!({ "phase": "gets, with front-ends", "queries_a_joule": 330.0 }));
    finding.printed(json!({ "phase": "puts", "watts": 91.0 }));
    shape.tell(&mut finding);
    work.tell(&mut finding);
    note(&mut finding, run);
    finding.charts = vec![
        Chart::lines(
            "Processors that the cluster keeps busy, by time",
            Axis::linear("seconds", "seconds"),
            Axis::linear("busy_processors", "processors that nodes keep busy"),
        )
        .by("phase"),
        Chart::bars("Watts by phase", "phase", Axis::linear("watts", "watts")),
        Chart::bars("Queries a joule", "phase", Axis::log("queries_a_joule", "queries a joule")),
        Chart::bars("Queries a second of CPU time", "phase", Axis::log("queries_a_cpu_second", "queries a CPU-second")),
    ];
    finding.note(format!(
        "the paper's watts are those of 21 nodes with 20 GB and two switches, by a meter at the wall; here there \
        are {}, on one machine with the client. Without a meter there are no watts here: the curve shows the \
        processors that the nodes keep busy, which says nothing about the power of a machine at rest. Rows without \
        a time cover whole phases",
        size(shape, bytes)
    ));
    finding.note(
        "the paper's 364 queries a joule are 36,000 gets of 256 bytes a second over 99 W, without front-ends. Its \
        330 count a front-end of 27 W for 80 nodes as nearly 0.5 W a node. With 0.34 W, which is 27 over 80, they \
        would be 339. Here each node is a front-end, and counts as one",
    );
    Ok(finding)
}

/// Carries the phases out; a row of each.
fn phases(
    run: &Run<'_>,
    client: &TestbedClient<'_>,
    work: &ClientWork,
    time: Duration,
    now: &Mutex<&'static str>,
) -> Result<Vec<serde_json::Value>, Error> {
    let mut rows = Vec::new();
    for (phase, puts) in PHASES {
        *now.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = phase;
        let metered = MeteredWork::begin(run)?;
        let (operations, seconds, cpu_us) = if phase.starts_with("rest") {
            thread::sleep(time);
            (0, time.as_secs_f64(), None)
        } else {
            let measured = client.run(&ClientWork { puts, ..*work }, phase)?;
            (measured.stats.answered(), measured.seconds, measured.server_cpu_us)
        };
        let mut row = Row::new();
        metered.end(operations, seconds, cpu_us)?.tell(&mut row);
        // Where nothing is asked, it is not none that a joule is for.
        let of_queries = |name: &str| row[name].as_f64().filter(|_| operations > 0);
        rows.push(json!({
            "phase": phase,
            "busy_processors": cpu_us.map(|us| us / seconds / 1e6),
            "watts": row["watts"],
            "modelled_watts": row["modelled_watts"],
            "operations_a_second": row["queries_a_second"],
            "queries_a_joule": of_queries("queries_a_joule"),
            "queries_a_modelled_joule": of_queries("queries_a_modelled_joule"),
            "queries_a_cpu_second": of_queries("queries_a_cpu_second"),
            "energy": row["energy"],
        }));
    }
    Ok(rows)
}

type Busy = Vec<(&'static str, f64, f64)>;

/// How many processors the processes keep busy, again and again, with the phase and the time.
fn watch(
    pids: &[u32],
    began: Instant,
    step: Duration,
    stop: &AtomicBool,
    now: &Mutex<&'static str>,
) -> Result<Busy, Error> {
    let mut busy = Vec::new();
    let mut last = (Instant::now(), processes_cpu_us(pids)?);
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(step.max(Duration::from_millis(50)));
        let next = (Instant::now(), processes_cpu_us(pids)?);
        let seconds = next.0.duration_since(last.0).as_secs_f64();
        let phase = *now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        busy.push((phase, began.elapsed().as_secs_f64(), (next.1 - last.1) / seconds / 1e6));
        last = next;
    }
    Ok(busy)
}
