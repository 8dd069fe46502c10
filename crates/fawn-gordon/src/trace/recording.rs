//! What a machine used in each second: the input of the cluster simulator (Gordon, ASPLOS 2009, §5.2).
//!
//! A column says where its figures came from. A column that nobody measured says so, and its values are absent: they are
//! never 0. The format is text, so that people can read it:
//!
//! ```text
//! fawn recording 1
//! machine pi-3
//! period_ms 1000
//! column cpu_ns from /proc/stat
//! column instructions not measured
//! column disk_reads from /proc/diskstats
//! samples
//! 0 812000000 5
//! 1000 - 7
//! ```
//!
//! Each sample is a line: its time in milliseconds from the beginning, then one value for each measured column, in the
//! order of the head. `-` is a value that this sample lacks. A column that the head does not name was not measured.

use std::io::{self, BufRead, Write};

use thiserror::Error;

use super::error::TraceError;
use super::fields::{Fields, parse_number};
use super::lines::Lines;

/// The first line.
const TITLE: &str = "fawn recording 1";

/// Number of columns.
pub const COLUMNS: usize = 9;

/// Bytes of the text that names a machine or a source.
const MAX_TEXT_BYTES: usize = 1024;

/// What is measured in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordingColumn {
    /// Time in which processors were busy, summed over them, in nanoseconds.
    CpuNs,
    /// Instructions that were executed.
    Instructions,
    /// Misses of the last cache.
    CacheMisses,
    /// Bytes that came over the network.
    NetworkIn,
    /// Bytes that were sent over the network.
    NetworkOut,
    /// Bytes that were read from the disk. What the page cache had does not count.
    DiskRead,
    /// Bytes that were written to the disk.
    DiskWrite,
    /// Accesses to the disk that read.
    DiskReads,
    /// Accesses to the disk that write.
    DiskWrites,
}

impl RecordingColumn {
    /// All columns, in the order of [`RecordingSample::values`].
    pub const ALL: [Self; COLUMNS] = [
        Self::CpuNs,
        Self::Instructions,
        Self::CacheMisses,
        Self::NetworkIn,
        Self::NetworkOut,
        Self::DiskRead,
        Self::DiskWrite,
        Self::DiskReads,
        Self::DiskWrites,
    ];

    /// Its name in a recording.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuNs => "cpu_ns",
            Self::Instructions => "instructions",
            Self::CacheMisses => "cache_misses",
            Self::NetworkIn => "network_in_bytes",
            Self::NetworkOut => "network_out_bytes",
            Self::DiskRead => "disk_read_bytes",
            Self::DiskWrite => "disk_write_bytes",
            Self::DiskReads => "disk_reads",
            Self::DiskWrites => "disk_writes",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name().as_bytes() == name)
    }
}

/// What a recording says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingHead {
    /// The machine's name, in one line.
    pub machine: String,
    /// Milliseconds of a sample, at least 1.
    pub period_ms: u64,
    /// Where each column's figures came from, by [`RecordingColumn`]: a file, a counter, a computation. `None`: it was not
    /// measured.
    pub sources: [Option<String>; COLUMNS],
}

/// One period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingSample {
    /// When it began, in milliseconds from the recording's beginning.
    pub time_ms: u64,
    /// What was used in it, by [`RecordingColumn`]. `None`: it was not measured.
    pub values: [Option<u64>; COLUMNS],
}

impl RecordingSample {
    /// The value of a column.
    pub fn value(&self, column: RecordingColumn) -> Option<u64> {
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
            Self::Head { .. } => true,
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
        writeln!(output, "{TITLE}\nmachine {}\nperiod_ms {}", head.machine, head.period_ms)?;
        for (column, source) in RecordingColumn::ALL.into_iter().zip(&head.sources) {
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
    /// The output cannot be written, or the sample has a value of a column that was not measured.
    pub fn push(&mut self, sample: &RecordingSample) -> io::Result<()> {
        self.line.clear();
        write!(self.line, "{}", sample.time_ms)?;
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
    order: Vec<RecordingColumn>,
    is_over: bool,
}

impl<R: BufRead> RecordingReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// It cannot be read, or makes no sense.
    pub fn new(input: R) -> Result<Self, RecordingError> {
        let head = RecordingHead { machine: String::new(), period_ms: 0, sources: [const { None }; COLUMNS] };
        let mut reader = Self { lines: Lines::new(input), head, order: Vec::new(), is_over: false };
        reader.lines.advance()?;
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
                let column = RecordingColumn::named(name).ok_or("there is no such column")?;
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
        let mut values = [None; COLUMNS];
        for (index, column) in self.order.iter().enumerate() {
            values[*column as usize] = match fields.get(1 + index) {
                b"-" => None,
                text => Some(parse_number(text).ok_or("one of its values is no number in range")?),
            };
        }
        Ok(RecordingSample { time_ms, values })
    }

    fn advance(&mut self) -> Result<Option<RecordingSample>, RecordingError> {
        while self.lines.advance()? {
            if !self.lines.line().trim_ascii().is_empty() {
                let line = self.lines.number();
                return self.sample().map(Some).map_err(|problem| RecordingError::Sample { line, problem });
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

/// A line's first word, and what follows it.
fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii())
}
