//! `CLIENT`: what the server knows of a connection.

use super::answer::{Answer, OwnResult};
use super::arguments::{integer, word};
use super::client_state::{ClientState, check_name};
use super::error::{CommandError, SYNTAX, repeated};
use super::refusals;
use fawn_resp::reply;
use fawn_resp::{Words, number};

fn ok<'a>(out: &mut Vec<u8>) -> Answer<'a> {
    reply::simple(out, "OK");
    Answer::Written
}

fn is(words: &Words<'_>, place: usize, name: &str) -> bool {
    word(words, place).eq_ignore_ascii_case(name.as_bytes())
}

pub fn setname<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    client.set_name(word(words, 2))?;
    Ok(ok(out))
}

pub fn getname<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if client.name.is_empty() {
        reply::null(out, client.version);
    } else {
        reply::bulk(out, &client.name);
    }
    Ok(Answer::Written)
}

pub fn id<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::integer(out, client.id.cast_signed());
    Ok(Answer::Written)
}

pub fn info<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::text(out, &client.line(), client.version);
    Ok(Answer::Written)
}

/// A connection knows itself alone, so it is the only one listed.
pub fn list<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let mut is_listed = true;
    match words.len() {
        2 => {}
        4 if is(words, 2, "TYPE") => {
            let kind = word(words, 3);
            let known = ["normal", "master", "replica", "slave", "pubsub"];
            if !known.iter().any(|known| kind.eq_ignore_ascii_case(known.as_bytes())) {
                let text = format!("ERR Unknown client type '{}'", repeated(kind, usize::MAX));
                return Err(CommandError(text.into()));
            }
            is_listed = is(words, 3, "normal");
        }
        4.. if is(words, 2, "ID") => {
            let ids: Vec<_> = words.iter().skip(3).map(number::integer).collect();
            if ids.iter().any(|id| id.is_none_or(|id| id < 0)) {
                return Err(CommandError::text("ERR Invalid client ID"));
            }
            is_listed = ids.contains(&Some(client.id.cast_signed()));
        }
        _ => return Err(SYNTAX),
    }
    reply::text(out, &if is_listed { client.line() } else { String::new() }, client.version);
    Ok(Answer::Written)
}

pub fn setinfo<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let (place, name) = match () {
        () if is(words, 2, "LIB-NAME") => (0, "lib-name"),
        () if is(words, 2, "LIB-VER") => (1, "lib-ver"),
        () => {
            let option = repeated(word(words, 2), usize::MAX);
            return Err(CommandError(format!("ERR Unrecognized option '{option}'").into()));
        }
    };
    if check_name(word(words, 3)).is_err() {
        let text = format!("ERR {name} cannot contain spaces, newlines or special characters.");
        return Err(CommandError(text.into()));
    }
    client.library[place] = word(words, 3).to_vec();
    Ok(ok(out))
}

pub fn reply<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    match () {
        () if is(words, 2, "ON") => {
            (client.is_off, client.is_skipped) = (false, false);
            return Ok(ok(out));
        }
        () if is(words, 2, "OFF") => client.is_off = true,
        () if is(words, 2, "SKIP") => client.skips_next = !client.is_off,
        () => return Err(SYNTAX),
    }
    Ok(Answer::Written)
}

/// Items are not evicted, so this changes nothing.
pub fn no_evict<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if is(words, 2, "ON") || is(words, 2, "OFF") { Ok(ok(out)) } else { Err(SYNTAX) }
}

pub fn no_touch<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if is(words, 2, "OFF") {
        return Ok(ok(out));
    }
    Err(if is(words, 2, "ON") {
        CommandError::text("ERR NO-TOUCH ON is not supported: every read counts as a use of its key")
    } else {
        SYNTAX
    })
}

pub fn tracking<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if is(words, 2, "OFF") {
        return Ok(ok(out));
    }
    Err(if is(words, 2, "ON") { CommandError::text(refusals::TRACKING) } else { SYNTAX })
}

pub fn trackinginfo<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::map(out, 3, client.version);
    reply::bulk(out, b"flags");
    reply::set(out, 1, client.version);
    reply::bulk(out, b"off");
    reply::bulk(out, b"redirect");
    reply::integer(out, -1);
    reply::bulk(out, b"prefixes");
    reply::array(out, 0);
    Ok(Answer::Written)
}

pub fn getredir<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::integer(out, -1);
    Ok(Answer::Written)
}

/// No command blocks, so that no client is blocked.
pub fn unblock<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if words.len() > 4 || (words.len() == 4 && !is(words, 3, "TIMEOUT") && !is(words, 3, "ERROR")) {
        return Err(CommandError::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
    }
    integer(words, 2)?;
    reply::integer(out, 0);
    Ok(Answer::Written)
}
