//! The simulator of a whole cluster: many seeds, or one of them again.
//!
//! `cargo xtask sim --seeds 0..500`, `--seed 7 [--trace]`, `--minutes 30 [--from 1000]`. Ends with an error on any violation.
//! `--scale 10,100,1000`: large clusters, see [`scale`](super::scale). `--pauses`: how long planned changes stop writes.
//! `--planted all` (or the name of a bug) plants bugs, one at a time, and ends with an error when one is not found.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use fawn_sim::cluster::{FAULTS, Plan, Summary, run};

const USAGE: &str = "usage: cargo xtask sim --seeds FROM..TO | --seed N [--trace] | --minutes M [--from SEED] | --planted all|BUG [--minutes M] | --scale NODES,NODES,... | --pauses [--seeds FROM..TO]";

/// Runs what the arguments say.
pub fn run_task() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let value = |name: &str| -> anyhow::Result<Option<String>> {
        let Some(at) = arguments.iter().position(|argument| argument == name) else { return Ok(None) };
        Ok(Some(arguments.get(at + 1).with_context(|| format!("{name} needs a value\n{USAGE}"))?.clone()))
    };
    let number = |text: String| text.parse::<u64>().with_context(|| format!("{text} is not a number\n{USAGE}"));
    if let Some(sizes) = value("--scale")? {
        let sizes = sizes.split(',').map(|size| number(size.to_owned())).collect::<anyhow::Result<Vec<u64>>>()?;
        return crate::scale::scale(&sizes);
    }
    if let Some(name) = value("--planted")? {
        let minutes = value("--minutes")?.map(number).transpose()?.unwrap_or(15);
        return find_planted(&name, minutes);
    }
    if let Some(seed) = value("--seed")?.map(number).transpose()? {
        let trace = arguments.iter().any(|argument| argument == "--trace");
        let plan = Plan { trace, ..Plan::of(seed) };
        println!("{plan:?}");
        println!("{:?}", run(seed, &plan)?);
        return Ok(());
    }
    if let Some(minutes) = value("--minutes")?.map(number).transpose()? {
        let from = value("--from")?.map(number).transpose()?.unwrap_or(0);
        return many(from..u64::MAX, Some(Duration::from_mins(minutes)));
    }
    let pauses = arguments.iter().any(|argument| argument == "--pauses");
    let seeds = match value("--seeds")? {
        None if pauses => "0..300".to_owned(),
        None => bail!(USAGE),
        Some(seeds) => seeds,
    };
    let (from, to) = seeds.split_once("..").with_context(|| format!("{seeds} is not FROM..TO\n{USAGE}"))?;
    let seeds = number(from.to_owned())?..number(to.to_owned())?;
    if pauses { crate::scale::pauses(seeds) } else { many(seeds, None) }
}

/// Runs seeds on all cores, each at least once, and tells what came of them.
fn many(seeds: Range<u64>, within: Option<Duration>) -> anyhow::Result<()> {
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
                    let outcome = std::panic::catch_unwind(|| run(seed, &Plan::of(seed)));
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
    println!("messages        {:>12}  {} events", sum.messages, sum.events);
    let fronts = sum.fronts;
    println!("cache hits      {:>12}  {} misses, {} joined", fronts.hits, fronts.misses, fronts.joined);
    println!(
        "forwards        {:>12}  {} take-overs, {} fences, {} fenced",
        fronts.forwards, fronts.takeovers, sum.fences, sum.fenced
    );
    println!(
        "stateless gets  {:>12}  {} multi-gets, {} timed out, {} busy",
        fronts.stateless, fronts.many, fronts.timed_out, fronts.busy
    );
    println!("simulated       {:>12} s in {seconds:.1} s on {threads} threads", sum.simulated_us / 1_000_000);
    for (kind, count) in FAULTS.iter().zip(sum.faults) {
        println!("{kind:<18} {count:>9}");
    }
    if !violations.is_empty() {
        bail!("violated by seeds {violations:?}: run one again with cargo xtask sim --seed N --trace");
    }
    Ok(())
}

/// Builds with the switch for planted bugs, and runs that.
#[cfg(not(feature = "planted"))]
fn find_planted(name: &str, minutes: u64) -> anyhow::Result<()> {
    let minutes = minutes.to_string();
    let run = [
        "run",
        "--quiet",
        "-p",
        "xtask",
        "--features",
        "planted",
        "--",
        "sim",
        "--planted",
        name,
        "--minutes",
        &minutes,
    ];
    crate::process::cargo(&run, &[])
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
        let (next, began) = (AtomicU64::new(0), Instant::now());
        let found: Mutex<Option<String>> = Mutex::new(None);
        let threads = std::thread::available_parallelism()?.get();
        let is_found = || found.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while began.elapsed() < Duration::from_mins(minutes) && !is_found() {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        let what = match std::panic::catch_unwind(|| run(seed, &Plan::of(seed))) {
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
