//! Reads by `io_uring`. With those of `uring`, the only module of this crate with `unsafe` code.
//!
//! - `SINGLE_ISSUER | DEFER_TASKRUN`: completions are made when we ask, not by interrupting us. The ring starts
//!   disabled and belongs to the thread that submits first, so that a reader can be made on one thread and used on
//!   another. Kernels before 6.1 get an ordinary ring.
//! - Registered files: a sparse table, filled as files are first read, cleared as they are removed: a registered file
//!   keeps its space on the device. Registered buffers: one stretch of memory, [`SMALL_PAGES`] pages a read in flight.
//!   Where either is refused (`RLIMIT_MEMLOCK`), reads go by descriptor or into plain memory.
//! - The ring signals an eventfd. It is kept quiet while completions are being taken, so that they are announced once.
//!   (The ring's own descriptor in `epoll` hangs with `DEFER_TASKRUN`.)
//! - A read for which the system is short of descriptors or memory is tried again after a pause, whose end the ring itself
//!   announces, and is refused in the end: the thread never waits for it.
#![allow(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use fawn_store::flash::{FileId, FlashError};
use fawn_store::page::{PAGE_BYTES, Page};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use rustix::io::Errno;
use zerocopy::FromZeros as _;

use super::options::Issuer;
use super::request::{ReadRequest, SMALL_PAGES};
use crate::files::Files;
use crate::os::descriptors;
use crate::os::eventfd::EventFd;
use crate::os::open_file::OpenFile;
use crate::os::retry::{PAUSE, TRIES, is_transient, is_transient_in_ring, retry};

/// So many entries are handed to the kernel without waiting for the caller's [`submit`](RingReader::submit), or an eighth of what
/// it works on, if that is more: a device that has nothing to do while the rest of a batch is planned is time lost.
const TOGETHER: usize = 4;
const TOGETHER_SHARE: usize = 8;
/// Files that can be registered, 8 bytes each; the second where `RLIMIT_NOFILE` forbids the first. Further files are
/// read by descriptor.
const TABLE_FILES: [u32; 2] = [16_384, 1024];
/// How long nothing is handed over when the kernel is short of memory.
const SHORT_OF_MEMORY: Duration = Duration::from_millis(1);
/// The pause before a read is tried again, as the kernel takes it: at submission, from this very memory.
static PAUSE_SPEC: types::Timespec = types::Timespec::new().nsec(PAUSE.subsec_nanos());
/// Set in what an entry is called by that ends the pause of a slot.
const ENDS_PAUSE: u64 = 1 << 32;

pub struct RingReader {
    files: Arc<Files>,
    signal: EventFd,
    uring: IoUring,
    /// Made disabled, and not yet enabled by the first submission.
    disabled: bool,
    table: FileTable,
    /// `SMALL_PAGES` pages for each slot.
    small: Buffer,
    registered_buffers: bool,
    slots: Vec<ReadSlot>,
    free: Vec<u32>,
    waiting: VecDeque<ReadRequest>,
    /// Failed before they reached the ring.
    failed: Vec<(u64, FlashError)>,
    /// Entries pushed to the ring since the last submission.
    unsubmitted: usize,
    /// Slots whose reads wait until they are tried again.
    pausing: usize,
    /// The kernel was short of memory at the last submission.
    short: bool,
}

/// A read in flight, or room for one.
#[derive(Default)]
struct ReadSlot {
    request: Option<ReadRequest>,
    /// Bytes read so far; the device may stop short.
    done: usize,
    /// How often the system was short of something for it.
    tries: u32,
    /// Where the pages go when they do not fit the slot's own.
    large: Option<Buffer>,
    /// The file, unless it is registered.
    open: Option<Arc<OpenFile>>,
}

/// Pages that the kernel may write to while we do not look.
struct Buffer {
    start: NonNull<Page>,
    pages: usize,
}

// SAFETY: a buffer owns its memory, like a `Box<[Page]>`.
unsafe impl Send for Buffer {}

impl Buffer {
    fn zeroed(pages: usize) -> Option<Self> {
        let memory: Box<[Page]> = Page::new_vec_zeroed(pages).ok()?.into_boxed_slice();
        let start = NonNull::new(Box::into_raw(memory).cast::<Page>())?;
        Some(Self { start, pages })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let memory = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.pages);
        // SAFETY: `zeroed` took exactly this slice out of its box, and nobody else frees it.
        drop(unsafe { Box::from_raw(memory) });
    }
}

/// Which files are registered with the ring, and where.
#[derive(Default)]
struct FileTable {
    /// The place of each file. Its descriptor is held too: what the kernel lets go of is never the last of a file.
    places: HashMap<FileId, (u32, Arc<OpenFile>)>,
    /// Places of files that were removed.
    free: Vec<u32>,
    next: u32,
    /// 0 where the kernel has no such table.
    capacity: u32,
    /// [`Files::removals`] when the table was last swept.
    removals: u64,
}

/// How an entry names its file.
enum FileRef {
    Registered(u32),
    Open(Arc<OpenFile>),
}

impl RingReader {
    pub fn new(files: Arc<Files>, depth: u32, issuer: Issuer) -> Result<Self, FlashError> {
        let refused =
            |what: &str, error: io::Error| FlashError::Io(format!("io_uring is not available ({what}): {error}"));
        let (ring, disabled) = build(depth, issuer).map_err(|error| refused("setup", error))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(|error| refused("probe", error))?;
        if !probe.is_supported(opcode::Read::CODE) {
            return Err(refused("read", io::ErrorKind::Unsupported.into()));
        }
        let signal = EventFd::new()?;
        let raw = signal.as_fd().as_raw_fd();
        ring.submitter().register_eventfd(raw).map_err(|error| refused("eventfd", error))?;
        let pages = depth as usize * SMALL_PAGES;
        let small = Buffer::zeroed(pages).ok_or_else(|| refused("buffers", io::ErrorKind::OutOfMemory.into()))?;
        let taken = |capacity: &u32| ring.submitter().register_files_sparse(*capacity).is_ok();
        let capacity = TABLE_FILES.into_iter().find(taken).unwrap_or(0);
        let table = FileTable { capacity, removals: files.removals(), ..FileTable::default() };
        let registered_buffers = register_buffer(&ring, &small);
        tracing::debug!(depth, disabled, registered_files = table.capacity, registered_buffers, "io_uring is set up");
        Ok(Self {
            files,
            signal,
            uring: ring,
            disabled,
            table,
            small,
            registered_buffers,
            slots: (0..depth).map(|_| ReadSlot::default()).collect(),
            free: (0..depth).rev().collect(),
            waiting: VecDeque::new(),
            failed: Vec::new(),
            unsubmitted: 0,
            pausing: 0,
            short: false,
        })
    }

    #[inline]
    pub fn push(&mut self, request: ReadRequest) {
        self.waiting.push_back(request);
        self.refill();
    }

    /// Starts what waits, as far as there is room.
    #[inline]
    fn refill(&mut self) {
        while !self.waiting.is_empty() {
            let Some(slot) = self.free.pop() else { return };
            let request = self.waiting.pop_front().expect("something waits");
            self.start(slot, request);
        }
    }

    #[inline]
    pub fn submit(&mut self) -> Result<(), FlashError> {
        self.enter(0)
    }

    pub fn complete(
        &mut self,
        mut done: impl FnMut(u64, Result<&mut [Page], FlashError>),
    ) -> Result<usize, FlashError> {
        let before = self.in_flight();
        if before == 0 {
            self.table.sweep(&self.uring, &self.files);
            return Ok(0);
        }
        self.tell_failed(&mut done);
        loop {
            self.uring.completion().disable_eventfd();
            self.drain(&mut done)?;
            self.uring.completion().enable_eventfd();
            fence(Ordering::SeqCst);
            // What came meanwhile was not announced; what comes from here on is. So one more look is enough, also when
            // the flag stays set: the kernel sets it after it has queued the work, and may do so when it is done already.
            if !self.uring.completion().is_empty() || self.uring.submission().taskrun() {
                self.drain(&mut done)?;
            }
            if self.unsubmitted == 0 || self.short {
                break;
            }
        }
        Ok(before - self.in_flight())
    }

    pub fn take(
        &mut self,
        most: usize,
        mut done: impl FnMut(u64, Result<&mut [Page], FlashError>),
    ) -> Result<usize, FlashError> {
        let before = self.in_flight();
        self.tell_failed(&mut done);
        if self.uring.completion().is_empty() {
            self.enter(0)?;
        }
        for _ in 0..most {
            let Some(entry) = self.uring.completion().next() else { break };
            self.completed((entry.user_data(), entry.result()), &mut done);
        }
        if self.in_flight() == 0 {
            // As `complete` leaves it.
            self.uring.completion().enable_eventfd();
        }
        Ok(before - self.in_flight())
    }

    fn tell_failed(&mut self, done: &mut impl FnMut(u64, Result<&mut [Page], FlashError>)) {
        for (token, error) in self.failed.drain(..) {
            done(token, Err(error));
        }
    }

    /// Runs what the kernel deferred (without a system call when there is nothing), and deals with what has completed.
    fn drain(&mut self, done: &mut impl FnMut(u64, Result<&mut [Page], FlashError>)) -> Result<(), FlashError> {
        self.enter(0)?;
        while let Some(entry) = { self.uring.completion().next() } {
            self.completed((entry.user_data(), entry.result()), done);
        }
        Ok(())
    }

    #[inline]
    pub fn has_completions(&mut self) -> bool {
        // The flag is set while completions wait for this thread to run what makes them.
        !self.failed.is_empty() || !self.uring.completion().is_empty() || self.uring.submission().taskrun()
    }

    pub fn wait(&mut self, want: usize) -> Result<(), FlashError> {
        let in_ring = self.slots.len() - self.free.len();
        if in_ring > 0 {
            // Nobody is in `epoll` meanwhile; `complete` looks for itself, and lets it speak again.
            self.uring.completion().disable_eventfd();
        }
        self.enter(want.saturating_sub(self.failed.len()).min(in_ring))
    }

    #[inline]
    pub fn holds_removed(&self) -> bool {
        self.table.removals != self.files.removals()
    }

    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len() + self.waiting.len() + self.failed.len()
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }

    /// Gives the read of `request` to the ring, in `slot`, which is not in the free list.
    fn start(&mut self, slot: u32, request: ReadRequest) {
        let state = &mut self.slots[slot as usize];
        if request.count as usize > SMALL_PAGES {
            state.large = Buffer::zeroed(request.count as usize);
            if state.large.is_none() {
                let why = format!("{:?}: no memory to read {} pages", request.file, request.count);
                return self.fail(slot, request.token, FlashError::Transient(why));
            }
        }
        state.request = Some(request);
        (state.done, state.tries) = (0, 0);
        if let Err(error) = self.read_on(slot, request) {
            self.slots[slot as usize] = ReadSlot::default();
            self.fail(slot, request.token, error);
        }
    }

    /// Gives what `slot` still lacks to the ring, now, or after a pause if the system is short of descriptors.
    fn read_on(&mut self, slot: u32, request: ReadRequest) -> Result<(), FlashError> {
        let target = match self.slots[slot as usize].open.take() {
            Some(open) => Ok(FileRef::Open(open)),
            None => self.table.target(&self.uring, &self.files, request.file),
        };
        match target {
            Ok(target) => self.enqueue(slot, target),
            Err(FlashError::Transient(_)) if self.may_pause(slot) => self.pause(slot),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether the read of `slot` is tried again after a pause. Those that pause leave half of the slots to others.
    fn may_pause(&self, slot: u32) -> bool {
        self.slots[slot as usize].tries < TRIES && self.pausing * 2 < self.slots.len()
    }

    /// Pushes the entry that ends the pause of `slot`.
    fn pause(&mut self, slot: u32) {
        self.slots[slot as usize].tries += 1;
        self.pausing += 1;
        let entry = opcode::Timeout::new(&raw const PAUSE_SPEC).build();
        self.push_entry(&entry.user_data(ENDS_PAUSE | u64::from(slot)));
    }

    fn fail(&mut self, slot: u32, token: u64, error: FlashError) {
        self.free.push(slot);
        self.failed.push((token, error));
        self.signal.raise();
    }

    /// Pushes the entry that reads what `slot` still lacks.
    fn enqueue(&mut self, slot: u32, target: FileRef) {
        let state = &mut self.slots[slot as usize];
        let request = state.request.expect("a slot in use has a request");
        let start = match &state.large {
            Some(large) => large.start,
            // SAFETY: `small` has `SMALL_PAGES` pages for each slot.
            None => unsafe { self.small.start.add(slot as usize * SMALL_PAGES) },
        };
        // SAFETY: `done` is less than the bytes of the request, and the buffer has that many.
        let into = unsafe { start.cast::<u8>().add(state.done) }.as_ptr();
        let length = (request.count as usize * PAGE_BYTES - state.done) as u32;
        let offset = request.first * PAGE_BYTES as u64 + state.done as u64;
        let fixed = self.registered_buffers && state.large.is_none();
        let entry: squeue::Entry = match target {
            FileRef::Registered(place) if fixed => {
                opcode::ReadFixed::new(types::Fixed(place), into, length, 0).offset(offset).build()
            }
            FileRef::Registered(place) => opcode::Read::new(types::Fixed(place), into, length).offset(offset).build(),
            FileRef::Open(open) => {
                let fd = types::Fd(open.as_fd().as_raw_fd());
                state.open = Some(open);
                if fixed {
                    opcode::ReadFixed::new(fd, into, length, 0).offset(offset).build()
                } else {
                    opcode::Read::new(fd, into, length).offset(offset).build()
                }
            }
        };
        self.push_entry(&entry.user_data(u64::from(slot)));
    }

    /// Pushes the only entry of a slot that is on its way.
    fn push_entry(&mut self, entry: &squeue::Entry) {
        // SAFETY: of a read, the buffer lives in this reader or its slot, is not looked at before the completion, and outlives
        // it (`drop` waits). The descriptor stays open: the slot holds it, or the ring's table does. What ends a pause names
        // memory that is never freed.
        unsafe { self.uring.submission().push(entry) }.expect("the ring has an entry for each slot");
        self.unsubmitted += 1;
        let under_way = self.slots.len() - self.free.len() - self.unsubmitted;
        if self.unsubmitted >= TOGETHER.max(under_way / TOGETHER_SHARE) {
            // What fails now fails again, and is returned, when the caller submits.
            let _ = self.enter(0);
        }
    }

    /// Deals with a completion.
    #[inline]
    fn completed(&mut self, (name, result): (u64, i32), done: &mut impl FnMut(u64, Result<&mut [Page], FlashError>)) {
        let slot = name as u32;
        if name & ENDS_PAUSE == 0 {
            return self.returned(slot, result, done);
        }
        self.pausing -= 1;
        let request = self.slots[slot as usize].request.expect("what pauses is in flight");
        if let Err(error) = self.read_on(slot, request) {
            self.end(slot, request.token, error, done);
        }
    }

    /// The read of `slot` has failed.
    fn end(
        &mut self,
        slot: u32,
        token: u64,
        error: FlashError,
        done: &mut impl FnMut(u64, Result<&mut [Page], FlashError>),
    ) {
        self.slots[slot as usize] = ReadSlot::default();
        self.free.push(slot);
        done(token, Err(error));
        self.refill();
    }

    /// Deals with the completion of what `slot` read.
    fn returned(&mut self, slot: u32, result: i32, done: &mut impl FnMut(u64, Result<&mut [Page], FlashError>)) {
        let state = &mut self.slots[slot as usize];
        let request = state.request.expect("what completes was in flight");
        let wanted = request.count as usize * PAGE_BYTES;
        match usize::try_from(result) {
            Ok(0) => return self.end(slot, request.token, FlashError::Short(request.file), done),
            Ok(read) => state.done += read,
            Err(_) => match Errno::from_raw_os_error(-result) {
                Errno::INTR => {}
                errno if is_transient(errno) && self.may_pause(slot) => return self.pause(slot),
                errno => {
                    let error = self.files.error(request.file, "reading", errno);
                    return self.end(slot, request.token, error, done);
                }
            },
        }
        let state = &mut self.slots[slot as usize];
        if state.done < wanted {
            if let Err(error) = self.read_on(slot, request) {
                self.end(slot, request.token, error, done);
            }
            return;
        }
        let large = state.large.take();
        state.request = None;
        state.open = None;
        let start = match &large {
            Some(large) => large.start,
            // SAFETY: as in `enqueue`.
            None => unsafe { self.small.start.add(slot as usize * SMALL_PAGES) },
        };
        // SAFETY: the buffer has `count` pages, all initialised (zeroed when made), and the kernel is done with them. Nobody
        // else has a reference: it ends with the call.
        let pages = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), request.count as usize) };
        done(request.token, Ok(pages));
        self.free.push(slot);
        self.refill();
    }

    /// Submits what was pushed, runs what the kernel deferred, and waits for `want` completions.
    fn enter(&mut self, want: usize) -> Result<(), FlashError> {
        let failed = |error: &io::Error| FlashError::Io(format!("io_uring accepts no more reads: {error}"));
        if self.disabled && self.unsubmitted > 0 {
            let enabled = retry(
                || "enabling io_uring".to_owned(),
                || {
                    self.uring
                        .submitter()
                        .register_enable_rings()
                        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
                },
            );
            enabled.map_err(|errno| failed(&errno.into()))?;
            self.disabled = false;
        }
        self.short = false;
        let idle = want == 0 && self.unsubmitted == 0 && !self.uring.submission().taskrun();
        while !(idle || self.disabled) {
            match self.uring.submit_and_wait(want) {
                Ok(count) => self.unsubmitted -= count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The kernel is short of memory: what is in flight frees some. Who must not wait is called again.
                Err(error) if is_transient_in_ring(&error) => {
                    std::thread::sleep(SHORT_OF_MEMORY);
                    if want == 0 {
                        self.short = true;
                        self.signal.raise();
                        break;
                    }
                }
                Err(error) => return Err(failed(&error)),
            }
            if self.unsubmitted == 0 {
                break;
            }
        }
        // Entries name places of the table, so places change hands only when none is on its way.
        self.table.sweep(&self.uring, &self.files);
        Ok(())
    }
}

impl Drop for RingReader {
    fn drop(&mut self) {
        self.waiting.clear();
        while self.free.len() < self.slots.len() {
            if self.wait(usize::MAX).and_then(|()| self.complete(|_, _| {})).is_err() {
                // The kernel still owns these buffers: better lost than written to by a stranger's read.
                tracing::warn!("cannot drain io_uring: its buffers are leaked");
                let none = Buffer { start: NonNull::dangling(), pages: 0 };
                std::mem::forget(std::mem::replace(&mut self.small, none));
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
        }
    }
}

impl FileTable {
    /// How to name `file` to the ring.
    #[inline]
    fn target(&mut self, ring: &IoUring, files: &Files, file: FileId) -> Result<FileRef, FlashError> {
        match self.places.get(&file) {
            Some((place, _)) => Ok(FileRef::Registered(*place)),
            None => self.register(ring, files, file),
        }
    }

    fn register(&mut self, ring: &IoUring, files: &Files, file: FileId) -> Result<FileRef, FlashError> {
        let open = files.descriptor(file)?;
        let Some(place) = self.free.last().copied().or_else(|| (self.next < self.capacity).then_some(self.next)) else {
            return Ok(FileRef::Open(open));
        };
        // A registered file stays open: others need descriptors, too.
        if !descriptors::has_room_for_good()
            || ring.submitter().register_files_update(place, &[open.as_fd().as_raw_fd()]).is_err()
        {
            return Ok(FileRef::Open(open));
        }
        if self.free.pop().is_none() {
            self.next += 1;
        }
        self.places.insert(file, (place, open));
        Ok(FileRef::Registered(place))
    }

    /// Lets go of files that were removed since the last sweep. To be called when no entry waits for submission.
    #[inline]
    fn sweep(&mut self, ring: &IoUring, files: &Files) {
        let removals = files.removals();
        if removals != self.removals {
            self.removals = removals;
            let gone = self.places.extract_if(|file, _| !files.exists(*file));
            for (_, (place, _open)) in gone {
                if ring.submitter().register_files_update(place, &[-1]).is_ok() {
                    self.free.push(place);
                }
            }
        }
    }
}

/// A ring of `depth` entries, and whether it is still to be enabled.
fn build(depth: u32, issuer: Issuer) -> io::Result<(IoUring, bool)> {
    if issuer == Issuer::OneThread {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_r_disabled();
        if let Ok(ring) = builder.build(depth) {
            return Ok((ring, true));
        }
    }
    let mut builder = IoUring::builder();
    if let Ok(ring) = builder.dontfork().setup_coop_taskrun().setup_taskrun_flag().build(depth) {
        return Ok((ring, false));
    }
    IoUring::builder().dontfork().build(depth).map(|ring| (ring, false))
}

/// Registers `buffer` as buffer 0 of `ring`; whether the kernel takes it.
fn register_buffer(ring: &IoUring, buffer: &Buffer) -> bool {
    // SAFETY: the buffer has this many bytes, and the reference ends before anybody else uses them.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(buffer.start.as_ptr().cast::<u8>(), buffer.pages * PAGE_BYTES) };
    let slice = [IoSliceMut::new(bytes)];
    // SAFETY: `IoSliceMut` has the layout of `iovec`, as its documentation promises; the memory outlives the ring's use
    // of it: `drop` of the reader waits for all reads.
    unsafe { ring.submitter().register_buffers(std::slice::from_raw_parts(slice.as_ptr().cast(), 1)) }.is_ok()
}
