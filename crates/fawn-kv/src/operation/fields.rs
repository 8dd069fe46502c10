//! Views and edits of a hash's fields.

use super::edit::Editor;
use super::evaluate::nothing;
use super::hash::{Field, HASH_FLAGS, Hash, HashWriter};
use super::items::{self, Items};
use super::random::Random;
use super::view::Shown;
use super::{Append, Decision, EditError, Outcome, float, glob, integer};
use smallvec::SmallVec;

/// The items of an argument, none of which is nothing.
fn arguments(argument: &[u8]) -> Result<SmallVec<[&[u8]; 8]>, EditError> {
    Items::of(argument).map(|item| item.ok().flatten().ok_or(EditError::Malformed)).collect()
}

/// Different names, in an order in which they are quickly found.
struct Names<'a> {
    /// Each with its place among those given; the first one's, if it was given more than once.
    sorted: SmallVec<[(&'a [u8], usize); 8]>,
}

impl<'a> Names<'a> {
    fn of(names: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut sorted: SmallVec<[_; 8]> = names.zip(0..).collect();
        sorted.sort_unstable();
        sorted.dedup_by_key(|(name, _)| *name);
        Self { sorted }
    }

    /// The rank of a name that is among them.
    fn rank(&self, name: &[u8]) -> Option<usize> {
        self.sorted.binary_search_by_key(&name, |(name, _)| name).ok()
    }

    /// Something for each of them.
    fn each<T: Copy>(&self, value: T) -> SmallVec<[T; 8]> {
        SmallVec::from_elem(value, self.sorted.len())
    }
}

pub(super) fn show_named(hash: Hash<'_>, argument: &[u8], most_bytes: usize) -> Result<Shown, EditError> {
    let wanted = arguments(argument)?;
    let names = Names::of(wanted.iter().copied());
    let mut values = names.each(None);
    for (name, value) in hash.fields() {
        if let Some(rank) = names.rank(name) {
            values[rank] = Some(value);
        }
    }
    let mut shown = Vec::new();
    for name in wanted {
        items::push(&mut shown, names.rank(name).and_then(|rank| values[rank]));
        check(&shown, most_bytes)?;
    }
    Ok(Shown::Bytes(shown))
}

fn check(shown: &[u8], most_bytes: usize) -> Result<(), EditError> {
    if shown.len() > most_bytes { Err(EditError::TooLong) } else { Ok(()) }
}

pub(super) fn show_all(hash: Hash<'_>, pattern: &[u8], names: bool, values: bool) -> Shown {
    if pattern.is_empty() && names && values {
        return Shown::Bytes(hash.list().to_vec());
    }
    let mut shown = Vec::new();
    for (name, value) in hash.fields().filter(|(name, _)| pattern.is_empty() || glob::matches(pattern, name)) {
        if names {
            items::push(&mut shown, Some(name));
        }
        if values {
            items::push(&mut shown, Some(value));
        }
    }
    Shown::Bytes(shown)
}

pub(super) fn show_random(
    hash: Hash<'_>,
    count: i64,
    values: bool,
    seed: u64,
    most_bytes: usize,
) -> Result<Shown, EditError> {
    let mut fields: Vec<_> = hash.fields().collect();
    let mut random = Random::new(seed);
    let mut shown = Vec::new();
    let mut left = if fields.is_empty() { 0 } else { count.unsigned_abs() };
    let is_all = count > 0 && left >= fields.len() as u64;
    let mut next = 0;
    if is_all {
        left = fields.len() as u64;
    }
    for _ in 0..left {
        let place = if is_all { next } else { next + random.below(fields.len() - next) };
        let (name, value) = fields[place];
        items::push(&mut shown, Some(name));
        if values {
            items::push(&mut shown, Some(value));
        }
        check(&shown, most_bytes)?;
        if count > 0 {
            // What was chosen comes to the front and is not chosen again.
            fields.swap(next, place);
            next += 1;
        }
    }
    Ok(Shown::Bytes(shown))
}

/// A hash with these fields set, and how many of them were not there before.
fn with_fields(hash: Hash<'_>, fields: &[Field<'_>]) -> (Vec<u8>, usize) {
    let names = Names::of(fields.iter().map(|(name, _)| *name));
    let mut newest = names.each(&b""[..]);
    for (name, value) in fields {
        newest[names.rank(name).expect("it is among them")] = value;
    }
    let mut is_there = names.each(false);
    let room = fields.iter().map(|(name, value)| name.len() + value.len() + 2 * ITEM_HEAD_BYTES).sum::<usize>();
    let mut made = HashWriter::with_room(hash.list().len() + room);
    for (name, value) in hash.fields() {
        let rank = names.rank(name);
        made.push((name, rank.map_or(value, |rank| newest[rank])));
        if let Some(rank) = rank {
            is_there[rank] = true;
        }
    }
    let mut added = 0;
    for (place, (name, _)) in fields.iter().enumerate() {
        let rank = names.rank(name).expect("it is among them");
        if !is_there[rank] && names.sorted[rank].1 == place {
            made.push((name, newest[rank]));
            added += 1;
        }
    }
    (made.finish(), added)
}

/// What an item of a list has before its bytes, at most.
const ITEM_HEAD_BYTES: usize = 5;

impl Editor<'_> {
    pub(super) fn set_fields<'a>(self, argument: &[u8], only_absent: bool) -> Result<Decision<'a>, EditError> {
        let arguments = arguments(argument)?;
        let (pairs, []) = arguments.as_chunks::<2>() else { return Err(EditError::Malformed) };
        if pairs.is_empty() {
            return Err(EditError::Malformed);
        }
        let hash = Hash::read(self.current.as_ref())?;
        let fields: SmallVec<[Field<'_>; 4]> = pairs.iter().map(|[name, value]| (*name, *value)).collect();
        if only_absent {
            let names = Names::of(fields.iter().map(|(name, _)| *name));
            if hash.fields().any(|(name, _)| names.rank(name).is_some()) {
                return Ok(nothing(Outcome::Integer(0)));
            }
        }
        let (made, added) = with_fields(hash, &fields);
        self.replace_with_flags(made, HASH_FLAGS, Outcome::Integer(added as i64))
    }

    pub(super) fn remove_fields<'a>(self, argument: &[u8]) -> Result<Decision<'a>, EditError> {
        let names = Names::of(arguments(argument)?.into_iter());
        let hash = Hash::read(self.current.as_ref())?;
        let removed = hash.fields().filter(|(name, _)| names.rank(name).is_some()).count();
        let outcome = Outcome::Integer(removed as i64);
        if removed == 0 {
            return Ok(nothing(outcome));
        }
        if removed == hash.len() {
            return Ok(Decision { append: Append::Delete, ..nothing(outcome) });
        }
        let mut made = HashWriter::with_room(hash.list().len());
        hash.fields().filter(|(name, _)| names.rank(name).is_none()).for_each(|field| made.push(field));
        self.replace_with_flags(made.finish(), HASH_FLAGS, outcome)
    }

    pub(super) fn add_to_field<'a>(self, name: &[u8], delta: i64) -> Result<Decision<'a>, EditError> {
        let hash = Hash::read(self.current.as_ref())?;
        let old = match hash.get(name) {
            Some(text) => integer::parse(text).ok_or(EditError::FieldNotInteger)?,
            None => 0,
        };
        let sum = old.checked_add(delta).ok_or(EditError::Overflow)?;
        let (made, _) = with_fields(hash, &[(name, itoa::Buffer::new().format(sum).as_bytes())]);
        self.replace_with_flags(made, HASH_FLAGS, Outcome::Integer(sum))
    }

    pub(super) fn add_float_to_field<'a>(self, argument: &[u8]) -> Result<Decision<'a>, EditError> {
        let arguments = arguments(argument)?;
        let [name, delta] = arguments[..] else { return Err(EditError::Malformed) };
        let delta = float::parse(delta).ok_or(EditError::NotFloat)?;
        let hash = Hash::read(self.current.as_ref())?;
        let old = float::parse(hash.get(name).unwrap_or(b"0")).ok_or(EditError::FieldNotFloat)?;
        let shown = float::print(float::add(old, delta).ok_or(EditError::NotFinite)?);
        let (made, _) = with_fields(hash, &[(name, &shown)]);
        Ok(Decision { shown, ..self.replace_with_flags(made, HASH_FLAGS, Outcome::Computed)? })
    }
}
