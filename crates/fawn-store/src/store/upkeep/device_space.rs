//! Space on the device, as last seen, and what waits for it.

use crate::buffers::WriteBuffers;
use crate::flash::Space;
use crate::sealed::SealedRecords;
use crate::work::Room;

/// What the store knows of the device's space.
pub(super) struct DeviceSpace {
    /// Stores that share the device.
    stores: u64,
    seen: Option<Space>,
    /// Bytes of the next file of the manifest.
    manifest_bytes: u64,
    /// Only the reserve is left.
    is_full: bool,
    /// Only the reserve would be left, if the store kept nothing.
    is_short: bool,
    /// A seal waits for space.
    seal_stalled: bool,
}

impl DeviceSpace {
    /// A device that so many stores share, not looked at yet.
    pub(super) fn new(stores: u32) -> Self {
        let stores = u64::from(stores.max(1));
        Self { stores, seen: None, manifest_bytes: 0, is_full: false, is_short: false, seal_stalled: false }
    }

    /// Size and free space, as last seen.
    pub(super) fn seen(&self) -> Option<Space> {
        self.seen
    }

    /// Whether only the reserve is left.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether the device has no space but what is kept: this store is full, or may have room while others on the device,
    /// of this process or another, wait for what its merges would free.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Whether a seal waits for space.
    pub(super) fn is_seal_stalled(&self) -> bool {
        self.seal_stalled
    }

    pub(super) fn set_seal_stalled(&mut self, stalled: bool) {
        self.seal_stalled = stalled;
    }

    /// Space that only deletes and merges may use: the largest slice, two segments and a new manifest.
    pub(super) fn reserve_bytes(&self, sealed: &SealedRecords, buffers: &WriteBuffers) -> u64 {
        let largest = sealed.slice_stats().iter().map(|slice| slice.bytes).max().unwrap_or(0);
        largest + 2 * buffers.segment_bytes() as u64 + self.manifest_bytes
    }

    /// Bytes that the store asks the device to keep for it: the reserve, what the buffers may still hold, and one segment more.
    ///
    /// A store without records is then never full for what others have written: what it keeps is more than it needs to
    /// take puts. The segment covers what managers, manifests and delete records take meanwhile.
    pub(super) fn kept_bytes(&self, sealed: &SealedRecords, buffers: &WriteBuffers) -> u64 {
        self.reserve_bytes(sealed, buffers) + buffers.unsealed_bytes() + buffers.segment_bytes() as u64
    }

    /// Judges the device's space again.
    pub(super) fn note(&mut self, room: Room, sealed: &SealedRecords, buffers: &WriteBuffers) {
        self.manifest_bytes = room.manifest_bytes;
        // Each of the stores on the device counts on its part of what is free, and on what it keeps.
        let (free, needed) =
            (room.device.free / self.stores, self.reserve_bytes(sealed, buffers) + buffers.unsealed_bytes());
        self.is_short = free < needed;
        self.is_full = free + room.spare < needed;
        self.seen = Some(room.device);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_counts_on_its_part_of_what_is_free() {
        let sealed = SealedRecords::new(Vec::new(), Vec::new(), Vec::new());
        let buffers = WriteBuffers::new(1 << 20, 1);
        let mut device = DeviceSpace::new(2);
        let reserve = device.reserve_bytes(&sealed, &buffers) + buffers.unsealed_bytes();
        let mut note = |free: u64, spare: u64| {
            let space = Space { total: 1 << 30, free };
            device.note(Room { device: space, spare, manifest_bytes: 0 }, &sealed, &buffers);
            device.is_full()
        };
        assert!(!note(2 * reserve, 0) && note(2 * reserve - 2, 0) && !note(2 * reserve - 2, 1));
    }

    #[test]
    fn a_store_that_keeps_what_it_asked_for_is_not_full_though_others_take_all_the_rest() {
        let sealed = SealedRecords::new(Vec::new(), Vec::new(), Vec::new());
        let buffers = WriteBuffers::new(1 << 20, 1);
        let mut device = DeviceSpace::new(2);
        let kept = device.kept_bytes(&sealed, &buffers);
        let mut note = |spare: u64| {
            let space = Space { total: 1 << 30, free: 0 };
            device.note(Room { device: space, spare, manifest_bytes: 0 }, &sealed, &buffers);
            device.is_full()
        };
        assert!(!note(kept) && !note(kept - (1 << 20)), "a segment may be written beside");
        assert!(note(kept - (1 << 20) - 1));
    }
}
