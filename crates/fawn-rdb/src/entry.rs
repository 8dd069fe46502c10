//! What a file has of a key.

use std::fmt;

use crate::hash::HashFields;

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdbEntry {
    /// The number of its database.
    pub database: u32,
    /// The key; empty if it is longer than [`MOST_KEY_BYTES`](crate::MOST_KEY_BYTES).
    pub key: Vec<u8>,
    /// Bytes of the key.
    pub key_bytes: u64,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// Its value.
    pub value: RdbValue,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RdbValue {
    /// A string of any bytes.
    String(Vec<u8>),
    /// A hash of at least one field.
    Hash(HashFields),
    /// A string or a hash with more bytes than are to be given out.
    TooLarge,
    /// It was passed over.
    Other(OtherType),
}

/// The types that are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherType {
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set.
    SortedSet,
    /// A stream.
    Stream,
    /// A type of a module, by its name of nine characters.
    Module([u8; 9]),
}

impl OtherType {
    /// The type of a module with this number, which has a name and a version in it.
    pub(crate) fn of_module(id: u64) -> Self {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        Self::Module(std::array::from_fn(|at| LETTERS[(id >> (10 + 6 * (8 - at)) & 63) as usize]))
    }
}

/// As the command TYPE names it.
impl fmt::Display for OtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "zset",
            Self::Stream => "stream",
            Self::Module(name) => std::str::from_utf8(name).expect("a module's name is of ASCII letters"),
        })
    }
}
