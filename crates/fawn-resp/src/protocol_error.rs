//! What no client may say.

use std::fmt;

/// An error after which nothing that follows can be understood: a server tells it, and closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A line of words has more than 64 KiB.
    LongInline,
    /// The line with the number of words has more than 64 KiB.
    LongWordCount,
    /// A line with the length of a word has more than 64 KiB.
    LongWordLength,
    /// There is no such number of words.
    WordCount,
    /// A client that has yet to authenticate sends more words than that takes.
    LockedWordCount,
    /// There is no word of such a length.
    WordLength,
    /// A client that has yet to authenticate sends a longer word than that takes.
    LockedWordLength,
    /// Another byte where the length of a word begins.
    NoWord(u8),
    /// Quotes that are not closed, or closed within a word.
    Quotes,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LongInline => "too big inline request",
            Self::LongWordCount => "too big mbulk count string",
            Self::LongWordLength => "too big bulk count string",
            Self::WordCount => "invalid multibulk length",
            Self::LockedWordCount => "unauthenticated multibulk length",
            Self::WordLength => "invalid bulk length",
            Self::LockedWordLength => "unauthenticated bulk length",
            Self::NoWord(byte) => return write!(f, "expected '$', got '{}'", char::from(*byte)),
            Self::Quotes => "unbalanced quotes in request",
        })
    }
}
