//! Gets and sets of values of one known length, under keys of one known length.
//!
//! A reply that is expected is compared in place; only other replies are looked at.

use super::Reply;

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueCommand {
    /// The value of a key.
    Get,
    /// To keep a value.
    Set,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueReply<'a> {
    /// A value of the length that is expected.
    Value(&'a [u8]),
    /// A value of another length.
    OtherLength(u64),
    /// There is no value.
    Miss,
    /// It was stored.
    Stored,
    /// An error: its text.
    Refused(&'a [u8]),
}

/// What the beginning of the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseOutcome<'a> {
    /// A reply that takes so many bytes of the input.
    Reply(ValueReply<'a>, usize),
    /// No reply yet.
    More,
    /// No reply to what was asked.
    Garbage,
}

/// Writes commands and reads replies, for keys of `KEY` bytes. It speaks RESP2, which every server does without being asked.
#[derive(Clone, Debug)]
pub struct ValueCodec<const KEY: usize> {
    value_bytes: usize,
    /// Of a get and of a set, what comes before the key.
    get_start: Vec<u8>,
    set_start: Vec<u8>,
    /// Of a set, what follows the key.
    set_rest: Vec<u8>,
    /// The first line of a hit.
    hit_start: Vec<u8>,
}

const MISS: &[u8] = b"$-1\r\n";
const STORED: &[u8] = b"+OK\r\n";

impl<const KEY: usize> ValueCodec<KEY> {
    /// For values of this length.
    pub fn new(value_bytes: usize) -> Self {
        Self {
            value_bytes,
            get_start: format!("*2\r\n$3\r\nGET\r\n${KEY}\r\n").into_bytes(),
            set_start: format!("*3\r\n$3\r\nSET\r\n${KEY}\r\n").into_bytes(),
            set_rest: format!("\r\n${value_bytes}\r\n").into_bytes(),
            hit_start: format!("${value_bytes}\r\n").into_bytes(),
        }
    }

    /// Bytes of the longest reply that is expected.
    pub fn hit_bytes(&self) -> usize {
        self.hit_start.len() + self.value_bytes + 2
    }

    /// Asks for the value of a key.
    #[inline]
    pub fn push_get(&self, key: &[u8; KEY], out: &mut Vec<u8>) {
        out.reserve(self.get_start.len() + KEY + 2);
        out.extend_from_slice(&self.get_start);
        out.extend_from_slice(key);
        out.extend_from_slice(b"\r\n");
    }

    /// Sets a key to the value that `fill` writes into its bytes, which are zero before.
    #[inline]
    pub fn push_set(&self, key: &[u8; KEY], out: &mut Vec<u8>, fill: impl FnOnce(&mut [u8])) {
        out.extend_from_slice(&self.set_start);
        out.extend_from_slice(key);
        out.extend_from_slice(&self.set_rest);
        let from = out.len();
        out.resize(from + self.value_bytes, 0);
        fill(&mut out[from..]);
        out.extend_from_slice(b"\r\n");
    }

    /// The reply to a get of a key that `value` is stored for. For servers that always say the same.
    pub fn push_hit(&self, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hit_start);
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }

    /// The reply to a set that was carried out.
    pub fn stored(&self) -> &'static [u8] {
        STORED
    }

    /// The reply at the beginning of `input`.
    #[inline]
    pub fn parse<'a>(&self, asked: ValueCommand, input: &'a [u8]) -> ParseOutcome<'a> {
        match asked {
            ValueCommand::Get => match self.parse_hit(input) {
                Some(value) => ParseOutcome::Reply(ValueReply::Value(value), self.hit_bytes()),
                None => parse_other(asked, input),
            },
            ValueCommand::Set if input.starts_with(STORED) => ParseOutcome::Reply(ValueReply::Stored, STORED.len()),
            ValueCommand::Set => parse_other(asked, input),
        }
    }

    /// The value, if the input begins with a hit as it is expected.
    #[inline]
    fn parse_hit<'a>(&self, input: &'a [u8]) -> Option<&'a [u8]> {
        let (value, rest) = input.strip_prefix(self.hit_start.as_slice())?.split_at_checked(self.value_bytes)?;
        rest.starts_with(b"\r\n").then_some(value)
    }
}

/// Whatever else it is.
#[cold]
fn parse_other(asked: ValueCommand, input: &[u8]) -> ParseOutcome<'_> {
    if asked == ValueCommand::Get && input.starts_with(MISS) {
        return ParseOutcome::Reply(ValueReply::Miss, MISS.len());
    }
    match (asked, Reply::parse(input)) {
        (_, Ok(None)) => ParseOutcome::More,
        (_, Ok(Some((Reply::Error(text), bytes)))) => ParseOutcome::Reply(ValueReply::Refused(text), bytes),
        (ValueCommand::Get, Ok(Some((Reply::Null, bytes)))) => ParseOutcome::Reply(ValueReply::Miss, bytes),
        (ValueCommand::Get, Ok(Some((Reply::Bulk(value), bytes)))) => {
            ParseOutcome::Reply(ValueReply::OtherLength(value.len() as u64), bytes)
        }
        (ValueCommand::Set, Ok(Some((Reply::Null, bytes)))) => {
            ParseOutcome::Reply(ValueReply::Refused(b"nothing was stored"), bytes)
        }
        (_, Ok(Some(_)) | Err(_)) => ParseOutcome::Garbage,
    }
}
