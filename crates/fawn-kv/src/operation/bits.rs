//! Single bits of a string. The bit at place 0 is the highest of the first byte.

use super::edit::Editor;
use super::evaluate::nothing;
use super::string::{is_backwards, read, resolve};
use super::{BitRange, Decision, EditError, Outcome};
use std::ops::Range;

/// The bit at a place; 0 behind the end.
pub(super) fn get(value: &[u8], place: u64) -> bool {
    byte_of(place).and_then(|byte| value.get(byte)).is_some_and(|byte| byte & mask(place) != 0)
}

fn byte_of(place: u64) -> Option<usize> {
    usize::try_from(place / 8).ok()
}

fn mask(place: u64) -> u8 {
    0x80 >> (place % 8)
}

/// Bytes of a string, of whose first and last a part may be left out.
struct Stretch {
    bytes: Range<usize>,
    /// Bits of the first byte that belong to it.
    first_mask: u8,
    /// Bits of the last byte that belong to it.
    last_mask: u8,
}

impl Stretch {
    /// What a range means in a string of `len` bytes; `None` if it is empty.
    fn of(range: BitRange, len: usize) -> Option<Self> {
        let units = if range.bits { len * 8 } else { len };
        let (first, last) = resolve(range.first, range.last, units)?;
        Some(if range.bits {
            let (first_mask, last_mask) = (0xff >> (first % 8), 0xff << (7 - last % 8));
            Self { bytes: first / 8..last / 8 + 1, first_mask, last_mask }
        } else {
            Self { bytes: first..last + 1, first_mask: 0xff, last_mask: 0xff }
        })
    }

    /// Which bits of the byte at `place` belong to it.
    fn mask(&self, place: usize) -> u8 {
        let first = if place == self.bytes.start { self.first_mask } else { 0xff };
        let last = if place + 1 == self.bytes.end { self.last_mask } else { 0xff };
        first & last
    }
}

/// How many bits are 1.
pub(super) fn count(value: &[u8], range: Option<BitRange>) -> usize {
    let Some(range) = range else { return ones(value) };
    if is_backwards(range.first, range.last) {
        return 0;
    }
    let Some(stretch) = Stretch::of(range, value.len()) else { return 0 };
    let Range { start, end } = stretch.bytes;
    let outside = |place: usize| (value[place] & !stretch.mask(place)).count_ones() as usize;
    let at_edges = outside(start) + if end - start > 1 { outside(end - 1) } else { 0 };
    ones(&value[start..end]) - at_edges
}

fn ones(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| byte.count_ones() as usize).sum()
}

/// The place of the first bit of this value; -1 if there is none.
pub(super) fn find(value: &[u8], is_set: bool, range: Option<BitRange>, is_open: bool) -> i64 {
    let is_open = is_open || range.is_none();
    let mut range = range.unwrap_or(BitRange { first: 0, last: -1, bits: false });
    if is_open {
        range.last = i64::MAX;
    }
    let Some(stretch) = Stretch::of(range, value.len()) else { return -1 };
    // Turned so that 1 is what is sought.
    let turned = |place: usize| (if is_set { value[place] } else { !value[place] }) & stretch.mask(place);
    let Range { start, end } = stretch.bytes;
    let middle = || first_other(&value[start..end - 1], if is_set { 0 } else { 0xff }, 1).map(|place| start + place);
    let found =
        if turned(start) != 0 { Some(start) } else { middle().or(Some(end - 1).filter(|last| turned(*last) != 0)) };
    match found {
        Some(place) => (place * 8) as i64 + i64::from(turned(place).leading_zeros()),
        None if is_open && !is_set => (value.len() * 8) as i64,
        None => -1,
    }
}

/// The place of the first byte, at `from` or behind it, that is another one.
fn first_other(bytes: &[u8], byte: u8, from: usize) -> Option<usize> {
    let (words, _) = bytes.get(from..)?.as_chunks::<8>();
    let skipped = from + words.iter().take_while(|word| **word == [byte; 8]).count() * 8;
    bytes[skipped..].iter().position(|other| *other != byte).map(|place| skipped + place)
}

impl Editor<'_> {
    pub(super) fn set_bit<'a>(self, place: u64, is_set: bool) -> Result<Decision<'a>, EditError> {
        let old = read(self.current.as_ref())?;
        let value = old.unwrap_or_default();
        let was_set = get(value, place);
        let outcome = Outcome::Integer(was_set.into());
        let len = self.check_size(place / 8 + 1)?.max(value.len());
        if was_set == is_set && len == value.len() {
            return Ok(nothing(outcome));
        }
        let mut made = grown(value, len);
        let byte = &mut made[(place / 8) as usize];
        *byte = if is_set { *byte | mask(place) } else { *byte & !mask(place) };
        self.replace(made, outcome)
    }
}

/// The bytes, with zeros behind them up to this length.
pub(super) fn grown(value: &[u8], len: usize) -> Vec<u8> {
    let mut made = Vec::with_capacity(len);
    made.extend_from_slice(value);
    made.resize(len, 0);
    made
}
