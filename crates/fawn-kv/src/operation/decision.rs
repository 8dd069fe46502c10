//! Decisions that several operations come to.

use super::{Append, Decision, Item, NewValue, Outcome, Version};

/// No record.
pub(super) fn nothing<'a>(outcome: Outcome) -> Decision<'a> {
    Decision { append: Append::Nothing, outcome, shown: Vec::new() }
}

/// A number of bytes, bits or fields.
pub(super) fn size(number: usize) -> i64 {
    number.cast_signed() as i64
}

/// A version.
pub(super) fn value(version: Version<'_>, outcome: Outcome) -> Decision<'_> {
    Decision { append: Append::Value(version), outcome, shown: Vec::new() }
}

/// The current item again: value, flags, marks and cas as they are.
pub(super) fn unchanged<'a>(item: &Item<'_>) -> Version<'a> {
    Version {
        value: NewValue::Unchanged,
        flags: item.flags,
        expiry: item.expiry,
        stale: item.stale,
        won: item.won,
        client_cas: Some(item.cas),
    }
}

/// The current item with an expiry that may be another one.
pub(super) fn with_expiry<'a>(item: &Item<'_>, expiry: u32, outcome: Outcome) -> Decision<'a> {
    if expiry == item.expiry { nothing(outcome) } else { value(Version { expiry, ..unchanged(item) }, outcome) }
}
