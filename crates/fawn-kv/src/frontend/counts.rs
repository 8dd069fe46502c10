//! What a front-end counts.

use crate::testing::coverage::{Path, took};
use crate::wire::Answer;

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Gets that the cache answered.
    pub hits: u64,
    /// Gets that were sent to a chain.
    pub misses: u64,
    /// Gets that joined one in flight.
    pub joined: u64,
    /// Requests that were sent on to another front-end.
    pub forwards: u64,
    /// Wedges that were taken over from another owner.
    pub takeovers: u64,
    /// Gets that nothing was remembered of.
    pub stateless: u64,
    /// Multi-gets.
    pub many: u64,
    /// Flushes that were asked for here, and carried out.
    pub flushes: u64,
    /// Requests that were not taken on, or refused at every try.
    pub busy: u64,
    /// Requests that were given up.
    pub timed_out: u64,
}

impl Counts {
    /// Counts a request whose deadline has come, by what it is answered.
    pub(super) fn given_up(&mut self, answer: Answer) -> Answer {
        if answer == Answer::TimedOut {
            self.timed_out += 1;
        } else {
            took(Path::RefusedAtDeadline);
            self.busy += 1;
        }
        answer
    }

    /// Adds what has happened to another front-end.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.joined += other.joined;
        self.forwards += other.forwards;
        self.takeovers += other.takeovers;
        self.stateless += other.stateless;
        self.many += other.many;
        self.flushes += other.flushes;
        self.busy += other.busy;
        self.timed_out += other.timed_out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_given_up_was_refused_or_is_unknown() {
        let mut counts = Counts::default();
        assert_eq!(counts.given_up(Answer::TimedOut), Answer::TimedOut);
        assert_eq!(counts.given_up(Answer::Full), Answer::Full);
        let mut all = Counts { hits: 3, ..Counts::default() };
        all.add(&counts);
        assert_eq!(all, Counts { hits: 3, timed_out: 1, busy: 1, ..Counts::default() });
    }
}
