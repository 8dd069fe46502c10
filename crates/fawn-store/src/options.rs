//! What a store is told when it is opened.

use fawn_ring::{Interval, Secret};

use crate::api::Ack;

/// Options of one store.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which of the directory's stores this is, from 0.
    pub index: u32,
    /// Number of stores of the directory.
    pub count: u32,
    /// The stretch of the key space that it holds.
    pub interval: Interval,
    /// The hash key; used when the store is made, checked afterwards.
    pub secret: Secret,
    /// Budget for indexes, buffers and record cache, bytes.
    pub memory: u64,
    /// When a put is answered.
    pub ack: Ack,
    /// Milliseconds for which batches of the log wait, so that the device rests between them; 0: they do not.
    pub rest_ms: u32,
    /// Bytes of an open segment; 0 derives it from `memory`.
    pub segment_bytes: usize,
    /// Pages of the commit log; 0 derives it from the segment's size. Fixed when the store is made.
    pub log_pages: u64,
    /// Slices to begin with; fixed when the store is made. 0 derives it from the device's size.
    pub slices: u32,
    /// Bytes at which a merge divides its slice; 0 derives it from `memory`.
    pub slice_bytes: u64,
    /// Whether slices have a base without index entries; `None`: when the memory budget cannot index every record.
    pub drain: Option<bool>,
    /// Whether bases get filters, so that most absent keys cost no read: 1.2 bytes a record. Where the memory has no room
    /// for all of them, slices go without.
    pub miss_filter: bool,
    /// Whether a store whose commit log is damaged, or cannot be read, opens with what was written before that place: to read what
    /// is left through an overlay, where nothing is kept.
    pub salvage: bool,
}

/// Smallest and largest open segment that is derived.
const SEGMENT_BYTES: (u64, u64) = (1 << 20, 64 << 20);
/// An open segment up to this size may take a sixteenth of the memory.
const SMALL_SEGMENT_BYTES: u64 = 16 << 20;
/// Least and most DRAM that a merge takes to read ahead.
const MERGE_BYTES: (u64, u64) = (1 << 20, 64 << 20);
/// Least and most bytes of a slice that are derived.
const SLICE_BYTES: (u64, u64) = (16 << 20, 128 << 20);
/// Data of the device for each slice to begin with.
const DEVICE_BYTES_A_SLICE: u64 = 1 << 30;
/// Bytes of a process that no store counts: 20 MiB of `fawn serve` before the first request, and some that the allocator
/// has not given back.
const PROCESS_BYTES: u64 = 32 << 20;
/// Bytes of a first manifest, about, and of the next, which takes its place.
const MANIFEST_BYTES: u64 = 3 << 20;
/// Frozen segments that may wait for their seal.
pub const MAX_FROZEN: usize = 2;

impl Options {
    /// Options of a stand-alone store over the whole key space.
    pub fn new(secret: Secret, memory: u64) -> Self {
        Self {
            index: 0,
            count: 1,
            interval: Interval::ALL,
            secret,
            memory,
            ack: Ack::Durable,
            rest_ms: 0,
            segment_bytes: 0,
            log_pages: 0,
            slices: 0,
            slice_bytes: 0,
            drain: None,
            miss_filter: false,
            salvage: false,
        }
    }

    /// DRAM that a merge takes to read ahead: a thirty-second part of the memory budget, within bounds.
    pub(crate) fn merge_bytes(&self) -> u64 {
        (self.memory / 32).clamp(MERGE_BYTES.0, MERGE_BYTES.1)
    }

    /// What the process takes beside everything that the store counts: its code, connections, what merges and loads make
    /// and free. The store's share of it, and at most an eighth of the memory budget.
    pub(crate) fn process_bytes(&self) -> u64 {
        (PROCESS_BYTES / u64::from(self.count.max(1))).min(self.memory / 8)
    }

    /// Bytes of an open segment: a sixteenth of the memory budget up to 16 MiB, a thirty-second part beyond, within bounds.
    pub(crate) fn segment_bytes(&self) -> usize {
        if self.segment_bytes > 0 {
            return self.segment_bytes;
        }
        (self.memory / 16).min(SMALL_SEGMENT_BYTES).max(self.memory / 32).clamp(SEGMENT_BYTES.0, SEGMENT_BYTES.1)
            as usize
    }

    /// Bytes at which a merge divides its slice: a quarter of the memory budget, within bounds, as a merge keeps eight bytes
    /// for each record of its output.
    pub(crate) fn slice_bytes(&self) -> u64 {
        if self.slice_bytes > 0 { self.slice_bytes } else { (self.memory / 4).clamp(SLICE_BYTES.0, SLICE_BYTES.1) }
    }

    /// Pages of the commit log: four open segments.
    pub(crate) fn log_pages(&self) -> u64 {
        if self.log_pages > 0 {
            return self.log_pages;
        }
        4 * self.segment_bytes() as u64 / crate::format::page::PAGE_BYTES as u64
    }

    /// Bytes of the device that a new store takes before it serves: its log, its manifest and a first segment.
    pub fn bytes_to_make(&self) -> u64 {
        self.log_pages() * crate::format::page::PAGE_BYTES as u64 + MANIFEST_BYTES + self.segment_bytes() as u64
    }

    /// Slices to begin with, for a device of `device_bytes`: one for each GiB that this store may come to hold,
    /// within what its memory budget can index (a slice's table takes up to 16 KiB before it holds anything).
    pub(crate) fn slices(&self, device_bytes: u64) -> u32 {
        if self.slices > 0 {
            return self.slices;
        }
        let by_device = device_bytes / u64::from(self.count.max(1)) / DEVICE_BYTES_A_SLICE;
        let by_memory = self.memory / 64 / (16 << 10);
        by_device.min(by_memory).clamp(4, 4096) as u32
    }
}
