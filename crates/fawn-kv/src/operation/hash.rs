//! Hashes: values that are made of fields, each a name and a value.
//!
//! A hash is an ordinary value, so whatever carries values carries hashes: copies, dumps, clients of other protocols. What makes
//! it one are its flags, [`HASH_FLAGS`], and its first bytes, [`MAGIC`]. Then come the number of fields (u32, little-endian) and a
//! [list](super::items) of names and values in turn, in the order in which the fields were first set.

/// The flags of a value that is a hash.
pub const HASH_FLAGS: u32 = u32::from_be_bytes(*b"HASH");

/// The first bytes of a hash; the last of them is the version of its form.
pub const MAGIC: [u8; 6] = *b"\0hash\x01";

/// Whether a value is a hash.
#[inline]
pub fn is_hash(flags: u32, value: &[u8]) -> bool {
    flags == HASH_FLAGS && value.starts_with(&MAGIC)
}
