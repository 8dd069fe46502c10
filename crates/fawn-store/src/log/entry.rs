//! Entries of a batch: a length, a kind, the range instance, a body.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | length of the body |
//! | 4 | kind |
//! | 5..13 | range instance |
//! | 13.. | body |

use crate::format::record::Record;

/// Bytes of an entry before its body.
pub const ENTRY_HEADER_BYTES: usize = 13;

const RECORD: u8 = 1;
const FLUSH: u8 = 2;
const FLUSH_SCHEDULED: u8 = 3;
const SEQUENCE_RESERVED: u8 = 4;
const RANGE: u8 = 5;

/// What a batch carries, for one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// One record, as [`Record::encode`] writes it.
    Record(&'a [u8]),
    /// Everything numbered up to and including `watermark` is gone (`flush_all`).
    Flush {
        /// Highest sequence number that is flushed.
        watermark: u64,
    },
    /// A flush is due at a later time.
    FlushScheduled {
        /// Unix second; 0 when the flush is cancelled.
        deadline: u32,
    },
    /// Sequence numbers below `limit` may be given out.
    SequenceReserved {
        /// First number that is not reserved.
        limit: u64,
    },
    /// What the owner of a replicated range has written: bytes that mean nothing to the store.
    Range(&'a [u8]),
}

/// Why bytes under a good checksum are not an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryError {
    /// A kind that this version does not know.
    Newer,
    /// Lengths that make no sense.
    Malformed,
}

impl<'a> Entry<'a> {
    /// Bytes that the entry takes in a batch.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        ENTRY_HEADER_BYTES
            + match self {
                Self::Record(bytes) | Self::Range(bytes) => bytes.len(),
                Self::Flush { .. } | Self::SequenceReserved { .. } => 8,
                Self::FlushScheduled { .. } => 4,
            }
    }

    /// Writes the entry into `out`, which is exactly [`encoded_len`](Self::encoded_len) bytes.
    #[inline]
    pub(super) fn encode(&self, range: u64, out: &mut [u8]) {
        let (header, body) = out.split_at_mut(ENTRY_HEADER_BYTES);
        header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
        header[5..].copy_from_slice(&range.to_le_bytes());
        header[4] = match self {
            Self::Record(bytes) => {
                body.copy_from_slice(bytes);
                RECORD
            }
            Self::Range(bytes) => {
                body.copy_from_slice(bytes);
                RANGE
            }
            Self::Flush { watermark } => {
                body.copy_from_slice(&watermark.to_le_bytes());
                FLUSH
            }
            Self::FlushScheduled { deadline } => {
                body.copy_from_slice(&deadline.to_le_bytes());
                FLUSH_SCHEDULED
            }
            Self::SequenceReserved { limit } => {
                body.copy_from_slice(&limit.to_le_bytes());
                SEQUENCE_RESERVED
            }
        };
    }

    /// The entry at the start of `bytes`, its range instance and its length.
    pub(super) fn decode(bytes: &'a [u8]) -> Result<(u64, Self, usize), EntryError> {
        let (header, rest) = bytes.split_first_chunk::<ENTRY_HEADER_BYTES>().ok_or(EntryError::Malformed)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let body = rest.get(..length).ok_or(EntryError::Malformed)?;
        let mut range = [0; 8];
        range.copy_from_slice(&header[5..]);
        let entry = match header[4] {
            RECORD if Record::peek_len(body) == Ok(length) => Self::Record(body),
            FLUSH => Self::Flush { watermark: u64::from_le_bytes(fixed(body)?) },
            FLUSH_SCHEDULED => Self::FlushScheduled { deadline: u32::from_le_bytes(fixed(body)?) },
            SEQUENCE_RESERVED => Self::SequenceReserved { limit: u64::from_le_bytes(fixed(body)?) },
            RANGE => Self::Range(body),
            RECORD => return Err(EntryError::Malformed),
            _ => return Err(EntryError::Newer),
        };
        Ok((u64::from_le_bytes(range), entry, ENTRY_HEADER_BYTES + length))
    }
}

fn fixed<const N: usize>(body: &[u8]) -> Result<[u8; N], EntryError> {
    body.try_into().map_err(|_| EntryError::Malformed)
}
