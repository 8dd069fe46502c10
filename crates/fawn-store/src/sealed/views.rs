//! Views: which reads are still under way over a state of the slices that has been replaced since.
//!
//! Pages and files that a merge emptied are given back once no read is left that was planned before the merge was
//! installed.

use std::collections::VecDeque;

/// Counts outstanding reads by the view they were planned in.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// The oldest view that `outstanding` counts.
    base: u64,
    /// Outstanding reads of view `base`, `base + 1`, …; the last is the current view.
    outstanding: VecDeque<u32>,
}

impl Views {
    /// Number of the current view.
    pub fn current(&self) -> u64 {
        self.base + (self.outstanding.len() as u64).saturating_sub(1)
    }

    /// Begins a read in the current view.
    pub fn pin(&mut self) -> u64 {
        if self.outstanding.is_empty() {
            self.outstanding.push_back(0);
        }
        let current = self.current();
        if let Some(count) = self.outstanding.back_mut() {
            *count += 1;
        }
        current
    }

    /// Ends a read of `view`.
    pub fn release(&mut self, view: u64) {
        let count = self.outstanding.get_mut((view - self.base) as usize).expect("a read ends once");
        *count = count.checked_sub(1).expect("a read ends once");
        self.trim();
    }

    /// Begins a new view; returns the one before it.
    pub fn advance(&mut self) -> u64 {
        if self.outstanding.is_empty() {
            self.outstanding.push_back(0);
        }
        let before = self.current();
        self.outstanding.push_back(0);
        self.trim();
        before
    }

    /// Whether no read of `view` or an earlier one is left.
    pub fn is_over(&self, view: u64) -> bool {
        self.base > view
    }

    fn trim(&mut self) {
        while self.outstanding.len() > 1 && self.outstanding[0] == 0 {
            self.outstanding.pop_front();
            self.base += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_over_when_its_last_read_and_all_earlier_ones_are() {
        let mut views = Views::default();
        let first = views.pin();
        let replaced = views.advance();
        assert_eq!(first, replaced);
        let second = views.pin();
        let replaced_again = views.advance();
        views.release(second);
        assert!(!views.is_over(replaced) && !views.is_over(replaced_again));
        views.release(first);
        assert!(views.is_over(replaced) && views.is_over(replaced_again));
    }

    #[test]
    fn without_reads_a_view_is_over_at_once() {
        let mut views = Views::default();
        let replaced = views.advance();
        assert!(views.is_over(replaced));
    }
}
