//! Requests of clients at the head, and those of them that wait for their key to be read.

use crate::ids::{Asker, Epoch, RequestId, Seq, WedgeEpoch};
use crate::store::Ticket;
use fawn_ring::{Interval, Key};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A client's operation.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) answered: u64,
    pub(super) asker: Asker,
    pub(super) wedge: WedgeEpoch,
    pub(super) epoch: Epoch,
    pub(super) key: Vec<u8>,
    /// Where the key lies.
    pub(super) lies: Key,
    pub(super) operation: Vec<u8>,
    /// It was carried out before it came, and only what it showed is looked up.
    pub(super) is_done: bool,
}

impl Request {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.operation.len()
    }
}

/// Requests that wait for their key to be read.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) by_key: BTreeMap<Vec<u8>, VecDeque<Request>>,
    pub(super) waiting: BTreeSet<RequestId>,
    /// Bytes of keys and operations that wait.
    pub(super) bytes: usize,
    pub(super) reads: BTreeMap<Ticket, Vec<u8>>,
    /// Second at which sessions were last looked through for forgotten ones.
    pub(super) expired_at: u32,
    /// The record by which some were forgotten last.
    pub(super) expiry: Seq,
    /// The range's time, and since when by the member's own clock it is that.
    pub(super) stands: (u32, u64),
    /// Since when the range's time is ahead of all that the member has gone by, by its own clock.
    pub(super) ahead_since_us: Option<u64>,
}

impl Queue {
    /// Requests that wait, and their bytes.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    /// Whether the request waits.
    pub(super) fn holds(&self, id: RequestId) -> bool {
        self.waiting.contains(&id)
    }

    pub(super) fn push(&mut self, request: Request) {
        self.waiting.insert(request.id);
        self.bytes += request.bytes();
        self.by_key.entry(request.key.clone()).or_default().push_back(request);
    }

    /// Those that wait for what has been read.
    pub(super) fn pop(&mut self, ticket: Ticket) -> VecDeque<Request> {
        let Some(key) = self.reads.remove(&ticket) else { return VecDeque::new() };
        let requests = self.by_key.remove(&key).expect("requests wait for a read");
        for request in &requests {
            self.waiting.remove(&request.id);
            self.bytes -= request.bytes();
        }
        requests
    }
}

/// What is asked: [`Message::Flush`](crate::wire::Message::Flush).
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) id: RequestId,
    pub(super) answered: u64,
    pub(super) asker: Asker,
    pub(super) wedge: WedgeEpoch,
    pub(super) keys: Interval,
    pub(super) due: u32,
}
