//! Questions whether this manager leads still, which wait for a majority, and what they were asked for.

use std::collections::BTreeMap;

/// Questions for each node, or front-end, whose confirmation is waited for, at most: while a leader reaches no majority none
/// comes.
pub(super) const MOST_QUESTIONS: usize = 16;

/// Numbers questions, of nodes and of front-ends alike; none comes twice.
#[derive(Debug, Default)]
pub(super) struct QuestionCounter {
    next: u64,
}

impl QuestionCounter {
    /// The number of a new question.
    pub(super) fn next(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// Notes what waits for a confirmation, in place of the oldest where there are too many for so many askers.
pub(super) fn note<T>(asked: &mut BTreeMap<u64, T>, question: u64, what: T, askers: usize) {
    asked.insert(question, what);
    if asked.len() > MOST_QUESTIONS * askers {
        asked.pop_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_question_makes_room_where_there_are_too_many() {
        let (mut counter, mut asked) = (QuestionCounter::default(), BTreeMap::new());
        for at in 0..3 * MOST_QUESTIONS {
            note(&mut asked, counter.next(), at, 2);
        }
        assert_eq!(asked.len(), 2 * MOST_QUESTIONS);
        assert_eq!(asked.first_key_value(), Some((&(MOST_QUESTIONS as u64), &MOST_QUESTIONS)));
    }
}
