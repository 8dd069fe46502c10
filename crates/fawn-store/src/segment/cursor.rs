//! Reads the records of one key interval of a segment, in order, with large reads: what merges, scans and checks use.
//!
//! A [`Cursor`] has what was read and goes from record to record; [`ReadAhead`] reads for one cursor or for many
//! together.
//!
//! Pages that cannot be read leave a gap. The prefixes of all records are in the fragments: those that belong between the
//! record before the gap and the one after it are lost, and the cursor yields a [lost record](Record::lost) for each.

use std::collections::VecDeque;

use fawn_ring::{Interval, Key, Secret};

use super::footer::Footer;
use super::fragments::read_prefixes;
use super::{LOST, SegmentError, page_damage};
use crate::api::Damage;
use crate::flash::{FileId, Fill, Flash, FlashError};
use crate::page::{PAGE_PAYLOAD_BYTES, Page, PageBuf, Place};
use crate::record::{HEADER_BYTES, Record, lost_name};

/// Pages that a cursor may fail to read: a device that fails at more of them is told of, rather than taken for a few bad
/// pages whose records are lost.
const MOST_BAD_PAGES: usize = 64;

/// A cursor over the records of one segment whose positions lie in an interval.
pub struct Cursor {
    footer: Footer,
    /// Next page to read.
    next_page: u64,
    /// Page after the last one that may hold records of the interval.
    end_page: u64,
    interval: Interval,
    /// Payload bytes read and not yet passed.
    buffer: Vec<u8>,
    /// Start of the current record in `buffer`.
    at: usize,
    /// Length of the current record; 0 before the first, after the last, and on a lost one.
    len: usize,
    key: Key,
    /// Whether a record start has been seen: bytes before it belong to a record of an earlier page.
    started: bool,
    /// Pages that it reads ahead.
    read_pages: usize,
    /// It cannot go on before more is read.
    starved: bool,
    /// Prefix of the last record that was whole, in the interval or below it.
    passed: Option<u64>,
    gaps: Gaps,
    /// What the device fails to read is an error, and no gap.
    insists: bool,
}

/// What a cursor knows of pages that could not be read.
#[derive(Default)]
struct Gaps {
    /// Where they lie in the buffer: what comes before does not go on behind.
    at: VecDeque<usize>,
    /// The cursor is behind one, and has not looked at the record after it.
    crossing: bool,
    /// The lowest and the highest prefix that the records lost in it may have: the fragments are to be asked.
    missing: Option<(u64, u64)>,
    /// Prefixes of lost records that are still to be told, the last first.
    lost: Vec<u64>,
    /// Bytes of the lost record that the cursor is on; empty on any other.
    record: Vec<u8>,
    /// Every page that could not be read.
    damage: Vec<Damage>,
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
            footer: *footer,
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
            passed: None,
            gaps: Gaps::default(),
            insists: false,
        }
    }

    /// The same, but that it fails at a page that the device fails to read: that may pass. Bytes that are wrong are damage.
    pub fn insisting(self) -> Self {
        Self { insists: true, ..self }
    }

    /// Goes to the next record of those that have been read.
    ///
    /// # Errors
    /// Damage to a record in a page that is intact.
    pub fn advance(&mut self, secret: &Secret) -> Result<Advanced, SegmentError> {
        loop {
            self.at += self.len;
            self.len = 0;
            self.gaps.record.clear();
            if let Some(prefix) = self.gaps.lost.pop() {
                Record::lost(&lost_name(prefix), self.footer.seq_high).encode(&mut self.gaps.record);
                self.key = self.place_of_lost(prefix);
                return Ok(Advanced::Record);
            }
            let Some(len) = self.whole_record()? else {
                if let Some(gap) = self.gaps.at.pop_front() {
                    self.at = gap;
                    self.gaps.crossing = true;
                    continue;
                }
                self.starved = self.next_page < self.end_page;
                if !self.starved && self.is_missing_up_to(Some(self.interval.high.prefix())) {
                    return Ok(Advanced::Starved);
                }
                // What is left, if anything, is the head of a record that another interval owns.
                return Ok(if self.starved { Advanced::Starved } else { Advanced::End });
            };
            let record = Record::decode_trusted(&self.buffer[self.at..self.at + len])
                .map_err(|error| page_damage(self.file(), self.next_page, &error.to_string()))?;
            let key = match record.lost_prefix() {
                Some(prefix) => self.place_of_lost(prefix),
                None => secret.position(record.key),
            };
            if self.gaps.crossing && self.is_missing_up_to(key.prefix().checked_sub(1)) {
                return Ok(Advanced::Starved);
            }
            self.len = len;
            self.key = key;
            self.passed = Some(key.prefix());
            if key > self.interval.high {
                self.len = 0;
                self.next_page = self.end_page;
                self.buffer = Vec::new();
                self.at = 0;
                self.gaps.at.clear();
                return Ok(Advanced::End);
            }
            if key >= self.interval.low {
                return Ok(Advanced::Record);
            }
        }
    }

    /// Whether, behind a gap, the fragments are to be asked for what was lost up to a prefix.
    fn is_missing_up_to(&mut self, last: Option<u64>) -> bool {
        if !std::mem::take(&mut self.gaps.crossing) {
            return false;
        }
        let first = self.passed.map_or(Some(0), |passed| passed.checked_add(1));
        let first = first.map(|first| first.max(self.interval.low.prefix()));
        let last = last.map(|last| last.min(self.interval.high.prefix()));
        self.gaps.missing = first.zip(last).filter(|(first, last)| first <= last);
        self.gaps.missing.is_some()
    }

    /// Where a lost record lies, of which only the prefix is known: before all others of the interval that have it.
    fn place_of_lost(&self, prefix: u64) -> Key {
        let lowest = Key::lowest_with_prefix(prefix);
        if prefix == self.interval.low.prefix() { self.interval.low } else { lowest }
    }

    fn file(&self) -> FileId {
        FileId::Segment(self.footer.file)
    }

    /// The damage that has taken the lost record on which the cursor is: the last page that could not be read, or, where all
    /// can be, an earlier one.
    pub fn damage(&self) -> Damage {
        let earlier = || page_damage(self.file(), self.next_page.saturating_sub(1), LOST);
        self.gaps.damage.last().cloned().unwrap_or_else(earlier)
    }

    /// Whether the current record was lost in pages that cannot be read.
    pub fn is_in_gap(&self) -> bool {
        !self.gaps.record.is_empty()
    }

    /// The pages that could not be read so far.
    pub fn bad_pages(&self) -> &[Damage] {
        &self.gaps.damage
    }

    /// Position of the current record's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Bytes of the current record.
    pub fn record(&self) -> &[u8] {
        if self.is_in_gap() { &self.gaps.record } else { &self.buffer[self.at..self.at + self.len] }
    }

    /// Length of the record at `at`, if the buffer holds it whole.
    fn whole_record(&self) -> Result<Option<usize>, SegmentError> {
        let end = self.gaps.at.front().copied().unwrap_or(self.buffer.len());
        let rest = &self.buffer[self.at..end];
        if rest.len() < HEADER_BYTES {
            return Ok(None);
        }
        let len = Record::peek_len(rest)
            .map_err(|error| page_damage(self.file(), self.next_page, &format!("{error}, in an intact page")))?;
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

    /// Takes the next pages, as they were read. One that is not intact is read once more.
    fn take(&mut self, flash: &dyn Flash, pages: &mut [Page]) -> Result<(), SegmentError> {
        self.buffer.drain(..self.at);
        for gap in &mut self.gaps.at {
            *gap -= self.at;
        }
        self.at = 0;
        self.buffer.reserve_exact(pages.len() * PAGE_PAYLOAD_BYTES);
        for (n, page) in pages.iter_mut().enumerate() {
            let place = Place { file: self.footer.file, page: self.next_page + n as u64 };
            if !page.is_intact(place)
                && let Err((damage, is_read)) = read_again(flash, place, page)
            {
                self.begin_gap(damage, is_read)?;
                continue;
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

    /// A page cannot be read: what comes next begins with the next record that starts in a page.
    fn begin_gap(&mut self, damage: Damage, is_read: bool) -> Result<(), SegmentError> {
        if self.gaps.damage.len() == MOST_BAD_PAGES || (self.insists && !is_read) {
            return Err(damage.into());
        }
        self.gaps.damage.push(damage);
        self.started = false;
        if self.gaps.at.back() != Some(&self.buffer.len()) {
            self.gaps.at.push_back(self.buffer.len());
        }
        Ok(())
    }

    /// Asks the fragments which records were lost in the gap behind which the cursor is.
    fn find_lost(&mut self, flash: &dyn Flash) -> Result<(), SegmentError> {
        let Some((first, last)) = self.gaps.missing else { return Ok(()) };
        let gap = Interval::new(Key::lowest_with_prefix(first), Key::highest_with_prefix(last));
        self.gaps.lost = read_prefixes(flash, &self.footer, &gap).map_err(|error| match error {
            SegmentError::Damage(damage) => damage,
            SegmentError::Flash(error) => unreadable(self.file(), self.footer.fragments_at(), &error),
        })?;
        self.gaps.lost.dedup();
        self.gaps.lost.reverse();
        self.gaps.missing = None;
        Ok(())
    }
}

/// Reads a page that was not intact once more. An error comes with whether the device did read it.
fn read_again(flash: &dyn Flash, place: Place, page: &mut Page) -> Result<(), (Damage, bool)> {
    let file = FileId::Segment(place.file);
    match flash.read(file, place.page, std::slice::from_mut(page)) {
        Err(error) => Err((unreadable(file, place.page, &error), false)),
        Ok(()) if page.is_intact(place) => Ok(()),
        Ok(()) => Err((page_damage(file, place.page, "the page's checksum does not match"), true)),
    }
}

fn unreadable(file: FileId, page: u64, error: &FlashError) -> Damage {
    page_damage(file, page, &format!("it cannot be read: {error}"))
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
    /// The device's; damage, where so many pages cannot be read that it is more than a few bad ones, or the fragments cannot
    /// that say what was in them.
    pub fn fill<'c>(
        &mut self,
        flash: &dyn Flash,
        cursors: impl Iterator<Item = &'c mut Cursor>,
    ) -> Result<(), SegmentError> {
        let mut wanting = Vec::new();
        for cursor in cursors {
            cursor.find_lost(flash)?;
            let pages = cursor.wanted_pages();
            if pages > 0 {
                wanting.push((pages, cursor));
            }
        }
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
            fills.push(Fill { file: cursor.file(), first: cursor.next_page, pages });
        }
        match flash.read_many(&mut fills) {
            Ok(()) => {}
            // Each page is read by itself, and those that fail are told one by one.
            Err((_, FlashError::Io(_))) => fills.iter_mut().for_each(|fill| forget(fill.pages)),
            Err((place, error)) => return Err(unreadable(fills[place].file, fills[place].first, &error).into()),
        }
        for ((_, cursor), fill) in wanting.iter_mut().zip(fills) {
            cursor.take(flash, fill.pages)?;
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

/// Leaves no page intact.
fn forget(pages: &mut [Page]) {
    for page in pages {
        page.0.fill(0xff);
    }
}
