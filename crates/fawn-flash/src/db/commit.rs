//! Group commit without hand-overs: the thread whose put finds no batch under way writes the batch itself. What was
//! appended meanwhile goes to the commit thread as one batch, which goes on for as long as it finds new ones. One
//! writer thus never pays for a thread switch, and many share each sync.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread;

use fawn_store::{Ack, AppendReceipt, Batch, Gate, Refusal, WrittenBatch};

use super::error::Error;
use super::shard::{Shard, ShardCore};
use crate::engine::commit_thread;
use crate::os::clock;

/// A time at which every interval is over.
const END_OF_TIME_MS: u64 = u64::MAX / 2;

impl ShardCore {
    /// The batch to be written next, if one is due and none is under way. Whoever takes it sees to it that it is
    /// written.
    pub fn begin_batch(&mut self, now_ms: u64) -> Option<Batch> {
        if self.committing {
            return None;
        }
        let batch = self.store.take_batch(now_ms)?;
        self.committing = true;
        self.batches_taken += 1;
        Some(batch)
    }

    /// As [`begin_batch`](Self::begin_batch), due or not.
    fn force_batch(&mut self) -> Option<Batch> {
        // The first call may be the one that notes since when records wait.
        self.begin_batch(END_OF_TIME_MS).or_else(|| self.begin_batch(2 * END_OF_TIME_MS))
    }
}

impl Shard {
    /// Waits until `gate` is durable.
    #[inline]
    pub fn wait(&self, gate: Gate) -> Result<(), Error> {
        if self.durable.load(Ordering::Acquire) >= gate.0 { Ok(()) } else { self.wait_long(gate) }
    }

    #[cold]
    fn wait_long(&self, gate: Gate) -> Result<(), Error> {
        // Gates are numbers of batches: nobody is woken for a batch that he does not wait for.
        let notify = &self.commits[(gate.0 & 1) as usize];
        loop {
            let heard = notify.listen();
            if self.durable.load(Ordering::Acquire) >= gate.0 {
                return Ok(());
            }
            self.check()?;
            notify.wait(heard, None);
        }
    }

    /// Lets go of the store after an append and waits as long as its acknowledgement demands. Returns the sequence
    /// number.
    pub(super) fn acknowledge(
        &self,
        mut core: MutexGuard<'_, ShardCore>,
        appended: AppendReceipt,
    ) -> Result<u64, Error> {
        core.hand_out();
        match self.ack {
            Ack::Durable => {
                let batch = core.begin_batch(0);
                drop(core);
                if let Some(batch) = batch {
                    self.write_here(batch);
                }
            }
            Ack::Interval { .. } => {
                if let Some(batch) = core.begin_batch(clock::monotonic_ms()) {
                    core.send(batch);
                }
                drop(core);
            }
            Ack::Memory => drop(core),
        }
        self.wait(appended.gate)?;
        Ok(appended.seq)
    }

    /// Writes `batch` on this thread; a next one goes to the commit thread.
    pub(super) fn write_here(&self, batch: Batch) {
        let committed = commit_thread::write_batch(&self.files, batch);
        if let Some(next) = self.committed(committed) {
            self.lock().send(next);
        }
    }

    /// Takes note of a batch that was written and wakes who waited for it. Returns the next one, to be written by the
    /// caller. No other is taken meanwhile.
    pub(super) fn committed(&self, committed: WrittenBatch) -> Option<Batch> {
        let gate = committed.batch.gate;
        let mut core = self.lock();
        core.store.committed(committed);
        self.durable.store(core.store.durable().0, Ordering::Release);
        let stopped = core.store.stopped().is_some();
        drop(core);
        if stopped {
            self.stop();
        }
        // Who was woken puts again first, and shares the next batch with those who waited meanwhile: fewer syncs for as many puts.
        // The log is idle for so long, which is longer where other programs want this processor, too.
        if self.commits[(gate.0 & 1) as usize].notify() {
            thread::yield_now();
        }
        let mut core = self.lock();
        core.committing = false;
        core.batches_done += 1;
        let now_ms = clock::monotonic_ms();
        core.set_pace(now_ms);
        let next = core.begin_batch(now_ms);
        drop(core);
        self.events.notify();
        next
    }

    /// Makes everything that was appended before the call durable, whatever the acknowledgement.
    pub fn sync(&self) -> Result<(), Error> {
        if self.ack == Ack::Memory {
            self.sync_by_seal()?;
        }
        let mut core = self.open_core()?;
        let batch = core.force_batch();
        // The batch under construction, where one is in flight already, is the next to be taken.
        let last = core.batches_taken + u64::from(batch.is_none() && !core.store.is_idle());
        drop(core);
        if let Some(batch) = batch {
            self.write_here(batch);
        }
        loop {
            let heard = self.events.listen();
            self.check()?;
            let mut core = self.lock();
            if core.batches_done >= last || core.store.is_idle() {
                return Ok(());
            }
            let batch = core.force_batch();
            drop(core);
            match batch {
                Some(batch) => self.write_here(batch),
                None => self.events.wait(heard, None),
            }
        }
    }

    /// Seals what is in memory and waits until all that was there is sealed, whether its seal could begin at once or not.
    pub(super) fn sync_by_seal(&self) -> Result<(), Error> {
        let age = loop {
            let heard = self.events.listen();
            let mut core = self.open_core()?;
            match core.store.seal() {
                Ok(()) => {
                    core.hand_out();
                    break core.store.buffers().open_age();
                }
                Err(Refusal::Busy) => self.pause(core, heard)?,
                Err(refusal) => return Err(Error::refused(refusal)),
            }
        };
        loop {
            let heard = self.events.listen();
            let mut core = self.lock();
            if core.store.buffers().is_sealed_below(age) {
                return Ok(());
            }
            if core.store.upkeep().waits_for_space() {
                return Err(Error::NoSpace);
            }
            core.store.await_seal();
            self.pause(core, heard)?;
        }
    }
}
