//! Reads of tasks: started together, worked off in any order; large values within bounds.

use super::ShardExecutor;
use super::task::{FoundRecord, RequestTask, Reservation, TaskRead, Tasks};
use crate::request::{KeyRequest, TaskTicket};
use crate::runtime::clock::Now;
use crate::shard::operate::{self, LargeRecord, OperationContext, OperationStep, Wait};
use crate::shard::stores::{ReadExtent, ReadOutcome, Reads, Stores};
use fawn_store::Gate;
use fawn_store::flash::FlashError;
use fawn_store::large::Stub;
use fawn_store::page::Page;
use fawn_store::record::Record;
use zerocopy::IntoBytes;

impl<S: Stores> ShardExecutor<S> {
    /// Starts the reads that were asked for in this turn, together.
    ///
    /// # Errors
    /// No read will come back any more, and whoever waits for one has been told so; the text is for people.
    pub fn submit(&mut self, now: Now) -> Result<(), String> {
        if let Some(why) = self.reads.failed.clone() {
            if !self.reads.queued.is_empty() {
                self.fail_reads(&why, now);
            }
            return Ok(());
        }
        // Where nothing is to be read, too: files that were removed are let go of.
        let reads = self.reads.reads.as_mut().expect("reads are away only while they complete");
        for ticket in self.reads.queued.drain(..) {
            let task = self.tasks.get(ticket);
            let extent = match &task.reading {
                TaskRead::Lookup(read) => S::extent(read),
                TaskRead::Value(held) => ReadExtent { file: held.stub.id(), first: 0, count: held.stub.pages() as u32 },
                TaskRead::Nothing => unreachable!("a task knows its read"),
            };
            reads.push(task.store, ticket, extent);
        }
        let result = reads.submit();
        result.inspect_err(|why| self.fail_reads(why, now))
    }

    /// Answers whoever waits for a read with an error: none comes back any more.
    fn fail_reads(&mut self, why: &str, now: Now) {
        self.reads.failed = Some(why.to_owned());
        loop {
            self.reads.queued.clear();
            self.large.begin_all(|ticket| large_read(&self.tasks, ticket));
            let waiting = self.tasks.tickets(|task| {
                !matches!(task.reading, TaskRead::Nothing) && !matches!(task.reservation, Reservation::Asked(_))
            });
            if waiting.is_empty() {
                return;
            }
            for ticket in waiting {
                self.complete(ticket, Err(FlashError::Io(why.to_owned())), now);
            }
        }
    }

    /// Works off the reads that have come back.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn complete_reads(&mut self, now: Now) -> Result<(), String> {
        if self.reads.failed.is_some() {
            return Ok(());
        }
        let mut reads = self.reads.reads.take().expect("completions are worked off by one caller");
        let result = reads.complete(&mut |ticket, pages| self.complete(ticket, pages, now));
        self.reads.reads = Some(reads);
        result.inspect_err(|why| self.fail_reads(why, now))
    }

    /// Leaves the reads that are under way to the kernel: waiting for their end could take for ever.
    pub fn forget_reads(&mut self) {
        std::mem::forget(self.reads.reads.take());
    }

    /// Starts the reads of large values that there is memory for.
    pub(super) fn start_large_reads(&mut self) {
        while let Some(ticket) = self.large.next(|ticket| large_read(&self.tasks, ticket)) {
            self.reads.queued.push(ticket);
        }
    }

    pub(super) fn complete(&mut self, ticket: TaskTicket, pages: Result<&mut [Page], FlashError>, now: Now) {
        let mut task = self.tasks.take(ticket);
        let reading = std::mem::replace(&mut task.reading, TaskRead::Nothing);
        let mut lost = LostValueFile { before: task.value_file, may_look_again: task.may_look_again };
        if let TaskRead::Value(held) = &reading {
            self.large.end(held.stub.bytes as usize);
            lost.before = task.value_file.replace(held.stub.file);
        }
        let (request, mut out) = (task.request(), self.pool.take());
        let mut context = context!(self, task.store, now);
        let step = match reading {
            TaskRead::Lookup(read) => {
                let (step, found) =
                    after_lookup(&mut self.stores, task.store, &request, read, pages, &mut context, &mut out);
                if let Some((record, gate)) = found {
                    let found = FoundRecord { record, gate, unix: now.unix, flushes: self.flushes.carried_out };
                    self.tasks.keep(&mut task, found);
                }
                step
            }
            TaskRead::Value(held) => {
                after_value_read(&mut self.stores, task.store, &request, (&held, lost), pages, &mut context, &mut out)
            }
            TaskRead::Nothing => unreachable!("a task knows its read"),
        };
        self.stepped(ticket, task, step, out, now);
        self.start_large_reads();
    }

    /// A large value has been written, or could not be.
    pub(super) fn written(&mut self, ticket: TaskTicket, result: Result<Stub, FlashError>, now: Now) {
        let mut task = self.tasks.take(ticket);
        let planned = task.planned.as_mut().expect("a value is written for a plan");
        let mut out = Vec::new();
        match result {
            Ok(stub) => {
                self.large.end(stub.bytes as usize);
                planned.1 = Some(stub);
                self.try_again(ticket, task, now);
            }
            Err(error) => {
                self.large.end(planned.0.value_bytes());
                let step = operate::unwritable(&task.request(), &error, &self.counters, &mut out);
                self.stepped(ticket, task, step, out, now);
            }
        }
        self.start_large_reads();
    }

    /// Goes on with a task that waited for something other than a read.
    pub(super) fn try_again(&mut self, ticket: TaskTicket, mut task: RequestTask<S::Read>, now: Now) {
        let mut out = self.pool.take();
        let mut found = task.found.take();
        if let Some(stale) = found.take_if(|found| found.unix != now.unix || found.flushes != self.flushes.carried_out)
        {
            self.tasks.drop_found(&stale);
        }
        let step = match (task.planned.as_deref(), &found) {
            (Some((planned, Some(stub))), _) => {
                let mut context = context!(self, task.store, now);
                operate::finish_large(
                    &mut self.stores,
                    task.store,
                    &task.request(),
                    (planned, stub),
                    &mut context,
                    &mut out,
                )
            }
            (_, Some(found)) => {
                let decoded = found.record.as_ref().map(|bytes| Record::decode_trusted(bytes));
                let record = decoded.map(|record| record.expect("what was kept is a record"));
                let mut context = context!(self, task.store, now);
                let found = (record, found.gate);
                operate::resume(&mut self.stores, task.store, &task.request(), found, &mut context, &mut out)
            }
            _ => self.begin(task.store, &task.request(), now, task.reservation.unreserved(), &mut out),
        };
        if matches!(step, OperationStep::Park(Wait::Busy)) {
            task.found = found;
        } else if let Some(found) = found {
            self.tasks.drop_found(&found);
        }
        self.stepped(ticket, task, step, out, now);
    }
}

/// Bytes of the large value that a task reads.
fn large_read<R>(tasks: &Tasks<R>, ticket: TaskTicket) -> usize {
    match &tasks.get(ticket).reading {
        TaskRead::Value(record) => record.stub.bytes as usize,
        _ => unreachable!("a queued large read knows its value"),
    }
}

/// What a lookup found, as [`FoundRecord`] keeps it.
type RecordBytes = (Option<Vec<u8>>, Gate);

/// The pages of a lookup have come. Also returns what they said if it will be wanted again.
fn after_lookup<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    read: S::Read,
    pages: Result<&mut [Page], FlashError>,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> (OperationStep<S::Read>, Option<RecordBytes>) {
    let finished = match pages {
        Ok(pages) => stores.finish(store, read, pages, &request.key, request.name, context.now),
        Err(error) => {
            stores.abandon(store, read);
            if let FlashError::Transient(why) = &error {
                return (operate::short(request, why, context.counters, out), None);
            }
            ReadOutcome::Failed(error.to_string())
        }
    };
    let (record, gate) = match finished {
        ReadOutcome::Found(record) => (Some(record), Gate::NONE),
        ReadOutcome::Absent(gate) => (None, gate),
        ReadOutcome::Read(read) => return (OperationStep::Read(read), None),
        ReadOutcome::Failed(why) => return (operate::unread(stores, store, request, &why, context, out), None),
    };
    let step = operate::resume(stores, store, request, (record, gate), context, out);
    let kept = matches!(step, OperationStep::Park(Wait::Busy)).then(|| {
        let encode = |record: Record<'_>| {
            let mut bytes = Vec::with_capacity(record.encoded_len());
            record.encode(&mut bytes);
            bytes
        };
        (record.map(encode), gate)
    });
    (step, kept)
}

/// What is known of a value file that may not be there.
#[derive(Clone, Copy)]
struct LostValueFile {
    /// The value file that the task read before.
    before: Option<u64>,
    /// Whatever is found when the key is looked up again was asked for before this.
    may_look_again: bool,
}

/// The pages of a large value have come.
fn after_value_read<S: Stores>(
    stores: &mut S,
    store: usize,
    request: &KeyRequest<'_>,
    (held, lost): (&LargeRecord, LostValueFile),
    pages: Result<&mut [Page], FlashError>,
    context: &mut OperationContext<'_>,
    out: &mut Vec<u8>,
) -> OperationStep<S::Read> {
    match pages {
        Ok(pages) => {
            let value = pages.as_bytes().get(..held.stub.bytes as usize);
            if let Some(value) = value.filter(|value| crc32c::crc32c(value) == held.stub.checksum) {
                operate::resume_large(stores, store, request, (held, value), context, out)
            } else {
                let why = format!("{:?} is damaged: its checksum does not match", held.stub.id());
                operate::unreadable(request, &why, context.counters, out)
            }
        }
        // The item was flushed or has expired meanwhile, and its file is gone.
        Err(FlashError::NotFound(_)) if lost.may_look_again && lost.before != Some(held.stub.file) => {
            operate::begin(stores, store, request, context, out)
        }
        Err(FlashError::NotFound(file)) if lost.may_look_again => {
            operate::unreadable(request, &format!("{file} is missing"), context.counters, out)
        }
        // It was written meanwhile; what is there now may be what this very connection asked for later.
        Err(FlashError::NotFound(file)) => {
            let why = format!("{file} was replaced before it could be read");
            operate::unreadable(request, &why, context.counters, out)
        }
        Err(FlashError::Transient(why)) => operate::short(request, &why, context.counters, out),
        Err(error) => operate::unreadable(request, &error.to_string(), context.counters, out),
    }
}
