//! Commands on one key, as operations.

use super::error::{CommandError, TOO_LONG};
use super::refusals;
use super::reply_state::{Late, ReplyKind};
use crate::request::KeyAction;
use fawn_kv::operation::{Edit, EditKind, Operation, View, ViewKind};
use fawn_memcache::SessionLimits;
use fawn_store::timekeeper::Time;

/// What the words of such a command come to.
pub type KeyResult<'a> = Result<KeyCommand<'a>, CommandError>;

/// What a command asks of its key.
#[derive(Debug)]
pub struct KeyCommand<'a> {
    /// What it does.
    pub action: KeyAction<'a>,
    /// How its reply is written.
    pub reply: ReplyKind,
    /// It gives the key a time to live.
    pub needs_clock: bool,
    /// The operation's argument is what the handler left in [`KeyContext::argument`].
    pub has_made_argument: bool,
}

/// What a handler knows besides the words.
#[derive(Debug)]
pub struct KeyContext<'c> {
    /// The command's name.
    pub name: &'static str,
    /// The time.
    pub time: &'c Time,
    /// Takes an argument that is not among the words; empty.
    pub argument: &'c mut Vec<u8>,
    /// Largest item, in bytes.
    pub max_item_bytes: usize,
}

impl<'a> KeyCommand<'a> {
    /// Runs `operation`.
    #[inline]
    pub fn new(operation: Operation<'a>, reply: ReplyKind) -> Self {
        Self { action: KeyAction::Operation(operation), reply, needs_clock: false, has_made_argument: false }
    }

    /// Shows a part of the value.
    pub fn view(kind: ViewKind, argument: &'a [u8], reply: ReplyKind) -> Self {
        Self::new(Operation::View(View { kind, argument }), reply)
    }

    /// Changes a part of the value.
    pub fn edit(kind: EditKind, argument: &'a [u8], reply: ReplyKind) -> Self {
        Self::new(Operation::Edit(Edit { kind, argument }), reply)
    }

    /// Shows what is known about the item.
    pub fn inspect(reply: ReplyKind) -> Self {
        Self { action: KeyAction::Inspect, reply, needs_clock: false, has_made_argument: false }
    }

    /// Refused, once it is known that there is a key of the right type: so Redis checks some arguments.
    pub fn refused_late(late: Late) -> Self {
        Self::view(ViewKind::Type, b"", ReplyKind::Late(late))
    }

    /// The argument is what the handler made.
    #[must_use]
    pub fn with_made_argument(self) -> Self {
        Self { has_made_argument: true, ..self }
    }

    /// It gives the key a time to live.
    #[must_use]
    pub fn with_clock(self) -> Self {
        Self { needs_clock: true, ..self }
    }
}

impl KeyContext<'_> {
    /// Refuses a value that is larger than a value may be.
    #[inline]
    pub fn check_size(&self, key: &[u8], value: &[u8]) -> Result<(), CommandError> {
        check_size(self.max_item_bytes, key, value)
    }
}

/// Refuses a value that makes an item too large.
#[inline]
pub fn check_size(max_item_bytes: usize, key: &[u8], value: &[u8]) -> Result<(), CommandError> {
    if SessionLimits::item_size(key.len(), 0, value.len()) > max_item_bytes { Err(TOO_LONG) } else { Ok(()) }
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
