//! Reads that show a part of a value, or something computed from it.

use super::evaluate::nothing;
use super::hash::{self, Hash};
use super::{Decision, EditError, Item, Outcome, bit_field, bits, fields, string};
use serde::{Deserialize, Serialize};

/// A read of a part of a value. Its answer is an [`Outcome`](super::Outcome): a number, or what
/// [`Decision::shown`](super::Decision::shown) has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View<'a> {
    /// What is shown.
    pub kind: ViewKind,
    /// What the kind needs besides: see there.
    #[serde(with = "serde_bytes")]
    pub argument: &'a [u8],
}

/// Which part of a value a [`View`] shows. A kind for strings is refused for a hash, and the other way round, with
/// [`EditError::WrongType`](super::EditError::WrongType). Where nothing is said of a missing key, the outcome is
/// [`Outcome::Miss`](super::Outcome::Miss).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewKind {
    /// The name of the value's type: `string` or `hash`.
    Type,
    /// The Unix second of the expiry: -1 for never, -2 for a missing key.
    Expiry,
    /// Bytes of a string; 0 for a missing key.
    Length,
    /// The bytes of a string from `first` to `last`, both included. Negative places count from the end, -1 is the last byte.
    /// A missing key is an empty string.
    Range {
        /// The first byte.
        first: i64,
        /// The last byte.
        last: i64,
    },
    /// A bit of a string: 0 or 1. The bit 0 is the highest of the first byte. Bits behind the end are 0, and those of a missing
    /// key.
    Bit {
        /// The bit's place.
        place: u64,
    },
    /// How many bits of a string are 1; 0 for a missing key.
    CountBits(Option<BitRange>),
    /// The place of the first bit of this value, -1 if there is none. A missing key has zeros from place 0 on, wherever they are
    /// sought; in a string that is empty there is no bit at all.
    FindBit {
        /// The bit's value.
        is_set: bool,
        /// Where it is sought.
        range: Option<BitRange>,
        /// The range has no end, whatever its `last` says. It goes on behind the string, where all bits are 0.
        is_open: bool,
    },
    /// Integers within a string, which are no more than read. Argument and answer are those of
    /// [`EditKind::BitFields`](super::EditKind::BitFields).
    BitFields,
    /// The value of the field that is the argument; no answer shows it if it is missing.
    Field,
    /// The values of the fields in the argument, a list: a list in the same order, with nothing for missing ones, all of them for
    /// a missing key. A list of more bytes than a value may have is refused with
    /// [`EditError::TooLong`](super::EditError::TooLong), as is one of `RandomFields`.
    Fields,
    /// All fields, as a list: names, values, or each name with its value. Empty for a missing key. If the argument is not empty,
    /// it is a [pattern](super::glob), and only fields are listed whose names match it.
    AllFields {
        /// The names are listed.
        names: bool,
        /// The values are listed.
        values: bool,
    },
    /// Number of fields; 0 for a missing key.
    CountFields,
    /// Whether there is a field whose name is the argument: 1 or 0.
    HasField,
    /// Bytes of the field whose name is the argument; 0 for a missing one.
    FieldLength,
    /// Fields chosen at random, as a list of names or of names with their values. Empty for a missing key.
    RandomFields {
        /// So many different ones, or, if it is negative, so many of which some may be the same.
        count: i64,
        /// The values are listed, too.
        values: bool,
        /// Where the random numbers begin.
        seed: u64,
    },
}

/// A part of a string. Negative places count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitRange {
    /// The first place.
    pub first: i64,
    /// The last place, which belongs to it.
    pub last: i64,
    /// Places are those of bits, else those of bytes.
    pub bits: bool,
}

/// Decides a view against the key's `current` item; `most_value_bytes` bounds a list of fields.
pub(super) fn evaluate<'a>(view: &View<'_>, current: Option<Item<'_>>, most_value_bytes: usize) -> Decision<'a> {
    match show(view, current, most_value_bytes) {
        Ok(Shown::Integer(number)) => nothing(Outcome::Integer(number)),
        Ok(Shown::Bytes(shown)) => Decision { shown, ..nothing(Outcome::Computed) },
        Ok(Shown::Nothing) => nothing(Outcome::Miss),
        Err(error) => nothing(Outcome::Refused(error)),
    }
}

/// What a view shows.
pub(super) enum Shown {
    /// A number.
    Integer(i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// That there is nothing.
    Nothing,
}

impl Shown {
    /// A number that is no larger than a value's bits.
    pub(super) fn size(number: usize) -> Self {
        Self::Integer(number as i64)
    }

    /// Bytes, if there are any.
    pub(super) fn bytes(found: Option<&[u8]>) -> Self {
        found.map_or(Self::Nothing, |bytes| Self::Bytes(bytes.to_vec()))
    }
}

fn show(view: &View<'_>, current: Option<Item<'_>>, most_bytes: usize) -> Result<Shown, EditError> {
    let argument = view.argument;
    let string = || string::read(current.as_ref());
    let text = || string().map(Option::unwrap_or_default);
    let hash = || Hash::read(current.as_ref());
    Ok(match view.kind {
        ViewKind::Type => Shown::bytes(current.map(|item| type_name(&item))),
        ViewKind::Expiry => Shown::Integer(match current {
            None => -2,
            Some(Item { expiry: 0, .. }) => -1,
            Some(item) => item.expiry.into(),
        }),
        ViewKind::Length => Shown::size(text()?.len()),
        ViewKind::Range { first, last } => Shown::Bytes(string::part(text()?, first, last).to_vec()),
        ViewKind::Bit { place } => Shown::Integer(bits::get(text()?, place).into()),
        ViewKind::CountBits(range) => Shown::size(bits::count(text()?, range)),
        ViewKind::FindBit { is_set, range, is_open } => Shown::Integer(match string()? {
            None => {
                if is_set {
                    -1
                } else {
                    0
                }
            }
            Some(value) => bits::find(value, is_set, range, is_open),
        }),
        ViewKind::BitFields => Shown::Bytes(bit_field::show(text()?, argument)?),
        ViewKind::Field => Shown::bytes(hash()?.get(argument)),
        ViewKind::Fields => fields::show_named(hash()?, argument, most_bytes)?,
        ViewKind::AllFields { names, values } => fields::show_all(hash()?, argument, names, values),
        ViewKind::CountFields => Shown::size(hash()?.len()),
        ViewKind::HasField => Shown::Integer(hash()?.get(argument).is_some().into()),
        ViewKind::FieldLength => Shown::size(hash()?.get(argument).map_or(0, <[u8]>::len)),
        ViewKind::RandomFields { count, values, seed } => {
            fields::show_random(hash()?, count, values, seed, most_bytes)?
        }
    })
}

fn type_name(item: &Item<'_>) -> &'static [u8] {
    if hash::is_hash(item.flags, item.value) { b"hash" } else { b"string" }
}
