//! Single runs of the simulator: written down, made smaller, told in lines; and many runs twice.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, anyhow, bail};
use fawn_sim::cluster::shrink::{shrink, violation_of};
use fawn_sim::cluster::{Script, run};

use crate::sim::Shape;

/// Makes the failing run of a seed small, and prints it as a script.
pub fn shrink_seed(seed: u64, shape: Shape) -> anyhow::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let script = Script::of(seed, &shape(seed));
    eprintln!("seed {seed}: {} acts", script.acts());
    let Some((smallest, violation)) = shrink(&script) else { bail!("seed {seed} fails with nothing") };
    println!("# {}", violation.what.lines().next().unwrap_or_default());
    println!("# Of {} acts these {} are needed.", script.acts(), smallest.acts());
    print!("{smallest}");
    Ok(())
}

/// Runs a script from a file, and prints what it tells.
pub fn run_file(path: &str, trace: bool) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    run_text(&text, trace)
}

/// Prints a scenario: a script of the simulator's test data.
pub fn run_scenario(name: &str, trace: bool) -> anyhow::Result<()> {
    let folder = std::path::Path::new("crates/fawn-sim/testdata");
    let text = std::fs::read_to_string(folder.join(format!("{name}.script")));
    run_text(&text.with_context(|| format!("there is no scenario {name}: see {}", folder.display()))?, trace)
}

fn run_text(text: &str, trace: bool) -> anyhow::Result<()> {
    let mut script: Script = text.parse().map_err(|error: String| anyhow!(error))?;
    script.plan.trace = trace;
    if script.show.names.is_empty() {
        match violation_of(&script) {
            Some(violation) => bail!("{violation}"),
            None => println!("{:?}", script.run()?),
        }
        return Ok(());
    }
    let (result, told) = script.tell();
    print!("{told}");
    result?;
    Ok(())
}

/// Runs every seed twice: the same seed must be the same run.
pub fn twice(seeds: Range<u64>, shape: Shape) -> anyhow::Result<()> {
    let next = AtomicU64::new(seeds.start);
    let differing = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let plan = shape(seed);
                    if run(seed, &plan) != run(seed, &plan) {
                        differing.lock().unwrap_or_else(PoisonError::into_inner).push(seed);
                    }
                }
            });
        }
    });
    let differing = differing.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !differing.is_empty() {
        bail!("these seeds are not the same run every time: {differing:?}");
    }
    println!("{} seeds ran twice, each with the same trace", seeds.end - seeds.start);
    Ok(())
}
