//! Integers of any width within a string: the argument of [`EditKind::BitFields`](super::EditKind::BitFields).

use super::bits::grown;
use super::edit::Editor;
use super::evaluate::nothing;
use super::{Decision, EditError, Outcome, items, string};
use crate::wire::encoding::append;
use serde::{Deserialize, Serialize};

/// One step of several that are carried out in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitFieldStep {
    /// What is done.
    pub action: BitFieldAction,
    /// The integer has a sign.
    pub is_signed: bool,
    /// Bits of the integer: 1 to 64 with a sign, 1 to 63 without.
    pub bits: u8,
    /// The place of its first bit: 0 is the highest bit of the string's first byte.
    pub place: u64,
    /// What becomes of a number that does not fit.
    pub overflow: BitFieldOverflow,
}

/// What a [`BitFieldStep`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BitFieldAction {
    /// Answers with the integer.
    Get,
    /// Writes this one, and answers with the one before.
    Set(i64),
    /// Adds so much, and answers with the sum.
    Add(i64),
}

/// What becomes of a number that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BitFieldOverflow {
    /// The bits that do not fit are dropped.
    #[default]
    Wrap,
    /// The nearest number that fits is written.
    Saturate,
    /// Nothing is written, and the answer of the step is nothing.
    Fail,
}

/// The steps as an argument.
pub fn encode(steps: &[BitFieldStep]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(&mut bytes, &steps);
    bytes
}

/// The steps that an argument has, each of which makes sense.
fn decode(argument: &[u8]) -> Result<Vec<BitFieldStep>, EditError> {
    match postcard::take_from_bytes::<Vec<BitFieldStep>>(argument) {
        Ok((steps, [])) if steps.iter().all(BitFieldStep::is_possible) => Ok(steps),
        _ => Err(EditError::Malformed),
    }
}

/// The integers that steps get, which write nothing: a list.
pub(super) fn show(value: &[u8], argument: &[u8]) -> Result<Vec<u8>, EditError> {
    let steps = decode(argument)?;
    if steps.iter().any(BitFieldStep::is_write) {
        return Err(EditError::Malformed);
    }
    let mut shown = Vec::new();
    steps.iter().for_each(|step| push(&mut shown, Some(step.get(value))));
    Ok(shown)
}

fn push(list: &mut Vec<u8>, number: Option<i64>) {
    let mut buffer = itoa::Buffer::new();
    items::push(list, number.map(|number| buffer.format(number).as_bytes()));
}

impl Editor<'_> {
    pub(super) fn run_bit_fields<'a>(self, argument: &[u8]) -> Result<Decision<'a>, EditError> {
        let steps = decode(argument)?;
        let old = string::read(self.current.as_ref())?.unwrap_or_default();
        let end = steps.iter().filter(|step| step.is_write()).map(BitFieldStep::end_byte).max();
        let Some(end) = end else {
            let shown = show(old, argument)?;
            return Ok(Decision { shown, ..nothing(Outcome::Computed) });
        };
        let mut made = grown(old, self.check_size(end)?.max(old.len()));
        let mut shown = Vec::new();
        for step in &steps {
            push(&mut shown, step.run(&mut made));
        }
        let decision = if made == old { nothing(Outcome::Computed) } else { self.replace(made, Outcome::Computed)? };
        Ok(Decision { shown, ..decision })
    }
}

impl BitFieldStep {
    fn is_possible(&self) -> bool {
        let most_bits = if self.is_signed { 64 } else { 63 };
        (1..=most_bits).contains(&self.bits) && self.place.checked_add(u64::from(self.bits)).is_some()
    }

    fn is_write(&self) -> bool {
        self.action != BitFieldAction::Get
    }

    /// Bytes that a string must have for the integer to be within it.
    fn end_byte(&self) -> u64 {
        (self.place + u64::from(self.bits)).div_ceil(8)
    }

    /// The integer's place within a window of 16 bytes that begins with its first byte.
    fn shift(&self) -> u32 {
        128 - (self.place % 8) as u32 - u32::from(self.bits)
    }

    /// As many ones as the integer has bits.
    fn ones(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The bytes from the integer's first one on, with zeros behind the end.
    fn window(&self, value: &[u8]) -> u128 {
        let mut window = [0; 16];
        let rest = usize::try_from(self.place / 8).ok().and_then(|start| value.get(start..)).unwrap_or_default();
        let len = rest.len().min(window.len());
        window[..len].copy_from_slice(&rest[..len]);
        u128::from_be_bytes(window)
    }

    fn get(&self, value: &[u8]) -> i64 {
        self.narrow((self.window(value) >> self.shift()) as u64)
    }

    /// The lowest bits of a number as an integer of this width.
    fn narrow(&self, number: u64) -> i64 {
        let unused = 64 - u32::from(self.bits);
        if self.is_signed { (number << unused).cast_signed() >> unused } else { (number & self.ones()).cast_signed() }
    }

    /// Writes an integer into a string that has room for it.
    fn put(&self, value: &mut [u8], number: i64) {
        let field = u128::from(self.ones()) << self.shift();
        let bits = u128::from(number.cast_unsigned() & self.ones()) << self.shift();
        let window = (self.window(value) & !field | bits).to_be_bytes();
        let rest = &mut value[(self.place / 8) as usize..];
        let len = rest.len().min(window.len());
        rest[..len].copy_from_slice(&window[..len]);
    }

    /// Carries the step out, and gives its answer.
    fn run(&self, value: &mut [u8]) -> Option<i64> {
        let old = self.get(value);
        let (base, delta, shows_old) = match self.action {
            BitFieldAction::Get => return Some(old),
            BitFieldAction::Set(number) => (number, 0, true),
            BitFieldAction::Add(delta) => (old, delta, false),
        };
        let limit = if self.is_signed { self.signed_limit(base, delta) } else { self.unsigned_limit(base, delta) };
        let new = match (limit, self.overflow) {
            (None, _) => base.wrapping_add(delta),
            (Some(_), BitFieldOverflow::Wrap) => self.narrow(base.wrapping_add(delta).cast_unsigned()),
            (Some(limit), BitFieldOverflow::Saturate) => limit,
            (Some(_), BitFieldOverflow::Fail) => return None,
        };
        self.put(value, new);
        Some(if shows_old { old } else { new })
    }

    /// The limit that a sum exceeds, if it exceeds one. As in Redis, a number far below all that fit counts as one above.
    fn signed_limit(&self, base: i64, delta: i64) -> Option<i64> {
        let most = (self.ones() >> 1).cast_signed();
        let least = -most - 1;
        let (most_delta, least_delta) = (most.wrapping_sub(base), least.wrapping_sub(base));
        let is_narrow = self.bits < 64;
        if base > most || (is_narrow && delta > most_delta) || (base >= 0 && delta > 0 && delta > most_delta) {
            Some(most)
        } else if base < least || (is_narrow && delta < least_delta) || (base < 0 && delta < 0 && delta < least_delta) {
            Some(least)
        } else {
            None
        }
    }

    /// The same without a sign. A negative number to be written counts as one above all that fit.
    fn unsigned_limit(&self, base: i64, delta: i64) -> Option<i64> {
        let most = self.ones().cast_signed();
        match base.checked_add(delta) {
            _ if base < 0 => Some(most),
            Some(..0) => Some(0),
            Some(sum) if sum <= most => None,
            _ => Some(most),
        }
    }
}
