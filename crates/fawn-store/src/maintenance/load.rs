//! Index loads: a slice's index is built from the fragments of its segments.

use fawn_ring::{Interval, Key};

use super::{Maintenance, Step};
use crate::api::Damage;
use crate::flash::{FileId, Flash};
use crate::index::{SegmentNumber, Table};
use crate::segment::{Cursor, SegmentError, read_prefixes};
use crate::work::{Event, View};

/// Pages that a rebuild from data reads at once.
const READ_PAGES: usize = 64;

/// A slice's index and its figures.
pub(super) struct Built {
    pub table: Table,
    pub bytes: u64,
    pub stale: u64,
}

impl Maintenance {
    pub(super) fn load(&mut self, flash: &dyn Flash, slice: Key) -> Step {
        let Some(place) = self.slice_at(&slice).filter(|_| !self.loaded.contains(&slice)) else {
            return Step::More;
        };
        let found = &self.manifest.state().slices[place];
        let interval = found.interval;
        let parts = found.parts.clone();
        match self.build(flash, interval, &parts, Vec::new()) {
            Ok(Built { table, bytes, stale }) => {
                self.loaded.insert(slice);
                Step::Event(Event::Loaded { slice, table, bytes, stale })
            }
            Err((_, SegmentError::Damage(damage))) => Step::Event(Event::LoadFailed { slice, damage, retry: false }),
            Err((file, SegmentError::Flash(error))) => {
                let damage = Damage { file, offset: 0, what: error.to_string() };
                Step::Event(Event::LoadFailed { slice, damage, retry: true })
            }
        }
    }

    /// The index of `interval` over `parts`, and over `more`: prefixes at hand already. An error comes with the file that
    /// it is of.
    pub(super) fn build(
        &self,
        flash: &dyn Flash,
        interval: Interval,
        parts: &[u16],
        more: Vec<(u64, SegmentNumber)>,
    ) -> Result<Built, (FileId, SegmentError)> {
        let mut entries = more;
        let mut bytes = entries
            .first()
            .and_then(|(_, number)| self.views.get(&number.get()))
            .map_or(0, |view| entries.len() as u64 * record_bytes(view));
        for number in parts {
            let view = &self.views[number];
            let number = SegmentNumber::new(*number).expect("the manifest holds segment numbers only");
            let prefixes = match read_prefixes(flash, &view.footer, &interval) {
                Err(SegmentError::Damage(_)) => self.prefixes_from_data(flash, view, interval),
                result => result,
            };
            let prefixes = prefixes.map_err(|error| (FileId::Segment(view.footer.file), error))?;
            bytes += prefixes.len() as u64 * record_bytes(view);
            entries.extend(prefixes.into_iter().map(|prefix| (prefix, number)));
        }
        entries.sort_unstable_by_key(|(prefix, _)| *prefix);
        let stale = entries.windows(2).filter(|pair| pair[0].0 == pair[1].0).count() as u64;
        let table = Table::from_sorted(interval.low.prefix(), interval.high.prefix(), entries.into_iter());
        Ok(Built { table, bytes, stale })
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
