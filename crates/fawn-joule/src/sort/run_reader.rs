//! Part of a sorted run on flash, read ahead.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::error::SortError;
use super::monitor::ByteMonitor;
use super::pages::{PAGE_BYTES, Pages};
use super::spool::RunSpool;

const PAGE: u64 = PAGE_BYTES as u64;

/// Buffers of a reader: one is merged while the other is filled.
pub const BUFFERS_A_RUN: usize = 2;

/// A buffer to be filled.
pub struct ReadJob {
    buffer: Pages,
    /// Bytes in front of the first that is read.
    lead: usize,
    offset: u64,
    bytes: usize,
    /// Where the buffer goes afterwards.
    home: Sender<Result<Pages, SortError>>,
}

/// Reads what is asked for until nobody asks any more.
pub fn read_jobs(spool: &RunSpool, jobs: &Mutex<Receiver<ReadJob>>, monitor: &ByteMonitor<'_>, what: &str) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(ReadJob { mut buffer, lead, offset, bytes, home }) = job else { return };
        let read = spool.file().read_pages(&mut buffer.bytes_mut()[lead..lead + bytes], offset);
        monitor.add(bytes as u64, what);
        let filled = match read {
            Ok(read) if read < bytes => Err(spool.file().shrunk()),
            Ok(_) => Ok(buffer),
            Err(error) => Err(error),
        };
        // Whoever has failed meanwhile does not wait for it.
        let _ = home.send(filled);
    }
}

/// Bytes in front of a block for the beginning of a record.
pub fn lead_bytes(record_bytes: usize) -> usize {
    record_bytes.next_multiple_of(PAGE_BYTES)
}

/// Gives the records of a stretch of the spool one after the other.
///
/// A buffer has room for a record in front of what is read: there goes the beginning of one that ends in it.
pub struct RunReader<'s> {
    spool: &'s RunSpool,
    jobs: Sender<ReadJob>,
    record_bytes: usize,
    /// Records that are not taken yet.
    left: u64,
    buffer: Pages,
    /// Where the first of them is in the buffer, and where the buffer's bytes end.
    at: usize,
    end: usize,
    /// Where the next read begins, and where the stretch's last page ends.
    next: u64,
    stop: u64,
    block: usize,
    /// The first page that still takes space though it is read.
    kept: u64,
    home: Sender<Result<Pages, SortError>>,
    returned: Receiver<Result<Pages, SortError>>,
    /// The bytes that are asked for.
    asked: usize,
}

impl<'s> RunReader<'s> {
    /// Begins with `records` records at an offset, by blocks of `block` bytes, and asks for the first. [`RunReader::start`] waits
    /// for it.
    ///
    /// # Errors
    /// [`SortError::NoMemory`], or nobody reads any more.
    pub fn begin(
        spool: &'s RunSpool,
        (offset, records): (u64, u64),
        record_bytes: usize,
        block: usize,
        jobs: Sender<ReadJob>,
    ) -> Result<Self, SortError> {
        let (home, returned) = channel();
        let size = lead_bytes(record_bytes) + block;
        let next = offset / PAGE * PAGE;
        let mut reader = Self {
            spool,
            jobs,
            record_bytes,
            left: records,
            buffer: Pages::with_bytes(size)?,
            at: 0,
            end: 0,
            next,
            stop: (offset + records * record_bytes as u64).next_multiple_of(PAGE),
            block,
            // Another reader may need the page with the first record.
            kept: offset.next_multiple_of(PAGE),
            home,
            returned,
            asked: 0,
        };
        if records > 0 {
            reader.ask(Pages::with_bytes(size)?)?;
        }
        Ok(reader)
    }

    /// Waits for the first record, which begins at `offset`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn start(&mut self, offset: u64) -> Result<(), SortError> {
        if self.left == 0 {
            return Ok(());
        }
        self.load()?;
        self.at += (offset % PAGE) as usize;
        self.complete()
    }

    /// The first record that is not taken; `None`: there is no other.
    #[inline]
    pub fn record(&self) -> Option<&[u8]> {
        (self.left > 0).then(|| &self.buffer.bytes()[self.at..self.at + self.record_bytes])
    }

    /// Takes it.
    ///
    /// # Errors
    /// The next cannot be read.
    #[inline]
    pub fn take(&mut self) -> Result<(), SortError> {
        self.at += self.record_bytes;
        self.left -= 1;
        if self.end < self.at + self.record_bytes { self.complete() } else { Ok(()) }
    }

    /// Loads until there is a whole record.
    fn complete(&mut self) -> Result<(), SortError> {
        while self.left > 0 && self.end < self.at + self.record_bytes {
            self.load()?;
        }
        Ok(())
    }

    /// Goes on with the buffer that was asked for, and asks for the next.
    fn load(&mut self) -> Result<(), SortError> {
        let mut buffer = self.returned.recv().map_err(|_| SortError::Stopped)??;
        let (lead, rest) = (lead_bytes(self.record_bytes), &self.buffer.bytes()[self.at..self.end]);
        self.at = lead - rest.len();
        buffer.bytes_mut()[self.at..lead].copy_from_slice(rest);
        self.end = lead + self.asked;
        let before = std::mem::replace(&mut self.buffer, buffer);
        self.kept = self.spool.give_back(self.kept, self.next - self.asked as u64);
        self.ask(before)
    }

    /// Has the next block read, if there is one.
    fn ask(&mut self, buffer: Pages) -> Result<(), SortError> {
        self.asked = (self.stop - self.next).min(self.block as u64) as usize;
        if self.asked == 0 {
            return Ok(());
        }
        let (lead, home) = (lead_bytes(self.record_bytes), self.home.clone());
        let job = ReadJob { buffer, lead, offset: self.next, bytes: self.asked, home };
        self.next += self.asked as u64;
        self.jobs.send(job).map_err(|_| SortError::Stopped)
    }
}
