//! Commands that give a value another key: the server carries them out step by step.

use super::answer::{Answer, OwnResult};
use super::arguments::{integer, word};
use super::client_state::ClientState;
use super::error::{CommandError, SYNTAX};
use super::key_command::check_key;
use super::reply_state::ReplyKind;
use crate::protocol::MoveRequest;
use fawn_resp::Words;

const SAME: CommandError = CommandError::text("ERR source and destination objects are the same");
const NO_DATABASE: CommandError = CommandError::text("ERR DB index is out of range");

fn request(words: &Words<'_>, only_absent: bool, deletes_source: bool) -> Result<MoveRequest, CommandError> {
    let (source, target) = (word(words, 1), word(words, 2));
    check_key(source)?;
    check_key(target)?;
    Ok(MoveRequest { source: source.into(), target: target.into(), only_absent, deletes_source })
}

pub fn rename<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Ok(Answer::Server(request(words, false, true)?.into(), ReplyKind::Renamed))
}

pub fn renamenx<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Ok(Answer::Server(request(words, true, true)?.into(), ReplyKind::RenamedIfAbsent))
}

pub fn copy<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let mut replaces = false;
    let mut at = 3;
    while let Some(option) = words.get(at) {
        if option.eq_ignore_ascii_case(b"REPLACE") {
            replaces = true;
        } else if option.eq_ignore_ascii_case(b"DB") && words.get(at + 1).is_some() {
            if integer(words, at + 1)? != 0 {
                return Err(NO_DATABASE);
            }
            at += 1;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if word(words, 1) == word(words, 2) {
        return Err(SAME);
    }
    Ok(Answer::Server(request(words, !replaces, false)?.into(), ReplyKind::Copied))
}
