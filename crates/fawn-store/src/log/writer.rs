//! Filling batches and handing them out.

use crate::format::page::{PAGE_BYTES, Page, PageBuf};

use super::batch::{BATCH_HEADER_BYTES, Header, MAX_BATCH_PAGES, VERSION, pages_for_entries, place};
use super::{Entry, LogPosition, LogShape};

/// Pages that a returned buffer keeps for the next batch (4 MiB); what a rare huge batch needed beyond is given back.
const KEEP_PAGES: usize = 1024;

static ZERO_PAGES: [Page; 16] = [const { Page([0; PAGE_BYTES]) }; 16];

/// Why an entry was not taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFull {
    /// The batch under construction has reached its limit: hand it out first.
    #[error("the batch of the commit log is full until the one in flight is written")]
    Batch,
    /// The ring has no free pages: seal, then recycle.
    #[error("the commit log is full until the open segment is sealed")]
    Ring,
    /// The entry is longer than any batch of this log can be.
    #[error("the entry is too large for the commit log")]
    TooLarge,
}

/// A batch on its way to flash.
#[must_use = "a closed batch is written, then handed back to `written`"]
pub struct ClosedBatch {
    /// First page of the file that it fills.
    pub first: u64,
    /// The pages to write.
    pub pages: PageBuf,
    /// What is durable once it is written.
    pub gate: u64,
}

/// The end of the log that is being written.
///
/// Entries go straight into the batch under construction; [`take`](Self::take) closes it and begins the next, into
/// which appends go on while the closed one is being written. At most one batch is in flight.
pub struct LogWriter {
    shape: LogShape,
    /// Of this opening; no batch of an earlier one has it.
    generation: u64,
    /// Entry bytes from which the batch under construction takes no more (a lone longer entry is taken).
    batch_limit_bytes: usize,
    /// Oldest logical page still needed; always `<= durable_page`.. `next.page`, less than a lap behind.
    tail: u64,
    /// Where the batch under construction will chain to.
    next: LogPosition,
    /// Everything below this place is durable.
    durable_at: LogPosition,
    /// Whether some batch became durable that no later batch's mark covers yet.
    unmarked: bool,
    /// Gate of the batch under construction; batches count from 1.
    gate: u64,
    /// Gate of the newest durable batch.
    durable: u64,
    /// Gate and end of the batch in flight.
    in_flight: Option<(u64, LogPosition)>,
    /// The batch under construction; its pages are zero beyond `used`.
    batch: PageBuf,
    /// Bytes of the batch in use, header included.
    used: usize,
    entries: u32,
    /// Running checksum of the entries.
    checksum: u32,
    /// The other buffer, empty but allocated.
    spare: PageBuf,
}

impl LogWriter {
    /// A writer that goes on at `end`, the end that [`recover`](super::recover()) found (or the start of a new log);
    /// everything below it is durable. `tail` is the oldest logical page still needed, `generation` is larger than
    /// that of any earlier opening and already in the manifest.
    ///
    /// A ring takes batches of at most half its pages.
    pub fn new(shape: LogShape, generation: u64, tail: u64, end: LogPosition, batch_limit_bytes: usize) -> Self {
        assert!(shape.ring_pages >= 2, "a ring has two pages at least");
        assert!(tail <= end.page && end.page - tail <= shape.ring_pages, "a log is one lap long at most");
        Self {
            shape,
            generation,
            batch_limit_bytes,
            tail,
            next: end,
            durable_at: end,
            unmarked: tail < end.page,
            gate: 1,
            durable: 0,
            in_flight: None,
            batch: PageBuf::default(),
            used: BATCH_HEADER_BYTES,
            entries: 0,
            checksum: shape.salt,
            spare: PageBuf::default(),
        }
    }

    /// Appends an entry of range instance `range` to the batch under construction. Returns the gate at which it is
    /// durable.
    ///
    /// # Errors
    /// [`LogFull`]; nothing has changed.
    #[inline]
    pub fn append(&mut self, range: u64, entry: &Entry<'_>) -> Result<u64, LogFull> {
        self.fits(entry.encoded_len())?;
        self.push(range, entry);
        Ok(self.gate)
    }

    /// Appends entries that stay together in one batch, however long it grows. Returns the gate at which they are durable.
    ///
    /// # Errors
    /// [`LogFull`]; nothing has changed.
    pub fn append_together(&mut self, entries: &[(u64, Entry<'_>)]) -> Result<u64, LogFull> {
        let len: usize = entries.iter().map(|(_, entry)| entry.encoded_len()).sum();
        let pages = pages_for_entries(self.pending_bytes() + len);
        if pages > self.longest_batch_pages() {
            return Err(if self.entries == 0 { LogFull::TooLarge } else { LogFull::Batch });
        }
        if !self.has_room(pages as u64) {
            return Err(LogFull::Ring);
        }
        for (range, entry) in entries {
            self.push(*range, entry);
        }
        Ok(self.gate)
    }

    /// Whether [`append_together`](Self::append_together) would take entries of `len` bytes, and then still such of
    /// `reserve` bytes, with nothing recycled meanwhile.
    ///
    /// # Errors
    /// As there.
    pub fn fits_beside(&self, len: usize, reserve: usize) -> Result<(), LogFull> {
        let bytes = self.pending_bytes() + len;
        let together = pages_for_entries(bytes + reserve);
        if together > self.longest_batch_pages() {
            return Err(if self.entries == 0 { LogFull::TooLarge } else { LogFull::Batch });
        }
        if self.has_room(together as u64) { self.fits_apart(len, reserve) } else { Err(LogFull::Ring) }
    }

    /// Whether entries of `len` bytes leave room for a later batch of `reserve` bytes, also after a restart, with nothing
    /// recycled meanwhile.
    ///
    /// # Errors
    /// As there.
    pub fn fits_apart(&self, len: usize, reserve: usize) -> Result<(), LogFull> {
        let reserved = pages_for_entries(reserve);
        if reserved > self.longest_batch_pages() {
            return Err(LogFull::TooLarge);
        }
        // When the batch is closed first, the page of an opening and an empty one that carries a mark may come in between.
        let pages = pages_for_entries(self.pending_bytes() + len) as u64;
        let marks = place(self.next.page, pages, self.shape.ring_pages) + pages;
        let end = place(marks + 2, reserved as u64, self.shape.ring_pages) + reserved as u64;
        if end <= self.tail + self.shape.ring_pages { Ok(()) } else { Err(LogFull::Ring) }
    }

    /// The oldest logical page that is still needed.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    #[inline]
    fn push(&mut self, range: u64, entry: &Entry<'_>) {
        let len = entry.encoded_len();
        let end = self.used + len;
        self.grow_to(end.div_ceil(PAGE_BYTES));
        let place = &mut self.batch.bytes_mut()[self.used..end];
        entry.encode(range, place);
        self.checksum = crc32c::crc32c_append(self.checksum, place);
        self.used = end;
        self.entries += 1;
    }

    /// Whether an entry of `len` encoded bytes ([`Entry::encoded_len`]) would be taken now.
    ///
    /// # Errors
    /// [`LogFull`], as [`append`](Self::append) would.
    #[inline]
    pub fn fits(&self, len: usize) -> Result<(), LogFull> {
        if pages_for_entries(len) > self.longest_batch_pages() {
            return Err(LogFull::TooLarge);
        }
        let bytes = self.pending_bytes() + len;
        let pages = pages_for_entries(bytes);
        if self.entries > 0 && (bytes > self.batch_limit_bytes || pages > self.longest_batch_pages()) {
            return Err(LogFull::Batch);
        }
        if self.has_room(pages as u64) { Ok(()) } else { Err(LogFull::Ring) }
    }

    /// Bytes of entries in the batch under construction.
    pub fn pending_bytes(&self) -> usize {
        self.used - BATCH_HEADER_BYTES
    }

    /// The gate of the batch under construction: everything appended so far is durable once
    /// [`durable`](Self::durable) reaches it.
    pub fn gate(&self) -> u64 {
        self.gate
    }

    /// Gate of the newest durable batch; 0 before the first.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Where the batch under construction begins: recovery that starts here reads everything appended from now on
    /// (and what the batch already holds). This is the start to record with a seal of all that was appended so far.
    pub fn position(&self) -> LogPosition {
        self.next
    }

    /// Closes the batch under construction. `None` when it is empty.
    ///
    /// Behind an empty log, a batch that goes to the next lap comes after one of a page without entries: it would
    /// overwrite the batch that ends at the log's start, and, torn, leave nothing by which recovery knows the log.
    pub fn take(&mut self) -> Option<ClosedBatch> {
        let pages = pages_for_entries(self.pending_bytes()) as u64;
        let leaves = place(self.next.page, pages, self.shape.ring_pages) != self.next.page;
        if self.entries > 0 && leaves && self.next.page == self.tail {
            return Some(self.empty_page(false, 0));
        }
        (self.entries > 0).then(|| self.close())
    }

    /// The page that begins this opening, to be written before the manifest knows of it: a batch without entries, and
    /// `nonce`, which tells it from the page of any other opening. `None` when the ring has no room for it.
    pub fn take_opening(&mut self, nonce: u64) -> Option<ClosedBatch> {
        assert!(self.entries == 0 && self.gate == 1, "the page of an opening comes first");
        self.has_room(1).then(|| self.empty_page(true, nonce))
    }

    /// A batch of one page at the log's end, beside the one under construction. Its gate is one that was reached before.
    fn empty_page(&mut self, is_opening: bool, nonce: u64) -> ClosedBatch {
        assert!(self.in_flight.is_none(), "one batch is in flight at most");
        let mut pages = std::mem::take(&mut self.spare);
        pages.pages_mut().clear();
        pages.pages_mut().push(Page::zeroed());
        let bytes = pages.bytes_mut();
        bytes[BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + 8].copy_from_slice(&nonce.to_le_bytes());
        let body = crc32c::crc32c_append(self.shape.salt, &bytes[BATCH_HEADER_BYTES..]);
        let position = self.next.page;
        let checksum = Header { is_opening, ..self.header(position) }.seal(body, bytes);
        let gate = self.gate - 1;
        self.next = LogPosition { page: position + 1, previous: checksum };
        self.in_flight = Some((gate, self.next));
        self.unmarked = true;
        ClosedBatch { first: position % self.shape.ring_pages, pages, gate }
    }

    /// The header of a batch without entries at `position`.
    fn header(&self, position: u64) -> Header {
        Header {
            checksum: 0,
            version: VERSION,
            is_opening: false,
            previous: self.next.previous,
            position,
            generation: self.generation,
            durable: self.durable_at.page,
            bytes: 0,
            entries: 0,
        }
    }

    /// Gate of the newest batch that was closed; 0 before the first. What ends at [`position`](Self::position) is durable
    /// once it is reached.
    pub fn closed(&self) -> u64 {
        self.gate - 1
    }

    /// Up to here the log is durable.
    pub fn durable_at(&self) -> LogPosition {
        self.durable_at
    }

    /// Closes an empty batch of one page that only carries the durable mark, when some batch is not covered by one:
    /// for idle moments, so that damage to the log's last batch is told from a torn tail.
    pub fn take_mark(&mut self) -> Option<ClosedBatch> {
        (self.entries == 0 && self.unmarked && self.in_flight.is_none() && self.has_room(1)).then(|| self.close())
    }

    /// Takes note that the batch taken with `gate` is durable, and takes its buffer back.
    pub fn written(&mut self, gate: u64, pages: PageBuf) {
        let (expected, end) = self.in_flight.take().expect("a batch is written after it was taken");
        assert_eq!(gate, expected, "the batch written is the batch in flight");
        self.durable = gate;
        self.durable_at = end;
        self.spare = pages;
        let spare = self.spare.pages_mut();
        spare.clear();
        spare.shrink_to(KEEP_PAGES);
    }

    /// Pages of the ring that neither hold needed batches nor are spoken for by the batch under construction.
    pub fn free_pages(&self) -> u64 {
        let pages = if self.entries == 0 { 0 } else { pages_for_entries(self.pending_bytes()) as u64 };
        let end = place(self.next.page, pages, self.shape.ring_pages) + pages;
        (self.tail + self.shape.ring_pages).saturating_sub(end)
    }

    /// Gives back the pages below logical page `tail`, once the manifest durably starts recovery there or later.
    pub fn recycle_to(&mut self, tail: u64) {
        assert!(self.tail <= tail && tail <= self.next.page, "the tail moves forward, within the log");
        self.tail = tail;
    }

    /// Bytes of entries that the longest batch holds.
    pub fn longest_batch_bytes(&self) -> usize {
        self.longest_batch_pages() * PAGE_BYTES - BATCH_HEADER_BYTES
    }

    /// Pages of the ring.
    pub fn ring_pages(&self) -> u64 {
        self.shape.ring_pages
    }

    fn longest_batch_pages(&self) -> usize {
        MAX_BATCH_PAGES.min((self.shape.ring_pages / 2) as usize)
    }

    fn has_room(&self, pages: u64) -> bool {
        place(self.next.page, pages, self.shape.ring_pages) + pages <= self.tail + self.shape.ring_pages
    }

    fn grow_to(&mut self, pages: usize) {
        let batch = self.batch.pages_mut();
        while batch.len() < pages {
            let more = (pages - batch.len()).min(ZERO_PAGES.len());
            batch.extend_from_slice(&ZERO_PAGES[..more]);
        }
    }

    fn close(&mut self) -> ClosedBatch {
        assert!(self.in_flight.is_none(), "one batch is in flight at most");
        let bytes = self.pending_bytes();
        let count = pages_for_entries(bytes);
        self.grow_to(count);
        let position = place(self.next.page, count as u64, self.shape.ring_pages);
        let end = position + count as u64;
        assert!(end <= self.tail + self.shape.ring_pages, "a batch overwrites no page that is needed");
        let header = Header { bytes: bytes as u32, entries: self.entries, ..self.header(position) };
        let padded = crc32c::crc32c_append(self.checksum, &self.batch.bytes()[self.used..]);
        let checksum = header.seal(padded, self.batch.bytes_mut());
        self.unmarked = self.entries > 0;
        let pages = std::mem::replace(&mut self.batch, std::mem::take(&mut self.spare));
        let closed = ClosedBatch { first: position % self.shape.ring_pages, pages, gate: self.gate };
        self.next = LogPosition { page: end, previous: checksum };
        self.in_flight = Some((self.gate, self.next));
        self.gate += 1;
        self.used = BATCH_HEADER_BYTES;
        self.entries = 0;
        self.checksum = self.shape.salt;
        closed
    }
}
