//! A flash device in memory, with everything that a real one may do to what was not synced.
//!
//! [`SimFlash`] implements [`Flash`] over two layers: what is durable, and what was written since and is only visible.
//! [`power_cut`](SimFlash::power_cut) leaves any part of the second layer: pages lost, kept, overtaken by an older
//! version or torn between sectors, and names, lengths and holes likewise, each independently of the others.
//! Power may be cut at every [write point](Operation::is_write_point): [`crash_after`](SimFlash::crash_after) makes
//! all operations beyond the k-th fail, and a [`Clone`] taken anywhere is a device of its own.
//!
//! What a device may not do is model too: a read of a removed file fails (a store pins what it reads), and a file
//! whose creation was not synced may vanish even if the file itself was.
//!
//! # Layout
//!
//! * `mod.rs`: the device as its users see it. `device.rs`: its names, space, faults and trace.
//! * `file.rs`: one file and its unsynced versions.
//! * `contents.rs`: sparse pages and holes.
//! * `fault.rs`, `trace.rs`, `counters.rs`: what goes wrong; what was asked; how often.

mod contents;
mod counters;
mod device;
mod fault;
mod file;
#[cfg(test)]
mod tests;
mod trace;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

pub use counters::Counters;
use device::SimDevice;
pub use fault::Fault;
use fawn_store::flash::{FileId, Flash, FlashError, Space};
use fawn_store::page::{PAGE_BYTES, Page};
pub use file::PowerCut;
pub use trace::Operation;

/// A simulated flash device. A clone is an independent device with the same contents; it shares memory until changed.
#[derive(Debug)]
pub struct SimFlash {
    device: Mutex<SimDevice>,
}

impl Clone for SimFlash {
    fn clone(&self) -> Self {
        Self { device: Mutex::new(self.device().clone()) }
    }
}

impl SimFlash {
    /// An empty device of unlimited capacity, whose choices (outcomes of failed operations) come from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { device: Mutex::new(SimDevice::new(seed)) }
    }

    /// Limits the device to `bytes`; what is already on it stays.
    pub fn set_capacity(&self, bytes: u64) {
        self.device().capacity = bytes / PAGE_BYTES as u64;
    }

    /// Adds a fault.
    pub fn inject(&self, fault: Fault) {
        self.device().faults.push(fault);
    }

    /// Takes back all faults that have not happened, and heals unreadable pages.
    pub fn clear_faults(&self) {
        let mut device = self.device();
        device.faults.clear();
        device.unreadable.clear();
    }

    /// Makes `pages` of `file` fail with EIO whenever they are read.
    pub fn make_unreadable(&self, file: FileId, pages: Range<u64>) {
        self.device().unreadable.push((file, pages));
    }

    /// The next `points` write points work; after them every operation fails with `Io("crashed")` until
    /// [`power_cut`](Self::power_cut).
    pub fn crash_after(&self, points: u64) {
        self.device().points_left = Some(points);
    }

    /// Whether an operation has failed because of [`crash_after`](Self::crash_after).
    pub fn has_crashed(&self) -> bool {
        self.device().crashed
    }

    /// Cuts the power and restores it: what was not synced is left as `cut` says, with choices from `seed`. Faults that
    /// were set and have not happened are forgotten.
    pub fn power_cut(&self, cut: PowerCut, seed: u64) {
        self.device().power_cut(cut, seed);
    }

    /// Starts to record operations, from an empty trace.
    pub fn start_trace(&self) {
        self.device().trace = Some(Vec::new());
    }

    /// What was asked since [`start_trace`](Self::start_trace), which starts anew; nothing if it was not called.
    pub fn take_trace(&self) -> Vec<Operation> {
        self.device().trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the device has done so far.
    pub fn counters(&self) -> Counters {
        self.device().counters
    }

    /// Bytes of flash that files hold.
    pub fn used_bytes(&self) -> u64 {
        self.device().used() * PAGE_BYTES as u64
    }

    /// Bytes of memory that the simulation takes, roughly.
    pub fn memory_bytes(&self) -> usize {
        self.device().memory()
    }

    /// Flips bit `bit` of byte `byte` of `file`, at rest. Panics when there is no such byte.
    pub fn flip_bit(&self, file: FileId, byte: u64, bit: u8) {
        let mut device = self.device();
        let file = device.file_mut(file).expect("a bit is flipped in a file that exists");
        assert!(byte / PAGE_BYTES as u64 <= file.len() && bit < 8, "the bit lies in the file");
        file.flip(byte, bit);
    }

    /// Cuts `file` to `pages` pages, at rest (a file system that lost its end). Panics when there is no such file.
    pub fn cut(&self, file: FileId, pages: u64) {
        self.device().file_mut(file).expect("a file that is cut exists").cut(pages);
    }

    /// Makes `file` vanish, at rest. Panics when there is no such file.
    pub fn lose(&self, file: FileId) {
        self.device().lose(file).expect("a file that is lost existed");
    }

    /// Replaces a page at rest by one of zeros or by another page's bytes (a write that went to the wrong place long
    /// ago). Panics when there is no such file.
    pub fn overwrite(&self, file: FileId, page: u64, with: Option<(FileId, u64)>) {
        let mut device = self.device();
        let stored = with.and_then(|(source, page)| device.file_mut(source).expect("the source exists").visible(page));
        device.file_mut(file).expect("a file that is overwritten exists").replace(page, stored);
    }

    /// Numbers of the pages of `file` that are not all zeros. Panics when there is no such file.
    pub fn occupied_pages(&self, file: FileId) -> Vec<u64> {
        self.device().file_mut(file).expect("a file that is asked about exists").occupied()
    }

    fn device(&self) -> MutexGuard<'_, SimDevice> {
        self.device.lock().expect("no operation on a simulated device panics half-way")
    }
}

impl Flash for SimFlash {
    fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.device().create(file, pages)
    }

    fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
        self.device().read(file, first, pages)
    }

    fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
        self.device().write(file, first, pages)
    }

    fn sync(&self, file: FileId) -> Result<(), FlashError> {
        self.device().sync(file)
    }

    fn sync_names(&self) -> Result<(), FlashError> {
        self.device().sync_names()
    }

    fn punch(&self, file: FileId, first: u64, count: u64) -> Result<(), FlashError> {
        self.device().punch(file, first, count)
    }

    fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
        self.device().truncate(file, pages)
    }

    fn remove(&self, file: FileId) -> Result<(), FlashError> {
        self.device().remove(file)
    }

    fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
        self.device().list()
    }

    fn space(&self) -> Result<Space, FlashError> {
        self.device().space()
    }
}
