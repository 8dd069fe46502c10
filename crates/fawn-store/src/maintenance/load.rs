//! Index loads: a slice's index is built from the fragments of its segments.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fawn_ring::{Interval, Key};

use super::catalog::{SegmentCatalog, cursor};
use super::step::Step;
use crate::api::Damage;
use crate::flash::{FileId, Flash};
use crate::format::segment::{ReadAhead, SegmentError, read_prefixes, read_prefixes_of};
use crate::merge::Overwrites;
use crate::sealed::filter::Filter;
use crate::sealed::index::{SegmentNumber, Table};
use crate::work::{Base, MaintenanceEvent, SliceIndex, View};

/// Pages that a rebuild from data reads at once.
const READ_PAGES: usize = 64;
/// A table beside a base is laid out for one entry to so many records of the base, about a quarter of what it will come to:
/// it grows beyond at the price of a few more false matches, and a table that is too large takes memory from the start.
const BASE_RECORDS_AN_ENTRY: u64 = 24;
/// Records of a base that are looked at to tell how many are superseded.
const LOOKED_AT: u64 = 8192;

/// Prefixes that need not be read, in order, by part: those of a stretch of keys at least as wide as is asked for.
pub(super) type AtHand<'a> = BTreeMap<u16, &'a [u64]>;

/// A load that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadRequest {
    pub slice: Key,
    /// A lookup waits for it.
    pub wanted: bool,
    /// The slice's base gets a filter.
    pub filtered: bool,
}

/// Loads of slices' indexes.
pub(super) struct IndexLoader {
    requests: VecDeque<LoadRequest>,
    /// Starts of slices whose index the event-loop half has.
    loaded: BTreeSet<Key>,
    /// Index entries that slices may come to have that are loaded together.
    load_together: u64,
    /// Slices' oldest parts are left out of their indexes.
    draining: bool,
}

impl IndexLoader {
    /// One that loads slices together with up to so many index entries.
    pub(super) fn new(load_together: u64) -> Self {
        Self { requests: VecDeque::new(), loaded: BTreeSet::new(), load_together, draining: false }
    }

    /// From now on, slices' oldest parts are left out of their indexes, or are not.
    pub(super) fn set_draining(&mut self, draining: bool) {
        self.draining = draining;
    }

    /// Queues a load, before all others if a lookup waits for it; `again`: also if the slice is loaded.
    pub(super) fn request(&mut self, request: LoadRequest, again: bool) {
        if again {
            self.loaded.remove(&request.slice);
        }
        if request.wanted {
            self.requests.push_front(request);
        } else {
            self.requests.push_back(request);
        }
    }

    /// Whether no load waits.
    pub(super) fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether the event-loop half has the index of the slice that starts at `slice`.
    pub(super) fn is_loaded(&self, slice: &Key) -> bool {
        self.loaded.contains(slice)
    }

    /// The event-loop half has the index of the slice that starts at `slice`.
    pub(super) fn note_loaded(&mut self, slice: Key) {
        self.loaded.insert(slice);
    }

    /// The slice that starts at `slice` is another one, or its index is gone. Whether it was there.
    pub(super) fn forget(&mut self, slice: &Key) -> bool {
        self.loaded.remove(slice)
    }

    /// Whether a load of the slice that starts at `slice` waits that makes a filter.
    pub(super) fn makes_filter(&self, slice: &Key) -> bool {
        self.requests.iter().any(|request| request.slice == *slice && request.filtered)
    }

    /// Loads the next slice that was asked for, with those after it that nobody waits for: a slice has a few bytes in each
    /// of many segments, and the fragments of neighbours lie side by side.
    pub(super) fn load_next(
        &mut self,
        catalog: &SegmentCatalog,
        flash: &dyn Flash,
        events: &mut VecDeque<MaintenanceEvent>,
    ) -> Step {
        let Some(first) = self.requests.pop_front() else {
            return Step::More;
        };
        let mut group = vec![first];
        let mut records = self.records_to_read(catalog, &first);
        while let Some(next) = self.requests.front().filter(|next| !first.wanted && !next.wanted) {
            records += self.records_to_read(catalog, next);
            let follows = catalog.slice_after(&group[group.len() - 1].slice) == Some(next.slice);
            if !follows || records > self.load_together || self.loaded.contains(&next.slice) {
                break;
            }
            group.push(*next);
            self.requests.pop_front();
        }
        if group.len() == 1 {
            return self.load(catalog, flash, first.slice, &AtHand::new(), first.filtered);
        }
        let read = self.read_together(catalog, flash, &group);
        let at_hand: AtHand<'_> = read.iter().map(|(number, prefixes)| (*number, prefixes.as_slice())).collect();
        for LoadRequest { slice, filtered, .. } in group {
            if let Step::Event(event) = self.load(catalog, flash, slice, &at_hand, filtered) {
                events.push_back(event);
            }
        }
        Step::More
    }

    /// Parts of a slice that its index has entries of.
    fn indexed<'p>(&self, parts: &'p [u16]) -> &'p [u16] {
        if self.draining { parts.get(1..).unwrap_or_default() } else { parts }
    }

    /// Parts of a slice whose prefixes its load takes.
    fn read<'p>(&self, parts: &'p [u16], filtered: bool) -> &'p [u16] {
        if filtered { parts } else { self.indexed(parts) }
    }

    /// Records whose prefixes a load takes, about.
    fn records_to_read(&self, catalog: &SegmentCatalog, asked: &LoadRequest) -> u64 {
        let Some(place) = catalog.slice_at(&asked.slice) else { return 0 };
        let slice = &catalog.state().slices[place];
        let parts = self.read(&slice.parts, asked.filtered);
        parts.iter().map(|number| catalog.view(*number).footer.records_in(&slice.interval)).sum()
    }

    /// What the parts of slices that follow each other say of all of them; those that cannot be read are left out.
    fn read_together(
        &self,
        catalog: &SegmentCatalog,
        flash: &dyn Flash,
        group: &[LoadRequest],
    ) -> BTreeMap<u16, Vec<u64>> {
        let state = catalog.state();
        let slices =
            group.iter().filter_map(|asked| Some((&state.slices[catalog.slice_at(&asked.slice)?], asked.filtered)));
        let mut reach: BTreeMap<u16, Interval> = BTreeMap::new();
        for (slice, filtered) in slices {
            for number in self.read(&slice.parts, filtered) {
                let keys = reach.entry(*number).or_insert(slice.interval);
                keys.high = slice.interval.high;
            }
        }
        let wanted: Vec<_> = reach.iter().map(|(number, keys)| (&catalog.view(*number).footer, *keys)).collect();
        let read = read_prefixes_of(flash, &wanted);
        reach.into_keys().zip(read).filter_map(|(number, read)| Some((number, read.ok()?))).collect()
    }

    pub(super) fn load(
        &mut self,
        catalog: &SegmentCatalog,
        flash: &dyn Flash,
        slice: Key,
        at_hand: &AtHand<'_>,
        filtered: bool,
    ) -> Step {
        let Some(place) = catalog.slice_at(&slice).filter(|_| !self.loaded.contains(&slice)) else {
            return Step::More;
        };
        let found = &catalog.state().slices[place];
        let interval = found.interval;
        let parts = found.parts.clone();
        match self.build((catalog, flash), interval, &parts, at_hand, filtered) {
            Ok((index, overwrites)) => {
                self.loaded.insert(slice);
                Step::Event(MaintenanceEvent::Loaded { slice, index, overwrites })
            }
            Err((_, SegmentError::Damage(damage))) => {
                Step::Event(MaintenanceEvent::LoadFailed { slice, damage, retry: false })
            }
            Err((file, SegmentError::Flash(error))) => {
                let damage = Damage { file, offset: 0, what: error.to_string() };
                Step::Event(MaintenanceEvent::LoadFailed { slice, damage, retry: true })
            }
        }
    }

    /// The index of `interval` over `parts`, oldest first, with a filter of its base if it is to be `filtered` and has one,
    /// and what it tells of the base. An error comes with the file that it is of.
    pub(super) fn build(
        &self,
        (catalog, flash): (&SegmentCatalog, &dyn Flash),
        interval: Interval,
        parts: &[u16],
        at_hand: &AtHand<'_>,
        filtered: bool,
    ) -> Result<(SliceIndex, Overwrites), (FileId, SegmentError)> {
        let segment = |number: &u16| SegmentNumber::new(*number).expect("the manifest holds segment numbers only");
        let base = parts.first().filter(|_| self.draining).map(|number| {
            let records = catalog.view(*number).footer.records_in(&interval);
            Base { number: segment(number), records }
        });
        let mut bytes = base.map_or(0, |base| base.records * record_bytes(catalog.view(base.number.get())));
        let indexed = self.indexed(parts);
        let wanted: Vec<_> = indexed
            .iter()
            .filter(|number| !at_hand.contains_key(number))
            .map(|number| (&catalog.view(*number).footer, interval))
            .collect();
        let read = read_prefixes_of(flash, &wanted);
        let at_hand_of = |number: &u16| at_hand.get(number).map(|prefixes| within(prefixes, &interval));
        let count = read.iter().flatten().map(Vec::len).sum::<usize>()
            + indexed.iter().filter_map(at_hand_of).map(<[u64]>::len).sum::<usize>();
        // To grow it bit by bit would take three times as much.
        let mut entries: Vec<(u64, SegmentNumber)> = Vec::with_capacity(count);
        let mut read = read.into_iter();
        for number in indexed {
            let view = catalog.view(*number);
            let own;
            let prefixes = if let Some(prefixes) = at_hand_of(number) {
                prefixes
            } else {
                own = or_from_data((catalog, flash), view, interval, read.next().expect("one for each"))?;
                &own
            };
            bytes += prefixes.len() as u64 * record_bytes(view);
            entries.extend(prefixes.iter().map(|prefix| (*prefix, segment(number))));
        }
        entries.sort_unstable_by_key(|(prefix, _)| *prefix);
        let stale = entries.windows(2).filter(|pair| pair[0].0 == pair[1].0).count() as u64;
        let overwrites =
            base.map_or_else(Overwrites::default, |base| look_at((catalog, flash), base, &interval, &entries, at_hand));
        let expected = base.map_or(0, |base| base.records / BASE_RECORDS_AN_ENTRY) as usize;
        let (low, high) = (interval.low.prefix(), interval.high.prefix());
        let table = Table::from_sorted(low, high, expected, entries.into_iter());
        let filter = base.filter(|_| filtered).and_then(|base| filter((catalog, flash), base, &interval, at_hand));
        Ok((SliceIndex { table, base, filter, bytes, stale }, overwrites))
    }
}

/// The filter of a base. There is none where its fragments cannot be read: lookups then read the base.
fn filter(
    (catalog, flash): (&SegmentCatalog, &dyn Flash),
    base: Base,
    interval: &Interval,
    at_hand: &AtHand<'_>,
) -> Option<Arc<Filter>> {
    let read;
    let prefixes = if let Some(prefixes) = at_hand.get(&base.number.get()) {
        within(prefixes, interval)
    } else {
        read = read_prefixes(flash, &catalog.view(base.number.get()).footer, interval).ok()?;
        &read
    };
    Filter::new(prefixes).map(Arc::new)
}

/// How many of the newer parts' keys a base has: told from those at the low end of the slice. Nothing is told where its
/// fragments are damaged.
fn look_at(
    (catalog, flash): (&SegmentCatalog, &dyn Flash),
    base: Base,
    interval: &Interval,
    newer: &[(u64, SegmentNumber)],
    at_hand: &AtHand<'_>,
) -> Overwrites {
    if base.records == 0 || newer.is_empty() {
        return Overwrites::default();
    }
    let (low, high) = (interval.low.prefix(), interval.high.prefix());
    let width = u128::from(high - low) * u128::from(LOOKED_AT.min(base.records)) / u128::from(base.records);
    let high = low + width as u64;
    let part = Interval::new(interval.low, Key::highest_with_prefix(high).min(interval.high));
    let read;
    let old = if let Some(old) = at_hand.get(&base.number.get()) {
        within(old, &part)
    } else {
        read = read_prefixes(flash, &catalog.view(base.number.get()).footer, &part).unwrap_or_default();
        &read
    };
    if old.is_empty() {
        return Overwrites::default();
    }
    let mut told = Overwrites::default();
    let mut last = None;
    for (prefix, _) in newer.iter().take_while(|(prefix, _)| *prefix <= high) {
        if last.replace(*prefix) != Some(*prefix) {
            told.newer += 1;
            told.superseding += u64::from(old.binary_search(prefix).is_ok());
        }
    }
    told
}

/// The prefixes of a segment's records in an interval, in order, as they were `read`; if their pages are damaged, from the
/// records themselves.
fn or_from_data(
    (catalog, flash): (&SegmentCatalog, &dyn Flash),
    view: &View,
    interval: Interval,
    read: Result<Vec<u64>, SegmentError>,
) -> Result<Vec<u64>, (FileId, SegmentError)> {
    let read = match read {
        Err(SegmentError::Damage(_)) => prefixes_from_data((catalog, flash), view, interval),
        result => result,
    };
    read.map_err(|error| (FileId::Segment(view.footer.file), error))
}

/// The prefixes of an interval read from the records themselves: when the fragments are damaged.
fn prefixes_from_data(
    (catalog, flash): (&SegmentCatalog, &dyn Flash),
    view: &View,
    interval: Interval,
) -> Result<Vec<u64>, SegmentError> {
    let whole =
        Interval::new(Key::lowest_with_prefix(interval.low.prefix()), Key::highest_with_prefix(interval.high.prefix()));
    let mut cursor = cursor(view, whole, READ_PAGES);
    let mut ahead = ReadAhead::new(READ_PAGES);
    let mut prefixes = Vec::new();
    while ahead.advance(&mut cursor, flash, &catalog.state().secret)? {
        prefixes.push(cursor.key().prefix());
    }
    Ok(prefixes)
}

/// Of prefixes in order, those in an interval.
fn within<'p>(prefixes: &'p [u64], interval: &Interval) -> &'p [u64] {
    let from = prefixes.partition_point(|prefix| *prefix < interval.low.prefix());
    let to = prefixes.partition_point(|prefix| *prefix <= interval.high.prefix());
    &prefixes[from..to]
}

/// Bytes of a segment's average record.
fn record_bytes(view: &View) -> u64 {
    view.footer.bytes / view.footer.records.max(1)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::JobFixture;
    use super::*;

    fn loaded(step: Step) -> Option<(Key, SliceIndex)> {
        match step {
            Step::Event(MaintenanceEvent::Loaded { slice, index, .. }) => Some((slice, index)),
            _ => None,
        }
    }

    #[test]
    fn a_load_that_a_lookup_waits_for_goes_first_and_neighbours_go_together() {
        let mut fixture = JobFixture::new(4);
        fixture.seal(1, &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5"), ("f", "6")]);
        fixture.events.clear();
        let slices = fixture.slices();
        for (number, slice) in slices.iter().enumerate() {
            fixture.loader.request(LoadRequest { slice: *slice, wanted: number == 2, filtered: false }, false);
        }
        assert_eq!(loaded(fixture.load_next()).map(|(slice, _)| slice), Some(slices[2]));
        assert!(matches!(fixture.load_next(), Step::More) && fixture.events.len() == 2, "the two below it");
        assert_eq!(loaded(fixture.load_next()).map(|(slice, _)| slice), Some(slices[3]));
        assert!(fixture.loader.is_idle() && slices.iter().all(|slice| fixture.loader.is_loaded(slice)));
    }

    #[test]
    fn a_loaded_slice_is_loaded_again_only_if_that_is_asked_for() {
        let mut fixture = JobFixture::new(1);
        fixture.seal(1, &[("a", "1"), ("b", "2")]);
        let request = LoadRequest { slice: Key::MIN, wanted: false, filtered: false };
        for (again, is_loaded) in [(false, true), (false, false), (true, true)] {
            fixture.loader.request(request, again);
            assert_eq!(loaded(fixture.load_next()).is_some(), is_loaded, "again: {again}");
        }
        assert!(fixture.loader.forget(&Key::MIN) && !fixture.loader.is_loaded(&Key::MIN));
    }

    #[test]
    fn the_oldest_part_is_left_out_of_the_index_while_draining() {
        let mut fixture = JobFixture::new(1);
        let base = fixture.seal(1, &[("a", "1"), ("b", "2")]);
        fixture.seal(2, &[("c", "3")]);
        for (draining, slots) in [(false, 3), (true, 1)] {
            fixture.loader.set_draining(draining);
            fixture.loader.request(LoadRequest { slice: Key::MIN, wanted: false, filtered: false }, true);
            let (_, index) = loaded(fixture.load_next()).unwrap();
            assert_eq!(index.table.len(), slots);
            assert_eq!(index.base.map(|base| base.number.get()), draining.then_some(base));
        }
    }
}
