//! Why a file is not read to its end.

use std::io;

/// Where and why reading ends. Offsets are bytes from the file's beginning.
#[derive(Debug, thiserror::Error)]
pub enum RdbError {
    /// The bytes cannot be had.
    #[error("{0}")]
    Source(#[from] io::Error),
    /// It does not begin like one.
    #[error("it is not an RDB file: those of Redis begin with REDIS and four digits")]
    NoRdb,
    /// Nobody here knows this version.
    #[error(
        "it is an RDB file of version {0}, and versions 1 to 11 are known, as Redis up to 7.2 and Valkey 8 write them"
    )]
    Version(u32),
    /// It ends too early.
    #[error("it is cut off: it ends at byte {offset}, within a record or before its checksum")]
    Truncated {
        /// Where it ends.
        offset: u64,
    },
    /// It says something that no file says.
    #[error("it is damaged at byte {offset}: {what}")]
    Damaged {
        /// Of the value, key or opcode that cannot be.
        offset: u64,
        /// What is there.
        what: &'static str,
    },
    /// A value or opcode that only a release candidate wrote, whose length nobody knows.
    #[error("byte {offset} begins {what}, which cannot be passed over")]
    Unsupported {
        /// Where it begins.
        offset: u64,
        /// What it is.
        what: &'static str,
    },
    /// Some byte before is another one than was written.
    #[error("it is damaged: its checksum at byte {offset} is {stored:016x}, and that of its bytes is {found:016x}")]
    Checksum {
        /// Where the checksum is.
        offset: u64,
        /// What it is.
        stored: u64,
        /// What it would be.
        found: u64,
    },
}
