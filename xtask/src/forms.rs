//! What of the simulator's arguments goes together: the forms of `cargo xtask sim`, each of which is one kind of run.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use fawn_sim::cluster::Plan;
use fawn_sim::cluster::injected_bugs::Bug;

use crate::command::{PlantedBugs, SimArguments};
use crate::ended::TaskEnd;
use crate::sim_syntax::{RULES, Rule};

/// What a seed's cluster is.
pub type SeedPlan = fn(u64) -> Plan;

/// How long each planted bug is looked for, in minutes.
const PLANTED_MINUTES: u64 = 15;

/// Seeds of `--pauses`.
const PAUSES: Range<u64> = 0..300;

/// What to run.
#[derive(Debug)]
pub enum SimForm {
    /// Many seeds, for some time or until they end.
    Seeds { seeds: Range<u64>, within: Option<Duration>, shape: SeedPlan },
    /// Each seed twice.
    Twice { seeds: Range<u64>, shape: SeedPlan },
    /// One run.
    One(One),
    /// A bug, and one run with it.
    PlantedIn(Bug, One),
    /// Bugs, and for how long each is looked for.
    PlantedFor(Vec<Bug>, Duration),
    /// Clusters of so many nodes.
    Scale(Vec<u32>),
    /// How long changes stop writes.
    Pauses(Range<u64>),
}

/// One run.
#[derive(Debug)]
pub enum One {
    /// Of a seed.
    Seed { seed: u64, shape: SeedPlan, trace: bool },
    /// Of a seed, made small.
    Shrink { seed: u64, shape: SeedPlan },
    /// Of a file.
    Script { path: PathBuf, trace: bool },
    /// Of the test data.
    Scenario { name: String, trace: bool },
}

/// The form that the arguments have.
///
/// # Errors
/// [`TaskEnd::Usage`]: they have none.
pub fn form(arguments: SimArguments) -> Result<SimForm, TaskEnd> {
    check(&arguments)?;
    let SimArguments {
        seeds,
        minutes,
        from,
        seed,
        script,
        scenario,
        trace,
        shrink,
        twice,
        planted,
        scale,
        pauses,
        weak,
    } = arguments;
    let bug = match planted {
        Some(PlantedBugs::One(bug)) => Some(bug),
        Some(PlantedBugs::All) if seed.is_some() || script.is_some() => {
            return wrong("--planted all does not apply to one run: name one bug, e.g. --planted NoFence");
        }
        Some(PlantedBugs::All) | None => None,
    };
    let weak = weak || bug.is_some_and(Bug::is_weak);
    let shape: SeedPlan = if weak { Plan::weak } else { Plan::of };
    let one = match (seed, script, scenario) {
        (Some(seed), ..) if shrink => Some(One::Shrink { seed, shape }),
        (Some(seed), ..) => Some(One::Seed { seed, shape, trace }),
        (None, Some(path), _) => Some(One::Script { path, trace }),
        (None, None, Some(name)) => Some(One::Scenario { name, trace }),
        (None, None, None) => None,
    };
    if let Some(one) = one {
        return Ok(match bug {
            Some(bug) => SimForm::PlantedIn(bug, one),
            None => SimForm::One(one),
        });
    }
    if planted.is_some() {
        let bugs = bug.map_or_else(|| Bug::ALL.to_vec(), |bug| vec![bug]);
        return Ok(SimForm::PlantedFor(bugs, Duration::from_mins(minutes.unwrap_or(PLANTED_MINUTES))));
    }
    if let Some(minutes) = minutes {
        let seeds = from.unwrap_or(0)..u64::MAX;
        if seeds.is_empty() {
            return wrong("--from leaves no seed: give a smaller one");
        }
        return Ok(SimForm::Seeds { seeds, within: Some(Duration::from_mins(minutes)), shape });
    }
    if let Some(sizes) = scale {
        return Ok(SimForm::Scale(sizes.0));
    }
    if pauses {
        return Ok(SimForm::Pauses(seeds.unwrap_or(PAUSES)));
    }
    match (twice, seeds) {
        (Some(seeds), _) => Ok(SimForm::Twice { seeds, shape }),
        (None, Some(seeds)) => Ok(SimForm::Seeds { seeds, within: None, shape }),
        (None, None) => wrong(NOTHING),
    }
}

/// What is said to someone who has not said enough.
const NOTHING: &str = "choose what to simulate, e.g. --seeds 0..100: see cargo xtask sim --help";

/// Whether all that is given belongs to one form.
fn check(arguments: &SimArguments) -> Result<(), TaskEnd> {
    let given = given(arguments);
    let meets = |rule: &&Rule| rule.needs.iter().all(|need| given.contains(need));
    let Some(rule) = RULES.iter().find(meets) else { return wrong(NOTHING) };
    let Rule { needs, may, usage } = rule;
    if let Some(stray) = given.iter().find(|name| !needs.contains(name) && !may.contains(name)) {
        return wrong(&format!("{stray} does not apply to {}: the form is {usage}", needs.join(" and ")));
    }
    if arguments.trace && arguments.shrink {
        return wrong("--trace does not apply to --shrink: shrink the run, then trace the script");
    }
    Ok(())
}

/// The names of what is given.
fn given(arguments: &SimArguments) -> Vec<&'static str> {
    let all = [
        ("--seeds", arguments.seeds.is_some()),
        ("--minutes", arguments.minutes.is_some()),
        ("--from", arguments.from.is_some()),
        ("--seed", arguments.seed.is_some()),
        ("--script", arguments.script.is_some()),
        ("--scenario", arguments.scenario.is_some()),
        ("--trace", arguments.trace),
        ("--shrink", arguments.shrink),
        ("--twice", arguments.twice.is_some()),
        ("--planted", arguments.planted.is_some()),
        ("--scale", arguments.scale.is_some()),
        ("--pauses", arguments.pauses),
        ("--weak", arguments.weak),
    ];
    all.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect()
}

fn wrong<T>(sentence: &str) -> Result<T, TaskEnd> {
    Err(TaskEnd::Usage(sentence.to_owned()))
}
