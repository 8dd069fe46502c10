//! The model of one key of the service: a register whose every write is numbered.
//!
//! A value is a number that stands for its bytes (a counter's value is the number itself), so that states are small.
//! Whoever drives the service maps what it sent and received: `set` is a put, `gets` a get with its version, `STORED`
//! and `EXISTS` are outcomes; touches change nothing here.
//!
//! # Versions
//!
//! The system numbers the writes; clients see the numbers in outcomes (memcached's cas). The model demands that
//!
//! * all numbers that outcomes show for one version are equal, and
//! * numbers grow from each write to the next, across deletes too, as a sequence number never restarts.
//!
//! It takes numbers as an order, not as a count: how many fit between two of them is not asked.
//!
//! A write may take effect without anyone hearing its number: its outcome is unknown, or says no number. The state then
//! is "this value, numbered above the largest number shown so far", and the first outcome that shows the number settles
//! it: a get, or a compare-and-swap that succeeds. A compare-and-swap that fails with [`Exists`](KvOutcome::Exists)
//! settles nothing: the number that it named could still be shown later. That allows a little too much, but only for a
//! number that nobody had seen when it was named.

use std::fmt;

use super::Model;

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct KvModel;

/// What a client asks of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvOperation {
    /// The value.
    Get,
    /// Store, whatever is there.
    Put {
        /// The value to store.
        value: u64,
    },
    /// Remove.
    Delete,
    /// Store over the version with this number only.
    CompareAndSwap {
        /// The number.
        expected: u64,
        /// The value to store.
        value: u64,
    },
    /// Store where nothing is.
    Add {
        /// The value to store.
        value: u64,
    },
    /// Store over something.
    Replace {
        /// The value to store.
        value: u64,
    },
    /// Remove, by itself, if this is the value: it expires.
    Expire {
        /// The value.
        value: u64,
    },
    /// Count up, wrapping; a missing counter stays missing.
    Increment {
        /// By how much.
        by: u64,
    },
}

/// What a client is told. `version` is the number of the version that the operation read or made, `None` where the
/// answer does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvOutcome {
    /// A get found this.
    Hit {
        /// The value.
        value: u64,
        /// Its number.
        version: Option<u64>,
    },
    /// A get found nothing.
    Miss,
    /// Stored.
    Stored {
        /// The new version's number.
        version: Option<u64>,
    },
    /// An add found something, or a replace nothing.
    NotStored,
    /// A compare-and-swap found another version.
    Exists,
    /// A compare-and-swap, delete or increment found nothing.
    NotFound,
    /// Deleted.
    Deleted,
    /// A delete of whatever was there, or an expiry of whatever had not been written over.
    Gone,
    /// Counted.
    Number {
        /// The new value.
        value: u64,
        /// The new version's number.
        version: Option<u64>,
    },
    /// An error that promises that the operation had no effect and never will.
    Refused,
}

/// The key's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KvState {
    there: There,
    /// 0 where there is no value.
    value: u64,
    /// The largest number that an outcome has shown; 0 for none.
    shown: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum There {
    /// No value.
    Nothing,
    /// A value with the number `shown`.
    Numbered,
    /// A value with some number above `shown`.
    Above,
}

impl KvState {
    fn is_absent(&self) -> bool {
        self.there == There::Nothing
    }

    /// Whether what is there is known to have the number `version`.
    fn is_numbered(&self, version: u64) -> bool {
        self.there == There::Numbered && self.shown == version
    }

    fn absent(self) -> Self {
        Self { there: There::Nothing, value: 0, shown: self.shown }
    }

    /// After a write that was given the number `version`, or one that nobody was told.
    fn write(self, value: u64, version: Option<u64>) -> Option<Self> {
        match version {
            None => Some(Self { there: There::Above, value, shown: self.shown }),
            Some(version) if version > self.shown => Some(Self { there: There::Numbered, value, shown: version }),
            Some(_) => None,
        }
    }

    /// The state, knowing that what is there has the number `version`.
    fn numbered(self, version: u64) -> Option<Self> {
        let may_be = match self.there {
            There::Nothing => false,
            There::Numbered => self.is_numbered(version),
            There::Above => version > self.shown,
        };
        may_be.then_some(Self { there: There::Numbered, shown: version, ..self })
    }

    /// Whether the number cannot be that of what is there, nor of any later version.
    fn has_passed(&self, version: u64) -> bool {
        version < self.shown || (version == self.shown && !self.is_numbered(version))
    }
}

impl Model for KvModel {
    type State = KvState;
    type Operation = KvOperation;
    type Outcome = KvOutcome;

    fn start() -> KvState {
        KvState { there: There::Nothing, value: 0, shown: 0 }
    }

    #[inline]
    fn step(state: &KvState, operation: &KvOperation, outcome: Option<&KvOutcome>) -> Option<KvState> {
        use KvOperation::{Add, CompareAndSwap, Delete, Expire, Get, Increment, Put, Replace};
        use KvOutcome::{Deleted, Exists, Gone, Hit, Miss, NotFound, NotStored, Number, Refused, Stored};
        let (same, absent, there) = (Some(*state), Some(state.absent()), !state.is_absent());
        match (*operation, outcome.copied()) {
            (_, Some(Refused)) | (Get, None) => same,
            (Get, Some(Hit { value, version })) if there && value == state.value => match version {
                Some(version) => state.numbered(version),
                None => same,
            },
            (Put { value }, None) => state.write(value, None),
            (Put { value }, Some(Stored { version })) => state.write(value, version),
            (Delete, None | Some(Gone)) => absent,
            (Delete, Some(Deleted)) if there => absent,
            (Expire { value }, None | Some(Gone)) if there && value == state.value => absent,
            (Expire { value }, Some(Gone)) if !there || value != state.value => same,
            (CompareAndSwap { expected, value }, None) => state.numbered(expected)?.write(value, None),
            (CompareAndSwap { expected, value }, Some(Stored { version })) => {
                state.numbered(expected)?.write(value, version)
            }
            (CompareAndSwap { expected, .. }, Some(Exists)) if there && !state.is_numbered(expected) => same,
            (Add { value }, None) if !there => state.write(value, None),
            (Add { value }, Some(Stored { version })) if !there => state.write(value, version),
            (Replace { value }, None) if there => state.write(value, None),
            (Replace { value }, Some(Stored { version })) if there => state.write(value, version),
            (Increment { by }, None) if there => state.write(state.value.wrapping_add(by), None),
            (Increment { by }, Some(Number { value, version })) if there && value == state.value.wrapping_add(by) => {
                state.write(value, version)
            }
            (Add { .. }, Some(NotStored)) if there => same,
            (Get, Some(Miss))
            | (Replace { .. }, Some(NotStored))
            | (Delete | CompareAndSwap { .. } | Increment { .. }, Some(NotFound))
                if !there =>
            {
                same
            }
            _ => None,
        }
    }

    #[inline]
    fn observes(operation: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        use KvOutcome::{Exists, NotFound, NotStored, Refused};
        *operation == KvOperation::Get || matches!(outcome, Some(NotStored | Exists | NotFound | Refused))
    }

    #[inline]
    fn overwrites(operation: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        match outcome {
            _ if matches!(operation, KvOperation::Expire { .. }) => false,
            Some(KvOutcome::Hit { version, .. }) => version.is_some(),
            None | Some(KvOutcome::NotStored | KvOutcome::Exists | KvOutcome::Refused) => false,
            Some(_) => true,
        }
    }

    fn helps(first: &KvOperation, then: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        use KvOperation::{Add, CompareAndSwap, Delete, Expire, Get, Increment, Put, Replace};
        // What `first` writes, where that does not depend on what was there.
        let value = match *first {
            Put { value } | CompareAndSwap { value, .. } | Add { value } | Replace { value } => Some(value),
            Get | Delete | Expire { .. } | Increment { .. } => None,
        };
        let (deletes, counts) = (matches!(first, Delete | Expire { .. }), matches!(first, Increment { .. }));
        let writes = value.is_some() || counts;
        let makes_present = matches!(first, Put { .. } | Add { .. });
        match (*then, outcome) {
            (_, Some(KvOutcome::Refused))
            | (Get | Delete, None)
            | (Put { .. }, _)
            | (Delete, Some(KvOutcome::Gone)) => false,
            (Get, Some(KvOutcome::Hit { value: seen, .. })) => counts || value == Some(*seen),
            (Increment { by }, Some(KvOutcome::Number { value: sum, .. })) => {
                counts || value == Some(sum.wrapping_sub(by))
            }
            (CompareAndSwap { .. }, Some(KvOutcome::NotFound)) => deletes,
            (CompareAndSwap { expected, .. }, None | Some(KvOutcome::Stored { .. })) => match *first {
                CompareAndSwap { expected: before, .. } => before < expected,
                _ => writes,
            },
            // What is written over before does not expire.
            (CompareAndSwap { .. } | Expire { .. }, _) | (Increment { .. }, None) => writes,
            (Add { .. }, Some(KvOutcome::NotStored))
            | (Delete, Some(KvOutcome::Deleted))
            | (Replace { .. }, None | Some(KvOutcome::Stored { .. })) => makes_present,
            (Get | Add { .. } | Replace { .. } | Delete | Increment { .. }, _) => deletes,
        }
    }

    #[inline]
    fn is_spent(state: &KvState, operation: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        let shown_before = match outcome {
            Some(KvOutcome::Stored { version: Some(version) } | KvOutcome::Number { version: Some(version), .. }) => {
                *version <= state.shown
            }
            Some(KvOutcome::Hit { version: Some(version), .. }) => state.has_passed(*version),
            _ => false,
        };
        let passed = match (operation, outcome) {
            (KvOperation::CompareAndSwap { expected, .. }, None | Some(KvOutcome::Stored { .. })) => {
                state.has_passed(*expected)
            }
            _ => false,
        };
        shown_before || passed
    }
}

impl fmt::Display for KvState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.there {
            There::Nothing => write!(f, "nothing (version {} was the last shown)", self.shown),
            There::Numbered => write!(f, "value {} version {}", self.value, self.shown),
            There::Above => write!(f, "value {} with some version above {}", self.value, self.shown),
        }
    }
}

impl fmt::Display for KvOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get => f.write_str("get"),
            Self::Put { value } => write!(f, "put {value}"),
            Self::Delete => f.write_str("delete"),
            Self::Expire { value } => write!(f, "expire {value}"),
            Self::CompareAndSwap { expected, value } => write!(f, "cas {expected} {value}"),
            Self::Add { value } => write!(f, "add {value}"),
            Self::Replace { value } => write!(f, "replace {value}"),
            Self::Increment { by } => write!(f, "increment {by}"),
        }
    }
}

/// Words and numbers apart by one space; a version that was not told is `-`.
impl fmt::Display for KvOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |f: &mut fmt::Formatter<'_>, version: Option<u64>| match version {
            Some(version) => write!(f, " {version}"),
            None => f.write_str(" -"),
        };
        match *self {
            Self::Hit { value, version } => write!(f, "hit {value}").and_then(|()| number(f, version)),
            Self::Miss => f.write_str("miss"),
            Self::Stored { version } => f.write_str("stored").and_then(|()| number(f, version)),
            Self::NotStored => f.write_str("not-stored"),
            Self::Exists => f.write_str("exists"),
            Self::NotFound => f.write_str("not-found"),
            Self::Deleted => f.write_str("deleted"),
            Self::Gone => f.write_str("gone"),
            Self::Number { value, version } => write!(f, "number {value}").and_then(|()| number(f, version)),
            Self::Refused => f.write_str("refused"),
        }
    }
}
