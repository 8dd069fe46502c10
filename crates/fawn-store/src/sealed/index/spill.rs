//! What finds no room in the lines.

use super::SegmentNumber;
use std::collections::{BTreeMap, btree_map};

/// Bytes that a B-tree's nodes take for each entry when they are as empty as they may be.
const ENTRY_BYTES: usize = 64;

/// A multiset of (position, segment number): empty unless dozens of slots share a position, or keys were aimed.
#[derive(Debug, Default)]
pub(super) struct Spill {
    entries: BTreeMap<(u64, SegmentNumber), u32>,
    len: usize,
}

impl Spill {
    /// Number of spilled slots; equal ones are counted each.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a slot that found no place in its lines.
    pub fn insert(&mut self, position: u64, segment: SegmentNumber) {
        *self.entries.entry((position, segment)).or_insert(0) += 1;
        self.len += 1;
    }

    /// Takes a slot away; false when there is none such.
    pub fn remove(&mut self, position: u64, segment: SegmentNumber) -> bool {
        let Some(count) = self.entries.get_mut(&(position, segment)) else { return false };
        *count -= 1;
        if *count == 0 {
            self.entries.remove(&(position, segment));
        }
        self.len -= 1;
        true
    }

    /// Number of spilled slots at `position`.
    #[inline]
    pub fn count(&self, position: u64) -> u32 {
        if self.len == 0 { 0 } else { self.range(position).map(|(_, count)| count).sum() }
    }

    /// The segment numbers at `position`, equal ones as often as they were added.
    #[inline]
    pub fn at(&self, position: u64) -> impl Iterator<Item = SegmentNumber> {
        self.range(position).flat_map(|(&(_, segment), &count)| std::iter::repeat_n(segment, count as usize))
    }

    fn range(&self, position: u64) -> btree_map::Range<'_, (u64, SegmentNumber), u32> {
        self.entries.range((position, SegmentNumber::MIN)..=(position, SegmentNumber::MAX))
    }

    /// All spilled slots, in the order of their positions.
    pub fn iter(&self) -> impl Iterator<Item = (u64, SegmentNumber)> {
        self.entries.iter().flat_map(|(&entry, &count)| std::iter::repeat_n(entry, count as usize))
    }

    /// Bytes allocated, reckoned for the emptiest nodes.
    pub fn bytes(&self) -> usize {
        self.entries.len() * ENTRY_BYTES
    }
}
