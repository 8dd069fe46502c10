//! One node's trace as a recording by the second ([`crate::trace::recording`]).

use std::collections::BTreeMap;
use std::io::BufRead;

use fawn_report::amount::counted;

use super::sample::ResourceSample;
use crate::trace::recording::MAX_TEXT_BYTES;
use crate::trace::{
    COLUMNS, RecordingError, RecordingHead, RecordingReader, RecordingSample, RecordingWriter, TraceColumn,
};

/// Milliseconds between two samples at most. A damaged number must not take memory for a year.
const LONGEST_GAP_MS: u64 = 3_600_000;

/// Days that a trace may last. Its seconds then take 0.6 GB, however few lines it has.
const MOST_DAYS: u64 = 100;

/// A node's trace as a recording, as [`read_node_trace`] reads it. `sources` are the measured columns.
pub fn write_node_trace(samples: &[ResourceSample], sources: &BTreeMap<TraceColumn, String>) -> String {
    let source = |column: &TraceColumn| sources.get(column).map(|source| line_of(source));
    let head = RecordingHead {
        machine: String::new(),
        period_ms: 1000,
        sources: std::array::from_fn(|column| source(&TraceColumn::ALL[column])),
    };
    let mut writer = RecordingWriter::new(Vec::new(), &head).expect("sources were made lines, and memory takes bytes");
    for (time_ms, sample) in (0..).step_by(1000).zip(samples) {
        let value = |column: TraceColumn| sources.contains_key(&column).then(|| sample.value(column).clamp(0.0, 1e18));
        let sample = RecordingSample { time_ms, values: TraceColumn::ALL.map(value) };
        writer.push(&sample).expect("values were limited, and memory takes bytes");
    }
    let bytes = writer.finish().expect("memory takes bytes");
    String::from_utf8(bytes).expect("a recording is text")
}

/// A source as a line that is not too long.
fn line_of(source: &str) -> String {
    let line = source.replace(['\n', '\r'], " ");
    let line = line.trim();
    let line = line[..line.floor_char_boundary(MAX_TEXT_BYTES)].trim_end();
    if line.is_empty() { "no source given".to_owned() } else { line.to_owned() }
}

/// Reads a node's recording as one sample for each second, whatever its period. A second that a longer sample covers in
/// part has that part of it. A value that a sample lacks counts as nothing; the column's source says how many there are.
///
/// # Errors
/// The input fails, or a line is damaged; the error has its number.
pub fn read_node_trace(
    mut input: impl BufRead,
) -> Result<(Vec<ResourceSample>, BTreeMap<TraceColumn, String>), RecordingError> {
    if input.fill_buf().is_ok_and(<[u8]>::is_empty) {
        return Err(RecordingError::Head { line: 1, problem: "the input is empty" });
    }
    let mut reader = RecordingReader::new(input)?;
    let period_ms = reader.head().period_ms;
    if period_ms > LONGEST_GAP_MS {
        return Err(RecordingError::Head { line: reader.line(), problem: "a period is longer than an hour" });
    }
    let mut seconds = Vec::new();
    let mut absent = [0_u64; COLUMNS];
    let mut samples = 0_u64;
    let mut before: Option<RecordingSample> = None;
    while let Some(sample) = reader.next().transpose()? {
        let end_of_last_ms = before.map_or(0, |before| before.time_ms);
        if sample.time_ms - end_of_last_ms > LONGEST_GAP_MS {
            let problem = "it begins more than an hour after the sample before";
            return Err(RecordingError::Sample { line: reader.line(), problem });
        }
        if sample.time_ms >= MOST_DAYS * 86_400_000 {
            let problem = "a trace lasts at most 100 days, and this sample is later";
            return Err(RecordingError::Sample { line: reader.line(), problem });
        }
        samples += 1;
        for (absent, value) in absent.iter_mut().zip(&sample.values) {
            *absent += u64::from(value.is_none());
        }
        if let Some(before) = before.replace(sample) {
            spread(&before, sample.time_ms, &mut seconds);
        }
    }
    if let Some(last) = before {
        spread(&last, last.time_ms + period_ms, &mut seconds);
    }
    let source = |(column, absent): (TraceColumn, u64)| {
        let source = reader.head().sources[column as usize].clone()?;
        let all = counted(samples, "sample", "samples");
        let without = if absent == 0 { String::new() } else { format!("; no value in {absent} of {all}") };
        Some((column, source + &without))
    };
    Ok((seconds, TraceColumn::ALL.into_iter().zip(absent).filter_map(source).collect()))
}

/// Gives each second its part of a sample that ends at `end_ms`.
fn spread(sample: &RecordingSample, end_ms: u64, seconds: &mut Vec<ResourceSample>) {
    let covered = sample.time_ms / 1000..end_ms.div_ceil(1000);
    seconds.resize(seconds.len().max(covered.end as usize), ResourceSample::default());
    for second in covered {
        let part_ms = end_ms.min(second * 1000 + 1000) - sample.time_ms.max(second * 1000);
        let share = part_ms as f64 / (end_ms - sample.time_ms) as f64;
        for column in TraceColumn::ALL {
            *seconds[second as usize].value_mut(column) += sample.value(column).unwrap_or(0.0) * share;
        }
    }
}
