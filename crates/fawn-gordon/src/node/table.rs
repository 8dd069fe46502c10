//! One node's trace as text: comma-separated values with a source for each column.
//!
//! ```text
//! # instructions: perf_event_open, hardware instructions
//! # network_in_bytes: /proc/net/dev
//! second,instructions,network_in_bytes
//! 0,1500000,4096
//! 1,,8192
//! ```
//!
//! A column that is not in the head was not measured. An empty cell is an error: a column is measured in every second or
//! left out. Seconds count from 0; a second without a line did nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::BufRead;

use fawn_report::csv;

use super::columns::TraceColumn;
use super::sample::ResourceSample;

/// Seconds without a line at most, one after the other. A damaged number must not take memory for a year.
const LONGEST_GAP: u64 = 3600;

/// Bytes of a line at most.
const LONGEST_LINE: usize = 4096;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceTableError {
    /// The input failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A line is not as it should be.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
}

/// A node's trace as text, as [`read_node_trace`] reads it. `sources` are the measured columns.
pub fn write_node_trace(samples: &[ResourceSample], sources: &BTreeMap<TraceColumn, String>) -> String {
    let mut out = String::new();
    for (column, source) in sources {
        let source = source.replace(['\n', '\r'], " ");
        writeln!(out, "# {column}: {}", source.trim()).expect("writing to a string cannot fail");
    }
    let names = sources.keys().map(|column| column.name().to_owned());
    out.push_str(&csv::line(std::iter::once("second".to_owned()).chain(names)));
    for (second, sample) in samples.iter().enumerate() {
        let values = sources.keys().map(|column| sample.value(*column).to_string());
        out.push_str(&csv::line(std::iter::once(second.to_string()).chain(values)));
    }
    out
}

/// Reads a node's trace.
///
/// # Errors
/// The input fails, or a line is damaged; the error has its number.
pub fn read_node_trace(
    mut input: impl BufRead,
) -> Result<(Vec<ResourceSample>, BTreeMap<TraceColumn, String>), TraceTableError> {
    let mut texts: BTreeMap<TraceColumn, String> = BTreeMap::new();
    let mut head: Option<Vec<TraceColumn>> = None;
    let mut samples: Vec<ResourceSample> = Vec::new();
    let mut line = 0;
    let mut bytes = Vec::new();
    loop {
        line += 1;
        let wrong = |what: String| TraceTableError::Line { line, what };
        let Some(text) = next_line(&mut input, &mut bytes, line)? else { break };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(comment) = text.strip_prefix('#') {
            let parts = comment.split_once(':');
            if let Some((column, source)) = parts.and_then(|(name, it)| Some((TraceColumn::by_name(name.trim())?, it)))
            {
                texts.insert(column, source.trim().to_owned());
            }
            continue;
        }
        let Some(columns) = &head else {
            head = Some(columns_of(text).map_err(wrong)?);
            continue;
        };
        let (second, sample) = sample_of(text, columns).map_err(wrong)?;
        if (samples.len() as u64) > second {
            return Err(wrong(format!("second {second} comes twice or late: sort the lines by second")));
        }
        if second - samples.len() as u64 > LONGEST_GAP {
            return Err(wrong(format!("second {second} comes more than {LONGEST_GAP} after the line before")));
        }
        samples.resize(second as usize, ResourceSample::default());
        samples.push(sample);
    }
    let Some(columns) = head else {
        return Err(TraceTableError::Line { line, what: "there is no head: begin with second,COLUMN,…".to_owned() });
    };
    let source = |column: TraceColumn| {
        let source = texts.remove(&column).unwrap_or_else(|| "no source given".to_owned());
        (column, source)
    };
    Ok((samples, columns.into_iter().map(source).collect()))
}

/// The next line, without reading more of a long one than a line may have.
fn next_line<'b>(
    input: &mut impl BufRead,
    bytes: &'b mut Vec<u8>,
    line: u64,
) -> Result<Option<&'b str>, TraceTableError> {
    bytes.clear();
    let mut limited = std::io::Read::take(&mut *input, LONGEST_LINE as u64 + 1);
    if limited.read_until(b'\n', bytes)? == 0 {
        return Ok(None);
    }
    if bytes.len() > LONGEST_LINE {
        return Err(TraceTableError::Line { line, what: format!("it has more than {LONGEST_LINE} bytes") });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| TraceTableError::Line { line, what: "not UTF-8".to_owned() })?;
    Ok(Some(text))
}

/// The columns that a head names.
fn columns_of(head: &str) -> Result<Vec<TraceColumn>, String> {
    let mut names = head.split(',').map(str::trim);
    if names.next() != Some("second") {
        return Err("the head's first column must be `second`".to_owned());
    }
    let mut columns = Vec::new();
    for name in names {
        let column = TraceColumn::by_name(name).ok_or_else(|| {
            let known: Vec<&str> = TraceColumn::ALL.into_iter().map(TraceColumn::name).collect();
            format!("`{name}` is no column; there are {}", known.join(", "))
        })?;
        if columns.contains(&column) {
            return Err(format!("the column `{name}` comes twice"));
        }
        columns.push(column);
    }
    if columns.is_empty() {
        return Err("the head has no column besides `second`".to_owned());
    }
    Ok(columns)
}

fn sample_of(text: &str, columns: &[TraceColumn]) -> Result<(u64, ResourceSample), String> {
    let mut cells = text.split(',').map(str::trim);
    let second = cells.next().unwrap_or_default();
    let second: u64 = second.parse().map_err(|_| format!("`{second}` is no second"))?;
    let mut sample = ResourceSample::default();
    for column in columns {
        let cell = cells.next().unwrap_or_default();
        let value: f64 = cell.parse().map_err(|_| format!("`{cell}` is no value of {column}"))?;
        if !(0.0..=1e18).contains(&value) {
            return Err(format!("{cell} is no value of {column}: it must be from 0 to 10^18"));
        }
        *sample.value_mut(*column) = value;
    }
    if cells.next().is_some() {
        return Err(format!("it has more cells than the {} of the head", columns.len() + 1));
    }
    Ok((second, sample))
}
