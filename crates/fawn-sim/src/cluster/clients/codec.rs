//! Operations as messages have them, and answers as the checkers have them.

use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::operation::hash::MAGIC;
use fawn_kv::operation::items::{self, Items};
use fawn_kv::operation::{
    Arithmetic, Cas, Delete, Edit, EditError, EditKind, ExpiryCondition, MetaGet, Mode, Operation, Outcome,
    PutCondition, Recache, Store, View, ViewKind,
};
use fawn_kv::range::entry::{Kept, Shown};

use crate::cluster::clients::operation::{Asking, Form};

/// The name of the field that is the value of a hash.
const FIELD: &[u8] = b"n";

/// The operation's bytes; `None` for a get that the tail answers.
pub fn encode(asking: &Asking) -> Option<Vec<u8>> {
    if asking.operation == KvOperation::Get && !asking.by_head {
        return None;
    }
    match asking.form {
        Form::Whole => Some(encode_whole(asking)),
        Form::Part => Some(encode_part(asking)),
        Form::Field => Some(encode_field(asking)),
    }
}

fn edit(kind: EditKind, argument: &[u8]) -> Vec<u8> {
    Operation::Edit(Edit { kind, argument }).encode()
}

/// As an operation on a string.
fn encode_part(asking: &Asking) -> Vec<u8> {
    let view = |kind| Operation::View(View { kind, argument: b"" }).encode();
    let expire = |expiry| edit(EditKind::Expire { expiry, condition: ExpiryCondition::Always }, b"");
    let put = |condition, expiry, show, value: u64| {
        edit(EditKind::Put { condition, expiry: Some(expiry), show }, value.to_string().as_bytes())
    };
    match asking.operation {
        KvOperation::Get => edit(EditKind::ShowAndExpire { expiry: asking.expiry }, b""),
        // Half of them look at all of it.
        KvOperation::Measure if asking.id.number.is_multiple_of(2) => view(ViewKind::Range { first: 0, last: -1 }),
        KvOperation::Measure => view(ViewKind::Length),
        KvOperation::Put { value } => put(PutCondition::Always, asking.expiry, false, value),
        KvOperation::Swap { value } => put(PutCondition::Always, 0, true, value),
        KvOperation::Add { value } => put(PutCondition::Absent, 0, false, value),
        KvOperation::Replace { value } => put(PutCondition::Present, 0, false, value),
        KvOperation::Take => edit(EditKind::Take, b""),
        KvOperation::Delete | KvOperation::Touch => expire(asking.expiry),
        KvOperation::Sum { by } => edit(EditKind::Add { delta: by.cast_signed() }, b""),
        KvOperation::Extend { digit, .. } => edit(EditKind::Append, digit.to_string().as_bytes()),
        other => unreachable!("no operation on a part does what {other} does"),
    }
}

/// As an operation on the field of a hash.
fn encode_field(asking: &Asking) -> Vec<u8> {
    let set = |only_absent, value: u64| {
        let mut list = Vec::new();
        items::push(&mut list, Some(FIELD));
        items::push(&mut list, Some(value.to_string().as_bytes()));
        edit(EditKind::SetFields { only_absent }, &list)
    };
    match asking.operation {
        KvOperation::Get => Operation::View(View { kind: ViewKind::Field, argument: FIELD }).encode(),
        KvOperation::Put { value } => set(false, value),
        KvOperation::Add { value } => set(true, value),
        KvOperation::Delete => {
            let mut list = Vec::new();
            items::push(&mut list, Some(FIELD));
            edit(EditKind::RemoveFields, &list)
        }
        KvOperation::Sum { by } => edit(EditKind::AddToField { delta: by.cast_signed() }, FIELD),
        KvOperation::Touch => edit(EditKind::Expire { expiry: asking.expiry, condition: ExpiryCondition::Always }, b""),
        other => unreachable!("nobody asks a hash for {other}"),
    }
}

fn encode_whole(asking: &Asking) -> Vec<u8> {
    let text;
    let operation = match asking.operation {
        KvOperation::Get => Operation::GetAndTouch { expiry: asking.expiry },
        KvOperation::Touch => Operation::Touch { expiry: asking.expiry },
        KvOperation::Win { recache, vivify } => Operation::MetaGet(MetaGet {
            vivify: vivify.then_some(0),
            recache: recache.then_some(Recache { before: u32::MAX, after_touch: true }),
            touch: recache.then_some(asking.expiry),
            ..MetaGet::default()
        }),
        other @ (KvOperation::Expire { .. }
        | KvOperation::Take
        | KvOperation::Swap { .. }
        | KvOperation::Sum { .. }
        | KvOperation::Measure) => unreachable!("nobody asks for {other} so"),
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
    postcard::to_allocvec(&operation).expect("an operation can be encoded")
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

/// The field of a hash that has it alone.
fn field(value: &[u8]) -> Option<&[u8]> {
    let fields = value.strip_prefix(&MAGIC)?.strip_prefix(&1_u32.to_le_bytes()).expect("hashes have one field");
    let mut items = Items::of(fields);
    assert_eq!(items.next(), Some(Ok(Some(FIELD))), "nobody sets other fields");
    items.next()?.ok()?
}

/// The number that a value is, as the model has it: 0 for an empty one; what is too long wraps; a counter that became shorter
/// is filled up with blanks.
fn number(value: &[u8]) -> u64 {
    field(value).unwrap_or(value).trim_ascii_end().iter().fold(0, |sum: u64, digit| {
        assert!(digit.is_ascii_digit(), "values are numbers");
        sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    })
}

/// What an operation that the head has carried out shows, committed as record `seq`.
pub fn outcome_of(asking: &Asking, outcome: Outcome, seq: u64, shown: Option<Shown>) -> KvOutcome {
    let operation = asking.operation;
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
        Outcome::NonNumeric | Outcome::Refused(EditError::NotInteger) => KvOutcome::NonNumeric,
        Outcome::Refused(error) => panic!("{operation} is refused: {error:?}"),
        Outcome::Miss => KvOutcome::Miss,
        Outcome::Stored { cas, .. } => KvOutcome::Stored { version: version(cas) },
        Outcome::NotStored => KvOutcome::NotStored,
        Outcome::Exists => KvOutcome::Exists,
        Outcome::NotFound => KvOutcome::NotFound,
        Outcome::Deleted => KvOutcome::Deleted,
        Outcome::Number(number) => KvOutcome::Number { value: number.value, version: version(number.cas) },
        Outcome::Integer(number) => of_integer(asking, u64::try_from(number).expect("nobody counts below 0")),
        Outcome::Computed => {
            let shown = shown.expect("what is computed is shown");
            let value = number(&shown.value);
            match operation {
                KvOperation::Measure => KvOutcome::Number { value: shown.value.len() as u64, version: None },
                _ => KvOutcome::Hit { value, version: None },
            }
        }
    }
}

/// What a number means that an operation on a part came to. None says the number of a version.
fn of_integer(asking: &Asking, number: u64) -> KvOutcome {
    let version = None;
    match (asking.operation, number) {
        (KvOperation::Sum { .. } | KvOperation::Measure, value) => KvOutcome::Number { value, version },
        (KvOperation::Touch, 1) => KvOutcome::Touched,
        (KvOperation::Delete, 1) => KvOutcome::Deleted,
        (KvOperation::Touch | KvOperation::Delete, 0) => KvOutcome::NotFound,
        (KvOperation::Add { .. }, 0) => KvOutcome::NotStored,
        (KvOperation::Put { .. } | KvOperation::Add { .. }, 0 | 1) | (KvOperation::Extend { .. }, 1..) => {
            KvOutcome::Stored { version }
        }
        (operation, number) => panic!("{operation} comes to {number}"),
    }
}
