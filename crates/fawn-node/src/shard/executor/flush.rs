//! Flushing all stores, one after the other; a store that is busy is waited for.

use super::ShardExecutor;
use crate::request::{Completion, CompletionStatus, ReplyTo};
use crate::runtime::clock::Now;
use crate::shard::stores::Stores;
use fawn_store::{Gate, Refusal};

/// A `flush_all` under way.
pub(super) struct Flush {
    client: ReplyTo,
    at_unix: u32,
    quiet: bool,
    /// What the stores that are flushed wait for, from the first one on.
    gates: Vec<(usize, Gate)>,
}

impl<S: Stores> ShardExecutor<S> {
    /// Flushes all stores at `at_unix` (0: now), and tells `client` once that is durable: nothing, or an error unless it
    /// is `quiet`. A store that is busy is waited for.
    pub fn flush_all(&mut self, client: ReplyTo, at_unix: u32, quiet: bool, now: Now) {
        self.flush_on(Flush { client, at_unix, quiet, gates: Vec::new() }, now);
    }

    pub(super) fn flush_on(&mut self, mut flush: Flush, now: Now) {
        let Flush { client, quiet: silent, .. } = flush;
        for store in flush.gates.len()..self.stores.count() {
            match self.stores.flush_all(store, flush.at_unix, now) {
                Ok(gate) => flush.gates.push((store, gate)),
                Err(Refusal::Busy) => {
                    self.counters.parked.add(1);
                    return self.flushes.push(flush);
                }
                Err(refusal) => {
                    tracing::error!("flush_all was refused: {refusal}");
                    let status = if silent { CompletionStatus::Failed } else { CompletionStatus::FlushFailed };
                    return self.done.push_back(Completion { status, silent, ..Completion::of(client, Vec::new()) });
                }
            }
            self.flushed += 1;
        }
        self.deliver(flush.gates, Completion { silent, ..Completion::of(client, Vec::new()) });
    }
}
