//! Ready sockets that are worked on together.

use crate::net::connection::Received;
use crate::net::prefetch::PREFETCHED_KEYS;
use crate::net::worker::{RECEIVE_BYTES, SMALL_INPUT_BYTES};
use crate::runtime::slab::Token;
use rustix::event::epoll::EventFlags;
use std::ops::Range;

/// Sockets in a group: one key of each is fetched ahead.
const SOCKETS: usize = PREFETCHED_KEYS;

/// A group takes no other socket once it has received so much, so that each may hold some input and still receive as
/// much again.
const FULL_BYTES: usize = RECEIVE_BYTES - 2 * SMALL_INPUT_BYTES;

/// Sockets that have been received from.
#[derive(Debug, Default)]
pub struct SocketGroup {
    /// The sockets, in the order in which they were received from.
    pub members: Vec<Member>,
    /// What they have sent, one after the other; made when first needed.
    pub input: Vec<u8>,
    /// Bytes of it that are used.
    pub input_bytes: usize,
    /// Their answers, one after the other.
    pub output: Vec<u8>,
}

/// One socket of a group.
#[derive(Debug)]
pub struct Member {
    /// Its connection.
    pub token: Token,
    /// What it is ready for.
    pub flags: EventFlags,
    /// What came of receiving from it.
    pub received: Received,
    /// Where its input lies.
    pub input: Range<usize>,
    /// Where its answers lie.
    pub output: Range<usize>,
}

impl SocketGroup {
    /// Whether it takes no other socket.
    pub fn is_full(&self) -> bool {
        self.members.len() >= SOCKETS || self.input_bytes >= FULL_BYTES
    }
}
