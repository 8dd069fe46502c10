//! Bugs that are planted on purpose, for the simulator to find. They exist in builds with the feature `planted` alone; a
//! program without them builds the one that has them and becomes it.

use std::time::Duration;

use fawn_sim::cluster::injected_bugs::Bug;

use crate::forms::One;

/// Plants a bug, and runs a seed or a script.
///
/// # Errors
/// The bug is found, as any violation is.
#[cfg(not(feature = "planted"))]
pub fn run_one(_: Bug, one: &One) -> anyhow::Result<()> {
    // Not after a long build.
    if let One::Script { path, .. } = one {
        crate::script::read(path)?;
    }
    with_planted()
}

/// Plants each bug and runs seeds until one of them fails.
///
/// # Errors
/// A bug that is not found.
#[cfg(not(feature = "planted"))]
pub fn find(_: &[Bug], _: Duration) -> anyhow::Result<()> {
    with_planted()
}

/// Becomes the program with the bugs, with the same arguments.
#[cfg(not(feature = "planted"))]
fn with_planted() -> anyhow::Result<()> {
    crate::tell::tell(
        "sim: building the simulator with the bugs first, which takes a minute or two unless it was built before",
    );
    let options = ["--profile", "sim", "--package", "xtask", "--features", "planted"];
    crate::process::become_cargo_run(&options, std::env::args_os().skip(1))
}

#[cfg(feature = "planted")]
pub use with::{find, run_one};

#[cfg(feature = "planted")]
mod with {
    use std::ops::ControlFlow;
    use std::sync::{Mutex, PoisonError};

    use anyhow::bail;
    use fawn_sim::cluster::injected_bugs::plant;
    use fawn_sim::cluster::{Plan, Script};

    use super::{Bug, Duration, One};
    use crate::forms::SeedPlan;
    use crate::seeds::{LongRun, Stop, on_all_cores};
    use crate::tell::say;

    /// Characters of what a bug is found by.
    const SHOWN: usize = 110;

    /// Plants a bug, and runs a seed or a script.
    pub fn run_one(bug: Bug, one: &One) -> anyhow::Result<()> {
        plant(Some(bug));
        crate::script::run_one(one, Some(bug))
    }

    /// Plants each bug and runs seeds until one of them fails.
    pub fn find(bugs: &[Bug], within: Duration) -> anyhow::Result<()> {
        let (mut missed, mut times, mut ran) = (Vec::new(), Vec::new(), 0);
        let stop = Stop::on_interrupt()?;
        let mut stopped = false;
        say(format_args!("{:<24} {:>8} {:>10}  found by", "planted", "seeds", "CPU s"))?;
        for bug in bugs {
            let (course, found) = look_for(*bug, within, &stop)?;
            ran += course.ran;
            stopped = course.stopped;
            let seconds = course.cpu_s;
            let what = match &found {
                Some(what) => what.lines().next().unwrap_or_default().chars().take(SHOWN).collect(),
                None if stopped => "not yet".to_owned(),
                None => "NOT FOUND".to_owned(),
            };
            say(format_args!("{:<24} {:>8} {seconds:>10.1}  {what}", format!("{bug:?}"), course.ran))?;
            match found {
                Some(_) => times.push(seconds),
                None if stopped => {}
                None => missed.push(format!("{bug:?}")),
            }
            if stopped {
                break;
            }
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).unwrap_or(&0.0);
        say(format_args!("found {} of {}, median {median:.1} CPU s", times.len(), times.len() + missed.len()))?;
        if stopped {
            return Err(crate::ended::TaskEnd::Stopped(ran).into());
        }
        if !missed.is_empty() {
            bail!("not found, so run longer or improve the simulator: {}", missed.join(", "));
        }
        Ok(())
    }

    /// Plants one bug; returns what it was found by.
    fn look_for(bug: Bug, within: Duration, stop: &Stop) -> anyhow::Result<(LongRun, Option<String>)> {
        plant(Some(bug));
        let shape: SeedPlan = if bug.is_weak() { Plan::weak } else { Plan::of };
        let found = Mutex::new(None);
        let course = on_all_cores(stop, 0..u64::MAX, Some(within), |seed, _| {
            let Err(violation) = Script::of(seed, &shape(seed)).tell().0 else {
                return Ok(ControlFlow::Continue(()));
            };
            found.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(violation.to_string());
            Ok(ControlFlow::Break(()))
        })?;
        Ok((course, found.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }
}
