//! Reports of many lines: statistics and key dumps.

use crate::reply::digits;
use crate::{Debug, base64};

/// Appends `STAT name value`. The report ends with [`lines::END`](crate::lines::END).
pub fn stat(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in ["STAT ", name, " ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Appends `STAT name value` for a number.
pub fn stat_number(out: &mut Vec<u8>, name: &str, value: u64) {
    stat(out, name, itoa::Buffer::new().format(value));
}

/// Appends a line of `lru_crawler metadump` (it ends with a bare line feed, as memcached's do). The dump begins with
/// [`lines::OK`](crate::lines::OK) and ends with [`lines::END`](crate::lines::END).
pub fn metadump(out: &mut Vec<u8>, key: &[u8], item: &Debug) {
    out.extend_from_slice(b"key=");
    for &byte in key {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            let digit = |nibble: u8| b"0123456789ABCDEF"[usize::from(nibble)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out.push(b' ');
    item.write(out);
    out.extend_from_slice(b" flags=");
    digits(out, item.flags);
    out.extend_from_slice(b" \n");
}

/// Appends a line of `lru_crawler mgdump`: a command that reads the key. The dump begins with
/// [`lines::OK`](crate::lines::OK) and ends with [`lines::EN`](crate::lines::EN).
pub fn mgdump(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"mg ");
    if key.iter().all(u8::is_ascii_graphic) {
        out.extend_from_slice(key);
    } else {
        base64::encode(key, out);
        out.extend_from_slice(b" b");
    }
    out.extend_from_slice(b"\r\n");
}
