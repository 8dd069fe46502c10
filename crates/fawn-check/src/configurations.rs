//! Sets of configurations, without those that another one makes superfluous.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash};

/// One way to explain the history so far.
#[derive(Clone, Debug)]
pub(super) struct Configuration<S> {
    /// The key's state.
    pub state: S,
    /// The operations in flight that have taken effect, a bit a slot. Their completions are still to come.
    pub done: u64,
    /// The operations of unknown outcome that have taken effect: their numbers, ascending.
    pub taken: Vec<u32>,
    /// The number of the operation of unknown outcome that was the last step, if it was one.
    pub after_lost: Option<u32>,
}

impl<S: Eq> Configuration<S> {
    /// Whether whatever may follow `other` may follow this one: the same, but with no operation of unknown outcome gone
    /// that `other` still has. (Such an operation need never take effect.)
    fn covers(&self, other: &Self) -> bool {
        self.done == other.done && self.taken.len() <= other.taken.len() && self.state == other.state && {
            let mut others = other.taken.iter();
            self.taken.iter().all(|number| others.any(|other| other == number))
        }
    }
}

/// More configurations than this are found by hash.
const SCANNED: usize = 16;

/// A set in order of insertion. Its hash never shows in that order, so that runs are repeatable.
#[derive(Debug)]
pub(super) struct Configurations<S> {
    items: Vec<Configuration<S>>,
    /// Indices of the items by state and `done`; empty while there are few.
    index: HashMap<(S, u64), Vec<u32>, BuildHasherDefault<DefaultHasher>>,
}

impl<S: Clone + Eq + Hash> Configurations<S> {
    pub fn new() -> Self {
        Self { items: Vec::new(), index: HashMap::default() }
    }

    pub fn items(&self) -> &[Configuration<S>] {
        &self.items
    }

    pub fn clear(&mut self) {
        self.items.clear();
        if !self.index.is_empty() {
            self.index.clear();
        }
    }

    /// Adds `configuration`, unless the set covers it.
    pub fn insert(&mut self, configuration: Configuration<S>) {
        if self.items.len() <= SCANNED {
            if self.items.iter().any(|item| item.covers(&configuration)) {
                return;
            }
            self.items.push(configuration);
            if self.items.len() > SCANNED {
                for (at, item) in self.items.iter().enumerate() {
                    self.index.entry((item.state.clone(), item.done)).or_default().push(at as u32);
                }
            }
            return;
        }
        let alike = self.index.entry((configuration.state.clone(), configuration.done)).or_default();
        if alike.iter().any(|&at| self.items[at as usize].covers(&configuration)) {
            return;
        }
        alike.push(self.items.len() as u32);
        self.items.push(configuration);
    }

    /// The set again without its items that others cover, each first changed by `change`. Leaves this one empty.
    pub fn drain_minimal(&mut self, into: &mut Self, change: impl Fn(&mut Configuration<S>)) {
        self.items.iter_mut().for_each(change);
        // Whoever covers another has taken fewer, or equally many and came first.
        self.items.sort_by_key(|item| item.taken.len());
        into.clear();
        for item in self.items.drain(..) {
            into.insert(item);
        }
        self.clear();
    }
}
