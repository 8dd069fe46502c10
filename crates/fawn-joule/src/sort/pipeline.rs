//! The input on its way into memory: pieces are read, sorted and merged at the same time, each by threads of its own.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::error::{SortError, first_cause};
use super::input::InputRecords;
use super::monitor::ByteMonitor;
use super::pages::Pages;
use super::piece::InputPiece;
use super::sort_plan::{READS_AT_A_TIME, SortPlan};

/// The input in pieces.
pub struct PiecePipeline<'p> {
    /// What is read.
    pub input: &'p InputRecords,
    /// How large pieces and groups are.
    pub plan: &'p SortPlan,
    /// Threads that sort.
    pub threads: usize,
    /// What is told how far it is.
    pub monitor: &'p ByteMonitor<'p>,
}

/// A sorted piece with its number.
type NumberedPiece = (u64, InputPiece);

impl PiecePipeline<'_> {
    /// Reads and sorts the input, and gives one group of sorted pieces after the other to `take`, in the order of the input. It
    /// returns the pieces that may be filled again.
    ///
    /// # Errors
    /// Those of `take`, or the input cannot be read.
    pub fn run(
        &self,
        mut take: impl FnMut(Vec<InputPiece>) -> Result<Vec<InputPiece>, SortError>,
    ) -> Result<(), SortError> {
        let (free, to_fill) = channel();
        let (filled, to_sort) = channel();
        let (sorted, to_merge) = channel();
        let to_sort = Mutex::new(to_sort);
        for _ in 0..self.plan.pieces_in_memory {
            let _ = free.send(None);
        }
        thread::scope(|scope| {
            let reader = scope.spawn(move || self.read(&to_fill, &filled));
            for _ in 0..self.threads {
                let (to_sort, sorted) = (&to_sort, sorted.clone());
                scope.spawn(move || sort_pieces(to_sort, &sorted));
            }
            drop(sorted);
            let merged = self.merge(&to_merge, &free, &mut take);
            // Whoever waits for a piece, or to be rid of one, does not any more.
            drop((free, to_merge));
            first_cause([merged, reader.join().expect("no thread panics")])
        })
    }

    fn pieces(&self) -> u64 {
        self.input.records().div_ceil(self.plan.piece_records as u64)
    }

    fn read(&self, free: &Receiver<Option<InputPiece>>, filled: &Sender<NumberedPiece>) -> Result<(), SortError> {
        let transfer = self.plan.transfer;
        let mut bounces = (0..READS_AT_A_TIME).map(|_| Pages::with_bytes(transfer)).collect::<Result<Vec<_>, _>>()?;
        let shape = self.input.shape();
        for number in 0..self.pieces() {
            let first = number * self.plan.piece_records as u64;
            let records = (self.input.records() - first).min(self.plan.piece_records as u64) as usize;
            let mut piece = match free.recv().map_err(|_| SortError::Stopped)? {
                Some(piece) => piece,
                None => InputPiece::with_room(*shape, records)?,
            };
            piece.fill(self.input, first, records, transfer, &mut bounces)?;
            self.monitor.add((records * shape.record_bytes()) as u64, "reading");
            filled.send((number, piece)).map_err(|_| SortError::Stopped)?;
        }
        Ok(())
    }

    fn merge(
        &self,
        sorted: &Receiver<NumberedPiece>,
        free: &Sender<Option<InputPiece>>,
        take: &mut impl FnMut(Vec<InputPiece>) -> Result<Vec<InputPiece>, SortError>,
    ) -> Result<(), SortError> {
        let (mut early, mut next) = (BTreeMap::new(), 0);
        while next < self.pieces() {
            let end = self.pieces().min(next + self.plan.pieces_a_group as u64);
            let mut group = Vec::new();
            while next < end {
                if let Some(piece) = early.remove(&next) {
                    group.push(piece);
                    next += 1;
                } else {
                    let (number, piece) = sorted.recv().map_err(|_| SortError::Stopped)?;
                    early.insert(number, piece);
                }
            }
            for piece in take(group)? {
                // A reader that has all does not wait for it.
                let _ = free.send(Some(piece));
            }
        }
        Ok(())
    }
}

fn sort_pieces(to_sort: &Mutex<Receiver<NumberedPiece>>, sorted: &Sender<NumberedPiece>) {
    loop {
        let next = to_sort.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, mut piece)) = next else { return };
        piece.sort();
        if sorted.send((number, piece)).is_err() {
            return;
        }
    }
}
