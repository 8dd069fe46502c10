//! `CONFIG`: those settings of Redis that clients look at, as they hold here.

use super::answer::{Answer, OwnResult};
use super::arguments::word;
use super::client_state::ClientState;
use super::error::{CommandError, SYNTAX, repeated};
use super::reply_state::ReplyKind;
use crate::protocol::ServerRequest;
use fawn_kv::operation::glob;
use fawn_resp::{Words, reply};
use std::borrow::Cow;

/// What every record that is acknowledged is: written to a log.
fn settings(client: &ClientState) -> [(&'static str, Cow<'static, str>); 14] {
    [
        ("appendonly", "yes".into()),
        ("cluster-enabled", "no".into()),
        ("databases", "1".into()),
        ("hash-max-listpack-entries", "128".into()),
        ("hash-max-listpack-value", "64".into()),
        ("latency-monitor-threshold", "0".into()),
        ("maxmemory", "0".into()),
        ("maxmemory-policy", "noeviction".into()),
        ("notify-keyspace-events", "".into()),
        ("proto-max-bulk-len", client.max_item_bytes.to_string().into()),
        ("save", "".into()),
        ("slowlog-log-slower-than", "-1".into()),
        ("slowlog-max-len", "0".into()),
        ("timeout", "0".into()),
    ]
}

pub fn get<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let found: Vec<_> =
        settings(client).into_iter().filter_map(|(name, value)| Some((asked_as(words, name)?, value))).collect();
    reply::map(out, found.len(), client.version);
    for (name, value) in &found {
        reply::bulk(out, name);
        reply::bulk(out, value.as_bytes());
    }
    Ok(Answer::Written)
}

/// The name of a setting as the reply has it, if it is asked for: as it was sent, unless that is a pattern.
fn asked_as<'a>(words: &Words<'a>, name: &'static str) -> Option<&'a [u8]> {
    words.iter().skip(2).find_map(|asked| {
        let is_pattern = asked.iter().any(|byte| b"[*?".contains(byte));
        match is_pattern {
            false => asked.eq_ignore_ascii_case(name.as_bytes()).then_some(asked),
            true => glob::matches(&asked.to_ascii_lowercase(), name.as_bytes()).then_some(name.as_bytes()),
        }
    })
}

/// Takes what holds anyway, and refuses everything else.
pub fn set<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if !words.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    let settings = settings(client);
    let find = |name: &[u8]| settings.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    let pairs = || (2..words.len()).step_by(2).map(|place| (word(words, place), word(words, place + 1)));
    if let Some((name, _)) = pairs().find(|(name, _)| find(name).is_none()) {
        let name = repeated(name, usize::MAX);
        let text = format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
        return Err(CommandError(text.into()));
    }
    for (name, value) in pairs() {
        if let Some((name, now)) = find(name)
            && now.as_bytes() != value
        {
            let text =
                format!("ERR CONFIG SET failed (possibly related to argument '{name}') - can't set immutable config");
            return Err(CommandError(text.into()));
        }
    }
    reply::simple(out, "OK");
    Ok(Answer::Written)
}

pub fn resetstat<'a>(_: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Ok(Answer::Server(ServerRequest::ResetCounters, ReplyKind::Status))
}

pub fn rewrite<'a>(_: &Words<'a>, _: &mut ClientState, _: &mut Vec<u8>) -> OwnResult<'a> {
    Err(CommandError::text("ERR The server is running without a config file"))
}
