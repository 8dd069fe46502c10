//! Operations as messages have them, and answers as the checkers have them.

use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::operation::{Arithmetic, Cas, Delete, MetaGet, Mode, Operation, Outcome, Recache, Store};
use fawn_kv::range::entry::{Kept, Shown};

use crate::cluster::clients::operation::Asking;

/// The operation's bytes; `None` for a get that the tail answers.
pub fn encode(asking: &Asking) -> Option<Vec<u8>> {
    let text;
    let operation = match asking.operation {
        KvOperation::Get if !asking.by_head => return None,
        KvOperation::Get => Operation::GetAndTouch { expiry: asking.expiry },
        KvOperation::Touch => Operation::Touch { expiry: asking.expiry },
        KvOperation::Win { recache, vivify } => Operation::MetaGet(MetaGet {
            vivify: vivify.then_some(0),
            recache: recache.then_some(Recache { before: u32::MAX, after_touch: true }),
            touch: recache.then_some(asking.expiry),
            ..MetaGet::default()
        }),
        KvOperation::Expire { .. } => unreachable!("nobody expires"),
        KvOperation::Delete if asking.expiry > 0 => Operation::Touch { expiry: asking.expiry },
        KvOperation::Delete => Operation::Delete(Delete::default()),
        KvOperation::Invalidate => Operation::Delete(Delete { invalidate: true, ..Delete::default() }),
        KvOperation::Increment { by } => count(false, by, None),
        KvOperation::Decrement { by, initial } => count(true, by, initial),
        KvOperation::Extend { digit, before, vivify } => {
            text = digit.to_string();
            let vivify = vivify.then_some(0);
            let mode = if before { Mode::Prepend { vivify } } else { Mode::Append { vivify } };
            Operation::Store(Store { mode, ..Store::set(text.as_bytes()) })
        }
        KvOperation::Put { value }
        | KvOperation::CompareAndSwap { value, .. }
        | KvOperation::Add { value }
        | KvOperation::Replace { value } => {
            text = value.to_string();
            let (mode, compare) = match asking.operation {
                KvOperation::CompareAndSwap { expected, .. } => (Mode::Cas, Some(expected)),
                KvOperation::Add { .. } => (Mode::Add, None),
                KvOperation::Replace { .. } => (Mode::Replace, None),
                _ => (Mode::Set, None),
            };
            Operation::Store(Store { mode, compare, expiry: asking.expiry, ..Store::set(text.as_bytes()) })
        }
    };
    Some(postcard::to_allocvec(&operation).expect("an operation can be encoded"))
}

/// A step of a counter, which begins with `initial` where nothing is.
fn count(decrement: bool, delta: u64, initial: Option<u64>) -> Operation<'static> {
    Operation::Arithmetic(Arithmetic {
        decrement,
        delta,
        initial: initial.unwrap_or(0),
        vivify: initial.map(|_| 0),
        touch: None,
        compare: None,
        new_cas: None,
    })
}

/// What a get that the tail has answered shows.
pub fn found(kept: Option<&Kept>) -> KvOutcome {
    match kept.and_then(|kept| Some((kept.version.as_ref()?, kept.position))) {
        None => KvOutcome::Miss,
        Some((version, position)) => KvOutcome::Hit {
            value: number(&version.value),
            version: Some(version.client_cas.unwrap_or(position.seq.0)),
        },
    }
}

/// The number that a value is, as the model has it: 0 for an empty one; what is too long wraps; a counter that became shorter
/// is filled up with blanks.
fn number(value: &[u8]) -> u64 {
    value.trim_ascii_end().iter().fold(0, |sum: u64, digit| {
        assert!(digit.is_ascii_digit(), "values are numbers");
        sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    })
}

/// What an operation that the head has carried out shows, committed as record `seq`.
pub fn outcome_of(operation: KvOperation, outcome: Outcome, seq: u64, shown: Option<Shown>) -> KvOutcome {
    let version = |cas: Cas| Some(cas.resolve(seq));
    match outcome {
        Outcome::Hit(hit) => {
            let shown = shown.expect("a hit shows something");
            assert_eq!(shown.flags, 0, "nobody sets flags");
            let (value, version) = (number(&shown.value), version(hit.cas));
            match operation {
                KvOperation::Win { .. } if hit.created => {
                    assert!(hit.won && shown.value.is_empty(), "what a get makes is empty, and won");
                    KvOutcome::Made { version }
                }
                KvOperation::Win { .. } => {
                    let (stale, won, taken) = (hit.stale, hit.won, hit.already_won);
                    KvOutcome::Item { value, version, stale, won, taken }
                }
                _ => KvOutcome::Hit { value, version },
            }
        }
        Outcome::Touched if operation == KvOperation::Delete => KvOutcome::Deleted,
        Outcome::Touched => KvOutcome::Touched,
        Outcome::NonNumeric => KvOutcome::NonNumeric,
        Outcome::Miss => KvOutcome::Miss,
        Outcome::Stored { cas, .. } => KvOutcome::Stored { version: version(cas) },
        Outcome::NotStored => KvOutcome::NotStored,
        Outcome::Exists => KvOutcome::Exists,
        Outcome::NotFound => KvOutcome::NotFound,
        Outcome::Deleted => KvOutcome::Deleted,
        Outcome::Number(number) => KvOutcome::Number { value: number.value, version: version(number.cas) },
    }
}
