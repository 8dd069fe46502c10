//! Lines and tags of a piece: where a position goes, and how to get it back.

use super::slot::Slot;

/// The most lines in a piece.
pub(super) const MAX_LINES: u32 = 512;
/// The most position bits that a piece resolves: 256 lines and 16 tag bits.
pub(super) const MAX_BITS: u32 = 24;
/// The fewest position bits that a piece is split down to. Beyond it a piece of 512 lines no longer grows: by then
/// one absent key in eight would match a slot, and the table wants to be built anew.
pub(super) const MIN_BITS: u32 = 16;
/// Fixed-point places of the reciprocal: a remainder below 2^24 times a rounding error below 2^9 stays below it.
const RECIPROCAL_BITS: u32 = 35;

/// The arithmetic of a piece of `lines` lines that resolves `bits` position bits.
///
/// A position `x` has the home line `x * lines / 2^bits`, rounded down, and the tag `x - first`, where `first` is the
/// lowest position with that home line. The second line is 1 to 128 lines further on, by the low bits of the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    lines: u32,
    bits: u32,
    /// `2^35 / lines`, rounded up.
    reciprocal: u32,
    /// Tag bits that choose the second line; `far < lines - 1`, so that the two lines differ.
    far: u32,
}

/// Where a position goes: two lines, and the slot as the first of them holds it but for the segment number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub home: u32,
    pub alternate: u32,
    pub tag: u32,
}

impl Geometry {
    /// The geometry of `lines` lines, 16 to [`MAX_LINES`], over `bits` bits, such that a tag has 16 bits at most.
    pub fn new(lines: u32, bits: u32) -> Self {
        assert!((16..=MAX_LINES).contains(&lines), "a piece has 16 to 512 lines");
        assert!((MIN_BITS..=MAX_BITS).contains(&bits), "a piece resolves 16 to 24 bits");
        assert!(lines << 16 >= 1 << bits, "a tag has 16 bits at most");
        let far = (1 << (lines - 1).ilog2().min(7)) - 1;
        Self { lines, bits, reciprocal: (1u64 << RECIPROCAL_BITS).div_ceil(u64::from(lines)) as u32, far }
    }

    /// Number of lines in the table.
    #[inline]
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// Number of position bits.
    #[inline]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Where position `x` goes.
    #[inline]
    pub fn place(&self, x: u32) -> Place {
        let product = u64::from(x) * u64::from(self.lines);
        let home = (product >> self.bits) as u32;
        // x - first = rest / lines, because the rest of `first` is less than `lines`.
        let rest = product & ((1 << self.bits) - 1);
        let tag = ((rest * u64::from(self.reciprocal)) >> RECIPROCAL_BITS) as u32;
        Place { home, alternate: self.beyond(home, tag), tag }
    }

    /// The lowest position with home line `home`.
    #[inline]
    pub fn first(&self, home: u32) -> u32 {
        (u64::from(home) << self.bits).div_ceil(u64::from(self.lines)) as u32
    }

    /// The position of a slot that sits in `line`.
    #[inline]
    pub fn position(&self, line: u32, slot: Slot) -> u32 {
        self.first(if slot.is_alternate() { self.other(line, slot) } else { line }) + slot.tag()
    }

    /// The other line of a slot that sits in `line`.
    #[inline]
    pub fn other(&self, line: u32, slot: Slot) -> u32 {
        if slot.is_alternate() {
            let back = 1 + (slot.tag() & self.far);
            if line >= back { line - back } else { line + self.lines - back }
        } else {
            self.beyond(line, slot.tag())
        }
    }

    #[inline]
    fn beyond(&self, home: u32, tag: u32) -> u32 {
        let line = home + 1 + (tag & self.far);
        if line >= self.lines { line - self.lines } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealed::index::SegmentNumber;
    use proptest::prelude::*;

    fn comes_back(geometry: &Geometry, x: u32) {
        let place = geometry.place(x);
        assert!(place.home < geometry.lines() && place.alternate < geometry.lines());
        assert_ne!(place.home, place.alternate);
        assert!(place.tag <= 0xffff, "{geometry:?} {x}");
        let slot = Slot::new(place.tag, SegmentNumber::MIN);
        assert_eq!(geometry.position(place.home, slot), x, "{geometry:?}");
        assert_eq!(geometry.position(place.alternate, slot.moved()), x, "{geometry:?}");
        assert_eq!(geometry.other(place.home, slot), place.alternate);
        assert_eq!(geometry.other(place.alternate, slot.moved()), place.home);
    }

    fn all() -> impl Iterator<Item = Geometry> {
        (MIN_BITS..=MAX_BITS)
            .flat_map(|bits| (16.max(1 << (bits - 16))..=MAX_LINES).map(move |lines| Geometry::new(lines, bits)))
    }

    #[test]
    fn line_ends_of_every_geometry_come_back() {
        for geometry in all() {
            for home in 0..geometry.lines() {
                let first = geometry.first(home);
                comes_back(&geometry, first);
                if home > 0 {
                    comes_back(&geometry, first - 1);
                    assert_eq!(geometry.place(first - 1).home, home - 1);
                }
                assert_eq!((geometry.place(first).home, geometry.place(first).tag), (home, 0));
            }
            comes_back(&geometry, (1 << geometry.bits()) - 1);
        }
    }

    #[test]
    fn every_position_of_the_smallest_pieces_comes_back() {
        for lines in [16, 17, 255, 256, 511, 512] {
            let geometry = Geometry::new(lines, MIN_BITS);
            (0..1 << MIN_BITS).for_each(|x| comes_back(&geometry, x));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]
        #[test]
        fn every_position_comes_back(seed in any::<u32>()) {
            for (step, geometry) in all().enumerate() {
                let x = seed.wrapping_add(step as u32).wrapping_mul(0x9e37_79b1) >> (32 - geometry.bits());
                comes_back(&geometry, x);
            }
        }
    }
}
