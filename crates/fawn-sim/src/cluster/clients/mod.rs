//! The clients: what each asks, and what it waits for.

pub mod client;
mod codec;
pub mod operation;
mod routed;

use fawn_check::KvOperation;
use fawn_kv::ids::Address;
use fawn_kv::wire::Message;

use crate::cluster::clients::client::SimulatedClient;
use crate::cluster::clients::operation::{Asking, Conclusion};

/// All clients, by their numbers.
pub struct Clients {
    clients: Vec<SimulatedClient>,
    /// How many keys they ask for.
    keys: u64,
}

impl Clients {
    /// These clients, which ask for so many keys.
    pub fn new(clients: Vec<SimulatedClient>, keys: u64) -> Self {
        Self { clients, keys }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &SimulatedClient> {
        self.clients.iter()
    }

    /// What a client waits for.
    pub fn asking(&self, number: usize) -> Option<&Asking> {
        self.clients[number].asking()
    }

    /// Whether any client waits for the answer to such an operation.
    pub fn is_any_asking(&self, is_such: impl Fn(&Asking) -> bool) -> bool {
        self.clients.iter().filter_map(SimulatedClient::asking).any(is_such)
    }

    /// Whether a client other than this one waits for the answer to a flush.
    pub fn do_others_flush(&self, number: usize) -> bool {
        let mut others = self.clients.iter().enumerate().filter(|(other, _)| *other != number);
        others.any(|(_, client)| client.asking().is_some_and(|asking| asking.about.is_flush()))
    }

    /// A client that is idle begins an operation of its own choice.
    pub fn begin(&mut self, number: usize, now_us: u64, unix: u32) -> Asking {
        self.clients[number].begin(self.keys, now_us, unix).clone()
    }

    /// A client that is idle begins this operation on a key.
    pub fn begin_with(
        &mut self,
        number: usize,
        (key, operation): (u64, KvOperation),
        now_us: u64,
        unix: u32,
    ) -> Asking {
        self.clients[number].begin_with(key, operation, now_us, unix).clone()
    }

    /// Time has passed for a client.
    pub fn tick(&mut self, number: usize, now_us: u64, out: &mut Vec<(Address, Message)>) -> Option<Conclusion> {
        self.clients[number].tick(now_us, out)
    }

    /// A message has come to a client.
    pub fn receive(&mut self, number: usize, message: Message, unix: u32) -> Option<Conclusion> {
        self.clients[number].receive(message, unix)
    }

    /// The front-end that a client asks, if it asks no other one what that one does not answer.
    pub fn only_front(&self, number: usize) -> Option<usize> {
        let client = &self.clients[number];
        (!client.may_ask_others()).then(|| client.asks_front())
    }

    /// The next operation of each client is the first of a session.
    pub fn end_sessions(&mut self) {
        self.clients.iter_mut().for_each(SimulatedClient::end_session);
    }

    /// From here on no client deletes, flushes, or puts what expires.
    pub fn remove_nothing(&mut self) {
        self.clients.iter_mut().for_each(SimulatedClient::remove_nothing);
    }
}
