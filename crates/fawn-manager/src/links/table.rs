//! Who is connected, and what waits to be sent to each.

use crate::replicated_state::Facts;
use fawn_kv::ids::{Address, SeatId};
use fawn_kv::link::frame::{put_control, put_message};
use fawn_kv::link::{Control, Party};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::FAREWELLS;
use fawn_tls::{Identity, Role};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes that wait for a slow peer, at most: what comes after them is lost.
pub const MOST_WAITING_BYTES: usize = 8 << 20;

/// Names a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u64);

#[derive(Debug, Default)]
struct OutboxBuffer {
    bytes: Vec<u8>,
    is_closed: bool,
}

/// What waits to be sent over a connection. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    waiting: Arc<Mutex<OutboxBuffer>>,
    changed: Arc<Notify>,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, OutboxBuffer> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, put: impl FnOnce(&mut Vec<u8>)) {
        let mut waiting = self.waiting();
        if waiting.bytes.len() < MOST_WAITING_BYTES && !waiting.is_closed {
            put(&mut waiting.bytes);
            self.changed.notify_one();
        }
    }

    /// Says something outside the protocol.
    pub fn say(&self, control: &Control) {
        self.put(|out| put_control(out, control));
    }

    /// Sends a message of the managers.
    pub fn send(&self, to: Address, message: &Message) {
        self.put(|out| put_message(out, to, Address::Manager, message));
    }

    /// What waits is sent, and then the connection ends.
    pub fn close(&self) {
        self.waiting().is_closed = true;
        self.changed.notify_one();
    }

    /// What waits now; `None`: nothing, and nothing is to come.
    pub fn take(&self) -> Option<Vec<u8>> {
        let mut waiting = self.waiting();
        let bytes = std::mem::take(&mut waiting.bytes);
        (!bytes.is_empty() || !waiting.is_closed).then_some(bytes)
    }

    /// Something waits, or nothing is to come.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// A link that stands.
#[derive(Debug)]
pub struct LinkPeer {
    /// Who it is.
    pub party: Party,
    /// The newest version that both sides speak.
    pub version: u8,
    /// What waits for it.
    pub outbox: Outbox,
    /// Who its certificate says that it is; `None`: nobody has to show one.
    pub identity: Option<Identity>,
    /// Where it calls from; `None`: within the process.
    pub host: Option<IpAddr>,
    /// It is told of each change of the roster.
    pub hears_roster: bool,
}

impl LinkPeer {
    /// Tells it the cluster's version, if it speaks a version that has a message for that.
    pub fn tell_version(&self, version: u8) {
        if self.version >= FAREWELLS {
            self.outbox.say(&Control::Speaks { version });
        }
    }

    /// Who it is and from where, for the log.
    pub fn description(&self) -> String {
        let role = self.identity.as_ref().map(|identity| format!(" with the certificate of {identity}"));
        let host = self.host.map(|host| format!(" at {host}"));
        format!("{}{}{}", self.party, host.unwrap_or_default(), role.unwrap_or_default())
    }
}

/// The links of a seat, of which one is used.
#[derive(Clone, Copy, Debug)]
struct SeatLinks {
    /// What is for the seat is sent over this one.
    used: LinkId,
    /// A newer one, which takes its place once the seat has said something over it: a link may carry a greeting to this manager,
    /// and not the answer to the seat.
    next: Option<LinkId>,
}

/// All links.
#[derive(Debug, Default)]
pub struct LinkTable {
    peers: BTreeMap<LinkId, LinkPeer>,
    seats: BTreeMap<SeatId, SeatLinks>,
    clients: BTreeMap<u32, LinkId>,
    last_client: u32,
}

impl LinkTable {
    /// A number for a client that nobody has.
    pub fn next_client(&mut self) -> u32 {
        self.last_client = self.last_client.wrapping_add(1);
        while self.clients.contains_key(&self.last_client) {
            self.last_client = self.last_client.wrapping_add(1);
        }
        self.last_client
    }

    /// A link stands. If its seat has one already, that is used until the seat [is heard](Self::heard) over the new one.
    pub fn add(&mut self, link: LinkId, peer: LinkPeer) {
        let before = match peer.party {
            Party::Seat(seat) => match self.seats.entry(seat) {
                Entry::Vacant(links) => {
                    links.insert(SeatLinks { used: link, next: None });
                    None
                }
                Entry::Occupied(mut links) => links.get_mut().next.replace(link),
            },
            Party::Client(client) => self.clients.insert(client, link),
            _ => None,
        };
        if let Some(before) = before {
            self.close(before);
        }
        self.peers.insert(link, peer);
    }

    /// Something has come over a link. If it is the newer one of a seat, the older one ends.
    pub fn heard(&mut self, link: LinkId) {
        let Some(Party::Seat(seat)) = self.peers.get(&link).map(|peer| peer.party) else { return };
        if let Some(links) = self.seats.get(&seat).filter(|links| links.next == Some(link)) {
            // The next one takes its place.
            self.close(links.used);
        }
    }

    /// A link is over.
    pub fn remove(&mut self, link: LinkId) {
        let Some(peer) = self.peers.remove(&link) else { return };
        peer.outbox.close();
        match peer.party {
            Party::Seat(seat) => self.forget(seat, link),
            Party::Client(client) if self.clients.get(&client) == Some(&link) => drop(self.clients.remove(&client)),
            _ => {}
        }
    }

    fn forget(&mut self, seat: SeatId, link: LinkId) {
        let Some(links) = self.seats.get_mut(&seat) else { return };
        match *links {
            SeatLinks { used, next: Some(next) } if used == link => *links = SeatLinks { used: next, next: None },
            SeatLinks { used, next: None } if used == link => drop(self.seats.remove(&seat)),
            SeatLinks { next, .. } if next == Some(link) => links.next = None,
            SeatLinks { .. } => {}
        }
    }

    /// Ends a link.
    pub fn close(&mut self, link: LinkId) {
        self.remove(link);
    }

    /// Who is at the other end.
    pub fn peer(&self, link: LinkId) -> Option<&LinkPeer> {
        self.peers.get(&link)
    }

    /// The peer at the other end is told of each change of the roster from now on.
    pub fn follow_roster(&mut self, link: LinkId) {
        if let Some(peer) = self.peers.get_mut(&link) {
            peer.hears_roster = true;
        }
    }

    /// Whether a link stands.
    pub fn has(&self, link: LinkId) -> bool {
        self.peers.contains_key(&link)
    }

    /// Says something to all peers.
    pub fn announce(&self, control: &Control) {
        for peer in self.peers.values() {
            peer.outbox.say(control);
        }
    }

    /// The roster is another. Peers that follow it are told; those that may no longer be what they are lose their links.
    pub fn roster_changed(&mut self, facts: &Facts) {
        let roster = &facts.roster;
        let mut gone = Vec::new();
        for (link, peer) in &self.peers {
            if peer.hears_roster {
                peer.outbox.say(&Control::Roster(roster.spoken_in(peer.version)));
            }
            let is_gone = match peer.party {
                Party::Seat(seat) => roster.member_of(seat).is_none(),
                Party::Client(_) | Party::Newcomer => !may_be(peer.identity.as_ref(), peer.party, facts),
                _ => false,
            };
            if is_gone {
                gone.push(*link);
            }
        }
        for link in gone {
            self.close(link);
        }
    }

    /// The cluster's version is another. Peers are told; those that do not speak it lose their links.
    pub fn version_changed(&mut self, version: u8) {
        let mut behind = Vec::new();
        for (link, peer) in &self.peers {
            peer.tell_version(version);
            if peer.version < version && !is_outside(peer.party) {
                behind.push(*link);
            }
        }
        for link in behind {
            self.close(link);
        }
    }

    /// Whether a seat is connected.
    pub fn has_seat(&self, seat: SeatId) -> bool {
        self.seats.contains_key(&seat)
    }

    /// The newest version that a seat speaks as this side does, if it is connected.
    pub fn version_of(&self, seat: SeatId) -> Option<u8> {
        self.seats.get(&seat).and_then(|links| self.peers.get(&links.used)).map(|peer| peer.version)
    }

    /// Sends a message, if there is a link to whom it is for.
    pub fn send(&self, to: Address, message: &Message) {
        let link = match to {
            Address::Client(client) => self.clients.get(&client),
            _ => SeatId::of(to).and_then(|seat| self.seats.get(&seat)).map(|links| &links.used),
        };
        let peer = link.and_then(|link| self.peers.get(link));
        if let Some(peer) = peer
            && let Some(message) = message.spoken_in(peer.version)
        {
            peer.outbox.send(to, &message);
        }
    }

    /// Whether the other end of a link that stands speaks this version.
    pub fn speaks(&self, link: LinkId, version: u8) -> bool {
        self.peers.get(&link).is_some_and(|peer| peer.version >= version)
    }

    /// Says something over a link, if it stands.
    pub fn say(&self, link: LinkId, control: &Control) {
        if let Some(peer) = self.peers.get(&link) {
            peer.outbox.say(control);
        }
    }
}

/// Whether a party takes no part in what is decided: it may be older than the cluster.
pub fn is_outside(party: Party) -> bool {
    matches!(party, Party::Operator | Party::Client(_))
}

/// Whether one whose certificate says this may be the party that it says.
pub fn may_be(identity: Option<&Identity>, party: Party, facts: &Facts) -> bool {
    let Some(identity) = identity else { return true };
    let roster = &facts.roster;
    match party {
        Party::Manager(_) => identity.has(&Role::Manager),
        Party::Operator => identity.has(&Role::Operator),
        Party::Client(_) => identity.may_ask(|name| roster.members.contains_key(name)),
        // Whoever was removed is not let in again, and so has nothing to ask for.
        Party::Newcomer => {
            identity.roles().any(|role| matches!(role, Role::Member(name) if !facts.struck.contains(name)))
        }
        Party::Seat(seat) => roster.member_of(seat).is_some_and(|(name, _)| identity.is_member(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::ManagerId;
    use fawn_kv::ids::NodeId;
    use fawn_kv::wire::version::NEWEST;
    use fawn_tls::Material;
    use fawn_tls::certificate::now;
    use fawn_tls::directory::{Applicant, init};
    use fawn_tls::files::read_chain;
    use std::collections::BTreeSet;

    fn peer(party: Party) -> (LinkPeer, Outbox) {
        let outbox = Outbox::default();
        (
            LinkPeer {
                party,
                version: NEWEST,
                outbox: outbox.clone(),
                identity: None,
                host: None,
                hears_roster: false,
            },
            outbox,
        )
    }

    #[test]
    fn a_newer_link_of_a_seat_takes_the_older_ones_place_once_the_seat_is_heard_over_it() {
        let mut table = LinkTable::default();
        let (older, old) = peer(Party::Seat(SeatId(3)));
        let (deaf, unheard) = peer(Party::Seat(SeatId(3)));
        let (newer, new) = peer(Party::Seat(SeatId(3)));
        table.add(LinkId(1), older);
        table.add(LinkId(7), deaf);
        table.send(Address::Node(NodeId(3)), &Message::Ping);
        table.heard(LinkId(1));
        assert!(!old.take().unwrap().is_empty(), "the answer to the newer one's greeting may not have come");
        table.add(LinkId(2), newer);
        assert_eq!(unheard.take(), None, "a seat has two links at most");
        table.heard(LinkId(2));
        assert_eq!(old.take(), None, "it is closed");
        table.send(Address::Node(NodeId(3)), &Message::Ping);
        table.remove(LinkId(1));
        assert!(table.has_seat(SeatId(3)), "the end of the older one is not the newer one's");
        assert!(!new.take().unwrap().is_empty());
    }

    fn identity(roles: &[Role]) -> Identity {
        let dir = tempfile::tempdir().unwrap();
        let roles = roles.iter().cloned().collect();
        init(dir.path(), &[Applicant { name: "one".to_owned(), roles, hosts: BTreeSet::new() }], 90, now()).unwrap();
        Identity::of(&read_chain(&Material::in_dir(dir.path(), "one").cert).unwrap()).unwrap()
    }

    #[test]
    fn a_member_that_was_removed_is_no_newcomer() {
        let struck = BTreeSet::from(["a".to_owned()]);
        let facts = Facts { struck, ..Facts::default() };
        let member = |name: &str| Role::Member(name.to_owned());
        let may = |roles: &[Role], party| may_be(Some(&identity(roles)), party, &facts);
        assert!(!may(&[member("a")], Party::Newcomer));
        assert!(may(&[member("b")], Party::Newcomer));
        assert!(may(&[member("a"), member("b")], Party::Newcomer), "it is another, too");
        assert!(!may(&[Role::Operator], Party::Newcomer));
        assert!(may(&[member("a"), Role::Manager], Party::Manager(ManagerId(1))), "the manager was not removed");
    }

    #[test]
    fn peers_that_do_not_speak_the_clusters_version_lose_their_links_unless_they_are_outside_of_it() {
        let mut table = LinkTable::default();
        for (link, party) in [(1, Party::Seat(SeatId(3))), (2, Party::Operator), (3, Party::Client(1))] {
            let mut peer = peer(party).0;
            peer.version = NEWEST - 1;
            table.add(LinkId(link), peer);
        }
        table.add(LinkId(4), peer(Party::Seat(SeatId(4))).0);
        table.version_changed(NEWEST);
        assert_eq!([1, 2, 3, 4].map(|link| table.has(LinkId(link))), [false, true, true, true]);
    }

    #[test]
    fn a_seat_that_is_no_members_loses_its_link_and_others_hear_of_the_roster_if_they_follow_it() {
        let mut table = LinkTable::default();
        let (operator, heard) = peer(Party::Operator);
        let (deaf, unheard) = peer(Party::Operator);
        table.add(LinkId(1), peer(Party::Seat(SeatId(3))).0);
        table.add(LinkId(2), operator);
        table.add(LinkId(3), deaf);
        table.follow_roster(LinkId(2));
        table.roster_changed(&Facts::default());
        assert!(!table.has(LinkId(1)) && table.has(LinkId(2)) && table.has(LinkId(3)));
        assert!(!heard.take().unwrap().is_empty() && unheard.take().unwrap().is_empty());
    }

    #[test]
    fn a_peer_that_takes_nothing_loses_what_comes() {
        let (peer, outbox) = peer(Party::Operator);
        for _ in 0..100 {
            let bytes = vec![0; 1 << 20];
            peer.outbox.say(&Control::Consensus { number: 0, kind: 0, bytes });
        }
        let waiting = outbox.take().unwrap().len();
        assert!((MOST_WAITING_BYTES..MOST_WAITING_BYTES + (2 << 20)).contains(&waiting), "{waiting}");
    }
}
