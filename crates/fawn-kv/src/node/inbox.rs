//! What has come to a node and waits for its turn. What members of chains and managers say has a queue of its own and goes
//! before what clients ask, so that a node which is asked more than it can answer still keeps its chains going: their
//! records, seals and copies do not wait behind gets. Now and then it is the clients' turn all the same.

use crate::ids::Address;
use crate::link::Lane;
use crate::wire::Message;
use std::collections::VecDeque;

/// Messages of chains that are taken before one of a client, where both wait.
const TURNS: u32 = 16;

/// How much can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Messages of clients.
    pub messages: usize,
    /// Bytes of them, as they were encoded.
    pub bytes: usize,
    /// Bytes of what chains and managers say.
    pub chain_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { messages: 4096, bytes: 16 << 20, chain_bytes: 64 << 20 }
    }
}

#[derive(Debug, Default)]
struct Queue {
    /// With the bytes of each.
    messages: VecDeque<(Address, Message, usize)>,
    bytes: usize,
}

impl Queue {
    fn push(&mut self, from: Address, message: Message, bytes: usize) {
        self.bytes += bytes;
        self.messages.push_back((from, message, bytes));
    }

    fn pop(&mut self) -> Option<(Address, Message)> {
        let (from, message, bytes) = self.messages.pop_front()?;
        self.bytes -= bytes;
        Some((from, message))
    }
}

/// A node's queues.
#[derive(Debug, Default)]
pub struct Inbox {
    bounds: Bounds,
    chain: Queue,
    clients: Queue,
    /// Messages of chains taken since the last of a client.
    turns: u32,
}

impl Inbox {
    /// An empty one.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.chain.messages.is_empty() && self.clients.messages.is_empty()
    }

    /// Whether clients and front-ends are to be read from: while they are not, they wait. Nodes and managers always are.
    pub fn takes_clients(&self) -> bool {
        self.clients.messages.len() < self.bounds.messages && self.clients.bytes < self.bounds.bytes
    }

    /// Messages that wait in a lane, and their bytes.
    pub fn waiting(&self, lane: Lane) -> (usize, usize) {
        let queue = match lane {
            Lane::Chain => &self.chain,
            Lane::Client => &self.clients,
        };
        (queue.messages.len(), queue.bytes)
    }

    /// A message has come; it had so many bytes. What chains and managers say beyond the bound is lost.
    pub fn push(&mut self, from: Address, message: Message, bytes: usize) {
        match Lane::of(from, &message) {
            Lane::Chain if self.chain.bytes >= self.bounds.chain_bytes => {}
            Lane::Chain => self.chain.push(from, message, bytes),
            Lane::Client => self.clients.push(from, message, bytes),
        }
    }

    /// The message whose turn it is.
    pub fn pop(&mut self) -> Option<(Address, Message)> {
        let is_clients = self.turns >= TURNS && !self.clients.messages.is_empty();
        if let Some(of_chain) = (!is_clients).then(|| self.chain.pop()).flatten() {
            self.turns = self.turns.saturating_add(1);
            return Some(of_chain);
        }
        self.turns = 0;
        self.clients.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Asker, NodeId, RangeId, RequestId, WedgeEpoch};

    const NODE: Address = Address::Node(NodeId(1));

    fn get(number: u64) -> Message {
        let id = RequestId { session: 7, number };
        let asker = Asker { address: Address::Client(7), tag: number };
        let (wedge, key) = (WedgeEpoch(0), vec![b'k']);
        Message::Get { range: RangeId(1), id, asker, wedge, key, place: None, continuation: None }
    }

    fn is_get(message: &Message) -> bool {
        matches!(message, Message::Get { .. })
    }

    #[test]
    fn chains_do_not_wait_for_clients_who_came_before() {
        let mut inbox = Inbox::default();
        for number in 1..=100 {
            inbox.push(Address::Client(7), get(number), 50);
        }
        inbox.push(NODE, Message::Pong, 2);
        assert_eq!(inbox.pop(), Some((NODE, Message::Pong)));
        for number in 1..=100 {
            assert_eq!(inbox.pop(), Some((Address::Client(7), get(number))), "each lane keeps its order");
        }
        assert_eq!(inbox.pop(), None);
    }

    #[test]
    fn a_client_has_its_turn_however_busy_the_chains_are() {
        let mut inbox = Inbox::default();
        for number in 1..=3 {
            inbox.push(Address::Client(7), get(number), 50);
        }
        let mut turns = Vec::new();
        for turn in 0..60 {
            inbox.push(NODE, Message::Ping, 2);
            inbox.push(NODE, Message::Ping, 2);
            if is_get(&inbox.pop().unwrap().1) {
                turns.push(turn);
            }
        }
        assert_eq!(turns, [16, 33, 50]);
    }

    #[test]
    fn clients_are_not_read_from_while_they_have_too_much_waiting() {
        let mut inbox = Inbox::new(Bounds { messages: 3, bytes: 1000, chain_bytes: 10 });
        inbox.push(Address::Client(7), get(1), 1000);
        assert!(!inbox.takes_clients(), "too many bytes");
        inbox.pop();
        for number in 1..=3 {
            assert!(inbox.takes_clients());
            inbox.push(Address::Client(7), get(number), 10);
        }
        assert!(!inbox.takes_clients(), "too many messages");
        inbox.pop();
        assert!(inbox.takes_clients());
    }

    #[test]
    fn a_get_that_another_member_passes_on_does_not_count_as_a_clients() {
        let mut inbox = Inbox::new(Bounds { messages: 1, bytes: 10, chain_bytes: 1000 });
        inbox.push(NODE, get(1), 50);
        assert!(inbox.takes_clients());
    }

    #[test]
    fn what_chains_say_is_lost_beyond_the_bound() {
        let mut inbox = Inbox::new(Bounds { chain_bytes: 3, ..Bounds::default() });
        for _ in 0..3 {
            inbox.push(NODE, Message::Ping, 2);
        }
        assert_eq!([inbox.pop().is_some(), inbox.pop().is_some(), inbox.pop().is_some()], [true, true, false]);
        inbox.push(NODE, Message::Ping, 2);
        assert!(!inbox.is_empty());
    }
}
