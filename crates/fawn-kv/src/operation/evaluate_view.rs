//! From view and item to decision.

use super::decision::{nothing, size};
use super::hash::{self, Hash};
use super::{Decision, EditError, Item, Outcome, View, ViewKind, bit_field, bits, fields, items, string};

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
enum Shown {
    /// A number.
    Integer(i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// That there is nothing.
    Nothing,
}

impl Shown {
    /// Bytes, if there are any.
    fn bytes(found: Option<&[u8]>) -> Self {
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
        ViewKind::Length => Shown::Integer(size(text()?.len())),
        ViewKind::Range { first, last } => Shown::Bytes(string::part(text()?, first, last).to_vec()),
        ViewKind::Bit { place } => Shown::Integer(bits::get(text()?, place).into()),
        ViewKind::CountBits(range) => Shown::Integer(size(bits::count(text()?, range))),
        ViewKind::FindBit { is_set, range, is_open } => Shown::Integer(match string()? {
            None if is_set => -1,
            None => 0,
            Some(value) => bits::find(value, is_set, range, is_open),
        }),
        ViewKind::BitFields => Shown::Bytes(bit_field::show(text()?, argument)?),
        ViewKind::Field => Shown::bytes(hash()?.get(argument)),
        ViewKind::Fields => Shown::Bytes(fields::show_named(hash()?, argument, most_bytes)?),
        ViewKind::AllFields { names, values } => Shown::Bytes(fields::show_all(hash()?, argument, names, values)),
        ViewKind::CountFields => Shown::Integer(size(hash()?.len())),
        ViewKind::HasField => Shown::Integer(hash()?.get(argument).is_some().into()),
        ViewKind::FieldLength => Shown::Integer(size(hash()?.get(argument).map_or(0, <[u8]>::len))),
        ViewKind::RandomFields { count, values, seed } => {
            Shown::Bytes(fields::show_random(hash()?, (count, seed), values, most_bytes)?)
        }
        ViewKind::Record => current.map_or(Shown::Nothing, |item| Shown::Bytes(record(&item))),
    })
}

/// All of an item.
fn record(item: &Item<'_>) -> Vec<u8> {
    let mut list = Vec::with_capacity(item.value.len() + RECORD_HEAD_BYTES);
    items::push(&mut list, Some(item.value));
    for number in [item.flags.into(), item.expiry.into(), item.cas] {
        items::push(&mut list, Some(itoa::Buffer::new().format(number).as_bytes()));
    }
    list
}

/// What is in the list of [`ViewKind::Record`] beside the value, in bytes at most.
const RECORD_HEAD_BYTES: usize = 64;

fn type_name(item: &Item<'_>) -> &'static [u8] {
    if hash::is_hash(item.flags, item.value) { b"hash" } else { b"string" }
}
