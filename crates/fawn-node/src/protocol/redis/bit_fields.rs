//! `BITFIELD`: integers of any width within a string.

use super::arguments::{integer, word};
use super::bits::place;
use super::error::{CommandError, SYNTAX};
use super::key_command::{KeyCommand, KeyContext, KeyResult};
use super::reply_state::ReplyKind;
use fawn_kv::operation::bit_field::{BitFieldAction, BitFieldOverflow, BitFieldStep, encode};
use fawn_kv::operation::{EditKind, ViewKind};
use fawn_resp::{Words, number};

pub fn bitfield<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let steps = steps(words)?;
    context.argument.extend_from_slice(&encode(&steps));
    let command = if only_reads(&steps) {
        KeyCommand::view(ViewKind::BitFields, b"", ReplyKind::Numbers)
    } else {
        KeyCommand::edit(EditKind::BitFields, b"", ReplyKind::Numbers)
    };
    Ok(command.with_made_argument())
}

pub fn bitfield_ro<'a>(words: &Words<'a>, context: &mut KeyContext<'_>) -> KeyResult<'a> {
    let steps = steps(words)?;
    if !only_reads(&steps) {
        return Err(CommandError::text("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    context.argument.extend_from_slice(&encode(&steps));
    Ok(KeyCommand::view(ViewKind::BitFields, b"", ReplyKind::Numbers).with_made_argument())
}

fn only_reads(steps: &[BitFieldStep]) -> bool {
    steps.iter().all(|step| step.action == BitFieldAction::Get)
}

fn steps(words: &Words<'_>) -> Result<Vec<BitFieldStep>, CommandError> {
    let (mut steps, mut overflow, mut at) = (Vec::new(), BitFieldOverflow::default(), 2);
    while at < words.len() {
        let (name, left) = (word(words, at), words.len() - at - 1);
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
        if is("OVERFLOW") && left >= 1 {
            overflow = overflow_of(word(words, at + 1))?;
            at += 2;
            continue;
        }
        let has_value = match () {
            () if is("GET") && left >= 2 => false,
            () if (is("SET") || is("INCRBY")) && left >= 3 => true,
            () => return Err(SYNTAX),
        };
        let (is_signed, bits) = type_of(word(words, at + 1))?;
        let place = place(word(words, at + 2), Some(bits))?;
        let action = match has_value {
            false => BitFieldAction::Get,
            true if is("SET") => BitFieldAction::Set(integer(words, at + 3)?),
            true => BitFieldAction::Add(integer(words, at + 3)?),
        };
        steps.push(BitFieldStep { action, is_signed, bits, place, overflow });
        at += 3 + usize::from(has_value);
    }
    Ok(steps)
}

fn overflow_of(name: &[u8]) -> Result<BitFieldOverflow, CommandError> {
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
    match () {
        () if is("WRAP") => Ok(BitFieldOverflow::Wrap),
        () if is("SAT") => Ok(BitFieldOverflow::Saturate),
        () if is("FAIL") => Ok(BitFieldOverflow::Fail),
        () => Err(CommandError::text("ERR Invalid OVERFLOW type specified")),
    }
}

/// Whether the integer has a sign, and its bits.
fn type_of(text: &[u8]) -> Result<(bool, u8), CommandError> {
    let refused = CommandError::text(
        "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
    let (is_signed, bits) = match text {
        [b'i', bits @ ..] => (true, bits),
        [b'u', bits @ ..] => (false, bits),
        _ => return Err(refused),
    };
    let most = if is_signed { 64 } else { 63 };
    let bits = number::integer(bits).filter(|bits| (1..=most).contains(bits)).ok_or(refused)?;
    Ok((is_signed, bits as u8))
}
