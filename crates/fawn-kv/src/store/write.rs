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
    /// The oldest version of the encoding. It is written wherever it will do, so that a release that knows no other reads it.
    pub const OLDEST: u8 = 1;

    /// The newest version: with outcomes of operations on parts of values.
    pub const NEWEST: u8 = 2;

    /// The version that this write needs.
    fn version(&self) -> u8 {
        let is_of_part = match self {
            Self::Append(entry) => entry.is_of_part(),
            Self::InstallEnd(meta, _) => meta.sessions.are_of_parts(),
            Self::State(state, _) => state.is_of_part(),
            Self::Inherit(_, ranges) => ranges.iter().any(|(_, state)| state.is_of_part()),
            Self::Create(_)
            | Self::Truncate(_)
            | Self::Hold(_)
            | Self::Reset
            | Self::Install(_)
            | Self::Drop
            | Self::Join(_) => false,
        };
        if is_of_part { Self::NEWEST } else { Self::OLDEST }
    }

    /// The bytes of the write, to a range of which everything is committed up to `committed`.
    pub fn encode(&self, committed: Position) -> Vec<u8> {
        self.encode_into(Vec::new(), committed)
    }

    /// The same, after what is in a buffer.
    pub(super) fn encode_into(&self, buffer: Vec<u8>, committed: Position) -> Vec<u8> {
        encoding::encode_into(buffer, self.version(), &(committed, self))
    }

    /// The write that these bytes are, and up to where its range was committed then.
    ///
    /// # Errors
    /// What is wrong with them, for people.
    pub fn decode(bytes: &[u8]) -> Result<(Position, Self), String> {
        let decoded = encoding::decode_of::<(Position, Self)>(Self::OLDEST..=Self::NEWEST, bytes);
        let (version, (committed, write)) = decoded.map_err(|refused| match refused {
            DecodeError::Version(version) => {
                format!("a write of a range has version {version}: open it with a newer program")
            }
            DecodeError::Malformed(why) => format!("a write of a range cannot be decoded: {why}"),
        })?;
        if write.version() != version {
            return Err(format!("a write of a range cannot be decoded: version {version} has no such write"));
        }
        Ok((committed, write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Address, Asker, Epoch, RequestId};
    use crate::operation::{EditError, Outcome};
    use crate::range::entry::{Asked, Change};

    fn entry(outcome: Outcome) -> Entry {
        let (id, asker) = (RequestId { session: 1 << 32, number: 1 }, Asker { address: Address::Client(1), tag: 0 });
        let asked = Some(Asked { id, answered: 0, asker, outcome, shown: None });
        let position = Position { epoch: Epoch(1), seq: Seq(1) };
        Entry { position, time: 5, key: Vec::new(), change: Change::Nothing, asked }
    }

    /// Each kind of write that holds outcomes, with this one.
    fn writes(outcome: Outcome) -> Vec<Write<'static>> {
        let mut meta = Meta::default();
        meta.commit(&entry(outcome));
        let of = |meta: Meta, entries| RecoveredRange { keys: Interval::ALL, held: None, meta, entries };
        vec![
            Write::Append(Arc::new(entry(outcome))),
            Write::InstallEnd(Cow::Owned(meta.clone()), Seq(0)),
            Write::State(Cow::Owned(of(meta.clone(), Vec::new())), Seq(0)),
            Write::State(Cow::Owned(of(Meta::default(), vec![entry(outcome)])), Seq(0)),
            Write::Inherit(Cow::Owned(Vec::new()), Cow::Owned(vec![(RangeId(1), of(meta, Vec::new()))])),
        ]
    }

    #[test]
    fn a_write_says_the_oldest_version_that_has_all_that_is_in_it() {
        let committed = Position { epoch: Epoch(1), seq: Seq(9) };
        for (outcome, version) in [
            (Outcome::NotFound, 1),
            (Outcome::Integer(-7), 2),
            (Outcome::Computed, 2),
            (Outcome::Refused(EditError::Overflow), 2),
        ] {
            for write in writes(outcome) {
                let mut bytes = write.encode(committed);
                assert_eq!((bytes[0], Write::decode(&bytes)), (version, Ok((committed, write))));
                bytes[0] = 3 - version;
                assert!(Write::decode(&bytes).is_err_and(|why| why.contains("no such write")));
                bytes[0] = 3;
                assert!(Write::decode(&bytes).is_err_and(|why| why.contains("has version 3")));
            }
        }
        let join = Write::Join(ClusterId([7; 16])).encode(committed);
        assert_eq!(join[0], 1);
    }
}
