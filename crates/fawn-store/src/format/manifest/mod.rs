//! The manifest: which files make up the store, and everything that must be known before they are read.
//!
//! A manifest file holds one snapshot of the [`State`] and the edits since, each commit one write and one sync. All of
//! it is there twice, so that one damaged place loses nothing. When the room for edits is used up, a new file with a
//! new snapshot takes over. `docs/data-log.md` gives every byte.
//!
//! # Layout
//!
//! * [`State`], [`Range`], [`Slice`], [`Segment`], [`EmptiedInterval`]: what is known. `old`: what older versions wrote.
//! * [`Edit`]: how it changes; [`State::apply`].
//! * [`Manifest`]: the file.

mod check;
mod codec;
mod edit;
mod file;
mod frame;
mod old;
mod state;

pub use edit::{Edit, Inconsistent, MergeEdit, SealEdit, SealedRange};
pub use file::{BadCopy, Manifest, ManifestError};
pub use frame::VERSION;
pub use state::{Bonds, Counters, EmptiedInterval, Expiring, LogState, Range, Segment, SegmentPages, Slice, State};
