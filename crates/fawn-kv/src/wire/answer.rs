//! What a client is told: the answers of chains and front-ends.

use crate::ids::Position;
use crate::operation::Outcome;
use crate::range::entry::{Kept, Shown};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The operation was carried out, once, by the record with this number.
    Done {
        /// What it came to.
        outcome: Outcome,
        /// The record's place: the key's version as of the operation.
        position: Position,
        /// The answer to an earlier try, from memory: the key may have changed since.
        again: bool,
        /// Where the outcome [shows an item](Outcome::shows_item): what it shows. `None` there: that is not known any
        /// more, as the key has changed since.
        shown: Option<Shown>,
    },
    /// What a get found: the newest committed version. All who wait for one answer share it.
    Found(Option<Arc<Kept>>),
    /// What the gets of [`Message::AskMany`](crate::wire::Message::AskMany) found, in the order of the keys.
    FoundMany(Vec<Option<Arc<Kept>>>),
    /// Ask elsewhere: this node is not (or no longer) the one to ask.
    NotMine,
    /// The session has said that this request was answered, or it has expired: nobody knows what came of it. Whoever
    /// goes on begins another session, later than the range's time.
    Unknown {
        /// Unix second of the range's time.
        time: u32,
    },
    /// The chain has fewer members than it needs to take writes.
    TooFew,
    /// Too much is under way: try again.
    Busy,
    /// The operation cannot be read: another version made it.
    Malformed,
    /// The value would be longer than the nodes' stores take. Nothing was done.
    TooLarge,
    /// The key's wedge, or one of a flush, has another owner by now: this try did nothing.
    Fenced,
    /// A front-end passed on what is not the receiver's: look again who owns the key's wedge.
    AskAgain,
    /// There was no answer in time: nobody knows whether the operation is, or will be, carried out.
    TimedOut,
    /// All keys that [`Message::AskFlush`](crate::wire::Message::AskFlush) is about are flushed, once, or will be when the flush is
    /// due.
    Flushed,
    /// A node of the chain has no room for more values. This try did nothing; a deletion would be carried out.
    Full,
    /// What the answer depends on cannot be read from the node's disk. This try did nothing; once another node that has the
    /// range has taken this one's place, the next is answered.
    Unreadable,
    /// The operation [depends](crate::operation::Operation::is_conditional) on what is there, and each member of a weak chain
    /// has something of its own: front-ends take none. Nothing was done. Since version 6.
    Conditional,
    /// The range's time is ahead of the head's clock, so that what the operation sets would expire sooner than it should. Nothing
    /// was done. The head sets the range's time back within seconds.
    Ahead {
        /// Unix second of the range's time.
        time: u32,
    },
    /// The operation came with a version that not everybody in the cluster is known to speak: once they are all upgraded, it is
    /// carried out. Nothing was done. Since version 8.
    NeedsUpgrade,
}
