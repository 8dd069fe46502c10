//! The links of a seat by token: sockets that epoll watches, and which of them have something to send.

use crate::cluster::clients::MOST_UNTAKEN_BYTES;
use crate::cluster::link::{LinkState, PeerLink};
use crate::runtime::slab::{Slab, Token};
use crate::shard::backend::WATCHED;
use fawn_kv::link::{Control, Lane, Party};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::sync::Arc;

/// All links of a seat.
#[derive(Debug)]
pub struct LinkTable {
    links: Slab<PeerLink>,
    /// The loop's epoll set.
    epoll: Arc<OwnedFd>,
    /// Links with something to send.
    dirty: Vec<Token>,
    /// Clients and front-ends are not read from.
    is_paused: bool,
    /// Links whose caller has not said who it is.
    unauthenticated: usize,
}

impl LinkTable {
    /// A table without links, whose sockets are watched in `epoll`.
    pub fn new(epoll: Arc<OwnedFd>) -> Self {
        Self { links: Slab::default(), epoll, dirty: Vec::new(), is_paused: false, unauthenticated: 0 }
    }

    /// The link of a token, unless it was closed.
    pub fn get(&self, token: Token) -> Option<&PeerLink> {
        self.links.at_token(token)
    }

    /// The link of a token, unless it was closed.
    pub fn get_mut(&mut self, token: Token) -> Option<&mut PeerLink> {
        self.links.get_mut(token)
    }

    /// Number of slots: the bound of [`at`](Self::at).
    pub fn slots(&self) -> usize {
        self.links.slots()
    }

    /// The token of the link in a slot, if there is one.
    pub fn at(&self, slot: usize) -> Option<Token> {
        self.links.at(slot)
    }

    /// Every link with its token, in the order of slots.
    pub fn iter(&self) -> impl Iterator<Item = (Token, &PeerLink)> {
        (0..self.links.slots()).filter_map(|slot| {
            let token = self.links.at(slot)?;
            Some((token, self.links.at_token(token)?))
        })
    }

    /// Links whose caller has not said who it is.
    pub fn unauthenticated(&self) -> usize {
        self.unauthenticated
    }

    /// Whether some link has something to send.
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Adds a link and has its socket watched; `None`, and the link is closed, where the system refuses to watch it.
    pub fn insert(&mut self, mut link: PeerLink) -> Option<Token> {
        link.interest |= EventFlags::IN;
        let (interest, is_unauthenticated) = (link.interest, link.state == LinkState::Called);
        let token = self.links.insert(link);
        let link = self.links.at_token(token).expect("the link was just added");
        let data = EventData::new_u64(WATCHED | token.to_u64());
        if epoll::add(&*self.epoll, link.socket(), data, interest).is_err() {
            self.links.remove(token);
            return None;
        }
        self.unauthenticated += usize::from(is_unauthenticated);
        Some(token)
    }

    /// Takes a link out; dropping it closes its socket.
    pub fn remove(&mut self, token: Token) -> Option<PeerLink> {
        let link = self.links.remove(token)?;
        self.unauthenticated -= usize::from(link.state == LinkState::Called);
        Some(link)
    }

    /// Takes a link out that another seat goes on with: this seat's epoll set forgets its socket.
    pub fn hand_over(&mut self, token: Token) -> Option<PeerLink> {
        let mut link = self.remove(token)?;
        link.dirty = false;
        let _ = epoll::delete(&*self.epoll, link.socket());
        Some(link)
    }

    /// Both sides of a link know each other from here on; a client's frames have at most `longest` bytes. Returns whether the
    /// link is still there.
    pub fn establish(&mut self, token: Token, (party, lane): (Party, Lane), version: u8, longest: usize) -> bool {
        let Some(link) = self.links.get_mut(token) else { return false };
        self.unauthenticated -= usize::from(link.state == LinkState::Called);
        link.lane = lane;
        link.stands(party, version, longest);
        true
    }

    /// Notes that a link has something to send.
    pub fn mark(&mut self, token: Token) {
        if let Some(link) = self.links.get_mut(token).filter(|link| !link.dirty) {
            link.dirty = true;
            self.dirty.push(token);
        }
    }

    /// Sends a control frame over a link.
    pub fn say(&mut self, token: Token, control: &Control) {
        if let Some(link) = self.links.get_mut(token) {
            link.say(control);
            self.mark(token);
        }
    }

    /// Takes the links that have something to send, for [`flush`](Self::flush) of each.
    pub fn take_dirty(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.dirty)
    }

    /// Sends what a link has to send, as far as its socket takes it; `false` where the link is broken.
    pub fn flush(&mut self, token: Token) -> bool {
        let Some(link) = self.links.get_mut(token) else { return true };
        link.dirty = false;
        if link.state == LinkState::Connecting {
            return true;
        }
        if link.flush().is_err() {
            return false;
        }
        self.set_interest(token);
        true
    }

    /// Reads from clients and front-ends, or does not for a while.
    pub fn pause(&mut self, is_paused: bool) {
        if self.is_paused != is_paused {
            self.is_paused = is_paused;
            for slot in 0..self.links.slots() {
                if let Some(token) = self.links.at(slot) {
                    self.set_interest(token);
                }
            }
        }
    }

    fn set_interest(&mut self, token: Token) {
        let is_paused = self.is_paused;
        let Some(link) = self.links.get_mut(token) else { return };
        let mut wanted = EventFlags::empty();
        let asks = link.lane == Lane::Client && matches!(link.party, Some(Party::Seat(_) | Party::Client(_)));
        let is_client = matches!(link.party, Some(Party::Client(_)));
        // A client that does not take its replies asks no more.
        let is_paused = is_paused || (is_client && link.waiting_bytes() > MOST_UNTAKEN_BYTES);
        if !(is_paused && asks && link.state == LinkState::Up) {
            wanted |= EventFlags::IN;
        }
        if link.waiting_bytes() > 0 || link.state == LinkState::Connecting {
            wanted |= EventFlags::OUT;
        }
        if wanted != link.interest {
            link.interest = wanted;
            let data = EventData::new_u64(WATCHED | token.to_u64());
            let _ = epoll::modify(&*self.epoll, link.socket(), data, wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::SeatId;
    use std::os::unix::net::UnixStream;

    fn table() -> LinkTable {
        LinkTable::new(Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap()))
    }

    /// A link in this state, and its other end.
    fn link(state: LinkState) -> (PeerLink, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (PeerLink::new(ours.into(), state, None, Lane::Client, 0), theirs)
    }

    #[test]
    fn callers_count_as_unauthenticated_until_they_are_known_or_gone() {
        let mut table = table();
        let tokens: Vec<Token> = (0..3).map(|_| table.insert(link(LinkState::Called).0).unwrap()).collect();
        table.insert(link(LinkState::Connecting).0).unwrap();
        assert_eq!(table.unauthenticated(), 3, "the seat knows whom it calls itself");
        assert!(table.establish(tokens[0], (Party::Client(1), Lane::Client), 1, 1 << 20));
        table.remove(tokens[0]);
        assert_eq!(table.unauthenticated(), 2);
        assert!(table.hand_over(tokens[1]).is_some() && table.remove(tokens[1]).is_none());
        assert_eq!((table.unauthenticated(), table.iter().count()), (1, 2));
    }

    #[test]
    fn a_pause_stops_reading_from_those_who_ask_and_from_nobody_else() {
        let mut table = table();
        let lanes = [(Party::Client(1), Lane::Client), (Party::Seat(SeatId(2)), Lane::Chain)];
        let tokens = lanes.map(|lane| {
            let token = table.insert(link(LinkState::Called).0).unwrap();
            table.establish(token, lane, 1, 1 << 20);
            token
        });
        let reads = |table: &LinkTable| tokens.map(|token| table.get(token).unwrap().interest.contains(EventFlags::IN));
        table.pause(true);
        assert_eq!(reads(&table), [false, true]);
        table.pause(false);
        assert_eq!(reads(&table), [true, true]);
    }

    #[test]
    fn a_link_is_flushed_once_however_often_something_is_said() {
        let (mut table, (link, theirs)) = (table(), link(LinkState::Called));
        let token = table.insert(link).unwrap();
        table.establish(token, (Party::Client(1), Lane::Client), 1, 1 << 20);
        table.say(token, &Control::Alive);
        table.say(token, &Control::Alive);
        assert_eq!(table.take_dirty(), [token]);
        assert!(table.flush(token) && !table.is_dirty());
        drop(theirs);
        table.say(token, &Control::Alive);
        assert!(!table.flush(token), "nobody is there any more");
    }
}
