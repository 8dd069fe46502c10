//! Fetches every record of a server: one connection lists the keys, others fetch the values, all at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::excerpt;
use super::failure::FirstFailure;
use super::listing::{ListedKey, list_keys};
use super::{
    Address, Answers, Budget, ClientError, Endpoint, MetaReply, Permit, RequestBatch, ServerConnection, push_get,
    run_pipeline,
};
use crate::key::can_be_asked_for;
use crate::records::Record;
use fawn_memcache::client::flag;

/// Records that have been fetched together.
#[derive(Debug)]
pub struct FetchedRecords {
    /// The records.
    pub records: Vec<Record>,
    /// Until they are dealt with.
    #[expect(dead_code, reason = "it counts until it is dropped")]
    permit: Permit,
}

/// Keys of which no record came. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct MissedKeys(Arc<MissedCounts>);

#[derive(Debug, Default)]
struct MissedCounts {
    vanished: AtomicU64,
    unreadable: AtomicU64,
    unfetched: AtomicU64,
}

impl MissedKeys {
    /// How many were listed and were gone when they were fetched: deleted, expired or evicted in between.
    pub fn vanished(&self) -> u64 {
        self.0.vanished.load(Ordering::Relaxed)
    }

    /// How many the server cannot read.
    pub fn unreadable(&self) -> u64 {
        self.0.unreadable.load(Ordering::Relaxed)
    }

    /// How many have keys that no request of memcached's protocol carries.
    pub fn unfetched(&self) -> u64 {
        self.0.unfetched.load(Ordering::Relaxed)
    }
}

/// How the answer of a fawn begins that cannot read a record.
const UNREADABLE: &[u8] = b"SERVER_ERROR the item cannot be read";

/// Batches of keys that wait for a connection.
const QUEUE_KEYS: usize = 64;

/// Batches of records that wait for the consumer.
const QUEUE_RECORDS: usize = 16;

/// Records and bytes that are handed over together.
const HANDOVER: (usize, usize) = (256, 256 * 1024);

/// Starts threads in `scope` that fetch every record of the server, and gives the channel that they fill. It closes
/// when all is fetched, or early when something failed: then `failure` knows.
///
/// # Errors
/// A connection cannot be made.
pub fn fetch_all<'scope>(
    scope: &'scope Scope<'scope, '_>,
    endpoint: &Endpoint,
    connections: u16,
    missed: &MissedKeys,
    failure: &'scope FirstFailure,
) -> Result<Receiver<FetchedRecords>, ClientError> {
    let (output, records) = sync_channel(QUEUE_RECORDS);
    let lister = ServerConnection::open(endpoint)?;
    let (mut lanes, budget) = (Vec::new(), Budget::default());
    for _ in 0..connections {
        let connection = ServerConnection::open(endpoint)?;
        let (lane, queue) = sync_channel::<RequestBatch<ListedKey>>(QUEUE_KEYS);
        lanes.push(lane);
        let mut collector = Collector {
            output: output.clone(),
            records: Vec::new(),
            bytes: 0,
            budget: budget.clone(),
            missed: missed.clone(),
            address: endpoint.address.clone(),
        };
        scope.spawn(move || failure.keep(run_pipeline(connection, &queue, &mut collector)));
    }
    let missed = missed.clone();
    scope.spawn(move || {
        let mut lanes = lanes.iter().cycle();
        let listed = list_keys(lister, |keys| {
            let lane = lanes.next().expect("there is at least one connection");
            lane.send(requests_for(keys, &missed)).map_err(|_| FirstFailure::elsewhere())
        });
        failure.keep(listed.map(|left_out| {
            missed.0.unreadable.fetch_add(left_out, Ordering::Relaxed);
        }));
    });
    Ok(records)
}

/// The requests that fetch these keys.
fn requests_for(keys: Vec<ListedKey>, missed: &MissedKeys) -> RequestBatch<ListedKey> {
    let mut batch = RequestBatch::default();
    for listed in keys {
        // A key that cannot be asked for would spoil the pipeline: programs without memcached's protocol have written it.
        if can_be_asked_for(&listed.key) {
            push_get(&mut batch.bytes, &listed.key);
            let cost = listed.size + listed.key.len();
            batch.requests.push((listed, cost));
        } else {
            missed.0.unfetched.fetch_add(1, Ordering::Relaxed);
        }
    }
    batch
}

/// Turns answers into records.
struct Collector {
    output: SyncSender<FetchedRecords>,
    records: Vec<Record>,
    bytes: usize,
    budget: Budget,
    missed: MissedKeys,
    address: Address,
}

impl Collector {
    /// Hands the collected records over.
    fn hand_over(&mut self) -> anyhow::Result<()> {
        let permit = self.budget.take(std::mem::take(&mut self.bytes));
        let records = std::mem::take(&mut self.records);
        self.output.send(FetchedRecords { records, permit }).map_err(|_| FirstFailure::elsewhere())
    }
}

impl Answers<ListedKey> for Collector {
    fn answer(&mut self, listed: ListedKey, reply: MetaReply<'_>) -> anyhow::Result<()> {
        match reply {
            MetaReply::Value { flags, data } => {
                let exptime = expiry(flag(flags, b't').unwrap_or(-1), listed.exptime, unix_now());
                let client_flags = flag(flags, b'f').unwrap_or(0) as u32;
                self.bytes += data.len() + listed.key.len();
                self.records.push(Record {
                    key: listed.key,
                    value: data.to_vec(),
                    flags: client_flags,
                    exptime,
                    cas: 0,
                });
            }
            MetaReply::Miss | MetaReply::NotFound => {
                self.missed.0.vanished.fetch_add(1, Ordering::Relaxed);
            }
            MetaReply::Error(line) if line.starts_with(UNREADABLE) => {
                self.missed.0.unreadable.fetch_add(1, Ordering::Relaxed);
            }
            MetaReply::Error(line) => {
                let address = self.address.clone();
                return Err(ClientError::Refused { address, line: excerpt(line) }.into());
            }
            other => {
                let (address, line) = (self.address.clone(), format!("{other:?}"));
                return Err(ClientError::Garbled { address, line }.into());
            }
        }
        let is_full = self.records.len() >= HANDOVER.0 || self.bytes >= HANDOVER.1;
        if is_full { self.hand_over() } else { Ok(()) }
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        if self.records.is_empty() { Ok(()) } else { self.hand_over() }
    }
}

/// The expiry as a Unix second, 0 for never, from the seconds to live that came with the value.
///
/// The listing tells the second itself, which does not wander with the clock; it is taken unless the expiry was changed
/// since.
fn expiry(ttl: i64, listed: u32, now: u32) -> u32 {
    let Ok(ttl) = u32::try_from(ttl) else { return 0 };
    let seen = now.saturating_add(ttl).max(1);
    if seen.abs_diff(listed) <= CLOCK_SLACK { listed } else { seen }
}

/// Seconds by which a server's clock and ours, both cut to whole seconds, may seem to differ.
const CLOCK_SLACK: u32 = 2;

/// Seconds since 1970.
pub fn unix_now() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| u32::try_from(age.as_secs()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_expiry_is_kept_unless_it_was_changed_since() {
        assert_eq!(expiry(-1, 0, 1000), 0, "never");
        assert_eq!(expiry(-1, 5000, 1000), 0, "made permanent since the listing");
        assert_eq!(expiry(99, 1100, 1000), 1100);
        assert_eq!(expiry(500, 1100, 1000), 1500, "touched since the listing");
        assert_eq!(expiry(500, 0, 1000), 1500, "given an expiry since the listing");
    }

    #[test]
    fn a_listed_key_that_cannot_be_asked_for_is_left_out_and_counted() {
        let listed = |key: &[u8]| ListedKey { key: key.to_vec(), exptime: 0, size: 10 };
        let missed = MissedKeys::default();
        let batch = requests_for(vec![listed(b"a"), listed(&[b'k'; 300]), listed(b"b c")], &missed);
        assert_eq!(missed.unfetched(), 1);
        assert_eq!(batch.bytes, b"mg a v f t\r\nmg YiBj b v f t\r\n");
        assert_eq!(batch.requests.len(), 2);
    }
}
