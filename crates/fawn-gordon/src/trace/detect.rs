//! Which format a trace is of, by its content.

use super::compact;
use super::error::TraceError;
use super::formats::{LineParser, TraceFormat, TraceOptions};
use super::recording;

/// Bytes that are looked at.
pub const SAMPLE_BYTES: u64 = 1 << 16;

/// Lines that are looked at.
const MOST_LINES: usize = 200;

/// The format of which most of the sample's lines are requests, if that is half of its lines or more. A line that was
/// cut off at the sample's end does not count.
///
/// # Errors
/// There is no such format.
pub fn detect(sample: &[u8], options: TraceOptions) -> Result<TraceFormat, TraceError> {
    if sample.starts_with(&compact::MAGIC) {
        return Ok(TraceFormat::Compact);
    }
    if sample.starts_with(recording::TITLE.as_bytes()) {
        return Err(TraceError::IsRecording);
    }
    let is_cut = sample.len() as u64 >= SAMPLE_BYTES;
    let whole = sample.iter().rposition(|&byte| byte == b'\n').filter(|_| is_cut).unwrap_or(sample.len());
    let lines = sample[..whole].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let lines: Vec<&[u8]> = lines.take(MOST_LINES).collect();
    let scores = TraceFormat::ALL.into_iter().filter(|format| *format != TraceFormat::Compact);
    let scores = scores.map(|format| (score(&lines, format, options), format));
    match scores.max_by_key(|(score, _)| *score) {
        Some((score, format)) if score > 0 => Ok(format),
        _ => Err(TraceError::Unknown { lines: lines.len() }),
    }
}

/// How many lines are requests; none if more lines are damaged. An iolog's first line settles it.
fn score(lines: &[&[u8]], format: TraceFormat, options: TraceOptions) -> usize {
    let mut parser = LineParser::new(format, options);
    let (mut requests, mut others, mut damaged) = (0, 0, 0);
    for line in lines {
        match parser.parse(line) {
            Ok(Some(_)) => requests += 1,
            Ok(None) => others += 1,
            Err(_) => damaged += 1,
        }
    }
    let is_iolog = matches!(format, TraceFormat::FioV2 | TraceFormat::FioV3) && others > 0;
    // A blkparse trace may begin with many events that are no requests.
    let has_events = format == TraceFormat::Blkparse && others > 0;
    let right = if is_iolog || has_events { requests + others } else { requests };
    if right >= damaged { right } else { 0 }
}
