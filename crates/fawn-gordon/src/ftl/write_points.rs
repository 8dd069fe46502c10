//! Write points: open blocks into which pages are programmed one after the other.

use super::injected_bugs::{FtlBug, planted};
use super::striping::Layout;

/// No block.
pub const NO_BLOCK: u32 = u32::MAX;

/// A write point.
#[derive(Clone, Copy, Debug)]
pub struct WritePoint {
    /// Its stripe set.
    pub set: u32,
    /// The group of buses that the set lies on.
    group: u32,
    /// Its open block, or [`NO_BLOCK`].
    pub block: u32,
    /// The next page of that block.
    pub next: u32,
    /// That block's sequence number.
    pub sequence: u64,
    /// Programs that are under way.
    pub under_way: u32,
    /// Takes pages of cleaning alone.
    pub is_cold: bool,
    /// Its set has no erased block but for cleaning.
    pub lacks_blocks: bool,
    /// Its set has as many valid pages as cleaning can live with.
    pub is_full: bool,
}

impl WritePoint {
    fn waits_for_cleaning(&self) -> bool {
        self.lacks_blocks || self.block == NO_BLOCK
    }
}

/// All write points, those of one group of buses side by side.
#[derive(Debug)]
pub struct WritePoints {
    points: Vec<WritePoint>,
    first_of_set: Vec<u32>,
    per_set: u32,
    group_starts: Vec<u32>,
    loads: Vec<u32>,
    /// A bit for each point that can take a page of the host, whatever its number; so many words for each group.
    available: Vec<u64>,
    words: usize,
    /// Points that wait for cleaning.
    waiting: u32,
    /// A point became available.
    freed: bool,
    ahead: u32,
}

impl WritePoints {
    /// So many for each set, one more if cold pages are apart. None has a block yet.
    pub fn new(layout: &Layout, hot_per_set: u32, cold_apart: bool, ahead: u32) -> Self {
        let per_set = hot_per_set + u32::from(cold_apart);
        let groups = layout.bus_groups();
        let mut points = Vec::new();
        let mut first_of_set = vec![0; layout.sets as usize];
        let mut group_starts = Vec::new();
        for group in 0..groups {
            group_starts.push(points.len() as u32);
            for set in (0..layout.sets).filter(|set| layout.bus_group(*set) == group) {
                first_of_set[set as usize] = points.len() as u32;
                for at in 0..per_set {
                    points.push(WritePoint {
                        set,
                        group,
                        block: NO_BLOCK,
                        next: 0,
                        sequence: 0,
                        under_way: 0,
                        is_cold: at >= hot_per_set,
                        lacks_blocks: false,
                        is_full: false,
                    });
                }
            }
        }
        group_starts.push(points.len() as u32);
        let words = (points.len() / groups as usize).div_ceil(64);
        Self {
            waiting: points.len() as u32,
            points,
            first_of_set,
            per_set,
            group_starts,
            loads: vec![0; groups as usize],
            available: vec![0; words * groups as usize],
            words,
            freed: false,
            ahead,
        }
    }

    /// How many.
    pub fn len(&self) -> u32 {
        self.points.len() as u32
    }

    /// A write point.
    #[inline]
    pub fn get(&self, point: u32) -> &WritePoint {
        &self.points[point as usize]
    }

    /// Changes a write point.
    #[inline]
    pub fn change(&mut self, point: u32, change: impl FnOnce(&mut WritePoint)) {
        let entry = &mut self.points[point as usize];
        let group = entry.group as usize;
        let waited = entry.waits_for_cleaning();
        let was_full = entry.is_full;
        change(entry);
        self.freed |= was_full && !entry.is_full;
        let waits = entry.waits_for_cleaning();
        let available = !(waits || entry.is_cold) && entry.under_way < self.ahead;
        self.waiting = self.waiting + u32::from(waits) - u32::from(waited);
        let bit = (point - self.group_starts[group]) as usize;
        let word = &mut self.available[group * self.words + bit / 64];
        let before = *word;
        *word = before & !(1 << (bit % 64)) | u64::from(available) << (bit % 64);
        self.freed |= *word & !before != 0;
    }

    /// Whether a write point became available, or may take what it refused, since this was asked last.
    #[inline]
    pub fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    /// Whether any write point can take a page of the host.
    #[inline]
    pub fn any_available(&self) -> bool {
        self.available.iter().any(|word| *word != 0)
    }

    /// Those of a set.
    pub fn of_set(&self, set: u32) -> std::ops::Range<u32> {
        let first = self.first_of_set[set as usize];
        first..first + self.per_set
    }

    /// A program begins on its next page.
    #[inline]
    pub fn begin(&mut self, point: u32) {
        self.change(point, |entry| {
            entry.under_way += 1;
            entry.next += 1;
        });
        let group = self.get(point).group;
        self.loads[group as usize] += 1;
    }

    /// A program is finished.
    #[inline]
    pub fn finish(&mut self, point: u32) {
        self.change(point, |entry| entry.under_way -= 1);
        let group = self.get(point).group;
        self.loads[group as usize] -= 1;
    }

    /// Gordon's rule: on the least loaded buses that have one, the write point with the smallest sequence number that can take
    /// a page which is now in a block with the number `least`. `home` is the set of that block.
    ///
    /// A write point with fewer programs under way comes before one with a smaller number, as its dies are idle.
    #[inline]
    pub fn choose(&self, least: u64, home: u32) -> Option<u32> {
        let least = if planted(FtlBug::NoSequenceRule) { 0 } else { least };
        let lightest = self.loads.iter().copied().min()?;
        let mut best = None;
        for group in 0..self.loads.len() {
            if self.loads[group] == lightest {
                self.improve(group, least, home, &mut best);
            }
        }
        if best.is_none() {
            for group in 0..self.loads.len() {
                if self.loads[group] != lightest && best.is_none_or(|(load, ..)| self.loads[group] <= load) {
                    self.improve(group, least, home, &mut best);
                }
            }
        }
        best.map(|(.., point)| point)
    }

    /// Takes a point of this group if it is better: by the group's load, its own programs, and its sequence number.
    #[inline]
    fn improve(&self, group: usize, least: u64, home: u32, best: &mut Option<(u32, u32, u64, u32)>) {
        let load = self.loads[group];
        for at in 0..self.words {
            let mut word = self.available[group * self.words + at];
            while word != 0 {
                let number = self.group_starts[group] + at as u32 * 64 + word.trailing_zeros();
                word &= word - 1;
                let point = &self.points[number as usize];
                let key = (load, point.under_way, point.sequence);
                let takes = point.sequence >= least
                    && (!point.is_full || point.set == home)
                    && best.is_none_or(|(load, under_way, sequence, _)| key < (load, under_way, sequence));
                if takes {
                    *best = Some((load, point.under_way, point.sequence, number));
                }
            }
        }
    }

    /// Where cleaning puts a page of this set: a cold write point first, then the smallest sequence number.
    pub fn choose_for_copy(&self, set: u32, least: u64) -> Option<u32> {
        let least = if planted(FtlBug::CopyIgnoresSequence) { 0 } else { least };
        self.of_set(set)
            .filter(|point| self.get(*point).block != NO_BLOCK && self.get(*point).sequence >= least)
            .min_by_key(|point| (!self.get(*point).is_cold, self.get(*point).sequence))
    }

    /// Whether a write that was refused waits for cleaning.
    pub fn lack_blocks(&self) -> bool {
        self.waiting > 0
    }
}
