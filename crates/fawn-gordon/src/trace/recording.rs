//! What a machine used in each second: the input of the cluster simulator (Gordon, ASPLOS 2009, §5.2).
//!
//! A column says where its figures came from. A column that nobody measured says so, and its values are absent: they are
//! never 0. The format is text, so that people can read it:
//!
//! ```text
//! fawn recording 1
//! machine pi-3
//! period_ms 1000
//! column instructions not measured
//! column cpu_seconds from /proc/stat
//! column disk_reads from /proc/diskstats
//! samples
//! 0 0.812 5
//! 1000 - 7
//! ```
//!
//! Each sample is a line: its time in milliseconds from the beginning, then one value for each measured column, in the
//! order of the head. A sample covers the time until the next one begins, the last one a period. `-` is a value that this
//! sample lacks. A column that the head does not name was not measured. Values are decimals from 0 to 10^18.

use std::io::{self, BufRead, Write};

use thiserror::Error;

use super::columns::{COLUMNS, TraceColumn};
use super::compact;
use super::error::TraceError;
use super::fields::{Fields, parse_number};
use super::lines::Lines;

/// The first line.
pub(super) const TITLE: &str = "fawn recording 1";

/// Bytes of the text that names a machine or a source.
pub const MAX_TEXT_BYTES: usize = 1024;

/// The largest value.
const MAX_VALUE: f64 = 1e18;

/// What a recording says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingHead {
    /// The machine's name, in one line. It may be empty.
    pub machine: String,
    /// Milliseconds of a sample, at least 1.
    pub period_ms: u64,
    /// Where each column's figures came from, by [`TraceColumn`]: a file, a counter, a computation. `None`: it was not
    /// measured.
    pub sources: [Option<String>; COLUMNS],
}

/// One period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordingSample {
    /// When it began, in milliseconds from the recording's beginning.
    pub time_ms: u64,
    /// What was used in it, by [`TraceColumn`]. `None`: it was not measured.
    pub values: [Option<f64>; COLUMNS],
}

impl RecordingSample {
    /// The value of a column.
    pub fn value(&self, column: TraceColumn) -> Option<f64> {
        self.values[column as usize]
    }
}

/// Why a recording cannot be read, or a line of it.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// A sample that makes no sense. Reading goes on with the next line.
    #[error("line {line}: {problem}; leave the line out")]
    Sample {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A trace of single requests.
    #[error("it is a block trace, which has requests to disks alone")]
    IsBlockTrace,
    /// The head makes no sense. Nothing can be read.
    #[error("line {line}: {problem}; a recording begins with `{TITLE}`, its columns and `samples`")]
    Head {
        /// The line's number, from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The input cannot be read, or a line of it is too long.
    #[error(transparent)]
    Lines(#[from] TraceError),
}

impl RecordingError {
    /// Whether nothing follows. Otherwise only a line is lost.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Sample { .. } => false,
            Self::Head { .. } | Self::IsBlockTrace => true,
            Self::Lines(error) => error.is_final(),
        }
    }
}

/// Writes a recording.
#[derive(Debug)]
pub struct RecordingWriter<W> {
    output: W,
    measured: [bool; COLUMNS],
    line: Vec<u8>,
}

impl<W: Write> RecordingWriter<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// The output cannot be written, or a text of the head is too long or has more than one line.
    pub fn new(mut output: W, head: &RecordingHead) -> io::Result<Self> {
        let texts = head.sources.iter().flatten().chain([&head.machine]);
        let is_wrong =
            |text: &String| text.len() > MAX_TEXT_BYTES || text.trim() != text || text.contains(['\n', '\r']);
        if head.period_ms == 0 || texts.into_iter().any(is_wrong) || head.sources.iter().flatten().any(String::is_empty)
        {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a text of a recording's head is no line"));
        }
        writeln!(output, "{TITLE}")?;
        if !head.machine.is_empty() {
            writeln!(output, "machine {}", head.machine)?;
        }
        writeln!(output, "period_ms {}", head.period_ms)?;
        for (column, source) in TraceColumn::ALL.into_iter().zip(&head.sources) {
            match source {
                Some(source) => writeln!(output, "column {} from {source}", column.name())?,
                None => writeln!(output, "column {} not measured", column.name())?,
            }
        }
        writeln!(output, "samples")?;
        let measured = std::array::from_fn(|column| head.sources[column].is_some());
        Ok(Self { output, measured, line: Vec::new() })
    }

    /// Writes a sample: one line, one write.
    ///
    /// # Errors
    /// The output cannot be written, or the sample has a value of a column that was not measured, or one out of range.
    pub fn push(&mut self, sample: &RecordingSample) -> io::Result<()> {
        self.line.clear();
        write!(self.line, "{}", sample.time_ms)?;
        if !sample.values.iter().flatten().all(|value| (0.0..=MAX_VALUE).contains(value)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a value of a sample is not from 0 to 10^18"));
        }
        for (value, is_measured) in sample.values.iter().zip(self.measured) {
            match (value, is_measured) {
                (Some(value), true) => write!(self.line, " {value}")?,
                (None, true) => self.line.extend_from_slice(b" -"),
                (None, false) => {}
                (Some(_), false) => {
                    let text = "a sample has a value of a column without a source";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
                }
            }
        }
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }

    /// Flushes the output, and returns it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

/// Reads a recording: an iterator over its samples, which passes damage on and continues after it.
#[derive(Debug)]
pub struct RecordingReader<R> {
    lines: Lines<R>,
    head: RecordingHead,
    /// The measured columns, in the order of the head.
    order: Vec<TraceColumn>,
    /// When the last sample began.
    last_ms: Option<u64>,
    is_over: bool,
}

impl<R: BufRead> RecordingReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// It cannot be read, or makes no sense.
    pub fn new(input: R) -> Result<Self, RecordingError> {
        let head = RecordingHead { machine: String::new(), period_ms: 0, sources: [const { None }; COLUMNS] };
        let mut reader = Self { lines: Lines::new(input), head, order: Vec::new(), last_ms: None, is_over: false };
        reader.lines.advance()?;
        if reader.lines.line().starts_with(&compact::MAGIC) {
            return Err(RecordingError::IsBlockTrace);
        }
        if reader.lines.line().trim_ascii() != TITLE.as_bytes() {
            return Err(reader.bad_head("it is not the first line of a recording"));
        }
        let mut named = [false; COLUMNS];
        loop {
            if !reader.lines.advance()? {
                return Err(reader.bad_head("the head has no end"));
            }
            if reader.lines.line().trim_ascii() == b"samples" {
                break;
            }
            reader.read_head_line(&mut named).map_err(|problem| reader.bad_head(problem))?;
        }
        if reader.head.period_ms == 0 {
            return Err(reader.bad_head("the head has no `period_ms`"));
        }
        Ok(reader)
    }

    /// What the recording says of itself.
    pub fn head(&self) -> &RecordingHead {
        &self.head
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    fn bad_head(&self, problem: &'static str) -> RecordingError {
        RecordingError::Head { line: self.lines.number(), problem }
    }

    fn read_head_line(&mut self, named: &mut [bool; COLUMNS]) -> Result<(), &'static str> {
        let line = self.lines.line().trim_ascii();
        let (word, rest) = split_word(line);
        if rest.len() > MAX_TEXT_BYTES + 64 {
            return Err("it is too long");
        }
        match word {
            b"machine" => self.head.machine = String::from_utf8_lossy(rest).into_owned(),
            b"period_ms" => {
                self.head.period_ms = parse_number(rest).filter(|period| *period > 0).ok_or("it has no period")?;
            }
            b"column" => {
                let (name, source) = split_word(rest);
                let column = column_named(name).ok_or("there is no such column")?;
                if std::mem::replace(&mut named[column as usize], true) {
                    return Err("the column is there twice");
                }
                let source = String::from_utf8_lossy(source).into_owned();
                match source.strip_prefix("from ") {
                    Some(source) => {
                        self.head.sources[column as usize] = Some(source.trim().to_owned());
                        self.order.push(column);
                    }
                    None if source == "not measured" => {}
                    None => return Err("it says neither `from` what nor `not measured`"),
                }
            }
            _ => return Err("the head has no such line"),
        }
        Ok(())
    }

    fn sample(&self) -> Result<RecordingSample, &'static str> {
        let fields = Fields::by_blanks(self.lines.line());
        if fields.count() != 1 + self.order.len() {
            return Err("it has another number of values than columns");
        }
        let time_ms = parse_number(fields.get(0)).ok_or("its time is no number in range")?;
        if self.last_ms.is_some_and(|last_ms| time_ms <= last_ms) {
            return Err("it comes twice or late: sort the samples by time");
        }
        let mut values = [None; COLUMNS];
        for (index, column) in self.order.iter().enumerate() {
            values[*column as usize] = match fields.get(1 + index) {
                b"-" => None,
                text => Some(parse_value(text).ok_or("one of its values is no number from 0 to 10^18")?),
            };
        }
        Ok(RecordingSample { time_ms, values })
    }

    fn advance(&mut self) -> Result<Option<RecordingSample>, RecordingError> {
        while self.lines.advance()? {
            if !self.lines.line().trim_ascii().is_empty() {
                let line = self.lines.number();
                let sample = self.sample().map_err(|problem| RecordingError::Sample { line, problem })?;
                self.last_ms = Some(sample.time_ms);
                return Ok(Some(sample));
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for RecordingReader<R> {
    type Item = Result<RecordingSample, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance().transpose();
        self.is_over = next.as_ref().is_none_or(|result| result.as_ref().is_err_and(RecordingError::is_final));
        next
    }
}

fn column_named(name: &[u8]) -> Option<TraceColumn> {
    TraceColumn::by_name(std::str::from_utf8(name).ok()?)
}

fn parse_value(text: &[u8]) -> Option<f64> {
    let value = std::str::from_utf8(text).ok()?.parse().ok()?;
    (0.0..=MAX_VALUE).contains(&value).then_some(value)
}

/// A line's first word, and what follows it.
fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii())
}
