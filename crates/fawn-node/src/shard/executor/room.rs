//! Large answers of tasks: made once the loop of their client has room for them (see [`crate::net::backpressure`]).

use super::{Owner, Reading, Task};
use crate::request::{ReplyTo, Ticket, UNASKED_BYTES};
use crate::runtime::clock::Now;
use crate::shard::operate::Step;
use crate::shard::stores::Stores;
use fawn_store::Gate;

/// How a task stands with the loop of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Its answer is small, as far as is known.
    Unasked,
    /// It waits for room for so many bytes.
    Asked(u32),
    /// It has room for so many bytes.
    Granted(u32),
}

impl Room {
    /// Largest value that may be shown without asking, in bytes.
    pub(super) fn unasked(self) -> usize {
        if matches!(self, Self::Granted(_)) { usize::MAX } else { UNASKED_BYTES }
    }

    /// Bytes that there is room for.
    pub(super) fn granted(self) -> u32 {
        if let Self::Granted(bytes) = self { bytes } else { 0 }
    }
}

impl<R> Task<R> {
    /// Whether the task must ask before it reads `bytes` bytes for its answer.
    pub(super) fn needs_room(&self, bytes: usize) -> bool {
        bytes > self.room.unasked() && self.request().shows_value()
    }
}

impl<S: Stores> Owner<S> {
    /// The task goes on once its client's loop has room for `bytes` bytes.
    pub(super) fn ask(&mut self, ticket: Ticket, bytes: usize) {
        let task = self.tasks[ticket as usize].as_mut().expect("a task that asks is there");
        assert_eq!(task.room, Room::Unasked, "a task asks once");
        task.room = Room::Asked(bytes as u32);
        self.asks.push_back(ticket);
    }

    /// The next task that asks, its client, and how many bytes it wants room for. Each must be told ([`room`](Self::room)).
    pub fn next_ask(&mut self) -> Option<(ReplyTo, Ticket, u32)> {
        let ticket = self.asks.pop_front()?;
        let task = self.tasks[ticket as usize].as_ref().expect("a task that asks is there");
        let Room::Asked(bytes) = task.room else { unreachable!("it was just asked for") };
        Some((task.client.expect("a task is assigned before the turn ends"), ticket, bytes))
    }

    /// There is room for what a task asked for, or else its client is gone.
    pub fn room(&mut self, ticket: Ticket, granted: bool, now: Now) {
        let slot = &mut self.tasks[ticket as usize];
        let mut task = slot.take().expect("a task that asked is there");
        let Room::Asked(bytes) = task.room else { unreachable!("a task is told once") };
        // What changes something is done, though nobody hears of it.
        if !granted && !task.request().holds_key() {
            if let Reading::Lookup(read) = std::mem::replace(&mut task.reading, Reading::Nothing) {
                self.stores.abandon(task.store, read);
            }
            task.room = Room::Unasked;
            return self.stepped(ticket, task, Step::Done { gate: Gate::NONE, failed: true }, Vec::new(), now);
        }
        task.room = Room::Granted(if granted { bytes } else { 0 });
        match task.reading {
            Reading::Nothing => return self.try_again(ticket, task, now),
            Reading::Lookup(_) => self.to_read.push(ticket),
            Reading::Value(_) => self.large_queue.push_back(ticket),
        }
        *slot = Some(task);
        self.start_large_reads();
    }
}
