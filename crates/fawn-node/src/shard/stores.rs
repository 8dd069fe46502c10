//! The stores of one event loop, as the loop sees them: a narrow boundary between the network half of a node and the
//! datastore. Production stands on `fawn_flash`; tests put a store behind it that is cold, busy, loading or slow to
//! commit on command.

use crate::observe::samples::StoreSample;
use crate::request::TaskTicket;
use crate::runtime::clock::Now;
use fawn_ring::Key;
use fawn_store::flash::{FileId, FlashError, Space};
use fawn_store::large::Stub;
use fawn_store::page::Page;
use fawn_store::record::Record;
use fawn_store::work::ScanPart;
use fawn_store::{AppendReceipt, Gate, Refusal, Write};
use rustix::fd::BorrowedFd;

/// How far stores are durable.
pub trait Gates {
    /// Answers up to this gate may leave.
    fn durable(&self, store: usize) -> Gate;
}

/// What a lookup found without reading, or what it needs. As `fawn_store::Lookup`.
#[derive(Debug)]
pub enum LookupOutcome<'a, R> {
    /// The newest version.
    Found(Record<'a>, Gate),
    /// There is no such key.
    Absent(Gate),
    /// This read decides.
    Read(R),
    /// The part of the index that knows is being loaded: try again after [`Turn::retry`].
    Loading,
    /// The part of the index that knows cannot be built; the text is for the log.
    Failed(String),
}

/// What a completed read said. As `fawn_store::FinishedRead`.
#[derive(Debug)]
pub enum ReadOutcome<'a, R> {
    /// The newest version.
    Found(Record<'a>),
    /// There is no such key.
    Absent(Gate),
    /// Read on.
    Read(R),
    /// The bytes are damaged; the text is for the log.
    Failed(String),
}

/// Something that was asked for has been done.
#[derive(Debug)]
pub enum StoreEvent {
    /// A large value was written to a file of its own, durably.
    Written {
        /// Who waits for it.
        ticket: TaskTicket,
        /// What stands for the value in its record.
        result: Result<Stub, FlashError>,
    },
    /// A part of a store's records was read.
    Scanned {
        /// Who waits for it.
        ticket: TaskTicket,
        /// The records.
        scanned: ScanPart,
    },
}

/// What one turn of the stores brought.
#[derive(Debug, Default)]
pub struct Turn {
    /// What has been done.
    pub news: Vec<StoreEvent>,
    /// Operations parked on `Loading` or `Busy` may be tried again.
    pub retry: bool,
    /// There is more to do at once.
    pub more: bool,
    /// The next turn is due at this millisecond, if nothing happens before.
    pub due_ms: Option<u64>,
    /// Stores that have stopped: their numbers in the loop, and why.
    pub stopped: Vec<(usize, String)>,
    /// Nothing can be read any more: why.
    pub failed: Option<String>,
    /// The process is not to go on, though nothing has failed: why.
    pub ousted: Option<String>,
}

/// Whole pages of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadExtent {
    /// The file.
    pub file: FileId,
    /// First page.
    pub first: u64,
    /// Number of pages, at least 1.
    pub count: u32,
}

/// Called for each read that has come back.
pub type ReadCallback<'c> = &'c mut dyn FnMut(TaskTicket, Result<&mut [Page], FlashError>);

/// Reads of pages under way, for all stores of one loop.
pub trait Reads {
    /// Queues a read of `store`, to be started by [`submit`](Self::submit).
    fn push(&mut self, store: usize, ticket: TaskTicket, extent: ReadExtent);

    /// Starts all queued reads together.
    ///
    /// # Errors
    /// No read will come back any more; the text is for people.
    fn submit(&mut self) -> Result<(), String>;

    /// Calls `done` for each read that has come back.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    fn complete(&mut self, done: ReadCallback<'_>) -> Result<(), String>;

    /// The descriptors that become readable when reads come back. They are watched edge-triggered and never read.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;
}

/// The stores of one loop. None of its calls blocks. Stores are counted from 0 within the loop.
pub trait Stores: Gates {
    /// A lookup that needs a read. Each one is finished or abandoned.
    type Read;
    /// Carries the reads out.
    type Reads: Reads;

    /// Number of stores.
    fn count(&self) -> usize;

    /// Fetches what the lookups of `keys`, which come next, will touch; changes nothing.
    fn prefetch(&self, store: usize, keys: &[Key]);

    /// Looks `name` up, whose position is `key`.
    fn lookup(&mut self, store: usize, key: &Key, name: &[u8], now: Now) -> LookupOutcome<'_, Self::Read>;

    /// What `read` needs.
    fn extent(read: &Self::Read) -> ReadExtent;

    /// What the pages of `read` say of the key that was looked up.
    fn finish<'p>(
        &mut self,
        store: usize,
        read: Self::Read,
        pages: &'p mut [Page],
        key: &Key,
        name: &[u8],
        now: Now,
    ) -> ReadOutcome<'p, Self::Read>;

    /// Gives a read up that failed.
    fn abandon(&mut self, store: usize, read: Self::Read);

    /// Appends a version.
    ///
    /// # Errors
    /// Any [`Refusal`]; nothing has changed then.
    fn append(&mut self, store: usize, key: &Key, write: Write<'_>, now: Now) -> Result<AppendReceipt, Refusal>;

    /// Everything stored before `at_unix` (0: until now) disappears then.
    ///
    /// # Errors
    /// [`Refusal::Busy`]: to be tried again after [`Turn::retry`]. Any other [`Refusal`]: never.
    fn flush_all(&mut self, store: usize, at_unix: u32, now: Now) -> Result<Gate, Refusal>;

    /// Begins to write a value that [`append`](Self::append) found too large into a file of its own; the end of it is
    /// [`StoreEvent::Written`], after which a record of kind `Stub` is appended, or else
    /// [`drop_value`](Self::drop_value) called.
    fn write_value(&mut self, store: usize, ticket: TaskTicket, value: Vec<u8>);

    /// No record will name the value's file.
    fn drop_value(&mut self, store: usize, stub: &Stub);

    /// Begins to read live records in key order, from position `from` on; `first`: everything appended so far is to be
    /// among them. The end of it is [`StoreEvent::Scanned`].
    fn scan(&mut self, store: usize, ticket: TaskTicket, from: Key, first: bool, now: Now);

    /// Whether something was asked of the stores that only a [`turn`](Self::turn) begins.
    fn wants_turn(&self) -> bool;

    /// Hands batches, events and work to and from the stores' helper threads.
    fn turn(&mut self, now: Now) -> Turn;

    /// The descriptors that become readable when there is something for [`turn`](Self::turn). They are watched
    /// edge-triggered and never read.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Each store's figures.
    fn samples(&self) -> Vec<StoreSample>;

    /// Space on the device, as far as is known.
    fn space(&self) -> Option<Space>;

    /// Figures for `stats`, of all stores together.
    fn stats(&self, now: Now) -> LoopStats;

    /// Stops cleanly: everything acknowledged is on flash when it returns. Blocks.
    ///
    /// # Errors
    /// What the device said; everything acknowledged durable is still on flash.
    fn stop(self) -> Result<(), String>;
}

/// Figures of a loop's stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopStats {
    /// By name. Values of loops are summed, but for names that end in `_max` or `_us`, of which the largest counts.
    pub numbers: Vec<(String, u64)>,
    /// By name: text, of which the first loop's counts.
    pub texts: Vec<(String, String)>,
}
