//! Commands of the server.

use super::answer::{Answer, OwnResult};
use super::arguments::{integer, word};
use super::client_state::ClientState;
use super::error::{CommandError, SYNTAX};
use super::info;
use super::reply_state::ReplyKind;
use crate::protocol::ServerRequest;
use fawn_resp::{Words, reply};
use std::time::{SystemTime, UNIX_EPOCH};

/// There is none of what is asked for, so the list is empty.
pub fn nothing<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::array(out, 0);
    Ok(Answer::Written)
}

pub fn empty_map<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::map(out, 0, client.version);
    Ok(Answer::Written)
}

pub fn zero<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::integer(out, 0);
    Ok(Answer::Written)
}

/// There is nothing to do.
pub fn ok<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::simple(out, "OK");
    Ok(Answer::Written)
}

pub fn time<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    reply::array(out, 2);
    reply::bulk(out, now.as_secs().to_string().as_bytes());
    reply::bulk(out, now.subsec_micros().to_string().as_bytes());
    Ok(Answer::Written)
}

/// What was acknowledged is on all replicas of its chain. How many those are depends on the key, so 0 is what holds for all.
pub fn wait<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    integer(words, 1)?;
    let timeout = integer(words, 2).map_err(|_| CommandError::text("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(CommandError::text("ERR timeout is negative"));
    }
    reply::integer(out, 0);
    Ok(Answer::Written)
}

pub fn whoami<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::bulk(out, &client.user);
    Ok(Answer::Written)
}

/// A node takes part in replication by chains; to clients it is a master without replicas.
pub fn role<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::array(out, 3);
    reply::bulk(out, b"master");
    reply::integer(out, 0);
    reply::array(out, 0);
    Ok(Answer::Written)
}

/// Flushes all keys; there is no other way than at once.
pub fn flush<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let mode = word(words, 1);
    let is_known = mode.eq_ignore_ascii_case(b"ASYNC") || mode.eq_ignore_ascii_case(b"SYNC");
    if words.len() > 2 || (words.len() == 2 && !is_known) {
        return Err(SYNTAX);
    }
    Ok(Answer::Server(ServerRequest::FlushAll { at_unix: 0 }, ReplyKind::Status))
}

pub fn dbsize<'a>(_: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Ok(Answer::Server(ServerRequest::Figures, ReplyKind::Integer))
}

pub fn info<'a>(words: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    let sections = info::sections(words.iter().skip(1));
    Ok(Answer::Server(ServerRequest::Figures, ReplyKind::Info { sections }))
}
