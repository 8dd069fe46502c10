//! What has to be known of a request to write its reply.

use crate::conditions::MOST_TAGS;
use crate::range::ByteRange;

/// What a reply is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReplyKind {
    /// An item's value.
    Value,
    /// An item as JSON.
    Json,
    /// One item of a batch.
    Batch,
    /// A put.
    Put,
    /// A put that was to make an item.
    Add,
    /// A delete.
    Delete,
    /// A step of a counter.
    Count,
    /// Whether the client is who it says it is.
    Authentication,
}

const KINDS: [ReplyKind; 8] = [
    ReplyKind::Value,
    ReplyKind::Json,
    ReplyKind::Batch,
    ReplyKind::Put,
    ReplyKind::Add,
    ReplyKind::Delete,
    ReplyKind::Count,
    ReplyKind::Authentication,
];

/// Which condition a get has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagCondition {
    /// None.
    Always,
    /// The item's tag is one of these.
    Match,
    /// The item's tag is none of these.
    NoneMatch,
}

/// What has to be known of a request to write its reply: small, and without allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a bit of the encoding")]
pub struct Responder {
    /// What the reply is of.
    pub kind: ReplyKind,
    /// The Unix second of the request; 0: the clock was never set.
    pub date: u32,
    /// The reply has no body, though it says how long that were.
    pub is_head: bool,
    /// The connection is closed after the reply.
    pub close: bool,
    /// The client speaks HTTP/1.0.
    pub is_old: bool,
    /// The reply is the first part of a batch.
    pub is_first: bool,
    /// The reply is the last part of its batch, or the only one.
    pub is_last: bool,
    /// The condition.
    pub condition: TagCondition,
    /// Any item matches.
    pub any: bool,
    /// Tags that match.
    pub tags: [u64; MOST_TAGS],
    /// How many there are.
    pub tag_count: u8,
    /// The part of the value that is asked for.
    pub range: Option<ByteRange>,
    /// The part is only sent of this version.
    pub if_range: Option<u64>,
}

impl Responder {
    /// Bytes of an encoded responder.
    pub const BYTES: usize = 48;

    /// One of this kind that asks for nothing special.
    pub fn new(kind: ReplyKind, date: u32) -> Self {
        Self {
            kind,
            date,
            is_head: false,
            close: false,
            is_old: false,
            is_first: true,
            is_last: true,
            condition: TagCondition::Always,
            any: false,
            tags: [0; MOST_TAGS],
            tag_count: 0,
            range: None,
            if_range: None,
        }
    }

    /// The responder as bytes.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.kind as u8;
        let flags =
            [self.is_head, self.close, self.is_old, self.is_first, self.is_last, self.any, self.if_range.is_some()];
        bytes[1] = flags.iter().enumerate().fold(0, |all, (bit, flag)| all | u8::from(*flag) << bit);
        let (range, first, last) = match self.range {
            None => (0, 0, 0),
            Some(ByteRange::Between(first, last)) => (1, first, last),
            Some(ByteRange::From(first)) => (2, first, 0),
            Some(ByteRange::Last(count)) => (3, count, 0),
        };
        bytes[2] = self.condition as u8 | self.tag_count << 2 | range << 4;
        bytes[4..8].copy_from_slice(&self.date.to_le_bytes());
        bytes[8..12].copy_from_slice(&first.to_le_bytes());
        bytes[12..16].copy_from_slice(&last.to_le_bytes());
        let numbers = self.tags.into_iter().chain([self.if_range.unwrap_or(0)]);
        for (place, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// The responder of such bytes.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let flag = |bit: u8| bytes[1] >> bit & 1 != 0;
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes are four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight bytes"));
        Self {
            kind: KINDS[usize::from(bytes[0])],
            date: short(4),
            is_head: flag(0),
            close: flag(1),
            is_old: flag(2),
            is_first: flag(3),
            is_last: flag(4),
            condition: match bytes[2] & 3 {
                0 => TagCondition::Always,
                1 => TagCondition::Match,
                _ => TagCondition::NoneMatch,
            },
            any: flag(5),
            tags: [long(16), long(24), long(32)],
            tag_count: bytes[2] >> 2 & 3,
            range: match bytes[2] >> 4 {
                0 => None,
                1 => Some(ByteRange::Between(short(8), short(12))),
                2 => Some(ByteRange::From(short(8))),
                _ => Some(ByteRange::Last(short(8))),
            },
            if_range: flag(6).then(|| long(40)),
        }
    }

    /// Whether an item with this cas meets the condition's tags.
    pub fn matches(&self, cas: u64) -> bool {
        self.any || self.tags[..usize::from(self.tag_count)].contains(&cas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_responder_comes_back_as_it_was() {
        let ranges = [None, Some(ByteRange::Between(1, u32::MAX)), Some(ByteRange::From(7)), Some(ByteRange::Last(9))];
        let conditions = [TagCondition::Always, TagCondition::Match, TagCondition::NoneMatch];
        for (number, kind) in KINDS.into_iter().enumerate() {
            for (at, range) in ranges.into_iter().enumerate() {
                let bit = |shift: usize| (number + at) >> shift & 1 != 0;
                let responder = Responder {
                    is_head: bit(0),
                    close: bit(1),
                    is_old: bit(2),
                    is_first: !bit(0),
                    is_last: !bit(1),
                    condition: conditions[at % 3],
                    any: bit(2),
                    tags: [u64::MAX, 2, 3],
                    tag_count: at as u8,
                    range,
                    if_range: bit(0).then_some(u64::MAX - 1),
                    ..Responder::new(kind, u32::MAX - 3)
                };
                assert_eq!(Responder::from_bytes(&responder.to_bytes()), responder);
            }
        }
    }
}
