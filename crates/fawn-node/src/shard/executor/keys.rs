//! Keys that are held: who works on them, and who waits for that.

use super::ShardExecutor;
use crate::request::{KeyRequest, Ticket};
use crate::runtime::clock::Now;
use crate::shard::stores::Stores;
use fawn_ring::Key;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// Who works on a key, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct KeyHold {
    /// Gets that share the key; 0: one task has it for itself.
    pub(super) readers: u32,
    pub(super) queue: VecDeque<Ticket>,
}

/// Takes `key` for one more task, which `shares` it with others that do or has it for itself; false when it is taken.
pub(super) fn hold(held: &mut HashMap<Key, KeyHold>, key: Key, shares: bool) -> bool {
    match held.entry(key) {
        Entry::Vacant(vacant) => {
            vacant.insert(KeyHold { readers: u32::from(shares), queue: VecDeque::new() });
            true
        }
        Entry::Occupied(mut hold) if shares && hold.get().readers > 0 => {
            hold.get_mut().readers += 1;
            true
        }
        Entry::Occupied(_) => false,
    }
}

impl<S: Stores> ShardExecutor<S> {
    /// Whether the command comes after others that hold its key. Gets go together while nobody else waits.
    pub(super) fn must_queue(&self, request: &KeyRequest<'_>) -> bool {
        let Some(hold) = self.held.get(&request.key) else { return false };
        request.holds_key() || hold.readers == 0 || !hold.queue.is_empty()
    }

    /// Runs what queued behind the holder of `key`, until one of them holds it; gets that queued one after the other
    /// hold it together.
    pub(super) fn let_go(&mut self, key: &Key, now: Now) {
        let hold = self.held.get_mut(key).expect("a held key has a queue");
        if hold.readers > 1 {
            hold.readers -= 1;
            return;
        }
        let mut queue = self.held.remove(key).expect("the key was just found").queue;
        while let Some(ticket) = queue.pop_front() {
            let task = self.tasks[ticket as usize].take().expect("a queued task is there");
            let mut out = self.pool.take();
            let step = self.begin(task.store, &task.request(), now, task.reservation.unreserved(), &mut out);
            self.stepped(ticket, task, step, out, now);
            let next_shares = queue.front().is_some_and(|next| {
                !self.tasks[*next as usize].as_ref().expect("a queued task is there").request().holds_key()
            });
            if let Some(hold) = self.held.get_mut(key)
                && !(next_shares && hold.readers > 0)
            {
                hold.queue = queue;
                return;
            }
        }
    }
}
