//! What clients may do that speak to front-ends themselves, and how much of the seat they may use up.
//!
//! A client is given a number by each seat that it calls. So whatever is to answer it has to be of that seat: it may ask the
//! front-end here, which answers it itself, and the node here what it has of a range, and nobody else. The answer to a get with a
//! continuation comes by way of that front-end, too: it names itself to whom it passes the get on.

use super::link::PeerLink;
use fawn_kv::ids::{Address, SeatId};
use fawn_kv::link::{OversizeRequest, Party};
use fawn_kv::wire::MOST_CONTINUATION_BYTES;
use fawn_kv::wire::Message;

/// Clients of a seat at a time.
pub const MOST_CLIENTS: usize = 4096;

/// A client to which more than this waits to be sent is not read from.
pub const MOST_UNTAKEN_BYTES: usize = 1 << 20;

/// A client to which more than this waits to be sent is sent no more: it asks again for what it misses. One request may be
/// answered with more.
pub const MOST_WAITING_BYTES: usize = 8 << 20;

/// What all clients of a seat together hold: of frames that have not come whole, and of answers that they have not taken.
const MOST_HELD_BYTES: usize = 256 << 20;

/// A frame has to come whole within this.
const FRAME_MS: u64 = 30_000;

/// What a frame takes beside a value: the longest key, and all around it.
const AROUND_BYTES: usize = 128 << 10;

/// The longest frame of a client, where values have so many bytes at most.
pub fn longest_frame(most_value_bytes: usize) -> usize {
    (most_value_bytes + AROUND_BYTES).max(1 << 20)
}

/// Whether a client may say this to whom it says it.
pub fn may_say(seat: SeatId, to: Address, message: &Message) -> bool {
    match message {
        Message::Ask { continuation, .. } => {
            let is_short = continuation.as_ref().is_none_or(|blob| blob.len() <= MOST_CONTINUATION_BYTES);
            is_short && to == seat.front()
        }
        Message::AskMany { .. } | Message::AskFlush { .. } => to == seat.front(),
        Message::Scan { .. } => to == seat.node(),
        _ => false,
    }
}

/// Whether a client may ask this, which is too long to be taken.
pub fn may_ask(seat: SeatId, party: Party, request: &OversizeRequest) -> bool {
    let OversizeRequest { to, from, asker, forwarded, .. } = *request;
    let is_client = matches!(party, Party::Client(_)) && party.may_speak_as(from);
    is_client && to == seat.front() && asker.address == from && !forwarded
}

/// What clients hold: looked at now and then.
#[derive(Debug, Default)]
pub struct ClientMemory {
    bytes: usize,
    /// How many each holds, and its place.
    each: Vec<(usize, usize)>,
}

impl ClientMemory {
    /// Looks at the connection in a place; whether it has to be closed: part of a frame has been there for too long.
    pub fn look(&mut self, at: usize, link: &PeerLink, now_ms: u64) -> bool {
        if !matches!(link.party, Some(Party::Client(_))) {
            return false;
        }
        let bytes = link.waiting_bytes() + link.part_bytes();
        self.bytes += bytes;
        if bytes > 0 {
            self.each.push((bytes, at));
        }
        link.part_since_ms().is_some_and(|since| now_ms > since + FRAME_MS)
    }

    /// The places of those that have to go, so that there is room again: whoever holds most goes first.
    pub fn excess(mut self) -> Vec<usize> {
        if self.bytes > MOST_HELD_BYTES {
            self.each.sort_unstable_by(|one, other| other.cmp(one));
        }
        let mut left = self.bytes;
        let too_much = self.each.into_iter().take_while(|(bytes, _)| {
            let before = left;
            left -= bytes;
            before > MOST_HELD_BYTES
        });
        too_much.map(|(_, at)| at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::LinkState;
    use super::*;
    use fawn_kv::ids::{Asker, NodeId, RequestId};
    use fawn_kv::link::Lane;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_client_may_ask_the_front_end_that_it_has_called_and_nobody_else() {
        let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: Address::Client(1), tag: 1 });
        let ask = |continuation| {
            let (key, operation) = (b"k".to_vec(), None);
            Message::Ask { id, answered: None, asker, forwarded: false, key, place: None, operation, continuation }
        };
        assert!(may_say(SeatId(3), Address::Front(fawn_kv::ids::FrontId(3)), &ask(None)));
        assert!(may_say(SeatId(3), Address::Front(fawn_kv::ids::FrontId(3)), &ask(Some(vec![1]))));
        let long = Some(vec![1; MOST_CONTINUATION_BYTES + 1]);
        assert!(!may_say(SeatId(3), Address::Front(fawn_kv::ids::FrontId(3)), &ask(long)));
        assert!(!may_say(SeatId(3), Address::Front(fawn_kv::ids::FrontId(4)), &ask(None)));
        assert!(!may_say(SeatId(3), Address::Node(NodeId(3)), &ask(None)));
        assert!(!may_say(SeatId(3), Address::Node(NodeId(3)), &Message::Ping));
    }

    #[test]
    fn of_clients_that_hold_too_much_the_one_that_holds_most_goes() {
        let link = |party, bytes| {
            let (ours, _) = UnixStream::pair().unwrap();
            let mut link = PeerLink::new(ours.into(), LinkState::Up, Some(party), Lane::Client, 0);
            link.output().resize(bytes, 0);
            link
        };
        let mut held = ClientMemory::default();
        assert!(!held.look(0, &link(Party::Client(1), MOST_HELD_BYTES / 2), 0));
        held.look(1, &link(Party::Seat(SeatId(1)), 2 * MOST_HELD_BYTES), 0);
        assert!(held.excess().is_empty(), "another seat is no client");
        let mut held = ClientMemory::default();
        for (at, bytes) in [MOST_HELD_BYTES / 4, MOST_HELD_BYTES / 2 + 1, MOST_HELD_BYTES, 0].into_iter().enumerate() {
            held.look(at, &link(Party::Client(at as u32 + 1), bytes), 0);
        }
        assert_eq!(held.excess(), [2], "with what is left the bound holds");
        let mut held = ClientMemory::default();
        for at in 0..4 {
            held.look(at, &link(Party::Client(1), MOST_HELD_BYTES / 2), 0);
        }
        assert_eq!(held.excess().len(), 2);
    }
}
