//! A flush that is under way, and which keys it has reached.

use super::in_flight::Tries;
use crate::ids::{Asker, RequestId, WedgeEpoch, WedgeId};
use crate::range::range_map::RangeMap;
use crate::testing::coverage::{Path, took};
use crate::wire::Answer;
use fawn_ring::Interval;
use std::collections::BTreeMap;

/// The request, and the wedge that it is about; `None`: all.
pub(super) type Name = (RequestId, Option<WedgeId>);

/// A flush that is under way.
#[derive(Debug)]
pub(super) struct Flush {
    /// As far as the request's session is answered; `None`: it is the front-end's own session.
    pub(super) answered: Option<u64>,
    pub(super) due: u32,
    pub(super) waiters: Vec<(Asker, RequestId)>,
    pub(super) began_us: u64,
    /// Wedges that are not flushed.
    pub(super) parts: BTreeMap<WedgeId, Part>,
    /// Something is flushed.
    pub(super) begun: bool,
}

impl Flush {
    /// What is said of it when it is given up.
    pub(super) fn last_word(&self) -> Answer {
        let tries = self.parts.values().flat_map(|part| &part.asked).map(|asked| &asked.tries);
        if self.begun { Answer::TimedOut } else { Tries::last_word(tries) }
    }
}

/// A flush of one wedge.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) wedge: Interval,
    /// Keys that are flushed.
    pub(super) reached: RangeMap<bool>,
    /// What was asked for, and as what.
    pub(super) asked: Vec<Question>,
    /// As of which wedge epoch it was asked for last.
    pub(super) epoch: Option<WedgeEpoch>,
    pub(super) sent_us: Option<u64>,
}

/// Some keys of a wedge that were asked for.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) keys: Interval,
    pub(super) tag: u64,
    pub(super) tries: Tries,
}

impl Part {
    /// What was asked for, if it was.
    pub(super) fn question(&mut self, which: impl Fn(&Question) -> bool) -> Option<&mut Question> {
        self.asked.iter_mut().find(|question| which(question))
    }

    /// It is asked for as of this epoch.
    pub(super) fn begin(&mut self, epoch: WedgeEpoch, now_us: u64) {
        if self.epoch.replace(epoch).is_some_and(|before| before != epoch) {
            took(Path::FlushFollowsOwner);
        }
        self.sent_us = Some(now_us);
    }

    /// These keys are asked for under a new tag.
    pub(super) fn ask(&mut self, keys: Interval, tag: u64) {
        let within = |inner: &Interval, outer: &Interval| outer.low <= inner.low && inner.high <= outer.high;
        if self.asked.iter().any(|asked| within(&keys, &asked.keys)) {
            took(Path::FlushFollowsSplit);
        }
        if self.asked.iter().any(|asked| within(&asked.keys, &keys)) {
            took(Path::FlushFollowsMerge);
        }
        self.asked.push(Question { keys, tag, tries: Tries::default() });
    }
}

/// A flush as it is asked for.
#[derive(Clone, Copy)]
pub(super) struct AskFlush {
    pub(super) id: RequestId,
    pub(super) answered: Option<u64>,
    pub(super) asker: Asker,
    pub(super) wedge: Option<WedgeId>,
    pub(super) due: u32,
}

/// What an answer to a flush makes the front-end do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FlushReaction {
    None,
    /// More has to be known.
    AskView,
    /// A wedge is another's by now.
    Lose(WedgeId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_of_which_something_is_done_is_not_refused() {
        let mut flush =
            Flush { answered: None, due: 0, waiters: Vec::new(), began_us: 0, parts: BTreeMap::new(), begun: false };
        assert_eq!(flush.last_word(), Answer::Busy);
        flush.begun = true;
        assert_eq!(flush.last_word(), Answer::TimedOut);
    }
}
