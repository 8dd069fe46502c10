//! Commands that list keys: the server carries them out.

use super::answer::{Answer, OwnResult};
use super::arguments::{integer, word};
use super::client_state::ClientState;
use super::error::{INVALID_CURSOR, SYNTAX};
use super::reply_state::ReplyKind;
use crate::protocol::{ScanRequest, ServerRequest};
use fawn_resp::Words;

/// The number of a cursor.
pub fn cursor(text: &[u8]) -> Option<u64> {
    // As C's strtoul, which Redis reads it with.
    let text = std::str::from_utf8(text).ok()?;
    if text.starts_with(|first: char| first.is_ascii_whitespace()) {
        return None;
    }
    text.parse().ok()
}

/// Keys of a page, unless the client asks for another number.
const PAGE_KEYS: u32 = 10;

pub fn scan<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let cursor = cursor(word(words, 1)).ok_or(INVALID_CURSOR)?;
    let mut scan = ScanRequest { cursor, pattern: None, count: PAGE_KEYS, of_type: None };
    let mut at = 2;
    while let Some(option) = words.get(at) {
        let argument = words.get(at + 1).ok_or(SYNTAX)?;
        if option.eq_ignore_ascii_case(b"COUNT") {
            let count = integer(words, at + 1)?;
            if count < 1 {
                return Err(SYNTAX);
            }
            scan.count = u32::try_from(count).unwrap_or(u32::MAX);
        } else if option.eq_ignore_ascii_case(b"MATCH") {
            scan.pattern = Some(argument.into()).filter(|pattern: &Box<[u8]>| **pattern != *b"*");
        } else if option.eq_ignore_ascii_case(b"TYPE") {
            scan.of_type = Some(argument.to_ascii_lowercase().into());
        } else {
            return Err(SYNTAX);
        }
        at += 2;
    }
    Ok(Answer::Server(ServerRequest::Scan(Box::new(scan)), ReplyKind::Page))
}

pub fn keys<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Ok(Answer::Server(ServerRequest::Keys { pattern: word(words, 1).into() }, ReplyKind::List))
}

pub fn randomkey<'a>(_: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Ok(Answer::Server(ServerRequest::RandomKey, ReplyKind::Value))
}
