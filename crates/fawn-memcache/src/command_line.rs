//! What the parser has found in a command line.

use crate::number::i32_strict;
use crate::{Command, Responder, StoreRequest};

/// What a command line says.
#[derive(Debug)]
pub enum CommandLine<'a> {
    /// A whole command.
    Command { key: Key<'a>, command: Command<'a>, responder: Responder },
    /// A store whose value follows: `store.value` is still empty, `len` bytes and a line break are its data block.
    Block { key: Key<'a>, store: StoreRequest<'a>, responder: Responder, len: usize },
    /// A refused command (`None`: the client does not want to hear it); `skip` bytes of data block follow.
    Refused { line: Option<&'static str>, skip: usize },
    /// A value above the limit: the request, and the data block to skip.
    TooLarge { key: Key<'a>, command: Command<'a>, responder: Responder, skip: usize },
    /// Hang up.
    Close,
}

/// Where the key is.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// In the line.
    Plain(&'a [u8]),
    /// In the session's buffer, so many bytes.
    Decoded(usize),
}

impl Key<'_> {
    pub fn len(self) -> usize {
        match self {
            Self::Plain(key) => key.len(),
            Self::Decoded(len) => len,
        }
    }
}

/// Room for a decoded key: 3/4 of the longest key, and a whole group.
pub type KeyBuffer = [u8; 192];

impl<'a> CommandLine<'a> {
    /// A fixed answer.
    pub fn reply(line: &'static str, quiet: bool) -> Self {
        Self::refuse(line, quiet, 0)
    }

    /// A fixed answer to a store, whose data block is skipped.
    pub fn refuse(line: &'static str, quiet: bool, skip: usize) -> Self {
        Self::Refused { line: (!quiet).then_some(line), skip }
    }

    /// A command without key.
    pub fn text(command: Command<'a>, quiet: bool) -> Self {
        Self::Command { key: Key::Plain(b""), command, responder: Responder::text(quiet) }
    }

    /// A command with a key.
    pub fn item(key: &'a [u8], command: Command<'a>, quiet: bool) -> Self {
        Self::Command { key: Key::Plain(key), command, responder: Responder::text(quiet) }
    }
}

/// A data block's length: 0 to 2³¹ − 3.
pub fn block_len(text: &[u8]) -> Option<usize> {
    i32_strict(text).filter(|len| (0..=i32::MAX - 2).contains(len)).map(|len| len as usize)
}
