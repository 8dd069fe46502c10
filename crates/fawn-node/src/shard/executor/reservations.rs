//! Large replies of tasks: made once the loop of their client has reserved memory for them (see
//! [`crate::net::backpressure`]).

use super::ShardExecutor;
use super::task::{Reservation, TaskRead};
use crate::request::{ReplyTo, TaskTicket};
use crate::runtime::clock::Now;
use crate::shard::operate::OperationStep;
use crate::shard::stores::Stores;
use fawn_store::Gate;

impl<S: Stores> ShardExecutor<S> {
    /// The task goes on once its client's loop has reserved `bytes` bytes.
    pub(super) fn ask(&mut self, ticket: TaskTicket, bytes: usize) {
        let task = self.tasks.get_mut(ticket);
        assert_eq!(task.reservation, Reservation::None, "a task asks once");
        task.reservation = Reservation::Asked(bytes as u32);
        self.to_reserve.push_back(ticket);
    }

    /// The next task that needs a reservation, where its reply goes, and how many bytes. Each must be answered
    /// ([`reserve`](Self::reserve)).
    pub fn next_reservation(&mut self) -> Option<(ReplyTo, TaskTicket, u32)> {
        let ticket = self.to_reserve.pop_front()?;
        let task = self.tasks.get(ticket);
        let Reservation::Asked(bytes) = task.reservation else { unreachable!("it was just asked for") };
        Some((task.to.expect("a task is assigned before the turn ends"), ticket, bytes))
    }

    /// Memory is reserved for the reply of a task, or else its client is gone.
    pub fn reserve(&mut self, ticket: TaskTicket, granted: bool, now: Now) {
        let mut task = self.tasks.take(ticket);
        let Reservation::Asked(bytes) = task.reservation else { unreachable!("a task is told once") };
        // What changes something is done, though nobody hears of it.
        if !granted && task.shares_key() {
            if let TaskRead::Lookup(read) = std::mem::replace(&mut task.reading, TaskRead::Nothing) {
                self.stores.abandon(task.store, read);
            }
            task.reservation = Reservation::None;
            return self.stepped(ticket, task, OperationStep::Done { gate: Gate::NONE, failed: true }, Vec::new(), now);
        }
        task.reservation = Reservation::Granted(if granted { bytes } else { 0 });
        match task.reading {
            TaskRead::Nothing => return self.try_again(ticket, task, now),
            TaskRead::Lookup(_) => self.reads.queued.push(ticket),
            TaskRead::Value(_) => self.large.queue(ticket),
        }
        self.tasks.put(ticket, task);
        self.start_large_reads();
    }
}
