//! Puts that wait for their acknowledgement.

use std::collections::VecDeque;

use fawn_store::Gate;

use crate::driver::StoreDriver;

/// Puts that were made and wait for their acknowledgement.
#[derive(Debug)]
pub struct Puts {
    limit: usize,
    /// How many wait for each gate, in order.
    gates: VecDeque<(Gate, usize)>,
    waiting: usize,
}

impl Puts {
    /// None yet; `limit` may wait.
    pub fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), gates: VecDeque::new(), waiting: 0 }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether one more may be made.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.waiting < self.limit
    }

    /// Adds one that waits for this gate.
    #[inline]
    pub(crate) fn add(&mut self, gate: Gate) {
        if gate == Gate::NONE {
            return;
        }
        self.waiting += 1;
        match self.gates.back_mut() {
            Some((last, count)) if *last == gate => *count += 1,
            _ => self.gates.push_back((gate, 1)),
        }
    }

    /// Takes note of those that are durable.
    #[inline]
    pub fn acknowledge(&mut self, driver: &StoreDriver) {
        while let Some((gate, count)) = self.gates.front() {
            if !driver.is_durable(*gate) {
                return;
            }
            self.waiting -= count;
            self.gates.pop_front();
        }
    }
}
