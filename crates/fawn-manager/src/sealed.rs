//! Bytes that are kept or sent among managers: a version, a checksum, and the value in postcard's encoding.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version: that of the oldest release that reads it |
//! | 4 | CRC-32C of the rest, little-endian |
//! | … | the value |

use fawn_kv::wire::version;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of what every release reads.
pub const OLDEST: u8 = 1;

/// Version of what only those read that know of the cluster's version.
pub const VERSIONED: u8 = 2;

/// The newest version that this release reads.
const NEWEST: u8 = if version::NEWEST < version::FAREWELLS { OLDEST } else { VERSIONED };

const HEADER_BYTES: usize = 5;

/// Bytes that are not what was sealed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealedError {
    /// Another version.
    #[error(
        "the manager's file has version {0}, and this release reads versions up to {NEWEST}: run the release that \
        wrote it, or upgrade this one"
    )]
    Version(u8),
    /// They were changed, or are not whole.
    #[error("the manager's file is damaged: its checksum is wrong")]
    Checksum,
    /// The checksum fits, and they make no sense.
    #[error("the manager's file cannot be decoded: {0}")]
    Malformed(String),
}

/// The bytes of a value that every release reads.
pub fn seal(value: &impl Serialize) -> Vec<u8> {
    seal_as(OLDEST, value)
}

/// The bytes of a value that came with a version.
pub fn seal_as(version: u8, value: &impl Serialize) -> Vec<u8> {
    let head = vec![version, 0, 0, 0, 0];
    let mut bytes = postcard::to_extend(value, head).expect("what can be encoded at all can be into memory");
    let checksum = crc32c::crc32c(&bytes[HEADER_BYTES..]);
    bytes[1..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The value that was sealed.
///
/// # Errors
/// [`SealedError`].
pub fn open<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, SealedError> {
    let (head, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(SealedError::Checksum)?;
    if !(OLDEST..=NEWEST).contains(&head[0]) {
        return Err(SealedError::Version(head[0]));
    }
    let said = u32::from_le_bytes(head[1..].try_into().expect("four bytes"));
    if crc32c::crc32c(rest) != said {
        return Err(SealedError::Checksum);
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        Ok((_, more)) => Err(SealedError::Malformed(format!("{} bytes too many", more.len()))),
        Err(error) => Err(SealedError::Malformed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_and_every_cut_is_noticed() {
        let value: (u64, Vec<String>) = (7, vec!["a".into(), "range".into()]);
        let bytes = seal(&value);
        assert_eq!(open::<(u64, Vec<String>)>(&bytes), Ok(value));
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(open::<(u64, Vec<String>)>(&bytes).is_err(), "bit {at}");
        }
        for length in 0..bytes.len() {
            assert!(open::<(u64, Vec<String>)>(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_a_newer_release_sealed_is_refused_in_words() {
        let said = open::<u64>(&seal_as(NEWEST + 1, &7u64)).unwrap_err().to_string();
        assert!(said.contains("upgrade this one"), "{said}");
        assert_eq!(open::<u64>(&seal_as(OLDEST, &7u64)), Ok(7));
    }
}
