//! The experiments of `fawn bench store` that a peer takes part in, with the same names of figures.

use std::time::{Duration, Instant};

use anyhow::bail;
use fawn_bench::closed::{generator_us_a_get, generator_us_a_put};
use fawn_bench::derived::versions;
use fawn_bench::usage::WorkUsage;
use fawn_report::latency::median;
use fawn_report::{BenchReport, Latencies};
use fawn_workload::Draw;
use serde_json::{Value, json};

use crate::gets::{ClosedLoopResult, ClosedLoop};
use crate::pages::PAGE_BYTES;
use crate::session::{Puts, EngineSession};

/// Keys beyond the entries, of which the absent are drawn.
const ABSENT: u64 = 1 << 40;

/// An experiment with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerExperiment {
    /// All entries are put.
    Load,
    /// Gets of entries at random.
    Get {
        /// Gets in flight.
        depths: Vec<u32>,
        /// Rounds, of which the medians are told.
        rounds: u32,
        /// How long each takes.
        time: Duration,
    },
    /// All entries are overwritten.
    Overwrite {
        /// How often as many puts are made as there are entries.
        passes: u32,
        /// The exponent of Zipf's law by which entries are drawn; none: each once a pass.
        zipf: Option<f64>,
        /// An end to all of it before its time.
        most_time: Option<Duration>,
    },
    /// Gets and puts.
    Mixed {
        /// Gets in flight.
        depth: u32,
        /// Gets for each put.
        gets_a_put: u64,
        /// How long it takes.
        time: Duration,
    },
    /// Gets of keys that are not there.
    Absent {
        /// Gets in flight.
        depth: u32,
        /// How long it takes.
        time: Duration,
    },
}

/// Loads what is not loaded, and runs it.
///
/// # Errors
/// What the engine says; a value that was not put.
pub fn run(session: &mut EngineSession, experiment: &PeerExperiment) -> anyhow::Result<BenchReport> {
    if *experiment == PeerExperiment::Load {
        return load_or_tell(session);
    }
    if !session.place.is_loaded() {
        load(session)?;
    }
    let before = versions(&session.history());
    let mut report = match experiment {
        PeerExperiment::Load => unreachable!("it was dealt with above"),
        PeerExperiment::Get { depths, rounds, time } => get(session, depths, *rounds, *time)?,
        PeerExperiment::Overwrite { passes, zipf, most_time } => overwrite(session, *passes, *zipf, *most_time)?,
        PeerExperiment::Mixed { depth, gets_a_put, time } => mixed(session, *depth, *gets_a_put, *time)?,
        PeerExperiment::Absent { depth, time } => absent(session, *depth, *time)?,
    };
    session.finish(&mut report, before);
    Ok(report)
}

/// Loads, or tells again what a load came to.
fn load_or_tell(session: &mut EngineSession) -> anyhow::Result<BenchReport> {
    match &session.place.notes.load {
        Some((report, memory, ack)) if (*memory, ack) == (session.settings.memory, &session.ack_name) => {
            Ok(report.clone())
        }
        Some((_, memory, ack)) => {
            bail!("this is loaded, with --memory {memory} and --ack {ack}: --again deletes it and loads anew")
        }
        None => load(session),
    }
}

fn load(session: &mut EngineSession) -> anyhow::Result<BenchReport> {
    session.place.writes()?;
    let entries = session.settings.entries;
    let stretch = session.stretch();
    Puts::new(session, None).put_many(entries, |made| {
        session.progress.tell(made, entries, "loading");
        true
    })?;
    let loaded = session.usage(&stretch);
    let whole = session.settle(&stretch)?;
    let settled = whole.after(&loaded);
    let user = session.user_bytes(entries);
    let mut report = session.report("load");
    report.row(json!({
        "ack": session.ack_name,
        "puts": entries,
        "user_bytes": user,
        "seconds": loaded.seconds,
        "puts_a_second": entries as f64 / loaded.seconds,
        "user_mb_a_second": user / loaded.seconds / 1e6,
        "settled_mb_a_second": user / whole.seconds / 1e6,
        "cpu_us_a_put": loaded.cpu_us / entries as f64,
        "generator_cpu_us": generator_us_a_put(entries, session.settings.value_bytes),
        "written_over_user": whole.write_bytes.map(|bytes| bytes as f64 / user),
        "settle_seconds": settled.seconds,
        "settle_cpu_seconds": settled.cpu_us / 1e6,
        "most_space_over_live": most_space(session) / user,
    }));
    session.finish(&mut report, 0.0);
    session.place.notes.load = Some((report.clone(), session.settings.memory, session.ack_name.clone()));
    let phases = session.history().phases();
    session.place.wrote(phases)?;
    Ok(report)
}

/// The most space since this was last asked, bytes.
fn most_space(session: &EngineSession) -> f64 {
    session.keeper.take_most_space().max(crate::keeper::space(&session.place.data())) as f64
}

fn get(session: &EngineSession, depths: &[u32], rounds: u32, time: Duration) -> anyhow::Result<BenchReport> {
    let settings = &session.settings;
    let total = u64::from(rounds) * depths.len() as u64;
    let mut came: Vec<(u32, ClosedLoopResult)> = Vec::new();
    for number in 0..total {
        let depth = depths[number as usize % depths.len()];
        session.progress.tell(number, total, &format!("gets, {depth} in flight"));
        let closed = ClosedLoop { depth, time, gets_a_put: None, first: 0, count: settings.entries };
        came.push((depth, session.closed(closed)?));
    }
    let mut report = session.report("get");
    report.parameter("rounds", rounds);
    report.parameter("seconds", time.as_secs_f64());
    let ours = generator_us_a_get(settings.entries, settings.value_bytes);
    for depth in depths {
        let of_depth = || came.iter().filter(|(of, _)| of == depth).map(|(_, came)| came);
        let middle = |of: &dyn Fn(&ClosedLoopResult) -> f64| median(of_depth().map(of));
        let of_latency = |share: f64| middle(&|came| came.latencies.us(share));
        report.row(json!({
            "depth": depth,
            "gets": of_depth().map(|came| came.gets).sum::<u64>(),
            "gets_a_second": middle(&|came| came.gets as f64 / came.usage.seconds),
            "cpu_us_a_get": middle(&|came| came.usage.cpu_us / came.gets.max(1) as f64),
            "generator_cpu_us": ours,
            "device_pages_a_get": pages_a_get(of_depth().map(|came| (&came.usage, came.gets))),
            "p50_us": of_latency(0.5),
            "p99_us": of_latency(0.99),
            "p999_us": of_latency(0.999),
        }));
    }
    Ok(report)
}

/// Pages that were read from the device for each get, by the system's count.
fn pages_a_get<'u>(of: impl Iterator<Item = (&'u WorkUsage, u64)>) -> Option<f64> {
    let (mut pages, mut all) = (0.0, 0);
    for (usage, gets) in of {
        pages += usage.read_bytes? as f64 / PAGE_BYTES as f64;
        all += gets;
    }
    Some(pages / all.max(1) as f64)
}

fn overwrite(
    session: &mut EngineSession,
    passes: u32,
    zipf: Option<f64>,
    most_time: Option<Duration>,
) -> anyhow::Result<BenchReport> {
    if zipf.is_some_and(|exponent| exponent.is_nan() || exponent <= 0.0) {
        bail!("Zipf's law needs a positive exponent: give --zipf 0.99 or none");
    }
    session.place.writes()?;
    let (entries, age) = (session.settings.entries, session.place.notes.age);
    let total = u64::from(passes) * entries;
    let mut rows = Vec::new();
    let mut puts = Puts::new(session, zipf.map(|exponent| Draw::zipf(entries, exponent, age)));
    session.keeper.take_most_space();
    let began = Instant::now();
    let has_time = || most_time.is_none_or(|most| began.elapsed() < most);
    for pass in 0..passes {
        let stretch = session.stretch();
        let made = puts.put_many(entries, |made| {
            let done = u64::from(pass) * entries + made;
            session.progress.tell(done, total, &format!("overwriting, pass {}", pass + 1));
            has_time()
        })?;
        rows.push(pass_row(session, pass + 1, made, &session.usage(&stretch)));
        if !has_time() {
            break;
        }
    }
    let stretch = session.stretch();
    let settled = session.settle(&stretch)?;
    if let Some(Value::Object(last)) = rows.last_mut() {
        last.insert("settle_seconds".to_owned(), settled.seconds.into());
        last.insert("settle_written_bytes".to_owned(), settled.write_bytes.into());
    }
    let mut report = session.report("overwrite");
    report.parameter("passes", passes);
    report.parameter("zipf", zipf);
    for row in rows {
        report.row(row);
    }
    let phases = session.history().phases();
    session.place.wrote(phases)?;
    Ok(report)
}

fn pass_row(session: &EngineSession, pass: u32, made: u64, usage: &WorkUsage) -> Value {
    let (puts, user) = (made.max(1) as f64, session.user_bytes(made.max(1)));
    let most_space = most_space(session);
    json!({
        "pass": pass,
        "puts": made,
        "seconds": usage.seconds,
        "puts_a_second": puts / usage.seconds,
        "user_mb_a_second": user / usage.seconds / 1e6,
        "cpu_us_a_put": usage.cpu_us / puts,
        "generator_cpu_us": generator_us_a_put(session.settings.entries, session.settings.value_bytes),
        "write_amplification": usage.write_bytes.map(|bytes| bytes as f64 / user),
        "read_bytes_over_user": usage.read_bytes.map(|bytes| bytes as f64 / user),
        "most_space_bytes": most_space,
        "most_space_over_live": most_space / session.user_bytes(session.settings.entries),
    })
}

fn mixed(session: &mut EngineSession, depth: u32, gets_a_put: u64, time: Duration) -> anyhow::Result<BenchReport> {
    if gets_a_put == 0 {
        bail!("overwrite measures puts alone: give --gets-a-put 1 or more");
    }
    session.engine.settle()?;
    session.place.writes()?;
    session.progress.tell(0, 1, "gets and puts");
    let (entries, value_bytes) = (session.settings.entries, session.settings.value_bytes);
    let stretch = session.stretch();
    let closed = ClosedLoop { depth, time, gets_a_put: Some(gets_a_put), first: 0, count: entries };
    let came = session.closed(closed)?;
    // It began settled, and so what is written until it is settled again is what these puts have caused.
    let whole = session.settle(&stretch)?;
    let (gets, puts) = (came.gets as f64, came.puts as f64);
    let user = session.user_bytes(came.puts.max(1));
    let ours = (generator_us_a_get(entries, value_bytes) * gets + generator_us_a_put(entries, value_bytes) * puts)
        / (gets + puts).max(1.0);
    let mut report = session.report("mixed");
    report.parameter("gets_a_put", gets_a_put);
    report.parameter("seconds", time.as_secs_f64());
    report.row(with_latencies(
        json!({
            "depth": depth,
            "gets": came.gets,
            "puts": came.puts,
            "operations_a_second": (gets + puts) / came.usage.seconds,
            "gets_a_second": gets / came.usage.seconds,
            "puts_a_second": puts / came.usage.seconds,
            "cpu_us_an_operation": came.usage.cpu_us / (gets + puts).max(1.0),
            "generator_cpu_us": ours,
            "device_pages_a_get": pages_a_get(std::iter::once((&came.usage, came.gets))),
            "write_amplification": whole.write_bytes.map(|bytes| bytes as f64 / user),
            "longest_put_us": came.longest_put.as_secs_f64() * 1e6,
        }),
        &came.latencies,
    ));
    let phases = session.history().phases();
    session.place.wrote(phases)?;
    Ok(report)
}

fn absent(session: &EngineSession, depth: u32, time: Duration) -> anyhow::Result<BenchReport> {
    session.progress.tell(0, 1, "gets of absent keys");
    let entries = session.settings.entries;
    let closed = ClosedLoop { depth, time, gets_a_put: None, first: entries, count: ABSENT };
    let came = session.closed(closed)?;
    let gets = came.gets.max(1) as f64;
    let mut report = session.report("absent");
    report.parameter("seconds", time.as_secs_f64());
    report.row(with_latencies(
        json!({
            "depth": depth,
            "gets": came.gets,
            "gets_a_second": gets / came.usage.seconds,
            "cpu_us_a_get": came.usage.cpu_us / gets,
            "generator_cpu_us": generator_us_a_get(entries, 8),
            "device_pages_a_get": pages_a_get(std::iter::once((&came.usage, came.gets))),
        }),
        &came.latencies,
    ));
    Ok(report)
}

fn with_latencies(row: Value, latencies: &Latencies) -> Value {
    let Value::Object(mut row) = row else { unreachable!("rows are objects") };
    latencies.write_into(&mut row);
    Value::Object(row)
}
