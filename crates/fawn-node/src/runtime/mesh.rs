//! Requests for another loop's stores and the answers that come back: two bounded rings a direction and pair of loops.
//!
//! Messages travel in parcels, one a turn and direction, and the peer is woken only when it sleeps. A loop may have at
//! most `in_flight` requests on their way to one peer, of each of which no ring ever holds more than one message; both
//! rings hold that many parcels and no parcel is empty, so neither ring is ever full: an answer always has room, and two
//! loops can never wait for each other. A connection whose next request has no room is paused by the loop, never
//! dropped.
//!
//! A large answer is not sent unasked: its owner says how large it is ([`Head::Wants`]), and the loop of its client when
//! there is room for it ([`Ask::Room`]; see [`crate::net::backpressure`]).

use crate::request::{CompletionStatus, GetView, KeyAction, ListingForm, ReplyForm, ReplySlot, ReplyWriter, Ticket};
use crate::runtime::wake::Wake;
use fawn_ring::Key;
use rtrb::{Consumer, Producer, RingBuffer};
use rustix::io::Errno;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of requests that may be on their way to one peer, unless it is a single one.
const IN_FLIGHT_BYTES: usize = 8 << 20;
/// A parcel is sent off early at this size.
const PARCEL_BYTES: usize = 256 << 10;
/// Spare parcels that a loop keeps, and their buffers all together: what a turn sends and receives. A burst fills many more, and
/// large ones.
const SPARE_PARCELS: usize = 64;
const SPARE_BYTES: usize = 1 << 20;

/// What a loop asks of another.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// A request for one key; the bytes are the key, then the value.
    Keyed {
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
    Figures,
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
    /// The answer to [`Head::Wants`]: no request of its own, so never answered.
    Room {
        /// The task that waits.
        ticket: Ticket,
        /// The answer may come; else nobody wants it any more.
        granted: bool,
    },
}

/// What is said of the bytes of one message.
#[derive(Clone, Copy, Debug)]
pub enum Head {
    /// A request.
    Request(Ask),
    /// An answer to a request.
    Answer {
        /// How the request ended.
        status: CompletionStatus,
        /// Bytes of the request that it answers.
        request_bytes: u32,
        /// Bytes that it was granted room for.
        granted: u32,
    },
    /// The answer to a request is large, and comes once there is room for it ([`Ask::Room`]).
    Wants {
        /// The task that waits.
        ticket: Ticket,
        /// How large, in bytes.
        bytes: u32,
    },
}

/// Some messages and their bytes, one after the other.
#[derive(Debug, Default)]
pub struct Parcel {
    messages: Vec<(ReplySlot, Head, Range<usize>)>,
    bytes: Vec<u8>,
}

impl Parcel {
    fn push(&mut self, place: ReplySlot, head: Head, parts: &[&[u8]]) {
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.messages.push((place, head, start..self.bytes.len()));
    }

    /// Bytes that its buffers take.
    fn capacity_bytes(&self) -> usize {
        self.messages.capacity() * size_of::<(ReplySlot, Head, Range<usize>)>() + self.bytes.capacity()
    }

    /// Store and position of the keys that up to `count` messages from number `first` on ask for.
    pub fn asked(&self, first: usize, count: usize) -> impl Iterator<Item = (usize, Key)> {
        let messages = self.messages[first..].iter().take(count);
        messages.filter_map(|(_, head, _)| match head {
            Head::Request(Ask::Keyed { key, store, .. }) => Some((usize::from(*store), *key)),
            _ => None,
        })
    }

    /// The messages in order.
    pub fn messages(&self) -> impl Iterator<Item = (ReplySlot, Head, &[u8])> {
        self.messages.iter().map(|(place, head, range)| (*place, *head, &self.bytes[range.clone()]))
    }
}

/// One loop's side of a pair.
#[derive(Debug)]
struct Link {
    requests_out: Producer<Parcel>,
    requests_in: Consumer<Parcel>,
    answers_out: Producer<Parcel>,
    answers_in: Consumer<Parcel>,
    peer: Arc<Wake>,
    /// Being filled in this turn.
    requests: Parcel,
    answers: Parcel,
    /// Requests sent and not yet answered, those being filled included; at most `limit`.
    in_flight: usize,
    in_flight_bytes: usize,
    limit: usize,
    /// Parcels were pushed since the peer was last notified.
    pushed: bool,
}

/// One loop's links to all others.
#[derive(Debug)]
pub struct Exchange {
    /// By loop number; `None` for itself.
    links: Vec<Option<Link>>,
    wake: Arc<Wake>,
    spare: Spare,
}

/// Parcels that were worked off, for their buffers.
#[derive(Debug, Default)]
struct Spare {
    parcels: Vec<Parcel>,
    /// Bytes that their buffers take.
    bytes: usize,
}

impl Spare {
    fn take(&mut self) -> Parcel {
        let parcel = self.parcels.pop().unwrap_or_default();
        self.bytes -= parcel.capacity_bytes();
        parcel
    }

    fn give(&mut self, mut parcel: Parcel) {
        let bytes = parcel.capacity_bytes();
        if self.parcels.len() < SPARE_PARCELS && self.bytes + bytes <= SPARE_BYTES {
            parcel.messages.clear();
            parcel.bytes.clear();
            self.bytes += bytes;
            self.parcels.push(parcel);
        }
    }
}

/// Links among `wakes.len()` loops, of which each may have `in_flight` requests on their way to each other one.
pub fn mesh(wakes: &[Arc<Wake>], in_flight: usize) -> Vec<Exchange> {
    assert!(in_flight > 0, "a loop may ask at least once");
    let count = wakes.len();
    let mut links: Vec<Vec<Option<Link>>> = (0..count).map(|_| (0..count).map(|_| None).collect()).collect();
    for left in 0..count {
        for right in left + 1..count {
            let (left_requests_out, right_requests_in) = RingBuffer::new(in_flight);
            let (right_requests_out, left_requests_in) = RingBuffer::new(in_flight);
            let (left_answers_out, right_answers_in) = RingBuffer::new(in_flight);
            let (right_answers_out, left_answers_in) = RingBuffer::new(in_flight);
            let link = |requests_out, requests_in, answers_out, answers_in, peer: &Arc<Wake>| Link {
                requests_out,
                requests_in,
                answers_out,
                answers_in,
                peer: Arc::clone(peer),
                requests: Parcel::default(),
                answers: Parcel::default(),
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
    let exchange = |(links, wake): (_, &Arc<Wake>)| Exchange { links, wake: Arc::clone(wake), spare: Spare::default() };
    links.into_iter().zip(wakes).map(exchange).collect()
}

/// Alarm clocks for `count` loops.
///
/// # Errors
/// What `eventfd(2)` reports.
pub fn wakes(count: usize) -> Result<Vec<Arc<Wake>>, Errno> {
    (0..count).map(|_| Wake::new().map(Arc::new)).collect()
}

impl Link {
    fn push_requests(&mut self, spare: &mut Spare) {
        if !self.requests.messages.is_empty() {
            let parcel = std::mem::replace(&mut self.requests, spare.take());
            self.requests_out.push(parcel).expect("the ring holds as many parcels as requests may be in flight");
            self.pushed = true;
        }
    }

    fn push_answers(&mut self, spare: &mut Spare) {
        if !self.answers.messages.is_empty() {
            let parcel = std::mem::replace(&mut self.answers, spare.take());
            self.answers_out.push(parcel).expect("the ring holds as many parcels as requests may be in flight");
            self.pushed = true;
        }
    }
}

impl Exchange {
    /// Number of loops, this one included.
    pub fn loops(&self) -> usize {
        self.links.len()
    }

    /// This loop's alarm clock.
    pub fn wake(&self) -> &Wake {
        &self.wake
    }

    fn link(&mut self, peer: usize) -> &mut Link {
        self.links[peer].as_mut().expect("a loop has no link to itself")
    }

    /// Parcels of requests and of answers that have come from `peer`.
    pub fn parcels(&self, peer: usize) -> (usize, usize) {
        self.links[peer].as_ref().map_or((0, 0), |link| (link.requests_in.slots(), link.answers_in.slots()))
    }

    /// Whether another request may be sent to `peer`.
    #[inline]
    pub fn may_send(&self, peer: usize) -> bool {
        let link = self.links[peer].as_ref().expect("a loop has no link to itself");
        link.in_flight < link.limit && link.in_flight_bytes < IN_FLIGHT_BYTES
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

    /// Adds a request to the parcel for `peer`; [`may_send`](Self::may_send) must have said yes.
    pub fn request(&mut self, peer: usize, place: ReplySlot, ask: Ask, parts: &[&[u8]]) {
        assert!(self.may_send(peer), "requests in flight are bounded");
        let link = self.links[peer].as_mut().expect("a loop has no link to itself");
        link.in_flight += 1;
        link.in_flight_bytes += parts.iter().map(|part| part.len()).sum::<usize>();
        link.requests.push(place, Head::Request(ask), parts);
        if link.requests.bytes.len() >= PARCEL_BYTES {
            link.push_requests(&mut self.spare);
        }
    }

    /// Adds an answer to a request from `peer`, or word that it wants room: `head` says which.
    pub fn answer(&mut self, peer: usize, place: ReplySlot, head: Head, bytes: &[u8]) {
        let link = self.links[peer].as_mut().expect("a loop has no link to itself");
        link.answers.push(place, head, &[bytes]);
        if link.answers.bytes.len() >= PARCEL_BYTES {
            link.push_answers(&mut self.spare);
        }
    }

    /// Tells `peer` whether there is room for the answer to a request that is on its way to it.
    pub fn room(&mut self, peer: usize, place: ReplySlot, ticket: Ticket, granted: bool) {
        let link = self.links[peer].as_mut().expect("a loop has no link to itself");
        link.requests.push(place, Head::Request(Ask::Room { ticket, granted }), &[]);
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

    /// The next parcel of requests from `peer`.
    pub fn next_requests(&mut self, peer: usize) -> Option<Parcel> {
        self.link(peer).requests_in.pop().ok()
    }

    /// The next parcel of answers from `peer`; their requests are no longer in flight.
    pub fn next_answers(&mut self, peer: usize) -> Option<Parcel> {
        let link = self.link(peer);
        let parcel = link.answers_in.pop().ok()?;
        for (_, head, _) in &parcel.messages {
            if let Head::Answer { request_bytes, .. } = head {
                link.in_flight -= 1;
                link.in_flight_bytes -= *request_bytes as usize;
            }
        }
        Some(parcel)
    }

    /// Gives a parcel that was worked off back, for its buffers.
    pub fn recycle(&mut self, parcel: Parcel) {
        self.spare.give(parcel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::latency::Stamp;
    use crate::runtime::slab::Token;

    fn place(answer: u64) -> ReplySlot {
        ReplySlot { connection: Token::from_u64(1 << 32), answer, part: 0, stamp: Stamp::NONE }
    }

    fn answer_to(request: &[u8], failed: bool) -> Head {
        let status = if failed { CompletionStatus::Failed } else { CompletionStatus::Done };
        Head::Answer { status, request_bytes: request.len() as u32, granted: 0 }
    }

    fn pair(in_flight: usize) -> (Exchange, Exchange) {
        let mut both = mesh(&wakes(2).unwrap(), in_flight);
        let right = both.pop().unwrap();
        (both.pop().unwrap(), right)
    }

    #[test]
    fn a_turn_sends_one_parcel_in_order_and_credit_returns_with_the_answers() {
        let (mut left, mut right) = pair(3);
        for n in 0..3 {
            assert!(left.may_send(1));
            left.request(1, place(n), Ask::Figures, &[&[n as u8; 5]]);
        }
        assert!(!left.may_send(1), "three are in flight");
        assert!(!right.has_mail(), "nothing leaves before the end of the turn");
        left.send();
        let parcel = right.next_requests(0).unwrap();
        assert!(right.next_requests(0).is_none(), "one parcel a turn");
        for (n, (at, head, bytes)) in parcel.messages().enumerate() {
            assert!(matches!(head, Head::Request(Ask::Figures)));
            assert_eq!((at, bytes), (place(n as u64), &[n as u8; 5][..]));
            right.answer(0, at, answer_to(bytes, n == 1), b"fine");
        }
        right.recycle(parcel);
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
        left.request(1, place(0), Ask::Figures, &[&large]);
        assert!(!left.may_send(1));
        left.send();
        let parcel = right.next_requests(0).unwrap();
        right.answer(0, place(0), answer_to(&large, false), b"");
        right.recycle(parcel);
        right.send();
        assert!(left.next_answers(1).is_some() && left.may_send(1));
    }

    #[test]
    fn a_burst_leaves_no_more_than_what_a_turn_needs() {
        let (mut left, mut right) = pair(4096);
        for _ in 0..3 {
            for n in 0..2000 {
                left.request(1, place(n), Ask::Figures, &[&[7; 1000]]);
            }
            left.send();
            let mut parcels = 0;
            while let Some(parcel) = right.next_requests(0) {
                parcel.messages().for_each(|(at, _, bytes)| right.answer(0, at, answer_to(bytes, false), b""));
                right.recycle(parcel);
                parcels += 1;
            }
            assert!(parcels >= 7, "{parcels} parcels of 256 KiB");
            right.send();
            while let Some(parcel) = left.next_answers(1) {
                left.recycle(parcel);
            }
        }
        for side in [&left, &right] {
            let held = side.spare.parcels.iter().map(Parcel::capacity_bytes).sum::<usize>();
            assert_eq!(side.spare.bytes, held);
            assert!((1..=SPARE_BYTES).contains(&held), "{held}");
        }
    }

    /// Both sides keep their rings as full as they may, each answering the other from the same thread that asks.
    #[test]
    fn two_loops_that_flood_each_other_never_block() {
        const EACH: u64 = 200_000;
        let (left, right) = pair(4);
        let flood = |mut mine: Exchange, peer: usize| {
            std::thread::spawn(move || {
                let (mut asked, mut answered, mut served) = (0, 0, 0);
                while answered < EACH || served < EACH {
                    while asked < EACH && mine.may_send(peer) {
                        mine.request(peer, place(asked), Ask::Figures, &[&asked.to_le_bytes()]);
                        asked += 1;
                    }
                    while let Some(parcel) = mine.next_requests(peer) {
                        for (at, _, bytes) in parcel.messages() {
                            assert_eq!((at, bytes), (place(served), &served.to_le_bytes()[..]));
                            served += 1;
                            mine.answer(peer, at, answer_to(bytes, false), bytes);
                        }
                        mine.recycle(parcel);
                    }
                    while let Some(parcel) = mine.next_answers(peer) {
                        for (at, ..) in parcel.messages() {
                            assert_eq!(at, place(answered));
                            answered += 1;
                        }
                        mine.recycle(parcel);
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
