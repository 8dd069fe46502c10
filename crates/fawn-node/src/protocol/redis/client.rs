//! `CLIENT`: what the server knows of a connection.

use super::connection::{Answer, DEFAULT_USER};
use super::error::{CommandError, SYNTAX};
use super::refusals;
use super::strings::word;
use super::table::CommandSpec;
use crate::protocol::ParserOptions;
use fawn_resp::reply::{self, RespVersion};
use fawn_resp::{Words, number};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a connection's parser knows of its client.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct ClientState {
    /// The client's number, which no other has.
    pub id: u64,
    /// The name that the client gave itself.
    name: Vec<u8>,
    /// The client's library, and its version.
    library: [Vec<u8>; 2],
    /// The user that it is.
    pub user: Vec<u8>,
    /// The version of the protocol.
    pub version: RespVersion,
    /// Clients have to authenticate.
    pub authenticates: bool,
    /// The client has yet to authenticate.
    pub is_locked: bool,
    /// What becomes so once the server says that the password is right.
    pub pending: Option<Box<PendingUser>>,
    /// The command at hand.
    pub spec: &'static CommandSpec,
    /// Largest item, in bytes.
    pub max_item_bytes: usize,
    /// The second now, and that of the first command.
    now: u32,
    began: u32,
    /// Both ends of the connection.
    peer: Option<SocketAddr>,
    local: Option<SocketAddr>,
    /// The client hears no replies.
    is_off: bool,
    /// The client does not hear the reply to the command at hand.
    is_skipped: bool,
    /// Nor will it hear the next one.
    skips_next: bool,
}

/// A user whose password is being checked.
#[derive(Debug)]
pub struct PendingUser {
    /// The user.
    pub user: Vec<u8>,
    /// The version of the protocol.
    pub version: RespVersion,
    /// The client's name for itself.
    pub name: Option<Vec<u8>>,
}

type Answered<'a> = Result<Answer<'a>, CommandError>;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl ClientState {
    /// A client that has said nothing yet.
    pub fn new(options: &ParserOptions, spec: &'static CommandSpec) -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name: Vec::new(),
            library: [Vec::new(), Vec::new()],
            user: DEFAULT_USER.to_vec(),
            version: RespVersion::Two,
            authenticates: options.authenticates,
            is_locked: options.authenticates,
            pending: None,
            spec,
            max_item_bytes: options.max_item_bytes,
            now: 0,
            began: 0,
            peer: options.peer,
            local: options.local,
            is_off: false,
            is_skipped: false,
            skips_next: false,
        }
    }

    /// A command begins at this second.
    #[inline]
    pub fn begin(&mut self, now: u32) {
        self.now = now;
        if self.began == 0 {
            self.began = now;
        }
        self.pending = None;
        self.is_skipped = std::mem::take(&mut self.skips_next);
    }

    /// Whether the client does not hear the reply to the command at hand.
    #[inline]
    pub fn is_muted(&self) -> bool {
        self.is_off || self.is_skipped
    }

    /// The password was right.
    pub fn authenticated(&mut self) {
        self.is_locked = false;
        if let Some(pending) = self.pending.take() {
            (self.user, self.version) = (pending.user, pending.version);
            self.name = pending.name.unwrap_or_else(|| std::mem::take(&mut self.name));
        }
    }

    /// As at its beginning.
    pub fn reset(&mut self) {
        self.name.clear();
        self.user = DEFAULT_USER.to_vec();
        self.version = RespVersion::Two;
        self.is_locked = self.authenticates;
        (self.is_off, self.is_skipped, self.skips_next) = (false, false, false);
    }

    /// Gives the client a name.
    pub fn set_name(&mut self, name: &[u8]) -> Result<(), CommandError> {
        check_name(name)?;
        self.name = name.to_vec();
        Ok(())
    }

    /// The address that the client has connected to, as far as it is one.
    pub fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// The line about the client.
    fn line(&self) -> String {
        let address = |of: Option<SocketAddr>| of.map_or_else(|| "?:0".to_owned(), |address| address.to_string());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let [library, release] = self.library.each_ref().map(|bytes| text(bytes));
        format!(
            "id={} addr={} laddr={} name={} age={} idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 cmd={} user={} redir=-1 \
             resp={} lib-name={library} lib-ver={release}\n",
            self.id,
            address(self.peer),
            address(self.local),
            text(&self.name),
            self.now.saturating_sub(self.began),
            self.spec.name,
            text(&self.user),
            if self.version == RespVersion::Two { 2 } else { 3 },
        )
    }
}

/// Longest name of a client, in bytes.
const MOST_NAME_BYTES: usize = 4096;

/// Refuses names that would not be one word in a list.
pub fn check_name(name: &[u8]) -> Result<(), CommandError> {
    if name.len() > MOST_NAME_BYTES {
        return Err(CommandError::text("ERR a name of a client has at most 4096 bytes"));
    }
    if name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        return Ok(());
    }
    Err(CommandError::text("ERR Client names cannot contain spaces, newlines or special characters."))
}

fn ok<'a>(out: &mut Vec<u8>) -> Answer<'a> {
    reply::simple(out, "OK");
    Answer::Written
}

fn is(words: &Words<'_>, place: usize, name: &str) -> bool {
    word(words, place).eq_ignore_ascii_case(name.as_bytes())
}

pub fn setname<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    client.set_name(word(words, 2))?;
    Ok(ok(out))
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn getname<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if client.name.is_empty() {
        reply::null(out, client.version)
    } else {
        reply::bulk(out, &client.name)
    }
    Ok(Answer::Written)
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn id<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::integer(out, client.id.cast_signed());
    Ok(Answer::Written)
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn info<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::text(out, &client.line(), client.version);
    Ok(Answer::Written)
}

/// A connection knows itself alone, so it is the only one listed.
pub fn list<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    let mut is_listed = true;
    match words.len() {
        2 => {}
        4 if is(words, 2, "TYPE") => {
            let kind = word(words, 3);
            let known = ["normal", "master", "replica", "slave", "pubsub"];
            if !known.iter().any(|known| kind.eq_ignore_ascii_case(known.as_bytes())) {
                let text = format!("ERR Unknown client type '{}'", super::error::repeated(kind, usize::MAX));
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

pub fn setinfo<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    let (place, name) = match () {
        () if is(words, 2, "LIB-NAME") => (0, "lib-name"),
        () if is(words, 2, "LIB-VER") => (1, "lib-ver"),
        () => {
            let option = super::error::repeated(word(words, 2), usize::MAX);
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

pub fn reply<'a>(words: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
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
pub fn no_evict<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if is(words, 2, "ON") || is(words, 2, "OFF") { Ok(ok(out)) } else { Err(SYNTAX) }
}

pub fn no_touch<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if is(words, 2, "OFF") {
        return Ok(ok(out));
    }
    Err(if is(words, 2, "ON") {
        CommandError::text("ERR NO-TOUCH ON is not supported: every read counts as a use of its key")
    } else {
        SYNTAX
    })
}

pub fn tracking<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if is(words, 2, "OFF") {
        return Ok(ok(out));
    }
    Err(if is(words, 2, "ON") { CommandError::text(refusals::TRACKING) } else { SYNTAX })
}

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn trackinginfo<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
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

#[allow(clippy::unnecessary_wraps)] // as all of the table's
pub fn getredir<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    reply::integer(out, -1);
    Ok(Answer::Written)
}

/// No command blocks, so that no client is blocked.
pub fn unblock<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> Answered<'a> {
    if words.len() > 4 || (words.len() == 4 && !is(words, 3, "TIMEOUT") && !is(words, 3, "ERROR")) {
        return Err(CommandError::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
    }
    super::strings::integer(words, 2)?;
    reply::integer(out, 0);
    Ok(Answer::Written)
}
