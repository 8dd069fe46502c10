//! What a node's ranges write to their store's log, and its bytes: a version, then the write in postcard's encoding.

use std::borrow::Cow;
use std::sync::Arc;

use fawn_ring::Interval;
use serde::{Deserialize, Serialize};

use super::RecoveredRange;
use crate::ids::{Attempt, ClusterId, Position, RangeId, Seq};
use crate::range::entry::{Entry, Kept};
use crate::range::meta::Meta;
use crate::wire::encoding::{self, DecodeError};

/// One write of a range. The numbers of the variants are in the log: new ones go to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Write<'a> {
    /// The range begins, empty.
    Create(Interval),
    /// A record.
    Append(Arc<Entry>),
    /// What follows this is cut off.
    Truncate(Position),
    /// The log is level as of an attempt.
    Hold(Attempt),
    /// The range is emptied.
    Reset,
    /// A part of a copy.
    Install(Cow<'a, [Kept]>),
    /// The copy is complete, but for deletions up to this number.
    InstallEnd(Cow<'a, Meta>, Seq),
    /// Ranges end, each committed up to here, and others come of them.
    Inherit(Cow<'a, [(RangeId, Position)]>, Cow<'a, [(RangeId, RecoveredRange)]>),
    /// The range ends, and nothing comes of it.
    Drop,
    /// A checkpoint: the range as it was, but for deletions up to this number.
    State(Cow<'a, RecoveredRange>, Seq),
    /// All ranges are of this cluster.
    Join(ClusterId),
}

impl Write<'_> {
    /// Version of the encoding that is written, and the only one that is read.
    pub const VERSION: u8 = 1;

    /// The bytes of the write, to a range of which everything is committed up to `committed`.
    pub fn encode(&self, committed: Position) -> Vec<u8> {
        self.encode_into(Vec::new(), committed)
    }

    /// The same, after what is in a buffer.
    pub(super) fn encode_into(&self, buffer: Vec<u8>, committed: Position) -> Vec<u8> {
        encoding::encode_into(buffer, Self::VERSION, &(committed, self))
    }

    /// The write that these bytes are, and up to where its range was committed then.
    ///
    /// # Errors
    /// What is wrong with them, for people.
    pub fn decode(bytes: &[u8]) -> Result<(Position, Self), String> {
        encoding::decode(Self::VERSION, bytes).map_err(|refused| match refused {
            DecodeError::Version(version) => {
                format!("a write of a range has version {version}: open it with a newer program")
            }
            DecodeError::Malformed(why) => format!("a write of a range cannot be decoded: {why}"),
        })
    }
}
