//! How many passes a sort takes, and what its memory is for.

use super::error::SortError;
use super::pages::PAGE_BYTES;
use super::piece::ENTRY_BYTES;
use super::record::RecordShape;
use super::run_reader::{BUFFERS_A_RUN, lead_bytes};
use super::writer::BUFFERS_A_RANGE;

/// Transfers of reads and writes, by the memory there is.
const TRANSFER_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=1 << 20;
/// Reads of a merge: no flash is faster with larger ones, and fewer threads merge rather than that reads are smaller than is good.
const MOST_BLOCK_BYTES: usize = 1 << 20;
const GOOD_BLOCK_BYTES: usize = 256 << 10;
const LEAST_BLOCK_BYTES: usize = 4 * PAGE_BYTES;
/// Pieces that one pass reads at least: a piece is sorted while the next is read.
const LEAST_PIECES: usize = 16;
/// Pieces that are merged into a run at least.
const LEAST_PIECES_A_RUN: usize = 4;
/// Reads of the input at a time.
pub const READS_AT_A_TIME: usize = 4;
/// Pieces consist of whole pages unless these would be more than one part in so many.
const MOST_UNIT_SHARE: usize = 8;
/// Records of a piece at most, as their places have 32 bits.
const MOST_PIECE_RECORDS: usize = 1 << 31;

/// What is to be sorted, and with what.
#[derive(Clone, Copy, Debug)]
pub struct SortDemand {
    /// The shape of the records.
    pub shape: RecordShape,
    /// Their number.
    pub records: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Threads that sort and merge.
    pub threads: usize,
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortPlan {
    /// Records that are read and sorted together, but for the last.
    pub piece_records: usize,
    /// Pieces whose records are merged together.
    pub pieces_a_group: usize,
    /// Pieces in memory.
    pub pieces_in_memory: usize,
    /// Bytes of a read of the input and of a write.
    pub transfer: usize,
    /// How runs are merged; `None`: one pass is enough.
    pub second: Option<SecondPass>,
}

impl SecondPass {
    /// Stretches of runs that are read at the same time.
    pub fn readers(&self) -> u64 {
        self.runs * self.threads as u64
    }

    /// Bytes that these have read and not merged.
    pub fn read_ahead(&self) -> u64 {
        self.readers() * (BUFFERS_A_RUN * self.block) as u64
    }
}

/// How runs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondPass {
    /// Bytes of a read.
    pub block: usize,
    /// Threads that merge.
    pub threads: usize,
    /// Runs.
    pub runs: u64,
}

impl SortPlan {
    /// The plan for a demand.
    ///
    /// # Errors
    /// [`SortError::Memory`].
    pub fn of(demand: &SortDemand) -> Result<Self, SortError> {
        if let Some(plan) = Self::one_pass(demand).or_else(|| Self::two_passes(demand)) {
            return Ok(plan);
        }
        let mut more = *demand;
        while Self::two_passes(&more).is_none() && more.memory < u64::MAX / 2 {
            more.memory += more.memory / 8 + (1 << 20);
        }
        Err(SortError::Memory { needed: more.memory })
    }

    fn one_pass(demand: &SortDemand) -> Option<Self> {
        let transfer = transfer(demand);
        let left = memory_for_records(demand, transfer)?;
        let all = usize::try_from(demand.records).ok()?;
        if all.checked_mul(demand.shape.record_bytes() + ENTRY_BYTES)? > left {
            return None;
        }
        let pieces = LEAST_PIECES.max(2 * demand.threads);
        let piece_records = whole_pages(demand, all.div_ceil(pieces).clamp(1, MOST_PIECE_RECORDS));
        let pieces = all.div_ceil(piece_records);
        Some(Self { piece_records, pieces_a_group: pieces, pieces_in_memory: pieces, transfer, second: None })
    }

    fn two_passes(demand: &SortDemand) -> Option<Self> {
        let transfer = transfer(demand);
        let pieces_a_group = LEAST_PIECES_A_RUN.max(demand.threads);
        let piece_bytes = memory_for_records(demand, transfer)? / (2 * pieces_a_group);
        // The rest of a page beside records and entries.
        let room = piece_bytes.checked_sub(PAGE_BYTES)? / (demand.shape.record_bytes() + ENTRY_BYTES);
        let piece_records = whole_pages(demand, room.clamp(1, MOST_PIECE_RECORDS));
        if room == 0 {
            return None;
        }
        let runs = demand.records.div_ceil((piece_records * pieces_a_group) as u64);
        let second = second_pass(demand, transfer, runs)?;
        Some(Self {
            piece_records,
            pieces_a_group,
            pieces_in_memory: 2 * pieces_a_group,
            transfer,
            second: Some(second),
        })
    }
}

/// The most threads that have good blocks, or else one that has any.
fn second_pass(demand: &SortDemand, transfer: usize, runs: u64) -> Option<SecondPass> {
    let memory = usize::try_from(demand.memory).unwrap_or(usize::MAX);
    let block = |threads: usize| {
        let writers = threads * BUFFERS_A_RANGE * transfer;
        let readers = usize::try_from(runs).ok()?.max(1).checked_mul(threads * BUFFERS_A_RUN)?;
        let block = (memory.checked_sub(writers)? / readers).checked_sub(lead_bytes(demand.shape.record_bytes()))?;
        Some(block.min(MOST_BLOCK_BYTES) / PAGE_BYTES * PAGE_BYTES)
    };
    let pass = |threads: usize, block: usize| SecondPass { block, threads, runs };
    let good = (1..=demand.threads).rev().find_map(|threads| {
        block(threads).filter(|block| *block >= GOOD_BLOCK_BYTES).map(|block| pass(threads, block))
    });
    good.or_else(|| block(1).filter(|block| *block >= LEAST_BLOCK_BYTES).map(|block| pass(1, block)))
}

fn transfer(demand: &SortDemand) -> usize {
    let share = usize::try_from(demand.memory / 128).unwrap_or(usize::MAX);
    share.clamp(*TRANSFER_BYTES.start(), *TRANSFER_BYTES.end()) / PAGE_BYTES * PAGE_BYTES
}

/// What the buffers of reads and writes leave.
fn memory_for_records(demand: &SortDemand, transfer: usize) -> Option<usize> {
    let buffers = demand.threads * BUFFERS_A_RANGE + READS_AT_A_TIME;
    usize::try_from(demand.memory).unwrap_or(usize::MAX).checked_sub(buffers * transfer)
}

/// As many records as fill whole pages, if that is about as many: then pieces are read from one file without a copy.
fn whole_pages(demand: &SortDemand, records: usize) -> usize {
    let unit = demand.shape.records_a_page_unit(PAGE_BYTES);
    if records >= MOST_UNIT_SHARE * unit { records / unit * unit } else { records }
}
