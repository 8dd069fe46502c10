//! Puts: the next version of the next entry, and what waits for its acknowledgement.

use std::collections::VecDeque;
use std::time::Duration;

use fawn_store::Gate;
use fawn_workload::{Draw, Order, WriteHistory};

use crate::driver::Driver;
use crate::error::Error;
use crate::session::Session;

/// Puts between two looks at what the store's threads have done.
const A_TURN: usize = 64;

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

    #[inline]
    fn add(&mut self, gate: Gate) {
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
    pub fn acknowledge(&mut self, driver: &Driver) {
        while let Some((gate, count)) = self.gates.front() {
            if !driver.is_durable(*gate) {
                return;
            }
            self.waiting -= count;
            self.gates.pop_front();
        }
    }
}

/// The entry to be put next, with its version. A drawn one is drawn by `skewed`.
fn next(history: &mut WriteHistory, skewed: Option<&mut Draw>) -> (u64, u32) {
    if let Some(draw) = skewed {
        let version = match history.last() {
            Some(phase) if phase.order == Order::Drawn => phase.version,
            _ => history.begin(Order::Drawn),
        };
        return (draw.draw(), version);
    }
    if let Some(next) = history.next() {
        return next;
    }
    history.begin(Order::Shuffled);
    history.next().expect("a phase that was just begun has entries")
}

impl Session<'_> {
    /// Puts one entry; `false`: the store is busy, or enough puts wait.
    ///
    /// # Errors
    /// As [`Driver::put`].
    #[inline]
    pub fn put_one(&mut self) -> Result<bool, Error> {
        if !self.puts.has_room() {
            return Ok(false);
        }
        let is_drawn = self.skewed.is_some();
        let before = self.history.last().map(|phase| phase.version);
        let (index, version) = next(&mut self.history, self.skewed.as_mut());
        if before != Some(version) {
            // Before a value can be found that the note has not heard of.
            self.note_data(false)?;
        }
        self.expect_puts()?;
        let Some(gate) = self.driver.put(index, version)? else { return Ok(false) };
        if is_drawn {
            self.history.drew();
        } else {
            self.history.wrote();
        }
        self.puts.add(gate);
        Ok(true)
    }

    /// Makes `count` puts and waits until they are acknowledged; `look` is called now and then with the number made, and
    /// ends it by `false`. How many were made.
    ///
    /// # Errors
    /// As [`Driver::put`] and [`Driver::poll`].
    pub fn put_many(
        &mut self,
        count: u64,
        mut look: impl FnMut(&mut Self, u64) -> Result<bool, Error>,
    ) -> Result<u64, Error> {
        let mut made = 0;
        let mut goes_on = true;
        loop {
            let mut is_stuck = false;
            for _ in 0..A_TURN {
                if made == count || !goes_on {
                    break;
                }
                if !self.put_one()? {
                    is_stuck = true;
                    break;
                }
                made += 1;
            }
            let polled = self.driver.poll()?;
            self.puts.acknowledge(&self.driver);
            let is_over = made == count || !goes_on;
            if is_over && self.puts.waiting() == 0 {
                return Ok(made);
            }
            if made % 4096 < A_TURN as u64 && goes_on {
                goes_on = look(self, made)?;
            }
            if (is_stuck || is_over) && !polled.more {
                self.driver.wait(Duration::from_millis(100))?;
            }
        }
    }
}
