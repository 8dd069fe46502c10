//! What is put, and what is got.

use fawn_kv::operation::{Mode, Operation, Store};
use fawn_kv::range::entry::Kept;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A value as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value: perhaps empty.
    pub bytes: Vec<u8>,
    /// What was put with it.
    pub flags: u32,
    /// Names this version of it: see [`Client::cas`](crate::Client::cas).
    pub cas: u64,
    /// Unix second from which it is not there any more; `None`: never.
    pub expiry: Option<u32>,
}

impl Value {
    pub(crate) fn of(kept: Kept) -> Option<Self> {
        let Kept { position, version, .. } = kept;
        let version = version?;
        let cas = version.client_cas.unwrap_or(position.seq.0);
        let expiry = Some(version.expiry).filter(|expiry| *expiry != 0);
        Some(Self { bytes: version.value, flags: version.flags, cas, expiry })
    }
}

/// A value that is to be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    bytes: &'a [u8],
    flags: u32,
    expiry: u32,
}

impl<'a> Item<'a> {
    /// An item without flags that never expires.
    pub fn new(bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { bytes: bytes.as_ref(), flags: 0, expiry: 0 }
    }

    /// The program's own flags, which come back with the value.
    #[must_use]
    pub fn flags(self, flags: u32) -> Self {
        Self { flags, ..self }
    }

    /// It is not there any more after so long, by whole seconds from now by this machine's clock: that must be right. What
    /// would end after 2106 ends then.
    #[must_use]
    pub fn expires_in(self, time: Duration) -> Self {
        self.expires_at(unix_in(time))
    }

    /// It is not there any more from this Unix second on; one that is over already deletes the key.
    #[must_use]
    pub fn expires_at(self, unix: u32) -> Self {
        Self { expiry: unix.max(1), ..self }
    }

    pub(crate) fn store(self, mode: Mode, compare: Option<u64>) -> Vec<u8> {
        let Self { bytes, flags, expiry } = self;
        Operation::Store(Store { mode, flags, expiry, compare, ..Store::set(bytes) }).encode()
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Item<'a> {
    fn from(bytes: &'a T) -> Self {
        Self::new(bytes)
    }
}

/// The Unix second that is so long from now; it is at least 1 and never wraps round.
pub(crate) fn unix_in(time: Duration) -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = now.saturating_add(time);
    u32::try_from(at.as_secs()).unwrap_or(u32::MAX).max(1)
}

/// What came of a [`cas`](crate::Client::cas).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The value was put; this names its version.
    Stored(u64),
    /// Another version is there: nothing was put.
    Changed,
    /// Nothing is there: nothing was put.
    NotFound,
}

/// What came of a [`delete_cas`](crate::Client::delete_cas).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The version was there, and is deleted.
    Deleted,
    /// Another version is there: it stays.
    Changed,
    /// Nothing is there: nothing was deleted.
    NotFound,
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::{Epoch, Position, Seq};
    use fawn_kv::range::entry::Version;

    #[test]
    fn what_is_deleted_is_nothing_and_what_is_empty_is_a_value() {
        let position = Position { epoch: Epoch(1), seq: Seq(8) };
        let kept = |version| Kept { key: b"k".to_vec(), position, version };
        let (value, flags, expiry, stale, won, client_cas) = (Vec::new(), 3, 0, false, false, None);
        let empty = Version { value, flags, expiry, stale, won, client_cas };
        assert_eq!(Value::of(kept(None)), None);
        let expected = Value { bytes: Vec::new(), flags: 3, cas: 8, expiry: None };
        assert_eq!(Value::of(kept(Some(empty.clone()))), Some(expected.clone()));
        let touched = Version { client_cas: Some(5), expiry: 9, ..empty };
        assert_eq!(Value::of(kept(Some(touched))), Some(Value { cas: 5, expiry: Some(9), ..expected }));
    }

    #[test]
    fn an_expiry_that_is_given_is_never_taken_for_none() {
        assert_eq!(Item::new("v").expires_at(0).expiry, 1);
        assert_eq!(Item::new("v").expires_in(Duration::MAX).expiry, u32::MAX);
    }
}
