//! Flushing all stores, one after the other; a store that is busy is waited for.

use super::ShardExecutor;
use super::pending::Flush;
use crate::request::{Completion, CompletionStatus, FLUSH_FAILED, ReplyTo};
use crate::runtime::clock::Now;
use crate::shard::stores::Stores;
use fawn_store::Refusal;

impl<S: Stores> ShardExecutor<S> {
    /// Flushes all stores at `at_unix` (0: now), and answers `to` once that is durable: nothing, or an error unless it
    /// is `quiet`. A store that is busy is waited for.
    pub fn flush_all(&mut self, to: ReplyTo, at_unix: u32, quiet: bool, now: Now) {
        self.flush_on(Flush { to, at_unix, quiet, gates: Vec::new() }, now);
    }

    pub(super) fn flush_on(&mut self, mut flush: Flush, now: Now) {
        let Flush { to, quiet: silent, .. } = flush;
        for store in flush.gates.len()..self.stores.count() {
            match self.stores.flush_all(store, flush.at_unix, now) {
                Ok(gate) => flush.gates.push((store, gate)),
                Err(Refusal::Busy) => {
                    self.counters.parked.add(1);
                    return self.flushes.waiting.push(flush);
                }
                Err(refusal) => {
                    tracing::error!("flush_all was refused: {refusal}");
                    let status =
                        if silent { CompletionStatus::Failed } else { CompletionStatus::FlushFailed(FLUSH_FAILED) };
                    return self.gated.push(Completion { status, silent, ..Completion::of(to, Vec::new()) });
                }
            }
            self.flushes.carried_out += 1;
        }
        self.deliver(flush.gates, Completion { silent, ..Completion::of(to, Vec::new()) });
    }
}
