//! The simulator of a whole cluster: many seeds, or one of them again. [`forms`](super::forms) has the command line.
//! Whatever is found ends with an error.

use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use fawn_sim::cluster::{Script, Summary};

use crate::forms::{SeedPlan, SimForm};
use crate::seeds::{Stop, on_all_cores};
use crate::summary::{paths, table};
use crate::tell::say;
use crate::{planted, scale, script};

/// Runs for some minutes take every path at least so often.
const LEAST_TAKEN: u64 = 100;

/// Seeds that are named of all that were violated.
const NAMED: usize = 20;

/// Runs what the form says.
///
/// # Errors
/// A violation, or why it cannot run.
pub fn run_task(form: SimForm) -> anyhow::Result<()> {
    match form {
        SimForm::Seeds { seeds, within, shape } => many(seeds, within, shape),
        SimForm::Twice { seeds, shape } => script::twice(seeds, shape),
        SimForm::One(one) => script::run_one(&one, None),
        SimForm::PlantedIn(bug, one) => planted::run_one(bug, &one),
        SimForm::PlantedFor(bugs, within) => planted::find(&bugs, within),
        SimForm::Scale(sizes) => scale::scale(&sizes),
        SimForm::Pauses(seeds) => scale::pauses(seeds),
    }
}

/// Runs seeds on all cores, and tells what came of them.
fn many(seeds: Range<u64>, within: Option<Duration>, shape: SeedPlan) -> anyhow::Result<()> {
    let (total, violations) = (Mutex::new(Summary::default()), Mutex::new(Vec::new()));
    let course = on_all_cores(&Stop::on_interrupt()?, seeds, within, |seed, progress| {
        match Script::of(seed, &shape(seed)).tell().0 {
            Ok(summary) => total.lock().unwrap_or_else(PoisonError::into_inner).add(&summary),
            Err(violation) => {
                violations.lock().unwrap_or_else(PoisonError::into_inner).push(seed);
                progress.say(violation)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let sum = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut violations = violations.into_inner().unwrap_or_else(PoisonError::into_inner);
    violations.sort_unstable();
    say(table(&sum, violations.len(), &course))?;
    course.or_stopped()?;
    if !violations.is_empty() {
        let named: Vec<String> = violations.iter().take(NAMED).map(ToString::to_string).collect();
        let more = violations.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = named.join(", ");
        bail!("violated by seeds {named}{more}: repeat one with cargo xtask sim --seed N --trace, or --shrink");
    }
    let seldom: Vec<_> = sum.coverage.counts().filter(|(_, count)| *count < LEAST_TAKEN).collect();
    // A weak cluster has no use for many of them.
    if within.is_some() && !seldom.is_empty() && sum.weakened == 0 {
        let (count, all) = (seldom.len(), sum.coverage.counts().count());
        say(format_args!("\nseldom\n{}", paths(seldom)))?;
        bail!("{count} of {all} paths were taken fewer than {LEAST_TAKEN} times (listed as seldom): run longer");
    }
    Ok(())
}
