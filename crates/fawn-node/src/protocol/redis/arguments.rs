//! Words of a command as what they mean.

use super::error::{CommandError, NOT_INTEGER, OUT_OF_RANGE};
use fawn_resp::{Words, number};

/// A word that must be there, because the arity was checked.
#[inline]
pub fn word<'a>(words: &Words<'a>, place: usize) -> &'a [u8] {
    words.get(place).unwrap_or_default()
}

/// A word that is a whole number.
pub fn integer(words: &Words<'_>, place: usize) -> Result<i64, CommandError> {
    number::integer(word(words, place)).ok_or(NOT_INTEGER)
}

/// A word that is a whole number of this range.
pub fn integer_in(words: &Words<'_>, place: usize, range: std::ops::RangeInclusive<i64>) -> Result<i64, CommandError> {
    let number = integer(words, place)?;
    if range.contains(&number) { Ok(number) } else { Err(OUT_OF_RANGE) }
}
