//! Ready sockets, several at a time: all are received from, then what came is worked on, then all answers are sent.
//!
//! Each step leaves the processor's caches to the next one only once for the whole group, and the keys of clients that
//! send one request at a time are fetched ahead together, as those of pipelined requests are.

use super::EventLoop;
use crate::net::connection::{Pause, Received};
use crate::net::group::{Member, SocketGroup};
use crate::net::worker::{RECEIVE_BYTES, SMALL_INPUT_BYTES};
use crate::runtime::slab::Token;
use crate::shard::backend::Backend;
use rustix::event::epoll::EventFlags;

/// Answers above this size are sent at once, not with the group's.
const LARGE_ANSWER_BYTES: usize = 16 << 10;

impl<B: Backend> EventLoop<B> {
    /// Receives from a connection that is ready by `flags`, into the group, which is not full; `false`, and nothing, when
    /// it is one to be worked on alone.
    pub(super) fn gather(&mut self, token: Token, flags: EventFlags) -> bool {
        let Some(conn) = self.connections.get_mut(token) else { return false };
        let held = conn.input.len();
        let waits = matches!(conn.pause, Pause::NeedMore(_)) && conn.interest.contains(EventFlags::IN);
        if !flags.contains(EventFlags::IN) || !waits || held > SMALL_INPUT_BYTES || conn.tls.is_some() {
            return false;
        }
        let group = &mut self.group;
        group.input.resize(RECEIVE_BYTES, 0);
        let room = &mut group.input[group.input_bytes..];
        room[..held].copy_from_slice(&conn.input);
        let received = conn.receive(&mut room[held..], self.now.ms);
        let count = if let Received::Bytes(count) = received { count } else { 0 };
        let start = group.input_bytes;
        group.input_bytes += held + count;
        let input = start..group.input_bytes;
        group.members.push(Member { token, flags, received, input, output: 0..0 });
        true
    }

    /// Works on what the group has received and sends the answers.
    pub(super) fn work_group(&mut self) {
        let SocketGroup { mut members, input, mut output, .. } = std::mem::take(&mut self.group);
        self.worker.dispatcher_mut().forget_prefetched();
        if members.len() > 1 {
            let connections = &self.connections;
            let upcoming = |visit: &mut dyn FnMut(_) -> bool| {
                for member in &members {
                    if let Some(conn) = connections.at_token(member.token) {
                        conn.parser.upcoming(&input[member.input.clone()], visit);
                    }
                }
            };
            self.worker.dispatcher_mut().prefetch(upcoming);
        }
        for member in &mut members {
            let Some(conn) = self.connections.get_mut(member.token) else { continue };
            if let Received::Bytes(1..) = member.received {
                let input = &input[member.input.clone()];
                let used = self.worker.pump(conn, input);
                conn.keep_input(&input[used..]);
            }
            let out = self.worker.dispatcher_mut().output_mut().bytes_mut();
            if out.len() > LARGE_ANSWER_BYTES {
                self.worker.flush(conn);
            } else {
                let start = output.len();
                output.append(out);
                member.output = start..output.len();
            }
            // So that the next one finds how much room there is.
            self.worker.charge(conn);
        }
        for member in &members {
            let Some(conn) = self.connections.get_mut(member.token) else { continue };
            self.worker.dispatcher_mut().output_mut().bytes_mut().extend_from_slice(&output[member.output.clone()]);
            self.worker.send_rest(conn);
            self.worker.received(conn, member.received);
            self.finish_event(member.token, member.flags);
        }
        members.clear();
        output.clear();
        self.group = SocketGroup { members, input, input_bytes: 0, output };
    }
}
