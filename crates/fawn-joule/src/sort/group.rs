//! Sorted pieces in memory, merged.

use std::cmp::Ordering;

use super::error::SortError;
use super::loser_tree::{HeadOrder, LoserTree, PLACE_BITS, empty_head, head};
use super::piece::InputPiece;
use super::record::RecordShape;
use super::splitter::{Splitter, choose};

/// Samples of each piece for each part that it is cut into.
const SAMPLES_A_PART: usize = 64;
/// Records that are found before they are copied: the processor then waits for several of them at once.
const BATCH: usize = 64;

/// Pieces that are sorted each for itself.
#[derive(Clone, Copy, Debug)]
pub struct SortedPieces<'p> {
    shape: RecordShape,
    pieces: &'p [InputPiece],
}

impl<'p> SortedPieces<'p> {
    /// Of pieces of the input, in its order.
    pub fn new(shape: RecordShape, pieces: &'p [InputPiece]) -> Self {
        Self { shape, pieces }
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.records() as u64).sum()
    }

    /// For each end of about equal `parts`, from the first's beginning to the last's end: how many records of each piece are before.
    pub fn cuts(&self, parts: usize) -> Vec<Vec<u64>> {
        let mut samples = Vec::new();
        for (list, piece) in self.pieces.iter().enumerate() {
            let every = (piece.records() / (SAMPLES_A_PART * parts)).max(1);
            samples.extend((0..piece.records()).step_by(every).map(|at| Splitter {
                key: self.shape.key(piece.record(piece.entries()[at])),
                list,
                position: at as u64,
            }));
        }
        let mut cuts = vec![vec![0; self.pieces.len()]];
        cuts.extend(choose(samples, parts).iter().map(|splitter| self.cut(splitter)));
        // Without records there is no splitter.
        cuts.resize(parts, vec![0; self.pieces.len()]);
        cuts.push(self.pieces.iter().map(|piece| piece.records() as u64).collect());
        cuts
    }

    fn cut(&self, splitter: &Splitter<'_>) -> Vec<u64> {
        let place = |(list, piece): (usize, &InputPiece)| {
            if list == splitter.list {
                return splitter.position;
            }
            let is_before = |entry: &u128| splitter.is_after(self.shape.key(piece.record(*entry)), list);
            piece.entries().partition_point(is_before) as u64
        };
        self.pieces.iter().enumerate().map(place).collect()
    }

    /// Gives the records between two cuts to `put`, in order.
    ///
    /// # Errors
    /// Those of `put`.
    pub fn merge(
        &self,
        from: &[u64],
        to: &[u64],
        put: impl FnMut(&[u8]) -> Result<(), SortError>,
    ) -> Result<(), SortError> {
        let heads: Vec<&[u128]> = self
            .pieces
            .iter()
            .zip(from.iter().zip(to))
            .map(|(piece, (from, to))| &piece.entries()[*from as usize..*to as usize])
            .collect();
        let heads = PieceHeads { pieces: self, left: heads };
        if self.shape.is_long() { heads.merge::<true>(put) } else { heads.merge::<false>(put) }
    }
}

/// What is left of each piece.
struct PieceHeads<'p> {
    pieces: &'p SortedPieces<'p>,
    left: Vec<&'p [u128]>,
}

impl<'p> PieceHeads<'p> {
    fn merge<const LONG: bool>(mut self, mut put: impl FnMut(&[u8]) -> Result<(), SortError>) -> Result<(), SortError> {
        let heads: Vec<u128> = (0..self.left.len()).map(|list| self.head(list)).collect();
        let mut tree = LoserTree::new(&heads, &HeadKeys::<LONG>(&self));
        let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
        loop {
            let mut found = 0;
            while found < BATCH
                && let Some(list) = tree.least()
            {
                let entry = self.take(list);
                batch[found] = self.pieces.pieces[list].record(entry);
                found += 1;
                tree.replace(self.head(list), &HeadKeys::<LONG>(&self));
            }
            batch[..found].iter().try_for_each(|record| put(record))?;
            if found < BATCH {
                return Ok(());
            }
        }
    }

    #[inline]
    fn take(&mut self, list: usize) -> u128 {
        let (first, rest) = self.left[list].split_first().expect("the least head is of a list with records");
        self.left[list] = rest;
        *first
    }

    #[inline]
    fn head(&self, list: usize) -> u128 {
        self.left[list].first().map_or_else(|| empty_head(list), |entry| head(entry & !PLACE_BITS, list))
    }

    fn key(&self, list: usize) -> &'p [u8] {
        let piece = &self.pieces.pieces[list];
        self.pieces.shape.key(piece.record(self.left[list][0]))
    }
}

/// The order of heads, by their whole keys where prefixes do not suffice.
struct HeadKeys<'h, 'p, const LONG: bool>(&'h PieceHeads<'p>);

impl<const LONG: bool> HeadOrder for HeadKeys<'_, '_, LONG> {
    const IS_LONG: bool = LONG;

    fn compare_keys(&self, first: usize, second: usize) -> Ordering {
        self.0.key(first).cmp(self.0.key(second))
    }
}
