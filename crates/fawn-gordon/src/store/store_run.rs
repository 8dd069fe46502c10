//! A store under its clients, as a trial drives it.

use super::clients::{Clients, TrialPhase};
use super::disk::SimulatedDisk;
use super::settings::StoreTrialError;

/// Is told how many operations are answered.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// A store with its clients on a disk.
pub trait StoreRun {
    /// One step of the store's background work, or the next event if it has none.
    ///
    /// # Errors
    /// Drive or store failed, or nothing goes on.
    fn turn(&mut self) -> Result<(), StoreTrialError>;

    /// Looks at clients and disk.
    fn look<R>(&mut self, look: impl FnOnce(&mut Clients, &SimulatedDisk) -> R) -> R;

    /// Bytes that gets have read so far.
    fn get_bytes(&mut self) -> u64;

    /// What FAWN's store reports of itself.
    fn store_stats(&mut self) -> Option<fawn_store::Stats> {
        None
    }

    /// Begins a phase.
    fn begin(&mut self, phase: TrialPhase) {
        self.look(|clients, disk| clients.begin(phase, disk.now()));
    }

    /// Runs to the end of the phase.
    ///
    /// # Errors
    /// As for [`turn`](Self::turn).
    fn run(&mut self, progress: Progress<'_>) -> Result<(), StoreTrialError> {
        while !self.look(|clients, _| clients.is_done()) {
            self.turn()?;
            progress(self.look(|clients, _| clients.answered()));
        }
        Ok(())
    }
}
