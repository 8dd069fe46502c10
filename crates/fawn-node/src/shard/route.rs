//! Which loop and store owns a key.

use fawn_ring::{Key, Secret};

/// Places keys: the key space is cut into equal stretches, one a store; stores are dealt to loops in turn.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    secret: Secret,
    stores: usize,
    loops: usize,
    /// Every loop takes all keys, whatever store they are in.
    local: Option<usize>,
}

impl Route {
    /// The route to `stores` stores served by `loops` loops, of which each has at least one.
    pub fn new(secret: Secret, stores: usize, loops: usize) -> Self {
        assert!(loops > 0 && stores >= loops, "every loop has a store");
        Self { secret, stores, loops, local: None }
    }

    /// The route where each loop takes all keys that come to it: that of loop `number` of `loops`.
    pub fn local(secret: Secret, number: usize, loops: usize) -> Self {
        Self { local: Some(number), ..Self::new(secret, loops, loops) }
    }

    /// The secret of the key space.
    pub fn secret(&self) -> Secret {
        self.secret
    }

    /// The position of a key.
    #[inline]
    pub fn position(&self, name: &[u8]) -> Key {
        self.secret.position(name)
    }

    /// The loop that owns `key`, and the store, counted within the loop.
    #[inline]
    pub fn of(&self, key: &Key) -> (usize, usize) {
        match self.local {
            Some(number) => (number, 0),
            None => self.of_store(fawn_flash::store_of(key, self.stores)),
        }
    }

    /// The first store that has keys from a position on, counted over the node.
    pub fn first_store(&self, from: &Key) -> usize {
        if self.is_local() { 0 } else { fawn_flash::store_of(from, self.stores) }
    }

    /// Whether every loop takes all keys.
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// Number of stores.
    pub fn stores(&self) -> usize {
        self.stores
    }

    /// The loop that serves store `store`, counted over the node, and its number within the loop.
    #[inline]
    pub fn of_store(&self, store: usize) -> (usize, usize) {
        (store % self.loops, store / self.loops)
    }

    /// The stores of one loop, counted over the node, in the loop's order.
    pub fn stores_of(&self, number: usize) -> impl Iterator<Item = usize> {
        (number..self.stores).step_by(self.loops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_owner_and_loops_share_evenly() {
        let route = Route::new(Secret([3; 32]), 5, 2);
        let owned: Vec<Vec<usize>> = (0..2).map(|number| route.stores_of(number).collect()).collect();
        assert_eq!(owned, [vec![0, 2, 4], vec![1, 3]]);
        let mut seen = [[0; 3]; 2];
        for n in 0..5000u32 {
            let key = route.position(&n.to_le_bytes());
            let (home, store) = route.of(&key);
            assert_eq!(owned[home][store], fawn_flash::store_of(&key, 5));
            seen[home][store] += 1;
        }
        assert!(seen.concat().iter().filter(|count| **count > 850).count() == 5, "{seen:?}");
    }
}
