//! Requests as they are sent and answers as they are received, in memcached's text or meta protocol.
//!
//! What is expected has a known length and is compared in place; only other answers are looked at token by token.

use fawn_workload::{mix, write_value};

/// Bytes of every key.
pub const KEY_BYTES: usize = 20;
/// Longest line of an answer.
const LONGEST_LINE: usize = 2048;

/// Which commands are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `get` and `set`.
    Text,
    /// `mg` and `ms`.
    Meta,
}

impl Protocol {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Meta => "meta",
        }
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// The value of a key.
    Get,
    /// To keep a value.
    Set,
}

impl RequestKind {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
        }
    }
}

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

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// A value of the length that is expected.
    Value(&'a [u8]),
    /// A value of another length.
    OtherLength(u64),
    /// The value of another key, by the name that came with it.
    OtherKey,
    /// There is no value.
    Miss,
    /// It was stored.
    Stored,
    /// An error, or a set that was not carried out: the line without its end.
    Refused(&'a [u8]),
}

/// What the beginning of the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// An answer that takes so many bytes of the input, perhaps more than there are yet.
    Answer(Answer<'a>, usize),
    /// No answer yet.
    More,
    /// No answer of this protocol.
    Garbage,
}

/// Writes requests and reads answers.
#[derive(Clone, Debug)]
pub struct Codec {
    protocol: Protocol,
    value_bytes: usize,
    /// What follows the key in a set.
    set_rest: Vec<u8>,
    /// The first line of a hit, up to the key in the text protocol, and from there on.
    hit_start: &'static [u8],
    hit_rest: Vec<u8>,
    /// What follows the value of a hit.
    hit_end: &'static [u8],
    /// Bytes of a hit's first line.
    hit_line: usize,
    miss: &'static [u8],
    stored: &'static [u8],
}

impl Codec {
    /// For values of this length.
    pub fn new(protocol: Protocol, value_bytes: usize) -> Self {
        let (set_rest, hit_start, hit_rest, hit_end): (_, &[u8], _, &[u8]) = match protocol {
            Protocol::Text => {
                (format!(" 0 0 {value_bytes}\r\n"), b"VALUE ", format!(" 0 {value_bytes}\r\n"), b"\r\nEND\r\n")
            }
            Protocol::Meta => (format!(" {value_bytes}\r\n"), b"VA ", format!("{value_bytes}\r\n"), b"\r\n"),
        };
        let (key, miss, stored): (_, &[u8], &[u8]) = match protocol {
            Protocol::Text => (KEY_BYTES, b"END\r\n", b"STORED\r\n"),
            Protocol::Meta => (0, b"EN\r\n", b"HD\r\n"),
        };
        let hit_line = hit_start.len() + key + hit_rest.len();
        let (set_rest, hit_rest) = (set_rest.into_bytes(), hit_rest.into_bytes());
        Self { protocol, value_bytes, set_rest, hit_start, hit_rest, hit_end, hit_line, miss, stored }
    }

    /// Bytes of the longest answer that is expected.
    pub fn hit_bytes(&self) -> usize {
        self.hit_line + self.value_bytes + self.hit_end.len()
    }

    /// Which protocol it is.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Asks for the value of entry `index`.
    #[inline]
    pub fn push_get(&self, index: u64, out: &mut Vec<u8>) {
        let mut request = *b"get ....................\r\n";
        request[4..24].copy_from_slice(&key(index));
        match self.protocol {
            Protocol::Text => out.extend_from_slice(&request),
            Protocol::Meta => {
                request[1..4].copy_from_slice(b"mg ");
                out.extend_from_slice(&request[1..24]);
                out.extend_from_slice(b" v\r\n");
            }
        }
    }

    /// Sets entry `index` to the value that it has in this version.
    #[inline]
    pub fn push_set(&self, index: u64, version: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.protocol {
            Protocol::Text => b"set ",
            Protocol::Meta => b"ms ",
        });
        out.extend_from_slice(&key(index));
        out.extend_from_slice(&self.set_rest);
        let from = out.len();
        out.resize(from + self.value_bytes, 0);
        write_value(index, version, &mut out[from..]);
        out.extend_from_slice(b"\r\n");
    }

    /// The answer to a get of a key that `value` is stored for. For servers that always say the same.
    pub fn push_hit(&self, key: &[u8; KEY_BYTES], value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.hit_start);
        if self.protocol == Protocol::Text {
            out.extend_from_slice(key);
        }
        out.extend_from_slice(&self.hit_rest);
        out.extend_from_slice(value);
        out.extend_from_slice(self.hit_end);
    }

    /// The answer to a set that was carried out.
    pub fn stored(&self) -> &'static [u8] {
        self.stored
    }

    /// The answer at the beginning of `input` to what was asked of entry `index`.
    #[inline]
    pub fn parse<'a>(&self, asked: RequestKind, index: u64, input: &'a [u8]) -> Parsed<'a> {
        match asked {
            RequestKind::Get => match self.parse_hit(index, input) {
                Some(value) => Parsed::Answer(Answer::Value(value), self.hit_bytes()),
                None => self.parse_other(asked, index, input),
            },
            RequestKind::Set if input.starts_with(self.stored) => Parsed::Answer(Answer::Stored, self.stored.len()),
            RequestKind::Set => self.parse_other(asked, index, input),
        }
    }

    /// The value, if the input begins with a hit as it is expected.
    #[inline]
    fn parse_hit<'a>(&self, index: u64, input: &'a [u8]) -> Option<&'a [u8]> {
        let rest = input.strip_prefix(self.hit_start)?;
        let rest = match self.protocol {
            Protocol::Text => {
                let (name, rest) = rest.split_first_chunk::<KEY_BYTES>()?;
                (*name == key(index)).then_some(rest)?
            }
            Protocol::Meta => rest,
        };
        let (value, rest) = rest.strip_prefix(self.hit_rest.as_slice())?.split_at_checked(self.value_bytes)?;
        rest.starts_with(self.hit_end).then_some(value)
    }

    /// Whatever else it is.
    #[cold]
    fn parse_other<'a>(&self, asked: RequestKind, index: u64, input: &'a [u8]) -> Parsed<'a> {
        let Some(end) = memchr::memchr(b'\n', input) else {
            return if input.len() > LONGEST_LINE { Parsed::Garbage } else { Parsed::More };
        };
        let whole = end + 1;
        let Some(line) = input[..end].strip_suffix(b"\r") else { return Parsed::Garbage };
        let refused = Parsed::Answer(Answer::Refused(line), whole);
        match asked {
            _ if is_error(line) => refused,
            RequestKind::Set if line.first().is_some_and(u8::is_ascii_uppercase) && is_not_stored(line) => refused,
            RequestKind::Get if input[..whole] == *self.miss => Parsed::Answer(Answer::Miss, whole),
            RequestKind::Get => match self.parse_first_line(index, line) {
                Some((name_agrees, length)) => self.parse_value(name_agrees, length, input, whole),
                None => Parsed::Garbage,
            },
            RequestKind::Set => Parsed::Garbage,
        }
    }

    /// Of the first line of a value: whether the key is the one that is expected, and the value's length.
    fn parse_first_line(&self, index: u64, line: &[u8]) -> Option<(bool, u64)> {
        let mut tokens = std::str::from_utf8(line).ok()?.split(' ');
        match (self.protocol, tokens.next()) {
            (Protocol::Text, Some("VALUE")) => {
                let name_agrees = tokens.next()?.as_bytes() == key(index);
                let _flags: u32 = tokens.next()?.parse().ok()?;
                Some((name_agrees, tokens.next()?.parse().ok()?))
            }
            (Protocol::Meta, Some("VA")) => Some((true, tokens.next()?.parse().ok()?)),
            _ => None,
        }
    }

    fn parse_value<'a>(&self, name_agrees: bool, length: u64, input: &'a [u8], from: usize) -> Parsed<'a> {
        let total = (length as usize).saturating_add(from + self.hit_end.len());
        if length != self.value_bytes as u64 {
            return Parsed::Answer(Answer::OtherLength(length), total);
        }
        match input.get(from..total) {
            None => Parsed::More,
            Some(rest) => match rest.strip_suffix(self.hit_end) {
                Some(_) if !name_agrees => Parsed::Answer(Answer::OtherKey, total),
                Some(value) => Parsed::Answer(Answer::Value(value), total),
                None => Parsed::Garbage,
            },
        }
    }
}

fn is_error(line: &[u8]) -> bool {
    line == b"ERROR" || [&b"SERVER_ERROR"[..], b"CLIENT_ERROR", b"ERROR "].iter().any(|error| line.starts_with(error))
}

fn is_not_stored(line: &[u8]) -> bool {
    [&b"NOT_STORED"[..], b"NS", b"EXISTS", b"NOT_FOUND"].contains(&line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const VALUE: &[u8] = b"0123456789";

    fn hit(codec: &Codec) -> Vec<u8> {
        let mut out = Vec::new();
        codec.push_hit(&key(5), VALUE, &mut out);
        out
    }

    #[test]
    fn keys_are_printable_and_differ() {
        let keys: BTreeSet<_> = (0..10_000).map(key).collect();
        assert_eq!(keys.len(), 10_000);
        assert!(keys.iter().flatten().all(u8::is_ascii_alphanumeric));
    }

    #[test]
    fn requests_are_memcacheds() {
        let name = String::from_utf8(key(5).to_vec()).unwrap();
        for (protocol, get, set) in
            [(Protocol::Text, "get K\r\n", "set K 0 0 10\r\n"), (Protocol::Meta, "mg K v\r\n", "ms K 10\r\n")]
        {
            let codec = Codec::new(protocol, 10);
            let (mut out, mut value) = (Vec::new(), [0; 10]);
            codec.push_get(5, &mut out);
            assert_eq!(String::from_utf8(out.clone()).unwrap(), get.replace('K', &name));
            out.clear();
            codec.push_set(5, 9, &mut out);
            write_value(5, 9, &mut value);
            assert_eq!(out, [set.replace('K', &name).as_bytes(), &value, b"\r\n"].concat());
        }
    }

    #[test]
    fn answers_are_understood_wherever_they_are_cut() {
        for protocol in [Protocol::Text, Protocol::Meta] {
            let codec = Codec::new(protocol, 10);
            let (miss, stored): (&[u8], &[u8]) =
                if protocol == Protocol::Text { (b"END\r\n", b"STORED\r\n") } else { (b"EN\r\n", b"HD\r\n") };
            let cases = [
                (RequestKind::Get, hit(&codec), Answer::Value(VALUE)),
                (RequestKind::Get, miss.to_vec(), Answer::Miss),
                (RequestKind::Set, stored.to_vec(), Answer::Stored),
                (
                    RequestKind::Set,
                    b"SERVER_ERROR out of memory\r\n".to_vec(),
                    Answer::Refused(b"SERVER_ERROR out of memory"),
                ),
                (RequestKind::Get, b"ERROR\r\n".to_vec(), Answer::Refused(b"ERROR")),
            ];
            for (asked, input, answer) in cases {
                assert_eq!(codec.parse(asked, 5, &input), Parsed::Answer(answer, input.len()));
                let more = [&input[..], b"more"].concat();
                assert_eq!(codec.parse(asked, 5, &more), Parsed::Answer(answer, input.len()));
                for cut in 0..input.len() {
                    assert_eq!(codec.parse(asked, 5, &input[..cut]), Parsed::More, "{protocol:?} {asked:?} {cut}");
                }
            }
        }
    }

    #[test]
    fn other_flags_and_numbers_of_a_value_do_not_matter() {
        let text = Codec::new(Protocol::Text, 10);
        let name = String::from_utf8(key(5).to_vec()).unwrap();
        let answer = format!("VALUE {name} 17 10 123\r\n0123456789\r\nEND\r\n");
        assert_eq!(
            text.parse(RequestKind::Get, 5, answer.as_bytes()),
            Parsed::Answer(Answer::Value(VALUE), answer.len())
        );
        let meta = Codec::new(Protocol::Meta, 10);
        let answer = b"VA 10 W t5\r\n0123456789\r\n";
        assert_eq!(meta.parse(RequestKind::Get, 5, answer), Parsed::Answer(Answer::Value(VALUE), answer.len()));
    }

    #[test]
    fn a_value_of_another_key_or_length_is_told_apart_and_skipped() {
        let codec = Codec::new(Protocol::Text, 10);
        let input = hit(&codec);
        assert_eq!(codec.parse(RequestKind::Get, 6, &input), Parsed::Answer(Answer::OtherKey, input.len()));
        let line = format!("VALUE {} 0 4000\r\n", String::from_utf8(key(5).to_vec()).unwrap());
        let parsed = codec.parse(RequestKind::Get, 5, line.as_bytes());
        assert_eq!(parsed, Parsed::Answer(Answer::OtherLength(4000), line.len() + 4000 + 7));
    }

    #[test]
    fn what_is_no_answer_is_garbage() {
        for protocol in [Protocol::Text, Protocol::Meta] {
            let codec = Codec::new(protocol, 10);
            let mut cut = hit(&codec);
            let at = cut.len() - 2;
            cut[at] = b'x';
            let long = vec![b'V'; 5000];
            for input in [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"\n", b"VALUE x\r\n", b"STORED\r\n", &long, &cut] {
                assert_eq!(codec.parse(RequestKind::Get, 5, input), Parsed::Garbage, "{protocol:?} {input:?}");
            }
            assert_eq!(codec.parse(RequestKind::Set, 5, &hit(&codec)), Parsed::Garbage);
        }
    }
}
