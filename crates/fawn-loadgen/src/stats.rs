//! What a loop counts.

use fawn_report::Latencies;

use crate::mix::RequestPurpose;

/// Requests or operations of one kind.
#[derive(Clone, Debug, Default)]
pub struct RequestStats {
    /// Those answered within the time that is measured.
    pub answered: u64,
    /// Latencies of those that were due within that time, whenever they were answered.
    pub latencies: Latencies,
}

impl RequestStats {
    /// Adds those of another kind, or of another loop.
    pub fn merge(&mut self, more: &Self) {
        self.answered += more.answered;
        self.latencies.merge(&more.latencies);
    }
}

/// Which servers have answered since measuring began, by the number of their target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerReplies(Vec<(u64, u64)>);

impl ServerReplies {
    /// Counts answers of a server, and requests for whose answers nobody waits any more.
    pub fn add(&mut self, target: usize, answers: u64, unanswered: u64) {
        if self.0.len() <= target {
            self.0.resize(target + 1, (0, 0));
        }
        let (all_answers, all_unanswered) = &mut self.0[target];
        *all_answers += answers;
        *all_unanswered += unanswered;
    }

    /// A server that had requests and answered none of them, and how many these were.
    pub fn silent(&self) -> Option<(usize, u64)> {
        let is_silent = |(answers, unanswered): &(u64, u64)| *answers == 0 && *unanswered > 0;
        let target = self.0.iter().position(is_silent)?;
        Some((target, self.0[target].1))
    }

    fn merge(&mut self, more: &Self) {
        for (target, (answers, unanswered)) in more.0.iter().enumerate() {
            self.add(target, *answers, *unanswered);
        }
    }
}

/// What came of a phase, of one loop or of several.
#[derive(Clone, Debug, Default)]
pub struct OperationStats {
    /// Requests, by [`RequestPurpose`].
    requests: [RequestStats; RequestPurpose::COUNT],
    /// Modifies, from their get to the answer of their set.
    pub modifies: RequestStats,
    /// How late operations left that came by the clock.
    pub late: Latencies,
    /// Of the gets that were answered within the time that is measured, those of modifies too, those that found no value.
    pub misses: u64,
    /// Operations that were due within the time that is measured; a modify is one.
    pub asked: u64,
    /// Operations that were due within it, and not sent at its end.
    pub unsent: u64,
    /// What became of those that were due within it and have no right answer.
    pub shortfall: Shortfall,
    /// How often an operation was due while all connections had as many requests in flight as they may.
    pub full_turns: u64,
    /// Values that cannot be, at any time.
    pub wrong: Faults,
    /// Errors that the server answered with, at any time; of a load those of its last round.
    pub refused: Faults,
    /// Refusals after which a load made the set again.
    pub put_again: u64,
    /// CPU time of the loops within the time that is measured, microseconds.
    pub cpu_us: f64,
    /// When the last answer came, nanoseconds after the beginning.
    pub ended_ns: u64,
    /// Which servers have answered.
    pub servers: ServerReplies,
}

/// Answers of one bad kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How many.
    pub count: u64,
    /// The first of them, for people.
    pub first: Option<String>,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// There is no value, of a key that was loaded.
    NotFound,
    /// The value cannot be, or is another key's.
    Wrong,
    /// The server answered with an error.
    Refused,
}

/// Operations without a right answer, of those that were due within the time that is measured.
#[derive(Clone, Debug, Default)]
pub struct Shortfall {
    /// Latencies of wrong answers. [`RequestStats::latencies`] count them, too.
    pub latencies: Latencies,
    /// Gets that found no value.
    pub not_found: u64,
    /// Values that cannot be.
    pub wrong: u64,
    /// Errors that the server answered with.
    pub refused: u64,
    /// Sent, and never answered.
    pub unanswered: u64,
}

impl Shortfall {
    /// Counts a wrong answer. `latency_ns` is given if [`RequestStats::latencies`] count it, too.
    pub fn add(&mut self, fault: AnswerFault, latency_ns: Option<u64>) {
        match fault {
            AnswerFault::NotFound => self.not_found += 1,
            AnswerFault::Wrong => self.wrong += 1,
            AnswerFault::Refused => self.refused += 1,
        }
        if let Some(latency_ns) = latency_ns {
            self.latencies.add_ns(latency_ns);
        }
    }

    fn merge(&mut self, more: &Self) {
        self.latencies.merge(&more.latencies);
        self.not_found += more.not_found;
        self.wrong += more.wrong;
        self.refused += more.refused;
        self.unanswered += more.unanswered;
    }
}

impl Faults {
    /// Counts one.
    pub fn add(&mut self, tell: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(tell);
    }

    fn merge(&mut self, more: Self) {
        self.count += more.count;
        self.first = self.first.take().or(more.first);
    }
}

impl OperationStats {
    /// The requests of a kind.
    #[inline]
    pub fn of(&self, kind: RequestPurpose) -> &RequestStats {
        &self.requests[kind as usize]
    }

    /// The requests of a kind.
    #[inline]
    pub fn of_mut(&mut self, kind: RequestPurpose) -> &mut RequestStats {
        &mut self.requests[kind as usize]
    }

    /// Operations with a right answer within the time that is measured; a get of a key that was loaded, and that was not found, has
    /// none.
    pub fn right(&self) -> u64 {
        self.answered().saturating_sub(self.misses)
    }

    /// Operations answered within the time that is measured; a modify is one.
    #[inline]
    pub fn answered(&self) -> u64 {
        [RequestPurpose::Get, RequestPurpose::Set, RequestPurpose::Insert]
            .map(|kind| self.of(kind).answered)
            .iter()
            .sum::<u64>()
            + self.modifies.answered
    }

    /// All operations; a modify is one.
    pub fn operations(&self) -> RequestStats {
        let mut all = self.modifies.clone();
        for kind in [RequestPurpose::Get, RequestPurpose::Set, RequestPurpose::Insert] {
            all.merge(self.of(kind));
        }
        all
    }

    /// All gets, those of modifies too.
    pub fn gets(&self) -> RequestStats {
        let mut gets = self.of(RequestPurpose::Get).clone();
        gets.merge(self.of(RequestPurpose::ModifyGet));
        gets
    }

    /// All sets of keys that were loaded, those of modifies too.
    pub fn sets(&self) -> RequestStats {
        let mut sets = self.of(RequestPurpose::Set).clone();
        sets.merge(self.of(RequestPurpose::ModifySet));
        sets
    }

    /// Adds another loop's.
    pub fn merge(&mut self, more: Self) {
        for (mine, more) in self.requests.iter_mut().zip(&more.requests) {
            mine.merge(more);
        }
        self.modifies.merge(&more.modifies);
        self.late.merge(&more.late);
        self.misses += more.misses;
        self.asked += more.asked;
        self.unsent += more.unsent;
        self.shortfall.merge(&more.shortfall);
        self.full_turns += more.full_turns;
        self.wrong.merge(more.wrong);
        self.refused.merge(more.refused);
        self.put_again += more.put_again;
        self.cpu_us += more.cpu_us;
        self.ended_ns = self.ended_ns.max(more.ended_ns);
        self.servers.merge(&more.servers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_silent_if_it_answered_on_none_of_its_connections() {
        let mut replies = ServerReplies::default();
        assert_eq!(replies.silent(), None);
        // One of its connections hangs, and another server had nothing to do.
        replies.add(0, 0, 3);
        replies.add(0, 10, 0);
        replies.add(1, 0, 0);
        assert_eq!(replies.silent(), None);
        let (mut all, mut more) =
            (OperationStats { servers: replies, ..OperationStats::default() }, ServerReplies::default());
        more.add(2, 0, 2);
        all.merge(OperationStats { servers: more, ..OperationStats::default() });
        assert_eq!(all.servers.silent(), Some((2, 2)));
    }

    #[test]
    fn a_get_that_found_nothing_is_answered_and_not_right() {
        let mut stats = OperationStats { misses: 2, ..OperationStats::default() };
        stats.of_mut(RequestPurpose::Get).answered = 5;
        stats.of_mut(RequestPurpose::Set).answered = 1;
        assert_eq!((stats.answered(), stats.right()), (6, 4));
    }
}
