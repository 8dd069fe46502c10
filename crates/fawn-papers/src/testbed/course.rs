//! What a store is told to do while it answers gets: a quarter of its range is split off, merged back, and all of it is
//! compacted, with times of rest in between.

use std::time::Duration;

use fawn_bench::{BenchSession, Error};
use fawn_ring::Key;

use crate::testbed::store::part;

/// A stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeInterval {
    /// What was under way: `rest`, `split`, `merge` or `compaction`.
    pub what: &'static str,
    /// From when, since the beginning.
    pub from: Duration,
    /// Until when; `None`: it did not end.
    pub to: Option<Duration>,
}

/// The course of orders.
#[derive(Debug)]
pub struct OrderSchedule {
    /// Rest before and between orders.
    rest: Duration,
    at: Key,
    step: OrderStep,
    ranges: usize,
    /// What was under way when.
    pub stretches: Vec<TimeInterval>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderStep {
    /// Rest, and then the order of this number.
    Rest(usize),
    /// The order of this number is under way.
    Order(usize),
    Over,
}

/// The orders, in turn.
const ORDERS: [&str; 3] = ["split", "merge", "compaction"];

impl OrderSchedule {
    /// It begins with a rest.
    pub fn new(rest: Duration) -> Self {
        let first = TimeInterval { what: "rest", from: Duration::ZERO, to: None };
        Self { rest, at: part(1, 4), step: OrderStep::Rest(0), ranges: 0, stretches: vec![first] }
    }

    /// Whether all orders were carried out, and a rest has followed.
    pub fn is_over(&self) -> bool {
        self.step == OrderStep::Over
    }

    /// Gives the next order when it is time for it, and sees whether the last one is carried out. To be called often.
    ///
    /// # Errors
    /// [`Error`].
    pub fn step(&mut self, session: &mut BenchSession<'_>, now: Duration) -> Result<(), Error> {
        let rested = self.stretches.last().is_some_and(|last| now.saturating_sub(last.from) >= self.rest);
        match self.step {
            OrderStep::Rest(number) if rested && number == ORDERS.len() => {
                self.end(now);
                self.step = OrderStep::Over;
            }
            OrderStep::Rest(number) if rested => {
                self.ranges = session.driver.store().ranges().intervals().count();
                match number {
                    0 => session.driver.store().split_range(self.at),
                    1 => session.driver.store().merge_ranges(self.at)?,
                    _ => session.driver.store().compact(),
                }
                self.begin(ORDERS[number], now);
                self.step = OrderStep::Order(number);
            }
            OrderStep::Order(number) if self.is_done(session, number) => {
                self.begin("rest", now);
                self.step = OrderStep::Rest(number + 1);
            }
            OrderStep::Rest(_) | OrderStep::Order(_) | OrderStep::Over => {}
        }
        Ok(())
    }

    fn is_done(&self, session: &mut BenchSession<'_>, number: usize) -> bool {
        let store = session.driver.store();
        match number {
            0 => store.ranges().intervals().count() > self.ranges,
            1 => store.ranges().intervals().count() < self.ranges,
            // Slice by slice, until each was merged once.
            _ => !store.upkeep().is_cleaning(),
        }
    }

    fn begin(&mut self, what: &'static str, now: Duration) {
        self.end(now);
        self.stretches.push(TimeInterval { what, from: now, to: None });
    }

    fn end(&mut self, now: Duration) {
        if let Some(last) = self.stretches.last_mut() {
            last.to = Some(now);
        }
    }

    /// What was under way in the tenth of a second of this number: an order, if any was in part of it.
    pub fn during(&self, tenth: usize) -> &'static str {
        let (from, to) = (Duration::from_millis(100 * tenth as u64), Duration::from_millis(100 * (tenth as u64 + 1)));
        let mut within = self.stretches.iter().filter(|it| it.from < to && it.to.is_none_or(|end| end > from));
        within.clone().find(|it| it.what != "rest").or_else(|| within.next()).map_or("rest", |it| it.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_that_of_an_order_that_touches_it() {
        let mut course = OrderSchedule::new(Duration::from_millis(250));
        course.begin("split", Duration::from_millis(260));
        course.begin("rest", Duration::from_millis(310));
        let during: Vec<_> = (0..5).map(|tenth| course.during(tenth)).collect();
        assert_eq!(during, ["rest", "rest", "split", "split", "rest"]);
    }
}
