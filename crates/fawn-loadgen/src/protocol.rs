//! The keys and values that the generator asks for, in requests as [`fawn_memcache::client`] and [`RespCodec`] write them.

use fawn_memcache::client::{Dialect, ParseOutcome, RequestKind, ValueCodec};
use fawn_workload::{mix, write_value};

use crate::resp_codec::RespCodec;

/// What is spoken with the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadProtocol {
    /// memcached's `get` and `set`.
    Text,
    /// memcached's `mg` and `ms`.
    Meta,
    /// Redis's `GET` and `SET`, in RESP2.
    Resp,
}

impl LoadProtocol {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => Dialect::Text.name(),
            Self::Meta => Dialect::Meta.name(),
            Self::Resp => "resp",
        }
    }
}

/// Bytes of every key.
pub const KEY_BYTES: usize = 20;

/// The printable key of entry `index`; no two entries share one.
#[inline]
pub fn key(index: u64) -> [u8; KEY_BYTES] {
    let mut key = *b"fawn................";
    for (pair, byte) in key[4..].as_chunks_mut::<2>().0.iter_mut().zip(mix(index).to_be_bytes()) {
        *pair = HEX[byte as usize];
    }
    key
}

const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    table
};

/// Writes requests and reads replies about entries.
#[derive(Clone, Debug)]
pub enum Codec {
    /// memcached's protocol.
    Memcached(ValueCodec<KEY_BYTES>),
    /// Redis's.
    Redis(RespCodec<KEY_BYTES>),
}

impl Codec {
    /// For values of this length.
    pub fn new(protocol: LoadProtocol, value_bytes: usize) -> Self {
        match protocol {
            LoadProtocol::Text => Self::Memcached(ValueCodec::new(Dialect::Text, value_bytes)),
            LoadProtocol::Meta => Self::Memcached(ValueCodec::new(Dialect::Meta, value_bytes)),
            LoadProtocol::Resp => Self::Redis(RespCodec::new(value_bytes)),
        }
    }

    /// Bytes of the longest reply that is expected.
    pub fn hit_bytes(&self) -> usize {
        match self {
            Self::Memcached(codec) => codec.hit_bytes(),
            Self::Redis(codec) => codec.hit_bytes(),
        }
    }

    /// Asks for the value of entry `index`.
    #[inline]
    pub fn push_get(&self, index: u64, out: &mut Vec<u8>) {
        match self {
            Self::Memcached(codec) => codec.push_get(&key(index), out),
            Self::Redis(codec) => codec.push_get(&key(index), out),
        }
    }

    /// Sets entry `index` to the value that it has in this version.
    #[inline]
    pub fn push_set(&self, index: u64, version: u32, out: &mut Vec<u8>) {
        let fill = |value: &mut [u8]| write_value(index, version, value);
        match self {
            Self::Memcached(codec) => codec.push_set(&key(index), out, fill),
            Self::Redis(codec) => codec.push_set(&key(index), out, fill),
        }
    }

    /// The reply to a get of a key that `value` is stored for. For servers that always say the same.
    pub fn push_hit(&self, key: &[u8; KEY_BYTES], value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Memcached(codec) => codec.push_hit(key, value, out),
            Self::Redis(codec) => codec.push_hit(value, out),
        }
    }

    /// The reply to a set that was carried out.
    pub fn stored(&self) -> &'static [u8] {
        match self {
            Self::Memcached(codec) => codec.stored(),
            Self::Redis(codec) => codec.stored(),
        }
    }

    /// The reply at the beginning of `input` to what was asked of entry `index`.
    #[inline]
    pub fn parse<'a>(&self, asked: RequestKind, index: u64, input: &'a [u8]) -> ParseOutcome<'a> {
        match self {
            Self::Memcached(codec) => codec.parse(asked, || key(index), input),
            Self::Redis(codec) => codec.parse(asked, input),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fawn_memcache::client::CheckedReply;

    use super::*;

    #[test]
    fn keys_are_printable_and_differ() {
        let keys: BTreeSet<_> = (0..10_000).map(key).collect();
        assert_eq!(keys.len(), 10_000);
        assert!(keys.iter().flatten().all(u8::is_ascii_alphanumeric));
    }

    #[test]
    fn a_reply_is_that_of_its_entry() {
        let codec = Codec::new(LoadProtocol::Text, 10);
        let (mut request, mut value, mut reply) = (Vec::new(), [0; 10], Vec::new());
        codec.push_set(5, 9, &mut request);
        write_value(5, 9, &mut value);
        assert_eq!(request, [b"set ", &key(5)[..], b" 0 0 10\r\n", &value, b"\r\n"].concat());
        codec.push_hit(&key(5), &value, &mut reply);
        let whole = reply.len();
        let parse = |index| codec.parse(RequestKind::Get, index, &reply);
        assert_eq!(parse(5), ParseOutcome::Reply(CheckedReply::Value(&value), whole));
        assert_eq!(parse(6), ParseOutcome::Reply(CheckedReply::OtherKey, whole));
    }

    #[test]
    fn a_server_of_rediss_protocol_is_asked_for_the_same_entries() {
        let codec = Codec::new(LoadProtocol::Resp, 10);
        let (mut request, mut value, mut reply) = (Vec::new(), [0; 10], Vec::new());
        codec.push_set(5, 9, &mut request);
        write_value(5, 9, &mut value);
        let set = [b"*3\r\n$3\r\nSET\r\n$20\r\n", &key(5)[..], b"\r\n$10\r\n", &value, b"\r\n"].concat();
        assert_eq!(request, set);
        codec.push_hit(&key(5), &value, &mut reply);
        let hit = ParseOutcome::Reply(CheckedReply::Value(&value), reply.len());
        assert_eq!(codec.parse(RequestKind::Get, 5, &reply), hit);
        let refused = ParseOutcome::Reply(CheckedReply::Refused(b"LOADING wait"), 15);
        assert_eq!(codec.parse(RequestKind::Set, 5, b"-LOADING wait\r\n"), refused);
        assert_eq!(codec.parse(RequestKind::Get, 5, b"$-1\r\n"), ParseOutcome::Reply(CheckedReply::Miss, 5));
        assert_eq!(codec.parse(RequestKind::Set, 5, codec.stored()), ParseOutcome::Reply(CheckedReply::Stored, 5));
    }
}
