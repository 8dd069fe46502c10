//! Bytes of what is sent or kept: a version, and then the value in postcard's encoding, up to the last byte.

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Why bytes are not what they are taken for.
#[derive(Debug)]
pub(crate) enum DecodeError {
    /// They are of this version.
    Version(u8),
    /// They make no sense.
    Malformed(String),
}

/// The bytes of a value.
pub(crate) fn encode(version: u8, value: &impl Serialize) -> Vec<u8> {
    encode_into(Vec::new(), version, value)
}

/// The same, after what is in a buffer.
pub(crate) fn encode_into(mut buffer: Vec<u8>, version: u8, value: &impl Serialize) -> Vec<u8> {
    buffer.push(version);
    append(&mut buffer, value);
    buffer
}

/// Appends a value in postcard's encoding.
pub(crate) fn append(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    postcard::serialize_with_flavor(value, Appender(out)).expect("what can be encoded at all can be into memory");
}

/// The end of some bytes. What postcard has for it appends one by one.
struct Appender<'a>(&'a mut Vec<u8>);

impl Flavor for Appender<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// The value that `bytes` are, of this very version. Memory is bounded by their number.
pub(crate) fn decode<'de, T: Deserialize<'de>>(version: u8, bytes: &'de [u8]) -> Result<T, DecodeError> {
    decode_of(version..=version, bytes).map(|(_, value)| value)
}

/// The value that `bytes` are, and the version that they say, which is one of these.
pub(crate) fn decode_of<'de, T: Deserialize<'de>>(
    versions: RangeInclusive<u8>,
    bytes: &'de [u8],
) -> Result<(u8, T), DecodeError> {
    let (&version, rest) = bytes.split_first().ok_or_else(|| DecodeError::Malformed("there are none".into()))?;
    if !versions.contains(&version) {
        return Err(DecodeError::Version(version));
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok((version, value)),
        Ok((_, more)) => Err(DecodeError::Malformed(format!("{} bytes too many", more.len()))),
        Err(error) => Err(DecodeError::Malformed(error.to_string())),
    }
}
