//! Tab-separated text: key TAB value, with backslash escapes in both.

use fawn_files::text::BYTE_ORDER_MARK;

use super::record::{BadLine, Record};
use crate::key::Binary;

/// Parses one line.
pub fn parse(line: &[u8], record: &mut Record) -> Result<Binary, BadLine> {
    if line.starts_with(BYTE_ORDER_MARK) {
        return Err(BadLine::ByteOrderMark);
    }
    if let Some(at) = memchr::memchr(b'\r', line) {
        return Err(BadLine::CarriageReturn(at + 1));
    }
    let tab = memchr::memchr(b'\t', line).ok_or(BadLine::NoTab)?;
    (record.flags, record.exptime, record.cas) = (0, 0, 0);
    unescape(&line[..tab], &mut record.key).map_err(|at| BadLine::Escape(at + 1))?;
    unescape(&line[tab + 1..], &mut record.value).map_err(|at| BadLine::Escape(tab + 1 + at + 1))?;
    Ok(Binary::Refuse)
}

/// Appends one line.
pub fn push(out: &mut Vec<u8>, record: &Record) {
    // A reader would take one at the start of a file for no part of the key.
    let rest = record.key.strip_prefix(BYTE_ORDER_MARK);
    if rest.is_some() {
        out.extend_from_slice(b"\\xef\\xbb\\xbf");
    }
    escape(rest.unwrap_or(&record.key), out);
    out.push(b'\t');
    escape(&record.value, out);
    out.push(b'\n');
}

/// Replaces `out` by `text` with its escapes resolved. An error is the offset of the backslash.
fn unescape(text: &[u8], out: &mut Vec<u8>) -> Result<(), usize> {
    out.clear();
    let mut start = 0;
    while let Some(offset) = memchr::memchr(b'\\', &text[start..]) {
        let at = start + offset;
        out.extend_from_slice(&text[start..at]);
        let (byte, length) = match text.get(at + 1) {
            Some(b't') => (b'\t', 2),
            Some(b'n') => (b'\n', 2),
            Some(b'r') => (b'\r', 2),
            Some(b'\\') => (b'\\', 2),
            Some(b'x') => (hexadecimal(text.get(at + 2..at + 4)).ok_or(at)?, 4),
            _ => return Err(at),
        };
        out.push(byte);
        start = at + length;
    }
    out.extend_from_slice(&text[start..]);
    Ok(())
}

/// The byte that two hexadecimal digits name.
fn hexadecimal(digits: Option<&[u8]>) -> Option<u8> {
    let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Appends `bytes` with what would break a line, or a terminal, escaped.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0..0x20 | 0x7f => {
                let digit = |value: u8| b"0123456789abcdef"[value as usize];
                out.extend_from_slice(&[b'\\', b'x', digit(byte >> 4), digit(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tab_ends_the_key_and_later_ones_belong_to_the_value() {
        let mut record = Record::default();
        parse(b"k\ta\tb", &mut record).unwrap();
        assert_eq!((record.key.as_slice(), record.value.as_slice()), (&b"k"[..], &b"a\tb"[..]));
    }

    #[test]
    fn a_bad_escape_is_reported_with_its_column() {
        let column = |line: &[u8]| match parse(line, &mut Record::default()) {
            Err(BadLine::Escape(column)) => column,
            other => panic!("{other:?}"),
        };
        assert_eq!(column(b"k\\q\tv"), 2);
        assert_eq!(column(b"k\tab\\x4"), 5);
        assert_eq!(column(b"k\tab\\x+4"), 5);
        assert_eq!(column(b"k\tab\\"), 5);
    }

    #[test]
    fn a_carriage_return_within_a_line_is_no_part_of_a_value() {
        // As spreadsheets of old end lines.
        let error = parse(b"a\t1\rb\t2", &mut Record::default()).unwrap_err();
        assert!(matches!(error, BadLine::CarriageReturn(4)), "{error}");
    }

    #[test]
    fn a_line_without_tab_is_no_record() {
        assert!(matches!(parse(b"key value", &mut Record::default()), Err(BadLine::NoTab)));
    }
}
