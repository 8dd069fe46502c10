//! Lookups and scans that wait for flash, and what comes of them.

use super::{Part, Ticket};
use crate::range::entry::Kept;
use fawn_ring::Key;
use fawn_store::Read;

/// A lookup that is not answered yet.
#[derive(Debug)]
pub(super) struct PendingLookup {
    pub(super) ticket: Ticket,
    pub(super) key: Key,
    pub(super) name: Vec<u8>,
}

/// A read that whoever owns the store carries out: pages [`first`](Read::first) to `first + count` of a file.
#[derive(Debug)]
pub struct Fetch {
    pub(super) asked: PendingLookup,
    /// The pages.
    pub read: Read,
}

/// What came of a lookup or a scan that had to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of a lookup.
    Version(Option<Kept>),
    /// Of a scan.
    Part(Part),
    /// Flash is damaged, or cannot be read: there is no answer, here.
    Failed(String),
    /// The system was short of something: the same may be answered a moment later, and nothing is known to be damaged.
    Refused(String),
}
