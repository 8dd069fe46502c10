//! Runs a store: loads it, overwrites it until the bound of the warm-up, and measures.

use super::clients::{Clients, Phase};
use super::disk::{Disk, DriveTraffic};
use super::fawn::FawnRun;
use super::lsm::LsmRun;
use super::page_store::PageRun;
use super::result::{Measured, StoreResult};
use super::settings::{DriveSettings, StoreDesign, StoreTrialError, StoreWorkload, store_options};
use crate::flash::usage::ArrayUsage;
use crate::ftl::translation::FtlCounts;
use crate::ftl::wear::WearSpread;

/// Is told how many operations are answered.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// A store with its clients on a disk.
pub trait StoreRun {
    /// Begins a phase.
    fn begin(&mut self, phase: Phase);

    /// Runs to the end of the phase.
    ///
    /// # Errors
    /// Drive or store failed, or nothing goes on.
    fn run(&mut self, progress: Progress<'_>) -> Result<(), StoreTrialError>;

    /// Looks at clients and disk.
    fn look<R>(&mut self, look: impl FnOnce(&mut Clients, &Disk) -> R) -> R
    where
        Self: Sized;

    /// Bytes that gets have read so far.
    fn get_bytes(&mut self) -> u64;

    /// What FAWN's store reports of itself.
    fn store_stats(&mut self) -> Option<fawn_store::Stats> {
        None
    }
}

/// What is counted at a moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Of the array.
    pub usage: ArrayUsage,
    /// Of the FTL.
    pub ftl: FtlCounts,
    /// Of its blocks.
    pub wear: WearSpread,
    /// Of the host.
    pub traffic: DriveTraffic,
    /// Bytes that gets have read.
    pub get_bytes: u64,
    /// Of FAWN's store.
    pub store: Option<fawn_store::Stats>,
}

impl Snapshot {
    fn of(run: &mut impl StoreRun) -> Self {
        let (get_bytes, store) = (run.get_bytes(), run.store_stats());
        run.look(|_, disk| {
            let translation = disk.device().translation();
            Self {
                usage: disk.device().array().usage(),
                ftl: translation.counts(),
                wear: translation.wear(),
                traffic: disk.traffic(),
                get_bytes,
                store,
            }
        })
    }
}

/// Operations of all phases.
pub fn operations(workload: &StoreWorkload) -> u64 {
    [Phase::Load, Phase::WarmUp, Phase::Measure].into_iter().map(|phase| Clients::operations(workload, phase)).sum()
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
    let disk = |keeps_bytes| Disk::new(drive, keeps_bytes, false);
    match design {
        StoreDesign::Fawn { memory_bytes } => {
            let options = store_options(memory_bytes);
            let most = options.segment_bytes as u64 / 4 - 256;
            if workload.record_bytes() > most {
                let (name, high) = ("value bytes", (most - super::settings::HEADER_BYTES) as f64);
                return Err(StoreTrialError::Number { name, value: f64::from(workload.value_bytes), low: 8.0, high });
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
    for phase in [Phase::Load, Phase::WarmUp] {
        run.begin(phase);
        run.run(progress)?;
    }
    let before = Snapshot::of(run);
    run.begin(Phase::Measure);
    run.run(progress)?;
    let after = Snapshot::of(run);
    let answers = run.look(|clients, _| clients.answers().clone());
    let (drive_bytes, design_run) = run.look(|_, disk| {
        let device = disk.device();
        (device.bytes(), device.array().design().clone())
    });
    let measured = Measured { before, after, answers, drive_bytes, flash: design_run };
    Ok(StoreResult::of(workload, drive, design, &measured))
}
