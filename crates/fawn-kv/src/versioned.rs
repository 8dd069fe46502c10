//! Bytes of what is sent or kept: a version, and then the value in postcard's encoding, up to the last byte.

use serde::{Deserialize, Serialize};

/// Why bytes are not what they are taken for.
#[derive(Debug)]
pub(crate) enum Refused {
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
    postcard::to_extend(value, buffer).expect("what can be encoded at all can be into memory")
}

/// The value that `bytes` are. Memory is bounded by their number.
pub(crate) fn decode<'de, T: Deserialize<'de>>(version: u8, bytes: &'de [u8]) -> Result<T, Refused> {
    let (&first, rest) = bytes.split_first().ok_or_else(|| Refused::Malformed("there are none".into()))?;
    if first != version {
        return Err(Refused::Version(first));
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        Ok((_, more)) => Err(Refused::Malformed(format!("{} bytes too many", more.len()))),
        Err(error) => Err(Refused::Malformed(error.to_string())),
    }
}
