//! Ready sockets, several at a time: all are received from, then what came is worked on, then all replies are sent.
//!
//! Each step leaves the processor's caches to the next one only once for the whole group, and the keys of clients that
//! send one request at a time are fetched ahead together, as those of pipelined requests are.

use crate::net::connection::{ClientConnection, Pause, ReceiveResult};
use crate::net::connection_table::ConnectionTable;
use crate::net::prefetch::PREFETCHED_KEYS;
use crate::net::worker::{ConnectionWorker, RECEIVE_BYTES, SMALL_INPUT_BYTES};
use crate::runtime::slab::Token;
use crate::shard::backend::Backend;
use rustix::event::epoll::EventFlags;
use std::ops::Range;

/// Sockets in a group: one key of each is fetched ahead.
const SOCKETS: usize = PREFETCHED_KEYS;

/// A group takes no other socket once it has received so much, so that each may hold some input and still receive as
/// much again.
const FULL_BYTES: usize = RECEIVE_BYTES - 2 * SMALL_INPUT_BYTES;

/// Replies above this size are sent at once, not with the group's.
const LARGE_REPLY_BYTES: usize = 16 << 10;

/// Sockets that have been received from.
#[derive(Debug, Default)]
pub struct SocketGroup {
    /// The sockets, in the order in which they were received from.
    members: Vec<GroupMember>,
    /// What they have sent, one after the other; made when first needed.
    input: Vec<u8>,
    /// Bytes of it that are used.
    input_bytes: usize,
    /// Their replies, one after the other.
    output: Vec<u8>,
}

/// One socket of a group.
#[derive(Debug)]
pub struct GroupMember {
    /// Its connection.
    pub token: Token,
    /// What it is ready for.
    pub flags: EventFlags,
    /// What came of receiving from it.
    received: ReceiveResult,
    /// Where its input lies.
    input: Range<usize>,
    /// Where its replies lie.
    output: Range<usize>,
}

impl SocketGroup {
    /// Whether it takes no other socket.
    pub fn is_full(&self) -> bool {
        self.members.len() >= SOCKETS || self.input_bytes >= FULL_BYTES
    }

    /// The sockets.
    pub fn members(&self) -> &[GroupMember] {
        &self.members
    }

    /// Receives from a connection that is ready by `flags`; the group is not full. `false`, and nothing, when the connection is
    /// one to be worked on alone.
    pub fn receive(&mut self, conn: &mut ClientConnection, flags: EventFlags, now_ms: u64) -> bool {
        let held = conn.input.len();
        let waits = matches!(conn.pause, Pause::NeedMore(_)) && conn.interest.contains(EventFlags::IN);
        if !flags.contains(EventFlags::IN) || !waits || held > SMALL_INPUT_BYTES || conn.tls.is_some() {
            return false;
        }
        self.input.resize(RECEIVE_BYTES, 0);
        let room = &mut self.input[self.input_bytes..];
        room[..held].copy_from_slice(&conn.input);
        let received = conn.receive(&mut room[held..], now_ms);
        let count = if let ReceiveResult::Bytes(count) = received { count } else { 0 };
        let start = self.input_bytes;
        self.input_bytes += held + count;
        let input = start..self.input_bytes;
        self.members.push(GroupMember { token: conn.flow.token, flags, received, input, output: 0..0 });
        true
    }

    /// Works on what was received, for [`send`](Self::send) of each member.
    pub fn work<B: Backend>(&mut self, connections: &mut ConnectionTable, worker: &mut ConnectionWorker<B>) {
        let Self { members, input, output, .. } = self;
        worker.dispatcher_mut().forget_prefetched();
        if members.len() > 1 {
            let upcoming = |visit: &mut dyn FnMut(_) -> bool| {
                for member in &*members {
                    if let Some(conn) = connections.get(member.token) {
                        conn.parser.upcoming(&input[member.input.clone()], visit);
                    }
                }
            };
            worker.dispatcher_mut().prefetch(upcoming);
        }
        for member in members {
            let Some(conn) = connections.get_mut(member.token) else { continue };
            if let ReceiveResult::Bytes(1..) = member.received {
                let input = &input[member.input.clone()];
                let used = worker.pump(conn, input);
                conn.keep_input(&input[used..]);
            }
            let out = worker.dispatcher_mut().output_mut().bytes_mut();
            if out.len() > LARGE_REPLY_BYTES {
                worker.flush(conn);
            } else {
                let start = output.len();
                output.append(out);
                member.output = start..output.len();
            }
            // So that the next one finds how much room there is.
            worker.charge(conn);
        }
    }

    /// Sends the replies to a member, whose connection is `conn`.
    pub fn send<B: Backend>(
        &self,
        member: &GroupMember,
        conn: &mut ClientConnection,
        worker: &mut ConnectionWorker<B>,
    ) {
        let out = worker.dispatcher_mut().output_mut().bytes_mut();
        out.extend_from_slice(&self.output[member.output.clone()]);
        worker.send_rest(conn);
        worker.received(conn, member.received);
    }

    /// Empties the group; it keeps its buffers.
    pub fn clear(&mut self) {
        self.members.clear();
        self.output.clear();
        self.input_bytes = 0;
    }
}
