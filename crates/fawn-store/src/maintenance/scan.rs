//! Scans: the sealed records of an interval in key order, part by part.

use fawn_ring::{Interval, Key};

use super::Maintenance;
use super::load::cursor;
use crate::api::Losses;
use crate::flash::Flash;
use crate::merge::{Held, Lost, MOST_UNREAD_PAGES, rank};
use crate::page::PAGE_BYTES;
use crate::record::{Kind, Record};
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
        let mut scanned = Scanned { id, records: Vec::new(), next: None, lost: None, error: None };
        match self.scan_slice(flash, interval, max_bytes, wanted, &mut scanned) {
            Ok(next) => scanned.next = next,
            Err(error) => scanned = Scanned { records: Vec::new(), error: Some(error.to_string()), ..scanned },
        }
        scanned
    }

    fn scan_slice(
        &self,
        flash: &dyn Flash,
        interval: Interval,
        max_bytes: usize,
        wanted: &Wanted,
        out: &mut Scanned,
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
        let mut held = Held::default();
        while let Some(lowest) = lowest(&cursors) {
            let (age, cursor) = &mut cursors[lowest];
            let (age, key) = (*age, *cursor.key());
            if let Some(lost) = held.standing(Some(&key)) {
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
                held.hold(Lost { key, age, seq: record.seq, damage, is_new });
            } else if !held.supersedes(&key, age) && !decided.iter().any(|name| name == record.key) {
                decided.push(record.key.to_vec());
                if wanted.includes(&key, age, &record) {
                    out.records.extend_from_slice(cursor.record());
                }
            }
            if !self.advance(&mut cursors, lowest, &mut ahead, flash)? {
                cursors.swap_remove(lowest);
            }
        }
        if let Some(lost) = held.standing(None) {
            note_lost(&lost, wanted, out);
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
                Advanced::Starved => {
                    ahead.fill(flash, cursors.iter_mut().map(|(_, cursor)| cursor))?;
                    // Seals wait meanwhile, and each may take seconds.
                    let unread = |(_, cursor): &(u64, Cursor)| cursor.unread_pages().len();
                    if ahead.has_failed() && cursors.iter().map(unread).sum::<usize>() > MOST_UNREAD_PAGES {
                        let last = cursors.iter().find_map(|(_, cursor)| cursor.bad_pages().last());
                        return Err(last.expect("some are bad").clone().into());
                    }
                }
            }
        }
    }
}

/// Adds a lost record to what a scan tells, if it is wanted.
fn note_lost(lost: &Lost, wanted: &Wanted, out: &mut Scanned) {
    let bytes = lost.encode();
    let record = Record::decode_trusted(&bytes).expect("encoded just above");
    if wanted.includes(&lost.key, lost.age, &record) {
        Losses::add(&mut out.lost, 1, &lost.damage);
    }
}

/// The cursor whose record is the next to be judged.
fn lowest(cursors: &[(u64, Cursor)]) -> Option<usize> {
    let rank = |number: &usize| {
        let (age, cursor) = &cursors[*number];
        rank(*cursor.key(), cursor.is_lost(), *age)
    };
    (0..cursors.len()).min_by_key(rank)
}
