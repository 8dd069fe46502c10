//! Replies of either dialect, for a client that asks one thing at a time.

use super::meta_reply::{LONGEST_LINE, MalformedReply, find_line, parse_number};

/// No value is longer.
const LONGEST_VALUE: u64 = 1 << 24;

/// A reply: its first line without its end, and the value that came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineReply<'a> {
    /// The first line.
    pub line: &'a [u8],
    /// The value.
    pub value: Option<&'a [u8]>,
}

impl<'a> LineReply<'a> {
    /// Parses the reply to a request of one key at the start of `bytes`: the reply and its length, `None` when it is not
    /// complete yet.
    ///
    /// # Errors
    /// The line, or what follows it, is none of the protocol.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, MalformedReply> {
        let Some((line, after)) = find_line(bytes) else {
            return if bytes.len() > LONGEST_LINE { Err(MalformedReply) } else { Ok(None) };
        };
        let mut words = line.split(|&byte| byte == b' ');
        let (length, is_text) = match words.next() {
            Some(b"VALUE") => (words.nth(2), true),
            Some(b"VA") => (words.next(), false),
            _ => return Ok(Some((Self { line, value: None }, after))),
        };
        let length = length.and_then(parse_number).filter(|length| *length <= LONGEST_VALUE).ok_or(MalformedReply)?;
        let end = after + length as usize;
        let Some(block) = bytes.get(after..end + 2) else { return Ok(None) };
        let value = block.strip_suffix(b"\r\n").ok_or(MalformedReply)?;
        let reply = Self { line, value: Some(value) };
        if !is_text {
            return Ok(Some((reply, end + 2)));
        }
        match find_line(&bytes[end + 2..]) {
            Some((b"END", last)) => Ok(Some((reply, end + 2 + last))),
            Some(_) => Err(MalformedReply),
            None if bytes.len() > end + LONGEST_LINE => Err(MalformedReply),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_both_dialects_are_parsed_wherever_they_are_cut() {
        let cases: [(&[u8], &[u8], Option<&[u8]>); 4] = [
            (b"VALUE k 0 3 17\r\na\nb\r\nEND\r\n", b"VALUE k 0 3 17", Some(b"a\nb")),
            (b"VA 0 c5\r\n\r\n", b"VA 0 c5", Some(b"")),
            (b"STORED\r\n", b"STORED", None),
            (b"12\r\n", b"12", None),
        ];
        for (bytes, line, value) in cases {
            let more = [bytes, b"HD\r\n"].concat();
            assert_eq!(LineReply::parse(&more), Ok(Some((LineReply { line, value }, bytes.len()))));
            for cut in 0..bytes.len() {
                assert_eq!(LineReply::parse(&bytes[..cut]), Ok(None), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        let long = vec![b'x'; LONGEST_LINE + 1];
        for bytes in [&b"VALUE k 0 3\r\nabcde\r\n"[..], b"VALUE k 0 x\r\n", b"VA\r\n", b"VA 1\r\na\r\r\n", &long] {
            assert_eq!(LineReply::parse(bytes), Err(MalformedReply), "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(LineReply::parse(b"VALUE k 0 1\r\na\r\nVALUE l 0 1\r\n"), Err(MalformedReply));
    }
}
