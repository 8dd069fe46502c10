//! A message with one of its fields changed: the rest is as a process that works has said it, so that the receiver takes
//! it for what it is, and looks at that field.

use std::ops::Range;

use fawn_kv::wire::Message;
use postcard::ser_flavors::Flavor;

/// What is changed in which message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldEdit {
    /// The kind of message, by its place among the variants …
    pub kind: u8,
    /// … and which of that kind.
    pub occurrence: u16,
    /// The field: lists and byte strings have their length for one, too.
    pub field: u16,
    /// How it is changed, and by how much.
    pub how: u8,
    /// See `how`.
    pub amount: u8,
    /// The receiver gets the message as it was, too: 1 before, 2 after.
    pub beside: u8,
}

impl FieldEdit {
    /// Bytes of an edit in an input.
    pub const BYTES: usize = 8;

    /// The edit that a part of an input is.
    pub fn of(part: &[u8]) -> Option<Self> {
        let [kind, low, high, field, further, how, amount, beside] = *part.first_chunk::<{ Self::BYTES }>()?;
        let (occurrence, field) = (u16::from_le_bytes([low, high]), u16::from_le_bytes([field, further]));
        Some(Self { kind, occurrence, field, how, amount, beside: beside % 3 })
    }

    /// The same as bytes.
    pub fn bytes(self) -> [u8; Self::BYTES] {
        let Self { kind, occurrence, field, how, amount, beside } = self;
        let ([low, high], [first, further]) = (occurrence.to_le_bytes(), field.to_le_bytes());
        [kind, low, high, first, further, how, amount, beside]
    }

    /// The message with its field changed, if what comes of it is another message.
    pub fn apply(self, message: &Message) -> Option<Message> {
        let FieldSpans { bytes, spans } = field_spans(message);
        let span = spans.get(usize::from(self.field) % spans.len().max(1))?.clone();
        let other = spans.get(usize::from(self.amount) % spans.len())?.clone();
        let values = self.values(&bytes[span.clone()], &bytes[other]);
        values.into_iter().find_map(|value| {
            let mut changed = vec![message.since()];
            changed.extend_from_slice(&bytes[..span.start]);
            changed.extend_from_slice(&value);
            changed.extend_from_slice(&bytes[span.end..]);
            Message::decode(&changed).ok().filter(|changed| changed != message)
        })
    }

    /// What the field's bytes may become: the first that decodes counts.
    fn values(self, bytes: &[u8], other: &[u8]) -> Vec<Vec<u8>> {
        let number = read(bytes);
        let by = u64::from(self.amount % 8) + 1;
        match self.how % 8 {
            0 => vec![varint(number.wrapping_add(by))],
            1 => vec![varint(number.wrapping_sub(by)), varint(number.saturating_sub(by))],
            2 => vec![vec![0]],
            3 => vec![varint(u64::MAX), varint(u64::from(u32::MAX)), varint(u64::from(u16::MAX)), vec![0xff], vec![1]],
            4 => vec![varint(1 << (self.amount % 64)), vec![1 << (self.amount % 8)]],
            5 => {
                let mut flipped = bytes.to_vec();
                let at = usize::from(self.amount) / 8 % flipped.len().max(1);
                if let Some(byte) = flipped.get_mut(at) {
                    *byte ^= 1 << (self.amount % 8);
                }
                vec![flipped]
            }
            6 => vec![other.to_vec()],
            _ => vec![varint(u64::from(self.amount))],
        }
    }
}

/// The place of a message's kind among the variants.
pub fn kind(message: &Message) -> u8 {
    field_spans(message).bytes.first().copied().unwrap_or_default()
}

/// A number as postcard reads it; of other bytes the first few.
fn read(bytes: &[u8]) -> u64 {
    bytes.iter().take(10).rev().fold(0_u64, |number, byte| number << 7 | u64::from(byte & 0x7f))
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A message's bytes, and where each of its fields is: postcard hands them over one by one.
#[derive(Default)]
struct FieldSpans {
    bytes: Vec<u8>,
    spans: Vec<Range<usize>>,
}

fn field_spans(message: &Message) -> FieldSpans {
    postcard::serialize_with_flavor(message, FieldSpans::default()).expect("a message can be encoded")
}

impl Flavor for FieldSpans {
    type Output = Self;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if !bytes.is_empty() {
            self.spans.push(start..self.bytes.len());
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Self> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use fawn_kv::ids::{Epoch, Incarnation, RangeId, Seq};

    use super::*;

    #[test]
    fn one_field_is_changed_and_the_others_stay() {
        let (range, epoch, to) = (RangeId(1), Epoch(2), Incarnation(3));
        let have = |committed| Message::Have { range, epoch, to, last: Seq(300), committed, full: false };
        let changed =
            |how, amount| FieldEdit { kind: 5, occurrence: 0, field: 5, how, amount, beside: 0 }.apply(&have(Seq(200)));
        assert_eq!(kind(&have(Seq(200))), 5);
        assert_eq!(changed(0, 4), Some(have(Seq(205))));
        assert_eq!(changed(1, 7), Some(have(Seq(192))));
        assert_eq!(changed(3, 0), Some(have(Seq(u64::MAX))));
        assert_eq!(changed(6, 4), Some(have(Seq(300))));
        let edit = FieldEdit { kind: 9, occurrence: 700, field: 300, how: 1, amount: 2, beside: 2 };
        assert_eq!(FieldEdit::of(&edit.bytes()), Some(edit));
    }
}
