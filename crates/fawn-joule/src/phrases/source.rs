//! Texts, in pieces that fit the cache: whole lines, or a part of a line that is longer than a piece.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::PathBuf;

use fawn_files::text::{compressed, marked};
use memchr::memrchr;

/// Bytes of a piece, unless phrases are very long. The pieces and the first filter share a core's cache.
pub const PIECE_BYTES: usize = 256 << 10;

/// A text to search.
pub enum TextInput {
    /// A file.
    File(PathBuf),
    /// Something that is open, and its name.
    Reader(String, Box<dyn Read + Send>),
}

impl TextInput {
    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Reader(name, _) => name.clone(),
        }
    }
}

/// A text that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {name}")]
pub struct TextReadError {
    /// The text.
    pub name: String,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// A piece of a text.
#[derive(Debug, Default)]
pub struct TextPiece {
    /// A byte that is before the piece (a line feed where a text begins), the piece, and what phrases that begin in it may go on with.
    pub bytes: Vec<u8>,
    /// The piece.
    pub starts: Range<usize>,
    /// How many pieces were read before.
    pub number: u64,
    /// Whether a line begins where it begins.
    pub begins_line: bool,
    /// Whether a line ends where it ends, of which this text may have no line feed. Otherwise there is no line feed in it.
    pub ends_line: bool,
}

impl TextPiece {
    /// The bytes of the piece itself.
    pub fn own(&self) -> &[u8] {
        &self.bytes[self.starts.clone()]
    }
}

/// Cuts texts into pieces.
pub struct PieceReader {
    waiting: VecDeque<TextInput>,
    current: Option<(String, Box<dyn Read + Send>)>,
    /// The byte before the next piece, and what was read of it.
    carry: Vec<u8>,
    begins_line: bool,
    is_start: bool,
    piece_bytes: usize,
    lookahead: usize,
    number: u64,
    /// Bytes read so far.
    pub bytes: u64,
    /// What is odd about the texts, a sentence each.
    pub notes: Vec<String>,
}

impl PieceReader {
    /// Of texts that are searched for phrases of at most `longest` bytes.
    pub fn new(texts: impl IntoIterator<Item = TextInput>, longest: usize) -> Self {
        Self::with_piece_bytes(texts, longest, PIECE_BYTES)
    }

    /// The same with pieces of about so many bytes.
    pub fn with_piece_bytes(texts: impl IntoIterator<Item = TextInput>, longest: usize, piece_bytes: usize) -> Self {
        Self {
            waiting: texts.into_iter().collect(),
            current: None,
            carry: Vec::new(),
            begins_line: true,
            is_start: true,
            // Phrases are looked for anew in what a piece shares with the next one.
            piece_bytes: piece_bytes.max(4 * (longest + 2)),
            // One more than a phrase can go on: whether a word ends with it depends on the next byte.
            lookahead: longest,
            number: 0,
            bytes: 0,
            notes: Vec::new(),
        }
    }

    /// Bytes of a piece, and so of its memory.
    pub fn piece_bytes(&self) -> usize {
        self.piece_bytes
    }

    /// Reads the next piece; false: there is none.
    ///
    /// # Errors
    /// A text cannot be read.
    pub fn next(&mut self, piece: &mut TextPiece) -> Result<bool, TextReadError> {
        loop {
            if self.current.is_none() && !self.open()? {
                return Ok(false);
            }
            let Some((name, reader)) = &mut self.current else { unreachable!("a text is open") };
            piece.bytes.clear();
            piece.bytes.append(&mut self.carry);
            let before = piece.bytes.len();
            let is_over = fill(reader, &mut piece.bytes, self.piece_bytes)
                .map_err(|source| TextReadError { name: name.clone(), source })?;
            self.bytes += (piece.bytes.len() - before) as u64;
            if self.is_start {
                self.notes.extend(oddity(name, &piece.bytes[1..]));
                self.is_start = false;
            }
            if is_over {
                self.current = None;
            }
            if piece.bytes.len() > 1 {
                self.cut(piece, is_over);
                return Ok(true);
            }
            // An empty text, or one whose last piece has ended with it.
        }
    }

    /// Opens the next text; false: there is none.
    fn open(&mut self) -> Result<bool, TextReadError> {
        let Some(input) = self.waiting.pop_front() else { return Ok(false) };
        let name = input.name();
        let reader: Box<dyn Read + Send> = match input {
            TextInput::Reader(_, reader) => reader,
            TextInput::File(path) => match File::open(path) {
                Ok(file) => Box::new(file),
                Err(source) => return Err(TextReadError { name, source }),
            },
        };
        self.current = Some((name, reader));
        self.carry = vec![b'\n'];
        (self.begins_line, self.is_start) = (true, true);
        Ok(true)
    }

    /// Decides where the piece ends, and keeps the rest for the next one.
    fn cut(&mut self, piece: &mut TextPiece, is_over: bool) {
        let length = piece.bytes.len();
        let line_end = if is_over { Some(length) } else { memrchr(b'\n', &piece.bytes[1..]).map(|at| at + 2) };
        piece.begins_line = self.begins_line;
        piece.ends_line = line_end.is_some();
        piece.number = self.number;
        let end = line_end.unwrap_or_else(|| length - self.lookahead);
        piece.starts = 1..end;
        self.carry.clear();
        self.carry.extend_from_slice(&piece.bytes[end - 1..]);
        if piece.ends_line {
            piece.bytes.truncate(end);
        }
        self.begins_line = piece.ends_line;
        self.number += 1;
    }
}

/// Reads on until there is a line feed in what was read, or so many bytes in all; true: the text is over.
fn fill(reader: &mut dyn Read, bytes: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut filled = bytes.len();
    bytes.resize(most, 0);
    let is_over = loop {
        match reader.read(&mut bytes[filled..]) {
            Ok(0) => break true,
            Ok(count) => {
                filled += count;
                if filled == most || memrchr(b'\n', &bytes[filled - count..filled]).is_some() {
                    break false;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    bytes.truncate(filled);
    Ok(is_over)
}

/// Why a text that starts like this is perhaps not what is meant to be searched.
fn oddity(name: &str, start: &[u8]) -> Option<String> {
    if let Some((program, unpacker)) = compressed(start) {
        return Some(format!(
            "{name} is compressed by {program}, and is searched as it is: to search what is in it, pipe `{unpacker} {name}`"
        ));
    }
    let encoding = marked(start)?.name();
    Some(format!("{name} is {encoding} text, and is searched byte by byte: convert it to UTF-8 first, e.g. with iconv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives some bytes at a time.
    struct Dripping(Vec<u8>, usize);

    impl Read for Dripping {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    fn pieces(texts: &[&str], longest: usize, piece_bytes: usize, at_a_time: usize) -> Vec<(String, bool, bool)> {
        let inputs = texts.iter().map(|text| {
            TextInput::Reader("a text".to_owned(), Box::new(Dripping(text.as_bytes().to_vec(), at_a_time)))
        });
        let mut reader = PieceReader::with_piece_bytes(inputs, longest, piece_bytes);
        let (mut piece, mut all) = (TextPiece::default(), Vec::new());
        while reader.next(&mut piece).unwrap() {
            assert_eq!(piece.number as usize, all.len());
            assert!(piece.bytes.len() <= reader.piece_bytes());
            assert!(piece.ends_line || piece.bytes.len() >= piece.starts.end + longest, "phrases can go on");
            all.push((String::from_utf8(piece.own().to_vec()).unwrap(), piece.begins_line, piece.ends_line));
        }
        assert_eq!(reader.bytes as usize, texts.iter().map(|text| text.len()).sum::<usize>());
        all
    }

    #[test]
    fn pieces_are_whole_lines_where_lines_fit() {
        let all = pieces(&["one\ntwo\nthree", "", "four\n"], 2, 16, 9);
        let expected = [("one\ntwo\n", true, true), ("three", true, true), ("four\n", true, true)];
        assert_eq!(all, expected.map(|(text, begins, ends)| (text.to_owned(), begins, ends)));
    }

    #[test]
    fn every_byte_is_in_one_piece_whatever_the_sizes() {
        let texts = ["a\nbb\n\nccc and a line that is longer than most pieces are here\nd\r\ne", "\n", "", "f"];
        for longest in [1, 3, 10] {
            for piece_bytes in 1..70 {
                for at_a_time in [1, 2, 7, 100] {
                    let all = pieces(&texts, longest, piece_bytes, at_a_time);
                    let text: String = all.iter().map(|(text, ..)| text.as_str()).collect();
                    assert_eq!(text, texts.concat());
                    for (text, _, ends_line) in &all {
                        assert!(*ends_line || !text.contains('\n'), "{text:?}");
                    }
                    for pair in all.windows(2) {
                        assert_eq!(pair[0].2, pair[1].1, "a line begins where one has ended");
                    }
                }
            }
        }
    }

    #[test]
    fn texts_that_are_not_plain_are_noted() {
        let note = |start: &[u8]| oddity("a.gz", start);
        assert!(note(b"\x1f\x8b\x08\0").is_some_and(|note| note.ends_with("pipe `zcat a.gz`")));
        assert!(note(b"\xff\xfea\0").is_some_and(|note| note.contains("UTF-16")));
        assert_eq!(note(b"plain"), None);
    }
}
