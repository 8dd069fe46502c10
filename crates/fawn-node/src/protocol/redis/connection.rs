//! Commands of the connection.

use super::answer::{Answer, OwnResult};
use super::arguments::{integer, word};
use super::client_state::{ClientState, DEFAULT_USER, PendingUser, check_name};
use super::error::{CommandError, SYNTAX, WRONG_PASSWORD, repeated};
use super::greeting::write_greeting;
use super::reply_state::ReplyKind;
use fawn_resp::reply::{self, RespVersion};
use fawn_resp::{Words, number};

pub fn ping<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    match words.len() {
        1 => reply::simple(out, "PONG"),
        2 => reply::bulk(out, word(words, 1)),
        _ => return Err(CommandError::arity(client.command)),
    }
    Ok(Answer::Written)
}

pub fn echo<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::bulk(out, word(words, 1));
    Ok(Answer::Written)
}

pub fn quit<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::simple(out, "OK");
    Ok(Answer::Close)
}

pub fn reset<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    client.reset();
    reply::simple(out, "RESET");
    Ok(Answer::Written)
}

pub fn select<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    if integer(words, 1)? != 0 {
        return Err(CommandError::text("ERR DB index is out of range"));
    }
    reply::simple(out, "OK");
    Ok(Answer::Written)
}

pub fn auth<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let (user, password) = match words.len() {
        2 => (DEFAULT_USER, word(words, 1)),
        3 => (word(words, 1), word(words, 2)),
        _ => return Err(SYNTAX),
    };
    if !client.authenticates {
        if words.len() == 2 {
            return Err(CommandError::text(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
                 configuration is correct?",
            ));
        }
        check_default(user)?;
        reply::simple(out, "OK");
        return Ok(Answer::Written);
    }
    client.pending = Some(Box::new(PendingUser { user: user.to_vec(), version: client.version, name: None }));
    Ok(Answer::Authenticate { user, password, reply: ReplyKind::Status, version: client.version })
}

/// Where nobody has to authenticate, there is one user, whose password is any.
fn check_default(user: &[u8]) -> Result<(), CommandError> {
    if user == DEFAULT_USER { Ok(()) } else { Err(WRONG_PASSWORD) }
}

pub fn hello<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let version = match words.get(1).map(number::integer) {
        None => client.version,
        Some(None) => return Err(CommandError::text("ERR Protocol version is not an integer or out of range")),
        Some(Some(2)) => RespVersion::Two,
        Some(Some(3)) => RespVersion::Three,
        Some(Some(_)) => return Err(CommandError::text("NOPROTO unsupported protocol version")),
    };
    let (mut user, mut name, mut at) = (None, None, 2);
    while let Some(option) = words.get(at) {
        let (first, second) = (words.get(at + 1), words.get(at + 2));
        match (first, second) {
            (Some(who), Some(password)) if option.eq_ignore_ascii_case(b"AUTH") => {
                user = Some((who, password));
                at += 3;
            }
            (Some(new), _) if option.eq_ignore_ascii_case(b"SETNAME") => {
                name = Some(new);
                at += 2;
            }
            _ => {
                let option = repeated(option, usize::MAX);
                return Err(CommandError(format!("ERR Syntax error in HELLO option '{option}'").into()));
            }
        }
    }
    let reply = ReplyKind::Hello { id: client.id };
    if let Some((user, password)) = user
        && client.authenticates
    {
        name.map_or(Ok(()), check_name)?;
        let pending = PendingUser { user: user.to_vec(), version, name: name.map(<[u8]>::to_vec) };
        client.pending = Some(Box::new(pending));
        return Ok(Answer::Authenticate { user, password, reply, version });
    }
    user.map_or(Ok(()), |(user, _)| check_default(user))?;
    if client.is_locked {
        return Err(CommandError::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> \
             option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        client.set_name(name)?;
    }
    client.version = version;
    write_greeting(out, version, client.id);
    Ok(Answer::Written)
}
