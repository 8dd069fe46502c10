//! Keys that are held: who works on them, and who waits for that.

use crate::request::TaskTicket;
use fawn_ring::Key;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// Who works on a key, and who waits for it.
#[derive(Debug, Default)]
struct KeyHold {
    /// Gets that share the key; 0: one task has it for itself.
    readers: u32,
    queue: VecDeque<TaskTicket>,
}

/// Keys that are held, each with the tasks that are queued behind its holder.
#[derive(Debug, Default)]
pub struct HeldKeys(HashMap<Key, KeyHold>);

impl HeldKeys {
    /// Whether no key is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request for `key` comes after others that hold it; `shares`: the request is a get that shares its key
    /// with other gets, which go together while nobody else waits.
    pub fn must_queue(&self, key: &Key, shares: bool) -> bool {
        let Some(hold) = self.0.get(key) else { return false };
        !shares || hold.readers == 0 || !hold.queue.is_empty()
    }

    /// Queues a task behind the holder of `key`.
    pub fn queue(&mut self, key: &Key, ticket: TaskTicket) {
        self.0.get_mut(key).expect("a key that is queued for is held").queue.push_back(ticket);
    }

    /// Takes `key` for one more task, which `shares` the key with others that do or has it for itself; false when the key
    /// is taken.
    pub fn hold(&mut self, key: Key, shares: bool) -> bool {
        match self.0.entry(key) {
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

    /// A task lets go of `key`. When it was the last holder: the tasks that are queued behind it.
    pub fn release(&mut self, key: &Key) -> VecDeque<TaskTicket> {
        let hold = self.0.get_mut(key).expect("a task lets go of what it holds");
        if hold.readers > 1 {
            hold.readers -= 1;
            return VecDeque::new();
        }
        self.0.remove(key).expect("the key was just found").queue
    }

    /// Whether the next of a queue has to wait for whoever holds `key` by now; `shares` as in
    /// [`must_queue`](Self::must_queue).
    pub fn blocks(&self, key: &Key, shares: bool) -> bool {
        self.0.get(key).is_some_and(|hold| !(shares && hold.readers > 0))
    }

    /// Puts the rest of a queue behind the holder of `key`.
    pub fn requeue(&mut self, key: &Key, queue: VecDeque<TaskTicket>) {
        self.0.get_mut(key).expect("what blocks a queue holds the key").queue = queue;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gets_share_a_key_until_somebody_else_waits_for_it() {
        let (mut held, key) = (HeldKeys::default(), Key::MIN);
        assert!(held.is_empty() && !held.must_queue(&key, false));
        assert!(held.hold(key, true) && held.hold(key, true) && !held.hold(key, false));
        assert!(!held.must_queue(&key, true) && held.must_queue(&key, false));
        held.queue(&key, 7);
        assert!(held.must_queue(&key, true), "a get after the write that waits");
        assert_eq!((held.release(&key), held.release(&key)), (VecDeque::new(), VecDeque::from([7])));
        assert!(held.is_empty());
    }

    #[test]
    fn a_queue_goes_on_until_one_of_it_holds_the_key() {
        let (mut held, key) = (HeldKeys::default(), Key::MIN);
        assert!(held.hold(key, false));
        held.queue(&key, 1);
        let queue = held.release(&key);
        assert!(!held.blocks(&key, false));
        assert!(held.hold(key, true));
        assert!(held.blocks(&key, false) && !held.blocks(&key, true));
        held.requeue(&key, queue);
        assert_eq!(held.release(&key), [1]);
    }
}
