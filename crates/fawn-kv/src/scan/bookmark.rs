//! How far a scan is: all that it needs to go on later.

use crate::ids::{Member, Position};
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

/// How far a scan is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookmark {
    /// Stretches that were begun and are not over, the one under way last.
    pub stretches: Vec<Stretch>,
    /// The first key of those that no stretch was begun for; `None`: there are none.
    pub rest: Option<Key>,
    /// The last key that is wanted.
    pub last: Key,
}

/// How far one stretch of keys is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its keys.
    pub keys: Interval,
    /// Where the pass goes on; `None`: it is over, and records are asked for.
    pub from: Option<Key>,
    /// All that was committed up to here came with passes before, or with records; the lowest position: this is the first pass.
    pub since: Position,
    /// What was committed when the pass began, once that is known; after it, up to where records have come.
    pub began: Option<Position>,
    /// The newest position up to which anything may have been seen.
    pub least: Position,
    /// Who has answered last.
    pub source: Option<Member>,
    /// Passes so far.
    pub passes: u32,
}

impl Bookmark {
    /// All of these keys are still to come.
    pub fn new(keys: Interval) -> Self {
        Self { stretches: Vec::new(), rest: Some(keys.low), last: keys.high }
    }

    /// Whether everything has come.
    pub fn is_over(&self) -> bool {
        self.stretches.is_empty() && self.rest.is_none()
    }

    /// The first key of those that are not over.
    pub fn low(&self) -> Option<Key> {
        self.stretches.last().map(|stretch| stretch.keys.low).or(self.rest)
    }
}

impl Stretch {
    /// One of which nothing has come.
    pub(super) fn new(keys: Interval) -> Self {
        let (since, least) = (Position::default(), Position::default());
        Self { keys, from: Some(keys.low), since, began: None, least, source: None, passes: 1 }
    }

    /// Takes the keys after `last` out, as a stretch of their own which is as far.
    pub(super) fn cut(&mut self, last: &Key) -> Option<Self> {
        let (lower, upper) = self.keys.cut(last)?;
        let mut rest = Self { keys: upper, ..self.clone() };
        self.keys = lower;
        if let Some(from) = self.from {
            if from > *last {
                self.from = None;
            } else {
                rest.from = Some(upper.low);
            }
        }
        Some(rest)
    }

    /// Asks for what was written since what has come.
    pub(super) fn pass_again(&mut self) {
        self.since = self.began.take().unwrap_or(self.since);
        self.from = Some(self.keys.low);
        self.passes += 1;
    }
}
