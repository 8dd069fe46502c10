//! Scans: the sealed records of an interval in key order, part by part.

use std::collections::BinaryHeap;

use fawn_ring::{Interval, Key, Secret};

use super::catalog::SegmentCatalog;
use crate::api::Losses;
use crate::flash::Flash;
use crate::format::page::PAGE_BYTES;
use crate::format::record::{Kind, Record};
use crate::format::segment::{Cursor, CursorStep, ReadAhead, SegmentError};
use crate::merge::{LostVersion, MOST_UNREAD_PAGES, PendingLoss, Source, rank};
use crate::work::{ScanFilter, ScanPart};

/// Bytes that the cursors of a reading that begins read at a time, all together, for each byte that is asked for.
const READ_AHEAD: usize = 2;
/// Least pages that one cursor reads ahead once a reading goes on: with one, none is read before its cursor waits for it, and
/// none together.
const LEAST_READ_PAGES: usize = 2;
/// Most pages that one cursor reads ahead, and that are read in one go.
const MOST_READ_PAGES: usize = 64;
/// Most readings that are kept.
const MOST_READINGS: usize = 16;

/// The reading of a slice, which goes on with the next part of a scan where the last one ended: a slice may have hundreds of
/// parts, of each of which a page at least is read to begin.
struct ScanCursor {
    /// Files of the slice's parts.
    files: Vec<u64>,
    /// Up to where it reads.
    high: Key,
    /// A cursor for each part, with the part's age.
    cursors: Vec<(u64, Cursor)>,
    /// The cursors that are on a record.
    heap: BinaryHeap<Source>,
    ahead: ReadAhead,
    held: PendingLoss,
}

/// The readings that may go on, the one used last behind the others.
#[derive(Default)]
struct ScanCursors(Vec<ScanCursor>);

/// Scans of sealed records.
pub(super) struct Scanner {
    /// Where parts of scans ended.
    readings: ScanCursors,
    /// Pages that a merge holds of its inputs.
    read_ahead_pages: usize,
}

impl ScanCursors {
    /// Takes the one that goes on with these keys, in these files.
    fn take(&mut self, files: &[u64], keys: Interval) -> Option<ScanCursor> {
        let place = self.0.iter().position(|reading| reading.goes_on(files, keys))?;
        Some(self.0.remove(place))
    }

    /// Keeps one, and of all those used last, which take no more than `most_bytes`.
    fn keep(&mut self, reading: ScanCursor, most_bytes: usize) {
        self.0.push(reading);
        let mut left = most_bytes;
        let fits = self.0.iter().rev().take(MOST_READINGS).take_while(|reading| {
            let bytes = reading.bytes();
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        });
        let dropped = self.0.len() - fits.count();
        self.0.drain(..dropped);
    }
}

impl Scanner {
    /// Scans that hold up to about so many pages.
    pub(super) fn new(read_ahead_pages: usize) -> Self {
        Self { readings: ScanCursors::default(), read_ahead_pages }
    }

    /// Drops the state that was kept for scans to go on from.
    pub(super) fn clear(&mut self) {
        self.readings.0.clear();
    }

    /// Reads records from the start of `interval`, within the slice that holds it, until `max_bytes` are reached.
    pub(super) fn scan(
        &mut self,
        (catalog, flash): (&SegmentCatalog, &dyn Flash),
        id: u64,
        interval: Interval,
        max_bytes: usize,
        wanted: &ScanFilter,
    ) -> ScanPart {
        let mut scanned = ScanPart { id, records: Vec::new(), next: None, lost: None, error: None };
        match self.scan_slice((catalog, flash), interval, max_bytes, wanted, &mut scanned) {
            Ok(next) => scanned.next = next,
            Err(error) => scanned = ScanPart { records: Vec::new(), error: Some(error.to_string()), ..scanned },
        }
        scanned
    }

    fn scan_slice(
        &mut self,
        (catalog, flash): (&SegmentCatalog, &dyn Flash),
        interval: Interval,
        max_bytes: usize,
        wanted: &ScanFilter,
        out: &mut ScanPart,
    ) -> Result<Option<Key>, SegmentError> {
        let state = catalog.state();
        let Some(place) = state.slice_of(&interval.low) else {
            return Ok(None);
        };
        let slice = &state.slices[place];
        let part = Interval::new(interval.low, interval.high.min(slice.interval.high));
        let after = part.high.successor().filter(|next| interval.contains(next));
        let files: Vec<u64> = slice.parts.iter().map(|number| catalog.view(*number).footer.file).collect();
        let mut reading = match self.readings.take(&files, part) {
            Some(mut reading) => {
                // As much as a merge holds of its inputs while it reads.
                reading.read_ahead((self.read_ahead_pages / 2).max(files.len() * LEAST_READ_PAGES));
                reading
            }
            None => open((catalog, flash), files, place, part, max_bytes)?,
        };
        let next = reading.read(flash, &catalog.state().secret, max_bytes, wanted, out)?;
        if next.is_none() {
            return Ok(after);
        }
        // Where something cannot be read, each part of a scan judges that by itself.
        if reading.is_whole() {
            self.readings.keep(reading, 2 * self.read_ahead_pages * PAGE_BYTES);
        }
        Ok(next)
    }
}

/// Begins to read the slice at a place of the manifest.
fn open(
    (catalog, flash): (&SegmentCatalog, &dyn Flash),
    files: Vec<u64>,
    place: usize,
    part: Interval,
    max_bytes: usize,
) -> Result<ScanCursor, SegmentError> {
    let parts = &catalog.state().slices[place].parts;
    let read_pages = max_bytes.saturating_mul(READ_AHEAD) / PAGE_BYTES / parts.len().max(1);
    let read_pages = read_pages.clamp(1, MOST_READ_PAGES);
    let ahead = ReadAhead::new((read_pages * parts.len()).min(MOST_READ_PAGES));
    let of_part = |number: &u16| (catalog.view(*number).age, catalog.cursor(*number, part, read_pages));
    let cursors: Vec<(u64, Cursor)> = parts.iter().map(of_part).collect();
    let heap = BinaryHeap::with_capacity(cursors.len());
    let held = PendingLoss::default();
    let mut reading = ScanCursor { files, high: part.high, cursors, heap, ahead, held };
    for index in 0..reading.cursors.len() {
        reading.advance(index, flash, &catalog.state().secret)?;
    }
    Ok(reading)
}

impl ScanCursor {
    /// Whether it is where a scan of these keys, in these files, goes on.
    fn goes_on(&self, files: &[u64], keys: Interval) -> bool {
        let is_at_low = self.heap.peek().is_some_and(|lowest| lowest.rank.0 == keys.low);
        is_at_low && self.high == keys.high && self.files == files
    }

    /// From now on the cursors have up to so many pages read ahead, all together.
    fn read_ahead(&mut self, pages: usize) {
        let each = (pages / self.cursors.len().max(1)).clamp(1, MOST_READ_PAGES);
        self.cursors.iter_mut().for_each(|(_, cursor)| cursor.read_ahead(each));
        self.ahead.hold((each * self.cursors.len()).min(MOST_READ_PAGES));
    }

    /// Bytes of memory that it takes.
    fn bytes(&self) -> usize {
        self.ahead.bytes() + self.cursors.iter().map(|(_, cursor)| cursor.buffered_bytes()).sum::<usize>()
    }

    fn is_whole(&self) -> bool {
        self.cursors.iter().all(|(_, cursor)| cursor.bad_pages().is_empty())
    }

    /// Adds records to `out` until it has `max_bytes`; the key at which it goes on, or none at the end.
    fn read(
        &mut self,
        flash: &dyn Flash,
        secret: &Secret,
        max_bytes: usize,
        wanted: &ScanFilter,
        out: &mut ScanPart,
    ) -> Result<Option<Key>, SegmentError> {
        let mut decided: Vec<Vec<u8>> = Vec::new();
        let mut last = None;
        while let Some(index) = self.heap.peek().map(|lowest| lowest.index) {
            let (age, cursor) = &self.cursors[index];
            let (age, key) = (*age, *cursor.key());
            if let Some(lost) = self.held.standing(Some(&key)) {
                note_lost(&lost, wanted, out);
            }
            if last != Some(key) {
                if out.records.len() >= max_bytes {
                    return Ok(Some(key));
                }
                decided.clear();
                last = Some(key);
            }
            let record = Record::decode_trusted(cursor.record()).expect("a cursor yields whole records");
            if record.kind == Kind::Lost {
                let (damage, is_new) = (cursor.damage(), cursor.is_in_gap());
                self.held.hold(LostVersion { key, age, seq: record.seq, damage, is_new });
            } else if !self.held.supersedes(&key, age) && !decided.iter().any(|name| name == record.key) {
                decided.push(record.key.to_vec());
                if wanted.includes(&key, age, &record) {
                    out.records.extend_from_slice(cursor.record());
                }
            }
            self.heap.pop();
            self.advance(index, flash, secret)?;
        }
        if let Some(lost) = self.held.standing(None) {
            note_lost(&lost, wanted, out);
        }
        Ok(None)
    }

    /// Goes to the next record of a cursor that is not in the heap, which has it then, if there is one.
    fn advance(&mut self, index: usize, flash: &dyn Flash, secret: &Secret) -> Result<(), SegmentError> {
        loop {
            let (age, cursor) = &mut self.cursors[index];
            match cursor.advance(secret)? {
                CursorStep::Record => {
                    self.heap.push(Source { rank: rank(*cursor.key(), cursor.is_lost(), *age), index });
                    return Ok(());
                }
                CursorStep::End => return Ok(()),
                CursorStep::Starved => {
                    self.ahead.fill(flash, self.cursors.iter_mut().map(|(_, cursor)| cursor))?;
                    // Seals wait meanwhile, and each may take seconds.
                    let unread = |(_, cursor): &(u64, Cursor)| cursor.unread_pages().len();
                    if self.ahead.has_failed() && self.cursors.iter().map(unread).sum::<usize>() > MOST_UNREAD_PAGES {
                        let last = self.cursors.iter().find_map(|(_, cursor)| cursor.bad_pages().last());
                        return Err(last.expect("some are bad").clone().into());
                    }
                }
            }
        }
    }
}

/// Adds a lost record to what a scan tells, if it is wanted.
fn note_lost(lost: &LostVersion, wanted: &ScanFilter, out: &mut ScanPart) {
    let bytes = lost.encode();
    let record = Record::decode_trusted(&bytes).expect("encoded just above");
    if wanted.includes(&lost.key, lost.age, &record) {
        Losses::add(&mut out.lost, 1, &lost.damage);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{JobFixture, position};
    use super::*;
    use crate::merge::Void;
    use crate::work::Versions;

    /// Keys and values that a scan finds, one record a part, and the number of parts.
    fn scan(fixture: &JobFixture, versions: Versions) -> (Vec<(String, String)>, usize) {
        let mut scanner = Scanner::new(64);
        let filter = ScanFilter { emptied: Vec::new(), versions };
        let (mut found, mut parts, mut from) = (Vec::new(), 0, Some(Key::MIN));
        while let Some(low) = from {
            let keys = Interval::new(low, Key::MAX);
            let part = scanner.scan((&fixture.catalog, &fixture.flash), 9, keys, 1, &filter);
            assert_eq!((part.id, part.error, part.lost), (9, None, None));
            let mut bytes = &part.records[..];
            while !bytes.is_empty() {
                let (record, len) = Record::decode(bytes).unwrap();
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                found.push((text(record.key), text(record.value)));
                bytes = &bytes[len..];
            }
            (from, parts) = (part.next, parts + 1);
        }
        (found, parts)
    }

    #[test]
    fn a_scan_gives_the_newest_versions_in_key_order_part_by_part() {
        let mut fixture = JobFixture::new(2);
        fixture.seal(1, &[("a", "old"), ("b", "1"), ("c", "2"), ("d", "3")]);
        fixture.seal(2, &[("a", "new"), ("c", "")]);
        let mut expected = vec![("a", "new"), ("b", "1"), ("d", "3")];
        expected.sort_by_key(|(name, _)| position(name));
        let (found, parts) = scan(&fixture, Versions::Live(Void { flushed: Vec::new(), times: Vec::new() }));
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
        assert!(parts >= 3, "a part ends behind the record that fills it: {parts}");
    }

    #[test]
    fn a_scan_of_versions_gives_what_is_numbered_above_a_number_deletes_included() {
        let mut fixture = JobFixture::new(1);
        fixture.seal(1, &[("a", "1"), ("b", "2")]);
        fixture.seal(2, &[("b", "")]);
        let (found, _) = scan(&fixture, Versions::Since(1));
        assert_eq!(found, [("b".to_owned(), String::new())]);
    }
}
