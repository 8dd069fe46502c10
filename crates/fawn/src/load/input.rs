//! The lines of a file or of standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::Context;

use super::ledger::Place;

/// Bytes read at a time.
const READ_SIZE: usize = 256 * 1024;

/// Where records come from.
pub struct Input {
    reader: BufReader<Source>,
    name: String,
    /// Size of a regular file.
    size: Option<u64>,
    /// Bytes and lines before the next line.
    offset: u64,
    line: u64,
    buffer: Vec<u8>,
}

/// What is read.
enum Source {
    File(File),
    Stdin(io::Stdin),
}

/// One line.
pub struct Line<'a> {
    /// Its bytes, without the line end.
    pub text: &'a [u8],
    /// Its number, from 1.
    pub number: u64,
    /// Offset of the byte behind its line end.
    pub end: u64,
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What messages call the input at `path`.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

impl Input {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let name = name_of(path);
        let (source, size) = if is_stdin(path) {
            (Source::Stdin(io::stdin()), None)
        } else {
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            let data = file.metadata().with_context(|| format!("cannot read {name}"))?;
            (Source::File(file), data.is_file().then_some(data.len()))
        };
        let reader = BufReader::with_capacity(READ_SIZE, source);
        Ok(Self { reader, name, size, offset: 0, line: 0, buffer: Vec::new() })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size in bytes of a regular file.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Goes on at `place`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn skip_to(&mut self, place: Place) -> anyhow::Result<()> {
        if let Source::File(file) = self.reader.get_mut()
            && place.offset > 0
        {
            file.seek(SeekFrom::Start(place.offset)).with_context(|| format!("cannot read {}", self.name))?;
        }
        (self.offset, self.line) = (place.offset, place.line);
        Ok(())
    }

    /// Whether the next line may have to be waited for.
    pub fn may_wait(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// Reading failed.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let count = self.reader.read_until(b'\n', &mut self.buffer)?;
        if count == 0 {
            return Ok(None);
        }
        self.offset += count as u64;
        self.line += 1;
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Ok(Some(Line { text, number: self.line, end: self.offset }))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Stdin(stdin) => stdin.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_end_with_lf_or_crlf_or_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in");
        std::fs::write(&path, b"a\r\nbb\n\nc").unwrap();
        let mut input = Input::open(&path).unwrap();
        let mut lines = Vec::new();
        while let Some(line) = input.next_line().unwrap() {
            lines.push((String::from_utf8(line.text.to_vec()).unwrap(), line.number, line.end));
        }
        let expected = [("a", 1, 3), ("bb", 2, 6), ("", 3, 7), ("c", 4, 8)];
        assert_eq!(lines, expected.map(|(text, number, end)| (text.to_owned(), number, end)));

        let mut input = Input::open(&path).unwrap();
        input.skip_to(Place { offset: 6, line: 2, records: 2 }).unwrap();
        input.next_line().unwrap();
        let line = input.next_line().unwrap().unwrap();
        assert_eq!((line.text, line.number, line.end), (&b"c"[..], 4, 8));
    }
}
