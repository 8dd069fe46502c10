//! When to merge, and when to refuse: the store's bounds on space and memory.

use fawn_ring::Key;

use super::Store;
use super::slices::{FailedMerge, Slice};
use super::sums::SlicePart;
use crate::api::Trouble;
use crate::index::SegmentNumber;
use crate::options::MAX_FROZEN;
use crate::work::{MergeWork, Room, View, Work};

/// Share of sealed record bytes that may be garbage before slices are merged in turn: space stays at 1.6 times live.
const GARBAGE_NUMERATOR: u64 = 3;
const GARBAGE_DENOMINATOR: u64 = 8;
/// The same when the device is full: anything worth a merge may let puts go on.
const FULL_GARBAGE_DENOMINATOR: u64 = 16;

/// Seconds from one early seal of deletes to the next.
const EARLY_SEAL_SECONDS: u64 = 10;
/// Shares of garbage from which puts are slowed to what merges free, and at which they wait for them.
const SLOWED_GARBAGE: f64 = 0.42;
const MOST_GARBAGE: f64 = 0.47;
/// Sealed segments at which slices are merged whatever their garbage; twice the slices where that is more, but no more than
/// so many of the numbers that there are for segments.
const MANY_SEGMENTS: usize = 4096;
const MOST_SEGMENTS: usize = SegmentNumber::MAX.get() as usize / 4 * 3;
/// Shares of these numbers from which puts are slowed, and at which they wait for merges.
const SLOWED_SEGMENTS: f64 = 0.85;
const WAITING_SEGMENTS: f64 = 0.95;
/// Bytes of a slot.
const SLOT_BYTES: u64 = 4;
/// Seconds after which a merge that came upon something that cannot be read is tried again.
const AGAIN_SECONDS: u64 = 30;
/// Garbage below which nothing is merged: a store this small gains nothing.
const LEAST_GARBAGE_SEGMENTS: u64 = 2;

/// The state of cleaning.
#[derive(Debug, Default)]
pub(super) struct Cleaning {
    /// A merge was asked for and has not been installed.
    pub merging: bool,
    /// Start of the slice whose turn it is.
    pub turn: Option<Key>,
    /// Age that the open segment had when the turn of all slices began that is under way, and the one before it: but for
    /// slices that are stuck, nothing older than that is left.
    turn_age: u64,
    turned_age: u64,
    /// Start of the slice that had its turn last.
    last_turn: Option<Key>,
    /// Slices still to be merged because somebody asked for it.
    pub forced: usize,
    /// Record bytes in all sealed segments of all slices.
    pub sealed_bytes: u64,
    /// Of these, bytes known to be superseded or void.
    pub garbage_bytes: u64,
    /// Bytes of the next file of the manifest.
    pub manifest_bytes: u64,
    /// Merges that failed, and not over damage, since the last that did not, or in the last second.
    pub failures: u32,
    /// Of `sealed_bytes` and `garbage_bytes`, what is in slices that are not stuck.
    pub merged_bytes: u64,
    pub merged_garbage: u64,
    /// Bytes that may be put although merges have fallen behind.
    credit: u64,
    /// Something was deleted since the open segment froze last.
    pub deleted: bool,
    /// Second of the store's uptime from which deletes may be sealed early again.
    next_early_seal: u64,
    /// DRAM of all slices' indexes, page directories and filters included.
    pub index_bytes: u64,
    /// Of `index_bytes`, bytes of page directories.
    pub directory_bytes: u64,
    /// Of `index_bytes`, bytes of filters.
    pub filter_bytes: u64,
    /// Slots in all slices' indexes.
    pub index_entries: u64,
}

/// Bytes by which the cache becomes smaller in a turn: to evict many records would hold the event loop up.
const MOST_EVICTED: u64 = 128 << 10;

/// Sealed segments above which a store of so many slices is merged whatever its garbage.
fn many_segments(slices: usize) -> usize {
    MANY_SEGMENTS.max(2 * slices).min(MOST_SEGMENTS)
}

/// 0 up to `from`, 1 from `to` on, and even between them.
fn rise(share: f64, from: f64, to: f64) -> f64 {
    ((share - from) / (to - from)).clamp(0.0, 1.0)
}

impl Store {
    /// Merges every slice, in turn: the paper's Compact, by hand.
    pub fn compact(&mut self) {
        self.cleaning.forced = self.slices.len();
        self.clean();
    }

    /// Whether a merge is under way or due.
    pub fn is_cleaning(&self) -> bool {
        self.cleaning.merging || self.cleaning.forced > 0
    }

    /// Sequence number up to which every range was flushed.
    pub(super) fn flushed_everywhere(&self) -> u64 {
        self.ranges.iter().map(|range| range.mark.flush_watermark).min().unwrap_or(0)
    }

    /// Records of sealed segments that a flush made void, about.
    pub(super) fn flushed_records(&self) -> u64 {
        let flushed = self.flushed_everywhere();
        self.segments.iter().flatten().map(|view| view.footer.numbered_up_to(flushed)).sum()
    }

    /// Starts the next merge when one is due.
    pub(super) fn clean(&mut self) {
        // Slices whose index cannot be built are passed over; the others wait until all are loaded.
        if self.cleaning.merging || self.stopped.is_some() || self.sums.slices.total().loading > 0 {
            return;
        }
        // A merge gives what is old the age of what is new.
        if self.is_emptying() {
            return;
        }
        if let Some(number) = self.first_crowded() {
            let slice = self.slices.get(number).interval.low;
            self.begin_merge(slice, true);
            return;
        }
        if let Some(number) = self.stuck_to_try_again() {
            let slice = self.slices.get(number).interval.low;
            self.begin_merge(slice, false);
            return;
        }
        // Where something is stuck, merges of others make segments no fewer.
        let are_many = self.sums.segments.total().segments as usize > many_segments(self.slices.len())
            && self.sums.slices.total().stuck == 0;
        let full = self.no_space && self.has_some_garbage();
        let crowded = self.index_is_crowded();
        let due = self.cleaning.forced > 0
            || full
            || crowded
            || are_many
            || (self.cleaning.merged_garbage * GARBAGE_DENOMINATOR > self.cleaning.merged_bytes * GARBAGE_NUMERATOR
                && self.cleaning.merged_garbage > LEAST_GARBAGE_SEGMENTS * self.segment_bytes as u64);
        if !due {
            return;
        }
        let Some(number) = self.next_turn(crowded) else {
            self.cleaning.forced = 0;
            return;
        };
        let interval = self.slices.get(number).interval;
        if self.cleaning.last_turn.replace(interval.low).is_none_or(|last| interval.low <= last) {
            self.cleaning.turned_age = std::mem::replace(&mut self.cleaning.turn_age, self.next_age);
        }
        self.cleaning.turn = interval.high.successor().filter(|next| self.options.interval.contains(next));
        self.begin_merge(interval.low, false);
    }

    fn begin_merge(&mut self, slice: Key, newest_only: bool) {
        self.cleaning.merging = true;
        let (drained, filtered) = (self.draining.on, self.has_room_for_filter(&slice));
        let void = self.durable_void();
        let (before, uptime, reached) = (self.next_age, self.uptime, self.log.durable_at());
        let work = MergeWork { slice, void, before, newest_only, drained, filtered, uptime, reached };
        self.work.push_back(Work::Merge(work));
    }

    /// A merge of this slice has failed. Over damage it may again: the slice is stuck. Until it is merged after all, it is as
    /// if nothing in it were garbage: nothing waits for merges of it.
    pub(super) fn note_failed_merge(&mut self, slice: &Key, why: String, over_damage: bool) {
        self.counters.merge_failures += 1;
        self.cleaning.merging = false;
        self.cleaning.failures += u32::from(!over_damage);
        if let Some(number) = self.slices.starting_at(slice) {
            let again = over_damage.then_some(self.uptime + AGAIN_SECONDS);
            let failed = FailedMerge { why: why.clone(), again };
            let before = self.slices.get_mut(number).failed_merge.replace(failed);
            if before.is_none_or(|before| before.why != why) {
                self.note_trouble(Trouble::CannotMerge(why.clone()));
            }
            self.count_slice(number);
            self.recount();
        }
        self.counters.last_merge_failure = Some(why);
        if over_damage {
            self.clean();
        }
    }

    /// The first slice that is stuck and may be tried again by now.
    fn stuck_to_try_again(&self) -> Option<usize> {
        if self.sums.slices.total().stuck == 0 {
            return None;
        }
        let is_due = |slice: &Slice| slice.is_stuck() && slice.table.is_some() && !self.waits_to_merge(slice);
        self.slices.iter().position(is_due)
    }

    /// Whether it is too early to merge this slice again.
    fn waits_to_merge(&self, slice: &Slice) -> bool {
        slice.failed_merge.as_ref().and_then(|failed| failed.again).is_some_and(|again| self.uptime < again)
    }

    /// The first slice of which too many slots found no place.
    fn first_crowded(&self) -> Option<usize> {
        let slices = &self.sums.slices;
        if slices.total().crowded == 0 {
            return None;
        }
        let mut crowded = slices.parts().iter().enumerate().filter(|(_, slice)| slice.crowded > 0);
        crowded.find(|(number, _)| !self.waits_to_merge(self.slices.get(*number))).map(|(number, _)| number)
    }

    /// Whether merges would make the index smaller, and it has to be.
    pub(super) fn index_is_crowded(&self) -> bool {
        let cleaning = &self.cleaning;
        let limit = self.index_limit();
        if cleaning.index_bytes <= limit {
            return false;
        }
        if self.draining.on {
            // Tables have a least size: where that is what fills the index, merges would change nothing.
            let slices = self.sums.slices.total();
            let others = cleaning.directory_bytes + cleaning.filter_bytes + slices.stuck_index_bytes;
            (slices.slots - slices.stuck_slots) * SLOT_BYTES * 2 > limit.saturating_sub(others)
        } else {
            self.has_some_garbage()
        }
    }

    /// The slice whose turn it is: the next that is loaded and not stuck, and of which, where merges are to make the index
    /// smaller, not much less is indexed than of the others. Those passed over have had their turn. Who asks for merges gets
    /// them of what is stuck, too.
    fn next_turn(&mut self, crowded: bool) -> Option<usize> {
        let count = self.slices.len();
        let first = self.cleaning.turn.map_or(0, |turn| self.slices.find(&turn));
        let (slices, total) = (self.sums.slices.parts(), self.sums.slices.total());
        let pays = |slice: &SlicePart| {
            let (own, all) = (u128::from(slice.slots), u128::from(total.slots - total.stuck_slots));
            !crowded || own * u128::from(total.records - total.stuck_records) * 2 >= all * u128::from(slice.records)
        };
        let forced = self.cleaning.forced > 0;
        let is_next = |slice: &SlicePart| slice.unloaded == 0 && (forced || slice.stuck == 0) && pays(slice);
        let passed = (0..count).position(|n| is_next(&slices[(first + n) % count]))?;
        self.cleaning.forced = self.cleaning.forced.saturating_sub(passed + 1);
        Some((first + passed) % count)
    }

    /// Which records a merge may drop: it makes nothing of a flush durable before the flush is.
    fn durable_void(&self) -> crate::merge::Void {
        let mut void = self.void(self.times.clone());
        if self.flush_logged > self.log.durable() {
            void.flushed.clear();
        }
        void
    }

    /// How far merges have fallen behind, from 0, where puts go on as they come, to 1, where they wait.
    fn pressure(&self) -> f64 {
        let cleaning = &self.cleaning;
        if !cleaning.merging || cleaning.failures > 0 {
            return 0.0;
        }
        let few = cleaning.merged_garbage <= 4 * LEAST_GARBAGE_SEGMENTS * self.segment_bytes as u64;
        let share = if few { 0.0 } else { cleaning.merged_garbage as f64 / cleaning.merged_bytes.max(1) as f64 };
        rise(share, SLOWED_GARBAGE, MOST_GARBAGE).max(self.index_pressure()).max(self.segment_pressure())
    }

    /// How far the numbers that there are for segments are used up; nothing waits for that where merges do not help.
    fn segment_pressure(&self) -> f64 {
        let is_stuck = self.sums.slices.total().stuck > 0;
        if is_stuck { 0.0 } else { rise(self.used_numbers(), SLOWED_SEGMENTS, WAITING_SEGMENTS) }
    }

    fn used_numbers(&self) -> f64 {
        self.sums.segments.total().segments as f64 / f64::from(SegmentNumber::MAX.get())
    }

    /// Whether no number for segments is to be had, as something is stuck.
    pub(super) fn lacks_numbers(&self) -> bool {
        self.sums.slices.total().stuck > 0 && self.used_numbers() >= WAITING_SEGMENTS
    }

    /// Garbage of sealed segments that no slice counts and that merges free. What is stuck keeps every segment, also where
    /// all others have been merged since.
    pub(super) fn unsliced_garbage(&self) -> u64 {
        if self.sums.slices.total().stuck == 0 {
            return self.sums.segments.total().garbage;
        }
        let parts = self.segments.iter().zip(self.sums.segments.parts());
        let is_young = |view: &View| view.age >= self.cleaning.turned_age;
        parts.filter(|(view, _)| view.as_ref().is_some_and(is_young)).map(|(_, part)| part.garbage).sum()
    }

    /// How urgent it is that seals and merges go on, from 0, where they have all the time that there is, to 1, where something
    /// waits for them.
    ///
    /// Puts that wait for merges use what these free at once, while what nobody uses adds up: merges that are paced by
    /// this free as much as is put.
    pub fn urgency(&self) -> f64 {
        let waits_for_seals = self.closing
            || self.seal_awaited
            || !self.waiting_scans.is_empty()
            || self.frozen.len() > 1
            || self.seal_stalled;
        if waits_for_seals || self.no_space || self.index_is_full() || self.sums.slices.total().crowded > 0 {
            return 1.0;
        }
        let sealing = if self.frozen.is_empty() { 0.0 } else { self.open.fullness() };
        let pressure = self.pressure();
        if pressure == 0.0 {
            return sealing;
        }
        let unused = self.cleaning.credit as f64 / self.most_credit().max(1) as f64;
        sealing.max(pressure).max(1.0 - unused)
    }

    /// Reads and batches of the log so far: for these somebody waits.
    pub fn waits(&self) -> u64 {
        self.counters.reads + self.counters.batches
    }

    fn most_credit(&self) -> u64 {
        self.segment_bytes as u64 / 4
    }

    /// A merge has passed records of so many bytes whose space, or whose index entries, it will free: where merges have
    /// fallen behind, so much may be put meanwhile, and the less the farther they have.
    pub(super) fn note_progress(&mut self, freed: u64) {
        let share = 1.0 - self.pressure();
        let credit = self.cleaning.credit + (freed as f64 * share) as u64;
        self.cleaning.credit = credit.min(self.most_credit());
    }

    /// Whether puts wait because merges have fallen behind.
    pub(super) fn merges_are_behind(&self) -> bool {
        self.cleaning.credit == 0 && self.pressure() > 0.0
    }

    /// Uses up credit for `bytes` that were put.
    #[inline]
    pub(super) fn use_credit(&mut self, bytes: usize) {
        if self.cleaning.merging {
            self.cleaning.credit = self.cleaning.credit.saturating_sub(bytes as u64);
        }
    }

    /// DRAM of the write buffers when all are in use.
    pub(super) fn buffer_bytes(&self) -> u64 {
        // The arenas, and their hash indexes and the seal's working set on top.
        (1 + MAX_FROZEN as u64) * self.segment_bytes as u64 * 5 / 4
    }

    /// Whether the index alone has reached what the budget leaves beside the buffers.
    pub(super) fn index_is_full(&self) -> bool {
        self.cleaning.index_bytes + self.buffer_bytes().min(self.options.memory / 2) > self.options.memory
    }

    /// Gives the cache what indexes, buffers and the process itself leave of the budget.
    pub(super) fn fit_cache(&mut self) {
        let used =
            self.cleaning.index_bytes + self.buffer_bytes() + self.options.merge_bytes() + self.options.process_bytes();
        self.cache_target = self.options.memory.saturating_sub(used).max(self.least_cache_bytes());
        self.shrink_cache();
    }

    /// Gives the cache its capacity; where it holds more, that is evicted turn by turn. Whether more is to be evicted.
    pub(super) fn shrink_cache(&mut self) -> bool {
        self.cache.set_capacity(self.cache_target.max(self.cache.bytes().saturating_sub(MOST_EVICTED)));
        self.cache.capacity() > self.cache_target
    }

    /// What the record cache gets in any case.
    pub(super) fn least_cache_bytes(&self) -> u64 {
        self.options.memory / 32
    }

    /// Space that only deletes and merges may use: the largest slice, two segments and a new manifest.
    pub(super) fn reserve_bytes(&self) -> u64 {
        let largest = self.sums.slices.parts().iter().map(|slice| slice.bytes).max().unwrap_or(0);
        largest + 2 * self.segment_bytes as u64 + self.cleaning.manifest_bytes
    }

    /// Whether only the reserve is left on the device.
    pub(super) fn device_is_full(&self) -> bool {
        self.no_space
    }

    /// Whether a merge is under way that gives space back, with others after it: what waits for space waits for them.
    pub(super) fn is_freeing_space(&self) -> bool {
        self.cleaning.merging && self.cleaning.failures == 0 && self.has_some_garbage()
    }

    /// Whether merges are worth their writing where room is wanted.
    fn has_some_garbage(&self) -> bool {
        self.cleaning.merged_garbage * FULL_GARBAGE_DENOMINATOR > self.cleaning.merged_bytes
    }

    /// Whether the device is full and deletes wait to be sealed: merges free what sealed records supersede, and the open segment may
    /// take many deletes. At most once in ten seconds: whoever is told so seals.
    pub fn take_early_seal(&mut self) -> bool {
        let wants = self.no_space
            && self.cleaning.deleted
            && self.frozen.is_empty()
            && !self.is_freeing_space()
            && self.stopped.is_none()
            && self.uptime >= self.cleaning.next_early_seal;
        if wants {
            self.cleaning.next_early_seal = self.uptime + EARLY_SEAL_SECONDS;
        }
        wants
    }

    /// Judges the device's space anew.
    pub(super) fn note_room(&mut self, room: Room) {
        self.cleaning.manifest_bytes = room.manifest_bytes;
        // Each of the stores on the device counts on its part of what is free, and on what it keeps.
        let free = room.device.free / u64::from(self.options.count.max(1)) + room.spare;
        self.no_space = free < self.reserve_bytes() + self.unsealed_bytes();
        self.space = Some(room.device);
    }

    /// Bytes that may still have to be written for what was taken before the device is looked at again.
    fn unsealed_bytes(&self) -> u64 {
        self.segment_bytes as u64 * (1 + MAX_FROZEN.max(self.frozen.len()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_due_before_segment_numbers_run_out_whatever_the_number_of_slices() {
        let max = usize::from(SegmentNumber::MAX.get());
        for slices in [1, 4, 4096, 16_384, 100_000] {
            let many = many_segments(slices);
            assert!((MANY_SEGMENTS..max * 4 / 5).contains(&many), "{slices} slices: {many}");
            let share = many as f64 / max as f64;
            assert!(rise(share, SLOWED_SEGMENTS, WAITING_SEGMENTS) <= 0.0, "puts are not slowed before merges are due");
        }
        assert!(rise(0.96, SLOWED_SEGMENTS, WAITING_SEGMENTS) >= 1.0, "and wait before no number is left");
    }
}
