//! Replies of a server.

use crate::number;
use memchr::memchr;
use std::fmt;

/// One reply, or the beginning of one that has others in it, which follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply<'a> {
    /// A word such as `OK`.
    Simple(&'a [u8]),
    /// An error, the first word of which says its kind.
    Error(&'a [u8]),
    /// A number.
    Integer(i64),
    /// A number with a fraction, as text.
    Double(&'a [u8]),
    /// A number of any size, as text.
    BigNumber(&'a [u8]),
    /// Yes or no.
    Boolean(bool),
    /// Nothing.
    Null,
    /// A string of any bytes.
    Bulk(&'a [u8]),
    /// So many replies follow, which belong to it.
    Array(usize),
    /// So many pairs of replies follow, which belong to it.
    Map(usize),
    /// So many pairs of replies follow, which describe what comes after them.
    Attributes(usize),
    /// So many replies follow, which nobody has asked for.
    Push(usize),
}

/// Bytes that are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedReply;

impl fmt::Display for MalformedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server's reply is not one of Redis's protocol")
    }
}

impl std::error::Error for MalformedReply {}

/// Longest line of a reply.
const MOST_LINE_BYTES: usize = 64 << 10;
/// Longest string, as Redis has it.
const MOST_BULK_BYTES: i64 = 512 << 20;
/// Most replies in another.
const MOST_REPLIES: i64 = 1 << 29;
/// How deep replies may be in others.
const DEEPEST: usize = 32;

impl<'a> Reply<'a> {
    /// The reply that the input begins with, and its bytes; `None` while it is not all there. Of one that has others in it the
    /// bytes are those up to the first of these.
    ///
    /// # Errors
    /// The input is none.
    pub fn parse(input: &'a [u8]) -> Result<Option<(Self, usize)>, MalformedReply> {
        let Some(end) = memchr(b'\r', input) else {
            return if input.len() > MOST_LINE_BYTES { Err(MalformedReply) } else { Ok(None) };
        };
        let behind = end + 2;
        let (Some((kind, line)), true) = (input[..end].split_first(), end <= MOST_LINE_BYTES) else {
            return Err(MalformedReply);
        };
        match input.get(end + 1) {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) => return Err(MalformedReply),
        }
        let number = || number::integer(line).ok_or(MalformedReply);
        let count = |count: i64| {
            let count = Some(count).filter(|count| (0..=MOST_REPLIES).contains(count));
            count.and_then(|count| usize::try_from(count).ok()).ok_or(MalformedReply)
        };
        let reply = match kind {
            b'+' => Self::Simple(line),
            b'-' => Self::Error(line),
            b':' => Self::Integer(number()?),
            b',' => Self::Double(line),
            b'(' => Self::BigNumber(line),
            b'#' => match line {
                b"t" => Self::Boolean(true),
                b"f" => Self::Boolean(false),
                _ => return Err(MalformedReply),
            },
            b'_' if line.is_empty() => Self::Null,
            b'$' | b'*' if line == b"-1" => Self::Null,
            b'*' | b'~' => Self::Array(count(number()?)?),
            b'%' => Self::Map(count(number()?)?),
            b'|' => Self::Attributes(count(number()?)?),
            b'>' => Self::Push(count(number()?)?),
            b'$' | b'=' | b'!' => {
                let bytes = count(Some(number()?).filter(|bytes| *bytes <= MOST_BULK_BYTES).ok_or(MalformedReply)?)?;
                let Some(found) = input.get(behind..behind + bytes + 2) else { return Ok(None) };
                let (found, ends) = found.split_at(bytes);
                if ends != b"\r\n" {
                    return Err(MalformedReply);
                }
                let reply = match kind {
                    b'!' => Self::Error(found),
                    // Three letters say what format the text is in.
                    b'=' => Self::Bulk(found.get(4..).ok_or(MalformedReply)?),
                    _ => Self::Bulk(found),
                };
                return Ok(Some((reply, behind + bytes + 2)));
            }
            _ => return Err(MalformedReply),
        };
        Ok(Some((reply, behind)))
    }

    /// Replies that follow and belong to it.
    pub fn inner(&self) -> usize {
        match self {
            Self::Array(len) | Self::Push(len) => *len,
            Self::Map(pairs) => 2 * pairs,
            // And the one that they describe.
            Self::Attributes(pairs) => 2 * pairs + 1,
            _ => 0,
        }
    }
}

/// Bytes of the reply that the input begins with, with all that are in it; `None` while it is not all there.
///
/// # Errors
/// The input is none, or others are in it deeper than 32 levels.
pub fn whole_reply(input: &[u8]) -> Result<Option<usize>, MalformedReply> {
    let (mut at, mut lacking) = (0, vec![1_usize]);
    while let Some(left) = lacking.last_mut() {
        if *left == 0 {
            lacking.pop();
            continue;
        }
        *left -= 1;
        let Some((reply, bytes)) = Reply::parse(&input[at..])? else { return Ok(None) };
        at += bytes;
        if reply.inner() > 0 {
            if lacking.len() == DEEPEST {
                return Err(MalformedReply);
            }
            lacking.push(reply.inner());
        }
    }
    Ok(Some(at))
}
