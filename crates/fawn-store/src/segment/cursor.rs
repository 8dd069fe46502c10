//! Reads the records of one key interval of a segment, in order, with large reads: what merges, scans and checks use.
//!
//! A [`Cursor`] has what was read and goes from record to record; [`ReadAhead`] reads for one cursor or for many
//! together.

use fawn_ring::{Interval, Key, Secret};

use super::footer::Footer;
use super::{SegmentError, page_damage};
use crate::flash::{FileId, Fill, Flash};
use crate::page::{PAGE_PAYLOAD_BYTES, Page, PageBuf, Place};
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
    /// Pages that it reads ahead.
    read_pages: usize,
    /// It cannot go on before more is read.
    starved: bool,
}

/// What going to the next record came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// The cursor is on it.
    Record,
    /// There is none.
    End,
    /// More has to be read first.
    Starved,
}

impl Cursor {
    /// A cursor over pages `pages` (from the directory) of a segment; it has up to `read_pages` read ahead, and at least
    /// one.
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
            read_pages: read_pages.max(1),
            starved: true,
        }
    }

    /// Goes to the next record of those that have been read.
    ///
    /// # Errors
    /// Damage.
    pub fn advance(&mut self, secret: &Secret) -> Result<Advanced, SegmentError> {
        loop {
            self.at += self.len;
            self.len = 0;
            let Some(len) = self.whole_record()? else {
                // What is left, if anything, is the head of a record that another interval owns.
                self.starved = self.next_page < self.end_page;
                return Ok(if self.starved { Advanced::Starved } else { Advanced::End });
            };
            self.len = len;
            let record = Record::decode_trusted(&self.buffer[self.at..self.at + len])
                .map_err(|error| page_damage(FileId::Segment(self.file), self.next_page, &error.to_string()))?;
            self.key = secret.position(record.key);
            if self.key > self.interval.high {
                self.len = 0;
                self.next_page = self.end_page;
                self.buffer = Vec::new();
                self.at = 0;
                return Ok(Advanced::End);
            }
            if self.key >= self.interval.low {
                return Ok(Advanced::Record);
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

    /// Length of the record at `at`, if the buffer holds it whole.
    fn whole_record(&self) -> Result<Option<usize>, SegmentError> {
        let rest = &self.buffer[self.at..];
        if rest.len() < HEADER_BYTES {
            return Ok(None);
        }
        let len = Record::peek_len(rest).map_err(|error| {
            page_damage(FileId::Segment(self.file), self.next_page, &format!("{error}, in an intact page"))
        })?;
        Ok((len <= rest.len()).then_some(len))
    }

    /// Pages that are worth reading now: when it cannot go on, or half of what it reads ahead has been passed.
    fn wanted_pages(&self) -> usize {
        let left = (self.end_page - self.next_page) as usize;
        let ahead = (self.buffer.len() - self.at).div_ceil(PAGE_PAYLOAD_BYTES);
        if self.starved {
            left.min(self.read_pages)
        } else if ahead * 2 <= self.read_pages {
            left.min(self.read_pages - ahead)
        } else {
            0
        }
    }

    /// Takes the next pages, as they were read.
    fn take(&mut self, pages: &[Page]) -> Result<(), SegmentError> {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.reserve_exact(pages.len() * PAGE_PAYLOAD_BYTES);
        for (n, page) in pages.iter().enumerate() {
            let place = Place { file: self.file, page: self.next_page + n as u64 };
            if !page.is_intact(place) {
                let id = FileId::Segment(self.file);
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
        self.next_page += pages.len() as u64;
        self.starved = false;
        Ok(())
    }
}

/// Reads for cursors: the pages of many in one go.
pub struct ReadAhead {
    scratch: PageBuf,
}

impl ReadAhead {
    /// One that reads `pages` pages at a time, at least one.
    pub fn new(pages: usize) -> Self {
        Self { scratch: PageBuf::zeroed(pages.max(1)) }
    }

    /// Reads for those `cursors` that cannot go on, and for those that soon cannot, as far as there is room.
    ///
    /// # Errors
    /// The device's, or damage.
    pub fn fill<'c>(
        &mut self,
        flash: &dyn Flash,
        cursors: impl Iterator<Item = &'c mut Cursor>,
    ) -> Result<(), SegmentError> {
        let mut wanting: Vec<(usize, &mut Cursor)> =
            cursors.map(|cursor| (cursor.wanted_pages(), cursor)).filter(|(pages, _)| *pages > 0).collect();
        wanting.sort_by_key(|(_, cursor)| !cursor.starved);
        let mut left = self.scratch.len();
        wanting.retain_mut(|(pages, _)| {
            *pages = left.min(*pages);
            left -= *pages;
            *pages > 0
        });
        let mut rest = self.scratch.pages_mut().as_mut_slice();
        let mut fills: Vec<Fill<'_>> = Vec::with_capacity(wanting.len());
        for (count, cursor) in &wanting {
            let (pages, behind) = rest.split_at_mut(*count);
            rest = behind;
            fills.push(Fill { file: FileId::Segment(cursor.file), first: cursor.next_page, pages });
        }
        flash.read_many(&mut fills).map_err(|(place, error)| {
            page_damage(fills[place].file, fills[place].first, &format!("it cannot be read: {error}"))
        })?;
        for ((_, cursor), fill) in wanting.iter_mut().zip(fills) {
            cursor.take(fill.pages)?;
        }
        Ok(())
    }

    /// Goes to the next record of a cursor that is read alone; `false` at the end.
    ///
    /// # Errors
    /// The device's, or damage.
    pub fn advance(&mut self, cursor: &mut Cursor, flash: &dyn Flash, secret: &Secret) -> Result<bool, SegmentError> {
        loop {
            match cursor.advance(secret)? {
                Advanced::Record => return Ok(true),
                Advanced::End => return Ok(false),
                Advanced::Starved => self.fill(flash, std::iter::once(&mut *cursor))?,
            }
        }
    }
}
