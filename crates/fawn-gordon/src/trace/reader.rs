//! Requests of a trace, one after another.

use std::io::{BufRead, Chain, Cursor, Read};

use super::compact::CompactReader;
use super::detect::{SAMPLE_BYTES, detect};
use super::error::TraceError;
use super::formats::{LineParser, TraceFormat, TraceOptions};
use super::lines::Lines;
use super::request::BlockRequest;

/// Bytes of a damaged line that its error shows.
const EXCERPT_BYTES: usize = 60;

/// Reads a trace of any format: an iterator over its requests, which passes damage on and continues after it.
///
/// Its memory is bounded, whatever the input. A packed trace has to be unpacked by the caller.
///
/// ```
/// use fawn_gordon::trace::{TraceFormat, TraceReader};
///
/// let csv = b"128166372003061629,web,0,Read,7014609920,24576,41286\nnonsense\n";
/// let mut trace = TraceReader::detect(&csv[..]).unwrap();
/// assert_eq!(trace.format(), TraceFormat::Msr);
/// let request = trace.next().unwrap().unwrap();
/// assert_eq!((request.offset, request.bytes, request.response_ns), (7_014_609_920, 24_576, Some(4_128_600)));
/// let error = trace.next().unwrap().unwrap_err();
/// assert!(error.to_string().starts_with("line 2: it has 1 field"), "{error}");
/// assert!(trace.next().is_none());
/// ```
#[derive(Debug)]
pub struct TraceReader<R> {
    format: TraceFormat,
    source: RequestSource<R>,
    is_over: bool,
}

/// Where requests come from.
#[derive(Debug)]
enum RequestSource<R> {
    Text(Box<LineParser>, Lines<R>),
    Compact(CompactReader<R>),
}

impl<R: BufRead> TraceReader<R> {
    /// Reads `input` as a trace of this format.
    pub fn new(input: R, format: TraceFormat) -> Self {
        Self::with_options(input, format, TraceOptions::default())
    }

    /// As [`new`](Self::new), with what the trace does not say of itself.
    pub fn with_options(input: R, format: TraceFormat, options: TraceOptions) -> Self {
        let source = match format {
            TraceFormat::Compact => RequestSource::Compact(CompactReader::new(input)),
            _ => RequestSource::Text(Box::new(LineParser::new(format, options)), Lines::new(input)),
        };
        Self { format, source, is_over: false }
    }

    /// The format.
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// The name of a device that has appeared, if the format gives names.
    pub fn device_name(&self, device: u32) -> Option<&str> {
        match &self.source {
            RequestSource::Text(parser, _) => parser.device_name(device),
            RequestSource::Compact(_) => None,
        }
    }

    fn next_of_text(parser: &mut LineParser, lines: &mut Lines<R>) -> Option<Result<BlockRequest, TraceError>> {
        loop {
            match lines.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            match parser.parse(lines.line()) {
                Ok(None) => {}
                Ok(Some(request)) => return Some(Ok(request)),
                Err(problem) => {
                    let text = lines.line();
                    let excerpt = text[..text.len().min(EXCERPT_BYTES)].escape_ascii().to_string();
                    return Some(Err(TraceError::Line { line: lines.number(), problem, excerpt }));
                }
            }
        }
    }
}

/// An input whose beginning was read before.
pub type SampledInput<R> = Chain<Cursor<Vec<u8>>, R>;

impl<R: BufRead> TraceReader<SampledInput<R>> {
    /// Finds out the format by the first 64 KiB of the input, and reads it.
    ///
    /// # Errors
    /// The input cannot be read, or is of no known format.
    pub fn detect(input: R) -> Result<Self, TraceError> {
        Self::detect_with_options(input, TraceOptions::default())
    }

    /// As [`detect`](TraceReader::detect), with what the trace does not say of itself.
    ///
    /// # Errors
    /// As [`detect`](TraceReader::detect).
    pub fn detect_with_options(mut input: R, options: TraceOptions) -> Result<Self, TraceError> {
        let mut sample = Vec::new();
        input.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample)?;
        let format = detect(&sample, options)?;
        Ok(Self::with_options(Cursor::new(sample).chain(input), format, options))
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<BlockRequest, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = match &mut self.source {
            RequestSource::Text(parser, lines) => Self::next_of_text(parser, lines),
            RequestSource::Compact(reader) => reader.next(),
        };
        self.is_over = next.as_ref().is_none_or(|result| result.as_ref().is_err_and(TraceError::is_final));
        next
    }
}
