//! Space on the device, as last seen, and what waits for it.

use crate::buffers::WriteBuffers;
use crate::flash::Space;
use crate::format::page::PAGE_BYTES;
use crate::sealed::SealedRecords;
use crate::work::Room;

/// Slices are cut where only the reserve is left and less than one part in so many of the sealed bytes is garbage: with a smaller
/// reserve, merges wait for more garbage and write less for each byte that they free.
const CUT_GARBAGE_DENOMINATOR: u64 = 12;
/// Slices are not made smaller than so many segments, nor than one part in so many of the records.
const LEAST_SLICE_SEGMENTS: u64 = 4;
const MOST_SLICES: u64 = 256;

/// What the store knows of the device's space.
pub(super) struct DeviceSpace {
    /// Stores that share the device.
    stores: u64,
    seen: Option<Room>,
    /// Bytes above which a slice is cut, if one has more.
    slices_to_cut: Option<u64>,
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
        Self { stores, seen: None, slices_to_cut: None, is_full: false, is_short: false, seal_stalled: false }
    }

    /// Size and free space, as last seen.
    pub(super) fn seen(&self) -> Option<Space> {
        self.seen.map(|room| room.device)
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

    /// The bytes above which a slice is to be cut, if one has more: the store keeps as much free as its largest slice takes.
    #[inline]
    pub(super) fn slices_to_cut(&self) -> Option<u64> {
        self.slices_to_cut
    }

    /// Space that only deletes and merges may use: the largest slice, two segments, a new manifest, and the page of each segment
    /// that the slices that are merged and those to be merged next have in common.
    pub(super) fn reserve_bytes(&self, sealed: &SealedRecords, buffers: &WriteBuffers) -> u64 {
        let shared = sealed.segment_total().segments * PAGE_BYTES as u64;
        let manifest = self.seen.map_or(0, |room| room.manifest_bytes);
        largest_slice(sealed) + 2 * buffers.segment_bytes() as u64 + manifest + shared
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
        self.seen = Some(room);
        // Each of the stores on the device counts on its part of what is free, and on what it keeps.
        let (free, needed) =
            (room.device.free / self.stores, self.reserve_bytes(sealed, buffers) + buffers.unsealed_bytes());
        self.is_short = free < needed;
        self.is_full = free + room.spare < needed;
        let totals = sealed.totals();
        let least = (LEAST_SLICE_SEGMENTS * buffers.segment_bytes() as u64).max(totals.bytes / MOST_SLICES);
        let is_little = totals.merged_garbage * CUT_GARBAGE_DENOMINATOR < totals.merged_bytes;
        self.slices_to_cut = (self.is_short && is_little && largest_slice(sealed) > least).then_some(least);
    }

    /// Judges the device's space again, slices having changed.
    pub(super) fn note_slices(&mut self, sealed: &SealedRecords, buffers: &WriteBuffers) {
        if let Some(room) = self.seen {
            self.note(room, sealed, buffers);
        }
    }
}

/// Record bytes of the largest slice.
fn largest_slice(sealed: &SealedRecords) -> u64 {
    sealed.slice_stats().iter().map(|slice| slice.bytes).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::index::{SegmentNumber, Table};
    use crate::work::SliceIndex;
    use fawn_ring::{Interval, Key};

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

    #[test]
    fn slices_are_cut_where_only_the_reserve_is_left_and_garbage_is_little() {
        let sealed = |bytes: u64, stale: u64| {
            let mut sealed = SealedRecords::new(vec![(Interval::ALL, 0)], Vec::new(), Vec::new());
            let entries: Vec<_> = (0..24).map(|n| (n << 58, SegmentNumber::new(1).unwrap())).collect();
            let table = Table::from_sorted(0, u64::MAX, 0, entries.into_iter());
            let index = SliceIndex { table, base: None, filter: None, bytes, stale };
            sealed.install_loaded(&Key::MIN, index, |_| 0);
            sealed.refresh(1, 0, 0);
            sealed
        };
        let buffers = WriteBuffers::new(1 << 20, 1);
        let mut device = DeviceSpace::new(1);
        assert_eq!(device.slices_to_cut(), None, "nothing is known of the device");
        let whole = sealed(64 << 20, 0);
        let reserve = device.reserve_bytes(&whole, &buffers) + buffers.unsealed_bytes();
        for (sealed, free, spare, most) in [
            (&whole, reserve, 0, None),
            (&whole, reserve - 1, 0, Some(4 << 20)),
            (&whole, reserve - 1, 64 << 20, Some(4 << 20)),
            (&whole, 0, 0, Some(4 << 20)),
            (&sealed(64 << 20, 1), 0, 0, Some(4 << 20)),
            (&sealed(64 << 20, 3), 0, 0, None),
            (&sealed(4 << 20, 0), 0, 0, None),
            (&sealed(2 << 30, 0), 0, 0, Some(8 << 20)),
        ] {
            device.note(Room { device: Space { total: u64::MAX, free }, spare, manifest_bytes: 0 }, sealed, &buffers);
            assert_eq!(device.slices_to_cut(), most, "{free} bytes free, {spare} kept: {:?}", sealed.totals());
        }
    }
}
