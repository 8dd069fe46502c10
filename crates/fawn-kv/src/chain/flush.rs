//! Flushes at the head: of what keys a request names, those that it has not reached yet.
//!
//! A flush of all keys has one name in all ranges. Ranges are split and merged while it is under way, and of two that are
//! merged one may have carried it out and the other not. To flush the keys of the first once more would remove what was put
//! there since; so what a range remembers of a flush is not only that it was carried out, but of which keys
//! ([`Sessions::flushed`](crate::range::sessions::Sessions::flushed)).

use super::active_chain::ActiveChain;
use super::context::Context;
use super::head::Head;
use super::log::RangeLog;
use super::range_clock::is_too_soon;
use super::requests::Flush;
use super::stretch::NO_KEY;
use crate::operation::Outcome;
use crate::range::entry::{Asked, Change};
use crate::range::range_map::RangeMap;
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Answer;

/// Stretches of a range that flushes tell apart, about, at most.
const STRETCHES: usize = 4096;

impl Head {
    /// Everything of these keys is to be gone.
    pub(super) fn flush<S: RangeStore>(
        &self,
        flush: Flush,
        chain: &ActiveChain,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let Flush { id, answered, asker, wedge, keys, due } = flush;
        let is_here = keys.low <= keys.high && log.keys().contains(&keys.low) && log.keys().contains(&keys.high);
        if !chain.is_head() || !is_here {
            return chain.reply(asker, id, Answer::NotMine, context);
        }
        // Whoever was fenced off is not even told that it was carried out: the new owner may cache what was there before.
        if wedge < log.suffix().ahead().fences.highest(&keys) && !planted(Bug::FlushPastOwner) {
            return chain.reply(asker, id, Answer::Fenced, context);
        }
        let mut reached = log.meta().sessions.flushed(id).cloned().unwrap_or_default();
        match self.answered(id, answered, chain, log, context) {
            Some(answer @ Answer::Done { .. }) => {
                if reached.lacks(&keys).is_empty() || planted(Bug::FlushDoneInPart) {
                    return chain.reply(asker, id, answer, context);
                }
                if chain.is_too_short() {
                    return chain.reply(asker, id, Answer::TooFew, context);
                }
            }
            Some(answer) => return chain.reply(asker, id, answer, context),
            // A request of the same name waits for its key to be read.
            None if self.holds(id) => return,
            None if planted(Bug::NoDedupe) => reached = RangeMap::default(),
            None => {}
        }
        if is_too_soon(due, log.stamp(context), context.unix) {
            return chain.reply(asker, id, Answer::Ahead { time: log.time() }, context);
        }
        let behind = chain.is_behind(log.range(), context);
        log.suffix().flushed_by(id, &mut reached);
        let rest = reached.lacks(&keys);
        // What is flushed stretch by stretch is remembered so; of the whole range it is one stretch again.
        let in_pieces = keys != *log.keys() && log.suffix().ahead().stretches() >= STRETCHES;
        if rest.is_empty() {
            // It is answered once it is committed, or at the next try.
            took(Path::RetryWaits);
        } else if self.is_crowded(chain, log, context) || behind || in_pieces {
            chain.reply(asker, id, Answer::Busy, context);
        } else {
            if rest != [keys] {
                took(Path::FlushedRest);
            }
            let asked = Asked { id, answered, asker, outcome: Outcome::Deleted, shown: None };
            log.append_next(chain.epoch(), NO_KEY, Change::Flush { due, keys: rest }, Some(asked), context);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::chain::Replica;
    use crate::chain::wedge_fence::tests::{FRONT, alone, keys, step};
    use crate::ids::{Asker, RangeId, RequestId, Seq, WedgeEpoch};
    use crate::range::entry::{Change, Version};
    use crate::range::meta::Meta;
    use crate::wire::{Answer, Message};
    use fawn_ring::{Interval, Key};

    const FLUSH: RequestId = RequestId { session: 1 << 32, number: 1 };
    const RANGE: RangeId = RangeId(0);

    /// What a flush of some keys is answered.
    fn flush(replica: &mut Replica, id: RequestId, keys: Interval, wedge: u64, due: u32) -> Option<Answer> {
        let (asker, wedge) = (Asker { address: FRONT, tag: 7 }, WedgeEpoch(wedge));
        let ask = Message::Flush { range: RANGE, id, answered: 0, asker, wedge, keys, due };
        let ((), sent) = step(replica, |replica, context| replica.receive(FRONT, ask, context));
        sent.into_iter().find_map(|message| match message {
            Message::Reply { answer, .. } => Some(answer),
            _ => None,
        })
    }

    /// Whether it is done and, if it is, whether that was told from memory.
    fn done(replica: &mut Replica, id: RequestId, keys: Interval, wedge: u64, due: u32) -> Option<bool> {
        match flush(replica, id, keys, wedge, due) {
            Some(Answer::Done { again, .. }) => Some(again),
            _ => None,
        }
    }

    /// The keys of the newest record, which flushes.
    fn flushed(replica: &Replica) -> Vec<Interval> {
        match replica.entries().next_back().map(|entry| &entry.change) {
            Some(Change::Flush { keys, .. }) => keys.clone(),
            other => panic!("{other:?} flushes nothing"),
        }
    }

    /// Whether what was written by the record `seq` is there at a time.
    fn shows(replica: &Replica, prefix: u64, seq: Seq, time: u32) -> bool {
        let version = Version { value: Vec::new(), flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
        replica.meta().alive.shows_at(&Key::lowest_with_prefix(prefix), &version, seq, time)
    }

    #[test]
    fn a_flush_that_would_go_past_the_owner_of_any_of_its_keys_is_refused() {
        let mut replica = alone(Meta::default());
        step(&mut replica, |replica, context| {
            let fence = Message::Fence { range: RANGE, front: FRONT, keys: keys(10, 19), epoch: WedgeEpoch(2) };
            replica.receive(FRONT, fence, context);
        });
        assert_eq!(flush(&mut replica, FLUSH, keys(0, 10), 1, 0), Some(Answer::Fenced));
        assert_eq!(flush(&mut replica, FLUSH, Interval::ALL, 0, 0), Some(Answer::Fenced));
        assert_eq!(done(&mut replica, FLUSH, keys(0, 9), 0, 0), Some(false), "other keys have other owners");
        assert_eq!(done(&mut replica, FLUSH, keys(10, 19), 2, 0), Some(false));
        assert_eq!(flush(&mut replica, FLUSH, keys(10, 19), 1, 0), Some(Answer::Fenced), "nor is it told of it");
    }

    #[test]
    fn of_one_name_all_keys_are_flushed_and_none_twice() {
        let mut replica = alone(Meta::default());
        assert_eq!(done(&mut replica, FLUSH, keys(0, 9), 0, 0), Some(false));
        let first = replica.last().seq;
        assert_eq!(done(&mut replica, FLUSH, keys(10, 19), 0, 0), Some(false), "another wedge of the same range");
        let second = replica.last().seq;
        assert_eq!(done(&mut replica, FLUSH, keys(0, 9), 0, 0), Some(true));
        assert_eq!(done(&mut replica, FLUSH, keys(0, 15), 0, 0), Some(true));
        assert_eq!(replica.last().seq, second, "without another record");
        assert_eq!(done(&mut replica, FLUSH, keys(5, 29), 0, 0), Some(false));
        assert_eq!(flushed(&replica), [keys(20, 29)]);
        assert!(!shows(&replica, 5, first, 1) && shows(&replica, 5, second, 1), "what was put there since stays");
        let none = replica.last().seq;
        assert!(!shows(&replica, 25, none, 1) && shows(&replica, 30, Seq(1), 1));
    }

    #[test]
    fn of_two_ranges_that_are_merged_only_the_one_that_a_flush_has_not_reached_is_flushed() {
        let (lower, upper) = Interval::ALL.cut(&Key::highest_with_prefix(9)).unwrap();
        let mut replica = alone(Meta::default());
        assert_eq!(done(&mut replica, FLUSH, lower, 0, 0), Some(false));
        let before = replica.last().seq;
        let mut merged = alone(replica.meta().cut(lower).joined(Meta::default(), [lower, upper], replica.last()));
        assert_eq!(done(&mut merged, FLUSH, lower, 0, 0), Some(true));
        assert_eq!(done(&mut merged, FLUSH, Interval::ALL, 0, 0), Some(false));
        assert_eq!(flushed(&merged), [upper]);
        assert!(shows(&merged, 5, before.next(), 1), "what was put there since stays");
        let part = alone(merged.meta().cut(upper));
        assert!(part.meta().sessions.flushed(FLUSH).unwrap().lacks(&upper).is_empty(), "a part inherits it");
    }

    #[test]
    fn a_later_flush_takes_the_place_of_one_that_is_not_due_where_they_overlap() {
        let mut replica = alone(Meta::default());
        let other = RequestId { number: 2, ..FLUSH };
        assert_eq!(done(&mut replica, FLUSH, keys(0, 19), 0, 100), Some(false));
        assert_eq!(done(&mut replica, other, keys(10, 29), 0, 200), Some(false));
        let seq = replica.last().seq;
        let shown = |time| [5, 15, 25].map(|prefix| shows(&replica, prefix, seq, time));
        assert_eq!(shown(99), [true; 3]);
        assert_eq!(shown(100), [false, true, true]);
        assert_eq!(shown(200), [false; 3]);
        let due = |prefix| replica.meta().alive.flush_due(|| Key::lowest_with_prefix(prefix));
        assert_eq!([0, 15, 25, 30].map(due), [100, 200, 200, 0]);
        let third = RequestId { number: 3, ..FLUSH };
        assert_eq!(done(&mut replica, third, keys(0, 15), 0, 0), Some(false));
        let last = replica.last().seq;
        let seen =
            [5, 15, 25].map(|prefix| (shows(&replica, prefix, last, 99), shows(&replica, prefix, last.next(), 300)));
        assert_eq!(seen, [(false, true), (false, true), (true, false)], "and is the only one");
    }
}
