//! An experiment on one set of data, which is loaded first; what was measured before is told again.

use fawn_report::{BenchReport, Watch};
use serde::Serialize;

use super::{
    AbsentExperiment, GetExperiment, HitExperiment, MixedExperiment, OverwriteExperiment, PaceExperiment,
    SplitExperiment, load as load_experiment,
};
use crate::error::Error;
use crate::journal::Journal;
use crate::session::BenchSession;
use crate::setup::Setup;

/// What a load is called.
pub const LOAD: &str = "load";

/// An experiment on data that are loaded.
pub trait StoreExperiment: Serialize {
    /// What it is called.
    const WORD: &'static str;
    /// Whether its result is another one once the data have changed.
    const DEPENDS_ON_AGE: bool;

    /// Measures, and keeps the report under this name.
    fn measure(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error>;

    /// Under which name its result is kept: another one if anything is different that counts.
    fn result_name(&self, session: &BenchSession<'_>) -> String {
        let name = format!("{} {} {}", Self::WORD, parameters(self), session.setup.words());
        if Self::DEPENDS_ON_AGE { format!("{name} age={}", session.age()) } else { name }
    }
}

macro_rules! store_experiments {
    ($($experiment:ty, $word:literal, $depends_on_age:literal;)+) => {
        $(impl StoreExperiment for $experiment {
            const WORD: &'static str = $word;
            const DEPENDS_ON_AGE: bool = $depends_on_age;

            fn measure(&self, session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
                self.run(session, name)
            }
        })+
    };
}

store_experiments! {
    GetExperiment, "get", true;
    HitExperiment, "hit", true;
    OverwriteExperiment, "overwrite", false;
    MixedExperiment, "mixed", false;
    AbsentExperiment, "absent", true;
    PaceExperiment, "pace", false;
    SplitExperiment, "split", false;
}

/// Parameters as text.
pub fn parameters(of: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(of).expect("parameters are plain data")
}

/// Says that a result was not measured just now.
pub fn told_again(watch: &dyn Watch) {
    watch.note("this result is from an earlier measurement; --again measures it again");
}

/// Loads the data, or tells what that has come to before; also the name under which that is kept.
///
/// # Errors
/// [`Error`]: each says what to do.
pub fn load(setup: &Setup, watch: &dyn Watch) -> Result<(BenchReport, String), Error> {
    setup.check()?;
    let mut journal = Journal::open(&setup.dir)?;
    if setup.again {
        journal.delete()?;
    }
    let mut session = BenchSession::of(setup, journal, watch)?;
    let name = load_name(&session);
    let report = match session.journal.result(&name).cloned() {
        Some(report) => {
            told_again(watch);
            report
        }
        None => load_experiment::run(&mut session, &name)?,
    };
    session.close()?;
    Ok((report, name))
}

/// Runs an experiment, loading the data first if they are not there; also the name under which its result is kept.
///
/// # Errors
/// [`Error`]: each says what to do.
pub fn measure(
    setup: &Setup,
    experiment: &impl StoreExperiment,
    watch: &dyn Watch,
) -> Result<(BenchReport, String), Error> {
    setup.check()?;
    let mut session = BenchSession::of(setup, Journal::open(&setup.dir)?, watch)?;
    if !session.is_loaded() {
        let name = load_name(&session);
        load_experiment::run(&mut session, &name)?;
    }
    let name = experiment.result_name(&session);
    if let Some(report) = session.kept(&name)? {
        told_again(watch);
        return Ok((report, name));
    }
    let report = experiment.measure(&mut session, &name)?;
    session.close()?;
    Ok((report, name))
}

fn load_name(session: &BenchSession<'_>) -> String {
    format!("{LOAD} {}", session.setup.words())
}
