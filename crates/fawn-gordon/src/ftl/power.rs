//! What a power cut leaves.

use std::collections::BTreeMap;

use rand::Rng as _;
use rand::rngs::Xoshiro256PlusPlus;

use super::device::Device;
use super::medium::{Content, Medium, TornPage};
use crate::flash::CommandKind;

/// A program that the power cut came into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutProgram {
    /// Its page.
    pub page: u32,
    /// None of its dies is done, so the page may read as erased.
    pub may_seem_erased: bool,
    /// None of its dies has yet to begin, so the page may read as whole.
    pub may_be_whole: bool,
}

impl TornPage {
    /// One of the ways that a page may read which this program was cut in. Each program takes one draw.
    pub fn drawn(program: CutProgram, random: &mut Xoshiro256PlusPlus) -> Self {
        match random.next_u64() % 3 {
            0 if program.may_seem_erased => Self::SeemsErased,
            1 if program.may_be_whole => Self::Whole,
            _ => Self::Damaged,
        }
    }
}

#[derive(Default)]
struct CutParts {
    left: u32,
    in_cells: u32,
    erases: bool,
}

impl Device {
    /// What is on flash if the power fails now. `torn` says how each page reads that is being programmed; a block that is being
    /// erased cannot be read at all.
    ///
    /// # Panics
    ///
    /// The device keeps no medium.
    pub fn cut_power(&self, mut torn: impl FnMut(CutProgram) -> TornPage) -> Medium {
        let mut medium = self.medium().expect("power cuts need a device that keeps its medium").clone();
        let mut cut = BTreeMap::<u32, CutParts>::new();
        for (command, in_cells) in self.backend.array.under_way() {
            let parts = cut.entry(command.tag).or_default();
            if command.kind != CommandKind::Read {
                parts.left += 1;
                parts.in_cells += u32::from(in_cells);
                parts.erases = command.kind == CommandKind::Erase;
            }
        }
        let all = self.backend.translation.layout().parts();
        let mut pages = Vec::new();
        for (id, parts) in cut {
            let piece = self.backend.pieces.get(id);
            let done = all - parts.left;
            if parts.left == 0 || done + parts.in_cells == 0 {
                continue;
            }
            if parts.erases {
                medium.tear_erase(piece.page);
                continue;
            }
            let (may_seem_erased, may_be_whole) = (done == 0, parts.left == parts.in_cells);
            pages.push((id, CutProgram { page: piece.placement.page, may_seem_erased, may_be_whole }));
        }
        pages.sort_unstable_by_key(|(_, program)| program.page);
        for (id, program) in pages {
            // Some of its dies are still being erased.
            if medium.is_torn(self.backend.translation.layout().block_of(program.page)) {
                continue;
            }
            let mut programmed = self.backend.program_of(id);
            if let Content::Data { stamp, .. } = &mut programmed.content
                && let Some(source) = self.backend.source_stamp(id)
            {
                *stamp = source;
            }
            medium.program(program.page, programmed, Some(torn(program)));
        }
        medium
    }
}
