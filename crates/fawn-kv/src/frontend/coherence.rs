//! A cache that shows no version of a key after a newer one was seen.
//!
//! Every answer passes here, those to puts as well as those to gets: what is older goes, and a version is taken only if nothing
//! newer can have been seen while it was under way.

use super::cache::Cache;
use super::in_flight::{Age, Flights, Work, age};
use super::routes::Routes;
use super::wedge::{Own, OwnWedges};
use crate::ids::{Position, WedgeEpoch};
use crate::operation::{Append, Decision, Mode, NewValue, Operation, Outcome, Store, evaluate, is_past};
use crate::range::entry::{Kept, Version};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Now;
use fawn_ring::{Interval, Key};
use std::sync::Arc;

/// The cache of a front-end, and what it takes.
#[derive(Debug)]
pub(super) struct CoherentCache {
    entries: Cache,
}

impl CoherentCache {
    /// A cache that holds nothing yet, of at most so many bytes ever.
    pub(super) fn new(budget_bytes: u64) -> Self {
        Self { entries: Cache::new(budget_bytes) }
    }

    /// Makes room for so many entries, as far as the budget allows.
    pub(super) fn resize(&mut self, entries: u64) {
        self.entries.resize(entries);
    }

    /// How new what is here of a key is.
    pub(super) fn age(&self, place: &Key, key: &[u8]) -> Option<Age> {
        self.entries.age(place, key)
    }

    /// What is here of a key of an own wedge, if it may be shown.
    pub(super) fn hit(&mut self, place: &Key, key: &[u8], own: &Own, now: Now) -> Option<Arc<Kept>> {
        let kept = if planted(Bug::CacheKeptAcrossEpochs) {
            self.entries.get_of_any_epoch(place, key)
        } else {
            self.entries.get(place, key, own.epoch)
        };
        let (kept, until) = kept?;
        let (kept, until) = (Arc::clone(kept), if planted(Bug::CacheOutlivesFlush) { 0 } else { until });
        let expiry = kept.version.as_ref().map_or(0, |version| version.expiry);
        if is_past(expiry, now.unix) || is_past(until, now.unix) {
            // The chain judges, by its own time, whether it has expired, or is flushed.
            self.entries.remove(place);
            return None;
        }
        (own.has_lease(now.us) || planted(Bug::HitWithoutLeaseCheck)).then_some(kept)
    }

    /// A tail has shown a key.
    pub(super) fn found(
        &mut self,
        tag: u64,
        (kept, until): (Option<&Arc<Kept>>, u32),
        owners: (&OwnWedges, &Routes),
        flights: &mut Flights,
        now_us: u64,
    ) {
        let flight = flights.get(tag).expect("what is answered is in flight");
        let (place, key) = (flight.place, flight.key.clone());
        let known =
            kept.cloned().unwrap_or_else(|| Arc::new(Kept { key, position: Position::default(), version: None }));
        let newest = self.see(&place, self.entries.age(&place, &known.key), age(&known), flights);
        self.fill(tag, place, (known, until), newest, (owners, flights), now_us);
    }

    /// An operation was carried out.
    pub(super) fn done(
        &mut self,
        tag: u64,
        (outcome, position, again): (Outcome, Position, bool),
        until: u32,
        owners: (&OwnWedges, &Routes),
        flights: &mut Flights,
        now: Now,
    ) {
        let flight = flights.get(tag).expect("what is answered is in flight");
        let place = flight.place;
        let Work::Write { operation, .. } = &flight.work else { unreachable!("a get is not carried out") };
        // What is written takes the place of what is cached, or asked for meanwhile. Else nobody is known to want it.
        let known = self.entries.age(&place, &flight.key);
        let cached = known.is_some() || flights.is_shared(&place);
        let made = made(operation, outcome, now.unix, cached);
        if matches!(made, Aftermath::Something) {
            // It shows something of the key as of `position`, but not what is there.
            return self.spoil(&place, flights);
        }
        let gone = matches!(made, Aftermath::Nothing);
        let newest = self.see(&place, known, (position, gone), flights);
        if cached && (!again || planted(Bug::RetryFills)) {
            let version = if let Aftermath::Version(version) = made { Some(version) } else { None };
            let key = flights.get(tag).expect("what is answered is in flight").key.clone();
            self.fill(
                tag,
                place,
                (Arc::new(Kept { key, position, version }), until),
                newest,
                (owners, flights),
                now.us,
            );
        }
    }

    /// A version of a key was seen: what is older goes. Returns the newest that was seen before, while anything of the
    /// key was in flight. `cached` is the one in the cache.
    pub(super) fn see(&mut self, place: &Key, cached: Option<Age>, age: Age, flights: &mut Flights) -> Age {
        let newest = flights.seen(place, age);
        if cached.is_some_and(|cached| cached < age) {
            self.entries.remove(place);
        }
        newest
    }

    /// Something of a key was seen, or happened to it, that does not say what is there now.
    pub(super) fn spoil(&mut self, place: &Key, flights: &mut Flights) {
        self.entries.remove(place);
        flights.spoil(place);
    }

    /// The answer of a request as the newest version of its key, if it is, to be shown before the Unix second `until`.
    fn fill(
        &mut self,
        tag: u64,
        place: Key,
        (kept, until): (Arc<Kept>, u32),
        newest: Age,
        ((own, routes), flights): ((&OwnWedges, &Routes), &Flights),
        now_us: u64,
    ) {
        let flight = flights.get(tag).expect("what is answered is in flight");
        let is_asked = |own: &&Own| flight.epoch() == Some(own.epoch) && own.is_served();
        let Some(own) = own.at(&place, routes).filter(is_asked) else { return };
        let is_newest = age(&kept) >= newest && flight.fills;
        if own.has_lease(now_us) && (is_newest || planted(Bug::NoVersionFloor)) {
            let epoch = own.epoch;
            self.entries.fill(place, kept, until, epoch);
        }
    }

    /// As a planted bug does.
    pub(super) fn fill_late(&mut self, place: Key, kept: Arc<Kept>, epoch: WedgeEpoch) {
        if self.entries.age(&place, &kept.key).is_none_or(|cached| cached < age(&kept)) {
            self.entries.fill(place, kept, 0, epoch);
        }
    }

    /// A wedge of these keys is another's, or has passed on and come back.
    pub(super) fn lose(&mut self, keys: &Interval, flights: &mut Flights) {
        if !planted(Bug::CacheKeptAcrossEpochs) {
            self.entries.empty(keys);
        }
        flights.spoil_all(keys);
    }

    /// Keys were flushed, or may have been: what was seen of them says nothing of what is there now.
    pub(super) fn flushed(&mut self, keys: &Interval, flights: &mut Flights) {
        if !planted(Bug::FlushLeavesCache) {
            self.entries.empty(keys);
        }
        if !planted(Bug::FlushForgetsFlights) {
            flights.spoil_all(keys);
        }
    }
}

/// What is there after an operation.
enum Aftermath {
    /// What its answer does not say.
    Something,
    Version(Version),
    Nothing,
}

/// What an operation has made; without `with_value` its value is left empty.
fn made(operation: &[u8], outcome: Outcome, unix: u32, with_value: bool) -> Aftermath {
    let Ok(operation) = postcard::from_bytes::<Operation<'_>>(operation) else { return Aftermath::Something };
    match (operation, outcome) {
        // Whether it has expired already is for the range's time to say.
        (Operation::Store(store), Outcome::Stored { .. }) if is_plain(&store) && store.expiry == 0 => {
            let set = Operation::Store(Store { mode: Mode::Set, ..store });
            let Decision { append, .. } = evaluate(&set, None, unix, usize::MAX);
            let Append::Value(crate::operation::Version { value, flags, expiry, stale, won, client_cas }) = append
            else {
                return Aftermath::Something;
            };
            let NewValue::Given(value) = value else { return Aftermath::Something };
            let value = if with_value { value.to_vec() } else { Vec::new() };
            Aftermath::Version(Version { value, flags, expiry, stale, won, client_cas })
        }
        (Operation::Delete(delete), Outcome::Deleted) if !delete.invalidate && !delete.drop_value => Aftermath::Nothing,
        _ => Aftermath::Something,
    }
}

/// Whether what is stored is just what was given.
fn is_plain(store: &Store<'_>) -> bool {
    match store.mode {
        Mode::Set | Mode::Add | Mode::Replace => true,
        Mode::Cas => !store.invalidate,
        Mode::Append { .. } | Mode::Prepend { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::in_flight::{Flight, LastTry, Waiter};
    use super::*;
    use crate::ids::{Address, Asker, Epoch, FrontId, FrontMember, Incarnation, RequestId, Seq, Wedge, WedgeId};

    const EPOCH: WedgeEpoch = WedgeEpoch(1);
    const PLACE: Key = Key::MIN;

    /// A front-end that owns all keys under a lease, and whose cache has room.
    struct Bench {
        cache: CoherentCache,
        flights: Flights,
        own: OwnWedges,
        routes: Routes,
    }

    impl Bench {
        fn new() -> Self {
            let me = FrontMember { front: FrontId(1), incarnation: Incarnation(1) };
            let (mut routes, mut own, mut cache) =
                (Routes::default(), OwnWedges::default(), CoherentCache::new(1 << 20));
            let wedge = Wedge { keys: Interval::ALL, epoch: EPOCH, owner: Some(me), released: false };
            routes.learn((0, 1), Vec::new(), &[wedge]);
            own.compare(me, &routes);
            own.extend(WedgeId(0), EPOCH, u64::MAX);
            own.fenced(&Interval::ALL, EPOCH);
            cache.resize(64);
            Self { cache, flights: Flights::default(), own, routes }
        }

        /// Asks the chain for the key.
        fn ask(&mut self, tag: u64) {
            let id = RequestId { session: 1, number: tag };
            let waiter = Waiter::Asker(Asker { address: Address::Manager, tag: 0 }, id);
            self.flights.insert(tag, Flight::new(id, PLACE, b"k".to_vec(), Work::Get, waiter, 0), None);
            self.flights.sent(tag, LastTry { at_us: 0, wedge: EPOCH, chain: Some(Epoch(1)), refused: false });
        }

        /// The chain answers a version of the key.
        fn answer(&mut self, tag: u64, seq: u64) {
            let position = Position { epoch: Epoch(1), seq: Seq(seq) };
            let kept = Arc::new(Kept { key: b"k".to_vec(), position, version: None });
            self.cache.found(tag, (Some(&kept), 0), (&self.own, &self.routes), &mut self.flights, 0);
            self.flights.remove(tag);
        }

        /// The record of the version that is shown.
        fn shown(&mut self) -> Option<u64> {
            let own = self.own.at(&PLACE, &self.routes).unwrap();
            self.cache.hit(&PLACE, b"k", own, Now::at(0, 1000)).map(|kept| kept.position.seq.0)
        }
    }

    #[test]
    fn an_answer_is_shown_until_a_newer_one_is_seen_and_an_older_one_is_not_taken() {
        let mut bench = Bench::new();
        assert_eq!(bench.shown(), None);
        for tag in [1, 2, 3] {
            bench.ask(tag);
        }
        bench.answer(1, 5);
        assert_eq!(bench.shown(), Some(5));
        bench.answer(2, 7);
        assert_eq!(bench.shown(), Some(7));
        bench.answer(3, 6);
        assert_eq!(bench.shown(), Some(7));
    }

    #[test]
    fn what_was_under_way_when_keys_were_lost_or_flushed_or_changed_is_not_taken() {
        let events: [fn(&mut Bench); 3] = [
            |bench| bench.cache.lose(&Interval::ALL, &mut bench.flights),
            |bench| bench.cache.flushed(&Interval::ALL, &mut bench.flights),
            |bench| bench.cache.spoil(&PLACE, &mut bench.flights),
        ];
        for event in events {
            let mut bench = Bench::new();
            bench.ask(1);
            bench.answer(1, 5);
            bench.ask(2);
            event(&mut bench);
            assert_eq!(bench.shown(), None);
            bench.answer(2, 6);
            assert_eq!(bench.shown(), None);
        }
    }
}
