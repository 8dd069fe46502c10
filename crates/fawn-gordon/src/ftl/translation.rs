//! The FTL without time: where pages go, what becomes invalid, what is cleaned.
//!
//! The table changes when a program is issued, not when it is finished. Thus it always names the copy with the highest place
//! in the order of (sequence number, page), which is the copy that recovery takes. What an older copy is needed for until then
//! is kept by one rule: a block is erased only once every program is finished that made one of its pages invalid.

use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::allocation::{Allocation, BlockCounts, Placement};
use super::blocks::{Block, BlockPhase, BlockTable};
use super::cleaning::{Candidates, VictimPolicy};
use super::error::FtlError;
use super::injected_bugs::{FtlBug, planted};
use super::memory::DramNeed;
use super::settings::FtlSettings;
use super::striping::Layout;
use super::table::{Location, PageRange, PageTable, TrimRecord};
use super::wear::WearSpread;
use super::write_points::WritePoint;
use crate::flash::Geometry;

/// Pages that are looked up at once, at most.
pub(super) const LOOK_AHEAD: usize = 8;

/// Pages that are to be copied and are looked up at once. Their entries are all that is needed, so there may be more.
pub(super) const COPIES_AHEAD: usize = 32;

/// A block to clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Victim {
    /// The block.
    pub block: u32,
    /// Its valid pages with their logical pages.
    pub pages: Vec<(u32, u32)>,
    /// Its pages that record trims.
    pub records: Vec<u32>,
}

/// What an FTL has done. Pages are super-pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FtlCounts {
    /// Pages that the host wrote, after combining.
    pub written: u64,
    /// Pages that cleaning copied.
    pub copied: u64,
    /// Pages that record trims.
    pub records: u64,
    /// Records that cleaning dropped because no older copy was left.
    pub records_dropped: u64,
    /// Blocks that static wear levelling cleaned.
    pub levelled: u64,
    /// Blocks by what became of them. Each closed one takes a summary page.
    pub blocks: BlockCounts,
}

impl FtlCounts {
    /// Pages programmed: those that the host wrote, copies, summaries and records.
    pub fn programmed(&self) -> u64 {
        self.written + self.copied + self.blocks.closed + self.records
    }

    /// Pages programmed a page that the host wrote, summaries and records included.
    pub fn write_amplification(&self) -> f64 {
        self.programmed() as f64 / self.written.max(1) as f64
    }

    /// The same without summaries and records, which theory does not know.
    pub fn data_amplification(&self) -> f64 {
        (self.written + self.copied) as f64 / self.written.max(1) as f64
    }
}

/// The state of an FTL.
#[derive(Debug)]
pub struct Translation {
    layout: Layout,
    settings: FtlSettings,
    pub(super) table: PageTable,
    pub(super) allocation: Allocation,
    policy: Box<dyn VictimPolicy>,
    random: Xoshiro256PlusPlus,
    /// Pages of records that are being programmed.
    unfinished_records: Vec<u32>,
    counts: FtlCounts,
}

/// What of an array is for the host.
#[derive(Clone, Copy, Debug)]
pub struct HostRoom {
    layout: Layout,
    /// Logical pages.
    logical: u32,
    /// Pages of a set that may hold them.
    room: u32,
}

impl HostRoom {
    /// Under an FTL with these settings. Takes no memory.
    ///
    /// # Errors
    ///
    /// The settings contradict the array or each other.
    pub fn of(geometry: Geometry, settings: &FtlSettings) -> Result<Self, FtlError> {
        geometry.check()?;
        let layout = Layout::new(geometry, settings.stripe)?;
        settings.check()?;
        layout.check_summary(settings.summary_bytes_per_page())?;
        let needs = DramNeed::of(&layout, settings).total();
        if needs > settings.dram_bytes {
            return Err(FtlError::Dram { needs, has: settings.dram_bytes });
        }
        let cleaning = settings.cleaning;
        let points = settings.write_points_per_set + u32::from(cleaning.cold_apart);
        let room = layout.blocks_per_set.saturating_sub(points + cleaning.low_blocks) * layout.data_pages();
        let pages = u64::from(layout.blocks()) * u64::from(layout.data_pages());
        let logical = (pages as f64 * (1.0 - settings.spare_factor)).floor() as u64;
        let most = u64::from(room) * u64::from(layout.sets);
        if logical > most || logical == 0 {
            return Err(FtlError::NoRoom { logical, most, pages });
        }
        Ok(Self { layout, logical: logical as u32, room })
    }
}

impl Translation {
    /// An FTL over an erased array. `keeps_owners` costs four bytes a page; without it the same is found by scanning.
    ///
    /// # Errors
    ///
    /// The settings contradict the array or each other.
    pub fn new(geometry: Geometry, settings: FtlSettings, keeps_owners: bool) -> Result<Self, FtlError> {
        let mut all = Self::without_blocks(geometry, settings, keeps_owners)?;
        all.allocation.adopt_erased();
        all.allocation.open_all();
        Ok(all)
    }

    /// An FTL without any erased block, for recovery to fill in.
    pub(super) fn without_blocks(
        geometry: Geometry,
        settings: FtlSettings,
        keeps_owners: bool,
    ) -> Result<Self, FtlError> {
        let HostRoom { layout, logical, room } = HostRoom::of(geometry, &settings)?;
        Ok(Self {
            table: PageTable::new(logical, layout.blocks(), layout.pages_per_block, keeps_owners),
            allocation: Allocation::new(layout, &settings, room),
            policy: settings.cleaning.policy.chooser(),
            random: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            unfinished_records: Vec::new(),
            counts: FtlCounts::default(),
            layout,
            settings,
        })
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The settings.
    pub fn settings(&self) -> &FtlSettings {
        &self.settings
    }

    /// Logical pages.
    pub fn logical_pages(&self) -> u32 {
        self.table.logical_pages()
    }

    /// What it has done.
    pub fn counts(&self) -> FtlCounts {
        FtlCounts { blocks: self.allocation.counts(), ..self.counts }
    }

    /// Counts from zero again.
    pub fn reset_counts(&mut self) {
        self.counts = FtlCounts::default();
        self.allocation.reset_counts();
    }

    /// How evenly blocks are worn.
    pub fn wear(&self) -> WearSpread {
        WearSpread::of(self.allocation.blocks())
    }

    /// Bytes of memory that simulating it takes, but for what is under way.
    pub fn memory_bytes(&self) -> u64 {
        // Each block is also listed as erased or closed, by up to 16 bytes.
        self.table.memory_bytes()
            + u64::from(self.layout.blocks()) * (size_of::<Block>() as u64 + 16)
            + u64::from(self.allocation.write_points()) * size_of::<WritePoint>() as u64
    }

    /// Looks up pages that will be needed soon, all at once: the processor then waits once for all of them, not for each by itself.
    pub(super) fn look_ahead(&self, logical: impl Iterator<Item = u32>) {
        let mut entries = [u32::MAX; LOOK_AHEAD];
        for (entry, logical) in entries.iter_mut().zip(logical) {
            *entry = self.table.entry(logical);
        }
        let blocks =
            entries.iter().map(|entry| self.layout.block_of(*entry)).filter(|block| *block < self.layout.blocks());
        let sum = blocks.fold(0, |sum, block| sum ^ self.allocation.block(block).sequence);
        let bits = entries.iter().fold(0, |bits, entry| bits ^ self.table.valid_bits(*entry));
        std::hint::black_box((entries, sum, bits));
    }

    /// The same for pages that will be copied soon, of which only the entries are needed.
    pub(super) fn look_ahead_to_copy(&self, pages: &[(u32, u32)]) {
        let entries = pages.iter().take(COPIES_AHEAD).fold(0, |all, (_, logical)| all ^ self.table.entry(*logical));
        std::hint::black_box(entries);
    }

    /// Where a logical page is.
    #[inline]
    pub fn location(&self, logical: u32) -> Location {
        self.table.location(logical)
    }

    /// The sequence number of a page's block.
    #[inline]
    pub fn sequence(&self, page: u32) -> u64 {
        self.allocation.block(self.layout.block_of(page)).sequence
    }

    /// The least sequence number that a logical page may go to, and the set that it is in.
    #[inline]
    fn least_for(&self, logical: u32) -> (u64, u32) {
        match self.table.location(logical) {
            Location::Never => (0, u32::MAX),
            Location::At(page) | Location::Trimmed(page) => {
                let block = self.layout.block_of(page);
                (self.allocation.block(block).sequence, self.layout.set_of(block))
            }
        }
    }

    /// A place for a page that the host writes. None if no write point can take it now.
    #[inline]
    pub fn place_write(&mut self, logical: u32) -> Option<Placement> {
        let (least, home) = self.least_for(logical);
        let placement = self.allocation.take_for_write(least, home)?;
        self.move_to(logical, placement);
        self.counts.written += 1;
        Some(placement)
    }

    /// Puts a logical page, which has no page yet, on the next page of a write point, or leaves that page stale, to fill an array.
    pub(super) fn place_at(&mut self, point: u32, logical: Option<u32>) {
        let placement = self.allocation.take_at(point);
        match logical {
            Some(logical) => self.table.add_page(logical, placement.page),
            None => self.allocation.invalidate(placement.page, 0),
        }
        self.allocation.finish(placement);
    }

    /// Trims those of these logical pages that hold data. None if no write point can take the record now; an empty placement if
    /// there is nothing to record.
    pub fn place_trim(&mut self, range: PageRange) -> Option<Option<Placement>> {
        let all = range.start..range.start + range.count;
        // What an unfinished record trims may come back until it is finished, so it is recorded again.
        let comes_back = |page: &u32| match self.table.location(*page) {
            Location::Never => false,
            Location::At(_) => true,
            Location::Trimmed(_) if planted(FtlBug::TrimTrustsUnfinished) => false,
            Location::Trimmed(record) => self.unfinished_records.contains(&record),
        };
        let live: Vec<u32> = all.filter(comes_back).collect();
        if live.is_empty() {
            return Some(None);
        }
        if planted(FtlBug::TrimForgotten) {
            for logical in live {
                self.release(logical, 0);
                self.table.forget(logical);
            }
            return Some(None);
        }
        let (least, home) = live.iter().map(|logical| self.least_for(*logical)).max()?;
        let placement = self.allocation.take_for_write(least, home)?;
        self.fill_record(placement, &live, placement.ticket);
        Some(Some(placement))
    }

    fn fill_record(&mut self, placement: Placement, logical: &[u32], trimmed_by: u64) {
        let mut ranges: Vec<PageRange> = Vec::new();
        for &page in logical {
            self.release(page, placement.ticket);
            self.table.set_trimmed(page, placement.page);
            match ranges.last_mut() {
                Some(last) if last.start + last.count == page => last.count += 1,
                _ => ranges.push(PageRange { start: page, count: 1 }),
            }
        }
        self.table.set_record(placement.page, TrimRecord { pages: logical.len() as u32, trimmed_by, ranges });
        self.unfinished_records.push(placement.page);
        self.counts.records += 1;
    }

    /// A record is on flash.
    pub fn record_finished(&mut self, page: u32) {
        self.unfinished_records.retain(|other| *other != page);
    }

    /// Logical pages that one record can list, however they lie: eight bytes each.
    pub fn pages_per_record(&self) -> u32 {
        self.layout.page_bytes / 8
    }

    #[inline]
    fn move_to(&mut self, logical: u32, placement: Placement) {
        self.release(logical, placement.ticket);
        self.table.set_page(logical, placement.page);
    }

    /// Makes what the table has of a logical page invalid.
    #[inline]
    fn release(&mut self, logical: u32, ticket: u64) {
        match self.table.location(logical) {
            Location::At(page) => self.allocation.invalidate(page, ticket),
            Location::Trimmed(page) if self.table.leave_record(page) => self.allocation.invalidate(page, ticket),
            Location::Never | Location::Trimmed(_) => {}
        }
    }

    /// Chooses a block of this set to clean. None if the set has erased blocks enough, or nothing to gain.
    pub fn begin_cleaning(&mut self, set: u32) -> Option<Victim> {
        let closed = self.allocation.closed_of_short(set)?;
        let at = if let Some(at) = self.allocation.least_worn(set) {
            self.counts.levelled += 1;
            at
        } else {
            let data_pages = self.layout.data_pages();
            let blocks = self.allocation.blocks();
            let valid = |at: usize| blocks.get(closed.list()[at]).valid;
            let candidates = Candidates { closed, blocks, now: self.allocation.next_sequence(), data_pages };
            let mut at = self.policy.choose(&candidates, &mut self.random);
            if valid(at) >= data_pages {
                // What frees nothing is no victim: take what frees most, if anything does.
                at = closed.with_fewest_valid(blocks)?;
            }
            if valid(at) >= data_pages {
                return None;
            }
            at
        };
        let block = self.allocation.take_victim(set, at);
        let blocks = self.allocation.blocks();
        let pages = self.table.live_pages(block, || likely_victims(blocks, &self.layout));
        Some(Victim { block, pages, records: self.table.records_of(block) })
    }

    /// Whether a logical page is still on the page that is to be copied.
    pub fn is_live(&self, page: u32, logical: u32) -> bool {
        self.table.is_at(logical, page)
    }

    /// A place for the copy of a page on which a logical page is.
    pub fn place_copy(&mut self, page: u32, logical: u32) -> Option<Placement> {
        let placement = self.allocation.take_for_copy(self.layout.block_of(page))?;
        if planted(FtlBug::CopyOvertakesWrite) || planted(FtlBug::EraseBeforeCopies) {
            // With these bugs the logical page may be elsewhere.
            self.move_to(logical, placement);
        } else {
            self.allocation.invalidate(page, placement.ticket);
            self.table.move_page(logical, page, placement.page);
        }
        self.counts.copied += 1;
        Some(placement)
    }

    /// Copies the record of trims on a page, as far as pages depend on it, or drops it if no older copy of any can be left. None
    /// if no write point can take it now; an empty placement if nothing is to be programmed.
    pub fn place_record_copy(&mut self, page: u32) -> Option<Option<Placement>> {
        let block = self.layout.block_of(page);
        let Some(trimmed_by) = self.table.record(page).map(|record| record.trimmed_by) else { return Some(None) };
        if self.allocation.is_oldest(block, trimmed_by) || planted(FtlBug::RecordDroppedEarly) {
            for logical in self.table.take_record(page).unwrap_or_default() {
                self.table.forget(logical);
            }
            self.allocation.invalidate(page, 0);
            self.counts.records_dropped += 1;
            return Some(None);
        }
        let logical = self.table.dependents(page);
        let placement = self.allocation.take_for_copy(block)?;
        self.fill_record(placement, &logical, trimmed_by);
        Some(Some(placement))
    }

    /// A victim is erased. It goes back into service, or out of it.
    ///
    /// # Errors
    ///
    /// Too few blocks are left for what the host may write.
    pub fn erased(&mut self, block: u32) -> Result<(), FtlError> {
        self.table.begin_block(block);
        self.allocation.erased(block);
        if self.allocation.room() < u64::from(self.logical_pages()) {
            return Err(FtlError::WornOut { retired: self.wear().retired });
        }
        Ok(())
    }

    /// Lets a write point take a logical page although none can and nothing is under way. Whether it could.
    pub fn make_room_for(&mut self, logical: u32) -> bool {
        let (_, home) = self.least_for(logical);
        self.allocation.make_room(home)
    }

    /// The logical page of a range that needs the largest sequence number.
    pub fn newest_of(&self, range: PageRange) -> u32 {
        let all = range.start..range.start + range.count;
        all.max_by_key(|logical| self.least_for(*logical)).unwrap_or(range.start)
    }

    /// The ranges that the record on a page lists.
    pub fn record_ranges(&self, page: u32) -> Vec<PageRange> {
        self.table.record(page).map(|record| record.ranges.clone()).unwrap_or_default()
    }

    /// The owners that the summary of a block lists. Empty if owners are not kept.
    pub fn summary_of(&self, block: u32) -> Vec<u32> {
        self.table.owners(block).unwrap_or_default().to_vec()
    }
}

/// Of each set one closed block in a hundred, but two at least: those with the fewest valid pages.
fn likely_victims(blocks: &BlockTable, layout: &Layout) -> Vec<u32> {
    let count = (layout.blocks_per_set as usize / 100).max(2);
    let mut likely = Vec::new();
    for set in 0..layout.sets {
        let first = set * layout.blocks_per_set;
        let mut closed: Vec<(u32, u32)> = (first..first + layout.blocks_per_set)
            .filter(|block| blocks.get(*block).phase == BlockPhase::Closed)
            .map(|block| (blocks.get(block).valid, block))
            .collect();
        if closed.len() > count {
            closed.select_nth_unstable(count);
            closed.truncate(count);
        }
        likely.extend(closed.into_iter().map(|(_, block)| block));
    }
    likely
}
