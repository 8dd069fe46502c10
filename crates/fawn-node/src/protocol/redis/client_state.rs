//! What a connection's parser knows of its client.

use super::error::CommandError;
use crate::protocol::ParserOptions;
use fawn_resp::reply::RespVersion;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The user that clients are who give none.
pub const DEFAULT_USER: &[u8] = b"default";

/// What a connection's parser knows of its client.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct ClientState {
    /// The client's number, which no other has.
    pub id: u64,
    /// The name that the client gave itself.
    pub name: Vec<u8>,
    /// The client's library, and its version.
    pub library: [Vec<u8>; 2],
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
    /// The name of the command at hand.
    pub command: &'static str,
    /// Largest item, in bytes.
    pub max_item_bytes: usize,
    /// The second now, and that of the first command.
    now: u32,
    began: u32,
    /// Both ends of the connection.
    peer: Option<SocketAddr>,
    local: Option<SocketAddr>,
    /// The client hears no replies.
    pub is_off: bool,
    /// The client does not hear the reply to the command at hand.
    pub is_skipped: bool,
    /// Nor will it hear the next one.
    pub skips_next: bool,
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

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl ClientState {
    /// A client that has said nothing yet.
    pub fn new(options: &ParserOptions) -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            name: Vec::new(),
            library: [Vec::new(), Vec::new()],
            user: DEFAULT_USER.to_vec(),
            version: RespVersion::Two,
            authenticates: options.authenticates,
            is_locked: options.authenticates,
            pending: None,
            command: "",
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

    /// The line about the client. Some clients miss fields that are not there, so those of which nothing is known are 0.
    pub fn line(&self) -> String {
        let address = |of: Option<SocketAddr>| of.map_or_else(|| "?:0".to_owned(), |address| address.to_string());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let [library, release] = self.library.each_ref().map(|bytes| text(bytes));
        format!(
            "id={} addr={} laddr={} fd=0 name={} age={} idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 \
             argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user={} redir=-1 \
             resp={} lib-name={library} lib-ver={release}\n",
            self.id,
            address(self.peer),
            address(self.local),
            text(&self.name),
            self.now.saturating_sub(self.began),
            self.command,
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
