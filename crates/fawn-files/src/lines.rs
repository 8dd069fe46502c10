//! Lines within a bound: no file makes its reader take more memory than the longest line that can mean anything.

use std::io::{self, BufRead};

/// What has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// Nothing: the end.
    End,
    /// A line, the last one perhaps without a line end.
    Line,
    /// The start of a line that is longer than it may be. [`read_on`] goes on with it, [`skip`] leaves its rest behind.
    TooLong,
}

/// How long a line may be.
#[derive(Clone, Copy, Debug)]
pub struct LineLimit {
    bytes: usize,
    /// Bytes that have been looked through for escapes, and those of them that escapes take beyond the byte that they mean.
    scanned: usize,
    spared: usize,
}

impl LineLimit {
    /// So many bytes, where each `\n`, `\x0a` and `\u000a` counts as one.
    pub fn unescaped(bytes: usize) -> Self {
        Self { bytes, scanned: 0, spared: 0 }
    }

    /// Whether this start of a line is within the bound. Each time the line is the same, but longer.
    fn fits(&mut self, line: &[u8]) -> bool {
        if line.len() <= self.bytes {
            return true;
        }
        while let Some(found) = line.get(self.scanned..).and_then(|rest| memchr::memchr(b'\\', rest)) {
            let at = self.scanned + found;
            let length = match line.get(at + 1) {
                Some(b'u') => 6,
                Some(b'x') => 4,
                Some(_) => 2,
                None => {
                    self.scanned = at;
                    return line.len() - self.spared <= self.bytes;
                }
            };
            (self.scanned, self.spared) = (at + length, self.spared + length - 1);
        }
        self.scanned = self.scanned.max(line.len());
        line.len().saturating_sub(self.spared) <= self.bytes
    }
}

/// Reads the next line into `line`, in the place of what that holds, with its end.
///
/// # Errors
/// Reading failed.
pub fn read(reader: &mut impl BufRead, line: &mut Vec<u8>, bound: LineLimit) -> io::Result<LineOutcome> {
    line.clear();
    read_on(reader, line, bound)
}

/// Goes on with a line whose start was too long for another bound.
///
/// # Errors
/// Reading failed.
pub fn read_on(reader: &mut impl BufRead, line: &mut Vec<u8>, mut bound: LineLimit) -> io::Result<LineOutcome> {
    loop {
        let bytes = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(if line.is_empty() { LineOutcome::End } else { LineOutcome::Line });
        }
        let end = memchr::memchr(b'\n', bytes);
        let count = end.map_or(bytes.len(), |at| at + 1);
        let text = end.unwrap_or(count);
        line.extend_from_slice(&bytes[..text]);
        if !bound.fits(line) {
            // The line end stays, for whoever goes on or skips.
            reader.consume(text);
            return Ok(LineOutcome::TooLong);
        }
        line.extend_from_slice(&bytes[text..count]);
        reader.consume(count);
        if end.is_some() {
            return Ok(LineOutcome::Line);
        }
    }
}

/// Leaves the rest of a line behind, giving each part of it to `seen`.
///
/// # Errors
/// Reading failed.
pub fn skip(reader: &mut impl BufRead, mut seen: impl FnMut(&[u8])) -> io::Result<()> {
    loop {
        let bytes = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        let end = memchr::memchr(b'\n', bytes);
        let count = end.map_or(bytes.len(), |at| at + 1);
        seen(&bytes[..count]);
        reader.consume(count);
        if end.is_some() || count == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn found(text: &[u8], most: usize, buffer: usize) -> LineOutcome {
        let mut reader = BufReader::with_capacity(buffer, text);
        read(&mut reader, &mut Vec::new(), LineLimit::unescaped(most)).unwrap()
    }

    #[test]
    fn a_line_is_bounded_by_what_it_means() {
        for buffer in [1, 2, 3, 7, 64] {
            assert_eq!(found(b"12345\n", 5, buffer), LineOutcome::Line);
            assert_eq!(found(b"123456\n", 5, buffer), LineOutcome::TooLong);
            assert_eq!(found(b"123456", 5, buffer), LineOutcome::TooLong);
            assert_eq!(found(b"12\\n\\x41\\u00e9\n", 5, buffer), LineOutcome::Line, "by {buffer}");
            assert_eq!(found(b"12\\n\\x41\\u00e9\n", 4, buffer), LineOutcome::TooLong, "by {buffer}");
            assert_eq!(found(b"\\\\\\\\\\\\\n", 3, buffer), LineOutcome::Line);
        }
        assert_eq!(found(b"", 5, 8), LineOutcome::End);
    }

    #[test]
    fn a_line_that_is_too_long_for_one_bound_can_be_read_on_with_another() {
        for buffer in [1, 3, 8, 64] {
            let mut reader = BufReader::with_capacity(buffer, &b"123456\nnext\n"[..]);
            let mut line = Vec::new();
            assert_eq!(read(&mut reader, &mut line, LineLimit::unescaped(4)).unwrap(), LineOutcome::TooLong);
            assert_eq!(read_on(&mut reader, &mut line, LineLimit::unescaped(5)).unwrap(), LineOutcome::TooLong);
            assert_eq!(read_on(&mut reader, &mut line, LineLimit::unescaped(6)).unwrap(), LineOutcome::Line);
            assert_eq!(line, b"123456\n");
            assert_eq!(read(&mut reader, &mut line, LineLimit::unescaped(4)).unwrap(), LineOutcome::Line);
            assert_eq!(line, b"next\n");
        }
    }

    #[test]
    fn what_is_behind_a_line_that_is_too_long_is_found() {
        let text = [&[b'x'; 100][..], b"\nnext\n"].concat();
        let mut reader = BufReader::with_capacity(16, &text[..]);
        let mut line = Vec::new();
        assert_eq!(read(&mut reader, &mut line, LineLimit::unescaped(20)).unwrap(), LineOutcome::TooLong);
        assert!(line.len() <= 32, "no more than the bound and what was read at a time");
        let mut skipped = line.len();
        skip(&mut reader, |bytes| skipped += bytes.len()).unwrap();
        assert_eq!(skipped, 101);
        assert_eq!(read(&mut reader, &mut line, LineLimit::unescaped(20)).unwrap(), LineOutcome::Line);
        assert_eq!(line, b"next\n");
        skip(&mut reader, |bytes| assert!(bytes.is_empty(), "nothing is left")).unwrap();
    }
}
