//! Blocks and the write points that fill them: erased ones are opened, filled, closed, cleaned and erased again.

use serde::{Deserialize, Serialize};

use super::blocks::{Block, BlockPhase, BlockTable};
use super::closed_blocks::ClosedBlocks;
use super::injected_bugs::{FtlBug, planted};
use super::settings::FtlSettings;
use super::space::SetSpace;
use super::striping::Layout;
use super::tickets::Tickets;
use super::wear::WearSettings;
use super::write_points::{NO_BLOCK, WritePoint, WritePoints};

/// A page for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The page.
    pub page: u32,
    /// The program's number.
    pub ticket: u64,
    /// Its write point.
    pub point: u32,
}

/// Blocks by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounts {
    /// Closed, each with a summary page.
    pub closed: u64,
    /// Closed before they were full.
    pub closed_early: u64,
    /// Erased.
    pub erased: u64,
}

/// All blocks by stripe set, and the write points.
#[derive(Debug)]
pub struct Allocation {
    layout: Layout,
    blocks: BlockTable,
    spaces: Vec<SetSpace>,
    points: WritePoints,
    tickets: Tickets,
    next_sequence: u64,
    /// The number of the first page of each block, where the sequence rule does not order pages by their blocks.
    first_tickets: Option<Vec<u64>>,
    unsummarised: Vec<u32>,
    unerased: Vec<u32>,
    short_sets: Vec<u32>,
    low_blocks: u32,
    wear: WearSettings,
    seed: u64,
    counts: BlockCounts,
}

impl Allocation {
    /// No block is erased yet. A set may have so many valid pages.
    pub fn new(layout: Layout, settings: &FtlSettings, room: u32) -> Self {
        let space = |_| SetSpace::new(layout.blocks_per_set, room);
        let cleaning = settings.cleaning;
        let (hot, ahead) = (settings.write_points_per_set, settings.programs_ahead);
        Self {
            blocks: BlockTable::new(layout.blocks()),
            spaces: (0..layout.sets).map(space).collect(),
            points: WritePoints::new(&layout, hot, cleaning.cold_apart, ahead),
            tickets: Tickets::default(),
            next_sequence: 1,
            first_tickets: (!settings.sequence_rule).then(|| vec![u64::MAX; layout.blocks() as usize]),
            unsummarised: Vec::new(),
            unerased: Vec::new(),
            short_sets: Vec::new(),
            low_blocks: cleaning.low_blocks,
            wear: settings.wear,
            seed: settings.seed,
            counts: BlockCounts::default(),
            layout,
        }
    }

    /// All blocks of a new array are erased.
    pub fn adopt_erased(&mut self) {
        for block in 0..self.layout.blocks() {
            self.adopt(block, 0, 0, 0);
        }
    }

    /// A block is as recovery found it: erased if its sequence number is zero, else closed with so many valid pages.
    pub fn adopt(&mut self, block: u32, erases: u32, sequence: u64, valid: u32) {
        let space = &mut self.spaces[self.layout.set_of(block) as usize];
        let state = self.blocks.get_mut(block);
        (state.erases, state.sequence, state.valid) = (erases, sequence, valid);
        space.most_erases = space.most_erases.max(erases);
        space.valid += valid;
        if sequence == 0 {
            space.add_erased(block, erases, self.wear.dynamic);
        } else {
            state.phase = BlockPhase::Closed;
            space.closed.push(block, &mut self.blocks);
        }
        self.next_sequence = self.next_sequence.max(sequence + 1);
    }

    /// The pages that were found have numbers up to `last`, those of this block from `first` on.
    pub fn adopt_tickets(&mut self, block: u32, first: u64, last: u64) {
        if let Some(tickets) = &mut self.first_tickets {
            tickets[block as usize] = first;
            if !planted(FtlBug::PageNumbersRestart) {
                self.tickets.go_on_after(last);
            }
        }
    }

    /// Opens a block at each write point. Neighbouring ones get neighbouring numbers, on all buses in turn.
    pub fn open_all(&mut self) {
        if planted(FtlBug::SequenceRestarts) {
            self.next_sequence = 1;
        }
        for set in 0..self.layout.sets {
            self.open_write_points(set);
        }
    }

    /// All blocks.
    pub fn blocks(&self) -> &BlockTable {
        &self.blocks
    }

    /// A block.
    #[inline]
    pub fn block(&self, block: u32) -> &Block {
        self.blocks.get(block)
    }

    /// Write points of all sets.
    pub fn write_points(&self) -> u32 {
        self.points.len()
    }

    /// The next sequence number.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// What became of blocks.
    pub fn counts(&self) -> BlockCounts {
        self.counts
    }

    /// Counts from zero again.
    pub fn reset_counts(&mut self) {
        self.counts = BlockCounts::default();
    }

    /// A page for the host, at the write point that Gordon's rule gives.
    #[inline]
    pub fn take_for_write(&mut self, least: u64, home: u32) -> Option<Placement> {
        let least = if self.first_tickets.is_none() { least } else { 0 };
        let point = self.points.choose(least, home)?;
        Some(self.take_page(point))
    }

    /// A page for the copy of one that lies in this block.
    pub fn take_for_copy(&mut self, block: u32) -> Option<Placement> {
        let point = self.point_for_copy(block)?;
        Some(self.take_page(point))
    }

    /// The next page of a write point, to fill an array.
    pub fn take_at(&mut self, point: u32) -> Placement {
        self.take_page(point)
    }

    /// Write points of the host.
    pub fn hot_points(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.points.len()).filter(|point| !self.points.get(*point).is_cold)
    }

    /// A page is valid no longer, because of this program.
    #[inline]
    pub fn invalidate(&mut self, page: u32, ticket: u64) {
        let number = self.layout.block_of(page);
        let block = self.blocks.get_mut(number);
        block.valid -= 1;
        block.superseded_by = block.superseded_by.max(ticket);
        let (place, valid, is_closed) = (block.place, block.valid, block.phase == BlockPhase::Closed);
        let set = self.layout.set_of(number);
        let space = &mut self.spaces[set as usize];
        if is_closed {
            space.closed.invalidated(place, valid);
        }
        space.valid -= 1;
        if space.valid + 1 == space.limit {
            self.mark_points(set);
        }
    }

    #[inline]
    fn take_page(&mut self, point: u32) -> Placement {
        let WritePoint { set, block, next, .. } = *self.points.get(point);
        let page = self.layout.first_page(block) + next;
        let is_last = next + 1 == self.layout.data_pages();
        self.points.begin(point);
        self.blocks.get_mut(block).valid += 1;
        let space = &mut self.spaces[set as usize];
        space.valid += 1;
        if space.valid == space.limit {
            self.mark_points(set);
        }
        let ticket = self.tickets.issue();
        if next == 0
            && let Some(tickets) = &mut self.first_tickets
        {
            tickets[block as usize] = ticket;
        }
        if is_last {
            self.close(point);
            self.open_write_points(set);
        }
        Placement { page, ticket, point }
    }

    fn close(&mut self, point: u32) {
        let WritePoint { set, block, next, .. } = *self.points.get(point);
        self.points.change(point, |entry| entry.block = NO_BLOCK);
        self.blocks.get_mut(block).phase = BlockPhase::Closed;
        self.spaces[set as usize].closed.push(block, &mut self.blocks);
        self.unsummarised.push(block);
        self.counts.closed += 1;
        self.counts.closed_early += u64::from(next < self.layout.data_pages());
    }

    /// Opens blocks at the set's write points that have none, except the last erased one, which cleaning may need.
    fn open_write_points(&mut self, set: u32) {
        for point in self.points.of_set(set) {
            if self.points.get(point).block == NO_BLOCK && self.spaces[set as usize].erased() >= 2 {
                self.open(point);
            }
        }
        self.mark_points(set);
        self.list_if_short(set);
    }

    fn open(&mut self, point: u32) {
        let set = self.points.get(point).set;
        let block = self.spaces[set as usize].take_erased().expect("a block is erased");
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let state = self.blocks.get_mut(block);
        (state.phase, state.sequence, state.superseded_by) = (BlockPhase::Open, sequence, 0);
        if let Some(tickets) = &mut self.first_tickets {
            tickets[block as usize] = u64::MAX;
        }
        if std::mem::take(&mut state.needs_erase) {
            state.erases += 1;
            self.unerased.push(block);
        }
        self.points.change(point, |entry| (entry.block, entry.next, entry.sequence) = (block, 0, sequence));
    }

    fn mark_points(&mut self, set: u32) {
        let space = &self.spaces[set as usize];
        let (lacks_blocks, is_full) = (space.erased() == 0, space.valid >= space.limit);
        for point in self.points.of_set(set) {
            self.points.change(point, |entry| (entry.lacks_blocks, entry.is_full) = (lacks_blocks, is_full));
        }
    }

    fn list_if_short(&mut self, set: u32) {
        let space = &mut self.spaces[set as usize];
        if space.erased() < self.low_blocks && !space.is_cleaning && !space.is_listed {
            space.is_listed = true;
            self.short_sets.push(set);
        }
    }

    /// Blocks that were closed since this was asked last. Each needs its summary programmed.
    #[inline]
    pub fn take_closed(&mut self) -> Option<u32> {
        self.unsummarised.pop()
    }

    /// Blocks that were opened since this was asked last and must be erased before the first program.
    #[inline]
    pub fn take_unerased(&mut self) -> Option<u32> {
        self.unerased.pop()
    }

    /// Erases this block before its first program.
    pub fn distrust(&mut self, block: u32) {
        self.blocks.get_mut(block).needs_erase = true;
    }

    /// Sets that were found to need cleaning since this was asked last.
    #[inline]
    pub fn take_short_set(&mut self) -> Option<u32> {
        let set = self.short_sets.pop()?;
        self.spaces[set as usize].is_listed = false;
        Some(set)
    }

    /// A program is finished.
    #[inline]
    pub fn finish(&mut self, placement: Placement) {
        self.tickets.finish(placement.ticket);
        self.points.finish(placement.point);
    }

    /// The closed blocks of a set that needs cleaning and is not being cleaned.
    pub fn closed_of_short(&self, set: u32) -> Option<&ClosedBlocks> {
        let space = &self.spaces[set as usize];
        let is_short = !space.is_cleaning && space.erased() < self.low_blocks && !space.closed.list().is_empty();
        is_short.then_some(&space.closed)
    }

    /// The index of the least-erased closed block, if static levelling is due. It may be full of valid pages, for which two
    /// erased blocks are needed.
    pub fn least_worn(&self, set: u32) -> Option<usize> {
        let spread = self.wear.spread?;
        let space = &self.spaces[set as usize];
        if space.erased() < 2 {
            return None;
        }
        let closed = space.closed.list();
        let erases = |at: &usize| self.blocks.get(closed[*at]).erases;
        let at = (0..closed.len()).min_by_key(erases)?;
        (erases(&at) + spread < space.most_erases).then_some(at)
    }

    /// The closed block at this index is a victim.
    pub fn take_victim(&mut self, set: u32, at: usize) -> u32 {
        let space = &mut self.spaces[set as usize];
        space.is_cleaning = true;
        let block = space.closed.swap_remove(at, &mut self.blocks);
        self.blocks.get_mut(block).phase = BlockPhase::Victim;
        block
    }

    /// Whether every program is finished that made a page of this block invalid.
    pub fn may_erase(&self, block: u32) -> bool {
        planted(FtlBug::EraseBeforeOverwrites) || self.tickets.all_finished(self.blocks.get(block).superseded_by)
    }

    /// A victim is erased. It goes back into service, or out of it.
    pub fn erased(&mut self, block: u32) {
        let set = self.layout.set_of(block);
        let state = self.blocks.get_mut(block);
        let bug = planted(FtlBug::EraseBeforeCopies) || planted(FtlBug::CopyOvertakesWrite);
        assert!(state.valid == 0 || bug, "block {block} is erased with {} valid pages", state.valid);
        state.erases += 1;
        let erases = state.erases;
        self.counts.erased += 1;
        let space = &mut self.spaces[set as usize];
        space.is_cleaning = false;
        space.most_erases = space.most_erases.max(erases);
        if self.wear.is_worn_out(block, erases, self.layout.flash_pages(), self.seed) {
            state.phase = BlockPhase::Retired;
            space.in_service -= 1;
            space.limit = space.limit.saturating_sub(self.layout.data_pages());
        } else {
            state.phase = BlockPhase::Erased;
            space.add_erased(block, erases, self.wear.dynamic);
        }
        self.open_write_points(set);
    }

    /// The most valid pages that all sets together can have.
    pub fn room(&self) -> u64 {
        self.spaces.iter().map(|space| u64::from(space.limit)).sum()
    }

    /// Whether a refused write is worth another try: a write point became available since this was asked last.
    #[inline]
    pub fn take_freed(&mut self) -> bool {
        self.points.take_freed()
    }

    /// All write points.
    #[inline]
    pub fn points(&self) -> &WritePoints {
        &self.points
    }

    /// Whether no block but this one can hold a page with a smaller number than this one.
    pub fn is_oldest(&self, block: u32, ticket: u64) -> bool {
        match &self.first_tickets {
            Some(first) if !planted(FtlBug::RecordDroppedByBlock) => (0..)
                .zip(self.blocks.iter().zip(first))
                .filter(|(other, (state, _))| *other != block && state.phase.holds_pages())
                .all(|(_, (_, first))| *first > ticket),
            _ => self.blocks.is_oldest(block),
        }
    }

    fn point_for_copy(&mut self, block: u32) -> Option<u32> {
        let set = self.layout.set_of(block);
        let least = if self.first_tickets.is_none() { self.blocks.get(block).sequence } else { 0 };
        if let Some(point) = self.points.choose_for_copy(set, least) {
            return Some(point);
        }
        // The last erased block is kept for this.
        if self.spaces[set as usize].erased() == 0 {
            return None;
        }
        let of_set = self.points.of_set(set);
        let smallest = |point: &u32| self.points.get(*point).sequence;
        let empty = of_set.clone().find(|point| self.points.get(*point).block == NO_BLOCK);
        let point = empty.or_else(|| of_set.min_by_key(smallest))?;
        self.reopen(point);
        Some(point)
    }

    /// Opens a block at a write point, after closing the one that it has.
    fn reopen(&mut self, point: u32) {
        let WritePoint { set, block, .. } = *self.points.get(point);
        if block != NO_BLOCK {
            self.close(point);
        }
        self.open(point);
        self.open_write_points(set);
    }

    /// Lets a write point take a page which is now in the set `home`, although none can and nothing is under way: closes the
    /// block with the smallest number of a set with room, and opens another there. Whether it could.
    pub fn make_room(&mut self, home: u32) -> bool {
        let has_room = |set: &u32| {
            let space = &self.spaces[*set as usize];
            space.erased() >= 2 && (space.valid < space.limit || *set == home)
        };
        let Some(set) = (0..self.layout.sets).find(has_room) else { return false };
        let hot = self.points.of_set(set).filter(|point| !self.points.get(*point).is_cold);
        let Some(point) = hot.min_by_key(|point| self.points.get(*point).sequence) else { return false };
        self.reopen(point);
        true
    }

    /// A write point continues this block: what a recovery must not do.
    pub fn continue_block(&mut self, block: u32, next: u32) {
        let set = self.layout.set_of(block);
        let sequence = self.blocks.get(block).sequence;
        let mut of_set = self.points.of_set(set);
        let Some(point) = of_set.find(|point| self.points.get(*point).block == NO_BLOCK) else { return };
        let place = self.blocks.get(block).place as usize;
        self.spaces[set as usize].closed.swap_remove(place, &mut self.blocks);
        self.blocks.get_mut(block).phase = BlockPhase::Open;
        self.points.change(point, |entry| (entry.block, entry.next, entry.sequence) = (block, next, sequence));
    }
}
