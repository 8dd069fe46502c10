//! A store under its clients, as a trial drives it.

use super::clients::{Clients, TrialPhase};
use super::disk::SimulatedDisk;
use super::settings::StoreTrialError;

/// Is told how many operations are answered.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// A store with its clients on a disk.
pub trait StoreRun {
    /// Begins a phase.
    fn begin(&mut self, phase: TrialPhase);

    /// Runs to the end of the phase.
    ///
    /// # Errors
    /// Drive or store failed, or nothing goes on.
    fn run(&mut self, progress: Progress<'_>) -> Result<(), StoreTrialError>;

    /// Looks at clients and disk.
    fn look<R>(&mut self, look: impl FnOnce(&mut Clients, &SimulatedDisk) -> R) -> R
    where
        Self: Sized;

    /// Bytes that gets have read so far.
    fn get_bytes(&mut self) -> u64;

    /// What FAWN's store reports of itself.
    fn store_stats(&mut self) -> Option<fawn_store::Stats> {
        None
    }
}
