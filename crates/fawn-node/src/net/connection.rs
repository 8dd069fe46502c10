//! One client's connection: its socket, its input that is not parsed yet, its output that is not sent yet. Its states are
//! in `docs/connection.md`.
//!
//! An idle connection holds no buffer: input is received into a shared buffer of the loop and only a command that is not
//! complete is kept; output goes from the loop's shared buffer straight into the socket and only what the socket does
//! not take is kept.

use crate::net::key_move::KeyMove;
use crate::net::key_scan::{KeyScan, ScanPlace};
use crate::net::memory::HeldBytes;
use crate::net::reply_queue::ReplyQueue;
use crate::net::router::KeyRouter;
use crate::net::tls::Secure;
use crate::protocol::{RequestParser, ServerRequest};
use crate::request::{
    GetView, KeyAction, KeyRequest, ListingForm, ListingPart, ReplyForm, ReplySlot, ReplyWriter, TaskTicket,
};
use crate::runtime::slab::Token;
use fawn_ring::Key;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::EventFlags;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny, SocketAddrUnix, getpeername, recv, send};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Output above this size is moved, not copied, when the socket does not take it.
const MOVE_BYTES: usize = 256 << 10;
/// A client must take this part of what waits for it within the stall time-out, or it counts as stalled: one byte now
/// and then would hold memory that others need.
const STALL_SHARE: usize = 4;
/// How long a connection is not listened to after a wrong password that is not its first.
const PENALTY_MS: u64 = 1000;
/// Bytes that are received at a time, at least, if so many have come.
const LEAST_RECEIVED: usize = 16 << 10;
/// Least bytes by which an input grows.
const GROW_BYTES: usize = 64 << 10;

/// Why a connection's requests are not worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The input must hold this many bytes first.
    NeedMore(usize),
    /// Replies wait until the client takes them.
    Output,
    /// The loop has as many operations in flight as it may have.
    Tasks,
    /// All connections together have as many bytes of replies waiting as they may have.
    Memory,
    /// Keys are being listed, or a value is moved.
    Listing,
    /// Replies to requests before a `flush_all`, or the flush's own, have yet to come.
    Order,
    /// Another loop has as many requests of this one as it may have.
    Credit(usize),
    /// The client gave wrong passwords: nothing is worked on until this millisecond.
    Penalty(u64),
    /// The client, or the protocol, ends the connection.
    Close,
}

/// The line of keys that is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLine {
    /// All of it so far is in the loop's output, from this offset on.
    Direct(usize),
    /// It is this answer in the queue.
    Queued(u64),
}

/// A listing of all keys under way: store after store, part after part, as the client takes them.
#[derive(Debug)]
pub struct Listing {
    /// How the lines are written.
    pub form: ListingForm,
    /// The store that is being listed, counted over the node.
    pub store: usize,
    /// Where its next part begins.
    pub from: Key,
    /// It is the store's first part.
    pub first: bool,
    /// A part has been asked for.
    pub asked: bool,
    /// Keys so far that cannot be read.
    pub lost: u64,
    /// What gathers the keys; `None`: they are sent as they come.
    pub scan: Option<Box<KeyScan>>,
}

impl Listing {
    /// A listing that begins, with lines in this form.
    pub fn new(form: ListingForm) -> Self {
        Self { form, store: 0, from: Key::MIN, first: true, asked: false, lost: 0, scan: None }
    }

    /// One that gathers the keys of a scan, and begins where that does.
    pub fn gathering(scan: KeyScan, form: ListingForm, router: &KeyRouter) -> Self {
        let ScanPlace { store, from, first } = scan.begins(router);
        Self { store, from, first, scan: Some(Box::new(scan)), ..Self::new(form) }
    }

    /// Where the part is that is asked for, or is to be.
    pub fn place(&self) -> ScanPlace {
        ScanPlace { store: self.store, from: self.from, first: self.first }
    }

    /// The next part is there.
    pub fn go_on(&mut self, ScanPlace { store, from, first }: ScanPlace) {
        (self.store, self.from, self.first, self.asked) = (store, from, first, false);
    }

    /// A part has come; whether it was the last one of `stores` stores.
    pub fn advance(&mut self, part: &ListingPart, stores: usize) -> bool {
        self.asked = false;
        self.lost += part.lost;
        if let Some(next) = part.next {
            (self.from, self.first) = (next, false);
        } else {
            (self.from, self.first) = (Key::MIN, true);
            self.store += 1;
        }
        part.failed || self.store >= stores
    }
}

/// A request that had no credit, or had to wait for order.
#[derive(Debug)]
pub struct DeferredRequest {
    name: Vec<u8>,
    value: Vec<u8>,
    what: BareRequest,
    reply: ReplyForm,
}

/// A request without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BareRequest {
    Key { action: KeyAction<'static>, view: GetView, needs_clock: bool },
    Server(ServerRequest),
}

/// A request that is tried again.
#[derive(Debug)]
pub enum RetriedRequest<'a> {
    /// A request for one key.
    Key(KeyRequest<'a>),
    /// A request for the server.
    Server(ServerRequest, ReplyForm),
}

impl DeferredRequest {
    /// A copy of a request for one key.
    pub fn of_key(request: &KeyRequest<'_>) -> Self {
        let (action, value) = request.action.split();
        let what = BareRequest::Key { action, view: request.view, needs_clock: request.needs_clock };
        Self { name: request.name.to_vec(), value: value.to_vec(), what, reply: request.reply }
    }

    /// A request for the server.
    pub fn of_server(request: ServerRequest, reply: ReplyForm) -> Self {
        Self { name: Vec::new(), value: Vec::new(), what: BareRequest::Server(request), reply }
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.value.len()
    }

    /// The request.
    pub fn request(&self) -> RetriedRequest<'_> {
        match &self.what {
            &BareRequest::Key { action, view, needs_clock } => {
                let request = KeyRequest::new(&self.name, action.join(&self.value), self.reply);
                RetriedRequest::Key(KeyRequest { view, needs_clock, ..request })
            }
            BareRequest::Server(request) => RetriedRequest::Server(request.clone(), self.reply),
        }
    }
}

/// A large reply that waits for a reservation.
#[derive(Clone, Copy, Debug)]
pub struct ReservationRequest {
    /// Where the reply belongs.
    pub slot: ReplySlot,
    /// The loop that owns the value.
    pub owner: usize,
    /// The ticket of the task there.
    pub ticket: TaskTicket,
    /// The reply's size in bytes.
    pub bytes: u32,
    /// Since when the reply waits, in milliseconds.
    pub since_ms: u64,
}

/// The replies of a connection and what they depend on.
#[derive(Debug)]
pub struct Flow {
    /// The connection.
    pub token: Token,
    /// Writes what is sent to the client, where no request is at hand.
    pub writer: &'static dyn ReplyWriter,
    /// Replies that may not leave yet.
    pub answers: ReplyQueue,
    /// The line of keys that is being answered.
    pub line: Option<KeyLine>,
    /// A request that is to be tried again before anything else.
    pub deferred: Option<Box<DeferredRequest>>,
    /// A `flush_all` was begun; nothing else is worked on until every loop has flushed.
    pub flushing: bool,
    /// A listing of all keys; nothing else is worked on until it ends.
    pub listing: Option<Listing>,
    /// A move of a value under way; nothing else is worked on until it ends.
    pub moving: Option<Box<KeyMove>>,
    /// How the replies are written that are made of all loops' figures, by their numbers.
    pub figures: Vec<(u64, ReplyForm)>,
    /// Large replies that wait for a reservation, in the order of their slots.
    pub reservations: VecDeque<ReservationRequest>,
    /// Bytes that the socket has not taken.
    pub unsent_bytes: usize,
    /// Half a reply has left and the rest never will.
    pub broken: bool,
    /// Whose password was refused just now: the log says so, with the address.
    pub refused_user: Option<Box<str>>,
    /// Wrong passwords so far.
    pub wrong_passwords: u32,
    /// Until this millisecond nothing is worked on because of them.
    pub penalty_until_ms: u64,
}

impl Flow {
    /// A connection of which nothing has come; its token is not known yet.
    pub fn new(writer: &'static dyn ReplyWriter) -> Self {
        Self {
            token: Token::from_u64(0),
            writer,
            answers: ReplyQueue::default(),
            line: None,
            deferred: None,
            flushing: false,
            listing: None,
            moving: None,
            figures: Vec::new(),
            reservations: VecDeque::new(),
            unsent_bytes: 0,
            broken: false,
            refused_user: None,
            wrong_passwords: 0,
            penalty_until_ms: 0,
        }
    }

    /// The client gave a wrong password. Returns what the connection waits for: nothing after the first one, which may be a
    /// mistake.
    pub fn note_wrong_password(&mut self, now_ms: u64) -> Option<Pause> {
        self.wrong_passwords += 1;
        if self.wrong_passwords < 2 {
            return None;
        }
        self.penalty_until_ms = now_ms + PENALTY_MS;
        Some(Pause::Penalty(self.penalty_until_ms))
    }

    /// Whether answers are sure to come, or to leave, without another request.
    pub fn gets_on(&self) -> bool {
        !self.answers.are_filled() || self.unsent_bytes > 0 || self.answers.front_gate().is_some()
    }

    /// Whether nothing is owed to the client.
    pub fn is_settled(&self) -> bool {
        self.answers.is_empty()
            && self.deferred.is_none()
            && self.listing.is_none()
            && self.moving.is_none()
            && self.unsent_bytes == 0
    }
}

/// What the peer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveResult {
    /// It sent this many bytes, 0 when there are none now.
    Bytes(usize),
    /// It will send no more.
    End,
    /// The connection is broken.
    Broken,
}

/// One connection.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each says whether the connection is in one of the loop's lists
pub struct ClientConnection {
    /// The socket.
    pub socket: OwnedFd,
    /// TLS, when it is on.
    pub tls: Option<Box<Secure>>,
    /// The parser.
    pub parser: Box<dyn RequestParser>,
    /// The replies and what they depend on.
    pub flow: Flow,
    /// Input that is not parsed yet.
    pub input: Vec<u8>,
    /// Why no request is worked on; `NeedMore` is the usual state.
    pub pause: Pause,
    /// Output that the socket has not taken, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// What epoll watches for.
    pub interest: EventFlags,
    /// The client will send no more, or is not to be listened to any more.
    pub deaf: bool,
    /// The connection is in the list of those to be flushed in this turn.
    pub dirty: bool,
    /// The connection is in the list of those that wait for a sync.
    pub gated: bool,
    /// The connection is in one of the queues of those whose requests wait.
    pub queued: bool,
    /// The connection is in the queue of those whose large replies wait for a reservation.
    pub waits_for_reservation: bool,
    /// When it was made (milliseconds).
    pub began_ms: u64,
    /// No byte has come yet.
    pub is_mute: bool,
    /// When bytes last came (milliseconds).
    pub received_ms: u64,
    /// When bytes last left, or there were none to leave (milliseconds). Bytes that leave count once they are a quarter of
    /// what waited.
    pub moved_ms: u64,
    /// Bytes that have yet to leave before that is noted.
    to_move: usize,
    /// Bytes that this connection has in the loop's account.
    pub charged: HeldBytes,
}

impl ClientConnection {
    /// A new connection; its token is not known yet.
    pub fn new(
        socket: OwnedFd,
        tls: Option<Box<Secure>>,
        (parser, writer): (Box<dyn RequestParser>, &'static dyn ReplyWriter),
        now_ms: u64,
    ) -> Self {
        Self {
            socket,
            tls,
            parser,
            flow: Flow::new(writer),
            input: Vec::new(),
            pause: Pause::NeedMore(1),
            unsent: Vec::new(),
            sent: 0,
            interest: EventFlags::empty(),
            deaf: false,
            dirty: false,
            gated: false,
            queued: false,
            waits_for_reservation: false,
            began_ms: now_ms,
            is_mute: true,
            received_ms: now_ms,
            moved_ms: now_ms,
            to_move: 0,
            charged: HeldBytes::default(),
        }
    }

    /// Whether the client has yet to say who it is: to finish a handshake, or to give a password.
    pub fn is_unauthenticated(&self) -> bool {
        self.parser.is_locked() || self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Receives once into `buffer`.
    pub fn receive(&mut self, buffer: &mut [u8], now_ms: u64) -> ReceiveResult {
        let result = recv(&self.socket, buffer, RecvFlags::DONTWAIT).map(|(_, count)| count);
        self.received(result, now_ms)
    }

    /// Receives once to the end of the input, which is to hold `total` bytes.
    pub fn receive_more(&mut self, total: usize, now_ms: u64) -> ReceiveResult {
        // Twice what has come already: a client must send what it makes us hold. And no less than a chunk, because nobody knows how
        // long a request of many words is before its last one has come.
        let room = total.saturating_sub(self.input.len()).clamp(LEAST_RECEIVED, self.input.len().max(GROW_BYTES));
        self.input.reserve_exact(room);
        let result = recv(&self.socket, spare_capacity(&mut self.input), RecvFlags::DONTWAIT).map(|(_, count)| count);
        self.received(result, now_ms)
    }

    /// Keeps `rest`, which is not parsed yet, in the place of the input; the buffer goes when that is nothing.
    pub fn keep_input(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.input = Vec::new();
        } else {
            self.input.clear();
            self.input.extend_from_slice(rest);
        }
    }

    fn received(&mut self, result: Result<usize, Errno>, now_ms: u64) -> ReceiveResult {
        match result {
            Ok(0) => ReceiveResult::End,
            Ok(count) => {
                self.received_ms = now_ms;
                self.is_mute = false;
                ReceiveResult::Bytes(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => ReceiveResult::Bytes(0),
            Err(_) => ReceiveResult::Broken,
        }
    }

    /// Sends `bytes` after what is still unsent; what the socket does not take is kept, and `bytes` is empty afterwards.
    /// Returns how many bytes left.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn send(&mut self, bytes: &mut Vec<u8>, now_ms: u64) -> Result<usize, Errno> {
        let (mut left, nothing_waited) = (0, self.unsent.is_empty());
        while self.sent < self.unsent.len() {
            match push(&self.socket, &self.unsent[self.sent..])? {
                0 => break,
                count => {
                    self.sent += count;
                    left += count;
                }
            }
        }
        if self.sent == self.unsent.len() {
            (self.unsent, self.sent) = (Vec::new(), 0);
            let mut at = 0;
            while at < bytes.len() {
                match push(&self.socket, &bytes[at..])? {
                    0 => break,
                    count => at += count,
                }
            }
            left += at;
            if bytes.len() - at > MOVE_BYTES {
                (self.unsent, self.sent) = (std::mem::take(bytes), at);
            } else {
                self.unsent.extend_from_slice(&bytes[at..]);
            }
        } else {
            if self.sent > self.unsent.len() / 2 {
                self.unsent.drain(..std::mem::take(&mut self.sent));
            }
            self.unsent.extend_from_slice(bytes);
        }
        bytes.clear();
        self.flow.unsent_bytes = self.unsent.len() - self.sent;
        self.to_move = self.to_move.saturating_sub(left);
        if nothing_waited || (left > 0 && self.to_move == 0) {
            self.moved_ms = now_ms;
            self.to_move = self.flow.unsent_bytes.div_ceil(STALL_SHARE);
        }
        Ok(left)
    }

    /// Bytes that the connection holds.
    pub fn held_bytes(&self) -> HeldBytes {
        let deferred = self.flow.deferred.as_ref().map_or(0, |deferred| deferred.bytes());
        let moving = self.flow.moving.as_ref().map_or(0, |moving| moving.bytes());
        let listing = self.flow.listing.as_ref().and_then(|listing| listing.scan.as_ref());
        let gathered = moving + listing.map_or(0, |scan| scan.bytes());
        HeldBytes {
            input: self.input.capacity() + self.parser.held_bytes() + deferred,
            output: self.flow.answers.bytes() + self.unsent.capacity() + gathered,
            unsent: self.flow.unsent_bytes,
        }
    }

    /// What epoll should watch for.
    pub fn wanted(&self) -> EventFlags {
        let mut wanted = EventFlags::empty();
        if !self.deaf && matches!(self.pause, Pause::NeedMore(_)) && !self.queued {
            wanted |= EventFlags::IN;
        }
        if self.flow.unsent_bytes > 0 {
            wanted |= EventFlags::OUT;
        }
        wanted
    }

    /// Whether the connection may be closed: nothing more will come and nothing is owed.
    pub fn is_over(&self) -> bool {
        let resting = matches!(self.pause, Pause::NeedMore(_) | Pause::Close);
        self.flow.broken || ((self.deaf || self.pause == Pause::Close) && resting && self.flow.is_settled())
    }
}

/// Sends once; 0 when the socket takes nothing now.
fn push(socket: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    match send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => other,
    }
}

/// The name of the other end of a socket.
pub fn peer_name(socket: impl AsFd) -> String {
    end_name(getpeername(socket).map(|peer| peer.unwrap_or_else(|| SocketAddrUnix::new_unnamed().into())))
}

/// The name of one end of a socket as memcached prints it: `tcp:127.0.0.1:11211`, `unix:/run/socket`.
pub fn end_name(end: Result<SocketAddrAny, Errno>) -> String {
    let Ok(end) = end else { return "unknown".into() };
    if let Ok(address) = SocketAddr::try_from(end.clone()) {
        return if address.is_ipv4() { format!("tcp:{address}") } else { format!("tcp6:{address}") };
    }
    let path = SocketAddrUnix::try_from(end).ok().and_then(|unix| Some(unix.path()?.to_string_lossy().into_owned()));
    format!("unix:{}", path.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::memcached::MEMCACHED;
    use crate::protocol::{ParserEvent, ParserOptions, Protocol};
    use crate::request::ListingDetail;
    use fawn_store::timekeeper::Time;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn parser() -> Box<dyn RequestParser> {
        MEMCACHED.parser(ParserOptions { max_item_bytes: 1 << 20, authenticates: false, peer: None, local: None })
    }

    #[test]
    fn a_request_that_had_no_room_is_the_same_when_it_is_tried_again() {
        for line in [
            "stats\r\n",
            "stats settings\r\n",
            "stats items\r\n",
            "stats conns\r\n",
            "set k 1 2 3\r\nabc\r\n",
            "append k 1 2 3\r\nabc\r\n",
            "mg k s v T5 Oabc\r\n",
            "me k\r\n",
            "flush_all 9\r\n",
        ] {
            let (mut parser, mut out) = (parser(), Vec::new());
            let step = parser.next(line.as_bytes(), &Time::at(1_800_000_000), &mut out);
            // All of a request can be seen.
            let (before, deferred) = match step.event {
                ParserEvent::Key(request) => (format!("{request:?}"), DeferredRequest::of_key(&request)),
                ParserEvent::Server(request, reply) => {
                    (format!("{request:?} {reply:?}"), DeferredRequest::of_server(request, reply))
                }
                other => panic!("{line}: {other:?}"),
            };
            let again = match deferred.request() {
                RetriedRequest::Key(request) => format!("{request:?}"),
                RetriedRequest::Server(request, reply) => format!("{request:?} {reply:?}"),
            };
            assert_eq!(again, before, "{line}");
        }
    }

    #[test]
    fn a_listing_goes_through_every_part_of_every_store() {
        let mut listing = Listing::new(ListingForm { writer: &MEMCACHED, detail: ListingDetail::Keys });
        let part = |next, failed| ListingPart { next, failed, lost: 1 };
        assert!(!listing.advance(&part(Some(Key::MAX), false), 2));
        assert_eq!((listing.store, listing.from, listing.first), (0, Key::MAX, false));
        assert!(!listing.advance(&part(None, false), 2));
        assert_eq!((listing.store, listing.from, listing.first), (1, Key::MIN, true));
        assert!(listing.advance(&part(None, false), 2));
        assert_eq!(listing.lost, 3);
        assert!(Listing::new(listing.form).advance(&part(Some(Key::MAX), true), 2), "no more comes after a failure");
    }

    #[test]
    fn a_byte_now_and_then_is_no_progress_and_a_quarter_of_what_waits_is() {
        const WAITS: usize = 8 << 20;
        let (socket, peer) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
        let mut conn = ClientConnection::new(socket, None, (parser(), &MEMCACHED), 0);
        let take = |count: usize| {
            let mut buffer = vec![0; count];
            recv(&peer, &mut buffer[..], RecvFlags::empty()).map_or(0, |(_, count)| count)
        };
        conn.send(&mut vec![1; WAITS], 1000).unwrap();
        let waits = conn.flow.unsent_bytes;
        assert!(waits > WAITS / 2 && conn.moved_ms == 1000);
        let (mut taken, mut now) = (0, 1000);
        while conn.moved_ms == 1000 {
            now += 1;
            take(64 << 10);
            taken += conn.send(&mut Vec::new(), now).unwrap();
            assert!(now < 10_000, "nothing counts as progress");
        }
        assert!((waits / 4..waits / 3).contains(&taken), "{taken} of {waits}");
        // What comes after the client has taken everything is new.
        while conn.flow.unsent_bytes > 0 {
            take(64 << 10);
            conn.send(&mut Vec::new(), now).unwrap();
        }
        conn.send(&mut vec![1; WAITS], 20_000).unwrap();
        assert_eq!(conn.moved_ms, 20_000);
    }
}
