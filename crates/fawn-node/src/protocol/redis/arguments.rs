//! Words of a command as what they mean.

use super::error::{CommandError, NOT_INTEGER};
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
    if range.contains(&number) {
        return Ok(number);
    }
    let text = format!("ERR value is out of range, value must between {} and {}", range.start(), range.end());
    Err(CommandError(text.into()))
}
