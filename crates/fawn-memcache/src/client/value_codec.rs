//! Gets and sets of values of one known length, under keys of one known length.
//!
//! A reply that is expected is compared in place; only other replies are looked at token by token.

use super::is_error;

/// Longest line of a reply.
const LONGEST_LINE: usize = 2048;

/// Room for the line of a get, without its line break.
const GET_BYTES: usize = 64;

/// Which of memcached's two protocols is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `get` and `set`.
    Text,
    /// `mg` and `ms`.
    Meta,
}

impl Dialect {
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

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedReply<'a> {
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
pub enum ParseOutcome<'a> {
    /// A reply that takes so many bytes of the input, perhaps more than there are yet.
    Reply(CheckedReply<'a>, usize),
    /// No reply yet.
    More,
    /// No reply of this dialect.
    Garbage,
}

/// Writes requests and reads replies, for keys of `KEY` bytes.
#[derive(Clone, Debug)]
pub struct ValueCodec<const KEY: usize> {
    dialect: Dialect,
    value_bytes: usize,
    /// What follows the key in a set.
    set_rest: Vec<u8>,
    /// The first line of a hit, up to the key in the text dialect, and from there on.
    hit_start: &'static [u8],
    hit_rest: Vec<u8>,
    /// What follows the value of a hit.
    hit_end: &'static [u8],
    /// Bytes of a hit's first line.
    hit_line: usize,
    miss: &'static [u8],
    stored: &'static [u8],
}

impl<const KEY: usize> ValueCodec<KEY> {
    /// For values of this length.
    pub fn new(dialect: Dialect, value_bytes: usize) -> Self {
        let (set_rest, hit_start, hit_rest, hit_end): (_, &[u8], _, &[u8]) = match dialect {
            Dialect::Text => {
                (format!(" 0 0 {value_bytes}\r\n"), b"VALUE ", format!(" 0 {value_bytes}\r\n"), b"\r\nEND\r\n")
            }
            Dialect::Meta => (format!(" {value_bytes}\r\n"), b"VA ", format!("{value_bytes}\r\n"), b"\r\n"),
        };
        let (key, miss, stored): (_, &[u8], &[u8]) = match dialect {
            Dialect::Text => (KEY, b"END\r\n", b"STORED\r\n"),
            Dialect::Meta => (0, b"EN\r\n", b"HD\r\n"),
        };
        let hit_line = hit_start.len() + key + hit_rest.len();
        let (set_rest, hit_rest) = (set_rest.into_bytes(), hit_rest.into_bytes());
        Self { dialect, value_bytes, set_rest, hit_start, hit_rest, hit_end, hit_line, miss, stored }
    }

    /// Bytes of the longest reply that is expected.
    pub fn hit_bytes(&self) -> usize {
        self.hit_line + self.value_bytes + self.hit_end.len()
    }

    /// Which dialect it speaks.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Asks for the value of a key.
    #[inline]
    pub fn push_get(&self, key: &[u8; KEY], out: &mut Vec<u8>) {
        const { assert!(KEY + 8 <= GET_BYTES, "the line of a get has room") };
        let (start, end): (&[u8], &[u8]) = match self.dialect {
            Dialect::Text => (b"get ", b"\r\n"),
            Dialect::Meta => (b"mg ", b" v\r\n"),
        };
        let mut request = [0; GET_BYTES];
        let (key_at, end_at) = (start.len(), start.len() + KEY);
        request[..key_at].copy_from_slice(start);
        request[key_at..end_at].copy_from_slice(key);
        request[end_at..end_at + end.len()].copy_from_slice(end);
        out.extend_from_slice(&request[..end_at + end.len()]);
    }

    /// Sets a key to the value that `fill` writes into its bytes, which are zero before.
    #[inline]
    pub fn push_set(&self, key: &[u8; KEY], out: &mut Vec<u8>, fill: impl FnOnce(&mut [u8])) {
        out.extend_from_slice(match self.dialect {
            Dialect::Text => b"set ",
            Dialect::Meta => b"ms ",
        });
        out.extend_from_slice(key);
        out.extend_from_slice(&self.set_rest);
        let from = out.len();
        out.resize(from + self.value_bytes, 0);
        fill(&mut out[from..]);
        out.extend_from_slice(b"\r\n");
    }

    /// The reply to a get of a key that `value` is stored for. For servers that always say the same.
    pub fn push_hit(&self, key: &[u8; KEY], value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.hit_start);
        if self.dialect == Dialect::Text {
            out.extend_from_slice(key);
        }
        out.extend_from_slice(&self.hit_rest);
        out.extend_from_slice(value);
        out.extend_from_slice(self.hit_end);
    }

    /// The reply to a set that was carried out.
    pub fn stored(&self) -> &'static [u8] {
        self.stored
    }

    /// The reply at the beginning of `input` to what was asked of `key`, which is only computed where it is compared.
    #[inline]
    pub fn parse<'a>(&self, asked: RequestKind, key: impl Fn() -> [u8; KEY], input: &'a [u8]) -> ParseOutcome<'a> {
        match asked {
            RequestKind::Get => match self.parse_hit(&key, input) {
                Some(value) => ParseOutcome::Reply(CheckedReply::Value(value), self.hit_bytes()),
                None => self.parse_other(asked, key, input),
            },
            RequestKind::Set if input.starts_with(self.stored) => {
                ParseOutcome::Reply(CheckedReply::Stored, self.stored.len())
            }
            RequestKind::Set => self.parse_other(asked, key, input),
        }
    }

    /// The value, if the input begins with a hit as it is expected.
    #[inline]
    fn parse_hit<'a>(&self, key: impl Fn() -> [u8; KEY], input: &'a [u8]) -> Option<&'a [u8]> {
        let rest = input.strip_prefix(self.hit_start)?;
        let rest = match self.dialect {
            Dialect::Text => {
                let (name, rest) = rest.split_first_chunk::<KEY>()?;
                (*name == key()).then_some(rest)?
            }
            Dialect::Meta => rest,
        };
        let (value, rest) = rest.strip_prefix(self.hit_rest.as_slice())?.split_at_checked(self.value_bytes)?;
        rest.starts_with(self.hit_end).then_some(value)
    }

    /// Whatever else it is.
    #[cold]
    fn parse_other<'a>(&self, asked: RequestKind, key: impl Fn() -> [u8; KEY], input: &'a [u8]) -> ParseOutcome<'a> {
        let Some(end) = memchr::memchr(b'\n', input) else {
            return if input.len() > LONGEST_LINE { ParseOutcome::Garbage } else { ParseOutcome::More };
        };
        let whole = end + 1;
        let Some(line) = input[..end].strip_suffix(b"\r") else { return ParseOutcome::Garbage };
        let refused = ParseOutcome::Reply(CheckedReply::Refused(line), whole);
        match asked {
            _ if is_error(line) => refused,
            RequestKind::Set if line.first().is_some_and(u8::is_ascii_uppercase) && is_not_stored(line) => refused,
            RequestKind::Get if input[..whole] == *self.miss => ParseOutcome::Reply(CheckedReply::Miss, whole),
            RequestKind::Get => match self.parse_first_line(key, line) {
                Some((name_agrees, length)) => self.parse_value(name_agrees, length, input, whole),
                None => ParseOutcome::Garbage,
            },
            RequestKind::Set => ParseOutcome::Garbage,
        }
    }

    /// Of the first line of a value: whether the key is the one that is expected, and the value's length.
    fn parse_first_line(&self, key: impl Fn() -> [u8; KEY], line: &[u8]) -> Option<(bool, u64)> {
        let mut tokens = std::str::from_utf8(line).ok()?.split(' ');
        match (self.dialect, tokens.next()) {
            (Dialect::Text, Some("VALUE")) => {
                let name_agrees = tokens.next()?.as_bytes() == key();
                let _flags: u32 = tokens.next()?.parse().ok()?;
                Some((name_agrees, tokens.next()?.parse().ok()?))
            }
            (Dialect::Meta, Some("VA")) => Some((true, tokens.next()?.parse().ok()?)),
            _ => None,
        }
    }

    fn parse_value<'a>(&self, name_agrees: bool, length: u64, input: &'a [u8], from: usize) -> ParseOutcome<'a> {
        let total = (length as usize).saturating_add(from + self.hit_end.len());
        if length != self.value_bytes as u64 {
            return ParseOutcome::Reply(CheckedReply::OtherLength(length), total);
        }
        match input.get(from..total) {
            None => ParseOutcome::More,
            Some(rest) => match rest.strip_suffix(self.hit_end) {
                Some(_) if !name_agrees => ParseOutcome::Reply(CheckedReply::OtherKey, total),
                Some(value) => ParseOutcome::Reply(CheckedReply::Value(value), total),
                None => ParseOutcome::Garbage,
            },
        }
    }
}

fn is_not_stored(line: &[u8]) -> bool {
    [&b"NOT_STORED"[..], b"NS", b"EXISTS", b"NOT_FOUND"].contains(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &[u8] = b"0123456789";

    /// A key of 20 bytes.
    fn key(index: u8) -> [u8; 20] {
        let mut key = *b"key.................";
        key[19] = b'0' + index;
        key
    }

    fn hit(codec: &ValueCodec<20>) -> Vec<u8> {
        let mut out = Vec::new();
        codec.push_hit(&key(5), VALUE, &mut out);
        out
    }

    #[test]
    fn requests_are_memcacheds() {
        let name = String::from_utf8(key(5).to_vec()).unwrap();
        for (dialect, get, set) in
            [(Dialect::Text, "get K\r\n", "set K 0 0 10\r\n"), (Dialect::Meta, "mg K v\r\n", "ms K 10\r\n")]
        {
            let codec = ValueCodec::<20>::new(dialect, 10);
            let mut out = Vec::new();
            codec.push_get(&key(5), &mut out);
            assert_eq!(String::from_utf8(out.clone()).unwrap(), get.replace('K', &name));
            out.clear();
            codec.push_set(&key(5), &mut out, |value| value.copy_from_slice(VALUE));
            assert_eq!(out, [set.replace('K', &name).as_bytes(), VALUE, b"\r\n"].concat());
        }
    }

    #[test]
    fn replies_are_understood_wherever_they_are_cut() {
        for dialect in [Dialect::Text, Dialect::Meta] {
            let codec = ValueCodec::<20>::new(dialect, 10);
            let (miss, stored): (&[u8], &[u8]) =
                if dialect == Dialect::Text { (b"END\r\n", b"STORED\r\n") } else { (b"EN\r\n", b"HD\r\n") };
            let cases = [
                (RequestKind::Get, hit(&codec), CheckedReply::Value(VALUE)),
                (RequestKind::Get, miss.to_vec(), CheckedReply::Miss),
                (RequestKind::Set, stored.to_vec(), CheckedReply::Stored),
                (
                    RequestKind::Set,
                    b"SERVER_ERROR out of memory\r\n".to_vec(),
                    CheckedReply::Refused(b"SERVER_ERROR out of memory"),
                ),
                (RequestKind::Get, b"ERROR\r\n".to_vec(), CheckedReply::Refused(b"ERROR")),
            ];
            for (asked, input, answer) in cases {
                assert_eq!(codec.parse(asked, || key(5), &input), ParseOutcome::Reply(answer, input.len()));
                let more = [&input[..], b"more"].concat();
                assert_eq!(codec.parse(asked, || key(5), &more), ParseOutcome::Reply(answer, input.len()));
                for cut in 0..input.len() {
                    assert_eq!(
                        codec.parse(asked, || key(5), &input[..cut]),
                        ParseOutcome::More,
                        "{dialect:?} {asked:?} {cut}"
                    );
                }
            }
        }
    }

    #[test]
    fn other_flags_and_numbers_of_a_value_do_not_matter() {
        let text = ValueCodec::<20>::new(Dialect::Text, 10);
        let name = String::from_utf8(key(5).to_vec()).unwrap();
        let answer = format!("VALUE {name} 17 10 123\r\n0123456789\r\nEND\r\n");
        assert_eq!(
            text.parse(RequestKind::Get, || key(5), answer.as_bytes()),
            ParseOutcome::Reply(CheckedReply::Value(VALUE), answer.len())
        );
        let meta = ValueCodec::<20>::new(Dialect::Meta, 10);
        let answer = b"VA 10 W t5\r\n0123456789\r\n";
        assert_eq!(
            meta.parse(RequestKind::Get, || key(5), answer),
            ParseOutcome::Reply(CheckedReply::Value(VALUE), answer.len())
        );
    }

    #[test]
    fn a_value_of_another_key_or_length_is_told_apart_and_skipped() {
        let codec = ValueCodec::<20>::new(Dialect::Text, 10);
        let input = hit(&codec);
        assert_eq!(
            codec.parse(RequestKind::Get, || key(6), &input),
            ParseOutcome::Reply(CheckedReply::OtherKey, input.len())
        );
        let line = format!("VALUE {} 0 4000\r\n", String::from_utf8(key(5).to_vec()).unwrap());
        let parsed = codec.parse(RequestKind::Get, || key(5), line.as_bytes());
        assert_eq!(parsed, ParseOutcome::Reply(CheckedReply::OtherLength(4000), line.len() + 4000 + 7));
    }

    #[test]
    fn what_is_no_reply_is_garbage() {
        for dialect in [Dialect::Text, Dialect::Meta] {
            let codec = ValueCodec::<20>::new(dialect, 10);
            let mut cut = hit(&codec);
            let at = cut.len() - 2;
            cut[at] = b'x';
            let long = vec![b'V'; 5000];
            for input in [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"\n", b"VALUE x\r\n", b"STORED\r\n", &long, &cut] {
                assert_eq!(
                    codec.parse(RequestKind::Get, || key(5), input),
                    ParseOutcome::Garbage,
                    "{dialect:?} {input:?}"
                );
            }
            assert_eq!(codec.parse(RequestKind::Set, || key(5), &hit(&codec)), ParseOutcome::Garbage);
        }
    }
}
