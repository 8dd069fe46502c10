//! Requests about records, in the meta protocol, appended to a buffer.

use fawn_memcache::client::{KeyForm, MetaRequest};

use crate::key::{LONGEST_BINARY_KEY, can_be_asked_for, is_plain_key};
use crate::records::Record;

/// memcached reads an expiry above this as Unix seconds, else as seconds from now.
const LONGEST_RELATIVE_EXPIRY: u32 = 30 * 24 * 3600;

/// Appends `ms`: store this record whatever is there.
pub fn push_set(out: &mut Vec<u8>, record: &Record) {
    push_set_for(out, record, None);
}

/// The same, to live for so many seconds by the server's clock; `None`: until the record's own expiry.
pub fn push_set_for(out: &mut Vec<u8>, record: &Record, seconds: Option<u32>) {
    let mut request = MetaRequest::store(out, key_form(&record.key), record.value.len());
    if record.flags != 0 {
        request = request.number('F', record.flags);
    }
    request = match (seconds, record.exptime) {
        (Some(seconds @ 1..=LONGEST_RELATIVE_EXPIRY), _) => request.number('T', seconds),
        (_, 0) => request,
        // So long ago that it would be read as seconds from now. -1 stores what has already expired.
        (_, 1..=LONGEST_RELATIVE_EXPIRY) => request.number('T', -1),
        (_, unix) => request.number('T', unix),
    };
    if record.cas != 0 {
        request = request.number('E', record.cas);
    }
    request.end_with(&record.value);
}

/// Appends `mg`: value, flags and seconds to live.
pub fn push_get(out: &mut Vec<u8>, key: &[u8]) {
    MetaRequest::get(out, key_form(key)).flag("v").flag("f").flag("t").end();
}

/// Appends `md`: delete.
pub fn push_delete(out: &mut Vec<u8>, key: &[u8]) {
    MetaRequest::delete(out, key_form(key)).end();
}

/// The key as it is, or in base64.
fn key_form(key: &[u8]) -> KeyForm<'_> {
    debug_assert!(can_be_asked_for(key), "keys are checked before they are sent");
    if is_plain_key(key) || key.len() > LONGEST_BINARY_KEY { KeyForm::Plain(key) } else { KeyForm::Base64(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Binary, KeyError, LONGEST_KEY, check_key};

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
}
