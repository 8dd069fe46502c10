//! The connections that records are sent over.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use anyhow::anyhow;

use super::ack_tracker::{AckTracker, Verdict};
use super::input::name_of;
use super::job::LoadJob;
use super::options::OnError;
use crate::client::{
    Address, Answers, Budget, ClientError, FirstFailure, MetaReply, Permit, RequestBatch, ServerConnection, push_set,
    run_pipeline,
};
use crate::records::Record;
use crate::ui::Notes;

/// Bytes and records that are handed to a connection together.
const BATCH: (usize, usize) = (64 * 1024, 256);

/// Batches that wait for a connection.
const QUEUE: usize = 8;

/// Where a record came from, for messages.
#[derive(Debug)]
pub enum Origin {
    /// A line of the input.
    Line(u64),
    /// Another server; the record's key.
    Key(Box<[u8]>),
}

/// A set that awaits its answer.
#[derive(Debug)]
struct PendingSet {
    number: u64,
    bytes: u64,
    origin: Origin,
    /// Of a whole batch, with its last record.
    permit: Option<Permit>,
}

/// The sending side of every connection.
pub struct ConnectionPool {
    connections: Vec<(RequestBatch<PendingSet>, SyncSender<RequestBatch<PendingSet>>)>,
    budget: Budget,
}

impl ConnectionPool {
    /// Connects, and starts a thread a connection in `scope`. The threads end when the pool is dropped and the last
    /// answer has come, or earlier with a `failure`.
    ///
    /// # Errors
    /// A connection cannot be made.
    pub fn open<'scope>(
        scope: &'scope Scope<'scope, '_>,
        load: &LoadJob<'scope>,
        failure: &'scope FirstFailure,
    ) -> Result<(Self, Vec<ScopedJoinHandle<'scope, ()>>), ClientError> {
        let &LoadJob { options, endpoint, input, acks, notes } = load;
        let connections: Result<Vec<_>, _> =
            (0..options.connections).map(|_| ServerConnection::open(endpoint)).collect();
        let mut queues = Vec::new();
        let mut workers = Vec::new();
        for connection in connections? {
            let (sender, queue) = sync_channel(QUEUE);
            queues.push((RequestBatch::default(), sender));
            let (address, on_error) = (endpoint.address.clone(), options.on_error);
            let input = input.map(name_of).unwrap_or_default();
            let mut settler = Settler { acks, notes, verdicts: Vec::new(), address, input, on_error };
            workers.push(scope.spawn(move || failure.keep(run_pipeline(connection, &queue, &mut settler))));
        }
        Ok((Self { connections: queues, budget: Budget::default() }, workers))
    }

    /// Sends a record, sooner or later.
    ///
    /// # Errors
    /// Its connection has failed.
    pub fn push(&mut self, record: &Record, number: u64, origin: Origin) -> anyhow::Result<()> {
        let at = crc32c::crc32c(&record.key) as usize % self.connections.len();
        let (batch, queue) = &mut self.connections[at];
        let start = batch.bytes.len();
        push_set(&mut batch.bytes, record);
        let bytes = (record.key.len() + record.value.len()) as u64;
        batch.requests.push((PendingSet { number, bytes, origin, permit: None }, batch.bytes.len() - start));
        if batch.bytes.len() >= BATCH.0 || batch.requests.len() >= BATCH.1 {
            send(&self.budget, queue, batch)?;
        }
        Ok(())
    }

    /// Sends what waits for its batch to fill.
    ///
    /// # Errors
    /// A connection has failed.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        for (batch, queue) in &mut self.connections {
            if !batch.requests.is_empty() {
                send(&self.budget, queue, batch)?;
            }
        }
        Ok(())
    }
}

/// Hands a batch to its connection, and leaves an empty one.
fn send(
    budget: &Budget,
    queue: &SyncSender<RequestBatch<PendingSet>>,
    batch: &mut RequestBatch<PendingSet>,
) -> anyhow::Result<()> {
    let permit = budget.take(batch.bytes.len());
    if let Some((last, _)) = batch.requests.last_mut() {
        last.permit = Some(permit);
    }
    queue.send(std::mem::take(batch)).map_err(|_| FirstFailure::elsewhere())
}

/// Enters the answers of one connection into the acks.
struct Settler<'a> {
    acks: &'a AckTracker,
    notes: &'a Notes<'a>,
    verdicts: Vec<(u64, Verdict)>,
    address: Address,
    /// What lines are of.
    input: String,
    on_error: OnError,
}

impl Settler<'_> {
    /// The server takes no value of this size.
    fn too_large(&mut self, sent: &PendingSet) -> anyhow::Result<()> {
        let what = match &sent.origin {
            Origin::Line(line) => format!("{}:{line}", self.input),
            Origin::Key(key) => format!("key {}", key.escape_ascii()),
        };
        let reason = format!("{} accepts no record of {} bytes", self.address, sent.bytes);
        if self.on_error == OnError::Skip {
            self.notes.bad(&format!("{what}: skipped: {reason}"));
            self.verdicts.push((sent.number, Verdict::TooLarge));
            return Ok(());
        }
        self.pause()?;
        Err(anyhow!(
            "{what}: {reason}; raise the server's limit (--max-item-size, memcached's -I), or skip such records with \
             --on-error skip"
        ))
    }
}

impl Answers<PendingSet> for Settler<'_> {
    fn answer(&mut self, sent: PendingSet, reply: MetaReply<'_>) -> anyhow::Result<()> {
        match reply {
            MetaReply::Done => {
                self.verdicts.push((sent.number, Verdict::Loaded { bytes: sent.bytes }));
                Ok(())
            }
            MetaReply::Error(b"SERVER_ERROR object too large for cache") => self.too_large(&sent),
            other => {
                self.pause()?;
                let address = self.address.clone();
                Err(match other {
                    MetaReply::Error(line) => {
                        ClientError::Refused { address, line: String::from_utf8_lossy(line).into_owned() }
                    }
                    other => ClientError::Garbled { address, line: format!("{other:?}") },
                }
                .into())
            }
        }
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        self.acks.settle(&self.verdicts);
        self.verdicts.clear();
        Ok(())
    }
}
