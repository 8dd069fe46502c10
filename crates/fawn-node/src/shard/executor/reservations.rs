//! Large answers of tasks: made once the loop of their client has room for them (see [`crate::net::backpressure`]).

use super::{Reading, ShardExecutor, Task};
use crate::request::{ReplyTo, Ticket, UNRESERVED_BYTES};
use crate::runtime::clock::Now;
use crate::shard::operate::Step;
use crate::shard::stores::Stores;
use fawn_store::Gate;

/// How a task stands with the loop of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reservation {
    /// Its answer is small, as far as is known.
    None,
    /// It waits for room for so many bytes.
    Asked(u32),
    /// It has room for so many bytes.
    Granted(u32),
}

impl Reservation {
    /// Largest value that may be shown without asking, in bytes.
    pub(super) fn unreserved(self) -> usize {
        if matches!(self, Self::Granted(_)) { usize::MAX } else { UNRESERVED_BYTES }
    }

    /// Bytes that there is room for.
    pub(super) fn granted(self) -> u32 {
        if let Self::Granted(bytes) = self { bytes } else { 0 }
    }
}

impl<R> Task<R> {
    /// Whether the task must ask before it reads `bytes` bytes for its answer.
    pub(super) fn needs_reservation(&self, bytes: usize) -> bool {
        bytes > self.reservation.unreserved() && self.request().shows_value()
    }
}

impl<S: Stores> ShardExecutor<S> {
    /// The task goes on once its client's loop has room for `bytes` bytes.
    pub(super) fn ask(&mut self, ticket: Ticket, bytes: usize) {
        let task = self.tasks[ticket as usize].as_mut().expect("a task that asks is there");
        assert_eq!(task.reservation, Reservation::None, "a task asks once");
        task.reservation = Reservation::Asked(bytes as u32);
        self.to_reserve.push_back(ticket);
    }

    /// The next task that asks, its client, and how many bytes it wants room for. Each must be told ([`room`](Self::room)).
    pub fn next_reservation(&mut self) -> Option<(ReplyTo, Ticket, u32)> {
        let ticket = self.to_reserve.pop_front()?;
        let task = self.tasks[ticket as usize].as_ref().expect("a task that asks is there");
        let Reservation::Asked(bytes) = task.reservation else { unreachable!("it was just asked for") };
        Some((task.client.expect("a task is assigned before the turn ends"), ticket, bytes))
    }

    /// There is room for what a task asked for, or else its client is gone.
    pub fn reserve(&mut self, ticket: Ticket, granted: bool, now: Now) {
        let slot = &mut self.tasks[ticket as usize];
        let mut task = slot.take().expect("a task that asked is there");
        let Reservation::Asked(bytes) = task.reservation else { unreachable!("a task is told once") };
        // What changes something is done, though nobody hears of it.
        if !granted && !task.request().holds_key() {
            if let Reading::Lookup(read) = std::mem::replace(&mut task.reading, Reading::Nothing) {
                self.stores.abandon(task.store, read);
            }
            task.reservation = Reservation::None;
            return self.stepped(ticket, task, Step::Done { gate: Gate::NONE, failed: true }, Vec::new(), now);
        }
        task.reservation = Reservation::Granted(if granted { bytes } else { 0 });
        match task.reading {
            Reading::Nothing => return self.try_again(ticket, task, now),
            Reading::Lookup(_) => self.to_read.push(ticket),
            Reading::Value(_) => self.large_queue.push_back(ticket),
        }
        *slot = Some(task);
        self.start_large_reads();
    }
}
