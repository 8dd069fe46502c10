//! What is wrong with a trace, and where.

use std::io;

use fawn_report::amount::counted;
use thiserror::Error;

use super::lines::{MAX_LINE_BYTES, MAX_SKIPPED_BYTES};

/// Names of devices that a trace may have. Their memory is thereby bounded.
pub const MAX_DEVICE_NAMES: usize = 4096;

/// Bytes that a device's name may have.
pub const MAX_NAME_BYTES: usize = 512;

/// Why a trace cannot be read, or a part of it.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line that no request can be made of. Reading goes on with the next one.
    #[error("line {line}: {problem}: `{excerpt}`; leave the line out, or name the trace's format")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        problem: LineProblem,
        /// Its first bytes, escaped.
        excerpt: String,
    },
    /// A line that is too long to be of any format. Reading goes on after its end.
    #[error("line {line} has more than {MAX_LINE_BYTES} bytes; leave the line out, or unpack the trace first")]
    LongLine {
        /// Its number, from 1.
        line: u64,
    },
    /// A line that does not seem to end. Reading ends.
    #[error("line {line} has no end within {MAX_SKIPPED_BYTES} bytes; unpack the trace first if it is packed")]
    EndlessLine {
        /// Its number, from 1.
        line: u64,
    },
    /// A block of a compact trace whose checksum or records are wrong. Reading goes on with the next block.
    #[error("block {block}: {problem}; its requests are lost, convert the trace again")]
    Block {
        /// Its number, from 1.
        block: u64,
        /// What is wrong.
        problem: BlockProblem,
    },
    /// A compact trace that cannot be followed any further. Reading ends.
    #[error("after block {block}: {problem}; what follows is lost, convert the trace again")]
    Compact {
        /// Blocks before the damage.
        block: u64,
        /// What is wrong.
        problem: BlockProblem,
    },
    /// No known format fits the first lines. Reading ends.
    #[error("{}; unpack the trace first, or name its format", what_is_unknown(*lines))]
    Unknown {
        /// How many lines were looked at.
        lines: usize,
    },
    /// A recording by the second, which has no single requests. Reading ends.
    #[error("it is a recording by the second and has no single requests")]
    IsRecording,
    /// The input cannot be read. Reading ends.
    #[error("cannot read the trace: {0}")]
    Input(#[from] io::Error),
}

impl TraceError {
    /// Whether nothing follows. Otherwise only a line or a block is lost.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Line { .. } | Self::LongLine { .. } | Self::Block { .. } => false,
            Self::EndlessLine { .. }
            | Self::Compact { .. }
            | Self::Unknown { .. }
            | Self::IsRecording
            | Self::Input(_) => true,
        }
    }
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LineProblem {
    /// Too many fields, or too few.
    #[error("it has {}, and should have {expected}", counted(*found as u64, "field", "fields"))]
    Fields {
        /// How many the format has.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A field that is no number, or one that is too large.
    #[error("its {field} is no number in range")]
    Number {
        /// The name of the field.
        field: &'static str,
    },
    /// Neither a read, nor a write, nor anything else that the format knows.
    #[error("its operation is unknown")]
    Operation,
    /// No device has such a place ([`MAX_REQUEST_BYTES`](super::request::MAX_REQUEST_BYTES),
    /// [`MAX_END`](super::request::MAX_END)).
    #[error("it asks for more than 1 TiB, or for a place past the first 2^60 bytes, and no device has that")]
    Extent,
    /// A read or a write of no bytes.
    #[error("it asks for no bytes")]
    Empty,
    /// More names of devices than are kept.
    #[error("it names one device more than {MAX_DEVICE_NAMES}, or one with more than {MAX_NAME_BYTES} bytes")]
    Names,
    /// The first line of an iolog is missing.
    #[error("the trace must begin with `fio version 2 iolog` or `fio version 3 iolog`")]
    Header,
}

/// What is wrong with a block of a compact trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BlockProblem {
    /// The file does not begin as a compact trace does.
    #[error("this is no compact trace")]
    Magic,
    /// A version that this reader does not know.
    #[error("its version is {0}, and this program reads version 1")]
    Version(u16),
    /// The head's checksum is wrong, so that its length cannot be trusted.
    #[error("the checksum of its head is wrong")]
    Head,
    /// The payload's checksum is wrong.
    #[error("the checksum of its requests is wrong")]
    Payload,
    /// The checksum is right, the requests are not.
    #[error("its requests cannot be decoded")]
    Requests,
    /// The file ends before its last block.
    #[error("the trace ends too early")]
    Truncation,
    /// The last block counts other requests than there were.
    #[error("it has lost whole blocks")]
    Count,
    /// Bytes after the last block.
    #[error("something follows its last block")]
    Trailing,
}

/// What no format fits: the first lines, if there are any.
fn what_is_unknown(lines: usize) -> String {
    match lines {
        0 => "it has no lines and so no format that is known".to_owned(),
        1 => "its first line is of no format that is known".to_owned(),
        _ => format!("the first {lines} lines are of no format that is known"),
    }
}
