//! Gets that wait at the tail: for flash, or for a barrier.

use crate::ids::{Asker, RequestId, Seq, WedgeEpoch};
use crate::store::Ticket;
use crate::wire::Continuation;
use fawn_ring::Key;
use std::collections::BTreeMap;

/// A get.
#[derive(Debug)]
pub(super) struct Get {
    pub(super) id: RequestId,
    pub(super) asker: Asker,
    pub(super) wedge: WedgeEpoch,
    pub(super) key: Vec<u8>,
    /// Where the key lies.
    pub(super) lies: Key,
    pub(super) continuation: Option<Continuation>,
}

/// A barrier that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Barrier {
    /// The head was asked for it.
    Asked,
    /// It is this record. Should it not be committed for long, another is asked for.
    At(Seq),
}

/// What a version is judged by that is read: as of what is committed, and as of the log's end.
pub(super) type AsOf = [(u32, u64); 2];

/// Gets that wait.
#[derive(Debug, Default)]
pub(super) struct Gets {
    /// For flash; the flag says that a barrier lies behind them, so that they need no lease.
    pub(super) reads: BTreeMap<Ticket, (Get, bool, AsOf)>,
    /// For a barrier that begins after them.
    pub(super) unbarred: Vec<Get>,
    /// For the barrier that is under way.
    pub(super) barred: Vec<Get>,
    pub(super) barrier: Option<Barrier>,
    pub(super) number: u64,
    pub(super) begun_us: u64,
    /// Where the log ended when the barrier was asked for.
    pub(super) after: Seq,
}

impl Gets {
    /// The get that waits for this read.
    pub(super) fn take_read(&mut self, ticket: Ticket) -> Option<Get> {
        self.reads.remove(&ticket).map(|(get, ..)| get)
    }

    pub(super) fn waiting(&self) -> usize {
        self.reads.len() + self.unbarred.len() + self.barred.len()
    }
}
