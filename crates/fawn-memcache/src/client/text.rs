//! Requests of the text protocol, appended to a buffer.

/// A command that stores a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStore {
    /// `set`
    Set,
    /// `add`
    Add,
    /// `replace`
    Replace,
    /// `append`
    Append,
    /// `prepend`
    Prepend,
    /// `cas`, over this version.
    Cas(u64),
}

/// Appends a store without flags and expiry.
pub fn push_store(out: &mut Vec<u8>, store: TextStore, key: &[u8], value: &[u8]) {
    let (command, compare): (&[u8], _) = match store {
        TextStore::Set => (b"set", None),
        TextStore::Add => (b"add", None),
        TextStore::Replace => (b"replace", None),
        TextStore::Append => (b"append", None),
        TextStore::Prepend => (b"prepend", None),
        TextStore::Cas(version) => (b"cas", Some(version)),
    };
    push_words(out, &[command, key, b"0 0"]);
    push_number(out, value.len() as u64);
    if let Some(version) = compare {
        push_number(out, version);
    }
    for part in [b"\r\n", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Appends `gets`: a value with its version.
pub fn push_gets(out: &mut Vec<u8>, key: &[u8]) {
    push_words(out, &[b"gets", key]);
    out.extend_from_slice(b"\r\n");
}

/// Appends `delete`.
pub fn push_delete(out: &mut Vec<u8>, key: &[u8]) {
    push_words(out, &[b"delete", key]);
    out.extend_from_slice(b"\r\n");
}

/// Appends `incr`.
pub fn push_increment(out: &mut Vec<u8>, key: &[u8], by: u64) {
    push_words(out, &[b"incr", key]);
    push_number(out, by);
    out.extend_from_slice(b"\r\n");
}

/// Appends `decr`.
pub fn push_decrement(out: &mut Vec<u8>, key: &[u8], by: u64) {
    push_words(out, &[b"decr", key]);
    push_number(out, by);
    out.extend_from_slice(b"\r\n");
}

/// Appends `touch`: the item expires in so many seconds.
pub fn push_touch(out: &mut Vec<u8>, key: &[u8], seconds: u32) {
    push_words(out, &[b"touch", key]);
    push_number(out, u64::from(seconds));
    out.extend_from_slice(b"\r\n");
}

fn push_words(out: &mut Vec<u8>, words: &[&[u8]]) {
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(word);
    }
}

/// Appends a blank and a number.
fn push_number(out: &mut Vec<u8>, number: u64) {
    out.push(b' ');
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_memcacheds() {
        let mut out = Vec::new();
        push_store(&mut out, TextStore::Set, b"k", b"val");
        push_store(&mut out, TextStore::Cas(17), b"k", b"");
        push_gets(&mut out, b"k");
        push_delete(&mut out, b"k");
        push_increment(&mut out, b"k", 2);
        push_decrement(&mut out, b"k", 3);
        push_touch(&mut out, b"k", 60);
        let expected: &[u8] =
            b"set k 0 0 3\r\nval\r\ncas k 0 0 0 17\r\n\r\ngets k\r\ndelete k\r\nincr k 2\r\ndecr k 3\r\n\
            touch k 60\r\n";
        assert_eq!(out, expected);
    }
}
