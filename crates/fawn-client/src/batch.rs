//! Many operations at once.

use crate::error::Error;
use crate::value::{Item, Value};
use fawn_kv::client::{RequestOutcome, Want};
use fawn_kv::operation::{Delete, Mode, Operation, Outcome};

/// What came of one operation of a [`Batch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// A get has found this.
    Got(Option<Value>),
    /// A value was put; this names its version.
    Put(u64),
    /// Whether there was something to delete.
    Deleted(bool),
}

impl BatchOutcome {
    /// What an operation has come to by what its request ended with.
    pub(crate) fn of(ended: RequestOutcome) -> Result<Self, Error> {
        match ended {
            RequestOutcome::Found(kept) => Ok(Self::Got(kept.and_then(Value::of))),
            RequestOutcome::Done { outcome: Outcome::Stored { cas, .. }, position, .. } => {
                Ok(Self::Put(cas.resolve(position.seq.0)))
            }
            RequestOutcome::Done { outcome: Outcome::Deleted, .. } => Ok(Self::Deleted(true)),
            RequestOutcome::Done { outcome: Outcome::NotFound, .. } => Ok(Self::Deleted(false)),
            _ => Err(Error::Malformed),
        }
    }
}

/// Operations that are carried out side by side: there is no order among them, also not among those on one key, and each ends
/// for itself.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    all: Vec<(Vec<u8>, Want)>,
}

impl Batch {
    /// A batch without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of operations in the batch.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a get of `key` to the batch.
    #[must_use]
    pub fn get(self, key: impl AsRef<[u8]>) -> Self {
        self.and(key.as_ref(), Want::Get)
    }

    /// Adds a put of `item` under `key` to the batch.
    #[must_use]
    pub fn put<'a>(self, key: impl AsRef<[u8]>, item: impl Into<Item<'a>>) -> Self {
        self.and(key.as_ref(), Want::Write(item.into().store(Mode::Set, None)))
    }

    /// Adds a delete of `key` to the batch.
    #[must_use]
    pub fn delete(self, key: impl AsRef<[u8]>) -> Self {
        self.and(key.as_ref(), Want::Write(Operation::Delete(Delete::default()).encode()))
    }

    /// The operations with their keys, in order.
    pub(crate) fn into_operations(self) -> Vec<(Vec<u8>, Want)> {
        self.all
    }

    fn and(mut self, key: &[u8], want: Want) -> Self {
        self.all.push((key.to_vec(), want));
        self
    }
}
