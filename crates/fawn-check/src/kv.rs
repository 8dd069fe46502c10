//! The model of one key of the service: a register whose every write is numbered.
//!
//! A value is a number that stands for its bytes (a counter's value is the number itself), so that states are small.
//! Whoever drives the service maps what it sent and received: `set` is a put, `gets` a get with its version, `STORED`
//! and `EXISTS` are outcomes; a touch with an expiry to come changes nothing here.
//!
//! Beside the value the state has the length of its text (what is prepended goes before so many digits, and a counter keeps
//! at least the length that it had) and its marks: that it is stale, and that a client has won the right to refresh it.
//! Texts are digits only; numbers of more than 64 bits wrap. The service fills a counter that became shorter up with blanks
//! after it, the model with zeros before it: no key of the service is both counted down and extended. A sum is written over
//! what was there, blanks and all.
//!
//! What is stored, extended, or counted to more digits than there were is neither stale nor won. What is invalidated is
//! stale and not won. A step of a counter within its length, a touch and a get leave the marks alone; a win adds to them
//! only, and makes no new version. What a win makes where nothing was is empty, won, and cannot be counted.
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

use crate::Model;

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
    /// Count down, to 0 at least.
    Decrement {
        /// By how much.
        by: u64,
        /// A missing counter starts with this value; `None` leaves it missing.
        initial: Option<u64>,
    },
    /// Write a digit after the value, or before it.
    Extend {
        /// The digit, 0 to 9.
        digit: u64,
        /// It goes before the value.
        before: bool,
        /// Where nothing is the digit is stored; otherwise nothing is.
        vivify: bool,
    },
    /// Another expiry, which is to come.
    Touch,
    /// Mark as stale, free to be won: a new version with the same value.
    Invalidate,
    /// The value with its marks; what is stale, and nobody has won, is won.
    Win {
        /// It is won though it is not stale.
        recache: bool,
        /// Where nothing is an empty value is made, and won.
        vivify: bool,
    },
    /// Remove, and show what was there.
    Take,
    /// Store, whatever is there, and show what was.
    Swap {
        /// The value to store.
        value: u64,
    },
    /// Count up, from 0 where nothing is. What is written with more digits than it needs is no number.
    Sum {
        /// By how much.
        by: u64,
    },
    /// The length of the text; 0 where nothing is.
    Measure,
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
    /// Counted, or measured.
    Number {
        /// The new value, or the length.
        value: u64,
        /// The new version's number.
        version: Option<u64>,
    },
    /// What is to be counted is empty.
    NonNumeric,
    /// Touched.
    Touched,
    /// This was found, with its marks.
    Item {
        /// The value.
        value: u64,
        /// Its number.
        version: Option<u64>,
        /// It is stale.
        stale: bool,
        /// This client has won it.
        won: bool,
        /// Another one had won it before.
        taken: bool,
    },
    /// Nothing was found, and an empty value made.
    Made {
        /// Its number.
        version: Option<u64>,
    },
    /// An error that promises that the operation had no effect and never will.
    Refused,
}

/// The key's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KvState {
    there: There,
    /// 0 where there is no value, or an empty one.
    value: u64,
    /// Of the value's text.
    length: u8,
    stale: bool,
    won: bool,
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
        Self { shown: self.shown, ..KvModel::start() }
    }

    /// After a write that was given the number `version`, or one that nobody was told.
    fn write(self, value: u64, version: Option<u64>) -> Option<Self> {
        let length = length(value);
        Self { value, length, stale: false, won: false, ..self }.renumbered(version)
    }

    /// What is there becomes a new version, with this number or one that nobody was told.
    fn renumbered(self, version: Option<u64>) -> Option<Self> {
        match version {
            None => Some(Self { there: There::Above, ..self }),
            Some(version) if version > self.shown => Some(Self { there: There::Numbered, shown: version, ..self }),
            Some(_) => None,
        }
    }

    /// After a counter's step: its text keeps at least its length, and where that suffices its marks.
    fn count(self, value: u64, version: Option<u64>) -> Option<Self> {
        if self.length == 0 {
            return None;
        }
        let in_place = length(value) <= self.length;
        let length = self.length.max(length(value));
        Self { value, length, stale: self.stale && in_place, won: self.won && in_place, ..self }.renumbered(version)
    }

    /// After a digit was written before or after what is there.
    fn extend(self, digit: u64, before: bool, version: Option<u64>) -> Option<Self> {
        let value = if before {
            digit.wrapping_mul(10_u64.wrapping_pow(self.length.into())).wrapping_add(self.value)
        } else {
            self.value.wrapping_mul(10).wrapping_add(digit)
        };
        let length = self.length.saturating_add(1);
        Self { value, length, stale: false, won: false, ..self }.renumbered(version)
    }

    /// After an empty value was made, and won.
    fn made(self, version: Option<u64>) -> Option<Self> {
        Self { won: true, ..self.absent() }.renumbered(version)
    }

    /// Whether a get that may win what is there does.
    fn wins(&self, recache: bool) -> bool {
        !self.is_absent() && !self.won && (self.stale || recache)
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

/// Digits of a number.
fn length(value: u64) -> u8 {
    value.checked_ilog10().map_or(1, |tens| tens as u8 + 1)
}

impl Model for KvModel {
    type State = KvState;
    type Operation = KvOperation;
    type Outcome = KvOutcome;

    fn start() -> KvState {
        KvState { there: There::Nothing, value: 0, length: 0, stale: false, won: false, shown: 0 }
    }

    #[inline]
    fn step(state: &KvState, operation: &KvOperation, outcome: Option<&KvOutcome>) -> Option<KvState> {
        use KvOperation::{Add, CompareAndSwap, Delete, Expire, Get, Increment, Put, Replace, Touch};
        use KvOutcome::{Deleted, Exists, Gone, Hit, Miss, NotFound, NotStored, Number, Refused, Stored, Touched};
        let (same, absent, there) = (Some(*state), Some(state.absent()), !state.is_absent());
        match (*operation, outcome.copied()) {
            (_, Some(Refused)) | (Get | Touch, None) => same,
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
            (Increment { by }, None) if there => state.count(state.value.wrapping_add(by), None),
            (Increment { by }, Some(Number { value, version })) if there && value == state.value.wrapping_add(by) => {
                state.count(value, version)
            }
            (Add { .. }, Some(NotStored)) | (Touch, Some(Touched)) if there => same,
            (Get, Some(Miss))
            | (Replace { .. }, Some(NotStored))
            | (Delete | CompareAndSwap { .. } | Increment { .. } | Touch, Some(NotFound))
                if !there =>
            {
                same
            }
            (operation, outcome) => step_marked(state, operation, outcome),
        }
    }

    #[inline]
    fn observes(operation: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        use KvOutcome::{Exists, NonNumeric, NotFound, NotStored, Refused};
        let reads = matches!(operation, KvOperation::Get | KvOperation::Touch | KvOperation::Measure);
        reads || matches!(outcome, Some(NotStored | Exists | NotFound | NonNumeric | Refused))
    }

    #[inline]
    fn overwrites(operation: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        use KvOperation::{Add, CompareAndSwap, Delete, Put, Replace};
        match outcome {
            Some(KvOutcome::Deleted | KvOutcome::Gone) => *operation == Delete,
            Some(KvOutcome::Stored { .. }) => {
                matches!(operation, Put { .. } | CompareAndSwap { .. } | Add { .. } | Replace { .. })
            }
            Some(KvOutcome::Miss | KvOutcome::NotFound | KvOutcome::Made { .. }) => true,
            // What is found tells neither its marks nor the length of its text.
            _ => false,
        }
    }

    fn helps(first: &KvOperation, then: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        use KvOperation::{Add, CompareAndSwap, Decrement, Delete, Expire, Extend, Get, Increment, Put, Replace};
        use KvOperation::{Invalidate, Measure, Sum, Swap, Take, Touch, Win};
        // What `first` writes, where that does not depend on what was there.
        let value = match *first {
            Put { value } | CompareAndSwap { value, .. } | Add { value } | Replace { value } => Some(value),
            _ => None,
        };
        let (deletes, counts) = (matches!(first, Delete | Expire { .. }), matches!(first, Increment { .. }));
        // It does more than one of these, or changes marks.
        let is_odd = matches!(
            first,
            Decrement { .. } | Extend { .. } | Invalidate | Win { .. } | Take | Swap { .. } | Sum { .. }
        );
        let writes = value.is_some() || counts;
        let makes_present = matches!(first, Put { .. } | Add { .. });
        match (*then, outcome) {
            (_, Some(KvOutcome::Refused))
            | (Get | Delete | Touch | Measure, None)
            | (Put { .. }, _)
            | (Delete, Some(KvOutcome::Gone)) => false,
            _ if is_odd => true,
            (Get, Some(KvOutcome::Hit { value: seen, .. }))
            | (Win { .. }, Some(KvOutcome::Item { value: seen, .. })) => counts || value == Some(*seen),
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
            | (Touch, Some(KvOutcome::Touched))
            | (Replace { .. }, None | Some(KvOutcome::Stored { .. })) => makes_present,
            (Get | Add { .. } | Replace { .. } | Delete | Increment { .. } | Touch, _) => deletes,
            (
                Decrement { .. } | Extend { .. } | Invalidate | Win { .. } | Take | Swap { .. } | Sum { .. } | Measure,
                _,
            ) => writes || deletes,
        }
    }

    #[inline]
    fn is_spent(state: &KvState, operation: &KvOperation, outcome: Option<&KvOutcome>) -> bool {
        let shown_before = match outcome {
            Some(
                KvOutcome::Stored { version: Some(version) }
                | KvOutcome::Number { version: Some(version), .. }
                | KvOutcome::Made { version: Some(version) },
            ) => *version <= state.shown,
            Some(KvOutcome::Hit { version: Some(version), .. } | KvOutcome::Item { version: Some(version), .. }) => {
                state.has_passed(*version)
            }
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

/// What goes by the marks of what is there, sets them, or makes something where nothing is.
fn step_marked(state: &KvState, operation: KvOperation, outcome: Option<KvOutcome>) -> Option<KvState> {
    use KvOperation::{Decrement, Extend, Increment, Invalidate, Win};
    use KvOutcome::{Deleted, Item, Made, Miss, NonNumeric, NotFound, NotStored, Number, Stored};
    let (same, there) = (Some(*state), !state.is_absent());
    match (operation, outcome) {
        (Increment { .. } | Decrement { .. }, Some(NonNumeric)) if there && state.length == 0 => same,
        (Decrement { by, .. }, None) if there => state.count(state.value.saturating_sub(by), None),
        (Decrement { by, .. }, Some(Number { value, version })) if there && value == state.value.saturating_sub(by) => {
            state.count(value, version)
        }
        (Decrement { initial: Some(initial), .. }, None) => state.write(initial, None),
        (Decrement { initial: Some(initial), .. }, Some(Number { value, version })) if !there && value == initial => {
            state.write(value, version)
        }
        (Decrement { initial: None, .. } | Invalidate, Some(NotFound))
        | (Extend { vivify: false, .. }, Some(NotStored))
        | (Win { vivify: false, .. }, Some(Miss))
            if !there =>
        {
            same
        }
        (Extend { digit, before, .. }, None) if there => state.extend(digit, before, None),
        (Extend { digit, before, .. }, Some(Stored { version })) if there => state.extend(digit, before, version),
        (Extend { digit, vivify: true, .. }, None) => state.write(digit, None),
        (Extend { digit, vivify: true, .. }, Some(Stored { version })) => state.write(digit, version),
        (Invalidate, None | Some(Deleted)) if there => KvState { stale: true, won: false, ..*state }.renumbered(None),
        (Win { recache, .. }, None) if there => Some(KvState { won: state.won || state.wins(recache), ..*state }),
        (Win { recache, .. }, Some(Item { value, version, stale, won, taken }))
            if there && (value, stale, won, taken) == (state.value, state.stale, state.wins(recache), state.won) =>
        {
            let seen = version.map_or(same, |version| state.numbered(version))?;
            Some(KvState { won: won || taken, ..seen })
        }
        (Win { vivify: true, .. }, None) => state.made(None),
        (Win { vivify: true, .. }, Some(Made { version })) if !there => state.made(version),
        (operation, outcome) => step_part(state, operation, outcome),
    }
}

/// What shows something of a value, or changes it, whose text is a number as it is.
fn step_part(state: &KvState, operation: KvOperation, outcome: Option<KvOutcome>) -> Option<KvState> {
    use KvOperation::{Measure, Sum, Swap, Take};
    use KvOutcome::{Hit, Miss, NonNumeric, Number};
    let there = !state.is_absent();
    // The state, knowing what was shown of it.
    let seen = match outcome {
        Some(Hit { value, version }) if there && value == state.value => {
            version.map_or(Some(*state), |version| state.numbered(version))
        }
        Some(Miss) if !there => Some(*state),
        None => Some(*state),
        Some(_) => None,
    };
    let is_plain = !there || state.length == length(state.value);
    let sum = |by| if there { state.value.wrapping_add(by) } else { by };
    match (operation, outcome) {
        (Take, _) => Some(seen?.absent()),
        (Swap { value }, _) => seen?.write(value, None),
        (Sum { by }, None) if is_plain => state.write(sum(by), None),
        (Sum { by }, Some(Number { value, version })) if is_plain && value == sum(by) => state.write(value, version),
        (Sum { .. }, Some(NonNumeric)) if !is_plain => Some(*state),
        (Measure, None) => Some(*state),
        (Measure, Some(Number { value, version: None })) if value == u64::from(state.length) => Some(*state),
        _ => None,
    }
}

impl fmt::Display for KvState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.there {
            There::Nothing => return write!(f, "nothing (version {} was the last shown)", self.shown),
            There::Numbered => write!(f, "value {} version {}", self.value, self.shown)?,
            There::Above => write!(f, "value {} with some version above {}", self.value, self.shown)?,
        }
        f.write_str(if self.stale { ", stale" } else { "" })?;
        f.write_str(if self.won { ", won" } else { "" })
    }
}

impl fmt::Display for KvOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Get => f.write_str("get"),
            Self::Put { value } => write!(f, "put {value}"),
            Self::Delete => f.write_str("delete"),
            Self::Expire { value } => write!(f, "expire {value}"),
            Self::CompareAndSwap { expected, value } => write!(f, "cas {expected} {value}"),
            Self::Add { value } => write!(f, "add {value}"),
            Self::Replace { value } => write!(f, "replace {value}"),
            Self::Increment { by } => write!(f, "increment {by}"),
            Self::Decrement { by, initial: None } => write!(f, "decrement {by}"),
            Self::Decrement { by, initial: Some(initial) } => write!(f, "decrement {by} or {initial}"),
            Self::Extend { digit, before, vivify } => {
                let word = if before { "prepend" } else { "append" };
                write!(f, "{word} {digit}{}", if vivify { " or-store" } else { "" })
            }
            Self::Touch => f.write_str("touch"),
            Self::Invalidate => f.write_str("invalidate"),
            Self::Win { recache, vivify } => {
                let (recache, vivify) = (if recache { " recache" } else { "" }, if vivify { " or-make" } else { "" });
                write!(f, "win{recache}{vivify}")
            }
            Self::Take => f.write_str("take"),
            Self::Swap { value } => write!(f, "swap {value}"),
            Self::Sum { by } => write!(f, "sum {by}"),
            Self::Measure => f.write_str("measure"),
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
            Self::NonNumeric => f.write_str("non-numeric"),
            Self::Touched => f.write_str("touched"),
            Self::Item { value, version, stale, won, taken } => {
                write!(f, "item {value}").and_then(|()| number(f, version))?;
                let mut marks = [(stale, " stale"), (won, " won"), (taken, " taken")].into_iter();
                marks.try_for_each(|(is_so, word)| f.write_str(if is_so { word } else { "" }))
            }
            Self::Made { version } => f.write_str("made").and_then(|()| number(f, version)),
            Self::Refused => f.write_str("refused"),
        }
    }
}
