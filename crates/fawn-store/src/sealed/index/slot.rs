//! Slots and lines.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::SegmentNumber;

/// Slots in a line.
pub(super) const LINE_SLOTS: usize = 16;

/// Set in a slot that sits in the second of its two lines.
const ALTERNATE: u32 = 1 << 16;
/// The bits of a slot that a lookup compares: `alternate` and the tag.
const COMPARED: u32 = 0x1_ffff;

/// One entry.
///
/// | bits | field |
/// |---|---|
/// | 0..16 | tag |
/// | 16 | `alternate`: the slot sits in its second line |
/// | 17..32 | segment number; 0 only in an empty slot, which is all zeros |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

impl Slot {
    /// A slot for the home line.
    #[inline]
    pub fn new(tag: u32, segment: SegmentNumber) -> Self {
        debug_assert!(tag <= 0xffff, "a tag has 16 bits");
        Self(tag | u32::from(segment.get()) << 17)
    }

    /// The tag: the part of the key's prefix that a lookup compares.
    #[inline]
    pub fn tag(self) -> u32 {
        self.0 & 0xffff
    }

    /// Whether the slot sits in its second line.
    #[inline]
    pub fn is_alternate(self) -> bool {
        self.0 & ALTERNATE != 0
    }

    /// The segment number; `None` in an empty slot.
    #[inline]
    pub fn segment(self) -> Option<SegmentNumber> {
        SegmentNumber::new((self.0 >> 17) as u16)
    }

    /// The same entry for the other of its two lines.
    #[inline]
    pub fn moved(self) -> Self {
        Self(self.0 ^ ALTERNATE)
    }

    /// The same slot with another segment number.
    #[inline]
    fn with_segment(self, segment: SegmentNumber) -> Self {
        Self(self.0 & COMPARED | u32::from(segment.get()) << 17)
    }
}

/// One cache line of slots.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub(super) struct Line([u32; LINE_SLOTS]);

impl Line {
    /// A line of empty slots.
    pub const EMPTY: Self = Self([0; LINE_SLOTS]);

    /// The slot at `index`.
    #[inline]
    pub fn slot(&self, index: usize) -> Slot {
        Slot(self.0[index])
    }

    /// All slots, empty ones too.
    #[inline]
    pub fn slots(&self) -> [Slot; LINE_SLOTS] {
        self.0.map(Slot)
    }

    /// Overwrites the slot at `index`.
    #[inline]
    pub fn put(&mut self, index: usize, slot: Slot) {
        self.0[index] = slot.0;
    }

    /// Empties the slot at `index`.
    #[inline]
    pub fn clear(&mut self, index: usize) {
        self.0[index] = 0;
    }

    /// Gives the slot at `index` another segment number.
    #[inline]
    pub fn set_segment(&mut self, index: usize, segment: SegmentNumber) {
        self.0[index] = self.slot(index).with_segment(segment).0;
    }

    /// The slots with the tag and the alternate bit of `like`, whatever their segment.
    #[inline]
    pub fn matches(&self, like: Slot) -> Matches {
        let wanted = like.0 & COMPARED;
        let mask = self.mask(|slot| slot & COMPARED == wanted);
        // Empty slots look like tag 0 in its home line.
        if wanted == 0 { Matches(mask & !self.vacant().0) } else { Matches(mask) }
    }

    /// The slots of the line that hold nothing.
    #[inline]
    pub fn vacant(&self) -> Matches {
        Matches(self.mask(|slot| slot == 0))
    }

    /// The index of an empty slot.
    #[inline]
    pub fn first_vacant(&self) -> Option<usize> {
        self.vacant().next()
    }

    /// One bit for each slot. Both loops compile to vector comparisons; the first takes half the instructions, and
    /// most often it is the answer.
    #[inline(always)]
    #[allow(clippy::inline_always)] // measured: a call costs as much as the comparison
    fn mask(&self, test: impl Fn(u32) -> bool + Copy) -> u32 {
        let any = self.0.iter().fold(false, |any, &slot| any | test(slot));
        if any { self.bits(test) } else { 0 }
    }

    #[inline(never)]
    fn bits(&self, test: impl Fn(u32) -> bool + Copy) -> u32 {
        self.0.iter().enumerate().fold(0, |mask, (index, &slot)| mask | u32::from(test(slot)) << index)
    }
}

/// Indexes of slots in a line, lowest first: bit `i` stands for slot `i`.
#[derive(Debug)]
pub(super) struct Matches(u32);

impl Matches {
    /// Number of slots that matched.
    #[inline]
    pub fn len(&self) -> u32 {
        if self.0 == 0 { 0 } else { self.0.count_ones() }
    }
}

impl Iterator for Matches {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let index = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_slots_match_no_tag() {
        let line = Line::EMPTY;
        for tag in [0, 1, 0xffff] {
            let slot = Slot::new(tag, SegmentNumber::MIN);
            assert_eq!(line.matches(slot).len() + line.matches(slot.moved()).len(), 0);
        }
        assert_eq!(line.vacant().len(), 16);
    }

    #[test]
    fn a_slot_matches_only_its_tag_and_side() {
        for tag in [0, 1, 0x8000, 0xffff] {
            let slot = Slot::new(tag, SegmentNumber::MAX);
            let mut line = Line::EMPTY;
            line.put(7, slot);
            line.put(15, slot.moved());
            assert_eq!(line.matches(slot).collect::<Vec<_>>(), [7]);
            assert_eq!(line.matches(slot.moved()).collect::<Vec<_>>(), [15]);
            assert_eq!(line.matches(Slot::new(tag ^ 1, SegmentNumber::MAX)).len(), 0);
            line.set_segment(7, SegmentNumber::MIN);
            assert_eq!(line.slot(7), Slot::new(tag, SegmentNumber::MIN));
            line.clear(7);
            assert_eq!(line.first_vacant(), Some(0));
            assert_eq!(line.vacant().len(), 15);
        }
    }
}
