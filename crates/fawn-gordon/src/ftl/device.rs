//! A device: the FTL on its array, with time.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::backend::Backend;
use super::error::FtlError;
use super::filling::Filling;
use super::hash::PageHash;
use super::host_queue::HostQueue;
use super::injected_bugs::{FtlBug, planted};
use super::medium::Medium;
use super::pieces::{AccessRole, NONE, PageAccess};
use super::recovery::{RebuiltFtl, RecoveryReport, recover_timed};
use super::requests::{ArrivalMode, HostKind, HostReply, HostRequest, RunReport, ServiceCounts};
use super::settings::FtlSettings;
use super::table::{Location, PageRange};
use super::translation::{LOOK_AHEAD, Translation};
use crate::flash::{CommandCompletion, FlashArray, FlashDesign, LatencyParts, Step};
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

/// Flushes, and what they wait for.
#[derive(Debug, Default)]
struct WriteBarriers {
    /// Writes and trims that are not acknowledged.
    changes_under_way: u32,
    /// Flushes that are not: their numbers, and where they are among the requests.
    waiting: Vec<(u64, u32)>,
}

impl WriteBarriers {
    /// A flush comes. It waits for so many writes and trims.
    fn flush(&mut self, number: u64, id: u32) -> u32 {
        self.waiting.push((number, id));
        self.changes_under_way
    }

    /// A write or a trim is acknowledged. The flushes behind it, each of which waits for one less.
    fn change_done(&mut self, number: u64) -> Vec<u32> {
        self.changes_under_way -= 1;
        self.waiting.iter().filter(|(flush, _)| *flush > number).map(|(_, id)| *id).collect()
    }
}

/// Requests that are still to be issued.
struct LookAhead<I> {
    rest: I,
    next: VecDeque<HostRequest>,
}

impl<I: Iterator<Item = HostRequest>> LookAhead<I> {
    /// The next one.
    fn peek(&mut self, translation: &Translation) -> Option<&HostRequest> {
        if self.next.is_empty() {
            self.next.extend(self.rest.by_ref().take(LOOK_AHEAD));
            let page = |request: &HostRequest| (request.offset / u64::from(translation.layout().page_bytes)) as u32;
            let pages = self.next.iter().map(page);
            translation.look_ahead(pages.filter(|page| *page < translation.logical_pages()));
        }
        self.next.front()
    }
}

/// An FTL on its array.
#[derive(Debug)]
pub struct Device {
    pub(super) backend: Backend,
    pub(super) queue: HostQueue,
    requests: Vec<RequestState>,
    free_request: u32,
    outstanding: u32,
    admitted: u64,
    reads: JoinableReads,
    barriers: WriteBarriers,
    replies: VecDeque<HostReply>,
    controller_free_at: SimTime,
    pub(super) services: ServiceCounts,
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
        let mut device = Self {
            backend: Backend::new(design, translation, medium)?,
            queue: HostQueue::default(),
            requests: Vec::new(),
            free_request: NONE,
            outstanding: 0,
            admitted: 0,
            reads: JoinableReads::default(),
            barriers: WriteBarriers::default(),
            replies: VecDeque::new(),
            controller_free_at: SimTime::ZERO,
            services: ServiceCounts::default(),
        };
        device.backend.after_placement();
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
        let RebuiltFtl { translation, report, erase_first } = recover_timed(design, settings, &medium)?;
        for block in erase_first {
            medium.erase(block);
        }
        Ok((Self::with(design, translation, Some(medium))?, report))
    }

    /// The FTL.
    pub fn translation(&self) -> &Translation {
        &self.backend.translation
    }

    /// The array.
    pub fn array(&self) -> &FlashArray {
        &self.backend.array
    }

    /// What is on flash, if it is kept.
    pub fn medium(&self) -> Option<&Medium> {
        self.backend.medium.as_ref()
    }

    /// How requests were served.
    pub fn services(&self) -> ServiceCounts {
        self.services
    }

    /// Bytes that the host can use.
    pub fn bytes(&self) -> u64 {
        u64::from(self.backend.translation.logical_pages()) * u64::from(self.backend.translation.layout().page_bytes)
    }

    /// Whether the host's queue has a place.
    pub fn has_room(&self) -> bool {
        self.outstanding < self.backend.translation.settings().queue_depth
    }

    /// The next request that is done.
    pub fn take_reply(&mut self) -> Option<HostReply> {
        self.replies.pop_front()
    }

    /// Lets idle time pass until then, which is no later than the next event.
    pub fn pass(&mut self, until: SimTime) {
        self.backend.array.pass(until);
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
        assert!(self.outstanding == 0 && self.backend.array.next_at().is_none(), "a device is filled while it is idle");
        fill(&mut Filling::new(&mut self.backend.translation, self.backend.medium.as_mut()))?;
        self.backend.translation.reset_counts();
        self.backend.after_placement();
        Ok(())
    }

    /// Serves requests until all are done. Up to eight are taken from the iterator before they are issued.
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
        pace: ArrivalMode,
        mut on_reply: impl FnMut(&HostReply),
    ) -> Result<RunReport, FtlError> {
        let begin = self.backend.array.now();
        let mut report = RunReport::default();
        let mut requests = LookAhead { rest: requests.into_iter().fuse(), next: VecDeque::new() };
        loop {
            while self.has_room()
                && let Some(request) = requests.peek(&self.backend.translation)
            {
                let at = if pace == ArrivalMode::Timed { request.at.max(begin) } else { self.backend.array.now() };
                if at > self.backend.array.now() {
                    if self.backend.array.next_at().is_some_and(|next| next < at) {
                        break;
                    }
                    self.backend.array.pass(at);
                }
                let request = HostRequest { at: if pace == ArrivalMode::Timed { request.at } else { at }, ..*request };
                requests.next.pop_front();
                self.admit(request);
            }
            while let Some(reply) = self.replies.pop_front() {
                report.add(&reply);
                on_reply(&reply);
            }
            if self.has_room()
                && requests.peek(&self.backend.translation).is_some()
                && self.backend.array.next_at().is_none()
            {
                continue;
            }
            if !self.step()? && requests.peek(&self.backend.translation).is_none() {
                break;
            }
        }
        report.elapsed = self.backend.array.now() - begin;
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
        let arrived = request.at.min(self.backend.array.now());
        let state = RequestState { number, kind, bytes, arrived, pieces_left: 1, next_free: NONE };
        let id = self.add_request(state);
        match kind {
            HostKind::Flush => self.requests[id as usize].pieces_left += self.barriers.flush(number, id),
            HostKind::Write | HostKind::Trim => self.barriers.changes_under_way += 1,
            HostKind::Read => {}
        }
        match kind {
            HostKind::Read | HostKind::Write if bytes > 0 => self.cut(id, &request),
            HostKind::Trim => self.cut_trim(id, offset, bytes),
            _ => {}
        }
        // The request itself counted as a piece until all of them were there.
        let none = PageAccess {
            parts: waited_outside(&self.requests[id as usize], self.backend.array.now()),
            ..PageAccess::new(AccessRole::Free, id, self.backend.array.now())
        };
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

    /// Cuts a read or write into pieces of one super-page each.
    fn cut(&mut self, id: u32, request: &HostRequest) {
        let layout = *self.backend.translation.layout();
        let page_bytes = u64::from(layout.page_bytes);
        let flash_bytes = u64::from(layout.geometry.page_bytes);
        let (offset, end) = (request.offset, request.offset + request.bytes);
        let outside = waited_outside(&self.requests[id as usize], self.backend.array.now());
        let role = if request.kind == HostKind::Read { AccessRole::NewRead } else { AccessRole::NewWrite };
        for logical in offset / page_bytes..=(end - 1) / page_bytes {
            let first = offset.max(logical * page_bytes) - logical * page_bytes;
            let last = end.min((logical + 1) * page_bytes) - logical * page_bytes;
            let from = (first / flash_bytes) as u32;
            let mut piece = PageAccess::new(role, id, self.backend.array.now());
            piece.logical = logical as u32;
            piece.flash_pages = (from, last.div_ceil(flash_bytes) as u32 - from);
            piece.covered = covered(first, last, page_bytes);
            piece.stamp = request.stamp;
            piece.parts = outside;
            self.requests[id as usize].pieces_left += 1;
            let piece = self.backend.pieces.add(piece);
            self.delay(piece);
        }
    }

    /// Cuts a trim into records. Super-pages that it covers in part are left alone.
    fn cut_trim(&mut self, id: u32, offset: u64, bytes: u64) {
        let page_bytes = u64::from(self.backend.translation.layout().page_bytes);
        let (mut first, end) = (offset.div_ceil(page_bytes) as u32, ((offset + bytes) / page_bytes) as u32);
        let most = self.backend.translation.pages_per_record();
        while first < end {
            let count = most.min(end - first);
            let mut piece = PageAccess::new(AccessRole::Trim, id, self.backend.array.now());
            piece.range = PageRange { start: first, count };
            piece.parts = waited_outside(&self.requests[id as usize], self.backend.array.now());
            self.requests[id as usize].pieces_left += 1;
            let piece = self.backend.pieces.add(piece);
            self.queue.waiting.push_back(piece);
            self.queue.trims += 1;
            first += count;
        }
        self.pump();
    }

    /// The controller looks through its queues first, one request after the other.
    fn delay(&mut self, id: u32) {
        let settings = self.backend.translation.settings();
        let looks = match self.backend.pieces.get(id).role {
            AccessRole::NewRead if settings.read_bypass => self.reads.of_page.len(),
            AccessRole::NewWrite if settings.write_combining => self.queue.waiting.len() + self.queue.refused.len(),
            _ => 0,
        };
        let takes = settings.costs.queue_entry.times(looks as u64);
        if takes == SimTime::ZERO && self.controller_free_at <= self.backend.array.now() {
            return self.begin(id);
        }
        self.controller_free_at = self.controller_free_at.max(self.backend.array.now()) + takes;
        self.backend.array.wake_at(self.controller_free_at, id);
    }

    fn begin(&mut self, id: u32) {
        match self.backend.pieces.get(id).role {
            AccessRole::NewRead => self.begin_read(id),
            AccessRole::NewWrite => self.take_write(id),
            AccessRole::Buffered => {
                let now = self.backend.array.now();
                let mut piece = self.backend.pieces.remove(id);
                piece.has_waited(now);
                self.piece_of_request_done(&piece);
            }
            role => unreachable!("nothing with role {role:?} waits for the controller"),
        }
    }

    fn begin_read(&mut self, id: u32) {
        let settings = *self.backend.translation.settings();
        let PageAccess { logical, covered, .. } = *self.backend.pieces.get(id);
        let pending = if settings.write_combining { self.queue.pending(logical) } else { None };
        if pending.is_some_and(|write| self.backend.pieces.get(write).covered & covered == covered) {
            self.services.buffered_reads += 1;
            return self.serve_from_memory(id, settings.costs.buffered_read);
        }
        let Location::At(page) = self.backend.translation.location(logical) else {
            self.services.unmapped_reads += 1;
            return self.serve_from_memory(id, settings.costs.unmapped_read);
        };
        if settings.last_read_reuse && self.reads.last == Some(page) {
            self.services.buffered_reads += 1;
            return self.serve_from_memory(id, settings.costs.buffered_read);
        }
        if settings.read_bypass {
            if let Some(&other) = self.reads.of_page.get(&page) {
                self.services.joined_reads += 1;
                self.backend.pieces.get_mut(id).next = self.backend.pieces.get(other).next;
                self.backend.pieces.get_mut(other).next = id;
                return;
            }
            self.reads.of_page.insert(page, id);
        }
        self.services.flash_reads += 1;
        let now = self.backend.array.now();
        let piece = self.backend.pieces.get_mut(id);
        piece.role = AccessRole::Read;
        piece.page = page;
        piece.has_waited(now);
        let whole = settings.whole_page_reads || settings.read_bypass || settings.last_read_reuse;
        let (from, count) =
            if whole { (0, self.backend.translation.layout().flash_pages()) } else { piece.flash_pages };
        self.backend.submit_read(id, page, from, count, false);
    }

    fn serve_from_memory(&mut self, id: u32, takes: SimTime) {
        self.backend.pieces.get_mut(id).role = AccessRole::Buffered;
        if takes == SimTime::ZERO {
            self.begin(id);
        } else {
            self.backend.array.wake_at(self.backend.array.now() + takes, id);
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
        match self.backend.array.step() {
            Some(Step::Progress(_)) => {}
            Some(Step::Timer(_, id)) => self.begin(id),
            Some(Step::Finished(finished)) => self.command_done(finished)?,
            None => return self.unblock(),
        }
        Ok(true)
    }

    fn command_done(&mut self, finished: CommandCompletion) -> Result<(), FtlError> {
        let now = self.backend.array.now();
        let piece = self.backend.pieces.get_mut(finished.tag);
        piece.parts_left -= 1;
        if planted(FtlBug::AcknowledgedByFirstDie) && piece.role == AccessRole::Program {
            self.acknowledge_early(finished.tag);
        }
        let piece = self.backend.pieces.get_mut(finished.tag);
        if piece.parts_left > 0 {
            return Ok(());
        }
        piece.parts += finished.parts;
        piece.stage = finished.parts;
        piece.mark = now;
        match piece.role {
            AccessRole::Read => self.read_done(finished.tag),
            AccessRole::ModifyRead => self.place_begun(finished.tag),
            AccessRole::Program | AccessRole::Trim => self.write_done(finished.tag),
            AccessRole::Summary => self.backend.summary_done(finished.tag),
            AccessRole::CopyRead | AccessRole::Copy | AccessRole::RecordCopy => {
                self.backend.copy_done(finished.tag);
                self.pump();
            }
            AccessRole::Erase => {
                let block = self.backend.erase_done(finished.tag)?;
                self.forget_reads_of(block);
                self.pump();
            }
            AccessRole::EraseAgain => self.backend.erased_again(finished.tag),
            role => unreachable!("nothing with role {role:?} is on the array"),
        }
        Ok(())
    }

    fn read_done(&mut self, id: u32) {
        let page = self.backend.pieces.get(id).page;
        let settings = self.backend.translation.settings();
        if settings.read_bypass {
            self.reads.of_page.remove(&page);
        }
        if settings.last_read_reuse {
            self.reads.last = Some(page);
        }
        self.chain_done(id);
    }

    /// A block is erased: nothing of it may be served from memory.
    pub(super) fn forget_reads_of(&mut self, block: u32) {
        if self.reads.last.is_some_and(|page| self.backend.translation.layout().block_of(page) == block) {
            self.reads.last = None;
        }
    }

    /// A piece of the host is done, and all that joined it.
    pub(super) fn chain_done(&mut self, id: u32) {
        let now = self.backend.array.now();
        let piece = self.backend.pieces.remove(id);
        let mut next = piece.next;
        if piece.request != NONE {
            self.piece_of_request_done(&piece);
        }
        while next != NONE {
            let mut joined = self.backend.pieces.remove(next);
            next = joined.next;
            joined.has_shared(now, &piece.stage);
            if joined.request != NONE {
                self.piece_of_request_done(&joined);
            }
        }
    }

    /// One piece of a request is done. With the last one the request is, whose time went where that piece's did.
    pub(super) fn piece_of_request_done(&mut self, piece: &PageAccess) {
        let state = &mut self.requests[piece.request as usize];
        state.pieces_left -= 1;
        if state.pieces_left > 0 {
            return;
        }
        let RequestState { number, kind, bytes, arrived, .. } = *state;
        state.next_free = self.free_request;
        self.free_request = piece.request;
        self.outstanding -= 1;
        let finished = self.backend.array.now();
        assert!(piece.parts.total() == finished - arrived, "the parts of a latency do not add up to it");
        self.replies.push_back(HostReply { number, kind, bytes, arrived, finished, parts: piece.parts });
        match kind {
            HostKind::Read => {}
            HostKind::Write | HostKind::Trim => {
                for flush in self.barriers.change_done(number) {
                    let parts = waited_outside(&self.requests[flush as usize], finished);
                    let last = PageAccess { parts, ..PageAccess::new(AccessRole::Free, flush, finished) };
                    self.piece_of_request_done(&last);
                }
            }
            HostKind::Flush => self.barriers.waiting.retain(|(flush, _)| *flush != number),
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

fn waited_outside(request: &RequestState, now: SimTime) -> LatencyParts {
    LatencyParts { queue: now - request.arrived, ..LatencyParts::default() }
}
