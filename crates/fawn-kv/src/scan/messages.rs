//! What is asked of members, and what they answer: of [`Message::Scan`](crate::wire::Message::Scan) and
//! [`Message::Scanned`](crate::wire::Message::Scanned).

use crate::ids::Position;
use crate::range::entry::Kept;
use crate::range::meta::Alive;
use fawn_ring::Key;
use serde::{Deserialize, Serialize};

/// What of a range somebody wants to see who is no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sought {
    /// The newest version of each key.
    Part {
        /// Only of those written after this, and then what is gone as well.
        since: Position,
        /// What was committed when the asker began with the keys, all of which it is to see; `None`: it begins.
        began: Option<Position>,
    },
    /// What was committed after this position, in its order.
    Records {
        /// The position.
        after: Position,
    },
}

/// What a member shows of a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// A part, in the order of positions.
    Part {
        /// Newest versions. What is gone is left out, unless only what is new is shown: then it is there without a version.
        kept: Vec<Kept>,
        /// Where the next part begins; `None`: this is the last.
        next: Option<Key>,
        /// What was committed before it was read: all of that is in it.
        at: Position,
        /// What was committed afterwards: nothing newer is in it.
        upto: Position,
    },
    /// What was committed after a position.
    Records {
        /// Versions as they were written, in their order; those that are gone are there without one.
        kept: Vec<Kept>,
        /// All up to here are there.
        upto: Position,
        /// What decides which versions can be seen, if that is all that is committed.
        ended: Option<Box<Alive>>,
    },
    /// What the asker has is too old to be brought up to date, or not what this log goes on from: parts of what was written
    /// since have to be asked for where records were, and everything anew where parts were.
    TooOld,
    /// Ask elsewhere.
    NotMine,
    /// Ask again after so many microseconds: the member knows of too little, has no lease, or is not to do more at once.
    Later {
        /// Microseconds.
        wait_us: u64,
    },
    /// It cannot be read from the node's disk.
    Unreadable,
}
