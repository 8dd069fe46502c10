//! Commands of the connection.

use super::client::{ClientState, PendingUser, check_name};
use super::error::{CommandError, NO_AUTH, SYNTAX};
use super::reply_state::ReplyKind;
use super::strings::{integer, word};
use super::table::CommandSpec;
use super::{VERSION, refusals};
use crate::protocol::ServerRequest;
use fawn_resp::reply::{self, RespVersion};
use fawn_resp::{Words, number};

/// How a command was answered that has nothing to do with keys.
#[derive(Debug)]
pub enum Answer<'a> {
    /// The reply is written.
    Written,
    /// The reply is written, and the connection is to be closed.
    Close,
    /// The server answers.
    Server(ServerRequest, ReplyKind),
    /// The server says whether this is the user's password. The reply is that of a client of this version.
    Authenticate {
        /// The user's name.
        user: &'a [u8],
        /// The password.
        password: &'a [u8],
        /// The reply if it is.
        reply: ReplyKind,
        /// The version of the protocol of the reply.
        version: RespVersion,
    },
}

type Answered<'a> = Result<Answer<'a>, CommandError>;

/// What a client hears that gives a wrong name or password.
pub const WRONG_PASSWORD: &str = "WRONGPASS invalid username-password pair or user is disabled.";

/// The user that clients are who give none.
pub const DEFAULT_USER: &[u8] = b"default";

pub fn ping<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    match words.len() {
        1 => reply::simple(out, "PONG"),
        2 => reply::bulk(out, word(words, 1)),
        _ => return Err(CommandError::arity(client.spec)),
    }
    Ok(Answer::Written)
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn echo<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::bulk(out, word(words, 1));
    Ok(Answer::Written)
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn quit<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::simple(out, "OK");
    Ok(Answer::Close)
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn reset<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    client.reset();
    reply::simple(out, "RESET");
    Ok(Answer::Written)
}

pub fn select<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if integer(words, 1)? != 0 {
        return Err(CommandError::text("ERR DB index is out of range"));
    }
    reply::simple(out, "OK");
    Ok(Answer::Written)
}

pub fn auth<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
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
    if user == DEFAULT_USER { Ok(()) } else { Err(CommandError::text(WRONG_PASSWORD)) }
}

pub fn hello<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
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
                let option = super::error::repeated(option, usize::MAX);
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

/// What the server says of itself to a client of this number.
pub fn write_greeting(out: &mut Vec<u8>, version: RespVersion, id: u64) {
    reply::map(out, 7, version);
    for (name, value) in [("server", "redis"), ("version", VERSION)] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, value.as_bytes());
    }
    reply::bulk(out, b"proto");
    reply::integer(out, if version == RespVersion::Two { 2 } else { 3 });
    reply::bulk(out, b"id");
    reply::integer(out, id.cast_signed());
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, value.as_bytes());
    }
    reply::bulk(out, b"modules");
    reply::array(out, 0);
}

/// Refuses what a client may not say before it has authenticated.
pub fn check_lock(spec: &CommandSpec) -> Result<(), CommandError> {
    if spec.is("no_auth") { Ok(()) } else { Err(NO_AUTH) }
}

/// Refuses keys that this server has not.
#[inline]
pub fn check_key(key: &[u8]) -> Result<(), CommandError> {
    match key.len() {
        1..=0xffff => Ok(()),
        0 => Err(CommandError::text(refusals::EMPTY_KEY)),
        _ => Err(CommandError::text(refusals::LONG_KEY)),
    }
}
