//! Reads of an owner's tasks: started together, worked off in any order; large values within bounds.

use super::{Owner, Reading, Task};
use crate::clock::Now;
use crate::operate::{self, Bench, Held, Keyed, Step};
use crate::stores::{Extent, Finished, Reads, Stores, Ticket};
use fawn_store::Gate;
use fawn_store::flash::FlashError;
use fawn_store::large::Stub;
use fawn_store::page::Page;
use zerocopy::IntoBytes;

impl<S: Stores> Owner<S> {
    /// Starts the reads that were asked for in this turn, together.
    ///
    /// # Errors
    /// No read will come back any more; the text is for people.
    pub fn submit(&mut self) -> Result<(), String> {
        if self.to_read.is_empty() {
            return Ok(());
        }
        let reads = self.reads.as_mut().expect("reads are away only while they complete");
        for ticket in self.to_read.drain(..) {
            let task = self.tasks[ticket as usize].as_ref().expect("a task waits for its read");
            let extent = match &task.reading {
                Reading::Lookup(read) => S::extent(read),
                Reading::Value(held) => Extent { file: held.stub.id(), first: 0, count: held.stub.pages() as u32 },
                Reading::Nothing => unreachable!("a task knows its read"),
            };
            reads.push(task.store, ticket, extent);
        }
        reads.submit()
    }

    /// Works off the reads that have come back.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn complete_reads(&mut self, now: Now) -> Result<(), String> {
        let mut reads = self.reads.take().expect("completions are worked off by one caller");
        let result = reads.complete(&mut |ticket, pages| self.complete(ticket, pages, now));
        self.reads = Some(reads);
        result
    }

    /// Starts the reads of large values that there is memory for.
    pub(super) fn start_large_reads(&mut self) {
        while let Some(ticket) = self.large_queue.front() {
            let bytes = self.large_read(*ticket);
            if self.large_bytes > 0 && self.large_bytes + bytes > self.large_limit {
                return;
            }
            self.large_bytes += bytes;
            self.to_read.extend(self.large_queue.pop_front());
        }
    }

    /// Bytes of the large value that a task reads.
    pub(super) fn large_read(&self, ticket: Ticket) -> usize {
        match self.tasks[ticket as usize].as_ref().map(|task| &task.reading) {
            Some(Reading::Value(held)) => held.stub.bytes as usize,
            _ => unreachable!("a queued large read knows its value"),
        }
    }

    pub(super) fn complete(&mut self, ticket: Ticket, pages: Result<&mut [Page], FlashError>, now: Now) {
        let mut task = self.tasks[ticket as usize].take().expect("a read comes back once");
        let reading = std::mem::replace(&mut task.reading, Reading::Nothing);
        if let Reading::Value(held) = &reading {
            self.large_bytes -= held.stub.bytes as usize;
        }
        let (keyed, mut out) = (task.keyed(), self.pool.take());
        let mut bench = bench!(self, task.store, now);
        let step = match reading {
            Reading::Lookup(read) => went_on(&mut self.stores, task.store, &keyed, read, pages, &mut bench, &mut out),
            Reading::Value(held) => {
                value_came(&mut self.stores, task.store, &keyed, &held, pages, &mut bench, &mut out)
            }
            Reading::Nothing => unreachable!("a task knows its read"),
        };
        self.stepped(ticket, task, step, out, now);
        self.start_large_reads();
    }

    /// A large value has been written, or could not be.
    pub(super) fn written(&mut self, ticket: Ticket, result: Result<Stub, FlashError>, now: Now) {
        let mut task = self.tasks[ticket as usize].take().expect("a value is written once");
        let planned = task.planned.as_mut().expect("a value is written for a plan");
        let mut out = Vec::new();
        match result {
            Ok(stub) => {
                self.large_bytes -= stub.bytes as usize;
                planned.1 = Some(stub);
                self.try_again(ticket, task, now);
            }
            Err(error) => {
                self.large_bytes -= planned.0.value_bytes();
                let step = operate::unwritable(&task.keyed(), &error, &self.counters, &mut out);
                self.stepped(ticket, task, step, out, now);
            }
        }
        self.start_large_reads();
    }

    /// Goes on with a task that waited for something other than a read.
    pub(super) fn try_again(&mut self, ticket: Ticket, task: Task<S::Read>, now: Now) {
        let mut out = self.pool.take();
        let step = match task.planned.as_deref() {
            Some((planned, Some(stub))) => {
                let mut bench = bench!(self, task.store, now);
                operate::finish_large(
                    &mut self.stores,
                    task.store,
                    &task.keyed(),
                    (planned, stub),
                    &mut bench,
                    &mut out,
                )
            }
            _ => self.begin(task.store, &task.keyed(), now, &mut out),
        };
        self.stepped(ticket, task, step, out, now);
    }
}

/// The pages of a lookup have come.
fn went_on<S: Stores>(
    stores: &mut S,
    store: usize,
    keyed: &Keyed<'_>,
    read: S::Read,
    pages: Result<&mut [Page], FlashError>,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    let finished = match pages {
        Ok(pages) => stores.finish(store, read, pages, &keyed.key, keyed.name, bench.now),
        Err(error) => {
            stores.abandon(store, read);
            Finished::Failed(error.to_string())
        }
    };
    match finished {
        Finished::Found(record) => operate::resume(stores, store, keyed, (Some(record), Gate::NONE), bench, out),
        Finished::Absent(gate) => operate::resume(stores, store, keyed, (None, gate), bench, out),
        Finished::Read(read) => Step::Read(read),
        Finished::Failed(why) => operate::unreadable(keyed, &why, bench.counters, out),
    }
}

/// The pages of a large value have come.
fn value_came<S: Stores>(
    stores: &mut S,
    store: usize,
    keyed: &Keyed<'_>,
    held: &Held,
    pages: Result<&mut [Page], FlashError>,
    bench: &mut Bench<'_>,
    out: &mut Vec<u8>,
) -> Step<S::Read> {
    match pages {
        Ok(pages) => {
            let value = pages.as_bytes().get(..held.stub.bytes as usize);
            if let Some(value) = value.filter(|value| crc32c::crc32c(value) == held.stub.checksum) {
                operate::resume_large(stores, store, keyed, (held, value), bench, out)
            } else {
                let why = format!("{:?} is damaged: its checksum does not match", held.stub.id());
                operate::unreadable(keyed, &why, bench.counters, out)
            }
        }
        // The key was written meanwhile, and the old value's file is gone.
        Err(FlashError::NotFound(_)) => operate::begin(stores, store, keyed, bench, out),
        Err(error) => operate::unreadable(keyed, &error.to_string(), bench.counters, out),
    }
}
