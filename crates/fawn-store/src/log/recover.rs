//! Reading the log after a restart.
//!
//! Batches are followed from the recorded start for as long as they chain. Where the chain ends, the rest of the ring
//! is looked over: a later batch that says that the log was durable beyond this place proves that acknowledged bytes
//! are damaged; otherwise what follows is the torn end of a write that nobody was told of, and is cut off.
//!
//! Before anything is replayed, the log is [surveyed](survey): whether it is the one that the manifest speaks of, or
//! one of the two is an older copy.

use crate::flash::{FileId, Flash, FlashError};
use crate::format::manifest::State;
use crate::format::page::{PAGE_BYTES, Page, PageBuf};

use super::batch::{BATCH_HEADER_BYTES, Header, MAX_BATCH_PAGES, VERSION};
use super::entry::EntryError;
use super::{Entry, LogError, LogPosition, LogShape};

/// Pages of one read (1 MiB), unless a batch is longer.
const READ_PAGES: u64 = 256;

/// What the manifest says about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogExpectation {
    /// Number of the manifest.
    pub manifest: u64,
    /// Place in the log at which the replay begins.
    pub start: LogPosition,
    /// Generation of the last opening: no batch has a larger one, but for the page of an opening that was cut short.
    pub generation: u64,
    /// The logical page at which a clean stop ended the log.
    pub clean_end: Option<u64>,
    /// The log was durable up to here, and goes through it unless it starts behind it. At page 0 nothing is known.
    pub reached: LogPosition,
}

impl LogExpectation {
    /// What `state` says, which is that of the manifest with this number.
    pub fn of(manifest: u64, state: &State) -> Self {
        let log = state.log;
        let (generation, reached) = (state.generation, state.bonds.reached);
        Self { manifest, start: log.start, generation, clean_end: log.clean_end, reached }
    }
}

/// An entry on replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayEntry<'a> {
    /// Where its batch begins: recovery from here would meet this entry again.
    pub position: LogPosition,
    /// Instance of the range that the entry belongs to.
    pub range: u64,
    /// The entry. A record's bytes are under the batch's checksum; its own was not verified.
    pub entry: Entry<'a>,
}

/// A tail that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// Pages of the ring that belong to it, as far as can be told.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
}

/// What a recovery has replayed, and where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecovery {
    /// Where the log ends, and writing goes on.
    pub end: LogPosition,
    /// Number of batches that were replayed.
    pub batches: u64,
    /// Number of entries that were replayed.
    pub entries: u64,
    /// What was cut off after the end.
    pub torn: Option<TornTail>,
}

/// Replays the log into `sink`, in the order of appends, once it is known to be the right one. What it read is durable
/// when it returns.
///
/// # Errors
/// [`LogError`]; `sink` has seen nothing before, but for damage to an entry in an intact batch.
pub fn recover(
    flash: &dyn Flash,
    shape: LogShape,
    expected: LogExpectation,
    mut sink: impl FnMut(ReplayEntry<'_>),
) -> Result<LogRecovery, LogError> {
    let mut ring = Ring::open(flash, shape)?;
    let Survey { mut found, last } = ring.survey(expected)?;
    let end = ring.follow(expected, |ring, header, position| {
        let offset = ring.offset(header.position);
        found.entries += replay(ring.batch(header)?, header, position, offset, &mut sink)?;
        Ok(())
    })?;
    if end != found.end {
        let what = "a batch that was intact a moment ago does not parse";
        return Err(LogError::Damage { offset: ring.offset(end.page), what });
    }
    if let Some(last) = last.filter(|_| expected.clean_end.is_none()) {
        ring.write_again(&last)?;
    }
    Ok(found)
}

/// Replays what comes before the first damage of a log that [`recover`] refuses. Nothing is written.
pub fn recover_intact(
    flash: &dyn Flash,
    shape: LogShape,
    expected: LogExpectation,
    mut sink: impl FnMut(ReplayEntry<'_>),
) {
    let Ok(mut ring) = Ring::open(flash, shape) else { return };
    // Where it ends is where the damage begins.
    let _ = ring.follow(expected, |ring, header, position| {
        let offset = ring.offset(header.position);
        replay(ring.batch(header)?, header, position, offset, &mut sink).map(drop)
    });
}

/// Whether the log is the one that the manifest speaks of, and nothing of it is missing. Nothing is written.
///
/// # Errors
/// [`LogError`].
pub fn survey(flash: &dyn Flash, shape: LogShape, expected: LogExpectation) -> Result<(), LogError> {
    Ring::open(flash, shape)?.survey(expected).map(|_| ())
}

/// What [`survey`] found: no entries are counted yet.
struct Survey {
    found: LogRecovery,
    /// Header of the last batch.
    last: Option<Header>,
}

/// Hands the entries of one batch to `sink`. Returns their number.
fn replay(
    pages: &[u8],
    header: &Header,
    position: LogPosition,
    offset: u64,
    sink: &mut impl FnMut(ReplayEntry<'_>),
) -> Result<u64, LogError> {
    let mut rest = &pages[BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + header.bytes as usize];
    for _ in 0..header.entries {
        let (range, entry, len) = Entry::decode(rest).map_err(|error| match error {
            EntryError::Newer => LogError::Newer { offset, what: "a kind of entry" },
            EntryError::Malformed => LogError::Damage { offset, what: "a batch holds an invalid entry" },
        })?;
        sink(ReplayEntry { position, range, entry });
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
            let what = "the file is shorter than at its creation";
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

    /// Follows the chain from its start to its end, which it returns; each batch comes with the place that it chains to.
    fn follow(
        &mut self,
        expected: LogExpectation,
        mut each: impl FnMut(&mut Self, &Header, LogPosition) -> Result<(), LogError>,
    ) -> Result<LogPosition, LogError> {
        let limit = expected.start.page + self.shape.ring_pages;
        let (mut end, mut generation) = (expected.start, 0);
        while expected.clean_end != Some(end.page) {
            let Some(header) = self.successor(end, generation..=expected.generation, limit)? else {
                break;
            };
            if header.version > VERSION {
                return Err(LogError::Newer { offset: self.offset(header.position), what: "a batch format" });
            }
            each(self, &header, end)?;
            generation = header.generation;
            end = LogPosition { page: header.position + header.pages(), previous: header.checksum };
        }
        Ok(end)
    }

    fn survey(&mut self, expected: LogExpectation) -> Result<Survey, LogError> {
        let LogExpectation { manifest, start, reached, .. } = expected;
        let (mut batches, mut last, mut is_bound) = (0, None, reached.page <= start.page);
        let end = self.follow(expected, |_, header, position| {
            batches += 1;
            last = Some(*header);
            is_bound |= position == reached;
            Ok(())
        })?;
        is_bound |= end == reached;
        let mut torn = None;
        match expected.clean_end {
            Some(page) if page == end.page => self.refuse_older_manifest_after_stop(end, expected)?,
            Some(_) => {
                for place in 0..self.shape.ring_pages {
                    self.refuse_older_manifest(place, expected)?;
                }
                let what = "the log ends before the end that a clean stop recorded";
                return Err(LogError::Damage { offset: self.offset(end.page), what });
            }
            None => torn = self.look_ahead(end, last.map_or(0, |last| last.generation), expected)?,
        }
        let missed = if !is_bound {
            Some("it was durable beyond this place when the manifest was written")
        } else if batches == 0 && reached.page > 0 && !self.has_predecessor(start)? {
            Some("it lacks the writes before the last seal")
        } else {
            None
        };
        if let Some(what) = missed {
            return Err(LogError::OlderLog { manifest, offset: self.offset(end.page), what });
        }
        Ok(Survey { found: LogRecovery { end, batches, entries: 0, torn }, last })
    }

    /// Looks over the rest of the ring after the chain ended at `end`.
    fn look_ahead(
        &mut self,
        end: LogPosition,
        generation: u64,
        expected: LogExpectation,
    ) -> Result<Option<TornTail>, LogError> {
        let limit = expected.start.page + self.shape.ring_pages;
        let mut torn_to = None;
        for position in end.page..limit {
            self.refuse_older_manifest(position % self.shape.ring_pages, expected)?;
            let Some(header) = self.header(position, limit)? else {
                continue;
            };
            if header.generation < generation || header.generation > expected.generation {
                continue;
            }
            let begun = header.previous == end.previous && self.candidates(end.page).any(|place| place == position);
            let is_intact = self.is_intact(&header)?;
            if is_intact && header.durable > end.page {
                let what = "a batch that was durable is damaged, and later ones are intact";
                return Err(LogError::Damage { offset: self.offset(end.page), what });
            }
            if is_intact || begun {
                torn_to = torn_to.max(Some(position + header.pages()));
            }
        }
        Ok(torn_to.map(|to| TornTail { pages: to - end.page, bytes: (to - end.page) * PAGE_BYTES as u64 }))
    }

    /// Refuses a manifest that knows nothing of the batch at page `place` of the file: one of a later opening, or so far
    /// ahead that the log's start has moved since. The page of the next opening proves nothing: an opening may have been
    /// cut short before it came to the manifest.
    fn refuse_older_manifest(&mut self, place: u64, expected: LogExpectation) -> Result<(), LogError> {
        let ring_pages = self.shape.ring_pages;
        let Some(header) = Header::parse(&self.read(place, 1)?[0].0) else {
            return Ok(());
        };
        let next = expected.generation.saturating_add(1);
        let is_later = header.generation > next || (header.generation == next && !header.is_opening);
        let is_ahead = header.position >= expected.start.page + ring_pages;
        let is_here = header.position % ring_pages == place && place + header.pages() <= ring_pages;
        if is_here && (is_later || is_ahead) && self.is_intact(&header)? {
            let what = "this batch was logged with a later manifest";
            let offset = place * PAGE_BYTES as u64;
            return Err(LogError::OlderManifest { manifest: expected.manifest, offset, what });
        }
        Ok(())
    }

    /// The same after a clean stop, without a look at the whole ring: the next opening has begun where the log ended, and
    /// each lap begins at the first page of the file.
    fn refuse_older_manifest_after_stop(&mut self, end: LogPosition, expected: LogExpectation) -> Result<(), LogError> {
        let ring_pages = self.shape.ring_pages;
        for place in [0, end.page % ring_pages, (end.page + 1) % ring_pages] {
            self.refuse_older_manifest(place, expected)?;
        }
        Ok(())
    }

    /// Whether the batch is there that ends at the log's start. Only what is logged behind the start overwrites it.
    fn has_predecessor(&mut self, start: LogPosition) -> Result<bool, FlashError> {
        if start.page == 0 {
            return Ok(true);
        }
        let ring_pages = self.shape.ring_pages;
        let lap = (start.page - 1) / ring_pages * ring_pages;
        let lowest = lap.max(start.page.saturating_sub(MAX_BATCH_PAGES as u64));
        let mut high = start.page;
        while high > lowest {
            let low = lowest.max(high.saturating_sub(READ_PAGES));
            // All of them at once: one by one, backwards, each would be a read.
            self.read(low % ring_pages, high - low)?;
            for position in (low..high).rev() {
                if let Some(header) = self.header(position, start.page)?
                    && position + header.pages() == start.page
                    && header.checksum == start.previous
                {
                    return self.is_intact(&header);
                }
            }
            high = low;
        }
        Ok(false)
    }
}
