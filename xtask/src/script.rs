//! Single runs of the simulator: of a seed, written down, made smaller, told in lines; and many runs twice.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail};
use fawn_sim::cluster::injected_bugs::Bug;
use fawn_sim::cluster::shrink::shrink;
use fawn_sim::cluster::{Plan, Script};

use crate::ended::TaskEnd;
use crate::forms::{One, SeedPlan};
use crate::process::root;
use crate::seeds::{LongRun, Stop, on_all_cores};
use crate::summary::table;
use crate::tell::{say, tell};
use crate::usage::cpu_s;

/// Where the scenarios are, from the root of the workspace.
const SCENARIOS: &str = "crates/fawn-sim/testdata";

/// Runs one; `bug` has been planted.
///
/// # Errors
/// A violation, or why it cannot run.
pub fn run_one(one: &One, bug: Option<Bug>) -> anyhow::Result<()> {
    match one {
        One::Shrink { seed, shape } => shrink_seed(*seed, *shape, bug),
        One::Seed { seed, shape, trace } => {
            let script = Script::of(*seed, &Plan { trace: *trace, ..shape(*seed) });
            // The seed and the plan; faults are told by the trace.
            let head: Vec<String> = script.to_string().lines().take(2).map(ToOwned::to_owned).collect();
            say(head.join("\n"))?;
            run(&script)
        }
        One::Script { path, trace } => {
            let mut script = read(path)?;
            script.plan.trace = *trace;
            run(&script)
        }
        One::Scenario { name, trace } => {
            let mut script = scenario(name)?;
            script.plan.trace = *trace;
            run(&script)
        }
    }
}

/// Makes the failing run of a seed small, and prints it as a script.
fn shrink_seed(seed: u64, shape: SeedPlan, bug: Option<Bug>) -> anyhow::Result<()> {
    let script = Script::of(seed, &shape(seed));
    tell(format_args!("seed {seed}: {} acts", script.actions()));
    let Some((smallest, violation)) = shrink(&script) else {
        bail!("seed {seed} does not fail: there is nothing to shrink");
    };
    let planted = bug.map(|bug| format!("--planted {bug:?} ")).unwrap_or_default();
    say(format_args!(
        "# {}\n# Of {} acts, these {} are needed. To repeat: cargo xtask sim {planted}--script FILE",
        violation.what.lines().next().unwrap_or_default(),
        script.actions(),
        smallest.actions()
    ))?;
    Ok(say(smallest.to_string().trim_end())?)
}

/// Reads a script.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read(path: &Path) -> anyhow::Result<Script> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse().map_err(|error: String| anyhow!("{}, {error}", path.display()))
}

/// A script of the simulator's test data.
fn scenario(name: &str) -> anyhow::Result<Script> {
    let folder = root().join(SCENARIOS);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let file = entry?.file_name();
        names.extend(file.to_str().and_then(|file| file.strip_suffix(".script")).map(ToOwned::to_owned));
    }
    names.sort_unstable();
    if !names.iter().any(|known| known == name) {
        return Err(
            TaskEnd::Usage(format!("there is no scenario {name}: the scenarios are {}", names.join(", "))).into()
        );
    }
    read(&folder.join(format!("{name}.script")))
}

/// Runs a script; prints what it tells if it tells anything, and otherwise what it came to.
fn run(script: &Script) -> anyhow::Result<()> {
    let (began, began_cpu_s) = (Instant::now(), cpu_s()?);
    let (result, told) = script.tell();
    if !told.is_empty() {
        say(told.trim_end())?;
    }
    let summary = result?;
    if script.show.names.is_empty() {
        let (took, cpu_s) = (began.elapsed(), cpu_s()? - began_cpu_s);
        let course = LongRun { ran: 1, took, cpu_s, threads: 1, stopped: false };
        say(table(&summary, 0, &course))?;
    }
    Ok(())
}

/// Runs every seed twice: the same seed must be the same run.
///
/// # Errors
/// One is not.
pub fn twice(seeds: Range<u64>, shape: SeedPlan) -> anyhow::Result<()> {
    let differing = Mutex::new(Vec::new());
    let course = on_all_cores(&Stop::on_interrupt()?, seeds, None, |seed, progress| {
        let script = Script::of(seed, &shape(seed));
        if script.tell() != script.tell() {
            progress.say(format_args!("two runs of seed {seed} differ"))?;
            differing.lock().unwrap_or_else(PoisonError::into_inner).push(seed);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let differing = differing.into_inner().unwrap_or_else(PoisonError::into_inner).len();
    say(format_args!("{} seeds ran twice, {differing} of them with another trace", course.ran))?;
    course.or_stopped()?;
    if differing > 0 {
        bail!("two runs of {differing} seeds differ: compare the traces of their --seed N --trace");
    }
    Ok(())
}
