//! Hashes: values that are made of fields, each a name and a value.
//!
//! A hash is an ordinary value, so whatever carries values carries hashes: copies, dumps, clients of other protocols. What makes
//! it one are its flags, [`HASH_FLAGS`], and its first bytes, [`MAGIC`]. Then come the number of fields (u32, little-endian) and a
//! [list](super::items) of names and values in turn, in the order in which the fields were first set.

use super::items::{self, Items};
use super::{EditError, Item};

/// The flags of a value that is a hash.
pub const HASH_FLAGS: u32 = u32::from_be_bytes(*b"HASH");

/// The first bytes of a hash; the last of them is the version of its form.
pub const MAGIC: [u8; 6] = *b"\0hash\x01";

/// Whether a value is a hash.
#[inline]
pub fn is_hash(flags: u32, value: &[u8]) -> bool {
    flags == HASH_FLAGS && value.starts_with(&MAGIC)
}

/// The fields of a hash, which are known to be well-formed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash<'a> {
    count: usize,
    list: &'a [u8],
}

/// A field: its name and its value.
pub type Field<'a> = (&'a [u8], &'a [u8]);

/// Bytes before a hash's first field.
const HEAD_BYTES: usize = MAGIC.len() + size_of::<u32>();

impl<'a> Hash<'a> {
    /// The fields of an item; none where none is.
    pub(super) fn read(item: Option<&Item<'a>>) -> Result<Self, EditError> {
        let Some(item) = item else { return Ok(Self { count: 0, list: b"" }) };
        if item.flags != HASH_FLAGS {
            return Err(EditError::WrongType);
        }
        Self::parse(item.value).ok_or(EditError::WrongType)
    }

    fn parse(value: &'a [u8]) -> Option<Self> {
        let (count, list) = value.strip_prefix(&MAGIC)?.split_first_chunk()?;
        let count = u32::from_le_bytes(*count) as usize;
        let mut items = 0;
        for item in Items::of(list) {
            item.ok()??;
            items += 1;
        }
        (items % 2 == 0 && items / 2 == count).then_some(Self { count, list })
    }

    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The fields as a list.
    pub(super) fn list(&self) -> &'a [u8] {
        self.list
    }

    /// The fields in their order.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let mut items = Items::of(self.list);
        std::iter::from_fn(move || Some((items.next()?.ok()??, items.next()?.ok()??)))
    }

    /// A field's value.
    pub(super) fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.fields().find_map(|(other, value)| (other == name).then_some(value))
    }
}

/// A hash that is being made.
pub struct HashWriter {
    bytes: Vec<u8>,
    count: u32,
}

impl HashWriter {
    /// One that has room for so many bytes of fields.
    pub fn with_room(bytes: usize) -> Self {
        let mut head = Vec::with_capacity(HEAD_BYTES + bytes);
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&[0; size_of::<u32>()]);
        Self { bytes: head, count: 0 }
    }

    /// Adds a field.
    pub fn push(&mut self, (name, value): Field<'_>) {
        items::push(&mut self.bytes, Some(name));
        items::push(&mut self.bytes, Some(value));
        self.count += 1;
    }

    /// The hash's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes[MAGIC.len()..HEAD_BYTES].copy_from_slice(&self.count.to_le_bytes());
        self.bytes
    }
}
