//! A disk at work: discrete events, one thread, equal inputs, equal results.
//!
//! Events are arrivals, completions, and moments at which the head is free. Then the queue's policy decides what it does
//! next. Reads that the buffer has, and writes that it takes, need no head. With nothing else to do, the head reads on
//! after a read, and then brings written data to the platters.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::mechanism::{Arm, Mechanism, Positioning};
use super::model::{DiskModel, ModelError, QueuePolicy};
use super::read_cache::ReadCache;
use super::request::{DiskCompletion, DiskRefusal, DiskRequest, DiskService};
use super::write_buffer::{WriteBuffer, WriteExtent};
use crate::trace::{Access, SECTOR_BYTES};

/// Sectors of the write buffer that reach the platters in one piece: reads wait for no more, and room becomes free early.
const MOST_DRAIN_SECTORS: u64 = 1024;

/// What the head did so far, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskActivity {
    /// The arm moved.
    pub seek_ns: u64,
    /// The head waited for a sector.
    pub rotation_ns: u64,
    /// The head read or wrote what was asked for, or read ahead.
    pub transfer_ns: u64,
    /// Extents of the write buffer, or parts of them, that reached the platters.
    pub drains: u64,
}

/// A command in the disk.
#[derive(Clone, Copy, Debug)]
struct DiskCommand {
    request: DiskRequest,
    /// When the disk took it from the host. A disk knows nothing of what waits at the host.
    taken_ns: u64,
    /// When the controller has understood it.
    ready_ns: u64,
    /// Its number, by order of arrival.
    number: u64,
    /// A write that waits for room in the buffer, not for the head.
    needs_room: bool,
}

/// A flush that waits for the platters.
#[derive(Clone, Copy, Debug)]
struct WaitingFlush {
    request: DiskRequest,
    /// When the disk took it.
    taken_ns: u64,
    /// Its number, after that of each write that it waits for.
    number: u64,
}

/// What the head reads beyond the last read.
#[derive(Clone, Copy, Debug)]
struct ReadAhead {
    /// When the first sector is under the head.
    begin_ns: u64,
    /// The first sector.
    from: u64,
    /// The sector at which it stops.
    limit: u64,
    /// When it stops.
    end_ns: u64,
}

/// What the head does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// The command with this index.
    Command(usize),
    /// The extent of the write buffer with this index.
    Extent(usize),
}

/// A completion, ordered by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due(u64, u64, DiskCompletion);

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Times of the model, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct CommandTimes {
    read_hit: u64,
    read_miss: u64,
    write_hit: u64,
    write_miss: u64,
    longest_wait: u64,
    interface_sector: f64,
}

impl CommandTimes {
    fn of(model: &DiskModel) -> Self {
        let in_ns = |time_ms: f64| (time_ms * 1e6).round() as u64;
        Self {
            read_hit: in_ns(model.overheads.read_hit_ms),
            read_miss: in_ns(model.overheads.read_miss_ms),
            write_hit: in_ns(model.overheads.write_hit_ms),
            write_miss: in_ns(model.overheads.write_miss_ms),
            longest_wait: in_ns(model.queue.longest_wait_ms),
            interface_sector: SECTOR_BYTES as f64 * 1e9 / model.interface_bytes_per_s,
        }
    }

    fn interface_ns(&self, sectors: u64) -> u64 {
        (sectors as f64 * self.interface_sector).round() as u64
    }
}

/// A simulated disk.
///
/// ```
/// use fawn_gordon::disk::{DiskDevice, DiskRequest, presets};
/// use fawn_gordon::trace::Access;
///
/// let mut disk = DiskDevice::new(&presets::sata_1tb_2008()).unwrap();
/// let read = DiskRequest { id: 1, arrival_ns: 0, access: Access::Read, sector: 1_000_000, sectors: 8 };
/// disk.submit(read).unwrap();
/// let done = disk.next_completion(u64::MAX).unwrap();
/// assert!((1_000_000..30_000_000).contains(&done.response_ns()));
/// ```
#[derive(Clone, Debug)]
pub struct DiskDevice {
    mechanism: Mechanism,
    times: CommandTimes,
    depth: usize,
    policy: QueuePolicy,
    read_ahead_sectors: u64,
    read_watermark: f64,
    cache: ReadCache,
    buffer: WriteBuffer,
    /// Commands that the disk has not taken yet.
    host: VecDeque<DiskRequest>,
    /// Commands that wait for the head, or for room.
    commands: Vec<DiskCommand>,
    /// Flushes that wait for the platters.
    flushes: Vec<WaitingFlush>,
    due: BinaryHeap<Reverse<Due>>,
    arm: Arm,
    read_ahead: Option<ReadAhead>,
    now_ns: u64,
    last_arrival_ns: u64,
    head_free_ns: u64,
    interface_free_ns: u64,
    number: u64,
    activity: DiskActivity,
}

impl DiskDevice {
    /// A disk at rest, at time 0, with the arm at the outer edge.
    ///
    /// # Errors
    /// What of the model makes no sense.
    pub fn new(model: &DiskModel) -> Result<Self, ModelError> {
        Ok(Self {
            mechanism: Mechanism::new(model)?,
            times: CommandTimes::of(model),
            depth: model.queue.depth as usize,
            policy: model.queue.policy,
            read_ahead_sectors: u64::from(model.buffer.read_ahead_sectors.min(model.buffer.segment_sectors)),
            read_watermark: model.buffer.read_watermark,
            cache: ReadCache::new(model.buffer.segments, model.buffer.segment_sectors),
            buffer: WriteBuffer::new(model.buffer.write_sectors, model.buffer.write_extents),
            host: VecDeque::new(),
            commands: Vec::new(),
            flushes: Vec::new(),
            due: BinaryHeap::new(),
            arm: Arm::default(),
            read_ahead: None,
            now_ns: 0,
            last_arrival_ns: 0,
            head_free_ns: 0,
            interface_free_ns: 0,
            number: 0,
            activity: DiskActivity::default(),
        })
    }

    /// How many sectors the disk has.
    pub fn sectors(&self) -> u64 {
        self.mechanism.layout().sectors()
    }

    /// How far it is simulated, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// What the head did so far.
    pub fn activity(&self) -> DiskActivity {
        self.activity
    }

    /// Commands that are not done.
    pub fn pending(&self) -> usize {
        self.host.len() + self.outstanding()
    }

    /// Issues a command, none before another.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRefusal> {
        let (arrival_ns, now_ns) = (request.arrival_ns, self.now_ns.max(self.last_arrival_ns));
        if arrival_ns < now_ns {
            return Err(DiskRefusal::Past { arrival_ns, now_ns });
        }
        let DiskRequest { sector, sectors, .. } = request;
        let disk_sectors = self.sectors();
        let is_on_disk = sector.checked_add(sectors).is_some_and(|end| end <= disk_sectors);
        if !is_on_disk || (sectors == 0 && request.access != Access::Flush) {
            return Err(DiskRefusal::Extent { sector, sectors, disk_sectors });
        }
        self.last_arrival_ns = arrival_ns;
        self.host.push_back(request);
        Ok(())
    }

    /// The next command that is done by `until_ns`. Nothing is decided at `until_ns` or later, so that commands which
    /// arrive then can still be issued. `None` with `u64::MAX`: all is done, and on the platters.
    pub fn next_completion(&mut self, until_ns: u64) -> Option<DiskCompletion> {
        loop {
            let due_ns = self.due.peek().map(|Reverse(due)| due.0);
            let has_room = self.outstanding() < self.depth;
            let arrival_ns = self.host.front().filter(|_| has_room).map(|next| next.arrival_ns.max(self.now_ns));
            let head_ns = self.head_event_ns();
            let first_ns = [due_ns, arrival_ns, head_ns].into_iter().flatten().min()?;
            if first_ns > until_ns {
                return None;
            }
            assert!(first_ns >= self.now_ns, "time does not go back");
            if due_ns == Some(first_ns) {
                self.now_ns = first_ns;
                return self.due.pop().map(|Reverse(due)| due.2);
            }
            if arrival_ns == Some(first_ns) {
                self.now_ns = first_ns;
                if let Some(request) = self.host.pop_front() {
                    self.take(request);
                }
            } else if first_ns == until_ns {
                return None;
            } else {
                self.now_ns = first_ns;
                self.head_event();
            }
        }
    }

    /// Commands that the disk has.
    fn outstanding(&self) -> usize {
        self.commands.len() + self.flushes.len() + self.due.len()
    }

    /// A command arrives at the disk.
    fn take(&mut self, request: DiskRequest) {
        self.number += 1;
        match request.access {
            Access::Read => {
                if !self.serve_from_buffer(&request, self.now_ns) {
                    self.enqueue(request, self.now_ns + self.times.read_miss, false);
                }
            }
            Access::Write => self.take_write(request),
            Access::Flush => match self.buffer.oldest() {
                Some(_) => {
                    self.flushes.push(WaitingFlush { request, taken_ns: self.now_ns, number: self.number });
                }
                None => self.finish_control(request),
            },
            Access::Discard => self.finish_control(request),
        }
    }

    fn take_write(&mut self, request: DiskRequest) {
        self.forget(&request);
        if !self.buffer.can_take(request.sectors) {
            let command_ns = self.now_ns + self.times.write_miss;
            // The head may begin as soon as the first sector is there.
            let begin_ns = command_ns.max(self.interface_free_ns);
            self.interface_free_ns = begin_ns + self.times.interface_ns(request.sectors);
            self.enqueue(request, begin_ns + self.times.interface_ns(1), false);
        } else if !self.buffer_write(&request, self.now_ns, self.number) {
            self.enqueue(request, self.now_ns, true);
        }
    }

    fn enqueue(&mut self, request: DiskRequest, ready_ns: u64, needs_room: bool) {
        let (taken_ns, number) = (self.now_ns, self.number);
        self.commands.push(DiskCommand { request, taken_ns, ready_ns, number, needs_room });
    }

    /// Puts a write into the buffer, at `from_ns`. `false` if there is no room.
    fn buffer_write(&mut self, request: &DiskRequest, from_ns: u64, number: u64) -> bool {
        let begin_ns = (from_ns + self.times.write_hit).max(self.interface_free_ns);
        let finish_ns = begin_ns + self.times.interface_ns(request.sectors);
        let extent = WriteExtent { first: request.sector, end: request.end(), ready_ns: finish_ns, oldest: number };
        if !self.buffer.push(extent) {
            return false;
        }
        self.interface_free_ns = finish_ns;
        self.finish(*request, finish_ns, DiskService::WriteHit, Positioning::default(), 0);
        true
    }

    /// Drops what the segments have of sectors that are written.
    fn forget(&mut self, request: &DiskRequest) {
        let reads_into = |ahead: &ReadAhead| ahead.from < request.end() && request.sector < ahead.limit;
        if self.read_ahead.is_some_and(|ahead| reads_into(&ahead)) {
            self.stop_read_ahead(self.now_ns);
        }
        self.cache.forget(request.sector, request.end());
    }

    /// Serves a read without moving the arm, if that is possible: from a segment, from the write buffer, or from what
    /// the head is reading ahead.
    fn serve_from_buffer(&mut self, request: &DiskRequest, from_ns: u64) -> bool {
        let DiskRequest { sector, sectors, .. } = *request;
        self.advance_read_ahead(self.now_ns);
        let begin_ns = (from_ns + self.times.read_hit).max(self.interface_free_ns);
        let transfer_ns = self.times.interface_ns(sectors);
        if self.cache.has(sector, request.end()) || self.buffer.has(sector, request.end()) {
            self.interface_free_ns = begin_ns + transfer_ns;
            self.finish(*request, self.interface_free_ns, DiskService::ReadHit, Positioning::default(), 0);
            return true;
        }
        let Some(ahead) = self.read_ahead else { return false };
        let first = self.cache.first_of(ahead.from).unwrap_or(ahead.from);
        if !(first..=ahead.limit).contains(&sector) {
            return false;
        }
        // A stream must not keep the head for as long as it lasts.
        if self.is_any_overdue() {
            return false;
        }
        // The head reads on until it has these sectors, and ahead from there.
        let end = request.end();
        let read = self.mechanism.transfer(ahead.begin_ns, ahead.from, end.max(ahead.from + 1) - ahead.from, false);
        let limit = ahead.limit.max((end + self.read_ahead_sectors).min(self.sectors()));
        let whole = self.mechanism.transfer(ahead.begin_ns, ahead.from, limit - ahead.from, false);
        self.read_ahead = Some(ReadAhead { limit, end_ns: whole.end_ns, ..ahead });
        self.head_free_ns = self.head_free_ns.max(read.end_ns);
        let finish_ns = (begin_ns + transfer_ns).max(read.end_ns + self.times.interface_ns(1));
        self.interface_free_ns = finish_ns;
        self.finish(*request, finish_ns, DiskService::ReadHit, Positioning::default(), 0);
        true
    }

    /// Whether what the write buffer has must reach the platters before anything else can go on.
    fn must_drain(&self) -> bool {
        !self.flushes.is_empty() || self.commands.iter().any(|command| command.needs_room)
    }

    /// When the head is free and has something to do.
    fn head_event_ns(&self) -> Option<u64> {
        let at_ns = |ns: u64| ns.max(self.head_free_ns).max(self.now_ns);
        if self.buffer.is_draining() {
            return Some(at_ns(0));
        }
        let commands = self.commands.iter().filter(|command| !command.needs_room).map(|command| command.ready_ns);
        let extents = self.buffer.extents().iter().map(|extent| extent.ready_ns);
        if self.must_drain() {
            return commands.chain(extents).min().map(at_ns);
        }
        let idle_ns = self.read_ahead.map_or(0, |ahead| ahead.end_ns);
        commands.min().or_else(|| extents.min().map(|ready_ns| ready_ns.max(idle_ns))).map(at_ns)
    }

    /// The head is free: what drained has arrived, and the next work begins.
    fn head_event(&mut self) {
        if self.buffer.is_draining() {
            self.buffer.drained();
            self.finish_flushes();
        }
        self.retry();
        // A read of what is read ahead may have taken the head.
        if self.head_free_ns > self.now_ns || !self.has_work() {
            return;
        }
        self.stop_read_ahead(self.now_ns);
        match self.choose() {
            Some(Choice::Command(index)) => {
                let command = self.commands.remove(index);
                self.serve(&command);
            }
            Some(Choice::Extent(index)) => self.drain(index),
            None => {}
        }
    }

    /// Commands that no longer need the head: writes for which there is room, reads of what was read meanwhile.
    fn retry(&mut self) {
        let mut index = 0;
        while let Some(command) = self.commands.get(index).copied() {
            let is_served = if command.needs_room {
                self.buffer_write(&command.request, self.now_ns.max(command.ready_ns), command.number)
            } else if command.request.access == Access::Read && command.ready_ns <= self.now_ns {
                let from_ns = self.now_ns.saturating_sub(self.times.read_hit).max(command.request.arrival_ns);
                self.serve_from_buffer(&command.request, from_ns)
            } else {
                false
            };
            if is_served {
                self.commands.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// Whether there is something for the head to do besides reading ahead.
    fn has_work(&self) -> bool {
        let reads_ahead = self.read_ahead.is_some_and(|ahead| ahead.end_ns > self.now_ns);
        let may_drain = self.must_drain() || !reads_ahead;
        self.commands.iter().any(|command| !command.needs_room) || (may_drain && !self.buffer.extents().is_empty())
    }

    /// Whether a command has been in the disk for so long that it comes first.
    fn is_overdue(&self, taken_ns: u64) -> bool {
        self.now_ns.saturating_sub(taken_ns) > self.times.longest_wait
    }

    /// Whether anything waits for the head that comes first by now.
    fn is_any_overdue(&self) -> bool {
        self.commands.iter().any(|command| self.is_overdue(command.taken_ns))
            || self.flushes.iter().any(|flush| self.is_overdue(flush.taken_ns))
    }

    /// What the head does next, by the queue's policy. What has waited for too long comes first.
    fn choose(&self) -> Option<Choice> {
        let for_head = || self.commands.iter().enumerate().filter(|(_, command)| !command.needs_room);
        let oldest = for_head().min_by_key(|(_, command)| command.number);
        let needs_drain = self.commands.iter().filter(|command| command.needs_room);
        let needs_drain = needs_drain.map(|command| (command.number, command.taken_ns));
        let needs_drain = needs_drain.chain(self.flushes.iter().map(|flush| (flush.number, flush.taken_ns))).min();
        let is_first = |taken_ns: u64| self.policy == QueuePolicy::FirstCome || self.is_overdue(taken_ns);
        let drains_first = match (oldest, needs_drain) {
            (Some((index, command)), other) if other.is_none_or(|(number, _)| command.number < number) => {
                if is_first(command.taken_ns) {
                    return Some(Choice::Command(index));
                }
                false
            }
            (_, Some((_, taken_ns))) => is_first(taken_ns) && !self.buffer.extents().is_empty(),
            _ => false,
        };
        let may_drain = self.must_drain() || oldest.is_none();
        let commands = for_head().filter(|_| !drains_first).map(|(index, command)| {
            let is_write = command.request.access == Access::Write;
            (self.cost(command.request.sector, command.ready_ns, is_write), command.number, Choice::Command(index))
        });
        let extents = self.buffer.extents().iter().enumerate().filter(|_| may_drain).map(|(index, extent)| {
            (self.cost(extent.first, extent.ready_ns, true), extent.oldest, Choice::Extent(index))
        });
        commands.chain(extents).min_by_key(|(cost, number, _)| (*cost, *number)).map(|(_, _, choice)| choice)
    }

    /// What it costs to begin at a sector: cylinders or nanoseconds, as the policy counts.
    fn cost(&self, sector: u64, ready_ns: u64, is_write: bool) -> u64 {
        match self.policy {
            QueuePolicy::FirstCome => 0,
            QueuePolicy::ShortestSeek => u64::from(self.mechanism.distance(self.arm, sector)),
            QueuePolicy::ShortestPositioning => {
                let begin_ns = ready_ns.max(self.now_ns);
                begin_ns - self.now_ns + self.mechanism.positioning(self.arm, begin_ns, sector, is_write).total_ns()
            }
        }
    }

    /// Moves the arm and transfers. Whence the transfer ends, and what moving took.
    fn use_head(&mut self, begin_ns: u64, sector: u64, sectors: u64, is_write: bool) -> (u64, Positioning, u64) {
        assert!(begin_ns >= self.head_free_ns, "the head does one thing at a time");
        let positioning = self.mechanism.positioning(self.arm, begin_ns, sector, is_write);
        let there_ns = begin_ns + positioning.total_ns();
        let transfer = self.mechanism.transfer(there_ns, sector, sectors, is_write);
        self.arm = transfer.arm;
        self.head_free_ns = transfer.end_ns;
        self.activity.seek_ns += positioning.seek_ns;
        self.activity.rotation_ns += positioning.rotation_ns;
        self.activity.transfer_ns += transfer.end_ns - there_ns;
        (transfer.end_ns, positioning, transfer.end_ns - there_ns)
    }

    /// The head serves a command.
    fn serve(&mut self, command: &DiskCommand) {
        let begin_ns = command.ready_ns.max(self.now_ns);
        self.stop_read_ahead(begin_ns);
        let request = command.request;
        if request.access == Access::Read {
            // What a segment has of the first sectors is not read again.
            let cached = self.cache.leading(request.sector, request.end()).min(request.sectors - 1);
            let (first, sectors) = (request.sector + cached, request.sectors - cached);
            let (end_ns, positioning, transfer_ns) = self.use_head(begin_ns, first, sectors, false);
            self.cache.insert(first, request.end());
            // Sectors cross the interface as they are read, once there are enough of them.
            let enough_ns = end_ns - transfer_ns + (transfer_ns as f64 * self.read_watermark) as u64;
            let cross_ns = enough_ns.max(self.interface_free_ns) + self.times.interface_ns(sectors);
            let finish_ns = cross_ns.max(end_ns + self.times.interface_ns(1));
            self.interface_free_ns = finish_ns;
            self.finish(request, finish_ns, DiskService::ReadMiss, positioning, transfer_ns);
            self.begin_read_ahead(request.end());
        } else {
            let (end_ns, positioning, transfer_ns) = self.use_head(begin_ns, request.sector, request.sectors, true);
            let interface_ns = command.ready_ns + self.times.interface_ns(request.sectors - 1);
            self.finish(request, end_ns.max(interface_ns), DiskService::WriteMiss, positioning, transfer_ns);
        }
    }

    /// The head brings an extent of the write buffer, or a part of it, to the platters.
    fn drain(&mut self, index: usize) {
        let extent = self.buffer.drain(index, MOST_DRAIN_SECTORS);
        let begin_ns = extent.ready_ns.max(self.now_ns);
        self.stop_read_ahead(begin_ns);
        self.use_head(begin_ns, extent.first, extent.end - extent.first, true);
        self.activity.drains += 1;
    }

    /// From now on the head reads what follows the last read.
    fn begin_read_ahead(&mut self, from: u64) {
        let limit = (from + self.read_ahead_sectors).min(self.sectors());
        if limit <= from {
            return;
        }
        let begin_ns = self.head_free_ns;
        let begin_ns = begin_ns + self.mechanism.positioning(self.arm, begin_ns, from, false).total_ns();
        let end_ns = self.mechanism.transfer(begin_ns, from, limit - from, false).end_ns;
        self.read_ahead = Some(ReadAhead { begin_ns, from, limit, end_ns });
    }

    /// Gives the segments what is read ahead by `at_ns`, and ends reading ahead if that is all.
    fn advance_read_ahead(&mut self, at_ns: u64) {
        let Some(ahead) = self.read_ahead.filter(|ahead| ahead.begin_ns <= at_ns) else { return };
        let ReadAhead { begin_ns, from, limit, .. } = ahead;
        let read = self.mechanism.transfer_until(begin_ns, from, limit - from, false, at_ns);
        if read.sectors == 0 {
            return;
        }
        let next = from + read.sectors;
        self.cache.insert(from, next);
        let whole = self.mechanism.transfer(begin_ns, from, read.sectors, false);
        self.activity.transfer_ns += whole.end_ns - begin_ns;
        self.arm = whole.arm;
        self.read_ahead = (next < limit).then(|| {
            let switch_ns = self.mechanism.positioning(whole.arm, whole.end_ns, next, false).total_ns();
            ReadAhead { begin_ns: whole.end_ns + switch_ns, from: next, ..ahead }
        });
    }

    /// Ends reading ahead at `at_ns`. What is whole by then goes to the segments.
    fn stop_read_ahead(&mut self, at_ns: u64) {
        self.advance_read_ahead(at_ns);
        self.read_ahead = None;
    }

    fn finish_control(&mut self, request: DiskRequest) {
        let finish_ns = self.now_ns + self.times.write_hit;
        self.finish(request, finish_ns, DiskService::Control, Positioning::default(), 0);
    }

    /// Ends flushes whose writes are all on the platters.
    fn finish_flushes(&mut self) {
        let oldest = self.buffer.oldest().unwrap_or(u64::MAX);
        let (done, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.flushes).into_iter().partition(|flush| flush.number < oldest);
        self.flushes = waiting;
        for flush in done {
            self.finish_control(flush.request);
        }
    }

    fn finish(
        &mut self,
        request: DiskRequest,
        finish_ns: u64,
        service: DiskService,
        positioning: Positioning,
        transfer_ns: u64,
    ) {
        let Positioning { seek_ns, rotation_ns } = positioning;
        let completion = DiskCompletion { request, finish_ns, service, seek_ns, rotation_ns, transfer_ns };
        self.due.push(Reverse(Due(finish_ns, request.id, completion)));
    }
}
