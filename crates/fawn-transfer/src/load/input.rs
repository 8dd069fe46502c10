//! The lines of a file or of standard input.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, bail};
use fawn_files::lines::{self, LineLimit, LineOutcome};
use fawn_files::text::{self, BYTE_ORDER_MARK};

use super::ack_tracker::{End, InputPosition};

/// Bytes read at a time.
const READ_SIZE: usize = 256 * 1024;

/// Bytes of a line that are read in any case.
const FREE_BYTES: usize = 16 << 20;

/// What a line takes beyond its record: names of fields, and a key, the longest in base64.
const EXTRA_BYTES: usize = 128 << 10;

/// Where records come from.
pub struct RecordInput {
    reader: BufReader<InputSource>,
    name: String,
    /// Size of a regular file.
    size: Option<u64>,
    /// Where the last line ended.
    end: End,
    buffer: Vec<u8>,
    /// The rest of a line that is too long is still to be read.
    is_within: bool,
}

/// What is read.
pub(super) enum InputSource {
    /// A file or a pipe with a name.
    File(File),
    /// Standard input.
    Stdin(io::Stdin),
}

impl InputSource {
    /// Opens `path`; `-` is standard input. The size of a regular file with it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn open(path: &Path) -> anyhow::Result<(Self, Option<u64>)> {
        if is_stdin(path) {
            return Ok((Self::Stdin(io::stdin()), None));
        }
        let name = name_of(path);
        let file = File::open(path).with_context(|| cannot_read(&name))?;
        let data = file.metadata().with_context(|| cannot_read(&name))?;
        Ok((Self::File(file), data.is_file().then_some(data.len())))
    }
}

/// One line.
pub struct InputLine<'a> {
    /// Its bytes, without the line end; `None`: more than any record takes.
    pub text: Option<&'a [u8]>,
    /// Where it ends, if it is not too long.
    pub end: End,
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What messages call the input at `path`.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

impl RecordInput {
    /// Opens `path`; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let name = name_of(path);
        let (source, size) = InputSource::open(path)?;
        let reader = BufReader::with_capacity(READ_SIZE, source);
        Ok(Self { reader, name, size, end: End::default(), buffer: Vec::new(), is_within: false })
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
    pub fn skip_to(&mut self, place: InputPosition) -> anyhow::Result<()> {
        if let InputSource::File(file) = self.reader.get_mut()
            && place.offset > 0
        {
            file.seek(SeekFrom::Start(place.offset)).with_context(|| format!("cannot read {}", self.name))?;
        }
        self.end = End { offset: place.offset, line: place.line, crc32c: place.crc32c };
        Ok(())
    }

    /// Whether the next line may have to be waited for.
    pub fn may_wait(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// The next line; `None` at the end. No more of it is kept than a record of `largest` bytes takes, whatever that is.
    ///
    /// # Errors
    /// Reading failed, or the file is not text as it is to be.
    pub fn next_line(&mut self, largest: impl FnOnce() -> usize) -> anyhow::Result<Option<InputLine<'_>>> {
        if self.is_within {
            let end = &mut self.end;
            lines::skip(&mut self.reader, |bytes| pass(end, bytes)).with_context(|| cannot_read(&self.name))?;
            self.is_within = false;
        }
        let found = self.read_line(largest).with_context(|| cannot_read(&self.name))?;
        if found == LineOutcome::End {
            return Ok(None);
        }
        if self.end.line == 0
            && let Some((program, printer)) = text::compressed(&self.buffer)
        {
            bail!(packed(&self.name, program, printer));
        }
        pass(&mut self.end, &self.buffer);
        self.end.line += 1;
        if found == LineOutcome::TooLong {
            self.is_within = true;
            // What was kept of it is of no use.
            self.buffer = Vec::new();
            return Ok(Some(InputLine { text: None, end: self.end }));
        }
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let mut text = text.strip_suffix(b"\r").unwrap_or(text);
        if self.end.line == 1 {
            if let Some(encoding) = text::foreign(text) {
                bail!(foreign(&self.name, encoding));
            }
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        Ok(Some(InputLine { text: Some(text), end: self.end }))
    }

    fn read_line(&mut self, largest: impl FnOnce() -> usize) -> io::Result<LineOutcome> {
        let found = lines::read(&mut self.reader, &mut self.buffer, LineLimit::unescaped(FREE_BYTES))?;
        if found != LineOutcome::TooLong {
            return Ok(found);
        }
        // A value in base64 takes a third more.
        let largest = largest();
        let bound = largest + largest / 3 + EXTRA_BYTES;
        if bound <= FREE_BYTES {
            return Ok(found);
        }
        // What grows by doubling would be there twice, and more, while it is copied.
        self.buffer.reserve_exact(bound.saturating_sub(self.buffer.len()));
        lines::read_on(&mut self.reader, &mut self.buffer, LineLimit::unescaped(bound))
    }
}

/// These bytes are behind.
pub(super) fn pass(end: &mut End, bytes: &[u8]) {
    end.offset += bytes.len() as u64;
    end.crc32c = crc32c::crc32c_append(end.crc32c, bytes);
}

pub(super) fn cannot_read(name: &str) -> String {
    format!("cannot read {name}")
}

/// What is said of a file in another encoding.
fn foreign(name: &str, encoding: text::Foreign) -> String {
    let encoding = encoding.name();
    format!(
        "{name} is {encoding} text, but records are UTF-8: save it as UTF-8, or convert it with `iconv -f \
        {encoding} -t UTF-8`"
    )
}

/// What is wrong with a compressed file.
fn packed(name: &str, program: &str, printer: &str) -> String {
    format!("{name} is compressed with {program}: decompress it, e.g. `{printer} FILE | fawn load -`")
}

impl Read for InputSource {
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
        let mut input = RecordInput::open(&path).unwrap();
        let mut lines = Vec::new();
        while let Some(line) = input.next_line(|| 0).unwrap() {
            let text = String::from_utf8(line.text.unwrap().to_vec()).unwrap();
            lines.push((text, line.end.line, line.end.offset));
        }
        let expected = [("a", 1, 3), ("bb", 2, 6), ("", 3, 7), ("c", 4, 8)];
        assert_eq!(lines, expected.map(|(text, number, end)| (text.to_owned(), number, end)));

        let mut input = RecordInput::open(&path).unwrap();
        input.skip_to(InputPosition { offset: 6, line: 2, records: 2, crc32c: crc32c::crc32c(b"a\r\nbb\n") }).unwrap();
        input.next_line(|| 0).unwrap();
        let line = input.next_line(|| 0).unwrap().unwrap();
        let end = End { offset: 8, line: 4, crc32c: crc32c::crc32c(b"a\r\nbb\n\nc") };
        assert_eq!((line.text, line.end), (Some(&b"c"[..]), end));
    }

    fn input_of(bytes: &[u8]) -> (tempfile::TempDir, RecordInput) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in");
        std::fs::write(&path, bytes).unwrap();
        let input = RecordInput::open(&path).unwrap();
        (dir, input)
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line_but_of_its_bytes() {
        let (_dir, mut input) = input_of("\u{feff}a\n\u{feff}b\n".as_bytes());
        let line = input.next_line(|| 0).unwrap().unwrap();
        assert_eq!((line.text, line.end.offset), (Some(&b"a"[..]), 5));
        let line = input.next_line(|| 0).unwrap().unwrap();
        assert_eq!(line.text, Some("\u{feff}b".as_bytes()));
    }

    #[test]
    fn a_file_in_utf_16_is_refused_with_the_way_out() {
        for text in ["\u{feff}a\tb\n", "a\tb\n"] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let (_dir, mut input) = input_of(&bytes);
            let why = input.next_line(|| 0).map(drop).unwrap_err().to_string();
            assert!(why.contains("is UTF-16 text") && why.contains("iconv -f UTF-16 -t UTF-8"), "{why}");
        }
    }

    #[test]
    fn a_compressed_file_is_refused_with_the_program_that_unpacks_it() {
        for (bytes, printer) in [
            (&b"\x1f\x8b\x08\0rest\n"[..], "`zcat FILE | fawn load -`"),
            (b"\x28\xb5\x2f\xfd\x24", "zstdcat"),
            (b"\xfd7zXZ\0\n", "xzcat"),
            (b"BZh91AY&SY\n", "bzcat"),
        ] {
            let (_dir, mut input) = input_of(bytes);
            let why = input.next_line(|| 0).map(drop).unwrap_err().to_string();
            assert!(why.contains("is compressed with") && why.contains(printer), "{why}");
        }
        let (_dir, mut input) = input_of(b"BZh9\tvalue\n");
        assert!(input.next_line(|| 0).unwrap().is_some(), "that is a key");
    }

    #[test]
    fn a_line_is_kept_as_far_as_a_record_can_fill_it() {
        let mut bytes = vec![b'x'; 40 << 20];
        bytes.extend_from_slice(b"\nnext\n");
        for (largest, fits) in [(1 << 20, false), (20 << 20, false), (40 << 20, true)] {
            let (_dir, mut input) = input_of(&bytes);
            let line = input.next_line(|| largest).unwrap().unwrap();
            assert_eq!((line.text.is_some(), line.end.line), (fits, 1));
            assert!(fits || input.buffer.capacity() == 0, "nothing of it is kept");
            let line = input.next_line(|| panic!("it is short")).unwrap().unwrap();
            let end = End { offset: bytes.len() as u64, line: 2, crc32c: crc32c::crc32c(&bytes) };
            assert_eq!((line.text, line.end), (Some(&b"next"[..]), end));
            assert!(input.next_line(|| 0).unwrap().is_none());
        }
    }
}
