//! The cross-core mesh: requests for another loop's stores and the replies that come back, over two bounded rings for
//! each direction and pair of loops.
//!
//! Messages travel in batches, one per turn and direction, and a loop wakes its peer only when the peer sleeps. A loop may
//! have at most `in_flight` requests on their way to one peer, and no ring ever holds more than one message of each. Both
//! rings hold that many batches and no batch is empty, so neither ring is ever full. A reply always has room, and two
//! loops can never wait for each other. A connection whose next request has no credit is paused by its loop, never
//! dropped.
//!
//! A large reply is not sent unasked. Its owner announces its size ([`MessageHeader::NeedsReservation`]), and the loop of
//! the client reserves memory for it ([`PeerRequest::Reservation`]; see [`crate::net::backpressure`]).

use crate::request::{
    CompletionStatus, GetView, KeyAction, ListingForm, ReplyForm, ReplySlot, ReplyWriter, TaskTicket,
};
use crate::runtime::wake::Wake;
use fawn_ring::Key;
use rtrb::{Consumer, Producer, RingBuffer};
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of requests that may be on their way to one peer, unless it is a single one.
const IN_FLIGHT_BYTES: usize = 8 << 20;
/// A batch is sent off early at this size.
const BATCH_BYTES: usize = 256 << 10;
/// Spare batches that a loop keeps, and the bytes of their buffers: what one turn sends and receives. A burst fills many
/// more, and larger ones.
const SPARE_BATCHES: usize = 64;
const SPARE_BYTES: usize = 1 << 20;

/// What a loop asks of another.
#[derive(Clone, Copy, Debug)]
pub enum PeerRequest {
    /// A request for one key; the bytes are the key, then the value.
    Key {
        /// The key's position.
        key: Key,
        /// The store, counted within the loop.
        store: u16,
        /// Bytes of the key.
        name_bytes: u16,
        /// What the request does, without its value.
        action: KeyAction<'static>,
        /// What a get shows of its item.
        view: GetView,
        /// Writes the reply.
        reply: ReplyForm,
    },
    /// Flush all stores of the loop at this second (0: now); answered with nothing, or an error.
    FlushAll {
        /// Unix second.
        at_unix: u32,
        /// The client wants no answer, not even an error.
        quiet: bool,
    },
    /// The figures of the loop's stores.
    Stats,
    /// One part of the keys of a store.
    List {
        /// The store, counted within the loop.
        store: u16,
        /// Where to begin.
        from: Key,
        /// It is the store's first part.
        first: bool,
        /// How the lines are written.
        form: ListingForm,
    },
    /// The loop's connections, as lines of `stats`.
    Connections {
        /// Writes the lines.
        writer: &'static dyn ReplyWriter,
    },
    /// The reply to [`MessageHeader::NeedsReservation`]. It is no request of its own, so it is never answered.
    Reservation {
        /// The task that waits.
        ticket: TaskTicket,
        /// The reply may come; otherwise the client is gone.
        granted: bool,
    },
}

/// The header of one message: what its bytes are.
#[derive(Clone, Copy, Debug)]
pub enum MessageHeader {
    /// A request.
    Request(PeerRequest),
    /// An answer to a request.
    Reply {
        /// How the request ended.
        status: CompletionStatus,
        /// Bytes of the request that it answers.
        request_bytes: u32,
        /// Bytes that were reserved for the reply.
        granted: u32,
    },
    /// The reply to a request is large, and comes once memory is reserved for it ([`PeerRequest::Reservation`]).
    NeedsReservation {
        /// The task that waits.
        ticket: TaskTicket,
        /// The reply's size in bytes.
        bytes: u32,
    },
}

/// Messages and their bytes, one after the other.
#[derive(Debug, Default)]
pub struct MessageBatch {
    messages: Vec<(ReplySlot, MessageHeader, Range<usize>)>,
    bytes: Vec<u8>,
}

impl MessageBatch {
    fn push(&mut self, slot: ReplySlot, head: MessageHeader, parts: &[&[u8]]) {
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.messages.push((slot, head, start..self.bytes.len()));
    }

    /// Bytes that its buffers take.
    fn capacity_bytes(&self) -> usize {
        self.messages.capacity() * size_of::<(ReplySlot, MessageHeader, Range<usize>)>() + self.bytes.capacity()
    }

    /// Store and position of the keys that up to `count` messages from number `first` on ask for.
    pub fn asked(&self, first: usize, count: usize) -> impl Iterator<Item = (usize, Key)> {
        let messages = self.messages[first..].iter().take(count);
        messages.filter_map(|(_, head, _)| match head {
            MessageHeader::Request(PeerRequest::Key { key, store, .. }) => Some((usize::from(*store), *key)),
            _ => None,
        })
    }

    /// The messages in order.
    pub fn messages(&self) -> impl Iterator<Item = (ReplySlot, MessageHeader, &[u8])> {
        self.messages.iter().map(|(slot, head, range)| (*slot, *head, &self.bytes[range.clone()]))
    }
}

/// One loop's side of a pair.
#[derive(Debug)]
struct MeshLink {
    requests_out: Producer<MessageBatch>,
    requests_in: Consumer<MessageBatch>,
    answers_out: Producer<MessageBatch>,
    answers_in: Consumer<MessageBatch>,
    peer: Arc<Wake>,
    /// Being filled in this turn.
    requests: MessageBatch,
    answers: MessageBatch,
    /// Requests sent and not yet answered, those being filled included; at most `limit`.
    in_flight: usize,
    in_flight_bytes: usize,
    limit: usize,
    /// Batches were pushed since the peer was last notified.
    pushed: bool,
}

/// One loop's links to all others.
#[derive(Debug)]
pub struct Mesh {
    /// By loop number; `None` for itself.
    links: Vec<Option<MeshLink>>,
    wake: Arc<Wake>,
    spare: Spare,
}

/// Batches that were worked off, for their buffers.
#[derive(Debug, Default)]
struct Spare {
    batches: Vec<MessageBatch>,
    /// Bytes that their buffers take.
    bytes: usize,
}

impl Spare {
    fn take(&mut self) -> MessageBatch {
        let batch = self.batches.pop().unwrap_or_default();
        self.bytes -= batch.capacity_bytes();
        batch
    }

    fn give(&mut self, mut batch: MessageBatch) {
        let bytes = batch.capacity_bytes();
        if self.batches.len() < SPARE_BATCHES && self.bytes + bytes <= SPARE_BYTES {
            batch.messages.clear();
            batch.bytes.clear();
            self.bytes += bytes;
            self.batches.push(batch);
        }
    }
}

/// Links among `wakes.len()` loops, of which each may have `in_flight` requests on their way to each other one.
pub fn mesh(wakes: &[Arc<Wake>], in_flight: usize) -> Vec<Mesh> {
    assert!(in_flight > 0, "a loop may ask at least once");
    let count = wakes.len();
    let mut links: Vec<Vec<Option<MeshLink>>> = (0..count).map(|_| (0..count).map(|_| None).collect()).collect();
    for left in 0..count {
        for right in left + 1..count {
            let (left_requests_out, right_requests_in) = RingBuffer::new(in_flight);
            let (right_requests_out, left_requests_in) = RingBuffer::new(in_flight);
            let (left_answers_out, right_answers_in) = RingBuffer::new(in_flight);
            let (right_answers_out, left_answers_in) = RingBuffer::new(in_flight);
            let link = |requests_out, requests_in, answers_out, answers_in, peer: &Arc<Wake>| MeshLink {
                requests_out,
                requests_in,
                answers_out,
                answers_in,
                peer: Arc::clone(peer),
                requests: MessageBatch::default(),
                answers: MessageBatch::default(),
                in_flight: 0,
                in_flight_bytes: 0,
                limit: in_flight,
                pushed: false,
            };
            links[left][right] =
                Some(link(left_requests_out, left_requests_in, left_answers_out, left_answers_in, &wakes[right]));
            links[right][left] =
                Some(link(right_requests_out, right_requests_in, right_answers_out, right_answers_in, &wakes[left]));
        }
    }
    let side = |(links, wake): (_, &Arc<Wake>)| Mesh { links, wake: Arc::clone(wake), spare: Spare::default() };
    links.into_iter().zip(wakes).map(side).collect()
}

/// What wakes each of `count` loops.
///
/// # Errors
/// What `eventfd(2)` reports.
pub fn wakes(count: usize) -> Result<Vec<Arc<Wake>>, Errno> {
    (0..count).map(|_| Wake::new().map(Arc::new)).collect()
}

impl MeshLink {
    fn push_requests(&mut self, spare: &mut Spare) {
        if !self.requests.messages.is_empty() {
            let batch = std::mem::replace(&mut self.requests, spare.take());
            self.requests_out.push(batch).expect("the ring holds as many batches as requests may be in flight");
            self.pushed = true;
        }
    }

    fn push_answers(&mut self, spare: &mut Spare) {
        if !self.answers.messages.is_empty() {
            let batch = std::mem::replace(&mut self.answers, spare.take());
            self.answers_out.push(batch).expect("the ring holds as many batches as requests may be in flight");
            self.pushed = true;
        }
    }
}

impl Mesh {
    /// Number of loops, this one included.
    pub fn loops(&self) -> usize {
        self.links.len()
    }

    /// Wakes this loop.
    pub fn wake(&self) -> &Wake {
        &self.wake
    }

    fn link(&mut self, peer: usize) -> &mut MeshLink {
        self.links[peer].as_mut().expect("a loop has no link to itself")
    }

    /// Batches of requests and of answers that have come from `peer`.
    pub fn batches(&self, peer: usize) -> (usize, usize) {
        self.links[peer].as_ref().map_or((0, 0), |link| (link.requests_in.slots(), link.answers_in.slots()))
    }

    /// Whether another request may be sent to `peer`.
    #[inline]
    pub fn may_send(&self, peer: usize) -> bool {
        let link = self.links[peer].as_ref().expect("a loop has no link to itself");
        link.in_flight < link.limit && link.in_flight_bytes < IN_FLIGHT_BYTES
    }

    /// The numbers of all other loops.
    pub fn peers(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.links.iter().position(Option::is_none);
        (0..self.links.len()).filter(move |peer| Some(*peer) != own)
    }

    /// The first peer to which no other request may be sent, if there is one.
    pub fn without_credit(&self) -> Option<usize> {
        self.peers().find(|peer| !self.may_send(*peer))
    }

    /// Whether half of the requests that may be on their way to some peer are.
    pub fn is_crowded(&self) -> bool {
        self.links.iter().flatten().any(|link| link.in_flight >= link.limit / 2)
    }

    /// Requests on their way, to all peers.
    #[cfg(test)]
    pub fn in_flight(&self) -> usize {
        self.links.iter().flatten().map(|link| link.in_flight).sum()
    }

    /// Adds a request to the batch for `peer`; [`may_send`](Self::may_send) must have said yes.
    pub fn request(&mut self, peer: usize, slot: ReplySlot, ask: PeerRequest, parts: &[&[u8]]) {
        assert!(self.may_send(peer), "requests in flight are bounded");
        let link = self.links[peer].as_mut().expect("a loop has no link to itself");
        link.in_flight += 1;
        link.in_flight_bytes += parts.iter().map(|part| part.len()).sum::<usize>();
        link.requests.push(slot, MessageHeader::Request(ask), parts);
        if link.requests.bytes.len() >= BATCH_BYTES {
            link.push_requests(&mut self.spare);
        }
    }

    /// Adds a reply to a request from `peer`, or the announcement of a large one: `head` says which.
    pub fn answer(&mut self, peer: usize, slot: ReplySlot, head: MessageHeader, bytes: &[u8]) {
        let link = self.links[peer].as_mut().expect("a loop has no link to itself");
        link.answers.push(slot, head, &[bytes]);
        if link.answers.bytes.len() >= BATCH_BYTES {
            link.push_answers(&mut self.spare);
        }
    }

    /// Tells `peer` whether memory is reserved for the reply to a request that is on its way to it.
    pub fn reserve(&mut self, peer: usize, slot: ReplySlot, ticket: TaskTicket, granted: bool) {
        let link = self.links[peer].as_mut().expect("a loop has no link to itself");
        link.requests.push(slot, MessageHeader::Request(PeerRequest::Reservation { ticket, granted }), &[]);
    }

    /// Sends off what was added and wakes the peers that sleep. Returns how many had to be woken.
    pub fn send(&mut self) -> usize {
        let mut woken = 0;
        for link in self.links.iter_mut().flatten() {
            link.push_requests(&mut self.spare);
            link.push_answers(&mut self.spare);
            if std::mem::take(&mut link.pushed) {
                woken += usize::from(link.peer.notify());
            }
        }
        woken
    }

    /// Whether a peer has sent something.
    pub fn has_mail(&self) -> bool {
        self.links.iter().flatten().any(|link| !link.requests_in.is_empty() || !link.answers_in.is_empty())
    }

    /// The next batch of requests from `peer`.
    pub fn next_requests(&mut self, peer: usize) -> Option<MessageBatch> {
        self.link(peer).requests_in.pop().ok()
    }

    /// The next batch of answers from `peer`; their requests are no longer in flight.
    pub fn next_answers(&mut self, peer: usize) -> Option<MessageBatch> {
        let link = self.link(peer);
        let batch = link.answers_in.pop().ok()?;
        for (_, head, _) in &batch.messages {
            if let MessageHeader::Reply { request_bytes, .. } = head {
                link.in_flight -= 1;
                link.in_flight_bytes -= *request_bytes as usize;
            }
        }
        Some(batch)
    }

    /// Gives a batch that was worked off back, for its buffers.
    pub fn recycle(&mut self, batch: MessageBatch) {
        self.spare.give(batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::latency::Stamp;
    use crate::runtime::slab::Token;

    fn slot(answer: u64) -> ReplySlot {
        ReplySlot { connection: Token::from_u64(1 << 32), answer, part: 0, stamp: Stamp::NONE }
    }

    fn answer_to(request: &[u8], failed: bool) -> MessageHeader {
        let status = if failed { CompletionStatus::Failed } else { CompletionStatus::Done };
        MessageHeader::Reply { status, request_bytes: request.len() as u32, granted: 0 }
    }

    fn pair(in_flight: usize) -> (Mesh, Mesh) {
        let mut both = mesh(&wakes(2).unwrap(), in_flight);
        let right = both.pop().unwrap();
        (both.pop().unwrap(), right)
    }

    #[test]
    fn a_turn_sends_one_parcel_in_order_and_credit_returns_with_the_answers() {
        let (mut left, mut right) = pair(3);
        for n in 0..3 {
            assert!(left.may_send(1));
            left.request(1, slot(n), PeerRequest::Stats, &[&[n as u8; 5]]);
        }
        assert!(!left.may_send(1), "three are in flight");
        assert!(!right.has_mail(), "nothing leaves before the end of the turn");
        left.send();
        let batch = right.next_requests(0).unwrap();
        assert!(right.next_requests(0).is_none(), "one batch a turn");
        for (n, (at, head, bytes)) in batch.messages().enumerate() {
            assert!(matches!(head, MessageHeader::Request(PeerRequest::Stats)));
            assert_eq!((at, bytes), (slot(n as u64), &[n as u8; 5][..]));
            right.answer(0, at, answer_to(bytes, n == 1), b"fine");
        }
        right.recycle(batch);
        right.send();
        assert_eq!(left.in_flight(), 3);
        let answers = left.next_answers(1).unwrap();
        assert_eq!(answers.messages().map(|(at, ..)| at.answer).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((left.in_flight(), left.may_send(1)), (0, true));
    }

    #[test]
    fn a_large_request_may_go_alone_and_holds_back_the_next() {
        let (mut left, mut right) = pair(8);
        let large = vec![7; IN_FLIGHT_BYTES + 1];
        left.request(1, slot(0), PeerRequest::Stats, &[&large]);
        assert!(!left.may_send(1));
        left.send();
        let batch = right.next_requests(0).unwrap();
        right.answer(0, slot(0), answer_to(&large, false), b"");
        right.recycle(batch);
        right.send();
        assert!(left.next_answers(1).is_some() && left.may_send(1));
    }

    #[test]
    fn a_burst_leaves_no_more_than_what_a_turn_needs() {
        let (mut left, mut right) = pair(4096);
        for _ in 0..3 {
            for n in 0..2000 {
                left.request(1, slot(n), PeerRequest::Stats, &[&[7; 1000]]);
            }
            left.send();
            let mut batches = 0;
            while let Some(batch) = right.next_requests(0) {
                batch.messages().for_each(|(at, _, bytes)| right.answer(0, at, answer_to(bytes, false), b""));
                right.recycle(batch);
                batches += 1;
            }
            assert!(batches >= 7, "{batches} batches of 256 KiB");
            right.send();
            while let Some(batch) = left.next_answers(1) {
                left.recycle(batch);
            }
        }
        for side in [&left, &right] {
            let held = side.spare.batches.iter().map(MessageBatch::capacity_bytes).sum::<usize>();
            assert_eq!(side.spare.bytes, held);
            assert!((1..=SPARE_BYTES).contains(&held), "{held}");
        }
    }

    /// Both sides keep their rings as full as they may, each answering the other from the same thread that asks.
    #[test]
    fn two_loops_that_flood_each_other_never_block() {
        const EACH: u64 = 200_000;
        let (left, right) = pair(4);
        let flood = |mut mine: Mesh, peer: usize| {
            std::thread::spawn(move || {
                let (mut asked, mut answered, mut served) = (0, 0, 0);
                while answered < EACH || served < EACH {
                    while asked < EACH && mine.may_send(peer) {
                        mine.request(peer, slot(asked), PeerRequest::Stats, &[&asked.to_le_bytes()]);
                        asked += 1;
                    }
                    while let Some(batch) = mine.next_requests(peer) {
                        for (at, _, bytes) in batch.messages() {
                            assert_eq!((at, bytes), (slot(served), &served.to_le_bytes()[..]));
                            served += 1;
                            mine.answer(peer, at, answer_to(bytes, false), bytes);
                        }
                        mine.recycle(batch);
                    }
                    while let Some(batch) = mine.next_answers(peer) {
                        for (at, ..) in batch.messages() {
                            assert_eq!(at, slot(answered));
                            answered += 1;
                        }
                        mine.recycle(batch);
                    }
                    mine.send();
                    if !mine.has_mail() {
                        std::thread::yield_now();
                    }
                }
            })
        };
        for side in [flood(left, 1), flood(right, 0)] {
            side.join().unwrap();
        }
    }
}
