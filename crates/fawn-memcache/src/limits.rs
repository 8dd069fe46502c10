//! Sizes that a session enforces.

/// Sizes that a session enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Largest item in bytes, counted as memcached counts: key, value and about 60 bytes of header
    /// ([`SessionLimits::item_size`]). A larger one is refused before any of it is buffered.
    pub item_bytes: usize,
}

impl Default for SessionLimits {
    /// memcached's: 1 MiB.
    fn default() -> Self {
        Self { item_bytes: 1 << 20 }
    }
}

impl SessionLimits {
    /// What memcached counts for an item: its header, cas, key with a terminator, flags when not zero, value with its
    /// line break.
    pub fn item_size(key_len: usize, flags: u32, value_len: usize) -> usize {
        48 + 8 + key_len + 1 + if flags == 0 { 0 } else { 4 } + value_len + 2
    }
}
