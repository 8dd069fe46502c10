//! The mutable hash index of one slice of the key space over its sealed records (FAWN SOSP'09 §3.2, rebuilt).
//!
//! The paper's index takes six bytes an entry: a 15-bit key fragment, a valid bit and a 4-byte pointer. Here a slot
//! takes four: a 16-bit tag and the 15-bit number of a *segment*, whose page directory turns the key into a page. A
//! slot is a hint, never proof: the reader compares the full key on the page.
//!
//! What the design buys:
//!
//! * **Dense.** A key has two lines of 16 slots (one cache line each); slots that are in the way move to their other
//!   line. Pieces run at a load of 0.85–0.95: 4.43 bytes an entry on average over growth, everything counted,
//!   4.63 at worst.
//! * **Grows without reading keys.** Order is kept: the line is a scaling of the key's leading bits and the tag holds
//!   the bits after them, so line and tag together give those bits back *exactly* and a slot can be placed again in a
//!   table of any other size.
//! * **Never resizes at once.** The table is an extendible array of *pieces* of at most 8,192 slots. One piece grows
//!   or splits at a time, in well under 200 µs.
//! * **Never fails.** What finds no room (dozens of slots with one position, or keys that somebody aimed at one
//!   stretch) goes to a counted spill, an ordered map.
//!
//! A slot remembers a fixed number of leading key bits: two keys that agree in them have the same *position* and
//! cannot be told apart here. The chance that an absent key meets a slot with its position is
//! [`Table::false_match_rate`]: 1 in 2,200–4,400 in a table of the size it was made for, twice that after each
//! doubling beyond it. Building the table anew, as every merge of the slice does, gives the bits back.
//!
//! # Layout
//!
//! * [`Table`]: the index of a slice; [`SegmentNumber`]: what it stores.
//! * [`Frame`]: monotone scaling of key prefixes to positions, shared with the page directory.
//! * `slot`: slots and lines; `geometry`: lines and tags of a piece; `piece`: a piece's fields; `fill`: placing many
//!   slots; `displace`: making room; `memory`: chunks of lines; `spill`: what finds no room.

mod displace;
mod fill;
mod frame;
mod geometry;
mod memory;
mod piece;
mod slot;
mod spill;
mod table;
#[cfg(test)]
mod tests;

pub use frame::Frame;
pub use table::{Insertion, Table};

/// The handle of a sealed segment in index slots: 1 to 32,767. Zero marks an empty slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentNumber(u16);

impl SegmentNumber {
    /// The smallest number that a segment can have.
    pub const MIN: Self = Self(1);
    /// The largest number that a segment can have.
    pub const MAX: Self = Self(0x7fff);

    /// The segment number `number`; `None` unless it is 1 to 32,767.
    #[inline]
    pub const fn new(number: u16) -> Option<Self> {
        if number >= Self::MIN.0 && number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// The number, 1 to 32,767.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0
    }
}
