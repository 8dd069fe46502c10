//! Letting go of keys.

use super::ShardExecutor;
use crate::runtime::clock::Now;
use crate::shard::stores::Stores;
use fawn_ring::Key;

impl<S: Stores> ShardExecutor<S> {
    /// Runs what is queued behind the holder of `key`, until one of the queue holds the key; gets that are queued one
    /// after the other hold it together.
    pub(super) fn let_go(&mut self, key: &Key, now: Now) {
        let mut queue = self.held.release(key);
        while let Some(ticket) = queue.pop_front() {
            let (task, mut out) = (self.tasks.take(ticket), self.pool.take());
            let step = self.begin(task.store, &task.request(), now, task.reservation.unreserved(), &mut out);
            self.stepped(ticket, task, step, out, now);
            let next_shares = queue.front().is_some_and(|next| self.tasks.get(*next).shares_key());
            if self.held.blocks(key, next_shares) {
                return self.held.requeue(key, queue);
            }
        }
    }
}
