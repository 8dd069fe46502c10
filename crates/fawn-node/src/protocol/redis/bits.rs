//! Commands on bits of strings.

use super::arguments::{integer, word};
use super::error::CommandError;
use super::key_command::{KeyCommand, KeyContext, KeyResult};
use super::reply_state::{Late, LateError, Missing, ReplyKind};
use fawn_kv::operation::{BitRange, EditKind, ViewKind};
use fawn_resp::{Words, number};

/// Largest string of Redis: places of bits are within it.
const MOST_STRING_BYTES: u64 = 512 << 20;

/// A place of a bit; with `#` in front, of an integer of so many bits.
pub fn place(text: &[u8], width: Option<u8>) -> Result<u64, CommandError> {
    let refused = CommandError::text("ERR bit offset is not an integer or out of range");
    let (text, by) = match (text, width) {
        ([b'#', rest @ ..], Some(bits)) => (rest, u64::from(bits)),
        _ => (text, 1),
    };
    let place = number::integer(text).and_then(|place| u64::try_from(place).ok()?.checked_mul(by));
    place.filter(|place| place / 8 < MOST_STRING_BYTES).ok_or(refused)
}

pub fn setbit<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let place = place(word(words, 2), None)?;
    let is_set = match number::integer(word(words, 3)) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(CommandError::text("ERR bit is not an integer or out of range")),
    };
    Ok(KeyCommand::edit(EditKind::SetBit { place, is_set }, b"", ReplyKind::Integer))
}

pub fn getbit<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let place = place(word(words, 2), None)?;
    Ok(KeyCommand::view(ViewKind::Bit { place }, b"", ReplyKind::Integer))
}

/// The range in the words from a place on: first, last and unit. A last place that is missing is the end.
fn range(words: &Words<'_>, at: usize) -> Result<BitRange, LateError> {
    let number = |place| integer(words, place).map_err(|_| LateError::NotInteger);
    let first = number(at)?;
    let bits = match words.get(at + 2) {
        None => false,
        Some(unit) if unit.eq_ignore_ascii_case(b"BIT") => true,
        Some(unit) if unit.eq_ignore_ascii_case(b"BYTE") => false,
        Some(_) => return Err(LateError::Syntax),
    };
    let last = if words.len() > at + 1 { number(at + 1)? } else { -1 };
    Ok(BitRange { first, last, bits })
}

pub fn bitcount<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let range = match words.len() {
        2 => Ok(None),
        4 | 5 => range(words, 2).map(Some),
        _ => Err(LateError::Syntax),
    };
    Ok(match range {
        Ok(range) => KeyCommand::view(ViewKind::CountBits(range), b"", ReplyKind::Integer),
        Err(error) => KeyCommand::refused_late(Late { error, missing: Missing::Zero }),
    })
}

pub fn bitpos<'a>(words: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let is_set = match integer(words, 2)? {
        0 => false,
        1 => true,
        _ => return Err(CommandError::text("ERR The bit argument must be 1 or 0.")),
    };
    let range = match words.len() {
        3 => Ok(None),
        4..=6 => range(words, 3).map(Some),
        _ => Err(LateError::Syntax),
    };
    Ok(match range {
        Ok(range) => {
            KeyCommand::view(ViewKind::FindBit { is_set, range, is_open: words.len() < 5 }, b"", ReplyKind::Integer)
        }
        Err(error) => {
            let missing = if is_set { Missing::MinusOne } else { Missing::Zero };
            KeyCommand::refused_late(Late { error, missing })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_within_the_largest_string() {
        assert_eq!(place(b"7", None), Ok(7));
        assert_eq!(place(b"#2", Some(8)), Ok(16));
        assert_eq!(place(b"4294967295", None), Ok(u64::from(u32::MAX)));
        for (text, width) in
            [("4294967296", None), ("-1", None), ("#1", None), ("x", Some(8)), ("#9223372036854775807", Some(64))]
        {
            assert!(place(text.as_bytes(), width).is_err(), "{text}");
        }
    }
}
