//! Requests at the head that wait for their key to be read.

use super::requests::Request;
use crate::ids::RequestId;
use crate::store::Ticket;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Those requests, by key, and the reads that they wait for.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    by_key: BTreeMap<Vec<u8>, VecDeque<Request>>,
    waiting: BTreeSet<RequestId>,
    /// Bytes of keys and operations that wait.
    bytes: usize,
    reads: BTreeMap<Ticket, Vec<u8>>,
}

impl RequestQueue {
    /// Requests that wait, and their bytes.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    /// Whether the request waits.
    pub(super) fn holds(&self, id: RequestId) -> bool {
        self.waiting.contains(&id)
    }

    /// Whether the key is being read.
    pub(super) fn reads(&self, key: &[u8]) -> bool {
        self.by_key.contains_key(key)
    }

    /// The request waits for a read of its key.
    pub(super) fn push(&mut self, request: Request) {
        self.waiting.insert(request.id);
        self.bytes += request.bytes();
        self.by_key.entry(request.key.clone()).or_default().push_back(request);
    }

    /// The request is the first that waits for its key, which this read is of.
    pub(super) fn push_first(&mut self, ticket: Ticket, request: Request) {
        self.reads.insert(ticket, request.key.clone());
        self.push(request);
    }

    /// Those that wait for what has been read.
    pub(super) fn pop(&mut self, ticket: Ticket) -> VecDeque<Request> {
        let Some(key) = self.reads.remove(&ticket) else { return VecDeque::new() };
        let requests = self.by_key.remove(&key).expect("requests wait for a read");
        for request in &requests {
            self.waiting.remove(&request.id);
            self.bytes -= request.bytes();
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{FRONT, SECRET};
    use crate::ids::{Asker, Epoch, WedgeEpoch};

    fn request(number: u64, key: &[u8]) -> Request {
        let (id, asker) = (RequestId { session: 1, number }, Asker { address: FRONT, tag: 0 });
        let (wedge, epoch, lies) = (WedgeEpoch(0), Epoch(1), SECRET.position(key));
        Request { id, answered: 0, asker, wedge, epoch, key: key.into(), lies, operation: Vec::new(), is_done: false }
    }

    #[test]
    fn requests_about_a_key_wait_for_one_read_in_their_order() {
        let mut queue = RequestQueue::default();
        queue.push_first(7, request(1, b"a"));
        queue.push(request(2, b"a"));
        queue.push_first(8, request(3, b"b"));
        assert!(queue.reads(b"a") && !queue.reads(b"c") && queue.holds(request(2, b"a").id));
        assert_eq!(queue.waiting().0, 3);
        assert!(queue.pop(9).is_empty());
        assert_eq!(queue.pop(7).iter().map(|request| request.id.number).collect::<Vec<_>>(), [1, 2]);
        assert!(!queue.reads(b"a") && !queue.holds(request(2, b"a").id));
        assert_eq!(queue.waiting(), (1, request(3, b"b").bytes()));
        assert_eq!((queue.pop(8).len(), queue.waiting()), (1, (0, 0)));
    }
}
