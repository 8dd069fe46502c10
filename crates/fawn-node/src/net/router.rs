//! Where keys belong: which loop and which of its stores. The keys of requests that come together are looked at together.

use crate::net::prefetch::{PREFETCHED_KEYS, Prefetcher};
use crate::protocol::RequestParser;
use crate::runtime::mesh::MessageBatch;
use crate::shard::backend::Backend;
use crate::shard::route::Route;
use fawn_ring::Key;

/// Where a key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// The key's position.
    pub key: Key,
    /// The loop that owns it.
    pub home: usize,
    /// The store, counted within that loop.
    pub store: usize,
}

/// Finds the owners of keys for one loop.
#[derive(Debug)]
pub struct KeyRouter {
    /// The loop's number.
    number: usize,
    route: Route,
    /// Keys of the input at hand.
    prefetcher: Prefetcher,
}

impl KeyRouter {
    /// That of loop `number`.
    pub fn new(number: usize, route: Route) -> Self {
        Self { number, route, prefetcher: Prefetcher::default() }
    }

    /// Other input follows: what was prefetched for the last one is forgotten.
    #[inline]
    pub fn forget(&mut self) {
        self.prefetcher.forget();
    }

    /// Prefetches the keys that `upcoming` visits, as far as this loop owns them: its stores are `stores`.
    pub fn prefetch<'a>(&mut self, upcoming: impl FnOnce(&mut dyn FnMut(&'a [u8]) -> bool), stores: &impl Backend) {
        self.prefetcher.look(upcoming, &self.route, self.number, stores);
    }

    /// Prefetches the next keys of `input`, which `parser` finds, once all that were prefetched before have come.
    #[inline]
    pub fn prefetch_input(&mut self, parser: &dyn RequestParser, input: &[u8], stores: &impl Backend) {
        self.prefetcher.pass_to(input);
        if self.prefetcher.is_over() && !input.is_empty() {
            self.prefetch(|visit: &mut dyn FnMut(_) -> bool| parser.upcoming(input, visit), stores);
        }
    }

    /// Prefetches the keys of a batch of requests from number `first` on.
    pub fn prefetch_batch(&mut self, batch: &MessageBatch, first: usize, stores: &impl Backend) {
        self.prefetcher.prefetch(batch.asked(first, PREFETCHED_KEYS), stores);
    }

    /// Where the key of the next request belongs.
    #[inline]
    pub fn locate(&mut self, name: &[u8]) -> KeyPlace {
        let key = self.prefetcher.position(name, &self.route);
        let (home, store) = self.route.of(&key);
        KeyPlace { key, home, store }
    }

    /// The loop of a store that is counted over the node, and its number there.
    pub fn of_store(&self, store: usize) -> (usize, usize) {
        self.route.of_store(store)
    }

    /// The first store that has keys from a position on.
    pub fn first_store(&self, from: &Key) -> usize {
        self.route.first_store(from)
    }

    /// The store that goes on with the keys behind those of a store, from which position on, once its keys from `from` on were
    /// listed.
    pub fn next_store(&self, store: usize, from: &Key) -> Option<(usize, Key)> {
        let next = store + 1;
        let from = if self.route.is_local() { *from } else { Key::MIN };
        (next < self.stores()).then_some((next, from))
    }

    /// Whether all loops have the same keys.
    pub fn is_local(&self) -> bool {
        self.route.is_local()
    }

    /// Number of stores of the node.
    pub fn stores(&self) -> usize {
        self.route.stores()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::SECRET;

    #[test]
    fn every_key_has_one_place_whichever_loop_looks() {
        let mut routers = [0, 1].map(|number| KeyRouter::new(number, Route::new(SECRET, 4, 2)));
        let mut homes = [0; 2];
        for number in 0..100 {
            let name = format!("key{number}");
            let [place, other] = [0, 1].map(|at| routers[at].locate(name.as_bytes()));
            assert_eq!(place, other);
            homes[place.home] += 1;
        }
        assert!(homes[0] > 20 && homes[1] > 20, "{homes:?}");
        assert_eq!(routers[0].stores(), 4);
    }
}
