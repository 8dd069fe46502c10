//! Lines of an input, in bounded memory.

use std::io::{BufRead, ErrorKind};

use super::error::TraceError;

/// Bytes of the longest line that is kept.
pub const MAX_LINE_BYTES: usize = 8192;

/// Bytes of a line that are passed over before it counts as one without an end.
pub const MAX_SKIPPED_BYTES: usize = 1 << 20;

/// The lines of `R`, numbered from 1.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// The number of the line that was read last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line that was read last, without its end.
    pub fn line(&self) -> &[u8] {
        self.line.strip_suffix(b"\r").unwrap_or(&self.line)
    }

    /// Reads the next line. `false` at the end of the input.
    ///
    /// # Errors
    /// The line is too long, has no end, or cannot be read.
    pub fn advance(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        let mut length = 0;
        loop {
            let piece = match self.input.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if piece.is_empty() {
                self.number += u64::from(length > 0);
                return if length > MAX_LINE_BYTES { Err(self.long_line()) } else { Ok(length > 0) };
            }
            let end = piece.iter().position(|&byte| byte == b'\n');
            let text = &piece[..end.unwrap_or(piece.len())];
            let kept = text.len().min(MAX_LINE_BYTES - self.line.len());
            self.line.extend_from_slice(&text[..kept]);
            length += text.len();
            let read = text.len() + usize::from(end.is_some());
            self.input.consume(read);
            if end.is_some() {
                self.number += 1;
                return if length > MAX_LINE_BYTES { Err(self.long_line()) } else { Ok(true) };
            }
            if length > MAX_SKIPPED_BYTES {
                return Err(TraceError::EndlessLine { line: self.number + 1 });
            }
        }
    }

    fn long_line(&self) -> TraceError {
        TraceError::LongLine { line: self.number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], buffer: usize) -> Vec<Result<String, String>> {
        let mut lines = Lines::new(std::io::BufReader::with_capacity(buffer, bytes));
        let mut found = Vec::new();
        loop {
            match lines.advance() {
                Ok(true) => found.push(Ok(String::from_utf8_lossy(lines.line()).into_owned())),
                Ok(false) => return found,
                Err(error) => {
                    found.push(Err(error.to_string()));
                    if error.is_final() {
                        return found;
                    }
                }
            }
        }
    }

    #[test]
    fn lines_end_at_line_feeds_with_or_without_carriage_returns() {
        for buffer in [1, 2, 3, 64] {
            let expected = ["a", "", "bc", "d"].map(|line| Ok(line.to_owned()));
            assert_eq!(all(b"a\n\r\nbc\r\nd", buffer), expected);
            assert_eq!(all(b"", buffer), []);
        }
    }

    #[test]
    fn a_long_line_is_told_by_its_number_and_reading_goes_on() {
        let text = [b"a\n".as_slice(), &vec![b'x'; MAX_LINE_BYTES + 1], b"\nb\n"].concat();
        let found = all(&text, 100);
        assert_eq!(found[0], Ok("a".to_owned()));
        assert!(found[1].as_ref().is_err_and(|error| error.starts_with("line 2 has more than")), "{found:?}");
        assert_eq!(found[2..], [Ok("b".to_owned())]);
    }

    #[test]
    fn a_line_without_an_end_is_an_error_and_takes_no_memory() {
        let mut lines = Lines::new(std::io::BufReader::new(std::io::repeat(b'7')));
        assert!(matches!(lines.advance(), Err(TraceError::EndlessLine { line: 1 })));
        assert!(lines.line.capacity() <= 4 * MAX_LINE_BYTES);
    }
}
