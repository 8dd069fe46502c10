//! Block traces: readers of nine public formats and one of our own, computed traces, and recordings by the second.
//!
//! Readers stream: whatever the input, they hold a few lines and the names of devices. Damage costs one line, or one
//! block of a compact trace, and is passed on with its number. Packed traces are unpacked by the caller.
//!
//! # Layout
//!
//! * `request`: a request of any format. `reader`: reads a trace. `detect`: its format, by content. `formats`: each
//!   format that is text. `lines`, `fields`, `names`: what they share.
//! * `block_events`: requests as the kernel traces them. [`compact`]: our own format. `synthetic`: computed traces. [`recording`]:
//!   what a machine used in each second, in `columns`.

mod block_events;
mod columns;
pub mod compact;
mod detect;
mod error;
mod fields;
mod formats;
mod lines;
mod names;
mod reader;
pub mod recording;
mod request;
mod synthetic;
#[cfg(test)]
mod tests;

pub use block_events::{BlockEvent, BlockEvents};
pub use columns::{COLUMNS, TraceColumn};
pub use compact::{CompactReader, CompactWriter};
pub use error::{BlockProblem, LineProblem, MAX_DEVICE_NAMES, MAX_NAME_BYTES, TraceError};
pub use fields::SECTOR_BYTES;
pub use formats::{BlkparseAction, DiskSimTime, TraceFormat, TraceOptions};
pub use lines::{MAX_LINE_BYTES, MAX_SKIPPED_BYTES};
pub use reader::{SampledInput, TraceReader};
pub use recording::{RecordingError, RecordingHead, RecordingReader, RecordingSample, RecordingWriter};
pub use request::{Access, BlockRequest, MAX_END, MAX_REQUEST_BYTES, TraceSummary};
pub use synthetic::{AddressPattern, Arrivals, PatternError, SyntheticTrace, TracePattern};
