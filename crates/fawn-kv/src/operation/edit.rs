//! Changes of a part of a value.

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
