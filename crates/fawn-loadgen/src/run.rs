//! A run: a calibration, a load, a measurement, whichever are asked for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fawn_machine::host::available_memory;
use fawn_report::{BenchReport, Watch};

use crate::calibrate::calibrate;
use crate::error::LoadgenError;
use crate::phase::{LoadPhase, PhaseResult, carry_out};
use crate::plan::{LoadPace, LoadPlan, Spacing};
use crate::report;
use crate::stats::{Faults, OperationStats};
use crate::versions::KeyVersions;

/// What a run has found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Its report.
    pub report: BenchReport,
    /// Gets that found no value, within the time that was measured.
    pub misses: u64,
    /// Values that cannot be.
    pub wrong: Faults,
    /// Errors that the server answered with.
    pub refused: Faults,
}

/// Does what `plan` asks for.
///
/// # Errors
/// What the servers or the system do that ends a run; a calibration's, too.
pub fn run(plan: &LoadPlan, watch: &dyn Watch) -> Result<Findings, LoadgenError> {
    let has_target = !plan.targets.is_empty();
    let is_measured = has_target && (plan.operations.is_some() || !plan.time.is_zero());
    if is_measured || plan.calibrate {
        refuse_too_many_keys(plan, available_memory())?;
    }
    if let Some(meter) = &plan.meter {
        if !meter.owed_rest().is_zero() {
            watch.progress(0, 1, "metering the machine at rest");
        }
        meter.rest()?;
    }
    let floor = if plan.calibrate { Some(calibrate(plan, watch)?) } else { None };
    let base = version_base();
    let load = if plan.load && has_target { Some(load(plan, base, watch)?) } else { None };
    let measured = if is_measured {
        let versions = KeyVersions::new(plan.keys, base, plan.load, plan.mix.replaces());
        let phase = LoadPhase {
            is_load: false,
            operations: plan.operations,
            // A number of operations is counted from the first.
            warm_up: if plan.operations.is_some() { Duration::ZERO } else { plan.warm_up },
            time: if plan.operations.is_some() { Duration::MAX } else { plan.time },
            pace: plan.pace,
            shown: None,
            grace: None,
            follows_idle: false,
            what: "measuring",
        };
        Some(carry_out(plan, phase, &versions, watch)?)
    } else {
        None
    };
    let report = report::report(plan, floor.as_ref(), load.as_ref(), measured.as_ref());
    let OperationStats { misses, wrong, refused, .. } = measured.map(|measured| measured.stats).unwrap_or_default();
    Ok(Findings { report, misses, wrong, refused })
}

/// Refuses more keys than there is DRAM to keep track of.
///
/// # Errors
/// [`LoadgenError::Memory`].
pub fn refuse_too_many_keys(plan: &LoadPlan, available: Option<u64>) -> Result<(), LoadgenError> {
    let needed = KeyVersions::bytes(plan.keys, plan.mix.replaces());
    match available {
        Some(available) if needed > available => {
            let told = |bytes: u64| fawn_report::amount::bytes(bytes as f64);
            Err(LoadgenError::Memory { keys: plan.keys, needed: told(needed), available: told(available) })
        }
        _ => Ok(()),
    }
}

/// Sets every key, again where that is refused.
///
/// # Errors
/// [`LoadgenError::Refused`], and what ends a phase.
pub fn load(plan: &LoadPlan, base: u32, watch: &dyn Watch) -> Result<PhaseResult, LoadgenError> {
    let versions = KeyVersions::new(plan.keys, base, false, false);
    let pace = plan.load_rate.map(|rate| LoadPace { rate, spacing: Spacing::Fixed });
    let phase = LoadPhase {
        is_load: true,
        operations: None,
        warm_up: Duration::ZERO,
        time: Duration::MAX,
        pace,
        shown: None,
        grace: None,
        follows_idle: false,
        what: "loading",
    };
    let loaded = carry_out(plan, phase, &versions, watch)?;
    match &loaded.stats.refused {
        Faults { first: Some(first), count } => {
            Err(LoadgenError::Refused { count: *count, keys: plan.keys, first: first.clone() })
        }
        _ => Ok(loaded),
    }
}

/// What versions of this run begin after: later runs have later ones.
pub fn version_base() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs() as u32)
}
