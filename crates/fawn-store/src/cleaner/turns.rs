//! Whose turn it is to be merged, and how far merges have fallen behind.

use fawn_ring::{Interval, Key};

use super::index_mode::IndexMode;
use crate::options::Options;
use crate::sealed::index::SegmentNumber;
use crate::sealed::{SealedRecords, Slice, SliceStats};

/// Share of sealed record bytes that may be garbage before slices are merged in turn: space stays at 1.6 times live.
const GARBAGE_NUMERATOR: u64 = 3;
const GARBAGE_DENOMINATOR: u64 = 8;
/// The same when the device has no space: anything worth a merge may let puts go on, of this store or another on the device.
const FULL_GARBAGE_DENOMINATOR: u64 = 32;

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
/// Seconds after which a merge that came upon something that cannot be read is tried again.
const AGAIN_SECONDS: u64 = 30;
/// Garbage below which nothing is merged: a store this small gains nothing.
const LEAST_GARBAGE_SEGMENTS: u64 = 2;

/// What a decision about the next merge depends on beside the sealed records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// Seconds since the store was opened.
    pub uptime: u64,
    /// Age of the open segment.
    pub open_age: u64,
    /// The device has no space but what stores keep.
    pub no_space: bool,
}

/// The state of cleaning.
pub(crate) struct Cleaner {
    mode: IndexMode,
    /// The keys of the store.
    interval: Interval,
    segment_bytes: u64,
    /// A merge was asked for and has not been installed.
    merging: bool,
    /// Start of the slice that is being cut.
    cutting: Option<Key>,
    /// Merges that failed, and not over damage, since the last that did not, or in the last second.
    failures: u32,
    /// Bytes that may be put although merges have fallen behind.
    credit: u64,
    /// Slices still to be merged because somebody asked for it.
    forced: usize,
    /// Start of the slice whose turn it is.
    turn: Option<Key>,
    /// Start of the slice that had its turn last.
    last_turn: Option<Key>,
    /// Age that the open segment had when the turn of all slices began that is under way, and the one before it: except for
    /// slices that are stuck, nothing older than that is left.
    turn_age: u64,
    turned_age: u64,
    /// Second of the store's uptime from which deletes may be sealed early again.
    next_early_seal: u64,
}

/// Sealed segments above which a store of so many slices is merged whatever its garbage.
fn many_segments(slices: usize) -> usize {
    MANY_SEGMENTS.max(2 * slices).min(MOST_SEGMENTS)
}

/// 0 up to `from`, 1 from `to` on, and even between them.
fn rise(share: f64, from: f64, to: f64) -> f64 {
    ((share - from) / (to - from)).clamp(0.0, 1.0)
}

/// Whether it is too early to merge this slice again.
fn waits_to_merge(slice: &Slice, uptime: u64) -> bool {
    slice.failed_merge.as_ref().and_then(|failed| failed.again).is_some_and(|again| uptime < again)
}

fn used_numbers(sealed: &SealedRecords) -> f64 {
    sealed.segment_total().segments as f64 / f64::from(SegmentNumber::MAX.get())
}

impl Cleaner {
    /// One that has nothing to do yet.
    pub(crate) fn new(options: &Options, segment_bytes: usize) -> Self {
        Self {
            mode: IndexMode::new(options, segment_bytes),
            interval: options.interval,
            segment_bytes: segment_bytes as u64,
            merging: false,
            cutting: None,
            failures: 0,
            credit: 0,
            forced: 0,
            turn: None,
            last_turn: None,
            turn_age: 0,
            turned_age: 0,
            next_early_seal: 0,
        }
    }

    /// How records are indexed.
    pub(crate) fn mode(&self) -> &IndexMode {
        &self.mode
    }

    pub(crate) fn mode_mut(&mut self) -> &mut IndexMode {
        &mut self.mode
    }

    /// A merge or a cut of a slice was asked for and has not been installed.
    #[inline]
    pub(crate) fn is_merging(&self) -> bool {
        self.merging || self.cutting.is_some()
    }

    /// Whether a merge is under way or due.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_merging() || self.forced > 0
    }

    /// Merges have passed all segments below this age, except those of stuck slices.
    pub(crate) fn turned_age(&self) -> u64 {
        self.turned_age
    }

    /// So many slices are to be merged in turn, whatever their garbage.
    pub(crate) fn force(&mut self, slices: usize) {
        self.forced = slices;
    }

    /// The slice that is to be merged now, if one is due, and whether only its newest parts are.
    pub(crate) fn begin_merge(&mut self, sealed: &SealedRecords, conditions: Conditions) -> Option<(Key, bool)> {
        let next = self.next_merge(sealed, conditions);
        self.merging = next.is_some();
        next
    }

    fn next_merge(&mut self, sealed: &SealedRecords, conditions: Conditions) -> Option<(Key, bool)> {
        let low = |number: usize| sealed.slices().get(number).interval.low;
        if let Some(number) = first_crowded(sealed, conditions.uptime) {
            return Some((low(number), true));
        }
        if let Some(number) = stuck_to_try_again(sealed, conditions.uptime) {
            return Some((low(number), false));
        }
        // Where something is stuck, merges of others make segments no fewer.
        let are_many = sealed.segment_total().segments as usize > many_segments(sealed.slices().len())
            && sealed.slice_total().stuck == 0;
        let full = conditions.no_space && has_some_garbage(sealed);
        let crowded = self.index_is_crowded(sealed);
        let totals = sealed.totals();
        let due = self.forced > 0
            || full
            || crowded
            || are_many
            || (totals.merged_garbage * GARBAGE_DENOMINATOR > totals.merged_bytes * GARBAGE_NUMERATOR
                && totals.merged_garbage > LEAST_GARBAGE_SEGMENTS * self.segment_bytes);
        if !due {
            return None;
        }
        let Some(number) = self.next_turn(sealed, crowded) else {
            self.forced = 0;
            return None;
        };
        let interval = sealed.slices().get(number).interval;
        if self.last_turn.replace(interval.low).is_none_or(|last| interval.low <= last) {
            self.turned_age = std::mem::replace(&mut self.turn_age, conditions.open_age);
        }
        self.turn = interval.high.successor().filter(|next| self.interval.contains(next));
        Some((interval.low, false))
    }

    /// The slice whose turn it is: the next that is loaded and not stuck, and of which, where merges are to make the index
    /// smaller, not much less is indexed than of the others. Those passed over have had their turn. Who asks for merges gets
    /// them of what is stuck, too.
    fn next_turn(&mut self, sealed: &SealedRecords, crowded: bool) -> Option<usize> {
        let count = sealed.slices().len();
        let first = self.turn.map_or(0, |turn| sealed.slices().find(&turn));
        let (slices, total) = (sealed.slice_stats(), sealed.slice_total());
        let pays = |slice: &SliceStats| {
            let (own, all) = (u128::from(slice.slots), u128::from(total.slots - total.stuck_slots));
            !crowded || own * u128::from(total.records - total.stuck_records) * 2 >= all * u128::from(slice.records)
        };
        let forced = self.forced > 0;
        let is_next = |slice: &SliceStats| slice.unloaded == 0 && (forced || slice.stuck == 0) && pays(slice);
        let passed = (0..count).position(|n| is_next(&slices[(first + n) % count]))?;
        self.forced = self.forced.saturating_sub(passed + 1);
        Some((first + passed) % count)
    }

    /// Whether merges would make the index smaller, and it has to be.
    fn index_is_crowded(&self, sealed: &SealedRecords) -> bool {
        if sealed.totals().index_bytes <= self.mode.index_limit(sealed) {
            return false;
        }
        if self.mode.is_drained() { self.mode.tables_fill_index(sealed) } else { has_some_garbage(sealed) }
    }

    /// The largest slice that is to be cut now, of those with more than `most` bytes.
    pub(crate) fn begin_cut(&mut self, sealed: &SealedRecords, most: u64) -> Option<Key> {
        let may_be_cut = |slice: &Slice| slice.table.is_some() && !slice.wanted && !slice.is_stuck();
        let has_halves = |keys: &Interval| keys.low.prefix() < keys.high.prefix();
        let slices = sealed.slices().iter().filter(|slice| slice.bytes > most && self.failures == 0);
        let slices = slices.filter(|slice| may_be_cut(slice) && has_halves(&slice.interval));
        self.cutting = slices.max_by_key(|slice| slice.bytes).map(|slice| slice.interval.low);
        self.cutting
    }

    /// A cut of the slice that begins at `slice` was installed; whether it is the one that was asked for. Who asked for merges of
    /// all gets one more.
    pub(crate) fn end_cut(&mut self, slice: &Key) -> bool {
        self.forced += usize::from(self.forced > 0);
        self.cutting.take_if(|cutting| cutting == slice).is_some()
    }

    /// A merge was installed.
    pub(crate) fn end_merge(&mut self) {
        self.merging = false;
        self.failures = 0;
    }

    /// A merge has failed. Returns the second of the uptime before which the slice is not merged again, if that was over
    /// damage.
    pub(crate) fn fail_merge(&mut self, over_damage: bool, uptime: u64) -> Option<u64> {
        (self.merging, self.cutting) = (false, None);
        self.failures += u32::from(!over_damage);
        over_damage.then_some(uptime + AGAIN_SECONDS)
    }

    /// A second has passed: merges that failed may succeed by now.
    pub(crate) fn forgive(&mut self) {
        self.failures = 0;
    }

    /// How far merges have fallen behind, from 0, where puts go on as they come, to 1, where they wait.
    pub(crate) fn pressure(&self, sealed: &SealedRecords) -> f64 {
        if !self.merging || self.failures > 0 {
            return 0.0;
        }
        let totals = sealed.totals();
        let few = totals.merged_garbage <= 4 * LEAST_GARBAGE_SEGMENTS * self.segment_bytes;
        let share = if few { 0.0 } else { totals.merged_garbage as f64 / totals.merged_bytes.max(1) as f64 };
        // Nothing waits for numbers of segments where merges do not help.
        let is_stuck = sealed.slice_total().stuck > 0;
        let segments = if is_stuck { 0.0 } else { rise(used_numbers(sealed), SLOWED_SEGMENTS, WAITING_SEGMENTS) };
        rise(share, SLOWED_GARBAGE, MOST_GARBAGE).max(self.mode.index_pressure(sealed)).max(segments)
    }

    fn most_credit(&self) -> u64 {
        self.segment_bytes / 4
    }

    /// The share of the credit that nobody has used.
    pub(crate) fn unused_credit(&self) -> f64 {
        self.credit as f64 / self.most_credit().max(1) as f64
    }

    /// A merge has passed records of so many bytes whose index entries (`newer`) or whose space (`dropped`) it will free:
    /// where merges have fallen behind, so much may be put meanwhile, and the less the farther they have.
    pub(crate) fn note_progress(&mut self, newer: u64, dropped: u64, sealed: &SealedRecords) {
        let freed = if self.mode.is_drained() { newer } else { dropped };
        let share = 1.0 - self.pressure(sealed);
        let credit = self.credit + (freed as f64 * share) as u64;
        self.credit = credit.min(self.most_credit());
    }

    /// Whether puts wait because merges have fallen behind.
    #[inline]
    pub(crate) fn is_behind(&self, sealed: &SealedRecords) -> bool {
        self.credit == 0 && self.pressure(sealed) > 0.0
    }

    /// Uses up credit for `bytes` that were put.
    #[inline]
    pub(crate) fn use_credit(&mut self, bytes: usize) {
        if self.merging {
            self.credit = self.credit.saturating_sub(bytes as u64);
        }
    }

    /// Whether the index alone has reached what the budget leaves beside the buffers.
    #[inline]
    pub(crate) fn index_is_full(&self, sealed: &SealedRecords) -> bool {
        self.mode.budget().is_full_of(sealed.totals().index_bytes)
    }

    /// Whether a merge is under way that makes the index smaller; where some are stuck, the others have to be worth it.
    pub(crate) fn is_making_room(&self, sealed: &SealedRecords) -> bool {
        let is_worth_it = sealed.slice_total().stuck == 0 || self.index_is_crowded(sealed);
        self.mode.is_drained() && self.merging && self.failures == 0 && is_worth_it
    }

    /// Whether a merge is under way that gives space back, with others after it, or a cut, after which the store keeps less:
    /// what waits for space waits for them.
    pub(crate) fn is_freeing_space(&self, sealed: &SealedRecords) -> bool {
        self.cutting.is_some() || (self.merging && self.failures == 0 && has_some_garbage(sealed))
    }

    /// Whether deletes that wait for their seal are to be sealed early, as nothing else brings space: merges free what sealed
    /// records supersede, and the open segment may take many deletes. At most once in ten seconds.
    pub(crate) fn take_early_seal(&mut self, sealed: &SealedRecords, uptime: u64) -> bool {
        let wants = !self.is_freeing_space(sealed) && uptime >= self.next_early_seal;
        if wants {
            self.next_early_seal = uptime + EARLY_SEAL_SECONDS;
        }
        wants
    }
}

/// The first slice that is stuck and may be tried again by now.
fn stuck_to_try_again(sealed: &SealedRecords, uptime: u64) -> Option<usize> {
    if sealed.slice_total().stuck == 0 {
        return None;
    }
    let is_due = |slice: &Slice| slice.is_stuck() && slice.table.is_some() && !waits_to_merge(slice, uptime);
    sealed.slices().iter().position(is_due)
}

/// The first slice of which too many slots found no place.
fn first_crowded(sealed: &SealedRecords, uptime: u64) -> Option<usize> {
    if sealed.slice_total().crowded == 0 {
        return None;
    }
    let mut crowded = sealed.slice_stats().iter().enumerate().filter(|(_, slice)| slice.crowded > 0);
    crowded.find(|(number, _)| !waits_to_merge(sealed.slices().get(*number), uptime)).map(|(number, _)| number)
}

/// Whether merges are worth their writing where room is wanted.
fn has_some_garbage(sealed: &SealedRecords) -> bool {
    sealed.totals().merged_garbage * FULL_GARBAGE_DENOMINATOR > sealed.totals().merged_bytes
}

/// Whether no number for segments is to be had, as something is stuck.
pub(crate) fn lacks_numbers(sealed: &SealedRecords) -> bool {
    sealed.slice_total().stuck > 0 && used_numbers(sealed) >= WAITING_SEGMENTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::index::Table;
    use crate::work::SliceIndex;
    use fawn_ring::Secret;

    #[test]
    fn the_largest_slice_that_is_loaded_is_cut_first_and_one_at_a_time() {
        let slices = Interval::ALL.divide(3);
        let mut sealed =
            SealedRecords::new(slices.iter().map(|interval| (*interval, 0)).collect(), Vec::new(), Vec::new());
        for (interval, bytes) in [(slices[0], 300), (slices[1], 900)] {
            let table = Table::from_sorted(interval.low.prefix(), interval.high.prefix(), 0, std::iter::empty());
            let index = SliceIndex { table, base: None, filter: None, bytes, stale: 0 };
            sealed.install_loaded(&interval.low, index, |_| 0);
        }
        let mut cleaner = Cleaner::new(&Options::new(Secret([1; 32]), 64 << 20), 1 << 20);
        assert_eq!((cleaner.begin_cut(&sealed, 900), cleaner.is_merging()), (None, false));
        assert_eq!((cleaner.begin_cut(&sealed, 200), cleaner.is_merging()), (Some(slices[1].low), true));
        assert!(cleaner.is_freeing_space(&sealed), "puts wait for it");
        assert!(!cleaner.end_cut(&slices[0].low) && cleaner.is_merging(), "a range was split meanwhile");
        assert!(cleaner.end_cut(&slices[1].low) && !cleaner.is_merging());
        cleaner.begin_cut(&sealed, 200);
        cleaner.fail_merge(false, 0);
        assert_eq!(
            (cleaner.begin_cut(&sealed, 200), cleaner.is_merging()),
            (None, false),
            "it waits for the next second"
        );
        cleaner.forgive();
        assert!(cleaner.begin_cut(&sealed, 200).is_some());
    }

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
