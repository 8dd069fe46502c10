//! Reading all that is in a cluster, without being a member of it: each stretch of keys exactly as one record left it.
//!
//! Stretches are those of the ranges, in the order of their keys, one after the other. Of each
//!
//! 1. a *pass* asks for parts, from the first key to the last. It has all that was committed when it began, and some of what
//!    was committed meanwhile.
//! 2. Then the records that were committed since it began are asked for. Where they are no longer in memory, another pass
//!    asks for what was written since, what is gone included, which takes less long; and so on.
//! 3. Once all records up to one are there, and nothing that was seen is newer, the stretch is over: of each key the newest
//!    version that has come is the newest that there was as of that record, and [`Cut`] says which of them could be seen.
//!
//! Whoever is told all this keeps, of each key, the version with the highest position. Whatever of it is lost on the way, or
//! stays out for long, is asked for again, of another member. Chains may change meanwhile. Of a range that is split the parts
//! go on as stretches of their own, and end as of records of their own; of two that are merged each goes on by itself. Where
//! what has come is of no use any more ([`What::Anew`]), a stretch begins anew: deletions have been forgotten that it lacks, or
//! records lost that it has.
//!
//! # Layout
//!
//! * [`Scanner`]: the machine. [`Bookmark`]: where it goes on later, or in another process.
//!   [`Sought`], [`Found`]: what is asked of members, and answered.

mod bookmark;
mod machine;
mod messages;
#[cfg(test)]
mod tests;

pub use bookmark::{Bookmark, Stretch};
pub use machine::{Limits, Scanner};
pub use messages::{Found, Sought};

use crate::ids::{Position, RangeId};
use crate::range::entry::Kept;
use crate::range::meta::Alive;
use fawn_ring::{Interval, Key};

/// What has come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub what: What,
    /// Where to go on after it.
    pub bookmark: Bookmark,
}

/// What has come of a stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A part of a pass, in the order of positions; versions that are not there say that the key is gone.
    Part(Vec<Kept>),
    /// What was committed meanwhile, in its order; as above.
    Records(Vec<Kept>),
    /// All that has come of these keys is of no use: they begin anew.
    Anew(Interval),
    /// It is over.
    Over(Box<Cut>),
}

/// As of which record a stretch was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its keys.
    pub keys: Interval,
    /// The range that they were in at last.
    pub range: RangeId,
    /// The record.
    pub at: Position,
    /// Passes that it took.
    pub passes: u32,
    /// What decides which versions can be seen.
    pub alive: Alive,
}

impl Cut {
    /// Whether what has come of a key was there, as of the record; `lies`: where the key does.
    pub fn shows(&self, kept: &Kept, lies: &Key) -> bool {
        let seq = kept.position.seq;
        kept.version.as_ref().is_some_and(|version| self.alive.shows_at(lies, version, seq, self.alive.time))
    }
}
