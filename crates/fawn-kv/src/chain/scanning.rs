//! Scans of those who are no members, while they wait for flash.

use crate::ids::{Asker, Position, RequestId};
use fawn_ring::Interval;

/// Who asks, about what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) id: RequestId,
    pub(super) asker: Asker,
    pub(super) keys: Interval,
    pub(super) least: Position,
}

/// A part that waits for flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanning {
    pub(super) question: Question,
    pub(super) since: Position,
    /// What was committed before it is read.
    pub(super) at: Position,
}
