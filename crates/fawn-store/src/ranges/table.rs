//! The ranges of a store: sequence numbers, flushes that were carried out, and flushes that are scheduled.

use fawn_ring::{Interval, Key};

use crate::api::Gate;
use crate::format::record::{Kind, Record};
use crate::log::{ALL_RANGES, Entry};
use crate::merge::Void;
use crate::work::RangeMark;

/// The second of no flush. A clock can show any second of 32 bits, and this is none of them.
const NO_FLUSH: u64 = u64::MAX;

/// An interval of keys with its own numbering.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeState {
    pub mark: RangeMark,
    pub epoch: u32,
}

/// All ranges, in key order; they tile the store: [`Store::ranges`](crate::Store::ranges).
pub struct RangeTable {
    ranges: Vec<RangeState>,
    /// Unix second of the earliest scheduled flush, or [`NO_FLUSH`].
    next_flush: u64,
    /// A flush fired that is not in the log yet.
    unlogged_flush: bool,
    /// When the last flush is durable.
    flush_gate: Gate,
    /// Gate of the log's batch that holds the last flush, whatever the acknowledgement.
    flush_logged: u64,
}

impl RangeTable {
    pub(crate) fn new(ranges: Vec<RangeState>) -> Self {
        let (flush_gate, flush_logged) = (Gate::NONE, 0);
        let mut table = Self { ranges, next_flush: NO_FLUSH, unlogged_flush: false, flush_gate, flush_logged };
        table.find_next_flush();
        table
    }

    /// The keys of each range.
    pub fn intervals(&self) -> impl Iterator<Item = Interval> + '_ {
        self.ranges.iter().map(|range| range.mark.interval)
    }

    /// The state of each range, as a seal records it.
    pub(crate) fn marks(&self) -> Vec<RangeMark> {
        self.ranges.iter().map(|range| range.mark).collect()
    }

    /// The range that holds `key`.
    #[inline]
    pub(crate) fn of(&self, key: &Key) -> &RangeState {
        if self.ranges.len() == 1 {
            return &self.ranges[0];
        }
        let number = self.ranges.partition_point(|range| range.mark.interval.low <= *key).saturating_sub(1);
        &self.ranges[number]
    }

    /// Records of `key` up to this number were flushed.
    #[inline]
    pub(crate) fn flushed(&self, key: &Key) -> u64 {
        self.of(key).mark.flush_watermark
    }

    /// Whether the newest version of `key` says that there is none: it deletes, has expired or was flushed.
    #[inline]
    pub(crate) fn is_absent(&self, key: &Key, record: &Record<'_>, now: u32) -> bool {
        record.kind == Kind::Delete || record.is_expired(now) || record.seq <= self.flushed(key)
    }

    /// Sequence number up to which every range was flushed.
    pub(crate) fn flushed_everywhere(&self) -> u64 {
        self.ranges.iter().map(|range| range.mark.flush_watermark).min().unwrap_or(0)
    }

    /// Sequence number up to which some range was flushed.
    pub(crate) fn highest_flushed(&self) -> u64 {
        self.ranges.iter().map(|range| range.mark.flush_watermark).max().unwrap_or(0)
    }

    /// Up to which number the first range was flushed, and the Unix second of a flush that is due, or 0.
    pub fn flushes(&self) -> (u64, u32) {
        let mark = self.ranges[0].mark;
        (mark.flush_watermark, mark.flush_deadline)
    }

    /// Highest sequence number given out in any range. It grows with every opening.
    pub fn highest_seq(&self) -> u64 {
        self.ranges.iter().map(|range| range.mark.last_seq).max().unwrap_or(0)
    }

    /// All ranges go on numbering above `seq`. One numbering for all keeps the order of numbers and that of the log the
    /// same, whatever ranges are cut and joined: recovery and flushes rely on it.
    #[inline]
    pub(crate) fn number_from(&mut self, seq: u64) {
        for range in &mut self.ranges {
            range.mark.last_seq = range.mark.last_seq.max(seq);
        }
    }

    /// As [`number_from`](Self::number_from), when recovery is over; returns the last number given out.
    pub(crate) fn continue_numbering(&mut self, instance: u64, floor: u64) -> u64 {
        assert!(self.ranges.iter().any(|range| range.mark.instance == instance), "the store has the manifest's ranges");
        self.number_from(floor);
        self.ranges[0].mark.last_seq
    }

    /// Which records are void at these times.
    pub(crate) fn void(&self, times: Vec<(Interval, u32)>) -> Void {
        let flushed = |range: &RangeState| (range.mark.interval, range.mark.flush_watermark);
        Void {
            flushed: self.ranges.iter().filter(|range| range.mark.flush_watermark > 0).map(flushed).collect(),
            times,
        }
    }

    /// Whether the two ranges that meet at `at`, if there are two, were flushed at one number.
    pub(crate) fn are_flushed_alike(&self, at: &Key) -> bool {
        let flushed = |range: &RangeState| (range.mark.flush_watermark, range.mark.flush_deadline);
        let pair = self.ranges.windows(2).find(|pair| pair[0].mark.interval.high == *at);
        pair.is_none_or(|pair| flushed(&pair[0]) == flushed(&pair[1]))
    }

    /// Empties all ranges up to `watermark`, which all of them number on from: one watermark then holds for every range
    /// that may yet be cut out of them or joined from them.
    pub(crate) fn flush_to(&mut self, watermark: u64) {
        for range in &mut self.ranges {
            range.mark.last_seq = range.mark.last_seq.max(watermark);
            range.mark.flush_watermark = range.mark.flush_watermark.max(watermark);
            range.mark.flush_deadline = 0;
        }
    }

    /// All ranges are to be flushed at this Unix second.
    pub(crate) fn schedule_flush(&mut self, deadline: u32) {
        for range in &mut self.ranges {
            range.mark.flush_deadline = deadline;
        }
    }

    /// Takes in which flush is the next one.
    pub(crate) fn find_next_flush(&mut self) {
        let deadlines = self.ranges.iter().map(|range| range.mark.flush_deadline).filter(|deadline| *deadline > 0);
        self.next_flush = deadlines.min().map_or(NO_FLUSH, u64::from);
    }

    /// Whether the time of a scheduled flush has come.
    #[inline]
    pub(crate) fn is_flush_due(&self, now: u32) -> bool {
        u64::from(now) >= self.next_flush
    }

    /// A scheduled flush is carried out; the log is told later.
    pub(crate) fn fire_flush(&mut self) {
        self.flush_to(self.highest_seq());
        self.unlogged_flush = true;
    }

    /// Whether a flush fired that is not in the log yet.
    #[inline]
    pub(crate) fn has_unlogged_flush(&self) -> bool {
        self.unlogged_flush
    }

    /// The flush that fired is in the log.
    pub(crate) fn note_flush_is_logged(&mut self) {
        self.unlogged_flush = false;
    }

    /// A flush was logged just now: answers that it shows in wait for `gate`, and merges for `logged`.
    pub(crate) fn note_flush_gate(&mut self, gate: Gate, logged: u64) {
        self.flush_gate = gate;
        self.flush_logged = logged;
    }

    /// When the last flush is durable, for answers.
    #[inline]
    pub(crate) fn flush_gate(&self) -> Gate {
        self.flush_gate
    }

    /// Gate of the log's batch that holds the last flush.
    pub(crate) fn flush_logged(&self) -> u64 {
        self.flush_logged
    }

    /// The owner of ranges says from here on what was flushed.
    pub(crate) fn forget_flushes(&mut self) {
        for range in &mut self.ranges {
            (range.mark.flush_watermark, range.mark.flush_deadline) = (0, 0);
        }
        self.unlogged_flush = false;
        self.find_next_flush();
    }

    /// Takes back an entry of the log that is not a record.
    pub(crate) fn replay(&mut self, instance: u64, entry: &Entry<'_>) {
        if instance == ALL_RANGES {
            match entry {
                Entry::Flush { watermark } => self.flush_to(*watermark),
                Entry::FlushScheduled { deadline } => self.schedule_flush(*deadline),
                _ => {}
            }
            return;
        }
        let Some(range) = self.ranges.iter_mut().find(|range| range.mark.instance == instance) else {
            return;
        };
        let mark = &mut range.mark;
        match entry {
            Entry::Flush { watermark } => {
                mark.flush_watermark = mark.flush_watermark.max(*watermark);
                mark.flush_deadline = 0;
            }
            Entry::FlushScheduled { deadline } => mark.flush_deadline = *deadline,
            Entry::SequenceReserved { limit } => mark.last_seq = mark.last_seq.max(limit.saturating_sub(1)),
            Entry::Record(_) | Entry::Range(_) => unreachable!("records and the entries of owners are handled apart"),
        }
    }

    /// The ranges as they now are: instance, keys, epoch. They have what those had that held their keys.
    pub(crate) fn replace(&mut self, ranges: &[(u64, Interval, u32)]) {
        let before = std::mem::take(&mut self.ranges);
        self.ranges = ranges
            .iter()
            .map(|(instance, interval, epoch)| {
                let parents = before.iter().filter(|range| range.mark.interval.overlaps(interval));
                let first =
                    before.iter().find(|range| range.mark.interval.overlaps(interval)).expect("ranges tile the store");
                let mut mark = RangeMark { instance: *instance, interval: *interval, ..first.mark };
                for parent in parents {
                    mark.last_seq = mark.last_seq.max(parent.mark.last_seq);
                    mark.flush_watermark = mark.flush_watermark.max(parent.mark.flush_watermark);
                    mark.flush_deadline = mark.flush_deadline.max(parent.mark.flush_deadline);
                }
                RangeState { mark, epoch: *epoch }
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> RangeTable {
        let mark = |(number, interval): (usize, Interval)| RangeMark {
            interval,
            instance: number as u64 + 1,
            last_seq: 10 * number as u64,
            flush_watermark: 0,
            flush_deadline: 0,
        };
        let ranges = Interval::ALL.divide(2).into_iter().enumerate().map(mark);
        RangeTable::new(ranges.map(|mark| RangeState { mark, epoch: 1 }).collect())
    }

    #[test]
    fn a_flush_covers_all_ranges_and_they_number_on_from_it() {
        let mut table = table();
        table.schedule_flush(100);
        table.find_next_flush();
        assert!(!table.is_flush_due(99) && table.is_flush_due(100));
        table.fire_flush();
        table.find_next_flush();
        assert!(table.has_unlogged_flush() && !table.is_flush_due(u32::MAX));
        assert_eq!((table.flushed(&Key::MIN), table.flushed_everywhere(), table.highest_seq()), (10, 10, 10));
        assert_eq!(table.void(Vec::new()).flushed.len(), 2);
        table.forget_flushes();
        assert_eq!((table.flushes(), table.has_unlogged_flush()), ((0, 0), false));
    }

    #[test]
    fn joined_ranges_go_on_from_the_larger_number() {
        let mut table = table();
        let middle = Interval::ALL.divide(2)[0].high;
        assert!(table.are_flushed_alike(&middle));
        table.replay(2, &Entry::Flush { watermark: 7 });
        assert!(!table.are_flushed_alike(&middle));
        table.replace(&[(3, Interval::ALL, 2)]);
        let range = table.of(&Key::MAX);
        assert_eq!((range.mark.instance, range.mark.last_seq, range.mark.flush_watermark, range.epoch), (3, 10, 7, 2));
    }
}
