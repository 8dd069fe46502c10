//! Index loads: a slice's index is built from the fragments of its segments.

use fawn_ring::{Interval, Key};

use super::{Maintenance, Step};
use crate::api::Damage;
use crate::flash::{FileId, Flash};
use crate::index::{SegmentNumber, Table};
use crate::segment::{Cursor, SegmentError, read_prefixes};
use crate::work::{Base, Event, Overwrites, SliceIndex, View};

/// Pages that a rebuild from data reads at once.
const READ_PAGES: usize = 64;
/// A table beside a base is laid out for one entry to so many records of the base, about a quarter of what it will come to:
/// it grows beyond at the price of a few more false matches, and a table that is too large takes memory from the start.
const BASE_RECORDS_AN_ENTRY: u64 = 24;
/// Records of a base that are looked at to tell how many are superseded.
const LOOKED_AT: u64 = 8192;

impl Maintenance {
    pub(super) fn load(&mut self, flash: &dyn Flash, slice: Key) -> Step {
        let Some(place) = self.slice_at(&slice).filter(|_| !self.loaded.contains(&slice)) else {
            return Step::More;
        };
        let found = &self.manifest.state().slices[place];
        let interval = found.interval;
        let parts = found.parts.clone();
        match self.build(flash, interval, &parts, None) {
            Ok(index) => {
                self.loaded.insert(slice);
                let overwrites = self.look_at_base(flash, &interval, &parts, index.base);
                Step::Event(Event::Loaded { slice, index, overwrites })
            }
            Err((_, SegmentError::Damage(damage))) => Step::Event(Event::LoadFailed { slice, damage, retry: false }),
            Err((file, SegmentError::Flash(error))) => {
                let damage = Damage { file, offset: 0, what: error.to_string() };
                Step::Event(Event::LoadFailed { slice, damage, retry: true })
            }
        }
    }

    /// The index of `interval` over `parts`, oldest first; the prefixes of the part `known` are at hand. An error comes with
    /// the file that it is of.
    pub(super) fn build(
        &self,
        flash: &dyn Flash,
        interval: Interval,
        parts: &[u16],
        known: Option<(u16, &[u64])>,
    ) -> Result<SliceIndex, (FileId, SegmentError)> {
        let segment = |number: &u16| SegmentNumber::new(*number).expect("the manifest holds segment numbers only");
        let base = parts.first().filter(|_| self.draining).map(|number| {
            let records = self.views[number].footer.records_in(&interval);
            Base { number: segment(number), records }
        });
        let mut bytes = base.map_or(0, |base| base.records * record_bytes(&self.views[&base.number.get()]));
        let mut entries: Vec<(u64, SegmentNumber)> = Vec::new();
        for number in &parts[usize::from(base.is_some())..] {
            let view = &self.views[number];
            let read;
            let prefixes = match known {
                Some((of, prefixes)) if of == *number => prefixes,
                _ => {
                    read = self.prefixes(flash, view, interval)?;
                    &read
                }
            };
            bytes += prefixes.len() as u64 * record_bytes(view);
            entries.extend(prefixes.iter().map(|prefix| (*prefix, segment(number))));
        }
        entries.sort_unstable_by_key(|(prefix, _)| *prefix);
        let stale = entries.windows(2).filter(|pair| pair[0].0 == pair[1].0).count() as u64;
        let expected = base.map_or(0, |base| base.records / BASE_RECORDS_AN_ENTRY) as usize;
        let (low, high) = (interval.low.prefix(), interval.high.prefix());
        let table = Table::from_sorted(low, high, expected, entries.into_iter());
        Ok(SliceIndex { table, base, bytes, stale })
    }

    /// How many of the newer parts' keys the base has: told from those at the low end of the slice. Nothing is told where
    /// fragments are damaged.
    fn look_at_base(&self, flash: &dyn Flash, interval: &Interval, parts: &[u16], base: Option<Base>) -> Overwrites {
        let Some(base) = base.filter(|base| base.records > 0 && parts.len() > 1) else {
            return Overwrites::default();
        };
        let (low, high) = (interval.low.prefix(), interval.high.prefix());
        let width = u128::from(high - low) * u128::from(LOOKED_AT.min(base.records)) / u128::from(base.records);
        let part = Interval::new(interval.low, Key::highest_with_prefix(low + width as u64).min(interval.high));
        let read = |number: &u16| read_prefixes(flash, &self.views[number].footer, &part);
        let Ok(old) = read(&parts[0]) else {
            return Overwrites::default();
        };
        let mut newer: Vec<u64> = Vec::new();
        for number in &parts[1..] {
            let Ok(prefixes) = read(number) else {
                return Overwrites::default();
            };
            newer.extend(prefixes);
        }
        newer.sort_unstable();
        newer.dedup();
        let superseding = newer.iter().filter(|prefix| old.binary_search(prefix).is_ok()).count() as u64;
        Overwrites { newer: newer.len() as u64, superseding }
    }

    /// The prefixes of a segment's records in an interval, in order.
    fn prefixes(&self, flash: &dyn Flash, view: &View, interval: Interval) -> Result<Vec<u64>, (FileId, SegmentError)> {
        let read = match read_prefixes(flash, &view.footer, &interval) {
            Err(SegmentError::Damage(_)) => self.prefixes_from_data(flash, view, interval),
            result => result,
        };
        read.map_err(|error| (FileId::Segment(view.footer.file), error))
    }

    /// The prefixes of an interval read from the records themselves: when the fragments are damaged.
    fn prefixes_from_data(&self, flash: &dyn Flash, view: &View, interval: Interval) -> Result<Vec<u64>, SegmentError> {
        let whole = Interval::new(
            Key::lowest_with_prefix(interval.low.prefix()),
            Key::highest_with_prefix(interval.high.prefix()),
        );
        let mut cursor = cursor(view, whole, READ_PAGES);
        let mut prefixes = Vec::new();
        while cursor.advance(flash, &self.secret)? {
            prefixes.push(cursor.key().prefix());
        }
        Ok(prefixes)
    }
}

/// A cursor over the records of `interval` in a segment.
pub(super) fn cursor(view: &View, interval: Interval, read_pages: usize) -> Cursor {
    let pages = view.directory.page_span(interval.low.prefix(), interval.high.prefix());
    Cursor::new(&view.footer, pages, interval, read_pages)
}

/// Bytes of a segment's average record.
fn record_bytes(view: &View) -> u64 {
    view.footer.bytes / view.footer.records.max(1)
}
