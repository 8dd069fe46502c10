//! The simulator of a whole cluster: many seeds, or one of them again.
//!
//! `cargo xtask sim --seeds 0..500`, `--seed 7 [--trace]`, `--minutes 30 [--from 1000]`. Ends with an error on any violation.
//! `--seed 7 --shrink` makes a failing run small and prints it as a script, `--script FILE` runs one, `--scenario NAME` one of
//! the test data. `--twice 0..1000` runs seeds twice and compares their traces.
//! `--scale 10,100,1000`: large clusters, see [`scale`](super::scale). `--pauses`: how long planned changes stop writes.
//! `--planted all` (or the name of a bug) plants bugs, one at a time, and ends with an error when one is not found;
//! with `--seed N --shrink` it makes the run of that seed small.
//! `--weak`: the same clusters, with each member of a chain a chain of its own.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use fawn_sim::cluster::{FAULTS, Plan, Summary, run};

/// Runs for some minutes take every path at least so often.
const LEAST_TAKEN: u64 = 100;

const USAGE: &str = "usage: cargo xtask sim [--weak] --seeds FROM..TO | --seed N [--trace | --shrink] | --script FILE [--trace] | --scenario NAME [--trace] | --twice FROM..TO | --minutes M [--from SEED] | --planted all|BUG [--minutes M] | --scale NODES,NODES,... | --pauses [--seeds FROM..TO]";

/// What a seed's cluster is.
pub type Shape = fn(u64) -> Plan;

/// Runs what the arguments say.
pub fn run_task() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let value = |name: &str| -> anyhow::Result<Option<String>> {
        let Some(at) = arguments.iter().position(|argument| argument == name) else { return Ok(None) };
        Ok(Some(arguments.get(at + 1).with_context(|| format!("{name} needs a value\n{USAGE}"))?.clone()))
    };
    let number = |text: String| text.parse::<u64>().with_context(|| format!("{text} is not a number\n{USAGE}"));
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    let shape: Shape = if given("--weak") { Plan::weak } else { Plan::of };
    if let Some(sizes) = value("--scale")? {
        let sizes = sizes.split(',').map(|size| number(size.to_owned())).collect::<anyhow::Result<Vec<u64>>>()?;
        return crate::scale::scale(&sizes);
    }
    if let Some(name) = value("--planted")? {
        let minutes = value("--minutes")?.map(number).transpose()?.unwrap_or(15);
        let shrink = value("--seed")?.map(number).transpose()?.filter(|_| given("--shrink"));
        #[cfg(not(feature = "planted"))]
        return with_planted()
            .with_context(|| format!("--planted {name} for {minutes} minutes, or {shrink:?} made small"));
        #[cfg(feature = "planted")]
        return with_planted(&name, minutes, shrink);
    }
    let trace = given("--trace");
    if let Some(path) = value("--script")? {
        return crate::script::run_file(&path, trace);
    }
    if let Some(name) = value("--scenario")? {
        return crate::script::run_scenario(&name, trace);
    }
    if let Some(seed) = value("--seed")?.map(number).transpose()? {
        if given("--shrink") {
            return crate::script::shrink_seed(seed, shape);
        }
        let plan = Plan { trace, ..shape(seed) };
        println!("{plan:?}");
        println!("{:?}", run(seed, &plan)?);
        return Ok(());
    }
    if let Some(minutes) = value("--minutes")?.map(number).transpose()? {
        let from = value("--from")?.map(number).transpose()?.unwrap_or(0);
        return many(from..u64::MAX, Some(Duration::from_mins(minutes)), shape);
    }
    let range = |seeds: String| -> anyhow::Result<Range<u64>> {
        let (from, to) = seeds.split_once("..").with_context(|| format!("{seeds} is not FROM..TO\n{USAGE}"))?;
        Ok(number(from.to_owned())?..number(to.to_owned())?)
    };
    if let Some(seeds) = value("--twice")?.map(range).transpose()? {
        return crate::script::twice(seeds, shape);
    }
    let seeds = value("--seeds")?.map(range).transpose()?;
    if given("--pauses") {
        return crate::scale::pauses(seeds.unwrap_or(0..300));
    }
    many(seeds.context(USAGE)?, None, shape)
}

/// Runs seeds on all cores, each at least once, and tells what came of them.
fn many(seeds: Range<u64>, within: Option<Duration>, shape: Shape) -> anyhow::Result<()> {
    let (next, began) = (AtomicU64::new(seeds.start), Instant::now());
    let (total, violations) = (Mutex::new((0_u64, Summary::default())), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while within.is_none_or(|within| began.elapsed() < within) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let outcome = std::panic::catch_unwind(|| run(seed, &shape(seed)));
                    match outcome {
                        Ok(Ok(summary)) => {
                            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                            total.0 += 1;
                            total.1.add(&summary);
                        }
                        Ok(Err(violation)) => {
                            println!("{violation}");
                            violations.lock().unwrap_or_else(PoisonError::into_inner).push(seed);
                        }
                        Err(_) => {
                            println!("seed {seed}: an assertion failed");
                            violations.lock().unwrap_or_else(PoisonError::into_inner).push(seed);
                        }
                    }
                }
            });
        }
    });
    let (ran, sum) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut violations = violations.into_inner().unwrap_or_else(PoisonError::into_inner);
    violations.sort_unstable();
    let seconds = began.elapsed().as_secs_f64();
    println!("seeds           {:>12}  ({} violated)", ran + violations.len() as u64, violations.len());
    println!(
        "operations      {:>12}  ({:.0} a second), {} given up",
        sum.operations,
        sum.operations as f64 / seconds,
        sum.given_up
    );
    println!("records, chains {:>12}  {}", sum.records, sum.chains);
    println!("undecided keys  {:>12}  {} losses of what was acknowledged in memory", sum.undecided, sum.losses);
    println!("weakened keys   {:>12}", sum.weakened);
    println!("messages        {:>12}  {} events", sum.messages, sum.events);
    let fronts = sum.fronts;
    println!("cache hits      {:>12}  {} misses, {} joined", fronts.hits, fronts.misses, fronts.joined);
    println!(
        "forwards        {:>12}  {} take-overs, {} fences, {} fenced",
        fronts.forwards, fronts.takeovers, sum.fences, sum.fenced
    );
    println!("flushes         {:>12}  through front-ends, {} came due later", fronts.flushes, sum.flushes_came_due);
    println!(
        "stateless gets  {:>12}  {} multi-gets, {} timed out, {} busy",
        fronts.stateless, fronts.many, fronts.timed_out, fronts.busy
    );
    println!("simulated       {:>12} s in {seconds:.1} s on {threads} threads", sum.simulated_us / 1_000_000);
    for (kind, count) in FAULTS.iter().zip(sum.faults) {
        println!("{kind:<18} {count:>9}");
    }
    println!("\npaths");
    for (path, count) in sum.coverage.counts() {
        println!("{count:>9}  {path}");
    }
    if !violations.is_empty() {
        bail!("violated by seeds {violations:?}: run one again with cargo xtask sim --seed N --trace, or --shrink");
    }
    let seldom: Vec<_> = sum.coverage.counts().filter(|(_, count)| *count < LEAST_TAKEN).collect();
    // A weak cluster has no use for many of them.
    if within.is_some() && !seldom.is_empty() && sum.weakened == 0 {
        bail!("these paths were taken less than {LEAST_TAKEN} times: {seldom:?}");
    }
    Ok(())
}

/// Builds with the switch for planted bugs, and runs that.
#[cfg(not(feature = "planted"))]
fn with_planted() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let run = ["run", "--quiet", "--profile", "sim", "-p", "xtask", "--features", "planted", "--"];
    let run: Vec<&str> = run.into_iter().chain(arguments.iter().map(String::as_str)).collect();
    crate::process::cargo(&run, &[])
}

/// Plants a bug and makes the seed's run small that fails for it, or looks for seeds that do.
#[cfg(feature = "planted")]
fn with_planted(name: &str, minutes: u64, shrink: Option<u64>) -> anyhow::Result<()> {
    use fawn_sim::cluster::planted::{Bug, plant};

    let Some(seed) = shrink else { return find_planted(name, minutes) };
    let bug = Bug::ALL.iter().copied().find(|bug| format!("{bug:?}") == name);
    let bug = bug.with_context(|| format!("there is no bug {name}; there are {:?}", Bug::ALL))?;
    plant(Some(bug));
    crate::script::shrink_seed(seed, if bug.is_weak() { Plan::weak } else { Plan::of })
}

/// Plants each bug and runs seeds until one of them fails.
#[cfg(feature = "planted")]
fn find_planted(name: &str, minutes: u64) -> anyhow::Result<()> {
    use fawn_sim::cluster::planted::{Bug, plant};

    let bugs: Vec<Bug> = Bug::ALL.iter().copied().filter(|bug| name == "all" || format!("{bug:?}") == name).collect();
    if bugs.is_empty() {
        bail!("there is no bug {name}; there are {:?}", Bug::ALL);
    }
    std::panic::set_hook(Box::new(|_| {}));
    let (mut missed, mut times) = (Vec::new(), Vec::new());
    println!("{:<24} {:>8} {:>10}  found by", "planted", "seeds", "CPU s");
    for bug in bugs {
        plant(Some(bug));
        let shape: Shape = if bug.is_weak() { Plan::weak } else { Plan::of };
        let (next, began) = (AtomicU64::new(0), Instant::now());
        let found: Mutex<Option<String>> = Mutex::new(None);
        let threads = std::thread::available_parallelism()?.get();
        let is_found = || found.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while began.elapsed() < Duration::from_mins(minutes) && !is_found() {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        let what = match std::panic::catch_unwind(|| run(seed, &shape(seed))) {
                            Ok(Ok(_)) => continue,
                            Ok(Err(violation)) => violation.to_string(),
                            Err(panic) => {
                                let text = panic.downcast_ref::<String>().cloned();
                                let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                                format!("seed {seed}: asserted: {}", text.unwrap_or_default())
                            }
                        };
                        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                    }
                });
            }
        });
        let seconds = began.elapsed().as_secs_f64() * threads as f64;
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let what: String =
            found.as_deref().unwrap_or("NOT FOUND").lines().next().unwrap_or("").chars().take(110).collect();
        println!("{:<24} {:>8} {seconds:>10.1}  {what}", format!("{bug:?}"), next.into_inner());
        if found.is_some() {
            times.push(seconds);
        } else {
            missed.push(bug);
        }
    }
    times.sort_by(f64::total_cmp);
    println!(
        "found {} of {}, median {:.1} CPU s",
        times.len(),
        times.len() + missed.len(),
        times.get(times.len() / 2).unwrap_or(&0.0)
    );
    if !missed.is_empty() {
        bail!("not found: {missed:?}");
    }
    Ok(())
}
