//! Programs in the order in which they were issued, and which of them are finished.

use std::collections::VecDeque;

/// Gives programs numbers, and knows up to which all are finished.
#[derive(Debug, Default)]
pub struct Tickets {
    /// All below are finished.
    first: u64,
    finished: VecDeque<bool>,
}

impl Tickets {
    /// Numbers go on after this one.
    pub fn go_on_after(&mut self, ticket: u64) {
        debug_assert!(self.finished.is_empty(), "programs are under way");
        self.first = self.first.max(ticket);
    }

    /// The next number. The first is 1, so that 0 means none.
    pub fn issue(&mut self) -> u64 {
        self.finished.push_back(false);
        self.first + self.finished.len() as u64
    }

    /// This program is finished.
    pub fn finish(&mut self, ticket: u64) {
        self.finished[(ticket - self.first - 1) as usize] = true;
        while self.finished.front() == Some(&true) {
            self.finished.pop_front();
            self.first += 1;
        }
    }

    /// Whether all programs up to this one are finished.
    pub fn all_finished(&self, ticket: u64) -> bool {
        ticket <= self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_counts_once_all_before_it_are_finished() {
        let mut tickets = Tickets::default();
        let [a, b, c] = [tickets.issue(), tickets.issue(), tickets.issue()];
        assert_eq!([a, b, c], [1, 2, 3]);
        assert!(tickets.all_finished(0));
        tickets.finish(b);
        assert!(!tickets.all_finished(b));
        tickets.finish(a);
        assert!(tickets.all_finished(b) && !tickets.all_finished(c));
    }
}
