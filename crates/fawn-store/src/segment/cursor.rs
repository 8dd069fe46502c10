//! Reads the records of one key interval of a segment, in order, with large reads: what merges, scans and checks use.

use fawn_ring::{Interval, Key, Secret};

use super::footer::Footer;
use super::{SegmentError, page_damage};
use crate::flash::{FileId, Flash};
use crate::page::{PageBuf, Place};
use crate::record::{HEADER_BYTES, Record};

/// A cursor over the records of one segment whose positions lie in an interval.
pub struct Cursor {
    file: u64,
    /// Next page to read.
    next_page: u64,
    /// Page after the last one that may hold records of the interval.
    end_page: u64,
    interval: Interval,
    /// Payload bytes read and not yet passed.
    buffer: Vec<u8>,
    /// Start of the current record in `buffer`.
    at: usize,
    /// Length of the current record; 0 before the first and after the last.
    len: usize,
    key: Key,
    /// Whether a record start has been seen: bytes before it belong to a record of an earlier page.
    started: bool,
    scratch: PageBuf,
}

impl Cursor {
    /// A cursor over pages `pages` (from the directory) of a segment; it reads `read_pages` at a time.
    pub fn new(footer: &Footer, pages: std::ops::Range<u32>, interval: Interval, read_pages: usize) -> Self {
        Self {
            file: footer.file,
            next_page: u64::from(pages.start),
            end_page: u64::from(pages.end).min(footer.data_pages),
            interval,
            buffer: Vec::new(),
            at: 0,
            len: 0,
            key: Key::MIN,
            started: false,
            scratch: PageBuf::zeroed(read_pages.max(1).min((pages.end - pages.start.min(pages.end)) as usize)),
        }
    }

    /// Goes to the next record; `false` at the end.
    ///
    /// # Errors
    /// The device's, or damage.
    pub fn advance(&mut self, flash: &dyn Flash, secret: &Secret) -> Result<bool, SegmentError> {
        loop {
            self.at += self.len;
            self.len = 0;
            let Some(len) = self.whole_record(flash)? else {
                return Ok(false);
            };
            self.len = len;
            let record = Record::decode_trusted(&self.buffer[self.at..self.at + len])
                .map_err(|error| page_damage(FileId::Segment(self.file), self.next_page, &error.to_string()))?;
            self.key = secret.position(record.key);
            if self.key > self.interval.high {
                self.len = 0;
                self.next_page = self.end_page;
                self.buffer.clear();
                self.at = 0;
                return Ok(false);
            }
            if self.key >= self.interval.low {
                return Ok(true);
            }
        }
    }

    /// Position of the current record's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Bytes of the current record.
    pub fn record(&self) -> &[u8] {
        &self.buffer[self.at..self.at + self.len]
    }

    /// Reads until the buffer holds the record at `at` whole; its length, or `None` at the end.
    fn whole_record(&mut self, flash: &dyn Flash) -> Result<Option<usize>, SegmentError> {
        loop {
            let rest = &self.buffer[self.at..];
            if rest.len() >= HEADER_BYTES {
                let len = Record::peek_len(rest).map_err(|error| {
                    page_damage(FileId::Segment(self.file), self.next_page, &format!("{error}, in an intact page"))
                })?;
                if rest.len() >= len {
                    return Ok(Some(len));
                }
            }
            if self.next_page >= self.end_page {
                // What is left, if anything, is the head of a record that another interval owns.
                return Ok(None);
            }
            self.read(flash)?;
        }
    }

    fn read(&mut self, flash: &dyn Flash) -> Result<(), SegmentError> {
        let count = (self.end_page - self.next_page).min(self.scratch.len() as u64) as usize;
        let id = FileId::Segment(self.file);
        flash
            .read(id, self.next_page, &mut self.scratch.pages_mut()[..count])
            .map_err(|error| page_damage(id, self.next_page, &format!("it cannot be read: {error}")))?;
        self.buffer.drain(..self.at);
        self.at = 0;
        for (n, page) in self.scratch.pages()[..count].iter().enumerate() {
            let place = Place { file: self.file, page: self.next_page + n as u64 };
            if !page.is_intact(place) {
                return Err(page_damage(id, place.page, "the page's checksum does not match").into());
            }
            let payload = &page.payload()[..page.used()];
            if self.started {
                self.buffer.extend_from_slice(payload);
            } else if let Some(first) = page.first_record() {
                self.started = true;
                self.buffer.extend_from_slice(payload.get(first..).unwrap_or_default());
            }
        }
        self.next_page += count as u64;
        Ok(())
    }
}
