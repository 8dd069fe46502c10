//! When a connection's next request may be worked on: bounds on replies, operations and bytes of a loop.
//! `docs/connection.md` has all that a connection can wait for.

use crate::net::connection::{Flow, Pause};
use crate::net::memory::{MemoryAccount, MemoryLimits};
use crate::options::ServeLimits;

/// A connection with fewer bytes of replies waiting than this takes them as they come.
const PROMPT_BYTES: usize = 64 << 10;
/// The reply to one line of keys is held for at most this part of what all replies of a loop may hold, so that no client
/// alone can make all others wait.
const WHOLE_REPLY_SHARE: usize = 8;
/// Most replies that one connection may have waiting.
const MOST_WAITING_REPLIES: usize = 4096;
/// A connection that misses fewer replies than this goes on for as long as there is memory at all. Others leave half of
/// the memory free, and go on only once their large replies come.
const FEW_MISSING: usize = 16;

/// What a loop's backend has under way.
#[derive(Clone, Copy, Debug)]
pub struct BackendLoad {
    /// Operations that wait.
    pub tasks: usize,
    /// Bytes that they hold.
    pub bytes: usize,
}

/// The bounds of one loop, and what its connections hold.
#[derive(Debug)]
pub struct AdmissionControl {
    /// Memory of all connections.
    memory: MemoryAccount,
    /// Bytes of replies that may wait for one connection.
    output_bytes: usize,
    /// Bytes up to which the reply to a line of keys is held until it is whole.
    whole_reply_bytes: usize,
    /// The loop's share of the limit on operations in flight.
    tasks: usize,
}

impl AdmissionControl {
    /// The bounds of one of `loops` loops, which may hold `bytes_limit` bytes of replies and operations. An item has at most
    /// `item_bytes`.
    pub fn new(limits: &ServeLimits, loops: usize, bytes_limit: usize, item_bytes: usize) -> Self {
        let memory = MemoryLimits { output: bytes_limit, input: 2 * bytes_limit, item: item_bytes };
        Self {
            memory: MemoryAccount::new(memory),
            output_bytes: limits.output_bytes,
            whole_reply_bytes: limits.whole_answer_bytes.min(bytes_limit / WHOLE_REPLY_SHARE),
            tasks: (limits.requests_in_flight / loops).max(1),
        }
    }

    /// Memory of all connections.
    #[inline]
    pub fn memory(&self) -> &MemoryAccount {
        &self.memory
    }

    /// Memory of all connections.
    #[inline]
    pub fn memory_mut(&mut self) -> &mut MemoryAccount {
        &mut self.memory
    }

    /// Bytes from which on the front of an incomplete reply leaves early.
    #[inline]
    pub fn stream_above(&self) -> usize {
        if self.memory.is_pressed() { 0 } else { self.whole_reply_bytes - 1 }
    }

    /// Whether fewer operations are in flight than may be.
    #[inline]
    pub fn has_room_for_tasks(&self, load: BackendLoad) -> bool {
        load.tasks < self.tasks
    }

    /// Whether replies and operations hold fewer bytes than they may.
    #[inline]
    pub fn has_room_for_bytes(&self, load: BackendLoad) -> bool {
        self.memory.has_room(load.bytes)
    }

    /// What keeps a connection from working on its next request, if anything. `out_bytes` of its replies are in the loop's output.
    /// `is_mesh_crowded` says whether half of the requests that may be on their way to another loop are.
    #[inline]
    pub fn pause(
        &self,
        flow: &Flow,
        out_bytes: usize,
        now_ms: u64,
        load: BackendLoad,
        is_mesh_crowded: impl FnOnce() -> bool,
    ) -> Option<Pause> {
        let waiting = out_bytes + flow.answers.bytes() + flow.unsent_bytes;
        let most = if flow.line.is_some() { self.whole_reply_bytes } else { self.output_bytes };
        let is_crowded = || load.tasks >= self.tasks / 2 || is_mesh_crowded();
        if flow.penalty_until_ms > now_ms {
            Some(Pause::Penalty(flow.penalty_until_ms))
        } else if flow.listing.is_some() || flow.moving.is_some() {
            Some(Pause::Listing)
        } else if flow.flushing && !flow.answers.are_filled() {
            Some(Pause::Order)
        } else if waiting >= most || flow.answers.len() >= MOST_WAITING_REPLIES || flow.broken {
            Some(Pause::Output)
        } else if flow.answers.missing() >= FEW_MISSING && (is_crowded() || !flow.reservations.is_empty()) {
            // It gets on with its own replies.
            Some(Pause::Output)
        } else if !self.has_room_for_tasks(load) {
            Some(Pause::Tasks)
        } else if !self.has_room_for_bytes(load) && !self.is_prompt(flow, waiting, load) {
            Some(if flow.gets_on() { Pause::Output } else { Pause::Memory })
        } else {
            None
        }
    }

    /// Whether a connection goes on although others hold all the bytes there are: one that takes its replies does, out
    /// of as many bytes again, so that those that do not take theirs harm only themselves.
    #[inline]
    fn is_prompt(&self, flow: &Flow, waiting: usize, load: BackendLoad) -> bool {
        (flow.answers.is_empty() || flow.line.is_some())
            && waiting < PROMPT_BYTES
            && self.memory.has_room_for_prompt(load.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::memory::HeldBytes;
    use crate::protocol::memcached::MEMCACHED;

    const MIB: usize = 1 << 20;

    fn admission() -> AdmissionControl {
        AdmissionControl::new(&ServeLimits { requests_in_flight: 100, ..ServeLimits::default() }, 2, MIB, 1000)
    }

    fn load(tasks: usize, bytes: usize) -> BackendLoad {
        BackendLoad { tasks, bytes }
    }

    fn flow() -> Flow {
        Flow::new(&MEMCACHED)
    }

    #[test]
    fn a_connection_waits_for_the_first_bound_that_it_meets() {
        let (admission, mut flow) = (admission(), flow());
        let pause = |flow: &Flow, load| admission.pause(flow, 0, 1000, load, || false);
        assert_eq!(pause(&flow, load(0, 0)), None);
        assert_eq!(pause(&flow, load(49, 0)), None);
        assert_eq!(pause(&flow, load(50, 0)), Some(Pause::Tasks), "half of all operations are another loop's");
        flow.unsent_bytes = ServeLimits::default().output_bytes;
        assert_eq!(pause(&flow, load(50, 0)), Some(Pause::Output));
        flow.penalty_until_ms = 1001;
        assert_eq!(pause(&flow, load(50, 0)), Some(Pause::Penalty(1001)));
        flow.penalty_until_ms = 1000;
        assert_eq!(pause(&flow, load(50, 0)), Some(Pause::Output), "the second is over");
    }

    #[test]
    fn who_takes_its_replies_goes_on_although_others_hold_all_memory() {
        let (mut admission, mut prompt) = (admission(), flow());
        admission.memory_mut().charge(HeldBytes::default(), HeldBytes { output: MIB, ..HeldBytes::default() });
        let pause = |admission: &AdmissionControl, flow: &Flow| admission.pause(flow, 0, 0, load(0, 0), || false);
        assert_eq!(pause(&admission, &prompt), None);
        prompt.unsent_bytes = PROMPT_BYTES;
        assert_eq!(pause(&admission, &prompt), Some(Pause::Output), "what it has not taken goes on with it");
        prompt.unsent_bytes = 0;
        admission.memory_mut().charge(HeldBytes::default(), HeldBytes { output: MIB + 1000, ..HeldBytes::default() });
        assert_eq!(pause(&admission, &prompt), Some(Pause::Memory), "twice as much is held");
    }

    #[test]
    fn whoever_misses_many_replies_leaves_half_of_the_room_to_others() {
        let (admission, mut flow) = (admission(), flow());
        for _ in 0..FEW_MISSING {
            flow.answers.wait_for_one();
        }
        let pause = |load, is_crowded| admission.pause(&flow, 0, 0, load, || is_crowded);
        assert_eq!((pause(load(24, 0), false), pause(load(25, 0), false)), (None, Some(Pause::Output)));
        assert_eq!(pause(load(0, 0), true), Some(Pause::Output));
    }
}
