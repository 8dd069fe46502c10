//! Reads under way, and what waits for them: files and pages that a merge emptied are given back once no read is left that
//! was planned before the merge was installed.

use std::collections::VecDeque;

use super::work_queue::WorkQueue;
use crate::sealed::Views;
use crate::work::{MaintenanceWork, Reclaim};

/// Reads that were planned and not finished.
#[derive(Default)]
pub(super) struct PendingReads {
    views: Views,
    /// What may be given back once no read of this view or an earlier one is left.
    retired: VecDeque<(u64, Reclaim)>,
}

impl PendingReads {
    /// Begins a read in the current view.
    #[inline]
    pub(super) fn pin(&mut self) -> u64 {
        self.views.pin()
    }

    /// Whether nothing was installed since `view` began.
    #[inline]
    pub(super) fn is_current(&self, view: u64) -> bool {
        view == self.views.current()
    }

    /// Ends a read of `view`.
    #[inline]
    pub(super) fn release(&mut self, view: u64, work: &mut WorkQueue) {
        self.views.release(view);
        self.reclaim(work);
    }

    /// Begins a new view: reads planned before must not fill the cache any more.
    pub(super) fn advance(&mut self, work: &mut WorkQueue) {
        self.views.advance();
        self.reclaim(work);
    }

    /// Begins a new view; what `reclaim` names is given back once no read of an earlier one is left.
    pub(super) fn retire(&mut self, reclaim: Reclaim, work: &mut WorkQueue) {
        let before = self.views.advance();
        self.retired.push_back((before, reclaim));
        self.reclaim(work);
    }

    /// A record that was just put names value file `file`, too: the file outlives older records that name it.
    pub(super) fn keep_value_file(&mut self, file: u64) {
        for (_, reclaim) in &mut self.retired {
            reclaim.values.retain(|dropped| *dropped != file);
        }
    }

    fn reclaim(&mut self, work: &mut WorkQueue) {
        while self.retired.front().is_some_and(|(view, _)| self.views.is_over(*view)) {
            if let Some((_, reclaim)) = self.retired.pop_front() {
                work.push(MaintenanceWork::Reclaim(reclaim));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_given_back_behind_the_last_read_and_not_if_they_are_named_again() {
        let (mut reads, mut work) = (PendingReads::default(), WorkQueue::default());
        let view = reads.pin();
        reads.retire(Reclaim { values: vec![1, 3], ..Reclaim::default() }, &mut work);
        assert!(!reads.is_current(view) && work.take().is_none());
        reads.keep_value_file(3);
        reads.release(view, &mut work);
        assert!(matches!(work.take(), Some(MaintenanceWork::Reclaim(reclaim)) if reclaim.values == [1]));
    }
}
