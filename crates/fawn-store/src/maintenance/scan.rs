//! Scans: the sealed records of an interval in key order, part by part.

use fawn_ring::{Interval, Key};

use super::Maintenance;
use super::load::cursor;
use crate::flash::Flash;
use crate::page::PAGE_BYTES;
use crate::record::Record;
use crate::segment::{Advanced, Cursor, ReadAhead, SegmentError};
use crate::work::{Scanned, Wanted};

/// Bytes that the cursors read at a time, all together, for each byte that is asked for. Every part of a scan opens its
/// cursors anew, so that what they have read beyond its end is read again.
const READ_AHEAD: usize = 2;
/// Most pages that one cursor reads ahead, and that are read in one go.
const MOST_READ_PAGES: usize = 64;

impl Maintenance {
    /// Reads records from the start of `interval`, within the slice that holds it, until `max_bytes` are reached.
    pub(super) fn scan(
        &self,
        flash: &dyn Flash,
        id: u64,
        interval: Interval,
        max_bytes: usize,
        wanted: &Wanted,
    ) -> Scanned {
        let mut records = Vec::new();
        match self.scan_slice(flash, interval, max_bytes, wanted, &mut records) {
            Ok(next) => Scanned { id, records, next, error: None },
            Err(error) => Scanned { id, records: Vec::new(), next: None, error: Some(error.to_string()) },
        }
    }

    fn scan_slice(
        &self,
        flash: &dyn Flash,
        interval: Interval,
        max_bytes: usize,
        wanted: &Wanted,
        out: &mut Vec<u8>,
    ) -> Result<Option<Key>, SegmentError> {
        let state = self.manifest.state();
        let Some(place) = state.slice_of(&interval.low) else {
            return Ok(None);
        };
        let slice = &state.slices[place];
        let part = Interval::new(interval.low, interval.high.min(slice.interval.high));
        let after = part.high.successor().filter(|next| interval.contains(next));
        let read_pages = max_bytes.saturating_mul(READ_AHEAD) / PAGE_BYTES / slice.parts.len().max(1);
        let read_pages = read_pages.clamp(1, MOST_READ_PAGES);
        let mut ahead = ReadAhead::new((read_pages * slice.parts.len()).min(MOST_READ_PAGES));
        let of_part = |number: &u16| (self.views[number].age, cursor(&self.views[number], part, read_pages));
        let mut cursors: Vec<(u64, Cursor)> = slice.parts.iter().map(of_part).collect();
        let mut place = 0;
        while place < cursors.len() {
            if self.advance(&mut cursors, place, &mut ahead, flash)? {
                place += 1;
            } else {
                cursors.swap_remove(place);
            }
        }
        let mut decided: Vec<Vec<u8>> = Vec::new();
        let mut last = None;
        while let Some(lowest) = lowest(&cursors) {
            let (age, cursor) = &mut cursors[lowest];
            let key = *cursor.key();
            if last != Some(key) {
                if out.len() >= max_bytes {
                    return Ok(Some(key));
                }
                decided.clear();
                last = Some(key);
            }
            let record = Record::decode_trusted(cursor.record()).expect("a cursor yields whole records");
            if !decided.iter().any(|name| name == record.key) {
                decided.push(record.key.to_vec());
                if wanted.includes(&key, *age, &record) {
                    out.extend_from_slice(cursor.record());
                }
            }
            if !self.advance(&mut cursors, lowest, &mut ahead, flash)? {
                cursors.swap_remove(lowest);
            }
        }
        Ok(after)
    }

    /// Goes to the next record of a cursor; `false` at its end.
    fn advance(
        &self,
        cursors: &mut [(u64, Cursor)],
        place: usize,
        ahead: &mut ReadAhead,
        flash: &dyn Flash,
    ) -> Result<bool, SegmentError> {
        loop {
            match cursors[place].1.advance(&self.secret)? {
                Advanced::Record => return Ok(true),
                Advanced::End => return Ok(false),
                Advanced::Starved => ahead.fill(flash, cursors.iter_mut().map(|(_, cursor)| cursor))?,
            }
        }
    }
}

/// The cursor at the lowest key, the newest of several.
fn lowest(cursors: &[(u64, Cursor)]) -> Option<usize> {
    let rank = |number: &usize| (*cursors[*number].1.key(), std::cmp::Reverse(cursors[*number].0));
    (0..cursors.len()).min_by_key(rank)
}
