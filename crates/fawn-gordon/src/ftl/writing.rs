//! The device's way of a write or trim of the host: joined, begun, placed, programmed, acknowledged.

use super::allocation::Placement;
use super::device::Device;
use super::error::FtlError;
use super::injected_bugs::{FtlBug, planted};
use super::pieces::{NONE, Piece, Role};
use super::table::Location;
use crate::flash::CommandKind;

/// Writes that were refused and are tried again at a time.
const TRIES: usize = 8;

impl Device {
    /// A write of the host comes: it joins another one of its super-page, begins, or waits.
    pub(super) fn take_write(&mut self, id: u32) {
        self.pieces.get_mut(id).role = Role::Waiting;
        let Piece { logical, covered, stamp, .. } = *self.pieces.get(id);
        let combining = self.translation.settings().write_combining;
        if combining && let Some(other) = self.queue.to_join(logical) {
            self.services.combined_writes += 1;
            let leader = self.pieces.get_mut(other);
            leader.covered |= covered;
            leader.stamp = stamp;
            let next = std::mem::replace(&mut leader.next, id);
            self.pieces.get_mut(id).next = next;
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
        let settings = self.translation.settings();
        let most = self.translation.allocation.write_points() * settings.programs_ahead;
        self.queue.active < most && !self.queue.has_begun(logical)
    }

    fn begin_write(&mut self, id: u32) {
        self.queue.active += 1;
        let Piece { logical, covered, .. } = *self.pieces.get(id);
        if covered == u64::MAX {
            return self.place_begun(id);
        }
        let Location::At(page) = self.translation.location(logical) else { return self.place_begun(id) };
        self.services.modified_pages += 1;
        self.queue.begun_of.insert(logical, id);
        let now = self.array.now();
        let piece = self.pieces.get_mut(id);
        piece.role = Role::ModifyRead;
        piece.has_waited(now);
        let all = self.translation.layout().flash_pages();
        self.submit_read(id, page, 0, all, false);
    }

    /// Programs a write that has begun, or lets it wait for a write point.
    pub(super) fn place_begun(&mut self, id: u32) {
        self.pieces.get_mut(id).role = Role::Waiting;
        if !self.place(id) {
            self.queue.begun_of.insert(self.pieces.get(id).logical, id);
            self.queue.refused.push_back(id);
        }
    }

    /// Whether a write point took the write.
    fn place(&mut self, id: u32) -> bool {
        let logical = self.pieces.get(id).logical;
        let Some(placement) = self.translation.place_write(logical) else {
            let lacks_blocks = self.translation.allocation.lacks_blocks();
            self.pieces.get_mut(id).waits_for_cleaning = lacks_blocks;
            return false;
        };
        if !self.queue.begun_of.is_empty() {
            self.queue.begun_of.remove(&logical);
        }
        let now = self.array.now();
        let piece = self.pieces.get_mut(id);
        piece.role = Role::Program;
        piece.has_waited(now);
        self.issue(id, placement);
        true
    }

    /// Programs a piece on its place.
    pub(super) fn issue(&mut self, id: u32, placement: Placement) {
        let cleaning = matches!(self.pieces.get(id).role, Role::Copy | Role::RecordCopy);
        self.pieces.get_mut(id).placement = placement;
        self.erase_distrusted();
        if planted(FtlBug::SummaryBeforePages) {
            self.after_placement();
        }
        self.submit_whole(id, placement.page, CommandKind::Program, cleaning);
        if planted(FtlBug::AcknowledgedEarly) && self.pieces.get(id).role == Role::Program
            || planted(FtlBug::TrimAcknowledgedEarly) && self.pieces.get(id).role == Role::Trim
        {
            self.acknowledge_early(id);
        }
        self.after_placement();
    }

    /// Blocks that were opened and may hold a torn page are erased ahead of the first program, on the same dies.
    pub(super) fn erase_distrusted(&mut self) {
        while let Some(block) = self.translation.allocation.take_unerased() {
            let mut piece = Piece::new(Role::EraseAgain, NONE, self.array.now());
            piece.page = block;
            let id = self.pieces.add(piece);
            let first = self.translation.layout().first_page(block);
            self.submit_whole(id, first, CommandKind::Erase, true);
        }
    }

    /// What is to be done after pages were placed: blocks were closed or opened, erased blocks ran short.
    pub(super) fn after_placement(&mut self) {
        self.erase_distrusted();
        let mut closed_some = false;
        while let Some(block) = self.translation.allocation.take_closed() {
            closed_some = true;
            let mut piece = Piece::new(Role::Summary, NONE, self.array.now());
            piece.logical = block;
            piece.placement.page = self.translation.layout().summary_page(block);
            let page = piece.placement.page;
            let id = self.pieces.add(piece);
            self.submit_whole(id, page, CommandKind::Program, false);
        }
        while let Some(set) = self.translation.allocation.take_short_set() {
            self.begin_cleaning(set);
        }
        if closed_some && !self.nothing_to_clean.is_empty() {
            self.retry_cleaning();
        }
    }

    pub(super) fn summary_done(&mut self, id: u32) {
        self.program_medium(id);
        self.pieces.remove(id);
    }

    pub(super) fn erased_again(&mut self, id: u32) {
        let block = self.pieces.remove(id).page;
        if let Some(medium) = &mut self.medium {
            medium.erase(block);
        }
    }

    /// The program of a write, or of the record of a trim, is finished.
    pub(super) fn write_done(&mut self, id: u32) {
        self.program_medium(id);
        let Piece { role, placement, .. } = *self.pieces.get(id);
        self.translation.allocation.finish(placement);
        if role == Role::Program {
            self.queue.active -= 1;
        } else {
            self.translation.record_finished(placement.page);
        }
        self.chain_done(id);
        self.retry_erases();
        self.pump();
    }

    /// Replies before anything is on flash: what only a planted bug does.
    pub(super) fn acknowledge_early(&mut self, id: u32) {
        let mut next = id;
        let now = self.array.now();
        while next != NONE {
            let piece = self.pieces.get_mut(next);
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
        let freed = !self.queue.refused.is_empty() && self.translation.allocation.take_freed();
        while freed && at < self.queue.refused.len().min(TRIES) && self.translation.allocation.any_available() {
            let id = self.queue.refused[at];
            // Taken out first: what is placed may lead back here.
            self.queue.refused.remove(at);
            if !self.place(id) {
                self.queue.refused.insert(at, id);
                at += 1;
            }
        }
        while let Some(&id) = self.queue.waiting.front() {
            let begins =
                if self.pieces.get(id).role == Role::Trim { self.begin_trim(id) } else { self.begin_waiting(id) };
            if !begins {
                return;
            }
        }
    }

    fn begin_waiting(&mut self, id: u32) -> bool {
        let logical = self.pieces.get(id).logical;
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
        let range = self.pieces.get(id).range;
        let Some(placement) = self.translation.place_trim(range) else { return false };
        self.queue.waiting.pop_front();
        self.queue.trims -= 1;
        let now = self.array.now();
        self.pieces.get_mut(id).has_waited(now);
        match placement {
            Some(placement) => {
                if self.medium.is_some() {
                    self.records.insert(id, self.translation.record_ranges(placement.page));
                }
                self.issue(id, placement);
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
        self.retry_cleaning();
        self.pump();
        while self.array.next_at().is_none() && self.try_all_refused() {}
        if self.array.next_at().is_none() {
            let first = self.queue.refused.front().or(self.queue.waiting.front());
            let Some(&id) = first else { return Ok(true) };
            let Piece { role, logical, range, .. } = *self.pieces.get(id);
            let logical = if role == Role::Trim { self.translation.newest_of(range) } else { logical };
            if !self.translation.make_room_for(logical) {
                let retired = self.translation.wear().retired;
                assert!(retired > 0, "no write point can ever take logical page {logical}");
                return Err(FtlError::WornOut { retired });
            }
            self.after_placement();
            self.pump();
        }
        Ok(true)
    }
}
