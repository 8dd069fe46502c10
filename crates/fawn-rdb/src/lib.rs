//! RDB files, the snapshots that Redis writes up to version 7.2 and Valkey up to version 8: read as a stream, in bounded memory.
//!
//! [`RdbReader`] gives one key at a time. Strings and hashes come with their values, in whatever form the file has them. Values of
//! other types are passed over by the rules of their lengths. Bytes that are none of an RDB file end the reading with the offset of
//! what is wrong, and so does a checksum that does not fit.
//!
//! # Layout
//!
//! * `byte_reader`: bytes with their offset and checksum; lengths and strings. `lzf`: compressed strings.
//! * `reader`: the header, the opcodes and the end. `entry`: what it gives.
//! * `hash`: the fields of a hash in any of its forms. `listpack`, `ziplist`, `zipmap`: forms in one block.
//! * `passed_over`: the lengths of all other types.
//!
//! Nothing here opens a file or looks at a clock.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod byte_reader;
mod entry;
mod error;
mod hash;
mod listpack;
mod lzf;
mod passed_over;
mod reader;
#[cfg(test)]
mod tests;
mod ziplist;
mod zipmap;

pub use byte_reader::RdbSource;
pub use entry::{OtherType, RdbEntry, RdbValue};
pub use error::RdbError;
pub use hash::HashFields;
pub use reader::RdbReader;

/// Longest key that is given out, in bytes.
pub const MOST_KEY_BYTES: usize = u16::MAX as usize;

/// The versions that are read: Redis 7.2 and Valkey 8 write the last.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 1..=11;

/// The checksum at the end of a file of these bytes.
pub fn checksum(bytes: &[u8]) -> u64 {
    byte_reader::CRC64.checksum(bytes)
}
