//! Text as editors and spreadsheets save it: UTF-8 with or without a byte order mark, or UTF-16.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The byte order mark of UTF-8, which some programs write at the start of a file. It is no part of the text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A person's file of settings is not larger, in bytes.
pub const MOST_BYTES: u64 = 16 << 20;

/// An encoding that is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// UTF-32 in any order.
    Utf32,
}

impl Foreign {
    /// The name that `iconv` knows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Utf32 => "UTF-32",
        }
    }
}

/// Why bytes are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// More bytes than anybody would write.
    #[error("it has more than {0} bytes; is this the right file?")]
    TooLong(u64),
    /// UTF-32, or UTF-16 that is cut or damaged.
    #[error("it is damaged {0} text; save it as UTF-8")]
    Damaged(&'static str),
    /// No UTF-8 either. The line, from 1.
    #[error("line {0} is not UTF-8 text; save the file as UTF-8")]
    NotUtf8(usize),
}

impl From<TextError> for io::Error {
    fn from(error: TextError) -> Self {
        Self::new(ErrorKind::InvalidData, error)
    }
}

/// The encoding that the byte order mark at the start of a text names, if it is not UTF-8.
pub fn marked(start: &[u8]) -> Option<Foreign> {
    match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some(Foreign::Utf32),
        [0xff, 0xfe, ..] => Some(Foreign::Utf16Le),
        [0xfe, 0xff, ..] => Some(Foreign::Utf16Be),
        _ => None,
    }
}

/// The same; without a mark, whether the text begins with two characters as UTF-16 has those of ASCII.
pub fn foreign(start: &[u8]) -> Option<Foreign> {
    marked(start).or(match start {
        [1..0x80, 0, 1..0x80, 0, ..] => Some(Foreign::Utf16Le),
        [0, 1..0x80, 0, 1..0x80, ..] => Some(Foreign::Utf16Be),
        _ => None,
    })
}

/// The program of a file that is compressed, by its first bytes, and what prints such a file as it was.
pub fn compressed(start: &[u8]) -> Option<(&'static str, &'static str)> {
    match start {
        [0x1f, 0x8b, 8, ..] => Some(("gzip", "zcat")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("zstd", "zstdcat")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "xzcat")),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => Some(("bzip2", "bzcat")),
        _ => None,
    }
}

/// The bytes without a byte order mark, and from UTF-16 as UTF-8. Other bytes stay as they are, whatever they mean.
///
/// # Errors
/// [`TextError::Damaged`].
pub fn decode(mut bytes: Vec<u8>) -> Result<Vec<u8>, TextError> {
    let unit: fn([u8; 2]) -> u16 = match foreign(&bytes) {
        None => {
            if bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            return Ok(bytes);
        }
        Some(Foreign::Utf16Le) => u16::from_le_bytes,
        Some(Foreign::Utf16Be) => u16::from_be_bytes,
        Some(Foreign::Utf32) => return Err(TextError::Damaged(Foreign::Utf32.name())),
    };
    let damaged = TextError::Damaged(Foreign::Utf16Le.name());
    let (pairs, []) = bytes.as_chunks::<2>() else { return Err(damaged) };
    let units = pairs.iter().map(|pair| unit(*pair)).skip_while(|unit| *unit == 0xfeff);
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map(String::into_bytes).map_err(|_| damaged)
}

/// Reads a whole file of up to [`MOST_BYTES`], [decoded](decode).
///
/// # Errors
/// It cannot be read, or a [`TextError`].
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?)
}

/// The same of an open file.
///
/// # Errors
/// The same.
pub fn read_from(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(TextError::TooLong(MOST_BYTES).into());
    }
    Ok(decode(bytes)?)
}

/// The same as text.
///
/// # Errors
/// The same, and [`TextError::NotUtf8`].
pub fn read(path: &Path) -> io::Result<String> {
    Ok(to_text(read_bytes(path)?)?)
}

/// Bytes that have been [decoded](decode), as text.
///
/// # Errors
/// [`TextError::NotUtf8`].
pub fn to_text(bytes: Vec<u8>) -> Result<String, TextError> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        TextError::NotUtf8(memchr::memchr_iter(b'\n', before).count() + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = \"é🦌\"\r\nb = 2\n";

    fn utf16(mark: bool, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter().chain(TEXT.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn text_is_the_same_in_whatever_encoding_an_editor_saves_it() {
        let marked = [BYTE_ORDER_MARK, TEXT.as_bytes()].concat();
        let mut saved = vec![TEXT.as_bytes().to_vec(), marked];
        for mark in [false, true] {
            saved.extend([utf16(mark, u16::to_le_bytes), utf16(mark, u16::to_be_bytes)]);
        }
        for bytes in saved {
            assert_eq!(
                decode(bytes.clone()).map(|text| String::from_utf8(text).unwrap()),
                Ok(TEXT.to_owned()),
                "{bytes:?}"
            );
        }
        assert_eq!(decode(Vec::new()), Ok(Vec::new()));
        assert_eq!(decode(BYTE_ORDER_MARK.to_vec()), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_text_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(refused(b"one\ntw\xff\n").starts_with("line 2 is not UTF-8 text; save"));
        assert!(refused(b"\xff\xfea").contains("damaged UTF-16"));
        assert!(refused(b"\xff\xfe\0\0a\0\0\0").contains("UTF-32"));
        let file = File::create(&path).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("more than 16777216 bytes"));
    }
}
