//! Work for the maintenance half, in the order in which it is handed on.

use std::collections::VecDeque;

use crate::buffers::WriteBuffers;
use crate::log::GroupCommit;
use crate::work::MaintenanceWork;

/// Work that was not handed on yet.
#[derive(Default)]
pub(super) struct WorkQueue {
    ready: VecDeque<MaintenanceWork>,
    /// Work that comes after the seals of all segments below this age, some of which wait for the log.
    behind_seals: VecDeque<(u64, MaintenanceWork)>,
    /// Scans that wait until all segments below this age are sealed.
    waiting_scans: VecDeque<(u64, MaintenanceWork)>,
    scans: u64,
}

impl WorkQueue {
    pub(super) fn push(&mut self, work: MaintenanceWork) {
        self.ready.push_back(work);
    }

    /// Work that a lookup waits for goes before all other.
    pub(super) fn push_first(&mut self, work: MaintenanceWork) {
        self.ready.push_front(work);
    }

    /// The next work.
    pub(super) fn take(&mut self) -> Option<MaintenanceWork> {
        self.ready.pop_front()
    }

    /// Hands on the seals whose gate is durable, in their order, and what waits behind them.
    pub(super) fn begin_seals(&mut self, buffers: &mut WriteBuffers, log: &GroupCommit) {
        let (durable, durable_at) = (log.writer().durable(), log.writer().durable_at());
        buffers.take_seals(durable, durable_at, |seal| self.ready.push_back(seal));
        let waiting = buffers.oldest_waiting_seal();
        while let Some((_, work)) = self.behind_seals.pop_front_if(|(age, _)| *age <= waiting) {
            self.ready.push_back(work);
        }
    }

    /// Hands on work that builds on what was frozen so far, behind the seals of that.
    pub(super) fn push_behind_seals(&mut self, work: MaintenanceWork, buffers: &WriteBuffers) {
        if buffers.oldest_waiting_seal() == u64::MAX {
            self.ready.push_back(work);
        } else {
            self.behind_seals.push_back((buffers.open_age(), work));
        }
    }

    /// The number of a new scan.
    pub(super) fn new_scan(&mut self) -> u64 {
        self.scans += 1;
        self.scans
    }

    /// Hands a scan on once everything frozen so far is sealed.
    pub(super) fn push_scan(&mut self, scan: MaintenanceWork, buffers: &WriteBuffers) {
        self.waiting_scans.push_back((buffers.open_age(), scan));
        self.begin_scans(buffers);
    }

    /// Hands on the scans whose segments are all sealed.
    pub(super) fn begin_scans(&mut self, buffers: &WriteBuffers) {
        let oldest = buffers.oldest_frozen();
        while let Some((_, work)) = self.waiting_scans.pop_front_if(|(age, _)| *age <= oldest) {
            self.ready.push_back(work);
        }
    }

    /// Whether a scan waits for seals.
    pub(super) fn has_waiting_scans(&self) -> bool {
        !self.waiting_scans.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogPosition;
    use fawn_ring::Key;

    #[test]
    fn scans_wait_until_what_was_frozen_is_sealed() {
        let (mut work, mut buffers) = (WorkQueue::default(), WriteBuffers::new(1 << 16, 1));
        buffers.freeze(LogPosition::default(), 0, Vec::new(), Vec::new());
        work.push_scan(MaintenanceWork::Space { spare: 1 }, &buffers);
        work.push_behind_seals(MaintenanceWork::SplitRange(Key::MIN), &buffers);
        assert!(work.take().is_none() && work.has_waiting_scans());
        buffers.drop_sealed();
        work.begin_scans(&buffers);
        assert!(matches!(work.take(), Some(MaintenanceWork::Space { .. })) && !work.has_waiting_scans());
    }
}
