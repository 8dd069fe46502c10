//! Reading the log after a restart.
//!
//! Batches are followed from the recorded start for as long as they chain. Where the chain ends, the rest of the ring
//! is looked over: a later batch that says that the log was durable beyond this place proves that acknowledged bytes
//! are damaged; otherwise what follows is the torn end of a write that nobody was told of, and is cut off.

use crate::flash::{FileId, Flash, FlashError};
use crate::page::{PAGE_BYTES, Page, PageBuf};

use super::batch::{BATCH_HEADER_BYTES, Header, VERSION};
use super::entry::EntryError;
use super::{Entry, LogError, LogPosition, LogShape};

/// Pages of one read (1 MiB), unless a batch is longer.
const READ_PAGES: u64 = 256;

/// What the manifest says about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Where to begin.
    pub start: LogPosition,
    /// Generation of the last opening: no batch has a larger one.
    pub generation: u64,
    /// The logical page at which a clean stop ended the log.
    pub clean_end: Option<u64>,
}

/// An entry on replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed<'a> {
    /// Where its batch begins: recovery from here would meet this entry again.
    pub position: LogPosition,
    /// Range instance.
    pub range: u64,
    /// The entry. A record's bytes are under the batch's checksum; its own was not verified.
    pub entry: Entry<'a>,
}

/// A tail that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Pages of the ring that belong to it, as far as can be told.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
}

/// What recovery found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Where the log ends, and writing goes on.
    pub end: LogPosition,
    /// Batches replayed.
    pub batches: u64,
    /// Entries replayed.
    pub entries: u64,
    /// What was cut off after the end.
    pub torn: Option<Torn>,
}

/// Replays the log into `sink`, in the order of appends. What it read is durable when it returns.
///
/// # Errors
/// [`LogError`]; `sink` may have seen entries before.
pub fn recover(
    flash: &dyn Flash,
    shape: LogShape,
    expected: Expected,
    mut sink: impl FnMut(Replayed<'_>),
) -> Result<Recovered, LogError> {
    let mut ring = Ring::open(flash, shape)?;
    let mut found = Recovered { end: expected.start, batches: 0, entries: 0, torn: None };
    let mut generation = 0;
    let mut last = None;
    while expected.clean_end != Some(found.end.page) {
        let limit = expected.start.page + shape.ring_pages;
        let Some(header) = ring.successor(found.end, generation..=expected.generation, limit)? else {
            break;
        };
        let offset = ring.offset(header.position);
        if header.version > VERSION {
            return Err(LogError::Newer { offset, what: "a batch format" });
        }
        found.entries += replay(ring.batch(&header)?, &header, found.end, offset, &mut sink)?;
        found.batches += 1;
        generation = header.generation;
        last = Some(header);
        found.end = LogPosition { page: header.position + header.pages(), previous: header.checksum };
    }
    match expected.clean_end {
        Some(end) if end == found.end.page => {}
        Some(_) => {
            let what = "the log ends before the end that a clean stop recorded";
            return Err(LogError::Damage { offset: ring.offset(found.end.page), what });
        }
        None => {
            found.torn = ring.look_ahead(found.end, generation, expected)?;
            if let Some(last) = last {
                ring.write_again(&last)?;
            }
        }
    }
    Ok(found)
}

/// Hands the entries of one batch to `sink`. Returns their number.
fn replay(
    pages: &[u8],
    header: &Header,
    position: LogPosition,
    offset: u64,
    sink: &mut impl FnMut(Replayed<'_>),
) -> Result<u64, LogError> {
    let mut rest = &pages[BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + header.bytes as usize];
    for _ in 0..header.entries {
        let (range, entry, len) = Entry::decode(rest).map_err(|error| match error {
            EntryError::Newer => LogError::Newer { offset, what: "a kind of entry" },
            EntryError::Malformed => LogError::Damage { offset, what: "a batch holds an entry that makes no sense" },
        })?;
        sink(Replayed { position, range, entry });
        rest = &rest[len..];
    }
    if rest.is_empty() {
        Ok(u64::from(header.entries))
    } else {
        Err(LogError::Damage { offset, what: "a batch is longer than its entries" })
    }
}

/// The file, read through one window of pages.
struct Ring<'f> {
    flash: &'f dyn Flash,
    shape: LogShape,
    window: PageBuf,
    /// File page of the window's first page.
    first: u64,
}

impl<'f> Ring<'f> {
    fn open(flash: &'f dyn Flash, shape: LogShape) -> Result<Self, LogError> {
        let length = flash.list()?.into_iter().find(|(file, _)| *file == FileId::CommitLog);
        let Some((_, pages)) = length else {
            return Err(LogError::Flash(FlashError::NotFound(FileId::CommitLog)));
        };
        if pages < shape.ring_pages {
            let what = "the file is shorter than it was made";
            return Err(LogError::Damage { offset: pages * PAGE_BYTES as u64, what });
        }
        Ok(Self { flash, shape, window: PageBuf::default(), first: 0 })
    }

    fn offset(&self, position: u64) -> u64 {
        position % self.shape.ring_pages * PAGE_BYTES as u64
    }

    /// `count` pages from file page `first`, which do not reach past the ring's end.
    fn read(&mut self, first: u64, count: u64) -> Result<&[Page], FlashError> {
        if first < self.first || first + count > self.first + self.window.len() as u64 {
            let ahead = READ_PAGES.max(count).min(self.shape.ring_pages - first);
            if self.window.is_empty() {
                self.window = PageBuf::zeroed(ahead as usize);
            }
            let pages = self.window.pages_mut();
            pages.resize(ahead as usize, Page::zeroed());
            self.flash.read(FileId::CommitLog, first, pages)?;
            self.first = first;
        }
        let from = (first - self.first) as usize;
        Ok(&self.window.pages()[from..from + count as usize])
    }

    /// The bytes of the batch with this header.
    fn batch(&mut self, header: &Header) -> Result<&[u8], FlashError> {
        use zerocopy::IntoBytes;
        Ok(self.read(header.position % self.shape.ring_pages, header.pages())?.as_bytes())
    }

    /// The header at logical page `position`, if there is one that names this place and whose batch ends by `limit`
    /// and by the end of the file.
    fn header(&mut self, position: u64, limit: u64) -> Result<Option<Header>, FlashError> {
        let first = position % self.shape.ring_pages;
        let header = Header::parse(&self.read(first, 1)?[0].0);
        Ok(header.filter(|header| {
            header.position == position
                && first + header.pages() <= self.shape.ring_pages
                && position + header.pages() <= limit
        }))
    }

    /// Writes the log's last batch again, as it is, and syncs it. It may have been in flight when the process died, and
    /// so not be durable; or when a sync failed, after which reads may show what no later sync saves. All batches before
    /// it were durable before it was written.
    fn write_again(&mut self, header: &Header) -> Result<(), FlashError> {
        let (flash, first) = (self.flash, header.position % self.shape.ring_pages);
        flash.write_durably(FileId::CommitLog, first, self.read(first, header.pages())?)
    }

    fn is_intact(&mut self, header: &Header) -> Result<bool, FlashError> {
        let salt = self.shape.salt;
        Ok(header.is_intact(salt, self.batch(header)?))
    }

    /// The places at which the batch after `end` may begin.
    fn candidates(&self, end: u64) -> impl Iterator<Item = u64> + use<> {
        let lap = end.next_multiple_of(self.shape.ring_pages);
        std::iter::once(end).chain((lap != end).then_some(lap))
    }

    /// The intact batch that chains to `end`.
    fn successor(
        &mut self,
        end: LogPosition,
        generations: std::ops::RangeInclusive<u64>,
        limit: u64,
    ) -> Result<Option<Header>, FlashError> {
        for position in self.candidates(end.page) {
            if let Some(header) = self.header(position, limit)?
                && header.previous == end.previous
                && generations.contains(&header.generation)
                && self.is_intact(&header)?
            {
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Looks over the rest of the ring after the chain ended at `end`.
    fn look_ahead(&mut self, end: LogPosition, generation: u64, expected: Expected) -> Result<Option<Torn>, LogError> {
        let limit = expected.start.page + self.shape.ring_pages;
        let mut torn_to = None;
        for position in end.page..limit {
            let Some(header) = self.header(position, limit)? else {
                continue;
            };
            if header.generation < generation || header.generation > expected.generation {
                continue;
            }
            let begun = header.previous == end.previous && self.candidates(end.page).any(|place| place == position);
            let is_intact = self.is_intact(&header)?;
            if is_intact && header.durable > end.page {
                let what = "a batch that was durable does not parse, and later ones do";
                return Err(LogError::Damage { offset: self.offset(end.page), what });
            }
            if is_intact || begun {
                torn_to = torn_to.max(Some(position + header.pages()));
            }
        }
        Ok(torn_to.map(|to| Torn { pages: to - end.page, bytes: (to - end.page) * PAGE_BYTES as u64 }))
    }
}
