//! Changes of a part of a value.

use super::evaluate::{self, nothing};
use super::{Decision, Item, NewValue, Outcome, Version};
use serde::{Deserialize, Serialize};

/// A change of a part of a value, decided by what is there. Its answer is an [`Outcome`](super::Outcome): a number, or what
/// [`Decision::shown`](super::Decision::shown) has. Flags and expiry stay unless the kind says otherwise. A key that is
/// missing begins as an empty string, or a hash without fields, that never expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit<'a> {
    /// What is changed.
    pub kind: EditKind,
    /// What the kind needs besides: see there.
    #[serde(with = "serde_bytes")]
    pub argument: &'a [u8],
}

/// How an [`Edit`] changes a value. A kind for strings is refused for a hash, and the other way round, with
/// [`EditError::WrongType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EditKind {
    /// The argument is the new value, over a value of any type; flags become 0.
    Put {
        /// When it is stored.
        condition: PutCondition,
        /// The new expiry; `None` keeps that of the value before.
        expiry: Option<u32>,
        /// The answer shows the string before, stored or not: the outcome is `Computed`, or `Miss` if there was none. A hash
        /// there is refused. Else the outcome is `Stored` or `NotStored`.
        show: bool,
    },
    /// Shows the string and deletes it; `Miss` if there is none.
    Take,
    /// Adds the argument at the end. The outcome is the new length.
    Append,
    /// Writes the argument over the bytes from a place on; what lies between the end and that place becomes zeros. The outcome
    /// is the new length. An empty argument changes nothing.
    Overwrite {
        /// The first byte's place.
        place: u64,
    },
    /// Sets a bit. The outcome is the bit before.
    SetBit {
        /// The bit's place: 0 is the highest of the first byte.
        place: u64,
        /// Its new value.
        is_set: bool,
    },
    /// Reads and writes integers within a string, as [`bit_field`](super::bit_field) encodes them in the argument. The outcome is
    /// a list of decimal numbers, with nothing for those that an overflow has kept from being written.
    BitFields,
    /// Adds to a signed 64-bit number; a missing key begins with 0. The outcome is the new number.
    Add {
        /// How much.
        delta: i64,
    },
    /// Adds the decimal number that is the argument; a missing key begins with 0. The outcome shows the new number.
    AddFloat,
    /// Gives the value of any type another expiry. The outcome is 1, or 0 if the condition does not hold, or there is no key.
    Expire {
        /// The new expiry.
        expiry: u32,
        /// When it is set.
        condition: ExpiryCondition,
    },
    /// Shows the string, and gives it another expiry; `Miss` if there is none.
    ShowAndExpire {
        /// The new expiry.
        expiry: u32,
    },
    /// Sets fields: the argument is a list of names and values in turn. The outcome is how many were not there before.
    SetFields {
        /// Nothing changes if one of the fields is there.
        only_absent: bool,
    },
    /// Removes the fields in the argument, a list of names; with the last one the key goes. The outcome is how many were
    /// there.
    RemoveFields,
    /// Adds to the signed 64-bit number in the field whose name is the argument; a missing one begins with 0. The outcome is
    /// the new number.
    AddToField {
        /// How much.
        delta: i64,
    },
    /// Adds a decimal number to a field; a missing one begins with 0. The argument is a list of the name and the number. The
    /// outcome shows the new number.
    AddFloatToField,
}

/// When a new value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PutCondition {
    /// Always.
    Always,
    /// Only where nothing is.
    Absent,
    /// Only over something.
    Present,
}

/// When another expiry is set. Never is later than any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExpiryCondition {
    /// Always.
    Always,
    /// Only where there is none.
    Without,
    /// Only where there is one.
    With,
    /// Only if it is later than the one there.
    Later,
    /// Only if it is earlier than the one there.
    Earlier,
    /// Only where there is one, and only if it is earlier.
    WithEarlier,
}

/// Why an [`Edit`] or a [`View`](super::View) is refused. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EditError {
    /// The value is of another type.
    WrongType,
    /// The string is no signed 64-bit number.
    NotInteger,
    /// The string is no decimal number.
    NotFloat,
    /// The field is no signed 64-bit number.
    FieldNotInteger,
    /// The field is no decimal number.
    FieldNotFloat,
    /// The sum does not fit into 64 bits.
    Overflow,
    /// The sum is no finite number.
    NotFinite,
    /// The new value would be larger than a value may be.
    TooLong,
    /// The argument is not what the kind needs.
    Malformed,
}

/// Decides an edit against the key's `current` item; `most_value_bytes` bounds the new value.
pub(super) fn evaluate<'a>(edit: &Edit<'a>, current: Option<Item<'_>>, most_value_bytes: usize) -> Decision<'a> {
    let editor = Editor { current, most_value_bytes };
    decide(edit, editor).unwrap_or_else(|error| nothing(Outcome::Refused(error)))
}

fn decide<'a>(edit: &Edit<'a>, editor: Editor<'_>) -> Result<Decision<'a>, EditError> {
    let argument = edit.argument;
    match edit.kind {
        EditKind::Put { condition, expiry, show } => editor.put(argument, condition, expiry, show),
        EditKind::Take => editor.take(),
        EditKind::Append => editor.append(argument),
        EditKind::Overwrite { place } => editor.overwrite(argument, place),
        EditKind::SetBit { place, is_set } => editor.set_bit(place, is_set),
        EditKind::BitFields => editor.run_bit_fields(argument),
        EditKind::Add { delta } => editor.add(delta),
        EditKind::AddFloat => editor.add_float(argument),
        EditKind::Expire { expiry, condition } => Ok(editor.expire(expiry, condition)),
        EditKind::ShowAndExpire { expiry } => editor.show_and_expire(expiry),
        EditKind::SetFields { only_absent } => editor.set_fields(argument, only_absent),
        EditKind::RemoveFields => editor.remove_fields(argument),
        EditKind::AddToField { delta } => editor.add_to_field(argument, delta),
        EditKind::AddFloatToField => editor.add_float_to_field(argument),
    }
}

/// The item that an edit meets.
#[derive(Clone, Copy)]
pub(super) struct Editor<'i> {
    /// The key's current item.
    pub(super) current: Option<Item<'i>>,
    /// Bounds the new value.
    pub(super) most_value_bytes: usize,
}

impl Editor<'_> {
    /// Refuses a new value of so many bytes, if they are too many.
    pub(super) fn check_size(self, bytes: u64) -> Result<usize, EditError> {
        usize::try_from(bytes).ok().filter(|bytes| *bytes <= self.most_value_bytes).ok_or(EditError::TooLong)
    }

    /// A new value. Flags and expiry stay; the marks go, as the value is new.
    pub(super) fn replace<'a>(self, made: Vec<u8>, outcome: Outcome) -> Result<Decision<'a>, EditError> {
        let flags = self.current.map_or(0, |item| item.flags);
        self.replace_with_flags(made, flags, outcome)
    }

    /// A new value that has these flags.
    pub(super) fn replace_with_flags<'a>(
        self,
        made: Vec<u8>,
        flags: u32,
        outcome: Outcome,
    ) -> Result<Decision<'a>, EditError> {
        self.check_size(made.len() as u64)?;
        let expiry = self.current.map_or(0, |item| item.expiry);
        let value = NewValue::Made(made);
        Ok(evaluate::value(Version { value, flags, expiry, stale: false, won: false, client_cas: None }, outcome))
    }
}
