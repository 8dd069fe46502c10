//! Records of a range's log, as they travel down its chain.

use crate::ids::{Address, Asker, Position, RequestId, WedgeEpoch};
use crate::operation::Outcome;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::sync::Arc;

/// Largest key, in bytes; the smallest has one.
pub(crate) const MAX_KEY_BYTES: usize = 65_535;

/// Largest value, in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 128 << 20;

/// What a client asked, and what it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The request.
    pub id: RequestId,
    /// All requests of the session up to this number have been answered, and will not be tried again.
    pub answered: u64,
    /// Who is answered.
    pub asker: Asker,
    /// The answer, to be given once the record is committed.
    pub outcome: Outcome,
    /// What the answer shows, where the record is no version of the key that holds it: the item, or what was computed.
    pub shown: Option<Shown>,
}

/// What an answer shows of an item, besides its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The value.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
    /// The client's opaque flags.
    pub flags: u32,
}

/// A new version of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)]
pub struct Version {
    /// The value.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
    /// The client's opaque flags.
    pub flags: u32,
    /// Unix second of expiry; 0 for never.
    pub expiry: u32,
    /// Invalidated.
    pub stale: bool,
    /// Won.
    pub won: bool,
    /// The cas, when it is not the record's number.
    pub client_cas: Option<u64>,
}

impl Version {
    /// What an answer shows of it.
    pub fn shown(&self) -> Shown {
        Shown { value: self.value.clone(), flags: self.flags }
    }
}

/// What a record does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Nothing: a condition that failed, whose answer shows the key's state, or a barrier.
    Nothing,
    /// The key is gone.
    Delete,
    /// The key has this version.
    Value(Version),
    /// Of these keys nothing is served any more as of a lower wedge epoch.
    Fence {
        /// The keys.
        keys: fawn_ring::Interval,
        /// The wedge epoch.
        epoch: WedgeEpoch,
        /// Who is told when it is committed.
        front: Address,
    },
    /// The chain of the record's epoch begins; the log before it ends at `after`.
    Begin {
        /// Where the log before it ends.
        after: Position,
    },
    /// Of these keys every version is gone that was written before this record or, with `due`, before the first that is
    /// stamped with that second or a later one.
    Flush {
        /// Unix second; 0 for now.
        due: u32,
        /// The keys: stretches that do not overlap.
        keys: Vec<fawn_ring::Interval>,
    },
    /// Sessions that were not used since a time are forgotten, and none that began up to a time may begin here any more.
    Expire {
        /// Unix second of the last use up to which a session is forgotten.
        idle_since: u32,
        /// Sessions that began up to this Unix second and are not remembered are refused.
        horizon: u32,
    },
}

/// What a range remembers of each stretch that a flush is about, in bytes at most: where it begins and ends, twice.
pub(crate) const FLUSHED_BYTES: usize = 4 * size_of::<fawn_ring::Interval>();

/// One record of a range's log: what the head made of an operation, never the operation itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place.
    pub position: Position,
    /// Unix second by the range's time. It goes back only by a [`Change::Nothing`] that nobody has asked for, where it was ahead
    /// of the clocks.
    pub time: u32,
    /// The key; empty for a record that is about none.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
    /// What it does.
    pub change: Change,
    /// Whose request it answers.
    pub asked: Option<Asked>,
}

impl Entry {
    /// Whether the record can stand right after `last` in a log.
    pub fn follows(&self, last: Position) -> bool {
        match self.change {
            Change::Begin { after } => after == last && self.position > last,
            _ => self.position.epoch == last.epoch && self.position.seq == last.seq.next(),
        }
    }

    /// What its answer shows of the item that it found, if it does.
    pub fn shown(&self) -> Option<Shown> {
        let asked = self.asked.as_ref()?;
        match &self.change {
            Change::Value(version) if asked.outcome.shows_item() => Some(version.shown()),
            Change::Value(version) if asked.outcome == Outcome::Computed && asked.shown.is_none() => {
                Some(Shown { value: version.value.clone(), flags: 0 })
            }
            _ => asked.shown.clone(),
        }
    }

    /// Whether it answers an operation on a part of a value: nobody reads it who speaks a version before
    /// [`PARTS`](crate::wire::version::PARTS).
    pub fn is_of_part(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.outcome.is_of_part())
    }

    /// Bytes that it holds, about.
    pub fn bytes(&self) -> usize {
        let value = match &self.change {
            Change::Value(version) => version.value.len(),
            Change::Flush { keys, .. } => keys.len() * FLUSHED_BYTES,
            _ => 0,
        };
        let shown = self.asked.as_ref().and_then(|asked| asked.shown.as_ref());
        size_of::<Self>() + self.key.len() + value + shown.map_or(0, |shown| shown.value.len())
    }
}

/// The newest version of a key, or that it is deleted, as a store keeps it and a copy carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The key.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
    /// Place of the record that made it so.
    pub position: Position,
    /// The version; `None`: deleted.
    pub version: Option<Version>,
}

impl Kept {
    /// Bytes of its key and value, and those that it takes itself.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.version.as_ref().map_or(0, |version| version.value.len())
    }
}

/// Most records for which room is made before they come.
const ROOM: usize = 64;

/// Decodes records so that they can be shared. (Serde's own way to do so is by way of a `Box`.)
pub(crate) fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<Entry>>, D::Error> {
    struct Records;

    impl<'de> Visitor<'de> for Records {
        type Value = Vec<Arc<Entry>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("records")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<Self::Value, A::Error> {
            let mut shared = Vec::with_capacity(records.size_hint().unwrap_or(0).min(ROOM));
            while let Some(record) = records.next_element()? {
                shared.push(Arc::new(record));
            }
            Ok(shared)
        }
    }

    deserializer.deserialize_seq(Records)
}
