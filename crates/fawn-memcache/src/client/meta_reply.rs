//! Replies of the meta protocol.

/// One reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaReply<'a> {
    /// `VA`: a value.
    Value {
        /// The flags of the line, such as `f30 t-1`.
        flags: &'a [u8],
        /// The value.
        data: &'a [u8],
    },
    /// `HD`: done.
    Done,
    /// `EN`: `mg` found nothing.
    Miss,
    /// `NF`: the key is not there.
    NotFound,
    /// `NS`: not stored.
    NotStored,
    /// `EX`: the cas differs.
    Exists,
    /// `MN`: the reply to `mn`.
    NoOperation,
    /// `ERROR…`, `CLIENT_ERROR …` or `SERVER_ERROR …`, without the line end.
    Error(&'a [u8]),
}

impl<'a> MetaReply<'a> {
    /// Parses the reply at the start of `bytes`: the reply and its length, `None` when it is not complete yet.
    ///
    /// # Errors
    /// The line is none that the meta protocol knows.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, MalformedReply> {
        let Some((line, after)) = find_line(bytes) else {
            return if bytes.len() > LONGEST_LINE { Err(MalformedReply) } else { Ok(None) };
        };
        let (code, flags) = line.split_at(line.len().min(2));
        let reply = match code {
            b"VA" => return Self::parse_value(bytes, flags, after),
            b"HD" => Self::Done,
            b"EN" => Self::Miss,
            b"NF" => Self::NotFound,
            b"NS" => Self::NotStored,
            b"EX" => Self::Exists,
            b"MN" => Self::NoOperation,
            _ if is_error(line) => Self::Error(line),
            _ => return Err(MalformedReply),
        };
        let ends_there = matches!(reply, Self::Error(_)) || flags.is_empty() || flags[0] == b' ';
        if ends_there { Ok(Some((reply, after))) } else { Err(MalformedReply) }
    }

    /// Parses `VA <size> <flags>*` and its data block, which starts at `after`.
    fn parse_value(bytes: &'a [u8], line: &'a [u8], after: usize) -> Result<Option<(Self, usize)>, MalformedReply> {
        let line = line.strip_prefix(b" ").ok_or(MalformedReply)?;
        let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
        let size = parse_number(&line[..end]).filter(|&size| size <= LARGEST_VALUE).ok_or(MalformedReply)? as usize;
        let flags = line[end..].trim_ascii();
        let Some(block) = bytes.get(after..after + size + 2) else { return Ok(None) };
        let data = block.strip_suffix(b"\r\n").ok_or(MalformedReply)?;
        Ok(Some((Self::Value { flags, data }, after + size + 2)))
    }
}

/// The value of the flag that starts with `letter` in a line's flags, such as `30` for `f` in `f30 t-1`.
pub fn flag(flags: &[u8], letter: u8) -> Option<i64> {
    let token = flags.split(|&byte| byte == b' ').find(|token| token.first() == Some(&letter))?;
    std::str::from_utf8(&token[1..]).ok()?.parse().ok()
}

/// The bytes are no reply of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedReply;

/// No line of a reply is longer: a base64 key, its opaque and every flag fit many times.
pub(super) const LONGEST_LINE: usize = 4096;

/// No server sends a larger value.
const LARGEST_VALUE: u64 = 1 << 30;

/// Whether the line is one of memcached's three kinds of error.
pub fn is_error(line: &[u8]) -> bool {
    line == b"ERROR" || [&b"ERROR "[..], b"CLIENT_ERROR", b"SERVER_ERROR"].iter().any(|start| line.starts_with(start))
}

/// A decimal number without sign.
pub(super) fn parse_number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The first line without its end, and the offset of what follows it.
pub fn find_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr::memchr(b'\n', bytes)?;
    let line = &bytes[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reply_is_parsed_with_its_length() {
        let cases: [(&[u8], MetaReply<'_>); 8] = [
            (b"VA 5 f30 t-1\r\na\r\nbc\r\n", MetaReply::Value { flags: b"f30 t-1", data: b"a\r\nbc" }),
            (b"VA 0\r\n\r\n", MetaReply::Value { flags: b"", data: b"" }),
            (b"HD\r\n", MetaReply::Done),
            (b"HD kfoo O1\r\n", MetaReply::Done),
            (b"EN\r\n", MetaReply::Miss),
            (b"NF\r\n", MetaReply::NotFound),
            (b"MN\r\n", MetaReply::NoOperation),
            (b"SERVER_ERROR no\r\n", MetaReply::Error(b"SERVER_ERROR no")),
        ];
        for (bytes, expected) in cases {
            let mut stream = bytes.to_vec();
            stream.extend_from_slice(b"HD\r\n");
            assert_eq!(MetaReply::parse(&stream), Ok(Some((expected, bytes.len()))));
        }
    }

    #[test]
    fn a_reply_cut_anywhere_is_awaited() {
        let whole = b"VA 5 f30 t-1\r\na\r\nbc\r\n";
        for cut in 0..whole.len() {
            assert_eq!(MetaReply::parse(&whole[..cut]), Ok(None), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let cases: [&[u8]; 7] = [
            b"STORED\r\n",
            b"\r\n",
            b"HDX\r\n",
            b"VA x\r\n",
            b"VA 3\r\nabcde\r\n",
            b"VA 99999999999999\r\n",
            b"ERRORS\r\n",
        ];
        for bytes in cases {
            assert_eq!(MetaReply::parse(bytes), Err(MalformedReply), "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(MetaReply::parse(&[b'x'; LONGEST_LINE + 1]), Err(MalformedReply));
    }

    #[test]
    fn flags_are_found_by_their_letter() {
        assert_eq!(flag(b"kfoo f30 t-1", b'f'), Some(30));
        assert_eq!(flag(b"kfoo f30 t-1", b't'), Some(-1));
        assert_eq!(flag(b"kfoo f30 t-1", b'c'), None);
    }
}
