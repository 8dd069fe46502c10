//! Spools: sorted batches that do not fit DRAM all at once, on flash until the load is complete.
//!
//! A spool is written once and read once, by the process that wrote it. It has the name of a segment that no manifest
//! lists, so that any opening of the store, by this or an older version, removes what a crash has left. It is a row of
//! chunks of whole pages, each with a checksum of its place and its bytes, its length in use and records back to back
//! ([`Batch`](super::Batch)), which go on from chunk to chunk.

use super::batch::SpoolRecord;
use crate::flash::{FileId, Flash, FlashError};
use crate::format::page::{PAGE_BYTES, PageBuf, pages_for};
use crate::format::segment::{SegmentError, page_damage};

/// Bytes before a chunk's records: CRC-32C, length in use.
const CHUNK_HEADER_BYTES: usize = 8;
/// Pages written at once, about: 512 KiB.
const WRITE_PAGES: usize = 128;

/// A spool that is written.
pub(super) struct SpoolWriter {
    file: u64,
    chunk_pages: usize,
    /// Chunks that are gathered before they are written together.
    buffer: PageBuf,
    /// Chunks in the buffer that are complete.
    filled: usize,
    /// Bytes used in the chunk under construction, its header included.
    used: usize,
    /// Pages of the file that are written.
    written: u64,
}

impl SpoolWriter {
    pub fn create(flash: &dyn Flash, file: u64, chunk_pages: usize) -> Result<Self, FlashError> {
        flash.create(FileId::Segment(file), 0)?;
        let chunks = (WRITE_PAGES / chunk_pages).max(1);
        let buffer = PageBuf::zeroed(chunks * chunk_pages);
        Ok(Self { file, chunk_pages, buffer, filled: 0, used: CHUNK_HEADER_BYTES, written: 0 })
    }

    /// Appends `bytes` to the spool, across chunks.
    pub fn push(&mut self, flash: &dyn Flash, mut bytes: &[u8]) -> Result<(), FlashError> {
        let chunk_bytes = self.chunk_pages * PAGE_BYTES;
        loop {
            let now = bytes.len().min(chunk_bytes - self.used);
            let start = self.filled * chunk_bytes + self.used;
            self.buffer.bytes_mut()[start..start + now].copy_from_slice(&bytes[..now]);
            self.used += now;
            bytes = &bytes[now..];
            if bytes.is_empty() {
                return Ok(());
            }
            self.end_chunk();
            if (self.filled + 1) * self.chunk_pages > self.buffer.len() {
                self.write(flash, self.filled * self.chunk_pages)?;
            }
        }
    }

    /// Writes the rest. Returns the spool's length in pages.
    pub fn finish(mut self, flash: &dyn Flash) -> Result<u64, FlashError> {
        let last = pages_for(self.used);
        self.end_chunk();
        let pages = (self.filled - 1) * self.chunk_pages + last;
        self.write(flash, pages)?;
        // What is written behind is there from now on.
        flash.truncate(FileId::Segment(self.file), self.written)?;
        Ok(self.written)
    }

    fn end_chunk(&mut self) {
        let chunk_bytes = self.chunk_pages * PAGE_BYTES;
        let page = self.written + (self.filled * self.chunk_pages) as u64;
        let chunk = &mut self.buffer.bytes_mut()[self.filled * chunk_bytes..][..chunk_bytes];
        chunk[4..8].copy_from_slice(&(self.used as u32).to_le_bytes());
        let checksum = checksum(self.file, page, &chunk[4..self.used]);
        chunk[..4].copy_from_slice(&checksum.to_le_bytes());
        self.filled += 1;
        self.used = CHUNK_HEADER_BYTES;
    }

    fn write(&mut self, flash: &dyn Flash, pages: usize) -> Result<(), FlashError> {
        flash.write_behind(FileId::Segment(self.file), self.written, &mut self.buffer, pages)?;
        self.written += pages as u64;
        self.filled = 0;
        Ok(())
    }
}

fn checksum(file: u64, page: u64, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&file.to_le_bytes());
    place[8..].copy_from_slice(&page.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&place), bytes)
}

/// A spool that is read, from its start to its end.
pub(super) struct SpoolReader {
    file: u64,
    chunk_pages: usize,
    /// Length of the spool, in pages.
    pages: u64,
    /// Whole chunks, read ahead.
    buffer: PageBuf,
    /// Page of the spool at which the buffer begins; what is before it was passed.
    first: u64,
    /// Pages in the buffer.
    held: usize,
    /// Bytes of the chunk that is read, in the buffer: from the next record on, and its end.
    at: usize,
    end: usize,
    /// A record that goes on from chunk to chunk, and how many bytes of it are of the current chunk.
    carry: Vec<u8>,
}

impl SpoolReader {
    /// Reads about `read_pages` at once, but whole chunks.
    pub fn new(file: u64, pages: u64, chunk_pages: usize, read_pages: usize) -> Self {
        let chunks = (read_pages / chunk_pages).max(1).min((pages as usize).div_ceil(chunk_pages));
        let buffer = PageBuf::zeroed(chunks * chunk_pages);
        Self { file, chunk_pages, pages, buffer, first: 0, held: 0, at: 0, end: 0, carry: Vec::new() }
    }

    /// Number of the spool's file.
    pub fn file(&self) -> u64 {
        self.file
    }

    /// Pages that were read and passed.
    pub fn passed(&self) -> u64 {
        self.first
    }

    /// The next record; `None` at the end.
    pub fn next(&mut self, flash: &dyn Flash) -> Result<Option<SpoolRecord<'_>>, SegmentError> {
        self.carry.clear();
        let len = SpoolRecord::decode(&self.buffer.bytes()[self.at..self.end]).map(|record| record.bytes.len());
        if let Some(len) = len {
            let start = self.at;
            self.at += len;
            return Ok(SpoolRecord::decode(&self.buffer.bytes()[start..self.at]));
        }
        loop {
            let before = self.carry.len();
            self.carry.extend_from_slice(&self.buffer.bytes()[self.at..self.end]);
            if let Some(len) = SpoolRecord::decode(&self.carry).map(|record| record.bytes.len()) {
                self.at += len - before;
                return Ok(SpoolRecord::decode(&self.carry));
            }
            self.at = self.end;
            if !self.next_chunk(flash)? {
                let is_whole = self.carry.is_empty();
                return if is_whole { Ok(None) } else { Err(self.damage("the spool ends within a record")) };
            }
        }
    }

    /// Goes to the next chunk; `false` at the end.
    fn next_chunk(&mut self, flash: &dyn Flash) -> Result<bool, SegmentError> {
        let chunk_bytes = self.chunk_pages * PAGE_BYTES;
        let mut start = self.end.div_ceil(chunk_bytes) * chunk_bytes;
        if start >= self.held * PAGE_BYTES {
            self.first += self.held as u64;
            let count = (self.pages - self.first).min(self.buffer.len() as u64) as usize;
            self.held = count;
            (self.at, self.end) = (0, 0);
            if count == 0 {
                return Ok(false);
            }
            flash.read(FileId::Segment(self.file), self.first, &mut self.buffer.pages_mut()[..count])?;
            start = 0;
        }
        let held = &self.buffer.bytes()[start..(self.held * PAGE_BYTES).min(start + chunk_bytes)];
        let word = |at: usize| u32::from_le_bytes([held[at], held[at + 1], held[at + 2], held[at + 3]]);
        let (sum, used) = (word(0), word(4) as usize);
        let page = self.first + (start / PAGE_BYTES) as u64;
        let is_intact =
            (CHUNK_HEADER_BYTES..=held.len()).contains(&used) && sum == checksum(self.file, page, &held[4..used]);
        if !is_intact {
            return Err(self.damage("a checksum does not match"));
        }
        (self.at, self.end) = (start + CHUNK_HEADER_BYTES, start + used);
        Ok(true)
    }

    fn damage(&self, what: &str) -> SegmentError {
        page_damage(FileId::Segment(self.file), self.first, &format!("{what} (spooled by this load)")).into()
    }
}
