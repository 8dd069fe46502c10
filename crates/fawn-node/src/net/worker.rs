//! What a loop does with one connection at a time: work on its input, send its replies, watch its socket.

use crate::net::auth;
use crate::net::connection::{ClientConnection, Pause, ReceiveResult, peer_name};
use crate::net::dispatch::{Dispatcher, NoCredit};
use crate::net::memory::HeldBytes;
use crate::net::tls;
use crate::runtime::clock::Now;
use crate::runtime::mesh::Mesh;
use crate::runtime::slab::Token;
use crate::shard::backend::Backend;
use rustix::event::epoll::{self, EventData};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a shared receive buffer.
pub const RECEIVE_BYTES: usize = 64 << 10;
/// Partial input up to this size is moved into the receive buffer again before the next receive; above it, the rest is
/// received where it stays.
pub const SMALL_INPUT_BYTES: usize = 16 << 10;
/// The shared output buffers keep this much.
const KEEP_OUTPUT_BYTES: usize = 1 << 20;

/// Connections that wait, by what they wait for.
#[derive(Debug, Default)]
pub struct Queues {
    /// For fewer operations in flight.
    pub tasks: VecDeque<Token>,
    /// For fewer bytes waiting.
    pub memory: VecDeque<Token>,
    /// For less input held.
    pub input: VecDeque<Token>,
    /// For credit of another loop, by its number.
    pub credit: Vec<VecDeque<Token>>,
    /// For a reservation for a large reply; they may be in another queue as well.
    pub reservations: VecDeque<Token>,
}

/// One of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitQueue {
    /// For fewer operations in flight.
    Tasks,
    /// For fewer bytes waiting.
    Memory,
    /// For less input held.
    Input,
    /// For credit of this loop.
    Credit(usize),
}

impl Queues {
    fn of(&mut self, queue: WaitQueue) -> &mut VecDeque<Token> {
        match queue {
            WaitQueue::Tasks => &mut self.tasks,
            WaitQueue::Memory => &mut self.memory,
            WaitQueue::Input => &mut self.input,
            WaitQueue::Credit(peer) => &mut self.credit[peer],
        }
    }

    /// Connections in all queues.
    pub fn len(&self) -> usize {
        let credit = self.credit.iter().map(VecDeque::len).sum::<usize>();
        self.tasks.len() + self.memory.len() + self.input.len() + credit
    }
}

/// Works on the connections of one loop, one at a time.
pub struct ConnectionWorker<B: Backend> {
    /// Sends requests to their stores.
    dispatcher: Dispatcher<B>,
    /// The loop's epoll set.
    epoll: Arc<OwnedFd>,
    /// Connections whose front waits for a sync.
    gated: Vec<Token>,
    /// Connections that wait.
    pub(super) queues: Queues,
    /// A reservation was refused to the next reply of a connection that takes its replies.
    pub(super) next_refused: bool,
    /// The round over those that wait for a reservation is for the sake of such connections.
    pub(super) next_round: bool,
    /// The connection that may receive although the limit is reached.
    favoured: Option<Token>,
    /// TLS handshake steps left in this turn.
    handshakes_left: usize,
    /// What TLS sockets receive into.
    buffer: Vec<u8>,
    cipher: Vec<u8>,
}

impl<B: Backend> ConnectionWorker<B> {
    /// A worker that sends requests by `dispatcher`, with the sockets of `epoll`.
    pub fn new(dispatcher: Dispatcher<B>, epoll: Arc<OwnedFd>) -> Self {
        let credit = (0..dispatcher.mesh().loops()).map(|_| VecDeque::new()).collect();
        Self {
            dispatcher,
            epoll,
            gated: Vec::new(),
            queues: Queues { credit, ..Queues::default() },
            next_refused: false,
            next_round: false,
            favoured: None,
            handshakes_left: 0,
            buffer: vec![0; RECEIVE_BYTES],
            cipher: Vec::new(),
        }
    }

    /// Sends requests to their stores.
    #[inline]
    pub fn dispatcher(&self) -> &Dispatcher<B> {
        &self.dispatcher
    }

    /// Sends requests to their stores.
    #[inline]
    pub fn dispatcher_mut(&mut self) -> &mut Dispatcher<B> {
        &mut self.dispatcher
    }

    /// Carries out what clients ask.
    #[inline]
    pub fn backend(&self) -> &B {
        self.dispatcher.backend()
    }

    /// Carries out what clients ask.
    #[inline]
    pub fn backend_mut(&mut self) -> &mut B {
        self.dispatcher.backend_mut()
    }

    /// Links to other loops.
    #[inline]
    pub fn mesh(&self) -> &Mesh {
        self.dispatcher.mesh()
    }

    /// Links to other loops.
    #[inline]
    pub fn mesh_mut(&mut self) -> &mut Mesh {
        self.dispatcher.mesh_mut()
    }

    /// The backend, when everything else goes.
    pub fn into_backend(self) -> B {
        self.dispatcher.into_backend()
    }

    /// The loop's epoll set.
    pub fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// A turn of the loop begins.
    pub fn begin_turn(&mut self, now: Now, now_us: u64, handshakes: usize) {
        self.dispatcher.begin_turn(now, now_us);
        self.handshakes_left = handshakes;
    }

    /// Connections whose front waits for a sync, to be looked at again.
    pub fn take_gated(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.gated)
    }

    /// Connections that wait in a queue.
    pub fn queued(&self) -> usize {
        self.queues.len()
    }

    /// The client of a connection that is worked on alone has sent something, or has gone.
    pub fn receive(&mut self, conn: &mut ClientConnection) {
        if conn.tls.is_some() {
            return self.receive_tls(conn);
        }
        let Pause::NeedMore(total) = conn.pause else { return };
        let received = conn.receive_more(total, self.dispatcher.now().ms);
        self.received(conn, received);
        if matches!(received, ReceiveResult::Bytes(1..)) {
            self.work(conn);
        }
    }

    /// Takes note of what was received, and worked on.
    pub fn received(&mut self, conn: &mut ClientConnection, received: ReceiveResult) {
        match received {
            ReceiveResult::Bytes(count) => self.dispatcher.counters().bytes_read.add(count as u64),
            ReceiveResult::End => self.hang_up(conn),
            ReceiveResult::Broken => conn.flow.broken = true,
        }
    }

    /// The client will send no more: a line of keys that it began will never be whole.
    pub fn hang_up(&mut self, conn: &mut ClientConnection) {
        conn.deaf = true;
        if matches!(conn.pause, Pause::NeedMore(_)) && conn.flow.line.is_some() {
            self.dispatcher.abandon_line(&mut conn.flow, b"");
            self.flush(conn);
        }
    }

    fn receive_tls(&mut self, conn: &mut ClientConnection) {
        let Some(mut tls) = conn.tls.take() else { return };
        let handshaking = tls.is_handshaking();
        if handshaking && self.handshakes_left == 0 {
            // The socket stays readable: its turn comes.
            conn.tls = Some(tls);
            return;
        }
        self.handshakes_left -= usize::from(handshaking);
        let mut buffer = std::mem::take(&mut self.buffer);
        let received = conn.receive(&mut buffer, self.dispatcher.now().ms);
        if let ReceiveResult::Bytes(count @ 1..) = received {
            let result = tls.receive(&buffer[..count], &mut conn.input);
            self.cipher.clear();
            tls.take_output(&mut self.cipher);
            self.send_cipher(conn);
            match result {
                Ok(true) => {}
                Ok(false) => conn.deaf = true,
                Err(error) => {
                    tls::log_error(&error, || peer_name(&conn.socket));
                    self.dispatcher.counters().tls_errors.add(1);
                    conn.flow.broken = true;
                }
            }
            self.dispatcher.counters().tls_handshakes.add(u64::from(handshaking && !tls.is_handshaking()));
        }
        self.buffer = buffer;
        conn.tls = Some(tls);
        self.work(conn);
        self.received(conn, received);
        if conn.deaf {
            self.hang_up(conn);
        }
    }

    /// Works on the input that the connection holds, and sends the answers.
    fn work(&mut self, conn: &mut ClientConnection) {
        let mut input = std::mem::take(&mut conn.input);
        self.dispatcher.forget_prefetched();
        let used = self.pump(conn, &input);
        self.send_rest(conn);
        if used == input.len() {
            input = Vec::new();
        } else {
            input.drain(..used);
        }
        conn.input = input;
    }

    /// Works on `input` until the connection has to wait; returns how much is done. Answers are sent only where that makes
    /// room for more: the last ones are left for [`send_rest`](Self::send_rest).
    pub fn pump(&mut self, conn: &mut ClientConnection, input: &[u8]) -> usize {
        let mut used = 0;
        loop {
            let (count, pause) = self.dispatcher.process(&mut *conn.parser, &mut conn.flow, &input[used..]);
            used += count;
            conn.pause = pause;
            if let Some(user) = conn.flow.refused_user.take() {
                auth::log_refused(&user, &peer_name(&conn.socket));
            }
            if !matches!(pause, Pause::Output | Pause::Memory) {
                return used;
            }
            self.flush(conn);
            if conn.flow.broken {
                return used;
            }
            // The answers have left, but there may be something else to wait for now.
            if let Some(pause) = self.dispatcher.pause(&conn.flow) {
                conn.pause = pause;
                return used;
            }
        }
    }

    /// Sends what [`pump`](Self::pump) has left. Nothing where the client has to take answers first: they were sent as far as it
    /// does, and if the rest left now, nothing would remain whose leaving goes on with the connection's requests.
    pub fn send_rest(&mut self, conn: &mut ClientConnection) {
        if conn.pause != Pause::Output {
            self.flush(conn);
        }
    }

    /// Sends what may leave, then goes on with the connection's input if there is room again.
    pub fn service(&mut self, conn: &mut ClientConnection) {
        self.flush(conn);
        if conn.queued || conn.flow.broken || matches!(conn.pause, Pause::NeedMore(_) | Pause::Close) {
            return;
        }
        if let Some(pause) = self.dispatcher.pause(&conn.flow) {
            conn.pause = pause;
            return;
        }
        self.work(conn);
        if conn.deaf {
            self.hang_up(conn);
        }
    }

    /// Sends what may leave.
    pub fn flush(&mut self, conn: &mut ClientConnection) {
        if !conn.flow.answers.is_empty() {
            self.dispatcher.release(&mut conn.flow);
            if !conn.gated && conn.flow.answers.front_gate().is_some() {
                conn.gated = true;
                self.gated.push(conn.flow.token);
            }
        }
        let now_ms = self.dispatcher.now().ms;
        let output = self.dispatcher.output_mut().bytes_mut();
        if output.is_empty() && conn.flow.unsent_bytes == 0 {
            return;
        }
        let mut out = std::mem::take(output);
        let sent = match &mut conn.tls {
            None => conn.send(&mut out, now_ms),
            Some(tls) => {
                self.cipher.clear();
                tls.send(&out, &mut self.cipher);
                conn.send(&mut self.cipher, now_ms)
            }
        };
        match sent {
            Ok(count) => self.dispatcher.counters().bytes_written.add(count as u64),
            Err(_) => conn.flow.broken = true,
        }
        for buffer in [&mut out, &mut self.cipher] {
            buffer.clear();
            buffer.shrink_to(KEEP_OUTPUT_BYTES);
        }
        *self.dispatcher.output_mut().bytes_mut() = out;
    }

    fn send_cipher(&mut self, conn: &mut ClientConnection) {
        if self.cipher.is_empty() {
            return;
        }
        match conn.send(&mut self.cipher, self.dispatcher.now().ms) {
            Ok(count) => self.dispatcher.counters().bytes_written.add(count as u64),
            Err(_) => conn.flow.broken = true,
        }
    }

    /// The next connection of a queue, if it need not wait any more.
    pub fn next_resumed(&mut self, queue: WaitQueue) -> Option<Token> {
        let waits = !self.queues.of(queue).is_empty();
        if waits && self.has_room(queue) { self.queues.of(queue).pop_front() } else { None }
    }

    /// Whether a connection of some queue need not wait any more.
    pub fn may_resume(&self) -> bool {
        let queues = &self.queues;
        let waits = |queue, tokens: &VecDeque<Token>| !tokens.is_empty() && self.has_room(queue);
        waits(WaitQueue::Tasks, &queues.tasks)
            || waits(WaitQueue::Memory, &queues.memory)
            || waits(WaitQueue::Input, &queues.input)
            || self.may_grant()
            || queues.credit.iter().enumerate().any(|(peer, tokens)| waits(WaitQueue::Credit(peer), tokens))
    }

    fn has_room(&self, queue: WaitQueue) -> bool {
        match queue {
            WaitQueue::Tasks => self.dispatcher.admission().has_room_for_tasks(self.dispatcher.load()),
            WaitQueue::Memory => self.dispatcher.admission().has_room_for_bytes(self.dispatcher.load()),
            WaitQueue::Input => self.favoured.is_none() || self.has_room_for_input(),
            WaitQueue::Credit(peer) => self.dispatcher.mesh().may_send(peer),
        }
    }

    fn has_room_for_input(&self) -> bool {
        self.dispatcher.admission().memory().has_room_for_input()
    }

    /// Brings the books up to date after work on a connection: what it holds, what it waits for, what epoll watches.
    /// Returns whether the connection is to be closed.
    pub fn settle(&mut self, conn: &mut ClientConnection) -> bool {
        if conn.is_over() {
            return true;
        }
        if conn.flow.listing.is_some() && !conn.queued {
            conn.pause = match self.dispatcher.list_on(&mut conn.flow) {
                Ok(()) => Pause::Listing,
                Err(NoCredit(peer)) => Pause::Credit(peer),
            };
        }
        if conn.flow.moving.is_some() && !conn.queued {
            conn.pause = match self.dispatcher.move_on(&mut conn.flow) {
                Ok(()) => Pause::Listing,
                Err(NoCredit(peer)) => Pause::Credit(peer),
            };
        }
        self.charge(conn);
        let may_receive = self.may_receive(conn);
        if !conn.queued {
            let queue = match conn.pause {
                Pause::Tasks => Some(&mut self.queues.tasks),
                Pause::Memory => Some(&mut self.queues.memory),
                Pause::Credit(peer) => Some(&mut self.queues.credit[peer]),
                _ if !may_receive => Some(&mut self.queues.input),
                _ => None,
            };
            if let Some(queue) = queue {
                queue.push_back(conn.flow.token);
                conn.queued = true;
            }
        }
        self.grant_next(conn);
        !self.watch(conn)
    }

    /// Brings the loop's account up to date with what a connection holds.
    pub fn charge(&mut self, conn: &mut ClientConnection) {
        let now = conn.held_bytes();
        self.dispatcher.admission_mut().memory_mut().charge(conn.charged, now);
        conn.charged = now;
    }

    /// Whether the connection may receive more of a large command. When all connections together hold as much input as
    /// they may, only one of them goes on at a time: memory is bounded by the limit and one command, and somebody
    /// always gets on.
    fn may_receive(&mut self, conn: &ClientConnection) -> bool {
        let token = conn.flow.token;
        let large = matches!(conn.pause, Pause::NeedMore(_)) && conn.input.len() > SMALL_INPUT_BYTES;
        if !large || self.has_room_for_input() {
            if self.favoured == Some(token) {
                self.favoured = None;
            }
            return true;
        }
        *self.favoured.get_or_insert(token) == token
    }

    /// Has epoll watch for what the connection waits for; whether the system does.
    fn watch(&mut self, conn: &mut ClientConnection) -> bool {
        let wanted = conn.wanted();
        if wanted != conn.interest {
            let data = EventData::new_u64(conn.flow.token.to_u64());
            if let Err(error) = epoll::modify(&*self.epoll, &conn.socket, data, wanted) {
                tracing::error!("closing a connection that epoll cannot watch: {error}");
                return false;
            }
            conn.interest = wanted;
        }
        true
    }

    /// Takes a connection off the books.
    pub fn forget(&mut self, conn: &mut ClientConnection) {
        self.dispatcher.admission_mut().memory_mut().charge(conn.charged, HeldBytes::default());
        if self.favoured == Some(conn.flow.token) {
            self.favoured = None;
        }
        self.refuse_all(conn);
        if let Some(tls) = &mut conn.tls {
            self.cipher.clear();
            tls.close(&mut self.cipher);
            let _ = conn.send(&mut self.cipher, self.dispatcher.now().ms);
        }
    }
}
