//! The index of one slice: pieces in an extendible array.

use super::displace::displace;
use super::fill::fill;
use super::geometry::{Geometry, MAX_BITS, MAX_LINES, MIN_BITS, Place};
use super::memory::{CHUNK_LINES, Memory};
use super::piece::{Loose, Piece, lines_for};
use super::slot::{LINE_SLOTS, Slot};
use super::spill::Spill;
use super::{Frame, SegmentNumber};

/// Lines that a piece grows by: a load of 0.953 becomes 0.847 at 256 lines, 0.893 at 480. Half as many would save 2 % of
/// the memory and make an insertion 70 % dearer.
const GROWTH_LINES: u32 = 2 * CHUNK_LINES;
/// Slots a line, in 64ths, that a new table is laid out for: 15.25, a load of 0.953, less what rounding up to whole
/// chunks takes off.
const SETTLED_64THS: usize = 976;
/// Slots a line, in 64ths, in the halves of a piece that was split: 14.5, a load of 0.91.
const SPLIT_64THS: usize = 928;

/// What an insertion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Slots that had the same position before. They may be of the same key (an older version) or of another.
    pub equal: u32,
    /// Whether a piece grew or was split: the insertion took tens of microseconds, for each time that one did.
    pub grew: bool,
}

/// A multiset of (position, segment number), where the position is that of a key's 64-bit prefix.
#[derive(Debug)]
pub struct Table {
    frame: Frame,
    /// Bits of a position.
    bits: u32,
    /// The directory has `2^depth` entries; the leading `depth` bits of a position choose one.
    depth: u32,
    /// Indexes of pieces; a piece that resolves `w` bits stands in `2^(depth - (bits - w))` adjacent entries.
    directory: Vec<u32>,
    pieces: Vec<Piece>,
    memory: Memory,
    spill: Spill,
    len: usize,
}

impl Table {
    /// An empty table over the key prefixes `low_prefix..=high_prefix`, laid out for `expected_entries`.
    ///
    /// Memory is taken piece by piece as entries arrive, at least 1 KiB and about half of what `expected_entries` take.
    /// The table grows beyond them, but each doubling doubles the rate of false matches; from 256 times on what does
    /// not fit is spilled. So an estimate that is too low by a half costs nothing to speak of, one that is too low by
    /// a factor of a hundred costs reads.
    pub fn new(low_prefix: u64, high_prefix: u64, expected_entries: usize) -> Self {
        let lines = (expected_entries * 64).div_ceil(SETTLED_64THS).max(CHUNK_LINES as usize);
        // Pieces of 248 to 496 lines leave room for those that get more than their share.
        let depth = lines.div_ceil(MAX_LINES as usize - 16).next_power_of_two().ilog2();
        let per_piece = (lines >> depth).min(MAX_LINES as usize / 2) as u32;
        // A table for few entries has one piece of fewer lines, and the tag bits still number 16.
        let piece_bits = if depth == 0 { 16 + per_piece.ilog2() } else { MAX_BITS };
        let geometry = Geometry::new(1 << (piece_bits - 16), piece_bits);
        let bits = piece_bits + depth;
        Self {
            frame: Frame::new(low_prefix, high_prefix, 1 << bits),
            bits,
            depth,
            directory: (0..1 << depth).collect(),
            pieces: (0..1 << depth).map(|_| Piece::new(geometry)).collect(),
            memory: Memory::new((lines as u32).div_ceil(CHUNK_LINES)),
            spill: Spill::default(),
            len: 0,
        }
    }

    /// A table of `entries`, which come in ascending order of prefix, with as much memory as they take; laid out for
    /// `expected_entries`, if those are more.
    pub fn from_sorted(
        low_prefix: u64,
        high_prefix: u64,
        expected_entries: usize,
        entries: impl ExactSizeIterator<Item = (u64, SegmentNumber)>,
    ) -> Self {
        let mut table = Self::new(low_prefix, high_prefix, entries.len().max(expected_entries));
        let mut loose: Vec<Loose> = Vec::with_capacity(MAX_LINES as usize * LINE_SLOTS);
        let mut current = 0;
        let mut last = low_prefix;
        for (prefix, segment) in entries {
            assert!(last <= prefix, "entries come in ascending order");
            last = prefix;
            let position = table.frame.position(prefix);
            let piece_bits = table.pieces[table.find(position).0].geometry.bits();
            let base = position >> piece_bits << piece_bits;
            if base != current {
                table.settle(current, &loose);
                loose.clear();
                current = base;
            }
            loose.push(((position - base) as u32, segment));
        }
        table.settle(current, &loose);
        table
    }

    /// Adds an entry, also when there is an equal one.
    #[inline]
    pub fn insert(&mut self, prefix: u64, segment: SegmentNumber) -> Insertion {
        self.insert_at(self.frame.position(prefix), segment)
    }

    fn insert_at(&mut self, position: u64, segment: SegmentNumber) -> Insertion {
        let (mut index, mut x) = self.find(position);
        let mut grew = self.pieces[index].is_full() && self.grow(index, position);
        if grew {
            (index, x) = self.find(position);
        }
        let piece = &mut self.pieces[index];
        piece.fit_memory(&mut self.memory);
        let place = piece.geometry.place(x);
        let equal = self.count(index, place, position);
        self.len += 1;
        // More than two lines of one position find no room, whatever moves.
        let hopeless = equal as usize >= 2 * LINE_SLOTS;
        if !hopeless && self.put(index, place, segment) {
            return Insertion { equal, grew };
        }
        while !hopeless && self.make_room(index, position) {
            grew = true;
            (index, x) = self.find(position);
            let piece = &mut self.pieces[index];
            piece.fit_memory(&mut self.memory);
            let place = piece.geometry.place(x);
            if self.put(index, place, segment) {
                return Insertion { equal, grew };
            }
        }
        self.spill.insert(position, segment);
        Insertion { equal, grew }
    }

    /// Hands the segment numbers of all entries at the position of `prefix` to `found`, in no order; one that was
    /// inserted twice comes twice. Allocates nothing itself.
    #[inline]
    pub fn candidates(&self, prefix: u64, found: &mut impl Extend<SegmentNumber>) {
        self.candidates_at(self.frame.position(prefix), found);
    }

    /// As [`candidates`](Self::candidates), of a position.
    #[inline]
    pub fn candidates_at(&self, position: u64, found: &mut impl Extend<SegmentNumber>) {
        let (index, x) = self.find(position);
        let piece = &self.pieces[index];
        if piece.used > 0 {
            let place = piece.geometry.place(x);
            let home = Slot::new(place.tag, SegmentNumber::MIN);
            let (first, second) = (piece.line(&self.memory, place.home), piece.line(&self.memory, place.alternate));
            let (in_first, in_second) = (first.matches(home), second.matches(home.moved()));
            found.extend(in_first.filter_map(|at| first.slot(at).segment()));
            found.extend(in_second.filter_map(|at| second.slot(at).segment()));
        }
        if self.spill.len() > 0 {
            found.extend(self.spill.at(position));
        }
    }

    /// Gives one entry `from` at the position of `prefix` the segment number `to`; false when there is none.
    pub fn replace(&mut self, prefix: u64, from: SegmentNumber, to: SegmentNumber) -> bool {
        let position = self.frame.position(prefix);
        if let Some((index, line, at)) = self.sought(position, from) {
            self.pieces[index].line_mut(&mut self.memory, line).set_segment(at, to);
            return true;
        }
        let spilled = self.spill.remove(position, from);
        if spilled {
            self.spill.insert(position, to);
        }
        spilled
    }

    /// Removes one entry `segment` at the position of `prefix`; false when there is none.
    pub fn remove(&mut self, prefix: u64, segment: SegmentNumber) -> bool {
        let position = self.frame.position(prefix);
        if let Some((index, line, at)) = self.sought(position, segment) {
            let piece = &mut self.pieces[index];
            piece.line_mut(&mut self.memory, line).clear(at);
            piece.used -= 1;
            self.len -= 1;
            return true;
        }
        let spilled = self.spill.remove(position, segment);
        self.len -= usize::from(spilled);
        spilled
    }

    /// Number of entries, spilled ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of entries in the spill. More than a few mean that keys were aimed, that one key was written dozens of
    /// times without its stale entries being removed, or that the table has far outgrown its layout.
    pub fn spilled(&self) -> usize {
        self.spill.len()
    }

    /// Bytes allocated for the table, everything included; the spill is reckoned.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.memory.bytes()
            + self.pieces.capacity() * size_of::<Piece>()
            + self.directory.capacity() * size_of::<u32>()
            + self.spill.bytes()
    }

    /// The chance that an absent key meets an entry with its position, and so costs a read for nothing.
    pub fn false_match_rate(&self) -> f64 {
        self.len as f64 / (self.bits as f64).exp2()
    }

    /// The scaling of prefixes to positions: two prefixes with one position are the same to this table.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Every entry, as (position, segment number), in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, SegmentNumber)> {
        self.placed(1).chain(self.spill.iter())
    }

    /// All entries when they are `most` or fewer, else about so many, evenly taken of all positions; in no order.
    pub fn sample(&self, most: usize) -> impl Iterator<Item = (u64, SegmentNumber)> {
        let step = self.len.div_ceil(most.max(1)).max(1);
        self.placed(step).chain(self.spill.iter().step_by(step))
    }

    /// The entries in every `step`th line of each piece.
    fn placed(&self, step: usize) -> impl Iterator<Item = (u64, SegmentNumber)> {
        let heads =
            self.directory.iter().enumerate().filter(|(at, index)| *at == 0 || self.directory[at - 1] != **index);
        heads.flat_map(move |(at, &index)| {
            let piece = &self.pieces[index as usize];
            let base = (at as u64) << (self.bits - self.depth);
            piece.entries(&self.memory, step).map(move |(x, segment)| (base + u64::from(x), segment))
        })
    }

    /// The piece that covers `position`, and the position within it.
    #[inline]
    fn find(&self, position: u64) -> (usize, u32) {
        let index = self.directory[(position >> (self.bits - self.depth)) as usize] as usize;
        (index, (position & ((1 << self.pieces[index].geometry.bits()) - 1)) as u32)
    }

    /// Number of entries at `position`.
    fn count(&self, index: usize, place: Place, position: u64) -> u32 {
        let piece = &self.pieces[index];
        let home = Slot::new(place.tag, SegmentNumber::MIN);
        let placed = piece.line(&self.memory, place.home).matches(home).len()
            + piece.line(&self.memory, place.alternate).matches(home.moved()).len();
        placed + self.spill.count(position)
    }

    /// Where an entry `segment` at `position` sits in the lines: piece, line, slot.
    fn sought(&self, position: u64, segment: SegmentNumber) -> Option<(usize, u32, usize)> {
        let (index, x) = self.find(position);
        let piece = &self.pieces[index];
        if piece.used == 0 {
            return None;
        }
        let place = piece.geometry.place(x);
        let home = Slot::new(place.tag, segment);
        [(place.home, home), (place.alternate, home.moved())].into_iter().find_map(|(number, wanted)| {
            let line = piece.line(&self.memory, number);
            line.matches(wanted).find(|&at| line.slot(at) == wanted).map(|at| (index, number, at))
        })
    }

    /// Puts a slot in its home line, its second line, or where displacement makes room; false when it does not.
    #[inline]
    fn put(&mut self, index: usize, place: Place, segment: SegmentNumber) -> bool {
        let piece = &mut self.pieces[index];
        let slot = Slot::new(place.tag, segment);
        for (number, slot) in [(place.home, slot), (place.alternate, slot.moved())] {
            let line = piece.line_mut(&mut self.memory, number);
            if let Some(at) = line.first_vacant() {
                line.put(at, slot);
                piece.used += 1;
                return true;
            }
        }
        let placed = displace(piece, &mut self.memory, place, slot);
        piece.used += u32::from(placed);
        placed
    }

    /// Makes room in a piece that has none for `position`: where its keys crowd in a part of it, more lines would not help, and it
    /// is split, until they have pieces of their own. Keys that all lie in a part of the table, as those of a store whose ranges
    /// cover a part of a slice, so take about as much memory as any. False where more would take more than the spill.
    #[cold]
    fn make_room(&mut self, index: usize, position: u64) -> bool {
        let piece = &self.pieces[index];
        let bits = piece.geometry.bits();
        if piece.is_crowded() && bits > MIN_BITS {
            self.split(index, position >> bits << bits);
            return true;
        }
        !piece.is_sparse() && self.grow(index, position)
    }

    /// Gives the piece that covers `position` more lines, or splits it; false when it may do neither.
    #[cold]
    fn grow(&mut self, index: usize, position: u64) -> bool {
        let geometry = self.pieces[index].geometry;
        let base = position >> geometry.bits() << geometry.bits();
        if geometry.lines() < MAX_LINES {
            let loose = self.pieces[index].drain(&mut self.memory);
            let lines = geometry.lines() + GROWTH_LINES;
            self.refill(index, base, Geometry::new(lines.min(MAX_LINES), geometry.bits()), &loose);
            return true;
        }
        let splits = geometry.bits() > MIN_BITS;
        if splits {
            self.split(index, base);
        }
        splits
    }

    /// Replaces the piece whose lowest position is `base` by two, each with one bit of its positions less.
    fn split(&mut self, index: usize, base: u64) {
        let bits = self.pieces[index].geometry.bits() - 1;
        if self.bits - bits > self.depth {
            self.directory = self.directory.iter().flat_map(|&piece| [piece, piece]).collect();
            self.depth += 1;
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (x, segment) in self.pieces[index].drain(&mut self.memory) {
            if x >> bits == 0 { left.push((x, segment)) } else { right.push((x - (1 << bits), segment)) }
        }
        let geometry = |count| Geometry::new(lines_for(count, SPLIT_64THS, bits), bits);
        if self.pieces.len() == self.pieces.capacity() {
            self.pieces.reserve_exact(self.pieces.len() / 16 + 1);
        }
        let new = self.pieces.len();
        self.pieces.push(Piece::new(geometry(right.len())));
        let entries = 1 << (self.depth - (self.bits - bits));
        let middle = (base >> (self.bits - self.depth)) as usize + entries;
        self.directory[middle..middle + entries].fill(new as u32);
        self.refill(index, base, geometry(left.len()), &left);
        self.refill(new, base + (1 << bits), geometry(right.len()), &right);
    }

    /// Lays an empty piece out anew and places `loose` in it; what finds no room is inserted again, so that room is made for it.
    fn refill(&mut self, index: usize, base: u64, geometry: Geometry, loose: &[Loose]) {
        let piece = &mut self.pieces[index];
        piece.geometry = geometry;
        if loose.is_empty() {
            piece.give_memory_back(&mut self.memory);
            return;
        }
        piece.fit_memory(&mut self.memory);
        let mut left = Vec::new();
        fill(piece, &mut self.memory, loose, |entry| left.push(entry));
        self.len -= left.len();
        for (x, segment) in left {
            self.insert_at(base + u64::from(x), segment);
        }
    }

    /// Fills the untouched piece whose lowest position is `base`, with the memory it takes, and splits it as needed.
    fn settle(&mut self, base: u64, loose: &[Loose]) {
        if loose.is_empty() {
            return;
        }
        let (index, _) = self.find(base);
        let bits = self.pieces[index].geometry.bits();
        let lines = lines_for(loose.len(), SETTLED_64THS, bits);
        let (now, later) = loose.split_at(loose.len().min(lines as usize * SETTLED_64THS / 64));
        let piece = &mut self.pieces[index];
        piece.geometry = Geometry::new(lines, bits);
        piece.fit_memory(&mut self.memory);
        let mut left = Vec::new();
        fill(piece, &mut self.memory, now, |entry| left.push(entry));
        self.len += now.len() - left.len();
        for &(x, segment) in left.iter().chain(later) {
            self.insert_at(base + u64::from(x), segment);
        }
    }
}
