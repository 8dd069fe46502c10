//! Lines with a phrase: counted, or written in their order.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use memchr::{memchr, memrchr};

use super::source::TextPiece;

/// What becomes of lines with a phrase.
pub enum LineOutput<'w> {
    /// They are counted alone.
    Count,
    /// They are written there. `spool` makes a file for the start of a line that is longer than a piece, until it is known whether the
    /// line has a phrase.
    Write {
        /// Where they are written.
        out: Box<dyn Write + Send + 'w>,
        /// Makes an empty file, which goes when it is closed.
        spool: fn() -> io::Result<File>,
    },
}

/// Takes pieces in their order.
pub struct LineWriter<'w> {
    output: LineOutput<'w>,
    /// The line that the last piece has begun and not ended has a phrase.
    is_found: bool,
    /// The start of such a line that has none so far.
    start: Option<File>,
    /// Lines with a phrase.
    pub lines: u64,
}

impl<'w> LineWriter<'w> {
    /// Before the first piece.
    pub fn new(output: LineOutput<'w>) -> Self {
        Self { output, is_found: false, start: None, lines: 0 }
    }

    /// Takes the next piece, with the places of its bytes where phrases begin, sorted.
    ///
    /// # Errors
    /// Writing failed.
    pub fn take(&mut self, piece: &TextPiece, places: &[u32]) -> io::Result<()> {
        let own = piece.own();
        let places = places.iter().map(|place| *place as usize - piece.starts.start);
        let mut done = 0;
        if !piece.begins_line || !piece.ends_line {
            // A part of a line that is longer than a piece, which begins or ends elsewhere.
            done = memchr(b'\n', own).map_or(own.len(), |at| at + 1);
            let has_phrase = places.clone().next().is_some_and(|place| place < done);
            let is_end = done < own.len() || piece.ends_line;
            self.part(&own[..done], has_phrase, is_end)?;
        }
        for place in places {
            if place >= done {
                let begin = memrchr(b'\n', &own[done..place]).map_or(done, |at| done + at + 1);
                done = memchr(b'\n', &own[place..]).map_or(own.len(), |at| place + at + 1);
                self.lines += 1;
                if let LineOutput::Write { out, .. } = &mut self.output {
                    write_line(out, &own[begin..done])?;
                }
            }
        }
        Ok(())
    }

    /// Takes a part of a long line.
    fn part(&mut self, part: &[u8], has_phrase: bool, is_end: bool) -> io::Result<()> {
        let is_first_found = has_phrase && !self.is_found;
        self.is_found |= has_phrase;
        self.lines += u64::from(is_first_found);
        if let LineOutput::Write { out, spool } = &mut self.output {
            if is_first_found && let Some(mut start) = self.start.take() {
                start.seek(SeekFrom::Start(0))?;
                io::copy(&mut start.take(u64::MAX), out)?;
            }
            if self.is_found {
                if is_end { write_line(out, part)? } else { out.write_all(part)? }
            } else if !is_end {
                if self.start.is_none() {
                    self.start = Some(spool()?);
                }
                self.start.as_mut().map_or(Ok(()), |start| start.write_all(part))?;
            }
        }
        if is_end {
            (self.is_found, self.start) = (false, None);
        }
        Ok(())
    }

    /// Ends with the last piece.
    ///
    /// # Errors
    /// Writing failed.
    pub fn finish(&mut self) -> io::Result<()> {
        match &mut self.output {
            LineOutput::Count => Ok(()),
            LineOutput::Write { out, .. } => out.flush(),
        }
    }
}

/// Writes a line, with a line feed also if its text ended without one.
fn write_line(out: &mut impl Write, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    if line.ends_with(b"\n") { Ok(()) } else { out.write_all(b"\n") }
}
