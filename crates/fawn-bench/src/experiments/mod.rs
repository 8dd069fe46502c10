//! What can be measured.

mod get;
mod hit;
mod load;
mod mixed;
mod overwrite;
mod pace;
mod restart;
mod split;
mod table;

use fawn_report::{BenchReport, Watch};
use serde::Serialize;

use crate::error::Error;
use crate::journal::Journal;
use crate::session::{Session, Setup};

pub use self::get::Get;
pub use self::hit::Hit;
pub use self::mixed::{Absent, Mixed};
pub use self::overwrite::Overwrite;
pub use self::pace::Pace;
pub use self::restart::{Restart, load_until_killed};
pub use self::split::Split;
pub use self::table::Table;

/// An experiment with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Experiment {
    /// All entries are put.
    Load,
    /// Gets of entries at random, beside reads of the device.
    Get(Get),
    /// Gets that DRAM answers.
    Hit(Hit),
    /// All entries are overwritten.
    Overwrite(Overwrite),
    /// Gets and puts.
    Mixed(Mixed),
    /// Gets of keys that are not there.
    Absent(Absent),
    /// Gets at a pace, with and without maintenance.
    Pace(Pace),
    /// A range is cut in two and joined again, beside gets and puts.
    Split(Split),
    /// A load is killed, and the store opened again.
    Restart(Restart),
    /// All of the others for values and budgets of several sizes.
    Table(Table),
}

impl Experiment {
    /// What it is called.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Get(_) => "get",
            Self::Hit(_) => "hit",
            Self::Overwrite(_) => "overwrite",
            Self::Mixed(_) => "mixed",
            Self::Absent(_) => "absent",
            Self::Pace(_) => "pace",
            Self::Split(_) => "split",
            Self::Restart(_) => "restart",
            Self::Table(_) => "table",
        }
    }

    /// Under which name its result is kept: another one if anything is different that counts.
    fn name(&self, session: &Session<'_>) -> String {
        let of_age = |text: String| format!("{text} age={}", session.age());
        let of_setup = session.setup.words();
        match self {
            Self::Load => format!("load {of_setup}"),
            Self::Get(get) => of_age(format!("get {} {of_setup}", parameters(get))),
            Self::Hit(hit) => of_age(format!("hit {} {of_setup}", parameters(hit))),
            Self::Overwrite(overwrite) => format!("overwrite {} {of_setup}", parameters(overwrite)),
            Self::Mixed(mixed) => format!("mixed {} {of_setup}", parameters(mixed)),
            Self::Absent(absent) => of_age(format!("absent {} {of_setup}", parameters(absent))),
            Self::Pace(pace) => format!("pace {} {of_setup}", parameters(pace)),
            Self::Split(split) => format!("split {} {of_setup}", parameters(split)),
            Self::Restart(_) | Self::Table(_) => unreachable!("these name their results themselves"),
        }
    }
}

/// Parameters as text.
fn parameters(of: &impl Serialize) -> String {
    serde_json::to_string(of).expect("parameters are plain data")
}

/// Runs an experiment, loading the data first if they are not there; what was measured before is told again, unless it
/// is to be measured anew.
///
/// # Errors
/// [`Error`]: each says what to do.
pub fn run(setup: &Setup, experiment: &Experiment, watch: &dyn Watch) -> Result<BenchReport, Error> {
    match experiment {
        Experiment::Restart(restart) => restart.run(setup, watch),
        Experiment::Table(table) => table.run(setup, watch),
        _ => measure(setup, experiment, watch).map(|(report, _)| report),
    }
}

/// The same for an experiment on one set of data; also the name under which its result is kept.
///
/// # Errors
/// As [`run`].
pub(crate) fn measure(
    setup: &Setup,
    experiment: &Experiment,
    watch: &dyn Watch,
) -> Result<(BenchReport, String), Error> {
    setup.check()?;
    let mut journal = Journal::open(&setup.dir)?;
    if *experiment == Experiment::Load && setup.again {
        journal.delete()?;
    }
    let mut session = Session::of(setup, journal, watch)?;
    if *experiment == Experiment::Load {
        let name = experiment.name(&session);
        let report = match session.journal.result(&name).cloned() {
            Some(report) => {
                told_again(watch);
                report
            }
            None => load::run(&mut session, &name)?,
        };
        session.close()?;
        return Ok((report, name));
    }
    if !session.is_loaded() {
        let name = Experiment::Load.name(&session);
        load::run(&mut session, &name)?;
    }
    let name = experiment.name(&session);
    if let Some(report) = session.kept(&name)? {
        told_again(watch);
        return Ok((report, name));
    }
    let report = match experiment {
        Experiment::Load | Experiment::Restart(_) | Experiment::Table(_) => unreachable!("they were dealt with above"),
        Experiment::Get(get) => get.run(&mut session, &name)?,
        Experiment::Hit(hit) => hit.run(&mut session, &name)?,
        Experiment::Overwrite(overwrite) => overwrite.run(&mut session, &name)?,
        Experiment::Mixed(mixed) => mixed.run(&mut session, &name)?,
        Experiment::Absent(absent) => absent.run(&mut session, &name)?,
        Experiment::Pace(pace) => pace.run(&mut session, &name)?,
        Experiment::Split(split) => split.run(&mut session, &name)?,
    };
    session.close()?;
    Ok((report, name))
}

fn told_again(watch: &dyn Watch) {
    watch.note("this result is from an earlier measurement; --again measures it again");
}
