//! What can be measured.

mod get;
mod hit;
mod load;
mod measure;
mod mixed;
mod overwrite;
mod pace;
mod restart;
mod split;
mod table;

use fawn_report::{BenchReport, Watch};

use crate::error::Error;
use crate::setup::Setup;

pub use self::get::GetExperiment;
pub use self::hit::HitExperiment;
pub use self::mixed::{AbsentExperiment, MixedExperiment};
pub use self::overwrite::OverwriteExperiment;
pub use self::pace::PaceExperiment;
pub use self::restart::{RestartExperiment, load_until_killed};
pub use self::split::SplitExperiment;
pub use self::table::TableExperiment;

/// An experiment with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Experiment {
    /// All entries are put.
    Load,
    /// Gets of entries at random, beside reads of the device.
    Get(GetExperiment),
    /// Gets that DRAM answers.
    Hit(HitExperiment),
    /// All entries are overwritten.
    Overwrite(OverwriteExperiment),
    /// Gets and puts.
    Mixed(MixedExperiment),
    /// Gets of keys that are not there.
    Absent(AbsentExperiment),
    /// Gets at a pace, with and without maintenance.
    Pace(PaceExperiment),
    /// A range is cut in two and joined again, beside gets and puts.
    Split(SplitExperiment),
    /// A load is killed, and the store opened again.
    Restart(RestartExperiment),
    /// All of the others for values and budgets of several sizes.
    Table(TableExperiment),
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
        _ => measure_one(setup, experiment, watch).map(|(report, _)| report),
    }
}

/// The same for an experiment on one set of data; also the name under which its result is kept.
///
/// # Errors
/// As [`run`].
pub(crate) fn measure_one(
    setup: &Setup,
    experiment: &Experiment,
    watch: &dyn Watch,
) -> Result<(BenchReport, String), Error> {
    match experiment {
        Experiment::Load => measure::load(setup, watch),
        Experiment::Get(get) => measure::measure(setup, get, watch),
        Experiment::Hit(hit) => measure::measure(setup, hit, watch),
        Experiment::Overwrite(overwrite) => measure::measure(setup, overwrite, watch),
        Experiment::Mixed(mixed) => measure::measure(setup, mixed, watch),
        Experiment::Absent(absent) => measure::measure(setup, absent, watch),
        Experiment::Pace(pace) => measure::measure(setup, pace, watch),
        Experiment::Split(split) => measure::measure(setup, split, watch),
        Experiment::Restart(_) | Experiment::Table(_) => unreachable!("these have data of their own"),
    }
}
