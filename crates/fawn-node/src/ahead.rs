//! Keys of pipelined requests, hashed and fetched ahead: see `fawn_store::Store::warm`.

use crate::backend::Backend;
use crate::route::Route;
use fawn_memcache::Upcoming;
use fawn_ring::Key;

/// Most keys looked at ahead.
pub const AHEAD: usize = fawn_store::Store::WARM_KEYS;

/// Where the next requests' keys belong.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Address and length of each key's name, and its position. Valid while the input lies still.
    keys: Vec<(usize, usize, Key)>,
    next: usize,
    /// Keys to be warmed, by store; empty in between.
    groups: Vec<Vec<Key>>,
}

impl Ahead {
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

    /// Looks at the next keys, and warms those that belong to loop `number`, whose stores are `stores`.
    pub fn look(&mut self, upcoming: Upcoming<'_>, route: &Route, number: usize, stores: &impl Backend) {
        self.forget();
        let place = |name: &[u8]| (name.as_ptr().addr(), name.len(), route.position(name));
        self.keys.extend(upcoming.take(AHEAD).map(place));
        let keys = std::mem::take(&mut self.keys);
        let own = keys.iter().filter_map(|(.., key)| {
            let (home, store) = route.of(key);
            (home == number).then_some((store, *key))
        });
        self.warm(own, stores);
        self.keys = keys;
    }

    /// Warms keys, each told with its store among `stores`, unless it is only one.
    pub fn warm(&mut self, keys: impl Iterator<Item = (usize, Key)>, stores: &impl Backend) {
        self.groups.resize_with(stores.stores(), Vec::new);
        let mut count = 0;
        for (store, key) in keys {
            self.groups[store].push(key);
            count += 1;
        }
        for (store, group) in self.groups.iter_mut().enumerate() {
            if count > 1 && !group.is_empty() {
                stores.warm(store, group);
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
            _ => {
                self.forget();
                route.position(name)
            }
        }
    }
}
