//! Whom a seat calls, and when again.

use super::Links;
use crate::cluster::dial::dial;
use crate::cluster::link::{Link, State};
use crate::cluster::names::HostAddress;
use crate::net::tls::Secure;
use crate::runtime::slab::Token;
use fawn_kv::ids::SeatId;
use fawn_kv::link::{Control, Greeting, Lane, Party, control};
use fawn_kv::wire::version::Spoken;
use fawn_tls::{Role, server_name_for};
use rustix::event::epoll::EventFlags;

/// Least and most time between two calls.
pub(super) const REDIAL_MS: (u64, u64) = (50, 1000);

/// Whom a seat calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Called {
    Seat(SeatId, Lane),
    /// By its address.
    Manager(String),
    /// The leading manager, by way of the one at this address.
    Proxied(String),
}

/// One whom a seat calls, and how it went.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) link: Option<Token>,
    /// Not before this millisecond again.
    pub(super) again_ms: u64,
    /// Calls in a row that came to nothing.
    pub(super) failures: u32,
    /// Which of its addresses is called: the next one after each of those.
    turn: usize,
}

impl Links {
    /// The connection to a seat, which is called if there is none.
    pub(super) fn link_to(&mut self, seat: SeatId, lane: Lane) -> Option<Token> {
        if let Some(token) = self.by_caller.get(&(Party::Seat(seat), lane)) {
            return Some(*token);
        }
        let called = Called::Seat(seat, lane);
        if let Some(token) = self.targets.get(&called).and_then(|target| target.link) {
            return Some(token);
        }
        let address = self.roster.address_of(seat)?.to_owned();
        self.call(&called, &address, Some(Party::Seat(seat)), lane)
    }

    /// Calls somebody, unless that was tried a moment ago.
    pub(super) fn call(&mut self, called: &Called, address: &str, party: Option<Party>, lane: Lane) -> Option<Token> {
        let now_ms = self.now_ms;
        let target = self.targets.entry(called.clone()).or_default();
        if now_ms < target.again_ms {
            return None;
        }
        if target.failures > 0 {
            target.turn = target.turn.wrapping_add(1);
        }
        let place = self.names.find(address, target.turn, target.failures > 0);
        if place == HostAddress::Unknown {
            target.again_ms = now_ms + REDIAL_MS.0;
            return None;
        }
        let longest = REDIAL_MS.1.min(REDIAL_MS.0 << target.failures.min(8));
        target.again_ms = now_ms + longest;
        target.failures += 1;
        let HostAddress::At(address) = place else { return None };
        let socket = dial(address)?;
        let mut link = self.protect(Link::new(socket, State::Connecting, party, lane, now_ms))?;
        link.interest = EventFlags::IN | EventFlags::OUT;
        self.greet(&mut link);
        let token = self.all.insert(link);
        self.watch(token);
        self.targets.get_mut(called).expect("it was just made").link = Some(token);
        Some(token)
    }

    /// A connection that this side makes, with TLS if that is on.
    fn protect(&self, link: Link) -> Option<Link> {
        let Some(secure) = &self.secure else { return Some(link) };
        let role = match link.party {
            Some(Party::Seat(seat)) => Role::Member(self.roster.member_of(seat)?.0.to_owned()),
            _ => Role::Manager,
        };
        let name = server_name_for(&role).ok()?;
        Some(link.secured(Secure::calling(&secure.current().client, name).ok()?))
    }

    fn greet(&self, link: &mut Link) {
        link.say(&Control::Greeting(Greeting {
            magic: control::MAGIC,
            lowest: Spoken::OWN.oldest,
            highest: Spoken::OWN.newest,
            cluster: Some(self.cluster),
            from: Party::Seat(self.me),
            to: link.party,
            lane: link.lane,
        }));
    }
}
