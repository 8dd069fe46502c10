//! Records: one version of one key, in the bytes that the open segment, the commit log and segments all share.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | CRC-32C of all bytes after it |
//! | 4 | kind ([`Kind`]) |
//! | 5 | flags ([`Marks`], and which optional fields follow) |
//! | 6..8 | key length |
//! | 8..12 | value length |
//! | 12..16 | epoch |
//! | 16..24 | sequence number |
//! | +4 | client flags, when not zero |
//! | +4 | expiry, Unix seconds, when there is one |
//! | +8 | the client's own cas, when it chose one |
//! | … | key, then value |
//!
//! Integers are little-endian. `docs/data-log.md` is the format's specification.

/// Bytes before the optional fields.
pub const HEADER_BYTES: usize = 24;
/// Longest key the format holds, in bytes.
pub const MAX_KEY_BYTES: usize = 65_535;
/// Longest value the store takes, in bytes: 128 MiB.
pub const MAX_VALUE_BYTES: usize = 128 << 20;

const HAS_CLIENT_FLAGS: u8 = 1;
const HAS_EXPIRY: u8 = 2;
const STALE: u8 = 4;
const WON: u8 = 8;
const HAS_CLIENT_CAS: u8 = 16;
const KNOWN_FLAGS: u8 = HAS_CLIENT_FLAGS | HAS_EXPIRY | STALE | WON | HAS_CLIENT_CAS;

/// What a record says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The key has this value.
    Value = 1,
    /// The key is deleted (the paper's delete entry).
    Delete = 2,
    /// The key's value is in a file of its own; the record's value is a [`crate::format::large::Stub`].
    Stub = 3,
    /// Damage has taken a version of some key: of its name only the position's prefix is known, and that is the
    /// record's key ([`Record::lost`]).
    Lost = 4,
}

/// State of an item that memcached's meta commands keep beside its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Invalidated, still readable (`md` with `I`).
    pub stale: bool,
    /// A client holds the right to refresh it.
    pub won: bool,
}

/// One version of one key, borrowed from wherever its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What the record says.
    pub kind: Kind,
    /// Whether the version is stale, and whether a client has won it.
    pub marks: Marks,
    /// Epoch of the range that numbered the record; 0 outside a chain.
    pub epoch: u32,
    /// Sequence number in its range: grows with every record, never restarts. memcached's cas unless
    /// [`client_cas`](Self::client_cas) is set.
    pub seq: u64,
    /// The client's opaque 32-bit flags.
    pub client_flags: u32,
    /// Unix second from which the record is absent; 0 for never.
    pub expiry: u32,
    /// A cas value that the client chose itself (meta flag `E`).
    pub client_cas: Option<u64>,
    /// The key, 1 to [`MAX_KEY_BYTES`] bytes.
    pub key: &'a [u8],
    /// The value, 0 to [`MAX_VALUE_BYTES`] bytes.
    pub value: &'a [u8],
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end before the record does.
    #[error("the record is truncated")]
    Short,
    /// The checksum does not match.
    #[error("the record's checksum does not match")]
    Checksum,
    /// A kind, flag or length that this version does not know.
    #[error("the record's header is invalid")]
    Malformed,
}

impl<'a> Record<'a> {
    /// Bytes that the record takes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        HEADER_BYTES
            + if self.client_flags == 0 { 0 } else { 4 }
            + if self.expiry == 0 { 0 } else { 4 }
            + if self.client_cas.is_none() { 0 } else { 8 }
            + self.key.len()
            + self.value.len()
    }

    /// Whether the record is absent at `now` (Unix seconds) because it expired.
    #[inline]
    pub fn is_expired(&self, now: u32) -> bool {
        self.expiry != 0 && self.expiry <= now
    }

    /// What is left of a record of a key with this position prefix that cannot be read any more, numbered up to `seq`.
    /// The prefix is given as [`lost_name`] has it.
    pub fn lost(prefix: &'a [u8; 8], seq: u64) -> Self {
        Self {
            kind: Kind::Lost,
            marks: Marks::default(),
            epoch: 0,
            seq,
            client_flags: 0,
            expiry: 0,
            client_cas: None,
            key: prefix,
            value: &[],
        }
    }

    /// The prefix of the position of the key that was lost; `None` for any other record.
    #[inline]
    pub fn lost_prefix(&self) -> Option<u64> {
        let prefix = self.key.try_into().ok().filter(|_| self.kind == Kind::Lost);
        prefix.map(u64::from_be_bytes)
    }

    /// Whether the record at `bytes`, whose header makes sense, is a lost one.
    #[inline]
    pub(crate) fn is_lost_at(bytes: &[u8]) -> bool {
        bytes[4] == Kind::Lost as u8
    }

    /// Appends the record's bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.encoded_len(), 0);
        self.encode_into(&mut out[start..]);
    }

    /// Writes the record over `out`, which has just its length.
    pub fn encode_into(&self, out: &mut [u8]) {
        assert!(!self.key.is_empty() && self.key.len() <= MAX_KEY_BYTES, "a key has 1 to 65,535 bytes");
        assert!(self.value.len() <= MAX_VALUE_BYTES, "a value has 128 MiB at most");
        assert!(out.len() == self.encoded_len(), "a record fills its place");
        let mut flags = 0;
        for (bit, set) in [
            (HAS_CLIENT_FLAGS, self.client_flags != 0),
            (HAS_EXPIRY, self.expiry != 0),
            (STALE, self.marks.stale),
            (WON, self.marks.won),
            (HAS_CLIENT_CAS, self.client_cas.is_some()),
        ] {
            flags |= if set { bit } else { 0 };
        }
        let (checksum, body) = out.split_at_mut(4);
        body[0] = self.kind as u8;
        body[1] = flags;
        body[2..4].copy_from_slice(&(self.key.len() as u16).to_le_bytes());
        body[4..8].copy_from_slice(&(self.value.len() as u32).to_le_bytes());
        body[8..12].copy_from_slice(&self.epoch.to_le_bytes());
        body[12..20].copy_from_slice(&self.seq.to_le_bytes());
        let mut at = HEADER_BYTES - 4;
        let mut put = |bytes: &[u8]| {
            body[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        if self.client_flags != 0 {
            put(&self.client_flags.to_le_bytes());
        }
        if self.expiry != 0 {
            put(&self.expiry.to_le_bytes());
        }
        if let Some(cas) = self.client_cas {
            put(&cas.to_le_bytes());
        }
        put(self.key);
        put(self.value);
        checksum.copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
    }

    /// Length of the record that starts at `bytes`, from its header alone (nothing is verified but that the header
    /// makes sense).
    ///
    /// # Errors
    /// [`RecordError::Short`] when fewer than [`HEADER_BYTES`] bytes are given; [`RecordError::Malformed`].
    #[inline]
    pub fn peek_len(bytes: &[u8]) -> Result<usize, RecordError> {
        let header = bytes.get(..HEADER_BYTES).ok_or(RecordError::Short)?;
        let flags = header[5];
        let key = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let value = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        if !(1..=4).contains(&header[4]) || flags & !KNOWN_FLAGS != 0 || key == 0 || value > MAX_VALUE_BYTES {
            return Err(RecordError::Malformed);
        }
        Ok(HEADER_BYTES + optional_len(flags) + key + value)
    }

    /// The record at the start of `bytes` and its length, its checksum verified.
    ///
    /// # Errors
    /// Any [`RecordError`].
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, usize), RecordError> {
        let len = Self::peek_len(bytes)?;
        let whole = bytes.get(..len).ok_or(RecordError::Short)?;
        if u32_at(whole, 0) != crc32c::crc32c(&whole[4..]) {
            return Err(RecordError::Checksum);
        }
        Ok((Self::decode_trusted(whole)?, len))
    }

    /// The record that `bytes` is, without verifying its checksum: for bytes under another checksum that was verified
    /// (a page's), or in memory since they were.
    ///
    /// # Errors
    /// [`RecordError::Short`], [`RecordError::Malformed`].
    #[inline]
    pub fn decode_trusted(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let len = Self::peek_len(bytes)?;
        let bytes = bytes.get(..len).ok_or(RecordError::Short)?;
        let flags = bytes[5];
        let mut at = HEADER_BYTES;
        let mut optional = |present: bool, width: usize| {
            let place = at;
            at += if present { width } else { 0 };
            present.then_some(place)
        };
        let client_flags = optional(flags & HAS_CLIENT_FLAGS != 0, 4).map_or(0, |place| u32_at(bytes, place));
        let expiry = optional(flags & HAS_EXPIRY != 0, 4).map_or(0, |place| u32_at(bytes, place));
        let client_cas = optional(flags & HAS_CLIENT_CAS != 0, 8).map(|place| u64_at(bytes, place));
        let (key, value) = bytes[at..].split_at(usize::from(u16::from_le_bytes([bytes[6], bytes[7]])));
        Ok(Self {
            kind: match bytes[4] {
                1 => Kind::Value,
                2 => Kind::Delete,
                3 => Kind::Stub,
                _ => Kind::Lost,
            },
            marks: Marks { stale: flags & STALE != 0, won: flags & WON != 0 },
            epoch: u32_at(bytes, 12),
            seq: u64_at(bytes, 16),
            client_flags,
            expiry,
            client_cas,
            key,
            value,
        })
    }
}

/// A prefix as [`Record::lost`] wants it.
pub fn lost_name(prefix: u64) -> [u8; 8] {
    prefix.to_be_bytes()
}

fn optional_len(flags: u8) -> usize {
    let width = |bit: u8, width: usize| if flags & bit == 0 { 0 } else { width };
    width(HAS_CLIENT_FLAGS, 4) + width(HAS_EXPIRY, 4) + width(HAS_CLIENT_CAS, 8)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record<'static> {
        Record {
            kind: Kind::Value,
            marks: Marks { stale: true, won: false },
            epoch: 3,
            seq: 1 << 40,
            client_flags: 7,
            expiry: 1_900_000_000,
            client_cas: Some(99),
            key: b"key",
            value: b"a value",
        }
    }

    #[test]
    fn a_record_reads_back_as_written() {
        let plain = Record { marks: Marks::default(), client_flags: 0, expiry: 0, client_cas: None, ..sample() };
        let lost = lost_name(0x0102_0304_0506_0708);
        let lost = Record::lost(&lost, 9);
        assert_eq!((lost.lost_prefix(), plain.lost_prefix()), (Some(0x0102_0304_0506_0708), None));
        for record in [sample(), plain, Record { value: b"", ..plain }, Record { kind: Kind::Delete, ..plain }, lost] {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            assert_eq!(bytes.len(), record.encoded_len());
            assert_eq!(Record::decode(&bytes), Ok((record, bytes.len())));
        }
    }

    #[test]
    fn every_bit_flip_and_every_truncation_is_seen() {
        let mut bytes = Vec::new();
        sample().encode(&mut bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&bytes).is_err(), "bit {bit} flipped unseen");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for len in 0..bytes.len() {
            assert!(Record::decode(&bytes[..len]).is_err());
        }
    }
}
