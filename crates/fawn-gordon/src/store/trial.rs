//! Runs a store: loads it, overwrites it until the bound of the warm-up, and measures.

use super::clients::{Clients, TrialPhase};
use super::disk::SimulatedDisk;
use super::fawn::FawnRun;
use super::lsm::LsmRun;
use super::page_store::PageRun;
use super::result::{StoreResult, TrialCounts};
use super::settings::{
    DriveSettings, HEADER_BYTES, StoreDesign, StoreTrialError, StoreWorkload, WorkloadNumber, store_options,
};
use super::snapshot::Snapshot;
use super::store_run::{Progress, StoreRun};

/// Operations of all phases.
pub fn operations(workload: &StoreWorkload) -> u64 {
    [TrialPhase::Load, TrialPhase::WarmUp, TrialPhase::Measure]
        .into_iter()
        .map(|phase| Clients::operations(workload, phase))
        .sum()
}

/// Runs a store on a drive. `progress` is told how many operations are answered of [`operations`].
///
/// # Errors
/// The numbers make no sense, the records do not fit, drive or store failed.
pub fn run(
    workload: &StoreWorkload,
    drive: &DriveSettings,
    design: StoreDesign,
    progress: Progress<'_>,
) -> Result<StoreResult, StoreTrialError> {
    workload.check()?;
    let needed = workload.live_bytes() / 20 * 21;
    if needed > drive.bytes {
        return Err(StoreTrialError::TooSmall { needed, bytes: drive.bytes });
    }
    let clients = Clients::new(*workload);
    let disk = |keeps_bytes| SimulatedDisk::new(drive, keeps_bytes, false);
    match design {
        StoreDesign::Fawn { memory_bytes } => {
            let options = store_options(memory_bytes);
            let most = options.segment_bytes as u64 / 4 - 256;
            if workload.record_bytes() > most {
                return Err(StoreTrialError::Number {
                    number: WorkloadNumber::ValueBytes,
                    value: f64::from(workload.value_bytes),
                    low: 8.0,
                    high: (most - HEADER_BYTES) as f64,
                });
            }
            measure(&mut FawnRun::open(disk(true)?, options, clients)?, workload, drive, design, progress)
        }
        StoreDesign::PageStore => {
            measure(&mut PageRun::open(disk(false)?, clients)?, workload, drive, design, progress)
        }
        StoreDesign::Lsm { memtable_bytes } => {
            measure(&mut LsmRun::open(disk(false)?, clients, memtable_bytes)?, workload, drive, design, progress)
        }
    }
}

fn measure(
    run: &mut impl StoreRun,
    workload: &StoreWorkload,
    drive: &DriveSettings,
    design: StoreDesign,
    progress: Progress<'_>,
) -> Result<StoreResult, StoreTrialError> {
    for phase in [TrialPhase::Load, TrialPhase::WarmUp] {
        run.begin(phase);
        run.run(progress)?;
    }
    let before = Snapshot::of(run);
    run.begin(TrialPhase::Measure);
    run.run(progress)?;
    let after = Snapshot::of(run);
    let answers = run.look(|clients, _| clients.answers().clone());
    let (drive_bytes, design_run) = run.look(|_, disk| {
        let device = disk.device();
        (device.bytes(), device.array().design().clone())
    });
    let measured = TrialCounts { before, after, answers, drive_bytes, flash: design_run };
    Ok(StoreResult::of(workload, drive, design, &measured))
}
