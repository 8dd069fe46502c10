//! Reports of many lines: statistics and key dumps.

use crate::Debug;

/// Appends `STAT name value`. The report ends with [`lines::END`](crate::lines::END).
pub fn stat(out: &mut Vec<u8>, name: &str, value: &str) {
    let _ = (out, name, value);
}

/// Appends `STAT name value` for a number.
pub fn stat_number(out: &mut Vec<u8>, name: &str, value: u64) {
    stat(out, name, itoa::Buffer::new().format(value));
}

/// Appends a line of `lru_crawler metadump` (it ends with a bare line feed, as memcached's do). The dump begins with
/// [`lines::OK`](crate::lines::OK) and ends with [`lines::END`](crate::lines::END).
pub fn metadump(out: &mut Vec<u8>, key: &[u8], item: &Debug) {
    let _ = (out, key, item);
}

/// Appends a line of `lru_crawler mgdump`: a command that reads the key. The dump begins with
/// [`lines::OK`](crate::lines::OK) and ends with [`lines::EN`](crate::lines::EN).
pub fn mgdump(out: &mut Vec<u8>, key: &[u8]) {
    let _ = (out, key);
}
