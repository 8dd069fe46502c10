//! Gets and sets in Redis's protocol, of values of one known length, under keys of one known length.
//!
//! A reply that is expected is compared in place; only other replies are looked at.

use fawn_memcache::client::{CheckedReply, ParseOutcome, RequestKind};
use fawn_resp::client::Reply;

/// Writes commands and reads replies, for keys of `KEY` bytes. It speaks RESP2, which every server does without being asked.
#[derive(Clone, Debug)]
pub struct RespCodec<const KEY: usize> {
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

impl<const KEY: usize> RespCodec<KEY> {
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
    pub fn parse<'a>(&self, asked: RequestKind, input: &'a [u8]) -> ParseOutcome<'a> {
        match asked {
            RequestKind::Get => match self.parse_hit(input) {
                Some(value) => ParseOutcome::Reply(CheckedReply::Value(value), self.hit_bytes()),
                None => parse_other(asked, input),
            },
            RequestKind::Set if input.starts_with(STORED) => ParseOutcome::Reply(CheckedReply::Stored, STORED.len()),
            RequestKind::Set => parse_other(asked, input),
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
fn parse_other(asked: RequestKind, input: &[u8]) -> ParseOutcome<'_> {
    if asked == RequestKind::Get && input.starts_with(MISS) {
        return ParseOutcome::Reply(CheckedReply::Miss, MISS.len());
    }
    match (asked, Reply::parse(input)) {
        (_, Ok(None)) => ParseOutcome::More,
        (_, Ok(Some((Reply::Error(text), bytes)))) => ParseOutcome::Reply(CheckedReply::Refused(text), bytes),
        (RequestKind::Get, Ok(Some((Reply::Null, bytes)))) => ParseOutcome::Reply(CheckedReply::Miss, bytes),
        (RequestKind::Get, Ok(Some((Reply::Bulk(value), bytes)))) => {
            ParseOutcome::Reply(CheckedReply::OtherLength(value.len() as u64), bytes)
        }
        (RequestKind::Set, Ok(Some((Reply::Null, bytes)))) => {
            ParseOutcome::Reply(CheckedReply::Refused(b"nothing was stored"), bytes)
        }
        (_, Ok(Some(_)) | Err(_)) => ParseOutcome::Garbage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_length_are_compared_in_place_and_others_told() {
        let codec = RespCodec::<3>::new(4);
        let mut out = Vec::new();
        codec.push_get(b"key", &mut out);
        codec.push_set(b"key", &mut out, |value| value.copy_from_slice(b"abcd"));
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$4\r\nabcd\r\n");
        let get = |input: &'static str| codec.parse(RequestKind::Get, input.as_bytes());
        assert_eq!(get("$4\r\nabcd\r\n+OK"), ParseOutcome::Reply(CheckedReply::Value(b"abcd"), codec.hit_bytes()));
        assert_eq!(get("$2\r\nab\r\n"), ParseOutcome::Reply(CheckedReply::OtherLength(2), 8));
        assert_eq!(get("$-1\r\n"), ParseOutcome::Reply(CheckedReply::Miss, 5));
        assert_eq!(get("-ERR no\r\n"), ParseOutcome::Reply(CheckedReply::Refused(b"ERR no"), 9));
        assert_eq!(get("$4\r\nabcd\r"), ParseOutcome::More);
        assert_eq!(get(":1\r\n"), ParseOutcome::Garbage);
        let set = |input: &'static str| codec.parse(RequestKind::Set, input.as_bytes());
        assert_eq!(set("+OK\r\n"), ParseOutcome::Reply(CheckedReply::Stored, 5));
        assert_eq!(set("$-1\r\n"), ParseOutcome::Reply(CheckedReply::Refused(b"nothing was stored"), 5));
        assert_eq!(set("+O"), ParseOutcome::More);
    }
}
