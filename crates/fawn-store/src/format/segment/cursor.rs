//! Reads the records of one key interval of a segment, in order, with large reads: what merges, scans and checks use.
//!
//! A [`Cursor`] has what was read and goes from record to record; [`ReadAhead`] reads for one cursor or for many
//! together.
//!
//! Pages that cannot be read leave a gap. The prefixes of all records are in the fragments: those that belong between the
//! record before the gap and the one after it are lost, and the cursor yields a [lost record](Record::lost) for each.

use std::collections::{BTreeSet, VecDeque};

use fawn_ring::{Interval, Key, Secret};

use super::footer::Footer;
use super::prefixes::read_prefixes;
use super::{LOST, SegmentError, page_damage};
use crate::api::Damage;
use crate::flash::{FileId, Fill, Flash, FlashError};
use crate::format::page::{PAGE_BYTES, PAGE_PAYLOAD_BYTES, Page, PageBuf, Place};
use crate::format::record::{HEADER_BYTES, Record, lost_name};

/// What becomes of a page that the device fails to read: it may read it another time. Bytes that are wrong are lost in any
/// case.
#[derive(Debug, Default)]
pub enum Unread {
    /// What is in it is lost.
    #[default]
    Lost,
    /// The cursor fails with the device's error.
    Fails,
    /// What is in it is passed over, and the cursor is [in doubt](Cursor::is_in_doubt); of these pages, it is lost.
    Doubtful(BTreeSet<u64>),
}

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
    /// The cursor cannot go on before more is read.
    starved: bool,
    /// Prefix of the last record that was whole, in the interval or below it.
    passed: Option<u64>,
    gaps: Gaps,
    unread: Unread,
    /// The current record says that one was lost.
    is_lost: bool,
}

/// What a cursor knows of pages that could not be read.
#[derive(Default)]
struct Gaps {
    /// Where they lie in the buffer, what comes before does not go on behind, and the place of the damage.
    at: VecDeque<(usize, usize)>,
    /// The cursor is behind one, and has not looked at the record after it.
    crossing: bool,
    /// Place of the damage behind which the cursor is.
    crossed: usize,
    /// The lowest and the highest prefix that the records lost in it may have: the fragments are to be asked.
    missing: Option<(u64, u64)>,
    /// The fragments did not say what was lost in one.
    untold: bool,
    /// Prefixes of lost records that are still to be told, the last first.
    lost: Vec<u64>,
    /// Bytes of the lost record that the cursor is on; empty on any other.
    record: Vec<u8>,
    /// Every page that could not be read.
    damage: Vec<Damage>,
    /// Of these, pages that the device failed to read.
    unread: Vec<u64>,
    /// An unread page may be readable another time.
    in_doubt: bool,
}

/// What going to the next record came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorStep {
    /// The cursor is on it.
    Record,
    /// The interval has no further record.
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
            unread: Unread::default(),
            is_lost: false,
        }
    }

    /// The same, with another treatment of pages that the device fails to read.
    #[must_use]
    pub fn treating(self, unread: Unread) -> Self {
        Self { unread, ..self }
    }

    /// Goes to the next record of those that have been read.
    ///
    /// # Errors
    /// Damage to a record in a page that is intact: there is no going on behind it.
    pub fn advance(&mut self, secret: &Secret) -> Result<CursorStep, SegmentError> {
        if self.gaps.missing.is_some() {
            return Ok(CursorStep::Starved);
        }
        loop {
            self.at += self.len;
            self.len = 0;
            self.gaps.record.clear();
            if let Some(prefix) = self.gaps.lost.pop() {
                Record::lost(&lost_name(prefix), self.footer.seq_high).encode(&mut self.gaps.record);
                (self.key, self.is_lost) = (self.place_of_lost(prefix), true);
                return Ok(CursorStep::Record);
            }
            let Some(len) = self.whole_record()? else {
                if let Some((gap, damage)) = self.gaps.at.pop_front() {
                    self.at = gap;
                    (self.gaps.crossing, self.gaps.crossed) = (true, damage);
                    continue;
                }
                self.starved = self.next_page < self.end_page;
                if !self.starved && self.is_missing_up_to(Some(self.interval.high.prefix())) {
                    return Ok(CursorStep::Starved);
                }
                if self.starved {
                    return Ok(CursorStep::Starved);
                }
                // What is left, if anything, is the head of a record that another interval owns.
                self.release();
                return Ok(CursorStep::End);
            };
            let record = Record::decode_trusted(&self.buffer[self.at..self.at + len])
                .map_err(|error| page_damage(self.file(), self.next_page, &error.to_string()))?;
            let lost = record.lost_prefix();
            let key = lost.map_or_else(|| secret.position(record.key), |prefix| self.place_of_lost(prefix));
            if self.gaps.crossing && self.is_missing_up_to(key.prefix().checked_sub(1)) {
                return Ok(CursorStep::Starved);
            }
            self.len = len;
            (self.key, self.is_lost) = (key, lost.is_some());
            self.passed = Some(key.prefix());
            if key > self.interval.high {
                self.len = 0;
                self.next_page = self.end_page;
                self.release();
                self.gaps.at.clear();
                return Ok(CursorStep::End);
            }
            if key >= self.interval.low {
                return Ok(CursorStep::Record);
            }
        }
    }

    /// Nothing that was read is needed any more.
    fn release(&mut self) {
        self.buffer = Vec::new();
        self.at = 0;
    }

    /// From now on it has up to so many pages read ahead, at least one.
    pub fn read_ahead(&mut self, pages: usize) {
        self.read_pages = pages.max(1);
    }

    /// Bytes of memory that what was read takes.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
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

    /// The damage that has taken the lost record on which the cursor is: the first page of a row that could not be read, between
    /// its neighbours; of a record that was lost before, a page near the one that says so.
    pub fn damage(&self) -> Damage {
        if self.is_in_gap() {
            self.gaps.damage[self.gaps.crossed].clone()
        } else {
            page_damage(self.file(), self.next_page.saturating_sub(1), LOST)
        }
    }

    /// Whether the current record says that one was lost, now or before.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether the current record was lost in pages that cannot be read.
    pub fn is_in_gap(&self) -> bool {
        !self.gaps.record.is_empty()
    }

    /// After an error: whether the cursor can go on, behind a gap of which nothing says what was lost in it.
    pub fn is_behind_gap(&mut self) -> bool {
        std::mem::take(&mut self.gaps.untold)
    }

    /// The pages that could not be read so far.
    pub fn bad_pages(&self) -> &[Damage] {
        &self.gaps.damage
    }

    /// Those of them that the device failed to read.
    pub fn unread_pages(&self) -> &[u64] {
        &self.gaps.unread
    }

    /// Whether it has passed over pages that the device [may read another time](Unread::Doubtful).
    pub fn is_in_doubt(&self) -> bool {
        self.gaps.in_doubt
    }

    /// Number of the file that it reads.
    pub fn file_number(&self) -> u64 {
        self.footer.file
    }

    /// Pages that it has yet to read.
    pub fn pages_left(&self) -> u64 {
        self.end_page.saturating_sub(self.next_page)
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
        let end = self.gaps.at.front().map_or(self.buffer.len(), |(place, _)| *place);
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
        self.drop_passed();
        self.buffer.reserve_exact(pages.len() * PAGE_PAYLOAD_BYTES);
        for page in pages {
            let place = Place { file: self.footer.file, page: self.next_page };
            if !page.is_intact(place)
                && let Err(error) = read_again(flash, place, page)
            {
                self.begin_gap(error)?;
                continue;
            }
            let payload = &page.payload()[..page.used()];
            if self.started {
                self.buffer.extend_from_slice(payload);
            } else if let Some(first) = page.first_record() {
                self.started = true;
                self.buffer.extend_from_slice(payload.get(first..).unwrap_or_default());
            }
            self.next_page += 1;
        }
        self.starved = false;
        Ok(())
    }

    /// Passes over the next page, which the device fails to read.
    fn pass_over(&mut self, error: &FlashError) -> Result<(), SegmentError> {
        self.drop_passed();
        self.begin_gap(Unreadable::ByDevice(unreadable(self.file(), self.next_page, error)))?;
        self.starved = false;
        Ok(())
    }

    fn drop_passed(&mut self) {
        self.buffer.drain(..self.at);
        for (gap, _) in &mut self.gaps.at {
            *gap -= self.at;
        }
        self.at = 0;
    }

    /// The next page cannot be read: what comes behind it begins with the next record that starts in a page.
    fn begin_gap(&mut self, error: Unreadable) -> Result<(), SegmentError> {
        let damage = match error {
            Unreadable::Wrong(damage) => damage,
            Unreadable::ByDevice(damage) => {
                match &self.unread {
                    Unread::Lost => {}
                    Unread::Fails => return Err(damage.into()),
                    Unread::Doubtful(lost) if lost.contains(&self.next_page) => {}
                    Unread::Doubtful(_) => self.gaps.in_doubt = true,
                }
                self.gaps.unread.push(self.next_page);
                damage
            }
        };
        if self.gaps.at.back().is_none_or(|(place, _)| *place != self.buffer.len()) {
            self.gaps.at.push_back((self.buffer.len(), self.gaps.damage.len()));
        }
        self.gaps.damage.push(damage);
        self.started = false;
        self.next_page += 1;
        Ok(())
    }

    /// Asks the fragments which records were lost in the gap behind which the cursor is.
    fn find_lost(&mut self, flash: &dyn Flash) -> Result<(), SegmentError> {
        let Some((first, last)) = self.gaps.missing.take() else { return Ok(()) };
        let gap = Interval::new(Key::lowest_with_prefix(first), Key::highest_with_prefix(last));
        match read_prefixes(flash, &self.footer, &gap) {
            Ok(prefixes) => {
                self.gaps.lost = prefixes;
                self.gaps.lost.dedup();
                self.gaps.lost.reverse();
                Ok(())
            }
            Err(error) => {
                self.gaps.untold = true;
                Err(match error {
                    SegmentError::Damage(damage) => damage.into(),
                    SegmentError::Flash(error) => unreadable(self.file(), self.footer.fragments_at(), &error).into(),
                })
            }
        }
    }
}

/// Why a page cannot be read.
enum Unreadable {
    /// The page's bytes are wrong.
    Wrong(Damage),
    /// The device fails to read it.
    ByDevice(Damage),
}

/// Reads a page that was not intact once more.
fn read_again(flash: &dyn Flash, place: Place, page: &mut Page) -> Result<(), Unreadable> {
    let file = FileId::Segment(place.file);
    match flash.read(file, place.page, std::slice::from_mut(page)) {
        Err(error) => Err(Unreadable::ByDevice(unreadable(file, place.page, &error))),
        Ok(()) if page.is_intact(place) => Ok(()),
        Ok(()) => Err(Unreadable::Wrong(page_damage(file, place.page, "the page's checksum does not match"))),
    }
}

fn unreadable(file: FileId, page: u64, error: &FlashError) -> Damage {
    page_damage(file, page, &format!("it cannot be read: {error}"))
}

/// Reads for cursors: the pages of many in one go.
///
/// Where the device fails at that, the same pages are read one by one, each by a call of its own: a page that cannot be read
/// may take seconds.
pub struct ReadAhead {
    scratch: PageBuf,
    /// So many pages are still to be read one by one.
    singly: usize,
    has_failed: bool,
}

impl ReadAhead {
    /// One that reads `pages` pages at a time, at least one.
    pub fn new(pages: usize) -> Self {
        Self { scratch: PageBuf::zeroed(pages.max(1)), singly: 0, has_failed: false }
    }

    /// From now on it reads `pages` pages at a time, at least one.
    pub fn hold(&mut self, pages: usize) {
        if self.scratch.len() != pages.max(1) {
            self.scratch = PageBuf::zeroed(pages.max(1));
        }
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.scratch.len() * PAGE_BYTES
    }

    /// Reads for those `cursors` that cannot go on, and for those that soon cannot, as far as there is room. A cursor may still
    /// not be able to go on: then this is called again.
    ///
    /// # Errors
    /// The device's, where [`Unread`] says so; damage, where the fragments cannot be read that say what was lost in a gap, after
    /// which the cursor can go on [behind the gap](Cursor::is_behind_gap).
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
        if self.singly > 0 {
            let Some((_, cursor)) = wanting.into_iter().next() else { return Ok(()) };
            return self.fill_singly(flash, cursor);
        }
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
            Err((_, FlashError::Io(_))) => {
                self.singly = wanting.iter().map(|(pages, _)| pages).sum();
                return Ok(());
            }
            Err((_, error @ FlashError::Transient(_))) => return Err(error.into()),
            Err((place, error)) => return Err(unreadable(fills[place].file, fills[place].first, &error).into()),
        }
        for ((_, cursor), fill) in wanting.iter_mut().zip(fills) {
            cursor.take(flash, fill.pages)?;
        }
        Ok(())
    }

    fn fill_singly(&mut self, flash: &dyn Flash, cursor: &mut Cursor) -> Result<(), SegmentError> {
        self.singly -= 1;
        let page = &mut self.scratch.pages_mut()[..1];
        match flash.read(cursor.file(), cursor.next_page, page) {
            Ok(()) => cursor.take(flash, page),
            Err(error @ FlashError::Io(_)) => {
                self.has_failed = true;
                cursor.pass_over(&error)
            }
            Err(error @ FlashError::Transient(_)) => Err(error.into()),
            Err(error) => Err(unreadable(cursor.file(), cursor.next_page, &error).into()),
        }
    }

    /// Whether the device has failed to read a page since this was last asked.
    pub fn has_failed(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// Goes to the next record of a cursor that is read alone; `false` at the end.
    ///
    /// # Errors
    /// The device's, or damage.
    pub fn advance(&mut self, cursor: &mut Cursor, flash: &dyn Flash, secret: &Secret) -> Result<bool, SegmentError> {
        loop {
            match cursor.advance(secret)? {
                CursorStep::Record => return Ok(true),
                CursorStep::End => return Ok(false),
                CursorStep::Starved => self.fill(flash, std::iter::once(&mut *cursor))?,
            }
        }
    }
}
