//! A device: the FTL on its array, with time.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::cleaner::Cleaner;
use super::error::FtlError;
use super::filling::Filling;
use super::hash::PageHash;
use super::host_queue::HostQueue;
use super::injected_bugs::{FtlBug, planted};
use super::medium::{Content, Medium, Program};
use super::pieces::{NONE, Piece, Pieces, Role};
use super::recovery::{Recovered, RecoveryReport, recover_timed};
use super::requests::{HostKind, HostReply, HostRequest, Pace, RunReport, ServiceCounts};
use super::settings::FtlSettings;
use super::table::{Location, PageRange};
use super::translation::Translation;
use crate::flash::{Command, CommandKind, Finished, FlashArray, FlashDesign, LatencyParts, Step};
use crate::time::SimTime;

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
struct RequestState {
    number: u64,
    kind: HostKind,
    bytes: u64,
    arrived: SimTime,
    pieces_left: u32,
    next_free: u32,
}

/// Reads of the host that others can join.
#[derive(Debug, Default)]
struct JoinableReads {
    of_page: HashMap<u32, u32, PageHash>,
    last: Option<u32>,
}

/// An FTL on its array.
#[derive(Debug)]
pub struct Device {
    pub(super) array: FlashArray,
    pub(super) translation: Translation,
    pub(super) pieces: Pieces,
    pub(super) queue: HostQueue,
    pub(super) cleaners: Vec<Cleaner>,
    /// Sets whose cleaner waits to erase.
    pub(super) erases_waiting: Vec<u32>,
    /// Sets that are short of erased blocks and had nothing to clean.
    pub(super) nothing_to_clean: Vec<u32>,
    pub(super) medium: Option<Medium>,
    requests: Vec<RequestState>,
    free_request: u32,
    outstanding: u32,
    admitted: u64,
    reads: JoinableReads,
    replies: VecDeque<HostReply>,
    controller_free_at: SimTime,
    pub(super) services: ServiceCounts,
    /// What the records list that are being programmed, while a medium is kept.
    pub(super) records: HashMap<u32, Vec<PageRange>, PageHash>,
    die_bytes: u32,
}

impl Device {
    /// A device that is erased. It keeps what is on flash only if power cuts are to be simulated, as memory grows with its pages.
    ///
    /// # Errors
    ///
    /// The settings contradict the array or each other.
    pub fn new(design: &FlashDesign, settings: FtlSettings, keeps_medium: bool) -> Result<Self, FtlError> {
        let translation = Translation::new(design.geometry, settings, true)?;
        let medium = keeps_medium.then(|| Medium::new(*translation.layout()));
        Self::with(design, translation, medium)
    }

    /// A device over an FTL that is filled already, for one without a table of owners, for example.
    ///
    /// # Errors
    ///
    /// The geometry cannot be simulated.
    pub fn with(design: &FlashDesign, translation: Translation, medium: Option<Medium>) -> Result<Self, FtlError> {
        let layout = *translation.layout();
        let mut device = Self {
            array: FlashArray::new(design)?,
            pieces: Pieces::default(),
            queue: HostQueue::default(),
            cleaners: (0..layout.sets).map(|_| Cleaner::default()).collect(),
            erases_waiting: Vec::new(),
            nothing_to_clean: Vec::new(),
            medium,
            requests: Vec::new(),
            free_request: NONE,
            outstanding: 0,
            admitted: 0,
            reads: JoinableReads::default(),
            replies: VecDeque::new(),
            controller_free_at: SimTime::ZERO,
            services: ServiceCounts::default(),
            records: HashMap::default(),
            die_bytes: (design.geometry.page_bytes + design.geometry.spare_bytes) * layout.stripe.planes,
            translation,
        };
        device.after_placement();
        Ok(device)
    }

    /// A device that goes on with what is on flash after a power cut.
    ///
    /// # Errors
    ///
    /// The settings contradict the array or each other.
    pub fn recovered(
        design: &FlashDesign,
        settings: FtlSettings,
        mut medium: Medium,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let Recovered { translation, report, erase_first } = recover_timed(design, settings, &medium)?;
        for block in erase_first {
            medium.erase(block);
        }
        Ok((Self::with(design, translation, Some(medium))?, report))
    }

    /// The FTL.
    pub fn translation(&self) -> &Translation {
        &self.translation
    }

    /// The array.
    pub fn array(&self) -> &FlashArray {
        &self.array
    }

    /// What is on flash, if it is kept.
    pub fn medium(&self) -> Option<&Medium> {
        self.medium.as_ref()
    }

    /// How requests were served.
    pub fn services(&self) -> ServiceCounts {
        self.services
    }

    /// Bytes that the host can use.
    pub fn bytes(&self) -> u64 {
        u64::from(self.translation.logical_pages()) * u64::from(self.translation.layout().page_bytes)
    }

    /// Whether the host's queue has a place.
    pub fn has_room(&self) -> bool {
        self.outstanding < self.translation.settings().queue_depth
    }

    /// The next request that is done.
    pub fn take_reply(&mut self) -> Option<HostReply> {
        self.replies.pop_front()
    }

    /// Fills the device without time.
    ///
    /// # Errors
    ///
    /// What the filling returns.
    ///
    /// # Panics
    ///
    /// Something is under way.
    pub fn fill_untimed(
        &mut self,
        fill: impl FnOnce(&mut Filling<'_>) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        assert!(self.outstanding == 0 && self.array.next_at().is_none(), "a device is filled while it is idle");
        fill(&mut Filling::new(&mut self.translation, self.medium.as_mut()))?;
        self.translation.reset_counts();
        self.after_placement();
        Ok(())
    }

    /// Serves requests until all are done.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    ///
    /// # Panics
    ///
    /// A request lies outside of the device.
    pub fn run(
        &mut self,
        requests: impl IntoIterator<Item = HostRequest>,
        pace: Pace,
        mut on_reply: impl FnMut(&HostReply),
    ) -> Result<RunReport, FtlError> {
        let begin = self.array.now();
        let mut report = RunReport::default();
        let mut requests = requests.into_iter().peekable();
        loop {
            while self.has_room()
                && let Some(request) = requests.peek()
            {
                let at = if pace == Pace::Timed { request.at.max(begin) } else { self.array.now() };
                if at > self.array.now() {
                    if self.array.next_at().is_some_and(|next| next < at) {
                        break;
                    }
                    self.array.pass(at);
                }
                let request = HostRequest { at: if pace == Pace::Timed { request.at } else { at }, ..*request };
                requests.next();
                self.admit(request);
            }
            while let Some(reply) = self.replies.pop_front() {
                report.add(&reply);
                on_reply(&reply);
            }
            if self.has_room() && requests.peek().is_some() && self.array.next_at().is_none() {
                continue;
            }
            if !self.step()? && requests.peek().is_none() {
                break;
            }
        }
        report.elapsed = self.array.now() - begin;
        Ok(report)
    }

    /// Takes a request in, at the array's time, whether or not the queue has a place.
    ///
    /// # Panics
    ///
    /// It lies outside of the device.
    pub fn admit(&mut self, request: HostRequest) -> u64 {
        let HostRequest { kind, offset, bytes, .. } = request;
        let end = offset.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.bytes()),
            "{bytes} bytes at {offset} lie outside of a device of {} bytes",
            self.bytes()
        );
        let number = self.admitted;
        self.admitted += 1;
        self.outstanding += 1;
        let arrived = request.at.min(self.array.now());
        let state = RequestState { number, kind, bytes, arrived, pieces_left: 1, next_free: NONE };
        let id = self.add_request(state);
        match kind {
            HostKind::Read | HostKind::Write if bytes > 0 => self.cut(id, &request),
            HostKind::Trim => self.cut_trim(id, offset, bytes),
            _ => {}
        }
        // The request itself counted as a piece until all of them were there.
        let none = Piece { parts: self.waited_outside(id), ..Piece::new(Role::Free, id, self.array.now()) };
        self.piece_of_request_done(&none);
        number
    }

    fn add_request(&mut self, state: RequestState) -> u32 {
        if self.free_request == NONE {
            self.requests.push(state);
            return self.requests.len() as u32 - 1;
        }
        let id = self.free_request;
        self.free_request = self.requests[id as usize].next_free;
        self.requests[id as usize] = state;
        id
    }

    fn waited_outside(&self, request: u32) -> LatencyParts {
        let waited = self.array.now() - self.requests[request as usize].arrived;
        LatencyParts { queue: waited, ..LatencyParts::default() }
    }

    /// Cuts a read or write into pieces of one super-page each.
    fn cut(&mut self, id: u32, request: &HostRequest) {
        let layout = *self.translation.layout();
        let page_bytes = u64::from(layout.page_bytes);
        let flash_bytes = u64::from(layout.geometry.page_bytes);
        let (offset, end) = (request.offset, request.offset + request.bytes);
        let outside = self.waited_outside(id);
        let role = if request.kind == HostKind::Read { Role::NewRead } else { Role::NewWrite };
        for logical in offset / page_bytes..=(end - 1) / page_bytes {
            let first = offset.max(logical * page_bytes) - logical * page_bytes;
            let last = end.min((logical + 1) * page_bytes) - logical * page_bytes;
            let from = (first / flash_bytes) as u32;
            let mut piece = Piece::new(role, id, self.array.now());
            piece.logical = logical as u32;
            piece.flash_pages = (from, last.div_ceil(flash_bytes) as u32 - from);
            piece.covered = covered(first, last, page_bytes);
            piece.stamp = request.stamp;
            piece.parts = outside;
            self.requests[id as usize].pieces_left += 1;
            let piece = self.pieces.add(piece);
            self.delay(piece);
        }
    }

    /// Cuts a trim into records. Super-pages that it covers in part are left alone.
    fn cut_trim(&mut self, id: u32, offset: u64, bytes: u64) {
        let page_bytes = u64::from(self.translation.layout().page_bytes);
        let (mut first, end) = (offset.div_ceil(page_bytes) as u32, ((offset + bytes) / page_bytes) as u32);
        let most = self.translation.pages_per_record();
        while first < end {
            let count = most.min(end - first);
            let mut piece = Piece::new(Role::Trim, id, self.array.now());
            piece.range = PageRange { start: first, count };
            piece.parts = self.waited_outside(id);
            self.requests[id as usize].pieces_left += 1;
            let piece = self.pieces.add(piece);
            self.queue.waiting.push_back(piece);
            self.queue.trims += 1;
            first += count;
        }
        self.pump();
    }

    /// The controller looks through its queues first, one request after the other.
    fn delay(&mut self, id: u32) {
        let settings = self.translation.settings();
        let looks = match self.pieces.get(id).role {
            Role::NewRead if settings.read_bypass => self.reads.of_page.len(),
            Role::NewWrite if settings.write_combining => self.queue.waiting.len() + self.queue.refused.len(),
            _ => 0,
        };
        let takes = settings.costs.queue_entry.times(looks as u64);
        if takes == SimTime::ZERO && self.controller_free_at <= self.array.now() {
            return self.begin(id);
        }
        self.controller_free_at = self.controller_free_at.max(self.array.now()) + takes;
        self.array.wake_at(self.controller_free_at, id);
    }

    fn begin(&mut self, id: u32) {
        match self.pieces.get(id).role {
            Role::NewRead => self.begin_read(id),
            Role::NewWrite => self.take_write(id),
            Role::Buffered => {
                let now = self.array.now();
                let mut piece = self.pieces.remove(id);
                piece.has_waited(now);
                self.piece_of_request_done(&piece);
            }
            role => unreachable!("nothing with role {role:?} waits for the controller"),
        }
    }

    fn begin_read(&mut self, id: u32) {
        let settings = *self.translation.settings();
        let Piece { logical, covered, .. } = *self.pieces.get(id);
        let pending = if settings.write_combining { self.queue.pending(logical) } else { None };
        if pending.is_some_and(|write| self.pieces.get(write).covered & covered == covered) {
            self.services.buffered_reads += 1;
            return self.serve_from_memory(id, settings.costs.buffered_read);
        }
        let Location::At(page) = self.translation.location(logical) else {
            self.services.unmapped_reads += 1;
            return self.serve_from_memory(id, settings.costs.unmapped_read);
        };
        if settings.read_bypass {
            if self.reads.last == Some(page) {
                self.services.buffered_reads += 1;
                return self.serve_from_memory(id, settings.costs.buffered_read);
            }
            if let Some(&other) = self.reads.of_page.get(&page) {
                self.services.joined_reads += 1;
                self.pieces.get_mut(id).next = self.pieces.get(other).next;
                self.pieces.get_mut(other).next = id;
                return;
            }
            self.reads.of_page.insert(page, id);
        }
        self.services.flash_reads += 1;
        let now = self.array.now();
        let piece = self.pieces.get_mut(id);
        piece.role = Role::Read;
        piece.page = page;
        piece.has_waited(now);
        let whole = settings.whole_page_reads || settings.read_bypass;
        let (from, count) = if whole { (0, self.translation.layout().flash_pages()) } else { piece.flash_pages };
        self.submit_read(id, page, from, count, false);
    }

    fn serve_from_memory(&mut self, id: u32, takes: SimTime) {
        self.pieces.get_mut(id).role = Role::Buffered;
        if takes == SimTime::ZERO {
            self.begin(id);
        } else {
            self.array.wake_at(self.array.now() + takes, id);
        }
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
                die: layout.die(set, part),
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
                die: layout.die(set, part),
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

    /// Carries out the next event. Whether there was one.
    ///
    /// # Errors
    ///
    /// The device is worn out.
    ///
    /// # Panics
    ///
    /// Requests wait and nothing can ever serve them, which is a bug.
    pub fn step(&mut self) -> Result<bool, FtlError> {
        match self.array.step() {
            Some(Step::Progress(_)) => {}
            Some(Step::Timer(_, id)) => self.begin(id),
            Some(Step::Finished(finished)) => self.command_done(finished)?,
            None => return self.unblock(),
        }
        Ok(true)
    }

    fn command_done(&mut self, finished: Finished) -> Result<(), FtlError> {
        let now = self.array.now();
        let piece = self.pieces.get_mut(finished.tag);
        piece.parts_left -= 1;
        if planted(FtlBug::AcknowledgedByFirstDie) && piece.role == Role::Program {
            self.acknowledge_early(finished.tag);
        }
        let piece = self.pieces.get_mut(finished.tag);
        if piece.parts_left > 0 {
            return Ok(());
        }
        piece.parts += finished.parts;
        piece.stage = finished.parts;
        piece.mark = now;
        match piece.role {
            Role::Read => self.read_done(finished.tag),
            Role::ModifyRead => self.place_begun(finished.tag),
            Role::Program | Role::Trim => self.write_done(finished.tag),
            Role::Summary => self.summary_done(finished.tag),
            Role::CopyRead | Role::Copy | Role::RecordCopy => self.copy_done(finished.tag),
            Role::Erase => self.erase_done(finished.tag)?,
            Role::EraseAgain => self.erased_again(finished.tag),
            role => unreachable!("nothing with role {role:?} is on the array"),
        }
        Ok(())
    }

    fn read_done(&mut self, id: u32) {
        let page = self.pieces.get(id).page;
        if self.translation.settings().read_bypass {
            self.reads.of_page.remove(&page);
            self.reads.last = Some(page);
        }
        self.chain_done(id);
    }

    /// A block is erased: nothing of it may be served from memory.
    pub(super) fn forget_reads_of(&mut self, block: u32) {
        if self.reads.last.is_some_and(|page| self.translation.layout().block_of(page) == block) {
            self.reads.last = None;
        }
    }

    /// A piece of the host is done, and all that joined it.
    pub(super) fn chain_done(&mut self, id: u32) {
        let now = self.array.now();
        let piece = self.pieces.remove(id);
        let mut next = piece.next;
        if piece.request != NONE {
            self.piece_of_request_done(&piece);
        }
        while next != NONE {
            let mut joined = self.pieces.remove(next);
            next = joined.next;
            joined.has_shared(now, &piece.stage);
            if joined.request != NONE {
                self.piece_of_request_done(&joined);
            }
        }
    }

    /// One piece of a request is done. With the last one the request is, whose time went where that piece's did.
    pub(super) fn piece_of_request_done(&mut self, piece: &Piece) {
        let state = &mut self.requests[piece.request as usize];
        state.pieces_left -= 1;
        if state.pieces_left > 0 {
            return;
        }
        let RequestState { number, kind, bytes, arrived, .. } = *state;
        state.next_free = self.free_request;
        self.free_request = piece.request;
        self.outstanding -= 1;
        let finished = self.array.now();
        assert!(piece.parts.total() == finished - arrived, "the parts of a latency do not add up to it");
        self.replies.push_back(HostReply { number, kind, bytes, arrived, finished, parts: piece.parts });
    }

    /// The content that a piece programs.
    pub(super) fn program_of(&self, id: u32) -> Program {
        let piece = self.pieces.get(id);
        let content = match piece.role {
            Role::Summary => Content::Summary(self.translation.summary_of(piece.logical)),
            Role::Trim | Role::RecordCopy => Content::Record(self.records.get(&id).cloned().unwrap_or_default()),
            _ => Content::Data { logical: piece.logical, stamp: piece.stamp },
        };
        let copied = matches!(piece.role, Role::Copy | Role::RecordCopy);
        Program { sequence: self.translation.sequence(piece.placement.page), content, copied }
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
}

/// Which 64ths of a super-page lie between two bytes of it as a whole.
fn covered(first: u64, last: u64, page_bytes: u64) -> u64 {
    if first == 0 && last == page_bytes {
        return u64::MAX;
    }
    let granule = page_bytes.div_ceil(64);
    let (from, to) = (first.div_ceil(granule).min(64), (last / granule).min(64));
    let below = |count: u64| if count == 64 { u64::MAX } else { (1 << count) - 1 };
    if from < to { below(to) & !below(from) } else { 0 }
}
