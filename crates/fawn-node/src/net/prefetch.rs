//! Prefetching: the keys of requests that have come together are hashed, and what their lookups will touch is fetched
//! together (`fawn_store::Store::prefetch`).

use crate::shard::backend::Backend;
use crate::shard::route::Route;
use fawn_ring::Key;

/// Most keys that are prefetched together.
pub const PREFETCHED_KEYS: usize = fawn_store::Store::PREFETCH_KEYS;

/// Where the next requests' keys belong.
#[derive(Debug, Default)]
pub struct Prefetcher {
    /// Address and length of each key's name, and its position, by address. Valid while the input lies still.
    keys: Vec<(usize, usize, Key)>,
    next: usize,
    /// Keys to be prefetched, by store; empty in between.
    groups: Vec<Vec<Key>>,
}

impl Prefetcher {
    /// Forgets everything: other input follows.
    #[inline]
    pub fn forget(&mut self) {
        self.keys.clear();
        self.next = 0;
    }

    /// Whether everything that was looked at has come.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.next == self.keys.len()
    }

    /// Passes over keys that lie before `input` and have not come: a guess was wrong, or their connection waits for something.
    #[inline]
    pub fn pass_to(&mut self, input: &[u8]) {
        while self.keys.get(self.next).is_some_and(|(address, ..)| *address < input.as_ptr().addr()) {
            self.next += 1;
        }
    }

    /// Looks at the next keys, which `upcoming` visits in the order in which they lie, and prefetches those that belong to
    /// loop `number`, whose stores are `stores`.
    pub fn look<'a>(
        &mut self,
        upcoming: impl FnOnce(&mut dyn FnMut(&'a [u8]) -> bool),
        route: &Route,
        number: usize,
        stores: &impl Backend,
    ) {
        self.forget();
        let mut keys = std::mem::take(&mut self.keys);
        upcoming(&mut |name| {
            if keys.len() < PREFETCHED_KEYS {
                keys.push((name.as_ptr().addr(), name.len(), route.position(name)));
            }
            keys.len() < PREFETCHED_KEYS
        });
        let own = keys.iter().filter_map(|(.., key)| {
            let (home, store) = route.of(key);
            (home == number).then_some((store, *key))
        });
        self.prefetch(own, stores);
        self.keys = keys;
    }

    /// Prefetches keys, each of which comes with its store among `stores`, unless it is only one.
    pub fn prefetch(&mut self, keys: impl Iterator<Item = (usize, Key)>, stores: &impl Backend) {
        self.groups.resize_with(stores.stores(), Vec::new);
        let mut count = 0;
        for (store, key) in keys {
            self.groups[store].push(key);
            count += 1;
        }
        for (store, group) in self.groups.iter_mut().enumerate() {
            if count > 1 && !group.is_empty() {
                stores.prefetch(store, group);
            }
            group.clear();
        }
    }

    /// The position of the key `name` of the next request.
    #[inline]
    pub fn position(&mut self, name: &[u8], route: &Route) -> Key {
        match self.keys.get(self.next) {
            Some((address, len, key)) if (*address, *len) == (name.as_ptr().addr(), name.len()) => {
                self.next += 1;
                *key
            }
            // The parser could not foresee this one.
            _ => route.position(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::SECRET;

    #[test]
    fn positions_are_right_whatever_comes_of_what_was_looked_at() {
        let route = Route::new(SECRET, 1, 1);
        let input = b"aa bb cc dd ee";
        let word = |n: usize| &input[3 * n..][..2];
        let looked_at = |words: &[usize]| {
            let mut prefetcher = Prefetcher::default();
            prefetcher.keys.extend(words.iter().map(|n| {
                // Each is told apart from what would be found without it.
                (word(*n).as_ptr().addr(), 2, route.position(format!("ahead {n}").as_bytes()))
            }));
            prefetcher
        };
        let ahead_of = |n: usize| route.position(format!("ahead {n}").as_bytes());

        let mut prefetcher = looked_at(&[0, 1, 3]);
        assert_eq!(prefetcher.position(word(0), &route), ahead_of(0));
        assert_eq!(prefetcher.position(word(2), &route), route.position(b"cc"), "it was not told ahead");
        assert_eq!(prefetcher.position(word(1), &route), ahead_of(1));
        assert_eq!(prefetcher.position(&word(3)[..1], &route), route.position(b"d"), "another length");
        assert!(!prefetcher.is_over());
        assert_eq!(prefetcher.position(word(3), &route), ahead_of(3));
        assert!(prefetcher.is_over());

        let mut prefetcher = looked_at(&[0, 1, 2, 4]);
        prefetcher.pass_to(word(2));
        assert_eq!(prefetcher.position(word(2), &route), ahead_of(2), "the ones before it never came");
        prefetcher.pass_to(&input[input.len()..]);
        assert!(prefetcher.is_over());
    }
}
