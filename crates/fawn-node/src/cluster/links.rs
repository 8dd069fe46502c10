//! All links of a seat to other parties: who is called, who calls, and what is sent to whom.
//!
//! Whoever has something to say calls. What cannot be sent is dropped: everything that is said in a cluster is said again.
//!
//! # Layout
//!
//! * This file: what is sent and what has come.
//! * `table`: links by token, watched by epoll. `calls`: whom a seat calls, and when again. `peers`: which link leads to whom.
//! * `membership`: who a seat is, what it knows of the cluster, and who may call. `unauthenticated_links`: callers that have not
//!   said who they are. `leader`: finding the leading manager, and the way around a broken link to it.

mod calls;
mod leader;
pub mod membership;
mod peers;
mod table;
#[cfg(test)]
mod tests;
mod unauthenticated_links;

use super::clients::{self, MOST_CLIENTS};
use super::link::{LinkState, PeerLink, ReceiveProgress};
use super::local_peers::{HandedLink, LocalPeers, Mail};
use super::names::Names;
use crate::runtime::slab::Token;
use calls::{CallTarget, OutgoingCalls, REDIAL_MS};
use fawn_kv::ids::{Address, SeatId};
use fawn_kv::link::unauthenticated_limit::STRANGERS;
use fawn_kv::link::{Control, Frame, FrameError, Greeted, Greeting, Lane, NO_MEMBER, OversizeRequest, Party, frame};
use fawn_kv::status::LinkFigures;
use fawn_kv::wire::{Answer, Message};
use leader::LeaderDiscovery;
use membership::Membership;
use peers::PeerTable;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::net::sockopt;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use table::LinkTable;

/// Bytes received at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Receives of one link in one turn.
const RECEIVES: usize = 4;

/// A link with more bytes than this to send takes no more.
const MOST_WAITING_BYTES: usize = 64 << 20;

/// Links to other seats, about.
const SEATS: usize = 1024;

/// Descriptors that the links of a seat take, at most.
pub const DESCRIPTORS: usize = MOST_CLIENTS + STRANGERS + SEATS;

/// Why the second link between two is refused.
const ALREADY: &str = "there is already a connection";

/// Something that has come over a link.
#[derive(Debug)]
pub enum LinkInput {
    /// A message, and how many bytes its frame had.
    Message(Address, Address, Message, usize),
    /// Something else, from whom.
    Control(Party, Control),
}

/// What the links of a seat are made of.
pub struct ClusterLinksParts {
    /// Who the seat is.
    pub membership: Membership,
    /// Where managers are until the roster is known.
    pub seeds: Vec<String>,
    /// Where those are whose addresses are names.
    pub names: Arc<Names>,
    /// The other seats of this process.
    pub local_peers: LocalPeers,
    /// The loop's epoll set.
    pub epoll: Arc<OwnedFd>,
    /// The largest value of a client, in bytes.
    pub most_value_bytes: usize,
}

/// The links of a seat.
#[derive(Debug)]
pub struct ClusterLinks {
    membership: Membership,
    peers: PeerTable,
    leader: LeaderDiscovery,
    /// The other seats of this process.
    local_peers: LocalPeers,
    /// A link for another seat of this process, for which there may be more in the buffer.
    handed: Option<(SeatId, Box<HandedLink>)>,
    /// What every link receives into.
    buffer: Vec<u8>,
    input: VecDeque<LinkInput>,
    /// The number of the last client.
    last_client: u32,
    /// The longest frame of a client.
    longest_frame: usize,
    /// Messages that could not be sent to a seat.
    dropped: HashMap<SeatId, u64>,
    now_ms: u64,
    ticked_ms: u64,
}

impl ClusterLinks {
    /// No links yet.
    pub fn new(parts: ClusterLinksParts) -> Self {
        let ClusterLinksParts { membership, seeds, names, local_peers, epoll, most_value_bytes } = parts;
        Self {
            membership,
            peers: PeerTable::new(LinkTable::new(epoll), OutgoingCalls::new(names)),
            leader: LeaderDiscovery::new(seeds),
            local_peers,
            handed: None,
            buffer: vec![0; BUFFER_BYTES],
            input: VecDeque::new(),
            last_client: 0,
            longest_frame: clients::longest_frame(most_value_bytes),
            dropped: HashMap::new(),
            now_ms: 0,
            ticked_ms: 0,
        }
    }

    /// Who the seat is, and what it knows of the cluster.
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// Whether members or the cluster's version have changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        self.membership.take_changed()
    }

    /// Takes the reason why the seat's process has to end, if it has.
    pub fn take_ousted(&mut self) -> Option<String> {
        self.membership.take_ousted()
    }

    /// Whether a seat is another one of this process.
    pub fn is_local(&self, seat: SeatId) -> bool {
        self.local_peers.has(seat)
    }

    /// The next that has come.
    pub fn next_input(&mut self) -> Option<LinkInput> {
        self.input.pop_front()
    }

    /// Whether something has come that was not taken, or is to be sent.
    pub fn has_work(&self) -> bool {
        !self.input.is_empty() || self.peers.links().is_dirty()
    }

    /// Whether a manager that leads is connected.
    pub fn has_leader(&self) -> bool {
        self.leader_link().is_some()
    }

    /// Managers that are connected.
    pub fn managers(&self) -> usize {
        self.peers.managers()
    }

    /// Where managers are called.
    pub fn manager_addresses(&self) -> Vec<String> {
        self.leader.addresses(self.membership.roster(), self.peers.managers(), self.now_ms)
    }

    fn leader_link(&self) -> Option<Token> {
        self.leader.link(&self.peers)
    }

    /// Sends a message, or drops it.
    pub fn send(&mut self, to: Address, from: Address, message: Message, now_ms: u64) {
        self.now_ms = now_ms;
        if let Some(seat) = SeatId::of(to).filter(|seat| self.local_peers.has(*seat)) {
            return self.local_peers.put(seat, Mail::Message(Box::new((to, from, message))));
        }
        let token = match to {
            Address::Manager => self.leader_link(),
            Address::Client(client) => self.peers.client(client),
            Address::Node(_) | Address::Front(_) => {
                let Some(seat) = SeatId::of(to) else { return };
                let token = self.peers.link_to(seat, Lane::between(to, from), &self.membership, now_ms);
                if token.is_none() {
                    self.note_dropped(to);
                }
                token
            }
        };
        let Some(token) = token else { return };
        let Some(link) = self.peers.links_mut().get_mut(token) else { return };
        let most = if matches!(to, Address::Client(_)) { clients::MOST_WAITING_BYTES } else { MOST_WAITING_BYTES };
        match message.spoken_in(link.version) {
            Some(message) if link.waiting_bytes() < most => {
                frame::put_message(link.output(), to, from, &message);
                self.peers.links_mut().mark(token);
            }
            _ => self.note_dropped(to),
        }
    }

    fn note_dropped(&mut self, to: Address) {
        if let Some(seat) = SeatId::of(to) {
            *self.dropped.entry(seat).or_default() += 1;
        }
    }

    /// Sends a control message to the manager that leads, if it is connected.
    pub fn send_to_leader(&mut self, control: &Control) {
        if let Some(token) = self.leader_link() {
            self.peers.links_mut().say(token, control);
        }
    }

    /// Sends a control message to the manager that leads, if it is connected and speaks this version.
    pub fn send_to_leader_since(&mut self, version: u8, control: &Control) {
        if let Some(token) = self.leader_link()
            && self.peers.links().get(token).is_some_and(|link| link.version >= version)
        {
            self.peers.links_mut().say(token, control);
        }
    }

    /// Reads from clients and front-ends, or does not for a while.
    pub fn pause(&mut self, is_paused: bool) {
        self.peers.links_mut().pause(is_paused);
    }

    /// Takes a connection that somebody has made.
    pub fn accept(&mut self, link: PeerLink) {
        self.peers.accept(link, &self.membership);
    }

    /// A link is ready.
    pub fn on_event(&mut self, token: Token, flags: EventFlags, now_ms: u64) {
        self.now_ms = now_ms;
        let Some(link) = self.peers.links_mut().get_mut(token) else { return };
        let is_made = flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP);
        if link.state == LinkState::Connecting && is_made {
            if !matches!(sockopt::socket_error(link.socket()), Ok(Ok(()))) {
                return self.peers.close(token);
            }
            link.state = LinkState::Calling;
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) && !self.receive(token) {
            return self.peers.close(token);
        }
        if flags.contains(EventFlags::OUT) {
            self.peers.links_mut().mark(token);
        }
    }

    /// Receives what there is; whether the link goes on.
    fn receive(&mut self, token: Token) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut goes_on = true;
        for _ in 0..RECEIVES {
            match self.receive_once(token, &mut buffer) {
                Some(ReceiveProgress::More) => {}
                Some(ReceiveProgress::Drained) => break,
                Some(ReceiveProgress::Over) | None => {
                    goes_on = false;
                    break;
                }
            }
        }
        self.buffer = buffer;
        if self.peers.links().get(token).is_some_and(|link| link.waiting_bytes() > 0) {
            self.peers.links_mut().mark(token);
        }
        goes_on
    }

    /// Receives once; `None`: the link does not go on.
    fn receive_once(&mut self, token: Token, buffer: &mut [u8]) -> Option<ReceiveProgress> {
        let (me, input) = (self.membership.me(), &mut self.input);
        let link = self.peers.links_mut().get_mut(token)?;
        let known = link.party.filter(|_| link.state == LinkState::Up);
        let mut frames = Vec::new();
        let received = link.receive(buffer, self.now_ms, |frame, bytes| match (known, frame) {
            (Some(party), Frame::Message { to, from, message }) => {
                if may_say((me, party), (to, from), &message) {
                    input.push_back(LinkInput::Message(to, from, message, bytes));
                }
            }
            (_, frame) => frames.push((frame, bytes)),
        });
        for request in link.take_refused() {
            if known.is_some_and(|party| clients::may_ask(me, party, &request)) {
                let OversizeRequest { to, from, id, asker, .. } = request;
                let (continuation, answer) = (None, Answer::TooLarge);
                let reply = Message::Reply { id, tag: asker.tag, continuation, until: 0, answer };
                frame::put_message(link.output(), from, to, &reply);
            }
        }
        let mut frames = frames.into_iter();
        let goes_on = frames.by_ref().all(|(frame, bytes)| self.take(token, frame, bytes));
        if let Some((seat, mut handed)) = self.handed.take() {
            handed.frames.extend(frames);
            self.local_peers.put(seat, Mail::Link(handed));
            return None;
        }
        match received {
            Ok(progress) if goes_on => Some(progress),
            Ok(_) => None,
            Err(error) => {
                self.log_error(token, &error);
                None
            }
        }
    }

    /// Logs that a link is closed whose other end does not speak as it should.
    fn log_error(&self, token: Token, error: &FrameError) {
        match self.peers.links().get(token) {
            Some(link) if link.state == LinkState::Called => unauthenticated_links::log_error(error, link.host),
            link => {
                let party = link.and_then(|link| link.party);
                tracing::warn!("a connection was closed: {error} ({})", name_of(party));
            }
        }
    }

    /// A frame has come; whether the link goes on.
    fn take(&mut self, token: Token, frame: Frame, bytes: usize) -> bool {
        let Some(link) = self.peers.links().get(token) else { return false };
        match (link.state, frame) {
            (LinkState::Called, Frame::Control(Control::Greeting(greeting))) => match greeting.to {
                Some(Party::Seat(seat)) if self.local_peers.has(seat) => self.hand_over(token, seat, greeting),
                _ => self.greeted(token, &greeting),
            },
            (LinkState::Calling, Frame::Control(Control::Greeted(greeted))) => self.answered(token, &greeted),
            (LinkState::Calling, Frame::Control(Control::Refused { why })) => {
                let party = link.party;
                self.refused(token, party, &why);
                false
            }
            (LinkState::Up, Frame::Message { to, from, message }) => {
                let Some(party) = link.party else { return false };
                if may_say((self.membership.me(), party), (to, from), &message) {
                    self.input.push_back(LinkInput::Message(to, from, message, bytes));
                }
                true
            }
            (LinkState::Up, Frame::Control(Control::Refused { why })) => {
                tracing::warn!("{} closes the connection: {why}", name_of(link.party));
                false
            }
            (LinkState::Up, Frame::Control(control)) => {
                let Some(party) = link.party else { return false };
                self.control(party, token, control);
                true
            }
            _ => false,
        }
    }

    /// Whoever was called refuses this seat.
    fn refused(&mut self, token: Token, party: Option<Party>, why: &str) {
        if why == ALREADY {
            // Both have called: the other's call stands.
            tracing::debug!("{} rejects this seat: {why}", name_of(party));
        } else if why == NO_MEMBER && !matches!(party, Some(Party::Seat(_))) {
            // Which manager was called is known only once it has answered.
            self.membership.note_removed();
        } else if self.peers.calls().is_proxied(token) {
            tracing::debug!("no detour around the broken link to {}: {why}", name_of(party));
        } else {
            tracing::warn!("{} rejects this seat: {why}", name_of(party));
        }
    }

    fn control(&mut self, party: Party, token: Token, control: Control) {
        let known = self.membership.roster().number;
        match (party, control) {
            (Party::Manager(from), Control::Leads { term, leader }) => self.leader.heard(from, term, leader),
            (Party::Manager(_), Control::Roster(roster)) if roster.number >= known => {
                // Whoever has moved is called where it is now.
                self.peers.calls_mut().retry_now();
                self.membership.set_roster(roster);
                let membership = &self.membership;
                self.peers.close_where(|_, link| membership.is_expelled(link));
            }
            (Party::Manager(_), Control::Pong { number }) => self.leader.note_pong(token, number, self.now_ms),
            (Party::Manager(_), Control::Speaks { version }) => self.membership.set_version(version),
            (Party::Manager(_), Control::Roster(_)) | (_, Control::Alive) => {}
            (party, Control::AskRoster { known: theirs }) => {
                if known > theirs && matches!(party, Party::Client(_) | Party::Seat(_)) {
                    let roster = Control::Roster(self.membership.roster().clone());
                    self.peers.links_mut().say(token, &roster);
                }
            }
            (party, control) => self.input.push_back(LinkInput::Control(party, control)),
        }
    }

    /// Somebody wants another seat of this process.
    fn hand_over(&mut self, token: Token, seat: SeatId, greeting: Greeting) -> bool {
        if let Some(link) = self.peers.hand_over(token) {
            self.handed = Some((seat, Box::new(HandedLink { link, greeting, frames: Vec::new() })));
        }
        false
    }

    /// Takes a link that came to another seat of this process.
    pub fn take_handed(&mut self, handed: HandedLink, now_ms: u64) {
        self.now_ms = now_ms;
        let HandedLink { link, greeting, frames } = handed;
        let Some(token) = self.peers.links_mut().insert(link) else { return };
        let goes_on = self.greeted(token, &greeting);
        if !goes_on || !frames.into_iter().all(|(frame, bytes)| self.take(token, frame, bytes)) {
            self.peers.close(token);
        }
    }

    /// Somebody has said who it is; whether the link goes on.
    fn greeted(&mut self, token: Token, greeting: &Greeting) -> bool {
        match self.establish(token, greeting) {
            Ok(goes_on) => goes_on,
            Err(why) => {
                self.peers.refuse(token, why);
                false
            }
        }
    }

    /// Takes a caller in; whether the link is still there. `Err`: why the caller is refused.
    fn establish(&mut self, token: Token, greeting: &Greeting) -> Result<bool, String> {
        let version = self.membership.check(greeting)?;
        let is_client = matches!(greeting.from, Party::Client(_));
        if is_client && self.peers.callers() >= MOST_CLIENTS {
            return Err(format!("{MOST_CLIENTS} clients are connected: use fewer, or call another node"));
        }
        let link = self.peers.links().get(token);
        if !link.is_some_and(|link| self.membership.is_shown(link, greeting.from)) {
            return Err(format!("the certificate is not for {}, as far as this process knows", greeting.from));
        }
        if let Party::Seat(seat) = greeting.from
            && let Some(own) = self.peers.calls().link_to(&CallTarget::Seat(seat, greeting.lane))
        {
            if self.membership.me() < seat {
                // If it is dead, this finds out.
                self.peers.links_mut().say(own, &Control::Alive);
                return Err(ALREADY.to_owned());
            }
            self.peers.close(own);
        }
        let caller = if is_client {
            self.last_client = self.last_client.wrapping_add(1).max(1);
            (Party::Client(self.last_client), Lane::Client)
        } else {
            (greeting.from, greeting.lane)
        };
        self.peers.add_caller(caller, token);
        if !self.peers.links_mut().establish(token, caller, version, self.longest_frame) {
            return Ok(false);
        }
        let greeted = self.membership.greeted(version, caller.0);
        self.peers.links_mut().say(token, &greeted);
        Ok(true)
    }

    /// Whoever was called has answered; whether the link goes on.
    fn answered(&mut self, token: Token, greeted: &Greeted) -> bool {
        let Some(link) = self.peers.links_mut().get_mut(token) else { return false };
        if !self.membership.accepts(greeted) {
            tracing::warn!("{} belongs to another cluster or version", greeted.from);
            return false;
        }
        if link.party.is_some_and(|party| party != greeted.from) {
            return false;
        }
        link.stands(greeted.from, greeted.version, self.longest_frame);
        self.peers.calls_mut().note_answered(token);
        if let Party::Manager(manager) = greeted.from {
            let is_proxied = self.peers.calls().is_proxied(token);
            if is_proxied && self.peers.manager(manager).is_some() {
                return false;
            }
            self.peers.add_manager(manager, token);
            if is_proxied {
                self.leader.note_detour();
            }
            let known = self.membership.roster().number;
            self.peers.links_mut().say(token, &Control::AskRoster { known });
        }
        true
    }

    /// Sends what there is to send.
    pub fn flush(&mut self) {
        self.local_peers.post();
        self.peers.flush();
    }

    /// Calls managers that are not connected, and hangs up on who says nothing. To be called now and then.
    pub fn tick(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        if now_ms < self.ticked_ms + REDIAL_MS {
            return;
        }
        self.ticked_ms = now_ms;
        self.peers.close_idle(now_ms);
        self.leader.tick(&mut self.peers, &self.membership, now_ms);
    }

    /// Figures of every seat that there is, or was, a link to.
    pub fn figures(&self) -> Vec<LinkFigures> {
        let mut seats: BTreeMap<SeatId, (bool, usize)> = self.peers.seats();
        for seat in self.dropped.keys() {
            seats.entry(*seat).or_default();
        }
        let figures = seats.into_iter().map(|(to, (is_up, waiting_bytes))| LinkFigures {
            to,
            is_up,
            waiting_bytes: waiting_bytes as u64,
            dropped: self.dropped.get(&to).copied().unwrap_or_default(),
        });
        figures.collect()
    }
}

/// Whether a party may say this to seat `me`, in somebody's name.
fn may_say((me, party): (SeatId, Party), (to, from): (Address, Address), message: &Message) -> bool {
    let is_meant = !matches!(party, Party::Client(_)) || clients::may_say(me, to, message);
    is_meant && party.may_speak_as(from) && message.may_come_from(from)
}

/// The other end of a link, for the log. Which manager answers is known only once it has.
fn name_of(party: Option<Party>) -> String {
    party.map_or_else(|| "a manager".to_owned(), |party| party.to_string())
}
