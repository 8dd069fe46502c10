//! What a server answers.
//!
//! Texts are cut at nothing, but line breaks in them become spaces: a reply of one line has one.

use itoa::{Buffer, Integer};

/// The version of the protocol that a client has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RespVersion {
    /// RESP2, which every client begins with.
    #[default]
    Two,
    /// RESP3, after `HELLO 3`: maps, sets, a null of its own.
    Three,
}

/// `+text`
#[inline]
pub fn simple(out: &mut Vec<u8>, text: &str) {
    line(out, b'+', text.as_bytes());
}

/// `-text`, of which the first word says what kind of error it is, such as `ERR`.
#[cold]
pub fn error(out: &mut Vec<u8>, text: &[u8]) {
    line(out, b'-', text);
}

/// `:number`
#[inline]
pub fn integer(out: &mut Vec<u8>, number: i64) {
    header(out, b':', number);
}

/// A string of any bytes.
#[inline]
pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Nothing, where there might be a string.
#[inline]
pub fn null(out: &mut Vec<u8>, version: RespVersion) {
    out.extend_from_slice(match version {
        RespVersion::Two => b"$-1\r\n",
        RespVersion::Three => b"_\r\n",
    });
}

/// Nothing, where there might be an array.
pub fn null_array(out: &mut Vec<u8>, version: RespVersion) {
    out.extend_from_slice(match version {
        RespVersion::Two => b"*-1\r\n",
        RespVersion::Three => b"_\r\n",
    });
}

/// The beginning of an array of so many replies.
#[inline]
pub fn array(out: &mut Vec<u8>, len: usize) {
    header(out, b'*', len);
}

/// The beginning of a map of so many pairs; an array of keys and values before version 3.
pub fn map(out: &mut Vec<u8>, pairs: usize, version: RespVersion) {
    match version {
        RespVersion::Two => array(out, 2 * pairs),
        RespVersion::Three => header(out, b'%', pairs),
    }
}

/// The beginning of a set of so many replies; an array before version 3.
pub fn set(out: &mut Vec<u8>, len: usize, version: RespVersion) {
    match version {
        RespVersion::Two => array(out, len),
        RespVersion::Three => header(out, b'~', len),
    }
}

/// A text for people, such as that of `INFO`; a string before version 3.
pub fn text(out: &mut Vec<u8>, text: &str, version: RespVersion) {
    match version {
        RespVersion::Two => bulk(out, text.as_bytes()),
        RespVersion::Three => {
            const FORMAT: &[u8] = b"txt:";
            header(out, b'=', FORMAT.len() + text.len());
            out.extend_from_slice(FORMAT);
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
}

#[inline]
pub(crate) fn header(out: &mut Vec<u8>, kind: u8, number: impl Integer) {
    out.push(kind);
    out.extend_from_slice(Buffer::new().format(number).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    out.extend_from_slice(b"\r\n");
}
