//! Times to live: commands that set and show them.

use super::arguments::integer;
use super::error::{CommandError, NOT_INTEGER};
use super::key_command::{KeyCommand, KeyContext, KeyResult};
use super::reply_state::ReplyKind;
use fawn_kv::operation::{EditKind, ExpiryCondition, ViewKind};
use fawn_resp::{Words, number};
use fawn_store::timekeeper::Time;

/// How a time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds from now.
    Seconds,
    /// Milliseconds from now.
    Millis,
    /// A Unix second.
    UnixSecond,
    /// A Unix millisecond.
    UnixMilli,
}

/// An expiry that has passed, whenever it is looked at.
const PAST: u32 = 1;

impl TimeUnit {
    /// The unit of an option of `SET`.
    pub fn of_option(option: &[u8]) -> Option<Self> {
        let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
        match () {
            () if is("EX") => Some(Self::Seconds),
            () if is("PX") => Some(Self::Millis),
            () if is("EXAT") => Some(Self::UnixSecond),
            () if is("PXAT") => Some(Self::UnixMilli),
            () => None,
        }
    }

    fn is_relative(self) -> bool {
        matches!(self, Self::Seconds | Self::Millis)
    }

    fn is_seconds(self) -> bool {
        matches!(self, Self::Seconds | Self::UnixSecond)
    }

    /// The Unix millisecond that the number names; `None` if Redis has none.
    fn unix_millis(self, number: i64, time: &Time) -> Option<i64> {
        let millis = if self.is_seconds() { number.checked_mul(1000)? } else { number };
        let from = if self.is_relative() { i64::from(time.steady()) * 1000 } else { 0 };
        millis.checked_add(from)
    }

    /// The expiry that the number names: rounded up to whole seconds, at least [`PAST`], and at most what 32 bits hold.
    fn expiry(self, number: i64, time: &Time) -> u32 {
        let seconds = if self.is_seconds() { number } else { number.div_euclid(1000) + i64::from(number % 1000 != 0) };
        if seconds <= 0 {
            return PAST;
        }
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        if self.is_relative() { time.expiry_in(seconds) } else { seconds }
    }
}

/// The expiry in an argument of a command that stores, where it has to be positive.
pub fn expiry_of(text: &[u8], unit: TimeUnit, context: &KeyContext<'_>) -> Result<u32, CommandError> {
    let number = number::integer(text).ok_or(NOT_INTEGER)?;
    if number <= 0 || unit.unix_millis(number, context.time).is_none() {
        return Err(CommandError::expire_time(context.name));
    }
    Ok(unit.expiry(number, context.time))
}

pub fn expire<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set(words, TimeUnit::Seconds, context)
}

pub fn pexpire<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set(words, TimeUnit::Millis, context)
}

pub fn expireat<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set(words, TimeUnit::UnixSecond, context)
}

pub fn pexpireat<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    set(words, TimeUnit::UnixMilli, context)
}

fn set<'a>(words: &Words<'a>, unit: TimeUnit, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let condition = condition(words)?;
    let number = integer(words, 2)?;
    if unit.unix_millis(number, context.time).is_none() {
        return Err(CommandError::expire_time(context.name));
    }
    let expiry = unit.expiry(number, context.time);
    Ok(KeyCommand::edit(EditKind::Expire { expiry, condition }, b"", ReplyKind::Integer).with_clock())
}

/// What the words behind a time say.
fn condition(words: &Words<'_>) -> Result<ExpiryCondition, CommandError> {
    let [mut without, mut with, mut later, mut earlier] = [false; 4];
    for option in words.iter().skip(3) {
        let is = |name: &str| option.eq_ignore_ascii_case(name.as_bytes());
        match () {
            () if is("NX") => without = true,
            () if is("XX") => with = true,
            () if is("GT") => later = true,
            () if is("LT") => earlier = true,
            () => {
                let text = format!("ERR Unsupported option {}", super::error::repeated(option, usize::MAX));
                return Err(CommandError(text.into()));
            }
        }
    }
    match (without, with, later, earlier) {
        (true, true, ..) | (true, _, true, _) | (true, _, _, true) => {
            Err(CommandError::text("ERR NX and XX, GT or LT options at the same time are not compatible"))
        }
        (_, _, true, true) => Err(CommandError::text("ERR GT and LT options at the same time are not compatible")),
        (true, ..) => Ok(ExpiryCondition::Without),
        // What never expires is later than any time, so that `XX` adds nothing.
        (_, _, true, _) => Ok(ExpiryCondition::Later),
        (_, true, _, true) => Ok(ExpiryCondition::WithEarlier),
        (_, _, _, true) => Ok(ExpiryCondition::Earlier),
        (_, true, ..) => Ok(ExpiryCondition::With),
        (..) => Ok(ExpiryCondition::Always),
    }
}

fn show<'a>(millis: bool, absolute: bool) -> KeyCommand<'a> {
    KeyCommand::view(ViewKind::Expiry, b"", ReplyKind::Expiry { millis, absolute })
}

pub fn ttl<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(show(false, false))
}

pub fn pttl<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(show(true, false))
}

pub fn expiretime<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(show(false, true))
}

pub fn pexpiretime<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    Ok(show(true, true))
}

pub fn persist<'a>(_: &Words<'a>, _: &mut KeyContext<'_>) -> KeyResult<'a> {
    let kind = EditKind::Expire { expiry: 0, condition: ExpiryCondition::With };
    Ok(KeyCommand::edit(kind, b"", ReplyKind::Integer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_seconds_and_kept_within_32_bits() {
        let time = Time::at(1_800_000_000);
        let expiry = |unit: TimeUnit, number| unit.expiry(number, &time);
        assert_eq!(expiry(TimeUnit::Seconds, 10), 1_800_000_010);
        assert_eq!(expiry(TimeUnit::Millis, 1), 1_800_000_001);
        assert_eq!(expiry(TimeUnit::Millis, 1000), 1_800_000_001);
        assert_eq!(expiry(TimeUnit::Millis, 1001), 1_800_000_002);
        assert_eq!(expiry(TimeUnit::UnixMilli, 1_900_000_000_001), 1_900_000_001);
        assert_eq!(expiry(TimeUnit::Seconds, i64::MAX), u32::MAX);
        for unit in [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::UnixSecond, TimeUnit::UnixMilli] {
            assert_eq!((expiry(unit, 0), expiry(unit, -5), expiry(unit, i64::MIN)), (PAST, PAST, PAST));
            assert_eq!(unit.unix_millis(i64::MAX, &time).is_some(), unit == TimeUnit::UnixMilli, "{unit:?}");
        }
    }
}
