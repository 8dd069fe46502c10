//! Requests of the meta protocol, appended to a buffer.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::records::Record;

/// Longest key on the wire, in bytes; base64 is counted as it is sent.
const LONGEST_KEY: usize = 250;

/// Longest key that base64 turns into at most [`LONGEST_KEY`] bytes.
const LONGEST_BINARY_KEY: usize = LONGEST_KEY / 4 * 3;

/// Longest key that a store holds, in bytes.
const LONGEST_STORED_KEY: usize = fawn_store::record::MAX_KEY_BYTES;

/// memcached reads an expiry above this as Unix seconds, else as seconds from now.
pub const LONGEST_RELATIVE_EXPIRY: u32 = 30 * 24 * 3600;

/// Why a key cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No bytes.
    #[error("the key is empty")]
    Empty,
    /// Too long for the text protocol.
    #[error("the key has {0} bytes; the limit is 250")]
    TooLong(usize),
    /// Not a key of the text protocol.
    #[error("the key has a blank or control character; use --binary-keys or key_base64 if this is intended")]
    NotPlain,
    /// Too long for base64, and with a byte that only base64 carries.
    #[error("the key has {0} bytes; the limit is 186 for a key with blanks, line ends or zero bytes")]
    BinaryTooLong(usize),
    /// No store takes it.
    #[error("the key has {0} bytes; the limit is 65535")]
    StoreTooLong(usize),
}

/// Whether the text protocol can carry these bytes as a key, its length aside.
pub fn is_plain_key(key: &[u8]) -> bool {
    key.iter().all(|&byte| byte > b' ' && byte != 0x7f)
}

/// Whether requests can carry these bytes as they are, though they are not [plain](is_plain_key): what is too long for base64
/// travels so. A blank would end the key, a line end the request.
fn travels_as_it_is(key: &[u8]) -> bool {
    key.len() <= LONGEST_KEY && !key.iter().any(|byte| matches!(byte, b' ' | b'\n'))
}

/// Whether `key`, which a server has listed, can be asked for.
pub fn can_be_asked_for(key: &[u8]) -> bool {
    check_key(key, Binary::Take).is_ok() || (!key.is_empty() && travels_as_it_is(key))
}

/// Whether a store takes `key`, for a load that goes by no server: those of programs without memcached's protocol may be
/// longer than that carries.
///
/// # Errors
/// Says why not. What is no mistake is spelt in base64, or `binary` asks for it.
pub fn check_stored_key(key: &[u8], binary: Binary) -> Result<(), KeyError> {
    match (binary, key.len()) {
        (Binary::Take, 1..=LONGEST_STORED_KEY) => Ok(()),
        (Binary::Take, length) if length > 0 => Err(KeyError::StoreTooLong(length)),
        _ => check_key(key, binary),
    }
}

/// Whether `key` can be sent; keys that are not plain only if `binary` asks for it.
///
/// # Errors
/// Says why not.
pub fn check_key(key: &[u8], binary: Binary) -> Result<(), KeyError> {
    match (is_plain_key(key), key.len()) {
        (_, 0) => Err(KeyError::Empty),
        (true, length) if length > LONGEST_KEY => Err(KeyError::TooLong(length)),
        (false, _) if binary == Binary::Refuse => Err(KeyError::NotPlain),
        // Some servers end a line at a zero byte, and would take the value for more requests.
        (false, length) if length > LONGEST_BINARY_KEY && (!travels_as_it_is(key) || key.contains(&0)) => {
            Err(KeyError::BinaryTooLong(length))
        }
        _ => Ok(()),
    }
}

/// What to do with keys that the text protocol cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// They are mistakes.
    Refuse,
    /// Send them in base64.
    Take,
}

/// Appends `ms`: store this record whatever is there.
pub fn push_set(out: &mut Vec<u8>, record: &Record) {
    push_set_for(out, record, None);
}

/// The same, to live for so many seconds by the server's clock; `None`: until the record's own expiry.
pub fn push_set_for(out: &mut Vec<u8>, record: &Record, seconds: Option<u32>) {
    out.extend_from_slice(b"ms ");
    let base64 = push_key(out, &record.key);
    // Writing to a vector does not fail.
    let _ = write!(out, " {}", record.value.len());
    out.extend_from_slice(base64);
    if record.flags != 0 {
        let _ = write!(out, " F{}", record.flags);
    }
    match record.exptime {
        _ if seconds.is_some_and(|seconds| (1..=LONGEST_RELATIVE_EXPIRY).contains(&seconds)) => {
            let _ = write!(out, " T{}", seconds.unwrap_or(1));
        }
        0 => {}
        // So long ago that it would be read as seconds from now. -1 stores what has already expired.
        1..=LONGEST_RELATIVE_EXPIRY => out.extend_from_slice(b" T-1"),
        unix => {
            let _ = write!(out, " T{unix}");
        }
    }
    if record.cas != 0 {
        let _ = write!(out, " E{}", record.cas);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&record.value);
    out.extend_from_slice(b"\r\n");
}

/// Appends `mg`: value, flags and seconds to live.
pub fn push_get(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"mg ");
    let base64 = push_key(out, key);
    out.extend_from_slice(base64);
    out.extend_from_slice(b" v f t\r\n");
}

/// Appends `md`: delete.
pub fn push_delete(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"md ");
    let base64 = push_key(out, key);
    out.extend_from_slice(base64);
    out.extend_from_slice(b"\r\n");
}

/// Appends the key as it is, or in base64 with the flag that says so.
fn push_key(out: &mut Vec<u8>, key: &[u8]) -> &'static [u8] {
    debug_assert!(can_be_asked_for(key), "keys are checked before they are sent");
    if is_plain_key(key) || key.len() > LONGEST_BINARY_KEY {
        out.extend_from_slice(key);
        return b"";
    }
    out.extend_from_slice(STANDARD.encode(key).as_bytes());
    b" b"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &[u8], flags: u32, exptime: u32) -> String {
        let mut out = Vec::new();
        push_set(&mut out, &Record { key: key.to_vec(), value: b"v".to_vec(), flags, exptime, cas: 0 });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_set_says_only_what_differs_from_the_default() {
        assert_eq!(set(b"k", 0, 0), "ms k 1\r\nv\r\n");
        assert_eq!(set(b"k", 7, 1_900_000_000), "ms k 1 F7 T1900000000\r\nv\r\n");
    }

    #[test]
    fn an_expiry_that_memcached_would_take_as_relative_is_long_past() {
        assert_eq!(set(b"k", 0, 60), "ms k 1 T-1\r\nv\r\n");
    }

    #[test]
    fn keys_with_blanks_travel_in_base64() {
        assert_eq!(set(b"foo bar", 0, 0), "ms Zm9vIGJhcg== 1 b\r\nv\r\n");
        let mut out = Vec::new();
        push_get(&mut out, b"foo bar");
        push_delete(&mut out, b"plain");
        assert_eq!(out, b"mg Zm9vIGJhcg== b v f t\r\nmd plain\r\n");
    }

    #[test]
    fn the_longest_keys_of_both_kinds_fit_250_bytes_on_the_wire() {
        assert_eq!(check_key(&[b'k'; 250], Binary::Refuse), Ok(()));
        assert_eq!(check_key(&[b'k'; 251], Binary::Take), Err(KeyError::TooLong(251)));
        assert_eq!(STANDARD.encode([0; LONGEST_BINARY_KEY]).len(), 248);
        assert!(check_key(&[b' '; LONGEST_BINARY_KEY + 1], Binary::Take).is_err());
        assert_eq!(check_key(b"a b", Binary::Refuse), Err(KeyError::NotPlain));
        assert_eq!(check_key(b"", Binary::Take), Err(KeyError::Empty));
    }

    #[test]
    fn keys_that_are_too_long_for_base64_travel_as_they_are_if_they_can() {
        for length in LONGEST_BINARY_KEY + 1..=LONGEST_KEY {
            let mut key = vec![b'\t'; length];
            key[length - 1] = b'\r';
            assert_eq!(check_key(&key, Binary::Take), Ok(()), "{length} bytes");
            assert_eq!(check_key(&key, Binary::Refuse), Err(KeyError::NotPlain));
            let mut out = Vec::new();
            push_get(&mut out, &key);
            assert_eq!(out, [b"mg ", &key[..], b" v f t\r\n"].concat());
        }
        let with = |byte: u8| [&[b'\t'; 200][..], &[byte]].concat();
        for (byte, is_found) in [(b' ', false), (b'\n', false), (0, true)] {
            assert_eq!(check_key(&with(byte), Binary::Take), Err(KeyError::BinaryTooLong(201)));
            assert_eq!(can_be_asked_for(&with(byte)), is_found);
        }
        assert!(!can_be_asked_for(b"") && !can_be_asked_for(&[b'\t'; 251]) && !can_be_asked_for(&[b'k'; 251]));
    }

    #[test]
    fn stores_take_longer_keys_than_servers_when_they_are_meant() {
        let long = [b'k'; 251];
        assert_eq!(check_stored_key(&long, Binary::Refuse), Err(KeyError::TooLong(251)));
        assert_eq!(check_stored_key(&long, Binary::Take), Ok(()));
        assert_eq!(check_stored_key(&vec![b' '; 65_535], Binary::Take), Ok(()));
        assert_eq!(check_stored_key(&vec![b' '; 65_536], Binary::Take), Err(KeyError::StoreTooLong(65_536)));
        assert_eq!(check_stored_key(b"", Binary::Take), Err(KeyError::Empty));
        assert_eq!(check_stored_key(b"a b", Binary::Refuse), Err(KeyError::NotPlain));
    }
}
