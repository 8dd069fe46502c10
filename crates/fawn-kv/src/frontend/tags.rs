//! Tags, by which a front-end knows what an answer is to.

use super::in_flight::Tag;
use crate::ids::Incarnation;

/// Numbers requests, flushes and multi-gets; none comes twice.
#[derive(Debug, Default)]
pub(super) struct TagCounter {
    last: u64,
}

impl TagCounter {
    /// A tag that was never given.
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Tags of this life are others than those of the lives before, as late answers to which may come. Of lives there may be
    /// millions: a group of managers that lost decisions skips a million of them.
    pub(super) fn begin(&mut self, life: Incarnation) {
        const LIVES: u64 = 1 << 22;
        self.last = self.last.max(u64::from(life.0) % LIVES * (Tag::FLIGHTS / LIVES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_of_a_life_is_one_of_the_life_before() {
        let mut tags = TagCounter::default();
        assert_eq!([tags.next(), tags.next()], [1, 2]);
        tags.begin(Incarnation(1));
        let first = tags.next();
        assert!(first > 1 << 32);
        tags.begin(Incarnation(2));
        assert!(tags.next() > first + (1 << 32));
        tags.begin(Incarnation(1));
        assert!(tags.next() > first, "tags never fall");
    }
}
