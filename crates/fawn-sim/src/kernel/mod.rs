//! The kernel of a simulation: one seed, one clock and one queue of events. It knows nothing of what is simulated.
//!
//! All that is random in a run comes from [`Kernel::random`] in the order in which it is asked for, and all that happens
//! comes from the queue. So a seed determines a run. The other parts of the kernel are the device in `flash` and the links
//! in `cluster/network`.

mod queue;

use fawn_check::random::Random;

use queue::EventQueue;

/// Seed, clock and event queue.
pub struct Kernel<E> {
    random: Random,
    now_us: u64,
    queue: EventQueue<E>,
    /// All delays are the least that they may be, and nothing happens by chance.
    fixed: bool,
}

impl<E> Kernel<E> {
    /// A kernel at time 0 without events.
    pub fn new(random: Random, fixed: bool) -> Self {
        Self { random, now_us: 0, queue: EventQueue::new(), fixed }
    }

    /// The time since the beginning, in microseconds.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// The source of everything random.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Schedules an event.
    pub fn after(&mut self, delay_us: u64, event: E) {
        self.queue.push(self.now_us + delay_us, event);
    }

    /// Takes the next event, and moves the clock to its time.
    pub fn advance(&mut self) -> Option<E> {
        let (at_us, event) = self.queue.pop()?;
        self.now_us = at_us;
        Some(event)
    }

    /// The events that are still to come, in no order.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        self.queue.iter()
    }

    /// A time within these bounds; always the least if delays are fixed.
    pub fn delay(&mut self, least_us: u64, most_us: u64) -> u64 {
        if self.fixed { least_us } else { self.random.within(least_us, most_us) }
    }

    /// True in `parts` of `whole` cases; never if delays are fixed.
    pub fn chance(&mut self, parts: u64, whole: u64) -> bool {
        !self.fixed && self.random.chance(parts, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_with_the_events() {
        let mut kernel = Kernel::new(Random::new(1), false);
        kernel.after(20, "late");
        kernel.after(10, "soon");
        assert_eq!((kernel.advance(), kernel.now_us()), (Some("soon"), 10));
        kernel.after(5, "between");
        assert_eq!(kernel.pending().count(), 2);
        assert_eq!((kernel.advance(), kernel.now_us()), (Some("between"), 15));
        assert_eq!((kernel.advance(), kernel.now_us()), (Some("late"), 20));
        assert_eq!((kernel.advance(), kernel.now_us()), (None, 20));
    }

    #[test]
    fn fixed_delays_take_nothing_from_the_random_numbers() {
        let (mut fixed, mut other) = (Kernel::<()>::new(Random::new(7), true), Random::new(7));
        assert_eq!((fixed.delay(3, 9), fixed.chance(1, 1)), (3, false));
        assert_eq!(fixed.random().word(), other.word());
    }
}
