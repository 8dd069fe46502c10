//! A piece: up to 512 lines that cover an aligned stretch of positions and grow on their own.

use super::SegmentNumber;
use super::geometry::{Geometry, MAX_LINES};
use super::memory::{CHUNK_LINES, ChunkId, Memory};
use super::slot::{LINE_SLOTS, Line};

/// The most chunks in a piece.
const MAX_CHUNKS: usize = (MAX_LINES / CHUNK_LINES) as usize;

/// Slots a line, in 64ths, at which a piece grows before it takes another: 15.25, a load of 0.953.
const FULL_64THS: u32 = 976;
/// Slots a line, in 64ths, below which a piece that finds no room for a slot gets no more lines, because its keys must be
/// crowded: 12, a load of 0.75.
const CROWDED_64THS: u32 = 768;

/// Slots a line, in 64ths, below which a piece that cannot be split gets no more lines: 2, at which a slot takes half of what it
/// takes in the spill.
const SPARSE_64THS: u32 = 128;

/// An entry on its way from one set of lines to another: position bits and segment number.
pub(super) type Loose = (u32, SegmentNumber);

/// A piece's fields. It owns its chunks, but the table's [`Memory`] holds them.
#[derive(Debug)]
pub(super) struct Piece {
    pub geometry: Geometry,
    /// Number of slots in use.
    pub used: u32,
    /// Chunks held: none before the first insertion, then as many as the geometry has.
    held: u32,
    chunks: [ChunkId; MAX_CHUNKS],
}

impl Piece {
    /// A piece with no slots and no memory yet.
    pub fn new(geometry: Geometry) -> Self {
        assert_eq!(geometry.lines() % CHUNK_LINES, 0, "a piece has whole chunks");
        Self { geometry, used: 0, held: 0, chunks: [0; MAX_CHUNKS] }
    }

    /// Takes or gives back chunks until the piece has as many as its geometry says. All lines are empty when it
    /// shrinks.
    pub fn fit_memory(&mut self, memory: &mut Memory) {
        self.hold(self.geometry.lines() / CHUNK_LINES, memory);
    }

    /// Gives all memory back: nothing is in the piece.
    pub fn give_memory_back(&mut self, memory: &mut Memory) {
        self.hold(0, memory);
    }

    fn hold(&mut self, wanted: u32, memory: &mut Memory) {
        while self.held < wanted {
            self.chunks[self.held as usize] = memory.take();
            self.held += 1;
        }
        while self.held > wanted {
            self.held -= 1;
            memory.give_back(self.chunks[self.held as usize]);
        }
    }

    /// Line `line`. The piece has memory.
    #[inline]
    pub fn line<'a>(&self, memory: &'a Memory, line: u32) -> &'a Line {
        memory.line(self.chunks[(line / CHUNK_LINES) as usize], line)
    }

    /// Line `line`, for writing. The piece has memory.
    #[inline]
    pub fn line_mut<'a>(&self, memory: &'a mut Memory, line: u32) -> &'a mut Line {
        memory.line_mut(self.chunks[(line / CHUNK_LINES) as usize], line)
    }

    /// Whether the piece grows before it takes another slot.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used * 64 >= self.geometry.lines() * FULL_64THS
    }

    /// Whether a slot that finds no room does so because keys crowd in a part of the piece.
    pub fn is_crowded(&self) -> bool {
        self.used * 64 < self.geometry.lines() * CROWDED_64THS
    }

    /// Whether so little is in it that more lines cost more than they hold.
    pub fn is_sparse(&self) -> bool {
        self.used * 64 < self.geometry.lines() * SPARSE_64THS
    }

    /// The entries of every `step`th line.
    pub fn entries(&self, memory: &Memory, step: usize) -> impl Iterator<Item = Loose> {
        let lines = if self.used == 0 { 0 } else { self.geometry.lines() };
        (0..lines).step_by(step).flat_map(move |number| {
            let first = self.geometry.first(number);
            self.line(memory, number).slots().into_iter().filter_map(move |slot| {
                let segment = slot.segment()?;
                let x = if slot.is_alternate() { self.geometry.position(number, slot) } else { first + slot.tag() };
                Some((x, segment))
            })
        })
    }

    /// Takes every entry out, in nearly ascending order of position.
    pub fn drain(&mut self, memory: &mut Memory) -> Vec<Loose> {
        let mut loose = Vec::with_capacity(self.used as usize);
        for number in 0..self.held * CHUNK_LINES {
            let line = std::mem::replace(self.line_mut(memory, number), Line::EMPTY);
            let first = self.geometry.first(number);
            for slot in line.slots() {
                let Some(segment) = slot.segment() else { continue };
                let x = if slot.is_alternate() { self.geometry.position(number, slot) } else { first + slot.tag() };
                loose.push((x, segment));
            }
        }
        assert_eq!(loose.len(), self.used as usize, "a piece counts its slots");
        self.used = 0;
        loose
    }
}

/// Lines for `count` slots at `per_line` 64ths a line, whole chunks, at most [`MAX_LINES`]; enough that a tag over
/// `bits` bits has 16 bits.
pub(super) fn lines_for(count: usize, per_line_64ths: usize, bits: u32) -> u32 {
    debug_assert!(per_line_64ths <= LINE_SLOTS * 64);
    let wanted = (count * 64).div_ceil(per_line_64ths).min(MAX_LINES as usize) as u32;
    wanted.max(1 << bits.saturating_sub(16)).next_multiple_of(CHUNK_LINES)
}
