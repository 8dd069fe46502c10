//! How much a client may say at a time.

/// Bounds of a [`CommandReader`](crate::CommandReader).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Words of a command, at most.
    pub words: usize,
    /// Bytes of a command with the lengths of its words, at most.
    pub command_bytes: usize,
}

/// Why a command is passed over. The connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It has more words than [`ReaderLimits::words`].
    Words,
    /// It has more bytes than [`ReaderLimits::command_bytes`].
    Bytes,
}

/// Redis's own bounds: what is beyond them is no command but an error of the protocol.
pub(crate) const MOST_WORDS: i64 = i32::MAX as i64;
/// Bytes of a word.
pub(crate) const MOST_WORD_BYTES: i64 = 512 << 20;
/// Bytes of a line.
pub(crate) const MOST_LINE_BYTES: usize = 64 << 10;
/// Words of a command of a client that has yet to authenticate.
pub(crate) const MOST_LOCKED_WORDS: i64 = 10;
/// Bytes of a word of such a client.
pub(crate) const MOST_LOCKED_WORD_BYTES: i64 = 16_384;
