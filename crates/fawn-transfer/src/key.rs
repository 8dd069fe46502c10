//! Which keys a server or a store takes, and how they travel.

/// Longest key on the wire, in bytes; base64 is counted as it is sent.
pub(crate) const LONGEST_KEY: usize = 250;

/// Longest key that base64 turns into at most [`LONGEST_KEY`] bytes.
pub(crate) const LONGEST_BINARY_KEY: usize = LONGEST_KEY / 4 * 3;

/// Longest key that a store holds, in bytes.
const LONGEST_STORED_KEY: usize = fawn_store::record::MAX_KEY_BYTES;

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
pub(crate) fn is_plain_key(key: &[u8]) -> bool {
    key.iter().all(|&byte| byte > b' ' && byte != 0x7f)
}

/// Whether requests can carry these bytes as they are, though they are not [plain](is_plain_key): what is too long for base64
/// travels so. A blank would end the key, a line end the request.
fn travels_as_it_is(key: &[u8]) -> bool {
    key.len() <= LONGEST_KEY && !key.iter().any(|byte| matches!(byte, b' ' | b'\n'))
}

/// Whether `key`, which a server has listed, can be asked for.
pub(crate) fn can_be_asked_for(key: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

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
