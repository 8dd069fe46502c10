//! Writes and trims that wait, in the order in which they came.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::hash::PageHash;

/// Writes and trims of the host that are not yet being programmed.
///
/// Writes of one super-page begin in the order in which they came, one at a time. A trim begins once all before it are being
/// programmed, and nothing behind it begins earlier.
#[derive(Debug, Default)]
pub struct HostQueue {
    /// Not begun.
    pub waiting: VecDeque<u32>,
    /// Begun, but no write point could take them.
    pub refused: VecDeque<u32>,
    /// The latest waiting write of each logical page, while writes are combined.
    pub waiting_of: HashMap<u32, u32, PageHash>,
    /// The write of a logical page that has begun and is not being programmed.
    pub begun_of: HashMap<u32, u32, PageHash>,
    /// Trims that wait.
    pub trims: u32,
    /// Writes that have begun and are not finished.
    pub active: u32,
}

impl HostQueue {
    /// The write that another one of this logical page can join.
    #[inline]
    pub fn to_join(&self, logical: u32) -> Option<u32> {
        if self.trims > 0 {
            return None;
        }
        self.pending(logical)
    }

    /// The latest write of this logical page that is not being programmed.
    #[inline]
    pub fn pending(&self, logical: u32) -> Option<u32> {
        let waiting = if self.waiting_of.is_empty() { None } else { self.waiting_of.get(&logical) };
        let begun = || if self.begun_of.is_empty() { None } else { self.begun_of.get(&logical) };
        waiting.or_else(begun).copied()
    }

    /// Whether a write of this logical page has begun and is not being programmed.
    #[inline]
    pub fn has_begun(&self, logical: u32) -> bool {
        !self.begun_of.is_empty() && self.begun_of.contains_key(&logical)
    }
}
