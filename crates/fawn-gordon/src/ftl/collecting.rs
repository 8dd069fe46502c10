//! The device's way of cleaning: copy what is valid, wait until that is on flash, erase.

use super::backend::Backend;
use super::error::FtlError;
use super::injected_bugs::{FtlBug, planted};
use super::pieces::{AccessRole, NONE, PageAccess};
use super::translation::COPIES_AHEAD;
use crate::flash::CommandKind;

impl Backend {
    /// Begins to clean a set that is short of erased blocks.
    pub(super) fn begin_cleaning(&mut self, set: u32) {
        if self.cleaners[set as usize].is_active {
            return;
        }
        if let Some(victim) = self.translation.begin_cleaning(set) {
            self.cleaners[set as usize].begin(victim);
            self.clean(set);
        } else if !self.nothing_to_clean.contains(&set) {
            self.nothing_to_clean.push(set);
        }
    }

    /// Tries again where there was nothing to clean.
    pub(super) fn retry_cleaning(&mut self) {
        for set in std::mem::take(&mut self.nothing_to_clean) {
            if self.translation.allocation.closed_of_short(set).is_some() {
                self.begin_cleaning(set);
            }
        }
    }

    /// Goes on with the cleaning of a set.
    fn clean(&mut self, set: u32) {
        let settings = self.translation.settings().cleaning;
        self.place_held(set);
        loop {
            let cleaner = &mut self.cleaners[set as usize];
            if cleaner.under_way >= settings.copies_ahead {
                return;
            }
            if let Some(&(page, logical)) = cleaner.victim.pages.get(cleaner.pages_done) {
                if cleaner.pages_done.is_multiple_of(COPIES_AHEAD) {
                    self.translation.look_ahead_to_copy(&cleaner.victim.pages[cleaner.pages_done..]);
                }
                cleaner.pages_done += 1;
                if !self.translation.is_live(page, logical) {
                    continue;
                }
                cleaner.under_way += 1;
                let role = if settings.copy_back { AccessRole::Copy } else { AccessRole::CopyRead };
                let mut piece = PageAccess::new(role, NONE, self.array.now());
                (piece.logical, piece.page) = (logical, page);
                let id = self.pieces.add(piece);
                if settings.copy_back {
                    self.place_copy(id);
                } else {
                    let all = self.translation.layout().flash_pages();
                    self.submit_read(id, page, 0, all, true);
                }
            } else if let Some(&page) = cleaner.victim.records.get(cleaner.records_done) {
                cleaner.records_done += 1;
                self.copy_record(set, page);
            } else {
                break;
            }
        }
        self.erase_if_done(set);
    }

    fn place_held(&mut self, set: u32) {
        let held = std::mem::take(&mut self.cleaners[set as usize].held);
        for id in held {
            if self.pieces.get(id).role == AccessRole::RecordCopy {
                let page = self.pieces.remove(id).page;
                self.cleaners[set as usize].under_way -= 1;
                self.copy_record(set, page);
            } else {
                self.place_copy(id);
            }
        }
    }

    /// Programs a copy that was read, unless its page was overwritten meanwhile.
    fn place_copy(&mut self, id: u32) {
        let PageAccess { page, logical, .. } = *self.pieces.get(id);
        let set = self.translation.layout().set_of(self.translation.layout().block_of(page));
        if !self.translation.is_live(page, logical) && !planted(FtlBug::CopyOvertakesWrite) {
            self.pieces.remove(id);
            self.cleaners[set as usize].under_way -= 1;
            return;
        }
        let Some(placement) = self.translation.place_copy(page, logical) else {
            self.cleaners[set as usize].held.push(id);
            return;
        };
        self.pieces.get_mut(id).role = AccessRole::Copy;
        let to = self.translation.layout().block_of(placement.page);
        let copy_back = self.translation.settings().cleaning.copy_back;
        if copy_back && self.translation.layout().set_of(to) == set {
            self.pieces.get_mut(id).placement = placement;
            self.erase_distrusted();
            self.submit_whole(id, placement.page, CommandKind::CopyBack, true);
            self.after_placement();
        } else {
            self.issue(id, placement);
        }
    }

    fn copy_record(&mut self, set: u32, page: u32) {
        let mut piece = PageAccess::new(AccessRole::RecordCopy, NONE, self.array.now());
        piece.page = page;
        match self.translation.place_record_copy(page) {
            None => {
                self.cleaners[set as usize].under_way += 1;
                let id = self.pieces.add(piece);
                self.cleaners[set as usize].held.push(id);
            }
            Some(None) => {}
            Some(Some(placement)) => {
                self.cleaners[set as usize].under_way += 1;
                let id = self.pieces.add(piece);
                if self.medium.is_some() {
                    self.records.insert(id, self.translation.record_ranges(placement.page));
                }
                self.issue(id, placement);
            }
        }
    }

    /// A copy was read or programmed.
    pub(super) fn copy_done(&mut self, id: u32) {
        let PageAccess { role, page, placement, .. } = *self.pieces.get(id);
        let set = self.translation.layout().set_of(self.translation.layout().block_of(page));
        if role == AccessRole::CopyRead {
            if let Some(stamp) = self.medium.as_ref().and_then(|medium| medium.stamp(page)) {
                self.pieces.get_mut(id).stamp = stamp;
            }
            self.place_copy(id);
        } else {
            if role == AccessRole::RecordCopy {
                self.translation.record_finished(placement.page);
            }
            if let Some(stamp) = self.source_stamp(id) {
                self.pieces.get_mut(id).stamp = stamp;
            }
            self.program_medium(id);
            self.translation.allocation.finish(placement);
            self.pieces.remove(id);
            self.cleaners[set as usize].under_way -= 1;
            self.retry_erases();
        }
        self.clean(set);
    }

    /// The stamp of what is copied. A copy-back has its content from its source, which is erased only after it.
    pub(super) fn source_stamp(&self, id: u32) -> Option<u32> {
        let PageAccess { role, page, .. } = *self.pieces.get(id);
        if role != AccessRole::Copy {
            return None;
        }
        self.medium.as_ref().and_then(|medium| medium.stamp(page))
    }

    fn erase_if_done(&mut self, set: u32) {
        let cleaner = &mut self.cleaners[set as usize];
        if !cleaner.is_active || cleaner.waits_to_erase || !cleaner.has_looked_at_all() {
            return;
        }
        if cleaner.under_way > 0 && !planted(FtlBug::EraseBeforeCopies) {
            return;
        }
        cleaner.waits_to_erase = true;
        self.erases_waiting.push(set);
        self.retry_erases();
    }

    /// Erases the victims for which the programs are finished that replaced their pages.
    pub(super) fn retry_erases(&mut self) {
        let mut at = 0;
        while at < self.erases_waiting.len() {
            let set = self.erases_waiting[at];
            let block = self.cleaners[set as usize].victim.block;
            if !self.translation.allocation.may_erase(block) && !planted(FtlBug::EraseBeforeCopies) {
                at += 1;
                continue;
            }
            self.erases_waiting.swap_remove(at);
            let mut piece = PageAccess::new(AccessRole::Erase, NONE, self.array.now());
            piece.page = block;
            let id = self.pieces.add(piece);
            let first = self.translation.layout().first_page(block);
            self.submit_whole(id, first, CommandKind::Erase, true);
        }
    }

    /// A victim is erased. Its block.
    pub(super) fn erase_done(&mut self, id: u32) -> Result<u32, FtlError> {
        let block = self.pieces.remove(id).page;
        if let Some(medium) = &mut self.medium {
            medium.erase(block);
        }
        self.cleaners[self.translation.layout().set_of(block) as usize].is_active = false;
        self.translation.erased(block)?;
        self.after_placement();
        self.retry_cleaning();
        Ok(block)
    }
}
