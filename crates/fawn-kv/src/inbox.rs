//! What has come to a node and waits for its turn. What members of chains and managers say has a queue of its own and goes
//! before what clients ask, so that a node which is asked more than it can answer still keeps its chains going: their
//! records, seals and copies do not wait behind gets. Now and then it is the clients' turn all the same.

use crate::ids::Address;
use crate::message::Message;
use std::collections::VecDeque;

/// Messages of chains that are taken before one of a client, where both wait.
const TURNS: u32 = 16;

/// Who is kept waiting by a message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Chains and those who change them. Heads bound what is under way in a chain, so that this queue is bounded.
    Chain,
    /// A client, itself or by way of a front-end: there may be any number of them.
    Client,
}

impl Lane {
    /// That of a message to a node.
    pub fn of(message: &Message) -> Self {
        match message {
            Message::Request { .. } | Message::Flush { .. } | Message::Get { .. } => Self::Client,
            _ => Self::Chain,
        }
    }
}

/// How much clients can have waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Messages.
    pub messages: usize,
    /// Bytes of them, as they were encoded.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { messages: 4096, bytes: 16 << 20 }
    }
}

/// A node's queues.
#[derive(Debug, Default)]
pub struct Inbox {
    bounds: Bounds,
    chain: VecDeque<(Address, Message)>,
    /// With the bytes of each.
    clients: VecDeque<(Address, Message, usize)>,
    client_bytes: usize,
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
        self.chain.is_empty() && self.clients.is_empty()
    }

    /// Whether what comes in this lane is to be read. Whoever reads from clients stops while it is not, and they wait.
    pub fn takes(&self, lane: Lane) -> bool {
        lane == Lane::Chain || (self.clients.len() < self.bounds.messages && self.client_bytes < self.bounds.bytes)
    }

    /// A message has come; it had so many bytes.
    pub fn push(&mut self, from: Address, message: Message, bytes: usize) {
        match Lane::of(&message) {
            Lane::Chain => self.chain.push_back((from, message)),
            Lane::Client => {
                self.client_bytes += bytes;
                self.clients.push_back((from, message, bytes));
            }
        }
    }

    /// The message whose turn it is.
    pub fn pop(&mut self) -> Option<(Address, Message)> {
        let of_chain = if self.turns < TURNS || self.clients.is_empty() { self.chain.pop_front() } else { None };
        if of_chain.is_some() {
            self.turns = self.turns.saturating_add(1);
            return of_chain;
        }
        self.turns = 0;
        let (from, message, bytes) = self.clients.pop_front()?;
        self.client_bytes -= bytes;
        Some((from, message))
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
        Message::Get { range: RangeId(1), id, asker, wedge, key, continuation: None }
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
        let mut inbox = Inbox::new(Bounds { messages: 3, bytes: 1000 });
        inbox.push(Address::Client(7), get(1), 1000);
        assert!(!inbox.takes(Lane::Client), "too many bytes");
        assert!(inbox.takes(Lane::Chain));
        inbox.pop();
        for number in 1..=3 {
            assert!(inbox.takes(Lane::Client));
            inbox.push(Address::Client(7), get(number), 10);
        }
        assert!(!inbox.takes(Lane::Client), "too many messages");
        inbox.pop();
        assert!(inbox.takes(Lane::Client));
    }
}
