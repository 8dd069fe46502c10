//! Upkeep: what is sealed, the merges that keep it small, and when puts have to wait for them.
//!
//! [`Upkeep`] owns the sealed records with the cleaner that decides what is merged next, and what is known of the device.
//! What the maintenance half has done is installed here.
//!
//! # Layout
//!
//! * `install`: events, in bounded steps. `device_space`: space on the device.

mod device_space;
mod install;
pub(super) mod turns;

use std::collections::VecDeque;

use fawn_ring::{Interval, Key};

use self::device_space::DeviceSpace;
use super::stats::{DeviceStats, IndexStats, MaintenanceStats, SegmentTotals};
use super::work_queue::WorkQueue;
use crate::api::Refusal;
use crate::buffers::WriteBuffers;
use crate::cleaner::{Cleaner, lacks_numbers};
use crate::flash::Space;
use crate::format::manifest::EmptiedInterval;
use crate::options::Options;
use crate::ranges::EmptiedIntervals;
use crate::sealed::index::SegmentNumber;
use crate::sealed::{IndexAnswer, PendingEntries, SealedRecords};
use crate::work::{MaintenanceEvent, MaintenanceWork, Room};

/// So many slices and segments are looked at again once a second.
const REFRESHED_A_TICK: usize = 256;
/// All slices and segments are looked at again.
const ALL: usize = usize::MAX / 2;

/// The sealed side of a store, and whether it keeps up: [`Store::upkeep`](crate::Store::upkeep).
pub struct Upkeep {
    /// Segments and slices.
    pub(super) sealed: SealedRecords,
    cleaner: Cleaner,
    device: DeviceSpace,
    stats: MaintenanceStats,
    /// What the maintenance half has done and is not installed yet.
    events: VecDeque<MaintenanceEvent>,
    /// The index entries of the seal that is being installed.
    installing: Option<PendingEntries>,
    /// Sealed records that no newer one supersedes, before the seal that is being installed, and with its records if they supersede
    /// none.
    live_before_seal: Option<(u64, u64)>,
    /// Seconds since the store was opened: ticks.
    uptime: u64,
    /// The clean stop is recorded.
    closed: bool,
}

/// What the owner of a store asks.
impl Upkeep {
    /// Whether heads should take no more values: the device is full, or memory is. What is committed is still taken.
    pub fn is_full(&self) -> bool {
        (self.cleaner.index_is_full(&self.sealed) && !self.cleaner.is_making_room(&self.sealed))
            || lacks_numbers(&self.sealed)
            || (self.device.is_full() && !self.cleaner.is_freeing_space(&self.sealed))
    }

    /// Whether merges have fallen behind, so that what is written should wait for them.
    pub fn is_behind(&self) -> bool {
        !self.is_full()
            && (self.cleaner.is_behind(&self.sealed)
                || self.cleaner.index_is_full(&self.sealed)
                || self.device.is_full())
    }

    /// Whether a merge is under way or due.
    pub fn is_cleaning(&self) -> bool {
        self.cleaner.is_busy()
    }

    /// Whether a seal waits for space that nothing under way will bring.
    pub fn waits_for_space(&self) -> bool {
        self.device.is_seal_stalled() && !self.cleaner.is_merging()
    }

    /// Space on the device, as last seen.
    pub fn space(&self) -> Option<Space> {
        self.device.seen()
    }

    /// Bytes of the sealed segments' files.
    pub fn file_bytes(&self) -> u64 {
        self.sealed.segment_total().file_bytes
    }

    /// No delete record or expired record in `interval` with a number above this was ever dropped.
    pub fn horizon(&self, interval: &Interval) -> u64 {
        self.sealed.slices().horizon(interval)
    }

    /// Seals and merges since the opening.
    #[inline]
    pub fn stats(&self) -> &MaintenanceStats {
        &self.stats
    }

    /// Whether the clean stop is recorded.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

/// What the other parts of the store ask.
impl Upkeep {
    /// That of a store whose index is not loaded.
    pub(super) fn new(options: &Options, segment_bytes: usize, sealed: SealedRecords) -> Self {
        Self {
            sealed,
            cleaner: Cleaner::new(options, segment_bytes),
            device: DeviceSpace::new(options.count),
            stats: MaintenanceStats::default(),
            events: VecDeque::new(),
            installing: None,
            live_before_seal: None,
            uptime: 0,
            closed: false,
        }
    }

    /// Intervals that were emptied.
    #[inline]
    pub(super) fn emptied(&self) -> &EmptiedIntervals {
        self.sealed.emptied()
    }

    /// Takes the emptied intervals that the manifest is told of by the seal that begins now.
    pub(super) fn take_unrecorded(&mut self) -> Vec<EmptiedInterval> {
        self.sealed.emptied_mut().take_unrecorded()
    }

    /// Puts the segments that may hold `key` into `candidates`, newest first.
    #[inline]
    pub(super) fn find(&mut self, key: &Key, candidates: &mut Vec<SegmentNumber>) -> IndexAnswer {
        self.sealed.find(key, candidates)
    }

    /// The load of the slice that begins at `low`; `wanted`: a lookup waits for it. `again`: it is loaded, and its index
    /// is built again.
    pub(super) fn load(&self, low: Key, wanted: bool, again: bool) -> MaintenanceWork {
        self.cleaner.mode().load(low, wanted, again, &self.sealed)
    }

    /// Asks for every slice's index, in key order.
    pub(super) fn load_all(&self, work: &mut WorkQueue) {
        for slice in self.sealed.slices().iter() {
            work.push(self.load(slice.interval.low, false, false));
        }
    }

    /// Why a put has to wait or is refused: memory or space is short, or merges are behind.
    ///
    /// # Errors
    /// [`Refusal`].
    #[inline]
    pub(super) fn check_put(&self) -> Result<(), Refusal> {
        let is_short = self.cleaner.index_is_full(&self.sealed) || lacks_numbers(&self.sealed) || self.device.is_full();
        if is_short || self.cleaner.is_behind(&self.sealed) { Err(self.refusal()) } else { Ok(()) }
    }

    /// Why a put is refused or has to wait, when something is short or merges are behind.
    #[cold]
    fn refusal(&self) -> Refusal {
        let index_is_full = self.cleaner.index_is_full(&self.sealed);
        if index_is_full && self.cleaner.is_making_room(&self.sealed) {
            return Refusal::Busy;
        }
        if index_is_full || lacks_numbers(&self.sealed) {
            let failing = self.stats.last_merge_failure.as_ref();
            let failing = failing.filter(|_| self.sealed.slice_total().failed > 0);
            return failing.map_or(Refusal::OutOfMemory, |why| Refusal::CannotMerge(why.clone()));
        }
        if self.device.is_full() && !self.cleaner.is_freeing_space(&self.sealed) {
            return Refusal::NoSpace;
        }
        Refusal::Busy
    }

    /// A record of so many bytes was put.
    #[inline]
    pub(super) fn note_put(&mut self, bytes: usize) {
        self.cleaner.use_credit(bytes);
    }

    /// Judges the device's space again.
    pub(super) fn note_room(&mut self, room: Room, buffers: &WriteBuffers) {
        self.device.note(room, &self.sealed, buffers);
    }

    /// The index's figures.
    pub(super) fn index_stats(&self) -> IndexStats {
        let (totals, slices, mode) = (self.sealed.totals(), self.sealed.slice_total(), self.cleaner.mode());
        let count = self.sealed.slices().len() as u64;
        IndexStats {
            slots: totals.slots,
            bytes: totals.index_bytes,
            directory_bytes: totals.directory_bytes,
            filter_bytes: totals.filter_bytes,
            bytes_per_entry: totals.index_bytes as f64 / (slices.live.max(1)) as f64,
            limit: mode.index_limit(&self.sealed),
            draining: mode.is_drained(),
            phi: if slices.records == 0 { 1.0 } else { totals.slots as f64 / slices.records as f64 },
            slices: count,
            slices_loaded: count - slices.unloaded,
        }
    }

    /// The sealed segments' figures.
    pub(super) fn segment_totals(&self) -> SegmentTotals {
        let (totals, segments) = (self.sealed.totals(), self.sealed.segment_total());
        SegmentTotals {
            segments: segments.segments,
            records: self.sealed.slice_total().records,
            bytes: totals.bytes,
            garbage_bytes: totals.garbage_bytes,
            file_bytes: segments.file_bytes,
        }
    }

    /// The device's figures.
    pub(super) fn device_stats(&self) -> DeviceStats {
        let space = self.device.seen();
        DeviceStats { bytes: space.map_or(0, |space| space.total), free_bytes: space.map_or(0, |space| space.free) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Write;
    use crate::format::segment::tests::Memory;
    use crate::store::Store;
    use fawn_ring::Secret;

    fn open() -> Store {
        let sizes = Options::new(Secret([7; 32]), 8 << 20);
        let options = Options { slices: 1, log_pages: 64, segment_bytes: 1 << 16, ..sizes };
        Store::open(options, &Memory::default(), 1).unwrap().0
    }

    fn put(store: &mut Store, write: Write<'_>) -> Result<(), Refusal> {
        let key = store.options().secret.position(write.key);
        store.append(&key, write, 1).map(drop)
    }

    #[test]
    fn a_full_device_refuses_puts_and_takes_deletes() {
        let mut store = open();
        assert!(!store.upkeep().is_full() && put(&mut store, Write::value(b"key", b"1")).is_ok());
        let device = Space { total: 1 << 30, free: 0 };
        store.handle(MaintenanceEvent::Space(Room { device, spare: 0, manifest_bytes: 0 }));
        assert!(store.upkeep().is_full() && !store.upkeep().is_behind());
        assert_eq!(put(&mut store, Write::value(b"key", b"2")), Err(Refusal::NoSpace));
        assert_eq!((put(&mut store, Write::delete(b"key")), store.stats().writes.refused_space), (Ok(()), 1));
        assert_eq!((store.urgency(), store.upkeep().space()), (1.0, Some(device)));
    }

    #[test]
    fn a_store_with_room_seals_deletes_early_where_others_on_the_device_may_have_none() {
        let mut store = open();
        let device = Space { total: 1 << 30, free: 0 };
        put(&mut store, Write::delete(b"key")).unwrap();
        store.handle(MaintenanceEvent::Space(Room { device, spare: 1 << 20, manifest_bytes: 0 }));
        assert!(!store.upkeep().is_full() && put(&mut store, Write::value(b"other", b"1")).is_ok());
        assert!(store.urgency() >= 1.0);
        store.tick(1, true);
        assert_eq!(store.buffers().frozen_count(), 1);
        let mut roomy = open();
        put(&mut roomy, Write::delete(b"key")).unwrap();
        let device = Space { free: 1 << 29, ..device };
        roomy.handle(MaintenanceEvent::Space(Room { device, spare: 1 << 20, manifest_bytes: 0 }));
        roomy.tick(1, true);
        assert_eq!(roomy.buffers().frozen_count(), 0);
    }

    #[test]
    fn a_stalled_seal_waits_for_space_until_one_is_installed() {
        let mut store = open();
        put(&mut store, Write::value(b"key", b"1")).unwrap();
        store.seal().unwrap();
        store.handle(MaintenanceEvent::Stalled);
        assert!(store.upkeep().waits_for_space());
        store.handle(MaintenanceEvent::Sealed { segment: None, reclaim: crate::work::Reclaim::default() });
        assert!(!store.upkeep().waits_for_space() && store.upkeep().stats().seals == 1);
        store.handle(MaintenanceEvent::Closed);
        assert!(store.upkeep().is_closed());
    }
}
