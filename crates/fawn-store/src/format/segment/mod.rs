//! Segments: immutable files of records sorted by key position (FAWN SOSP'09 §3.3's data log, cut into sealed pieces).
//!
//! ```text
//! page 0          d               d + p               last
//! | data pages ... | directory ... | fragments ...     | footer |
//! ```
//!
//! * **Data**: records back to back, straddling pages.
//! * **Directory**: for each data page the 64-bit prefix of the position of the record that owns its first payload
//!   byte (the *owner rule*: a lookup knows from it the one extent that holds its record whole).
//! * **Fragments**: the positions' prefixes of all records in order, bucketed and packed, so that the hash index of a
//!   slice is rebuilt from here and never from data.
//! * **Footer**: what the file is and where its parts are.
//!
//! Deviation from the paper: its data log is unsorted and the index keeps an offset; here the index keeps only the
//! segment and the directory finds the page, which is what makes an entry 4 bytes.

mod cursor;
mod find;
mod footer;
mod prefix_packing;
mod prefixes;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub use cursor::{Cursor, CursorStep, ReadAhead, Unread};
pub use find::{RecordPlace, find};
pub use footer::Footer;
pub use prefix_packing::Fragments;
pub use prefixes::{read_prefixes, read_prefixes_of};
pub use writer::{CompleteSegment, Writer};

use crate::api::Damage;
use crate::flash::{FileId, FlashError};
use crate::format::page::PAGE_BYTES;

/// Why a segment could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The device failed to read the segment.
    #[error(transparent)]
    Flash(#[from] FlashError),
    /// The bytes are not what was written.
    #[error(transparent)]
    Damage(#[from] Damage),
}

/// What is said of a key whose newest version damage has taken.
pub(crate) const LOST: &str = "a record was lost to earlier damage";

/// The damage of page `page` of `file`.
pub(crate) fn page_damage(file: FileId, page: u64, what: &str) -> Damage {
    Damage { file, offset: page * PAGE_BYTES as u64, what: what.to_owned() }
}
