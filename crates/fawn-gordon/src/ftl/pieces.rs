//! Accesses to super-pages that are under way: those that requests are cut into, and those of the FTL itself.

use super::allocation::Placement;
use super::table::PageRange;
use crate::flash::LatencyParts;
use crate::time::SimTime;

/// No piece, no request.
pub const NONE: u32 = u32::MAX;

/// What a piece does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRole {
    /// Not used.
    Free,
    /// A read of the host that the controller has yet to look at.
    NewRead,
    /// A write of the host that the controller has yet to look at.
    NewWrite,
    /// Reads for the host.
    Read,
    /// Is served from the controller's memory.
    Buffered,
    /// A write that waits to begin, or for a write point.
    Waiting,
    /// Reads what a write leaves of its super-page.
    ModifyRead,
    /// Programs for the host.
    Program,
    /// A trim that waits, or programs its record.
    Trim,
    /// Programs a summary page.
    Summary,
    /// Reads a page to copy it.
    CopyRead,
    /// Programs a copy, over the bus or by copy-back.
    Copy,
    /// Programs the copy of a record.
    RecordCopy,
    /// Erases a victim.
    Erase,
    /// Erases an open block before its first program.
    EraseAgain,
}

/// An access to a super-page.
#[derive(Clone, Copy, Debug)]
pub struct PageAccess {
    pub role: AccessRole,
    /// Whether it was last refused because cleaning has to make room.
    pub waits_for_cleaning: bool,
    /// Its request, or [`NONE`].
    pub request: u32,
    /// Its logical page; for cleaning the set.
    pub logical: u32,
    /// Its physical page, or block.
    pub page: u32,
    pub placement: Placement,
    /// What a write of the host covers of its super-page, by 64ths that are covered as a whole.
    pub covered: u64,
    /// First flash page of a read, and how many.
    pub flash_pages: (u32, u32),
    pub range: PageRange,
    pub stamp: u32,
    /// Dies that are not done.
    pub parts_left: u32,
    /// The next piece that is done when this one is.
    pub next: u32,
    /// Up to when its time is accounted for.
    pub mark: SimTime,
    pub parts: LatencyParts,
    /// Parts of the latest stage on flash, for those that joined.
    pub stage: LatencyParts,
}

impl PageAccess {
    pub fn new(role: AccessRole, request: u32, now: SimTime) -> Self {
        Self {
            role,
            waits_for_cleaning: false,
            request,
            logical: NONE,
            page: NONE,
            placement: Placement { page: NONE, ticket: 0, point: 0 },
            covered: 0,
            flash_pages: (0, 0),
            range: PageRange { start: 0, count: 0 },
            stamp: 0,
            parts_left: 0,
            next: NONE,
            mark: now,
            parts: LatencyParts::default(),
            stage: LatencyParts::default(),
        }
    }

    /// It has waited in the controller until now.
    pub fn has_waited(&mut self, now: SimTime) {
        let waited = now - self.mark;
        if self.waits_for_cleaning {
            self.parts.cleaning += waited;
        } else {
            self.parts.queue += waited;
        }
        self.mark = now;
    }

    /// It has waited until now for a piece that it joined. The end of that piece's time on flash is its own.
    pub fn has_shared(&mut self, now: SimTime, of: &LatencyParts) {
        let mut left = now - self.mark;
        let mut take = |part: SimTime| {
            let taken = part.min(left);
            left = left - taken;
            taken
        };
        let shared = LatencyParts {
            transfer: take(of.transfer),
            bus: take(of.bus),
            cell: take(of.cell),
            cleaning: take(of.cleaning),
            die: take(of.die),
            queue: SimTime::ZERO,
        };
        self.parts += shared;
        self.parts.queue += left;
        self.mark = now;
    }
}

/// All pieces that are under way.
#[derive(Debug)]
pub struct PageAccesses {
    pieces: Vec<PageAccess>,
    free: u32,
}

impl Default for PageAccesses {
    fn default() -> Self {
        Self { pieces: Vec::new(), free: NONE }
    }
}

impl PageAccesses {
    #[inline]
    pub fn add(&mut self, piece: PageAccess) -> u32 {
        if self.free == NONE {
            self.pieces.push(piece);
            return self.pieces.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.pieces[id as usize].next;
        self.pieces[id as usize] = piece;
        id
    }

    #[inline]
    pub fn remove(&mut self, id: u32) -> PageAccess {
        let piece = self.pieces[id as usize];
        self.pieces[id as usize].role = AccessRole::Free;
        self.pieces[id as usize].next = self.free;
        self.free = id;
        piece
    }

    #[inline]
    pub fn get(&self, id: u32) -> &PageAccess {
        &self.pieces[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut PageAccess {
        &mut self.pieces[id as usize]
    }
}
