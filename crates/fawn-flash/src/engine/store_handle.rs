//! [`StoreHandle`]: what an [`Engine`](super::Engine) asks of the store that it runs.

use fawn_store::work::{MaintenanceEvent, MaintenanceWork};
use fawn_store::{Batch, Store, WrittenBatch};

/// A store that an engine runs: a [`Store`], or what wraps one.
pub trait StoreHandle {
    /// The store itself, for figures.
    fn inner(&self) -> &Store;
    /// As [`Store::tick`].
    fn tick(&mut self, now: u32, settled: bool);
    /// The next batch of the log to write, as [`Store::take_batch`].
    fn take_batch(&mut self, now_ms: u64) -> Option<Batch>;
    /// Takes in a batch that was written, as [`Store::committed`].
    fn committed(&mut self, committed: WrittenBatch);
    /// The next work for the maintenance thread, as [`Store::take_work`].
    fn take_work(&mut self) -> Option<MaintenanceWork>;
    /// Takes in what the maintenance thread has done, as [`Store::handle`].
    fn handle(&mut self, event: MaintenanceEvent);
    /// Installs the next entries, as [`Store::step`].
    fn step(&mut self, budget: usize) -> bool;
    /// Why it has stopped, if it has.
    fn stopped(&self) -> Option<String>;
    /// Begins a clean stop, as [`Store::hurry`].
    fn hurry(&mut self);
    /// Whether nothing is under way, as [`Store::is_idle`].
    fn is_idle(&self) -> bool;
    /// Ends a clean stop, as [`Store::close`].
    fn close(&mut self);
    /// Whether the clean stop is recorded, as [`Upkeep::is_closed`](fawn_store::Upkeep::is_closed).
    fn is_closed(&self) -> bool;
}

impl StoreHandle for Store {
    fn inner(&self) -> &Store {
        self
    }

    fn tick(&mut self, now: u32, settled: bool) {
        Store::tick(self, now, settled);
    }

    fn take_batch(&mut self, now_ms: u64) -> Option<Batch> {
        Store::take_batch(self, now_ms)
    }

    fn committed(&mut self, committed: WrittenBatch) {
        Store::committed(self, committed);
    }

    fn take_work(&mut self) -> Option<MaintenanceWork> {
        Store::take_work(self)
    }

    fn handle(&mut self, event: MaintenanceEvent) {
        Store::handle(self, event);
    }

    fn step(&mut self, budget: usize) -> bool {
        Store::step(self, budget)
    }

    fn stopped(&self) -> Option<String> {
        Store::stopped(self).map(ToOwned::to_owned)
    }

    fn hurry(&mut self) {
        Store::hurry(self);
    }

    fn is_idle(&self) -> bool {
        Store::is_idle(self)
    }

    fn close(&mut self) {
        Store::close(self);
    }

    fn is_closed(&self) -> bool {
        self.upkeep().is_closed()
    }
}
