//! Which link leads to whom: to other seats, to clients, to managers.
//!
//! Of two links between a pair of seats, in one lane, the one stays that the lower number called.

use super::calls::{CallTarget, OutgoingCalls};
use super::membership::Membership;
use super::table::LinkTable;
use super::unauthenticated_links;
use crate::cluster::clients::ClientMemory;
use crate::cluster::dial::dial;
use crate::cluster::link::{LinkState, PeerLink};
use crate::runtime::slab::Token;
use fawn_kv::ids::{ManagerId, SeatId};
use fawn_kv::link::unauthenticated_limit::STRANGERS;
use fawn_kv::link::{Control, Lane, Party};
use fawn_kv::wire::version::PROXIES;
use rustix::event::epoll::EventFlags;
use std::collections::{BTreeMap, HashMap};

/// A peer that was called and has not answered, or has called and not said who it is, is hung up on after this.
const GREETING_MS: u64 = 3000;

/// The parties that a seat has links to.
#[derive(Debug)]
pub struct PeerTable {
    links: LinkTable,
    calls: OutgoingCalls,
    /// Links that others have made, by who they are.
    callers: HashMap<(Party, Lane), Token>,
    /// Links to managers.
    managers: BTreeMap<ManagerId, Token>,
}

impl PeerTable {
    /// Nobody yet.
    pub fn new(links: LinkTable, calls: OutgoingCalls) -> Self {
        Self { links, calls, callers: HashMap::new(), managers: BTreeMap::new() }
    }

    /// All links.
    pub fn links(&self) -> &LinkTable {
        &self.links
    }

    /// All links.
    pub fn links_mut(&mut self) -> &mut LinkTable {
        &mut self.links
    }

    /// The calls that this seat makes.
    pub fn calls(&self) -> &OutgoingCalls {
        &self.calls
    }

    /// The calls that this seat makes.
    pub fn calls_mut(&mut self) -> &mut OutgoingCalls {
        &mut self.calls
    }

    /// The link to a client.
    pub fn client(&self, number: u32) -> Option<Token> {
        self.callers.get(&(Party::Client(number), Lane::Client)).copied()
    }

    /// Links that others have made.
    pub fn callers(&self) -> usize {
        self.callers.len()
    }

    /// Somebody has said who it is over a link. An older one of its is closed.
    pub fn add_caller(&mut self, caller: (Party, Lane), token: Token) {
        if let Some(old) = self.callers.insert(caller, token) {
            self.remove(old);
        }
    }

    /// The link to a manager.
    pub fn manager(&self, manager: ManagerId) -> Option<Token> {
        self.managers.get(&manager).copied()
    }

    /// Managers that are connected.
    pub fn managers(&self) -> usize {
        self.managers.len()
    }

    /// A manager has answered over a link.
    pub fn add_manager(&mut self, manager: ManagerId, token: Token) {
        self.managers.insert(manager, token);
    }

    /// The addresses of the managers that may connect this seat with the leading one.
    pub fn ways_to(&self, leader: ManagerId) -> Vec<String> {
        let others = self.managers.iter().filter(|(manager, _)| **manager != leader).map(|(_, token)| *token);
        let proxies = others.filter(|token| {
            let link = self.links.get(*token);
            link.is_some_and(|link| link.state == LinkState::Up && link.version >= PROXIES)
        });
        proxies.filter_map(|token| self.calls.manager_address(token).map(str::to_owned)).collect()
    }

    /// The link to another seat, which is called if there is none.
    pub fn link_to(&mut self, seat: SeatId, lane: Lane, membership: &Membership, now_ms: u64) -> Option<Token> {
        if let Some(token) = self.callers.get(&(Party::Seat(seat), lane)) {
            return Some(*token);
        }
        let target = CallTarget::Seat(seat, lane);
        if let Some(token) = self.calls.link_to(&target) {
            return Some(token);
        }
        let address = membership.roster().address_of(seat)?;
        self.call(&target, address, (Some(Party::Seat(seat)), lane), membership, now_ms)
    }

    /// Calls a manager at its address, unless it is connected.
    pub fn call_manager(&mut self, address: String, membership: &Membership, now_ms: u64) {
        let target = CallTarget::Manager(address);
        if self.calls.link_to(&target).is_none()
            && let CallTarget::Manager(address) = &target
        {
            self.call(&target, address, (None, Lane::Client), membership, now_ms);
        }
    }

    /// Calls the leading manager through the one at this address; whether that was possible.
    pub fn call_through(&mut self, address: &str, leader: ManagerId, membership: &Membership, now_ms: u64) -> bool {
        let target = CallTarget::Proxied(address.to_owned());
        let to = (Some(Party::Manager(leader)), Lane::Client);
        self.call(&target, address, to, membership, now_ms).is_some()
    }

    /// Calls somebody, unless that was tried a moment ago.
    fn call(
        &mut self,
        target: &CallTarget,
        address: &str,
        (party, lane): (Option<Party>, Lane),
        membership: &Membership,
        now_ms: u64,
    ) -> Option<Token> {
        let socket = dial(self.calls.next_address(target, address, now_ms)?)?;
        let link = PeerLink::new(socket, LinkState::Connecting, party, lane, now_ms);
        let mut link = membership.secure_outgoing(link)?;
        link.interest = EventFlags::IN | EventFlags::OUT;
        link.say(&membership.greeting(party, lane));
        let token = self.links.insert(link)?;
        self.calls.note_link(target, token);
        Some(token)
    }

    /// Takes a connection that somebody has made and has not said who it is. When there are too many of these, one of them goes.
    pub fn accept(&mut self, link: PeerLink, membership: &Membership) {
        if self.links.unauthenticated() >= STRANGERS
            && let Some(token) = unauthenticated_links::worst_of(&self.links)
        {
            self.close(token);
        }
        if let Some(link) = membership.secure_incoming(link) {
            self.links.insert(link);
        }
    }

    /// Takes a link out that another seat of this process goes on with.
    pub fn hand_over(&mut self, token: Token) -> Option<PeerLink> {
        self.links.hand_over(token)
    }

    /// Refuses somebody who has called; the link is to be closed.
    pub fn refuse(&mut self, token: Token, why: String) {
        if let Some(link) = self.links.get_mut(token) {
            link.say(&Control::Refused { why });
            let _ = link.flush();
        }
    }

    /// Closes a link and forgets it.
    pub fn close(&mut self, token: Token) {
        self.calls.note_closed(token);
        self.callers.retain(|_, link| *link != token);
        self.remove(token);
    }

    /// Closes a link whose place another has taken.
    fn remove(&mut self, token: Token) {
        if self.links.remove(token).is_some() {
            self.managers.retain(|_, manager| *manager != token);
        }
    }

    /// Closes the links for which `is_over` holds, which gets each with its slot.
    pub fn close_where(&mut self, mut is_over: impl FnMut(usize, &PeerLink) -> bool) {
        for slot in 0..self.links.slots() {
            let Some(token) = self.links.at(slot) else { continue };
            if self.links.get(token).is_some_and(|link| is_over(slot, link)) {
                self.close(token);
            }
        }
    }

    /// Hangs up on those who do not say who they are, and on clients that hold too much.
    pub fn close_idle(&mut self, now_ms: u64) {
        let mut held = ClientMemory::default();
        self.close_where(|slot, link| {
            let is_late = link.state != LinkState::Up && now_ms > link.began_ms + GREETING_MS;
            is_late || held.look(slot, link, now_ms)
        });
        for slot in held.excess() {
            if let Some(token) = self.links.at(slot) {
                self.close(token);
            }
        }
    }

    /// Sends what there is to send.
    pub fn flush(&mut self) {
        for token in self.links.take_dirty() {
            if !self.links.flush(token) {
                self.close(token);
            }
        }
    }

    /// Every other seat that there is a link to: whether one of its links stands, and bytes that wait for it.
    pub fn seats(&self) -> BTreeMap<SeatId, (bool, usize)> {
        let mut seats: BTreeMap<SeatId, (bool, usize)> = BTreeMap::new();
        for (_, link) in self.links.iter() {
            if let Some(Party::Seat(seat)) = link.party {
                let (is_up, waiting_bytes) = seats.entry(seat).or_default();
                *is_up |= link.state == LinkState::Up;
                *waiting_bytes += link.waiting_bytes();
            }
        }
        seats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    fn peers() -> PeerTable {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
        PeerTable::new(LinkTable::new(epoll), OutgoingCalls::new(Arc::default()))
    }

    /// Adds a link to a party that is there.
    fn connect(peers: &mut PeerTable, party: Party, lane: Lane) -> Token {
        let (ours, _) = UnixStream::pair().unwrap();
        let token = peers.links.insert(PeerLink::new(ours.into(), LinkState::Called, None, lane, 0)).unwrap();
        peers.links.establish(token, (party, lane), PROXIES, 1 << 20);
        token
    }

    #[test]
    fn a_caller_that_calls_again_has_one_link_per_lane() {
        let (mut peers, seat) = (peers(), Party::Seat(SeatId(2)));
        let tokens = [Lane::Chain, Lane::Chain, Lane::Client].map(|lane| {
            let token = connect(&mut peers, seat, lane);
            peers.add_caller((seat, lane), token);
            token
        });
        assert!(peers.links.get(tokens[0]).is_none() && peers.links.get(tokens[1]).is_some());
        assert_eq!((peers.callers(), peers.seats()[&SeatId(2)].0), (2, true));
        peers.close(tokens[2]);
        assert_eq!(peers.callers(), 1);
    }

    #[test]
    fn a_manager_is_connected_until_its_link_closes() {
        let mut peers = peers();
        let [leader, other] = [1, 2].map(|number| {
            let manager = ManagerId(number);
            let token = connect(&mut peers, Party::Manager(manager), Lane::Client);
            peers.add_manager(manager, token);
            token
        });
        assert_eq!((peers.managers(), peers.manager(ManagerId(1))), (2, Some(leader)));
        assert!(peers.ways_to(ManagerId(1)).is_empty(), "nobody knows the other's address");
        let target = CallTarget::Manager("10.0.0.2:7000".to_owned());
        peers.calls.next_address(&target, "10.0.0.2:7000", 0);
        peers.calls.note_link(&target, other);
        assert_eq!(peers.ways_to(ManagerId(1)), ["10.0.0.2:7000"]);
        peers.close(other);
        assert!(peers.ways_to(ManagerId(1)).is_empty() && peers.managers() == 1);
    }

    #[test]
    fn whoever_does_not_say_who_it_is_is_hung_up_on() {
        let mut peers = peers();
        let known = connect(&mut peers, Party::Client(1), Lane::Client);
        let (ours, _) = UnixStream::pair().unwrap();
        let silent = PeerLink::new(ours.into(), LinkState::Called, None, Lane::Chain, 0);
        let silent = peers.links.insert(silent).unwrap();
        peers.close_idle(GREETING_MS);
        assert!(peers.links.get(silent).is_some());
        peers.close_idle(GREETING_MS + 1);
        assert!(peers.links.get(silent).is_none() && peers.links.get(known).is_some());
    }
}
