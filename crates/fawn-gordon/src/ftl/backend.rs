//! What a device does by itself, whoever the host is: programs on the array, summaries, cleaning.

use hashbrown::HashMap;

use super::allocation::Placement;
use super::cleaner::Cleaner;
use super::error::FtlError;
use super::hash::PageHash;
use super::injected_bugs::{FtlBug, planted};
use super::medium::{Content, Medium, PageProgram};
use super::pieces::{AccessRole, NONE, PageAccess, PageAccesses};
use super::table::PageRange;
use super::translation::Translation;
use crate::flash::{Command, CommandKind, FlashArray, FlashDesign};
use crate::time::SimTime;

/// The FTL, its array, and all accesses to super-pages that are under way.
#[derive(Debug)]
pub struct Backend {
    pub(super) array: FlashArray,
    pub(super) translation: Translation,
    pub(super) pieces: PageAccesses,
    pub(super) medium: Option<Medium>,
    /// What the records list that are being programmed, while a medium is kept.
    pub(super) records: HashMap<u32, Vec<PageRange>, PageHash>,
    pub(super) cleaners: Vec<Cleaner>,
    /// Sets whose cleaner waits to erase.
    pub(super) erases_waiting: Vec<u32>,
    /// Sets that are short of erased blocks and had nothing to clean.
    pub(super) nothing_to_clean: Vec<u32>,
    die_bytes: u32,
    /// The die of each part of each set.
    dies: Vec<u32>,
}

impl Backend {
    /// Over an idle array.
    pub(super) fn new(
        design: &FlashDesign,
        translation: Translation,
        medium: Option<Medium>,
    ) -> Result<Self, FtlError> {
        let layout = *translation.layout();
        let mut array = FlashArray::new(design)?;
        array.set_suspension(translation.settings().suspension);
        Ok(Self {
            array,
            pieces: PageAccesses::default(),
            medium,
            records: HashMap::default(),
            cleaners: (0..layout.sets).map(|_| Cleaner::default()).collect(),
            erases_waiting: Vec::new(),
            nothing_to_clean: Vec::new(),
            die_bytes: (design.geometry.page_bytes + design.geometry.spare_bytes) * layout.stripe.planes,
            dies: (0..layout.sets).flat_map(|set| (0..layout.parts()).map(move |part| layout.die(set, part))).collect(),
            translation,
        })
    }

    /// Reads these flash pages of a super-page.
    pub(super) fn submit_read(&mut self, id: u32, page: u32, from: u32, count: u32, cleaning: bool) {
        let layout = *self.translation.layout();
        let (block, offset) = (layout.block_of(page), layout.offset(page));
        let (set, parts, planes) = (layout.set_of(block), layout.parts(), layout.stripe.planes);
        let overhead = self.translation.settings().costs.read;
        let flash_bytes = self.die_bytes / planes;
        // Flash page `k` is on part `k mod parts`, so that every part has a run of equal counts but for one.
        let touched = count.min(parts);
        self.pieces.get_mut(id).parts_left = touched;
        let mut seen = 0_u64;
        for at in 0..touched {
            let part = (from + at) % parts;
            let of_part = (count - at).div_ceil(parts);
            let bus = part % layout.stripe.buses;
            let first_of_bus = seen >> (bus & 63) & 1 == 0;
            seen |= 1 << (bus & 63);
            self.array.submit(Command {
                die: self.dies[(set * parts + part) as usize],
                kind: CommandKind::Read,
                page: offset,
                planes: of_part,
                bytes: of_part * flash_bytes,
                overhead: if first_of_bus { overhead } else { SimTime::ZERO },
                cleaning,
                tag: id,
            });
        }
    }

    /// Programs, copies back or erases on all dies of a super-page or super-block.
    pub(super) fn submit_whole(&mut self, id: u32, page: u32, kind: CommandKind, cleaning: bool) {
        let layout = *self.translation.layout();
        let set = layout.set_of(layout.block_of(page));
        let programs = kind == CommandKind::Program;
        let overhead = if programs { self.translation.settings().costs.program } else { SimTime::ZERO };
        self.pieces.get_mut(id).parts_left = layout.parts();
        for part in 0..layout.parts() {
            self.array.submit(Command {
                die: self.dies[(set * layout.parts() + part) as usize],
                kind,
                page: layout.offset(page),
                planes: layout.stripe.planes,
                bytes: if programs { self.die_bytes } else { 0 },
                overhead: if part < layout.stripe.buses { overhead } else { SimTime::ZERO },
                cleaning,
                tag: id,
            });
        }
    }

    /// The content that a piece programs.
    pub(super) fn program_of(&self, id: u32) -> PageProgram {
        let piece = self.pieces.get(id);
        let content = match piece.role {
            AccessRole::Summary => Content::Summary(self.translation.summary_of(piece.logical)),
            AccessRole::Trim | AccessRole::RecordCopy => {
                Content::Record(self.records.get(&id).cloned().unwrap_or_default())
            }
            _ => Content::Data { logical: piece.logical, stamp: piece.stamp },
        };
        let copied = matches!(piece.role, AccessRole::Copy | AccessRole::RecordCopy);
        let Placement { page, ticket, .. } = piece.placement;
        PageProgram { sequence: self.translation.sequence(page), ticket, content, copied }
    }

    /// Programs what a piece holds on the medium, if there is one.
    pub(super) fn program_medium(&mut self, id: u32) {
        if self.medium.is_none() {
            return;
        }
        let page = self.pieces.get(id).placement.page;
        let program = self.program_of(id);
        self.records.remove(&id);
        if let Some(medium) = &mut self.medium {
            medium.program(page, program, None);
        }
    }

    /// Programs a piece on its place.
    pub(super) fn issue(&mut self, id: u32, placement: Placement) {
        let cleaning = matches!(self.pieces.get(id).role, AccessRole::Copy | AccessRole::RecordCopy);
        self.pieces.get_mut(id).placement = placement;
        self.erase_distrusted();
        if planted(FtlBug::SummaryBeforePages) {
            self.after_placement();
        }
        self.submit_whole(id, placement.page, CommandKind::Program, cleaning);
        self.after_placement();
    }

    /// Blocks that were opened and may hold a torn page are erased ahead of the first program, on the same dies.
    pub(super) fn erase_distrusted(&mut self) {
        while let Some(block) = self.translation.allocation.take_unerased() {
            let mut piece = PageAccess::new(AccessRole::EraseAgain, NONE, self.array.now());
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
            let mut piece = PageAccess::new(AccessRole::Summary, NONE, self.array.now());
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
}
