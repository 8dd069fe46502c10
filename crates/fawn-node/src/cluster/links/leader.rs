//! Finding the leading manager, and reaching it through another manager where the link to it is broken
//! ([decision 42](../../../../../docs/decisions/0042-ways-around-to-the-leader.md)).
//!
//! The leader is pinged over the link to it. When it does not answer, the link is closed, and called again like any other.
//! Meanwhile one of the other managers connects this seat with the leader.

use super::membership::Membership;
use super::peers::PeerTable;
use crate::cluster::link::PeerLink;
use crate::runtime::slab::Token;
use fawn_kv::ids::ManagerId;
use fawn_kv::link::{Control, Party};
use fawn_kv::manager::roster::Roster;
use fawn_kv::wire::version::PROXIES;

/// While no manager that the roster names is connected for so long, those that were named at the start are called, too.
const LOST_MS: u64 = 1000;

/// Between an answer and the next ping.
const PING_MS: u64 = 100;

/// A link whose other end has not answered a ping for so long is broken. With a ping, a heartbeat and a call this is less than the
/// second after which managers count a node as dead.
const BROKEN_MS: u64 = 400;

/// The same, in looks: a process that stood still has yet to read the answer.
const BROKEN_LOOKS: u32 = 4;

/// After each link that was broken the next one has twice the time, up to so many times: where it is the leader that is slow,
/// calling it again and again makes it slower.
const MOST_DOUBLINGS: u32 = 3;

/// After so long without a broken link the first time counts again.
const CALM_MS: u64 = 60_000;

/// A seat without a link to the leader waits for so long before it calls through another manager.
const PATIENCE_MS: u64 = 300;

/// A manager that has not connected it with the leader within this is not waited for.
const PROXY_MS: u64 = 1000;

/// A ping that was not answered yet.
#[derive(Clone, Copy, Debug)]
struct PendingPing {
    sent_ms: u64,
    /// How often somebody has looked for the answer.
    looks: u32,
}

/// Whether the other end of the link to the leader answers.
#[derive(Debug, Default)]
struct LinkProbe {
    /// The link that is pinged.
    link: Option<Token>,
    /// The last ping.
    number: u64,
    pending: Option<PendingPing>,
    /// When the next ping is to be sent.
    next_ms: u64,
    /// Links that were broken lately.
    broken: u32,
    /// When the last one was.
    broken_ms: u64,
}

impl LinkProbe {
    /// This link leads to the leader, if there is one.
    fn follow(&mut self, link: Option<Token>) {
        if self.link != link {
            self.link = link;
            self.pending = None;
        }
    }

    /// Looks whether the leader has left a ping without an answer for too long.
    fn is_late(&mut self, now_ms: u64) -> bool {
        let Some(ping) = &mut self.pending else { return false };
        ping.looks += 1;
        let wait_ms = BROKEN_MS << self.broken.min(MOST_DOUBLINGS);
        now_ms >= ping.sent_ms + wait_ms && ping.looks >= BROKEN_LOOKS
    }

    /// The link counts as broken.
    fn note_broken(&mut self, now_ms: u64) {
        self.broken += 1;
        self.broken_ms = now_ms;
    }

    /// The number of a ping that is to be sent now.
    fn next(&mut self, now_ms: u64) -> Option<u64> {
        if self.pending.is_some() || now_ms < self.next_ms {
            return None;
        }
        self.number += 1;
        self.pending = Some(PendingPing { sent_ms: now_ms, looks: 0 });
        Some(self.number)
    }

    /// The other end of a link has answered a ping.
    fn answered(&mut self, token: Token, number: u64, now_ms: u64) {
        if self.link == Some(token) && self.number == number {
            self.pending = None;
            self.next_ms = now_ms + PING_MS;
            if now_ms >= self.broken_ms + CALM_MS {
                self.broken = 0;
            }
        }
    }
}

/// What a seat knows of the leading manager, and its way there.
#[derive(Debug)]
pub struct LeaderDiscovery {
    /// The newest term that a manager has named.
    term: u64,
    /// Who leads in it.
    leader: Option<ManagerId>,
    /// Where managers are until the roster is known.
    seeds: Vec<String>,
    /// When a manager was last seen to be connected.
    connected_ms: u64,
    probe: LinkProbe,
    /// Since when there has been no link to the leader; 0: the last one is broken.
    none_since_ms: Option<u64>,
    /// Which of the other managers is called: the next one after each that was of no use.
    turn: usize,
    /// The log says that the link is broken.
    is_logged: bool,
}

impl LeaderDiscovery {
    /// Nobody is known to lead; `seeds` say where managers are.
    pub fn new(seeds: Vec<String>) -> Self {
        Self {
            term: 0,
            leader: None,
            seeds,
            connected_ms: 0,
            probe: LinkProbe::default(),
            none_since_ms: None,
            turn: 0,
            is_logged: false,
        }
    }

    /// The link to the leading manager.
    pub fn link(&self, peers: &PeerTable) -> Option<Token> {
        self.leader.and_then(|leader| peers.manager(leader))
    }

    /// A manager has said who leads.
    pub fn heard(&mut self, from: ManagerId, term: u64, leader: Option<ManagerId>) {
        match leader {
            Some(_) if term >= self.term => (self.term, self.leader) = (term, leader),
            // One that is cut off from the others, or was taken out of their group, tries to be elected in ever higher
            // terms: that says nothing of who leads.
            None if self.leader == Some(from) => self.leader = None,
            _ => {}
        }
    }

    /// The other end of a link has answered a ping.
    pub fn note_pong(&mut self, token: Token, number: u64, now_ms: u64) {
        self.probe.answered(token, number, now_ms);
    }

    /// Another manager has connected this seat with the leader.
    pub fn note_detour(&mut self) {
        if !std::mem::replace(&mut self.is_logged, true) {
            tracing::warn!(
                "the link to the leading manager is broken: another manager forwards the messages of this seat"
            );
        }
    }

    /// Where managers are called, while `connected` of them are.
    pub fn addresses(&self, roster: &Roster, connected: usize, now_ms: u64) -> Vec<String> {
        // Where the roster says that managers are, none may be any more.
        let is_lost = connected == 0 && now_ms >= self.connected_ms + LOST_MS;
        let mut addresses: Vec<String> = roster.managers.values().cloned().collect();
        if addresses.is_empty() || is_lost {
            let others = self.seeds.iter().filter(|seed| !roster.managers.values().any(|known| known == *seed));
            addresses.extend(others.cloned());
        }
        addresses
    }

    /// Calls managers that are not connected, pings the leader, and calls it through another manager if need be. To be called now
    /// and then.
    pub fn tick(&mut self, peers: &mut PeerTable, membership: &Membership, now_ms: u64) {
        if peers.managers() > 0 {
            self.connected_ms = now_ms;
        }
        for address in self.addresses(membership.roster(), peers.managers(), now_ms) {
            peers.call_manager(address, membership, now_ms);
        }
        self.watch_link(peers, membership, now_ms);
    }

    fn watch_link(&mut self, peers: &mut PeerTable, membership: &Membership, now_ms: u64) {
        let link = self.link(peers);
        self.probe.follow(link);
        let (Some(token), Some(leader)) = (link, self.leader) else {
            return self.call_through_others(peers, membership, now_ms);
        };
        self.none_since_ms = None;
        // Where there is no way around, a late answer is waited for.
        if self.probe.is_late(now_ms) && !peers.ways_to(leader).is_empty() {
            self.probe.note_broken(now_ms);
            self.none_since_ms = Some(0);
            peers.close(token);
            return self.call_through_others(peers, membership, now_ms);
        }
        let speaks = peers.links().get(token).is_some_and(|link| link.version >= PROXIES);
        if speaks && let Some(number) = self.probe.next(now_ms) {
            peers.links_mut().say(token, &Control::Ping { number });
        }
        if !peers.calls().is_proxied(token) {
            leave_proxies(peers, None);
            if std::mem::take(&mut self.is_logged) {
                tracing::info!("the link to the leading manager works again");
            }
        }
    }

    /// There is no link to the leader: another manager is to connect this seat with it.
    fn call_through_others(&mut self, peers: &mut PeerTable, membership: &Membership, now_ms: u64) {
        let Some(leader) = self.leader else {
            self.none_since_ms = None;
            return leave_proxies(peers, None);
        };
        let since_ms = *self.none_since_ms.get_or_insert(now_ms);
        let party = Some(Party::Manager(leader));
        let mut under_way = None;
        for token in peers.calls().proxied() {
            let is_awaited = |link: &PeerLink| link.party == party && now_ms < link.began_ms + PROXY_MS;
            if peers.links().get(token).is_some_and(is_awaited) {
                under_way = Some(token);
            } else {
                self.turn = self.turn.wrapping_add(1);
            }
        }
        leave_proxies(peers, under_way);
        if under_way.is_some() || now_ms < since_ms + PATIENCE_MS {
            return;
        }
        let ways = peers.ways_to(leader);
        let Some(address) = ways.get(self.turn % ways.len().max(1)) else { return };
        if !peers.call_through(address, leader, membership, now_ms) {
            self.turn = self.turn.wrapping_add(1);
        }
    }
}

/// Closes all links to the leader that go through others, but for one.
fn leave_proxies(peers: &mut PeerTable, kept: Option<Token>) {
    let left: Vec<Token> = peers.calls().proxied().filter(|token| Some(*token) != kept).collect();
    for token in left {
        peers.close(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::manager::roster::Change;

    fn token(slot: u64) -> Token {
        Token::from_u64(1 << 32 | slot)
    }

    /// When a leader that never answers is given up, looked at every 20 ms from `now_ms` on.
    fn given_up_ms(probe: &mut LinkProbe, link: Token, now_ms: u64) -> u64 {
        probe.follow(Some(link));
        assert!(probe.next(now_ms).is_some());
        (0..1000).map(|look| now_ms + 20 * look).find(|now_ms| probe.is_late(*now_ms)).unwrap()
    }

    #[test]
    fn a_leader_has_twice_the_time_after_each_link_that_was_broken() {
        let mut probe = LinkProbe::default();
        for (slot, waited_ms) in [(1, 400), (2, 800), (3, 1600), (4, 3200), (5, 3200)] {
            let now_ms = 10_000 * slot;
            assert_eq!(given_up_ms(&mut probe, token(slot), now_ms), now_ms + waited_ms);
            probe.note_broken(now_ms);
        }
        probe.follow(Some(token(6)));
        let number = probe.next(200_000).unwrap();
        probe.answered(token(6), number, 200_001);
        assert_eq!(given_up_ms(&mut probe, token(7), 200_101), 200_501, "it was calm for a minute");
    }

    #[test]
    fn a_process_that_stood_still_looks_for_the_answer_before_it_gives_up() {
        let mut probe = LinkProbe::default();
        probe.follow(Some(token(1)));
        let number = probe.next(0).unwrap();
        assert_eq!(probe.next(1000), None, "one ping at a time");
        assert!((0..BROKEN_LOOKS - 1).all(|_| !probe.is_late(5000)));
        probe.answered(token(2), number, 5000);
        assert!(probe.is_late(5000), "the answer of another link counts for nothing");
        probe.answered(token(1), number, 5000);
        assert!(!probe.is_late(5000));
        assert_eq!((probe.next(5000 + PING_MS - 1), probe.next(5000 + PING_MS)), (None, Some(number + 1)));
    }

    #[test]
    fn a_manager_that_is_cut_off_does_not_say_who_leads() {
        let (mut discovery, [one, two]) = (LeaderDiscovery::new(Vec::new()), [ManagerId(1), ManagerId(2)]);
        discovery.heard(two, 5, Some(one));
        discovery.heard(two, 9, None);
        discovery.heard(two, 4, Some(two));
        assert_eq!(discovery.leader, Some(one));
        discovery.heard(one, 5, None);
        assert_eq!(discovery.leader, None, "the leader itself knows");
    }

    #[test]
    fn seeds_are_called_while_no_manager_of_the_roster_is_connected() {
        let mut discovery = LeaderDiscovery::new(vec!["seed:1".to_owned(), "known:1".to_owned()]);
        let mut roster = Roster::default();
        assert_eq!(discovery.addresses(&roster, 0, 0), ["seed:1", "known:1"]);
        roster.apply(&Change::Manager { id: ManagerId(1), address: Some("known:1".to_owned()) });
        discovery.connected_ms = 5000;
        assert_eq!(discovery.addresses(&roster, 0, 5000 + LOST_MS - 1), ["known:1"]);
        assert_eq!(discovery.addresses(&roster, 0, 5000 + LOST_MS), ["known:1", "seed:1"]);
        assert_eq!(discovery.addresses(&roster, 1, 5000 + LOST_MS), ["known:1"]);
    }
}
