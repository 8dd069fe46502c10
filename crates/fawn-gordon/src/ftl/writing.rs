//! The device's way of a write or trim of the host: joined, begun, placed, programmed, acknowledged.

use super::device::Device;
use super::error::FtlError;
use super::injected_bugs::{FtlBug, planted};
use super::pieces::{AccessRole, NONE, PageAccess};
use super::table::Location;

/// Writes that were refused and are tried again at a time.
const TRIES: usize = 8;

impl Device {
    /// A write of the host comes: it joins another one of its super-page, begins, or waits.
    pub(super) fn take_write(&mut self, id: u32) {
        self.backend.pieces.get_mut(id).role = AccessRole::Waiting;
        let PageAccess { logical, covered, stamp, .. } = *self.backend.pieces.get(id);
        let combining = self.backend.translation.settings().write_combining;
        if combining && let Some(other) = self.queue.to_join(logical) {
            self.services.combined_writes += 1;
            let leader = self.backend.pieces.get_mut(other);
            leader.covered |= covered;
            leader.stamp = stamp;
            let next = std::mem::replace(&mut leader.next, id);
            self.backend.pieces.get_mut(id).next = next;
            return;
        }
        if !self.queue.waiting.is_empty() || !self.may_begin(logical) {
            self.queue.waiting.push_back(id);
            if combining {
                self.queue.waiting_of.insert(logical, id);
            }
            return;
        }
        self.begin_write(id);
    }

    fn may_begin(&self, logical: u32) -> bool {
        let settings = self.backend.translation.settings();
        let most = self.backend.translation.allocation.write_points() * settings.programs_ahead;
        self.queue.active < most && !self.queue.has_begun(logical)
    }

    fn begin_write(&mut self, id: u32) {
        self.queue.active += 1;
        let PageAccess { logical, covered, .. } = *self.backend.pieces.get(id);
        if covered == u64::MAX {
            return self.place_begun(id);
        }
        let Location::At(page) = self.backend.translation.location(logical) else { return self.place_begun(id) };
        self.services.modified_pages += 1;
        self.queue.begun_of.insert(logical, id);
        let now = self.backend.array.now();
        let piece = self.backend.pieces.get_mut(id);
        piece.role = AccessRole::ModifyRead;
        piece.has_waited(now);
        let all = self.backend.translation.layout().flash_pages();
        self.backend.submit_read(id, page, 0, all, false);
    }

    /// Programs a write that has begun, or lets it wait for a write point.
    pub(super) fn place_begun(&mut self, id: u32) {
        self.backend.pieces.get_mut(id).role = AccessRole::Waiting;
        if !self.place(id) {
            self.queue.begun_of.insert(self.backend.pieces.get(id).logical, id);
            self.queue.refused.push_back(id);
        }
    }

    /// Whether a write point took the write.
    fn place(&mut self, id: u32) -> bool {
        let logical = self.backend.pieces.get(id).logical;
        let Some(placement) = self.backend.translation.place_write(logical) else {
            let lacks_blocks = self.backend.translation.allocation.points().lack_blocks();
            self.backend.pieces.get_mut(id).waits_for_cleaning = lacks_blocks;
            return false;
        };
        if !self.queue.begun_of.is_empty() {
            self.queue.begun_of.remove(&logical);
        }
        let now = self.backend.array.now();
        let piece = self.backend.pieces.get_mut(id);
        piece.role = AccessRole::Program;
        piece.has_waited(now);
        self.backend.issue(id, placement);
        if planted(FtlBug::AcknowledgedEarly) {
            self.acknowledge_early(id);
        }
        true
    }

    /// The program of a write, or of the record of a trim, is finished.
    pub(super) fn write_done(&mut self, id: u32) {
        self.backend.program_medium(id);
        let PageAccess { role, placement, .. } = *self.backend.pieces.get(id);
        self.backend.translation.allocation.finish(placement);
        if role == AccessRole::Program {
            self.queue.active -= 1;
        } else {
            self.backend.translation.record_finished(placement.page);
        }
        self.chain_done(id);
        self.backend.retry_erases();
        self.pump();
    }

    /// Replies before anything is on flash: what only a planted bug does.
    pub(super) fn acknowledge_early(&mut self, id: u32) {
        let mut next = id;
        let now = self.backend.array.now();
        while next != NONE {
            let piece = self.backend.pieces.get_mut(next);
            next = piece.next;
            let mut done = *piece;
            piece.request = NONE;
            if done.request != NONE {
                done.parts.queue += now - done.mark;
                self.piece_of_request_done(&done);
            }
        }
    }

    /// Begins and places what waits, as far as that is possible now.
    pub(super) fn pump(&mut self) {
        let mut at = 0;
        let freed = !self.queue.refused.is_empty() && self.backend.translation.allocation.take_freed();
        while freed
            && at < self.queue.refused.len().min(TRIES)
            && self.backend.translation.allocation.points().any_available()
        {
            let id = self.queue.refused[at];
            // Taken out first: what is placed may lead back here.
            self.queue.refused.remove(at);
            if !self.place(id) {
                self.queue.refused.insert(at, id);
                at += 1;
            }
        }
        while let Some(&id) = self.queue.waiting.front() {
            let begins = if self.backend.pieces.get(id).role == AccessRole::Trim {
                self.begin_trim(id)
            } else {
                self.begin_waiting(id)
            };
            if !begins {
                return;
            }
        }
    }

    fn begin_waiting(&mut self, id: u32) -> bool {
        let logical = self.backend.pieces.get(id).logical;
        if !self.may_begin(logical) {
            return false;
        }
        self.queue.waiting.pop_front();
        if self.queue.waiting_of.get(&logical) == Some(&id) {
            self.queue.waiting_of.remove(&logical);
        }
        self.begin_write(id);
        true
    }

    /// A trim begins once every write before it is being programmed.
    fn begin_trim(&mut self, id: u32) -> bool {
        if !self.queue.begun_of.is_empty() {
            return false;
        }
        let range = self.backend.pieces.get(id).range;
        let Some(placement) = self.backend.translation.place_trim(range) else { return false };
        self.queue.waiting.pop_front();
        self.queue.trims -= 1;
        let now = self.backend.array.now();
        self.backend.pieces.get_mut(id).has_waited(now);
        match placement {
            Some(placement) => {
                if self.backend.medium.is_some() {
                    self.backend.records.insert(id, self.backend.translation.record_ranges(placement.page));
                }
                self.backend.issue(id, placement);
                if planted(FtlBug::TrimAcknowledgedEarly) {
                    self.acknowledge_early(id);
                }
            }
            None => self.chain_done(id),
        }
        true
    }

    /// Tries every refused write once. Whether one was placed.
    fn try_all_refused(&mut self) -> bool {
        for at in 0..self.queue.refused.len() {
            let id = self.queue.refused[at];
            if self.place(id) {
                self.queue.refused.remove(at);
                return true;
            }
        }
        false
    }

    /// Nothing is under way: makes room for what waits. Whether anything happens now.
    pub(super) fn unblock(&mut self) -> Result<bool, FtlError> {
        if self.queue.refused.is_empty() && self.queue.waiting.is_empty() {
            return Ok(false);
        }
        self.backend.retry_cleaning();
        self.pump();
        while self.backend.array.next_at().is_none() && self.try_all_refused() {}
        if self.backend.array.next_at().is_none() {
            let first = self.queue.refused.front().or(self.queue.waiting.front());
            let Some(&id) = first else { return Ok(true) };
            let PageAccess { role, logical, range, .. } = *self.backend.pieces.get(id);
            let logical = if role == AccessRole::Trim { self.backend.translation.newest_of(range) } else { logical };
            if !self.backend.translation.make_room_for(logical) {
                let retired = self.backend.translation.wear().retired;
                assert!(retired > 0, "no write point can ever take logical page {logical}");
                return Err(FtlError::WornOut { retired });
            }
            self.backend.after_placement();
            self.pump();
        }
        Ok(true)
    }
}
