//! Commands that list keys: the server carries them out.

use super::answer::{Answer, OwnResult};
use super::arguments::{integer, word};
use super::client_state::ClientState;
use super::error::{INVALID_CURSOR, SYNTAX};
use super::reply_state::ReplyKind;
use crate::protocol::{ScanExtent, ScanRequest, ServerRequest, WantedValues};
use fawn_resp::Words;
use std::hash::{BuildHasher as _, RandomState};

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
const PAGE_KEYS: usize = 10;

pub fn scan<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let cursor = cursor(word(words, 1)).ok_or(INVALID_CURSOR)?;
    let (mut pattern, mut wanted, mut count) = (None, WantedValues::All, PAGE_KEYS);
    let mut at = 2;
    while let Some(option) = words.get(at) {
        let argument = words.get(at + 1).ok_or(SYNTAX)?;
        if option.eq_ignore_ascii_case(b"COUNT") {
            let number = integer(words, at + 1)?;
            if number < 1 {
                return Err(SYNTAX);
            }
            count = usize::try_from(number).unwrap_or(usize::MAX);
        } else if option.eq_ignore_ascii_case(b"MATCH") {
            pattern = (argument != b"*").then(|| argument.into());
        } else if option.eq_ignore_ascii_case(b"TYPE") {
            wanted = wanted_type(argument);
        } else {
            return Err(SYNTAX);
        }
        at += 2;
    }
    let scan = ScanRequest { extent: ScanExtent::Page { cursor, count }, pattern, wanted };
    Ok(Answer::Server(ServerRequest::Scan(Box::new(scan)), ReplyKind::Page))
}

/// The values of a type; there are none of other types.
fn wanted_type(name: &[u8]) -> WantedValues {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    match () {
        () if is("string") => WantedValues::Strings,
        () if is("hash") => WantedValues::Hashes,
        () => WantedValues::None,
    }
}

pub fn keys<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let pattern = Some(word(words, 1).into());
    let scan = ScanRequest { extent: ScanExtent::All, pattern, wanted: WantedValues::All };
    Ok(Answer::Server(ServerRequest::Scan(Box::new(scan)), ReplyKind::Keys))
}

pub fn randomkey<'a>(_: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let random = RandomState::new().hash_one(());
    let scan = ScanRequest { extent: ScanExtent::One(random), pattern: None, wanted: WantedValues::All };
    Ok(Answer::Server(ServerRequest::Scan(Box::new(scan)), ReplyKind::OneKey))
}
