//! All connections of a seat to other parties: who is called, who calls, and what is sent to whom.
//!
//! Whoever has something to say calls. Of two connections between a pair of seats, in one lane, the one stays that the
//! lower number called. What cannot be sent is dropped: everything that is said in a cluster is said again.
//!
//! # Layout
//!
//! * This file: what is sent and what has come. `calls`: whom a seat calls, and when again. `unauthenticated`: who calls a seat, before it
//!   has said who it is. `checks`: who may call, and who has to go. `leader`: whether the leading manager answers, and the way around
//!   a broken link to it.

mod calls;
mod checks;
mod leader;
#[cfg(test)]
mod tests;
mod unauthenticated;

use super::clients::{self, MOST_UNTAKEN_BYTES};
use super::link::{Link, Received, State};
use super::local_peers::{HandedLink, LocalPeers, Mail};
use super::names::Names;
use crate::runtime::slab::{Slab, Token};
use crate::shard::backend::WATCHED;
use calls::{Called, REDIAL_MS, Target};
use fawn_kv::ids::{Address, ClusterId, ManagerId, SeatId};
use fawn_kv::link::unauthenticated::STRANGERS;
use fawn_kv::link::{Control, Frame, Greeted, Greeting, Lane, NO_MEMBER, Party, frame};
use fawn_kv::manager::roster::{Member, Roster};
use fawn_kv::wire::Message;
use fawn_kv::wire::version::{OLDEST, Spoken};
use fawn_tls::Reloading;
use fawn_tls::certificate::Expiry;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::net::sockopt;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Bytes received at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Receives of one connection in one turn.
const RECEIVES: usize = 4;

/// A connection with more bytes than this to send takes no more.
const MOST_WAITING_BYTES: usize = 64 << 20;

/// Whoever was called and has not answered, or has called and not said who it is, is hung up on after this.
const GREETING_MS: u64 = 3000;

/// Connections to other seats, about.
const SEATS: usize = 1024;

/// Descriptors that the connections of a seat take, at most.
pub const DESCRIPTORS: usize = clients::MOST_CLIENTS + STRANGERS + SEATS;

/// While no manager that the roster names is connected for so long, those that were named at the start are called, too.
const LOST_MS: u64 = 1000;

/// Why the second connection between two is refused.
const ALREADY: &str = "there is already a connection";

/// Something that has come.
#[derive(Debug)]
pub enum LinkInput {
    /// A message, and how many bytes its frame had.
    Message(Address, Address, Message, usize),
    /// Something else, from whom.
    Control(Party, Control),
}

/// What a seat counts of its connections to another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Messages that were dropped.
    pub dropped: u64,
}

/// The connections of a seat.
#[derive(Debug)]
pub struct Links {
    me: SeatId,
    /// The name of the member that the seat is of, and its directory.
    member: Option<(String, [u8; 16])>,
    /// Why it is that no longer.
    ousted: Option<String>,
    cluster: ClusterId,
    epoll: Arc<OwnedFd>,
    /// The other seats of this process.
    pub local_peers: LocalPeers,
    all: Slab<Link>,
    /// A connection for another seat, of which more may be in the buffer.
    handed: Option<(SeatId, Box<HandedLink>)>,
    targets: HashMap<Called, Target>,
    /// Connections that others have made, by who they are.
    by_caller: HashMap<(Party, Lane), Token>,
    /// Who leads the managers, and in which term.
    leads: (u64, Option<ManagerId>),
    managers: BTreeMap<ManagerId, Token>,
    leader_watch: leader::LeaderWatch,
    roster: Roster,
    /// The cluster's version, as far as managers have said.
    version: u8,
    /// The roster or the version is another than when that was looked at last.
    changed: bool,
    /// Where managers are until the roster is known.
    seeds: Vec<String>,
    /// Where those are whose addresses are names.
    names: Arc<Names>,
    /// How connections are protected; `None`: not at all.
    secure: Option<Arc<Reloading<fawn_tls::Links>>>,
    next_client: u32,
    strangers: usize,
    buffer: Vec<u8>,
    dirty: Vec<Token>,
    came: VecDeque<LinkInput>,
    /// The longest frame of a client.
    longest_frame: usize,
    /// Clients and front-ends are not read from.
    paused: bool,
    traffic: HashMap<SeatId, Traffic>,
    now_ms: u64,
    swept_ms: u64,
    /// When a manager was last seen to be connected.
    managed_ms: u64,
}

impl Links {
    /// The connections of seat `me` of a cluster, none yet, watched in `epoll`. `seeds` say where managers are,
    /// and `names` where hosts are.
    pub fn new(
        (me, cluster, most_value_bytes): (SeatId, ClusterId, usize),
        roster: Roster,
        (seeds, names): (Vec<String>, Arc<Names>),
        local_peers: LocalPeers,
        secure: Option<Arc<Reloading<fawn_tls::Links>>>,
        epoll: Arc<OwnedFd>,
    ) -> Self {
        let member = roster.member_of(me).map(|(name, member)| (name.to_owned(), member.said.directory));
        Self {
            me,
            member,
            ousted: None,
            cluster,
            epoll,
            local_peers,
            all: Slab::default(),
            handed: None,
            targets: HashMap::new(),
            by_caller: HashMap::new(),
            leads: (0, None),
            managers: BTreeMap::new(),
            leader_watch: leader::LeaderWatch::default(),
            roster,
            version: OLDEST,
            changed: true,
            seeds,
            names,
            secure,
            next_client: 0,
            strangers: 0,
            buffer: vec![0; BUFFER_BYTES],
            dirty: Vec::new(),
            came: VecDeque::new(),
            longest_frame: clients::longest_frame(most_value_bytes),
            paused: false,
            traffic: HashMap::new(),
            now_ms: 0,
            swept_ms: 0,
            managed_ms: 0,
        }
    }

    /// The next that has come.
    pub fn take_came(&mut self) -> Option<LinkInput> {
        self.came.pop_front()
    }

    /// Whether something has come that was not taken, or is to be sent.
    pub fn has_work(&self) -> bool {
        !self.came.is_empty() || !self.dirty.is_empty()
    }

    /// Whether a manager that leads is connected.
    pub fn has_leader(&self) -> bool {
        self.leader().is_some()
    }

    /// Managers that are connected.
    pub fn managers(&self) -> usize {
        self.managers.len()
    }

    /// Where managers are called.
    pub fn managers_called(&self) -> Vec<String> {
        // Where the roster says that managers are, none may be any more.
        let is_lost = self.managers.is_empty() && self.now_ms >= self.managed_ms + LOST_MS;
        let mut addresses: Vec<String> = self.roster.managers.values().cloned().collect();
        if addresses.is_empty() || is_lost {
            let others = self.seeds.iter().filter(|seed| !self.roster.managers.values().any(|known| known == *seed));
            addresses.extend(others.cloned());
        }
        addresses
    }

    /// The member that this seat is of.
    pub fn member(&self) -> &str {
        self.roster.member_of(self.me).map_or("", |(name, _)| name)
    }

    /// The name of the member that a seat is of.
    pub fn name_of(&self, seat: SeatId) -> &str {
        self.roster.member_of(seat).map_or("a seat of no member", |(name, _)| name)
    }

    /// The cluster's version, as far as is known.
    pub fn cluster_version(&self) -> u8 {
        self.version
    }

    /// Whether members or the cluster's version have changed since this was asked last.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// One seat of each other member.
    pub fn helpers(&self) -> Vec<Address> {
        let others = self.roster.members.iter().filter(|(name, _)| *name != self.member());
        let helper = |member: &Member| if member.said.is_front { member.first.front() } else { member.first.node() };
        others.map(|(_, member)| helper(member)).collect()
    }

    fn leader(&self) -> Option<Token> {
        self.leads.1.and_then(|leader| self.managers.get(&leader).copied())
    }

    /// Sends a message, or drops it.
    pub fn send(&mut self, to: Address, from: Address, message: Message, now_ms: u64) {
        self.now_ms = now_ms;
        if let Some(seat) = SeatId::of(to).filter(|seat| self.local_peers.has(*seat)) {
            return self.local_peers.put(seat, Mail::Message(Box::new((to, from, message))));
        }
        let message = &message;
        let token = match to {
            Address::Manager => self.leader(),
            Address::Client(client) => self.by_caller.get(&(Party::Client(client), Lane::Client)).copied(),
            Address::Node(_) | Address::Front(_) => {
                let Some(seat) = SeatId::of(to) else { return };
                let token = self.link_to(seat, Lane::between(to, from));
                if token.is_none() {
                    self.traffic.entry(seat).or_default().dropped += 1;
                }
                token
            }
        };
        let Some(token) = token else { return };
        let Some(link) = self.all.get_mut(token) else { return };
        let Some(message) = message.spoken_in(link.version) else {
            if let Some(seat) = SeatId::of(to) {
                self.traffic.entry(seat).or_default().dropped += 1;
            }
            return;
        };
        let most = if matches!(to, Address::Client(_)) { clients::MOST_WAITING_BYTES } else { MOST_WAITING_BYTES };
        if link.waiting_bytes() >= most {
            if let Some(seat) = SeatId::of(to) {
                self.traffic.entry(seat).or_default().dropped += 1;
            }
            return;
        }
        frame::put_message(link.output(), to, from, &message);
        self.mark(token);
    }

    /// When the certificate ends that is shown on links.
    pub fn certificate_expiry(&self) -> Option<Expiry> {
        self.secure.as_ref().and_then(|secure| secure.expiry())
    }

    /// Says something to the manager that leads, if it is connected.
    pub fn tell_leader(&mut self, control: &Control) {
        if let Some(token) = self.leader() {
            self.say(token, control);
        }
    }

    /// Says something to the manager that leads, if it is connected and speaks this version.
    pub fn tell_leader_since(&mut self, version: u8, control: &Control) {
        if let Some(token) = self.leader()
            && self.all.get_mut(token).is_some_and(|link| link.version >= version)
        {
            self.say(token, control);
        }
    }

    /// Says something over a connection that stands.
    pub fn say(&mut self, token: Token, control: &Control) {
        if let Some(link) = self.all.get_mut(token) {
            link.say(control);
            self.mark(token);
        }
    }

    fn mark(&mut self, token: Token) {
        if let Some(link) = self.all.get_mut(token).filter(|link| !link.dirty) {
            link.dirty = true;
            self.dirty.push(token);
        }
    }

    fn watch(&mut self, token: Token) {
        let Some(link) = self.all.get_mut(token) else { return };
        let (data, interest) = (EventData::new_u64(WATCHED | token.to_u64()), link.interest | EventFlags::IN);
        link.interest = interest;
        if epoll::add(&*self.epoll, link.socket(), data, interest).is_err() {
            self.close(token);
        }
    }

    fn set_interest(&mut self, token: Token) {
        let paused = self.paused;
        let Some(link) = self.all.get_mut(token) else { return };
        let mut wanted = EventFlags::empty();
        let asks = link.lane == Lane::Client && matches!(link.party, Some(Party::Seat(_) | Party::Client(_)));
        let is_client = matches!(link.party, Some(Party::Client(_)));
        // A client that does not take its answers asks no more.
        let paused = paused || (is_client && link.waiting_bytes() > MOST_UNTAKEN_BYTES);
        if !(paused && asks && link.state == State::Up) {
            wanted |= EventFlags::IN;
        }
        if link.waiting_bytes() > 0 || link.state == State::Connecting {
            wanted |= EventFlags::OUT;
        }
        if wanted != link.interest {
            link.interest = wanted;
            let data = EventData::new_u64(WATCHED | token.to_u64());
            let _ = epoll::modify(&*self.epoll, link.socket(), data, wanted);
        }
    }

    /// Reads from clients and front-ends, or does not for a while.
    pub fn pause(&mut self, paused: bool) {
        if self.paused != paused {
            self.paused = paused;
            for at in 0..self.all.slots() {
                if let Some(token) = self.all.at(at) {
                    self.set_interest(token);
                }
            }
        }
    }

    /// A connection is ready.
    pub fn on_event(&mut self, token: Token, flags: EventFlags, now_ms: u64) {
        self.now_ms = now_ms;
        let Some(link) = self.all.get_mut(token) else { return };
        if link.state == State::Connecting && flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP) {
            if !matches!(sockopt::socket_error(link.socket()), Ok(Ok(()))) {
                return self.close(token);
            }
            link.state = State::Calling;
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) && !self.receive(token) {
            return self.close(token);
        }
        if flags.contains(EventFlags::OUT) {
            self.mark(token);
        }
    }

    /// Receives what there is; whether the connection goes on.
    fn receive(&mut self, token: Token) -> bool {
        let (mut buffer, now_ms) = (std::mem::take(&mut self.buffer), self.now_ms);
        let mut goes_on = true;
        for _ in 0..RECEIVES {
            let (me, came, Some(link)) = (self.me, &mut self.came, self.all.get_mut(token)) else { break };
            let known = link.party.filter(|_| link.state == State::Up);
            let mut frames = Vec::new();
            let received = link.receive(&mut buffer, now_ms, |frame, bytes| match (known, frame) {
                (Some(party), Frame::Message { to, from, message }) => {
                    if may_say((me, party), (to, from), &message) {
                        came.push_back(LinkInput::Message(to, from, message, bytes));
                    }
                }
                (_, frame) => frames.push((frame, bytes)),
            });
            let mut frames = frames.into_iter();
            goes_on = frames.by_ref().all(|(frame, bytes)| self.take(token, frame, bytes));
            if let Some((seat, mut handed)) = self.handed.take() {
                handed.frames.extend(frames);
                self.local_peers.put(seat, Mail::Link(handed));
                break;
            }
            match received {
                Ok(Received::More) if goes_on => {}
                Ok(Received::Drained | Received::More) => break,
                Ok(Received::Over) => {
                    goes_on = false;
                    break;
                }
                Err(error) => {
                    let link = self.all.get_mut(token);
                    match link.map(|link| (link.state, link.party, link.host)) {
                        Some((State::Called, _, host)) => unauthenticated::tell(&error, host),
                        other => {
                            let party = other.and_then(|(_, party, _)| party);
                            tracing::warn!("a connection was closed: {error} ({})", called(party));
                        }
                    }
                    goes_on = false;
                    break;
                }
            }
        }
        self.buffer = buffer;
        if self.all.get_mut(token).is_some_and(|link| link.waiting_bytes() > 0) {
            self.mark(token);
        }
        goes_on
    }

    /// A frame has come; whether the connection goes on.
    fn take(&mut self, token: Token, frame: Frame, bytes: usize) -> bool {
        let Some(link) = self.all.get_mut(token) else { return false };
        match (link.state, frame) {
            (State::Called, Frame::Control(Control::Greeting(greeting))) => match greeting.to {
                Some(Party::Seat(seat)) if self.local_peers.has(seat) => self.hand_over(token, seat, greeting),
                _ => self.greeted(token, &greeting),
            },
            (State::Calling, Frame::Control(Control::Greeted(greeted))) => self.answered(token, &greeted),
            (State::Calling, Frame::Control(Control::Refused { why })) if why == ALREADY => {
                // Both have called: the other's call stands.
                tracing::debug!("{} rejects this seat: {why}", called(link.party));
                false
            }
            (State::Calling, Frame::Control(Control::Refused { why }))
                // Who a manager is, is known only once it has answered.
                if why == NO_MEMBER && !matches!(link.party, Some(Party::Seat(_))) =>
            {
                self.ousted = self.removed();
                false
            }
            (State::Calling, Frame::Control(Control::Refused { why })) => {
                let party = called(link.party);
                if self.is_proxied(token) {
                    tracing::debug!("no detour around the broken link to {party}: {why}");
                } else {
                    tracing::warn!("{party} rejects this seat: {why}");
                }
                false
            }
            (State::Up, Frame::Message { to, from, message }) => {
                let Some(party) = link.party else { return false };
                if may_say((self.me, party), (to, from), &message) {
                    self.came.push_back(LinkInput::Message(to, from, message, bytes));
                }
                true
            }
            (State::Up, Frame::Control(Control::Refused { why })) => {
                tracing::warn!("{} closes the connection: {why}", called(link.party));
                false
            }
            (State::Up, Frame::Control(control)) => {
                let Some(party) = link.party else { return false };
                self.control(party, token, control);
                true
            }
            _ => false,
        }
    }

    fn control(&mut self, party: Party, token: Token, control: Control) {
        match (party, control) {
            (Party::Manager(from), Control::Leads { term, leader }) => match leader {
                Some(_) if term >= self.leads.0 => self.leads = (term, leader),
                // One that is cut off from the others, or was taken out of their group, tries to be elected in ever higher
                // terms: that says nothing of who leads.
                None if self.leads.1 == Some(from) => self.leads.1 = None,
                _ => {}
            },
            (Party::Manager(_), Control::Roster(roster)) if roster.number >= self.roster.number => {
                // Whoever has moved is called where it is now.
                for target in self.targets.values_mut() {
                    target.again_ms = 0;
                }
                self.roster = roster;
                self.changed = true;
                self.show_out();
                self.ousted = self.is_ousted();
            }
            (Party::Manager(_), Control::Pong { number }) => self.pong(token, number),
            (Party::Manager(_), Control::Speaks { version }) => {
                // It never goes back, whatever a manager knows that lags.
                self.changed |= version > self.version;
                self.version = self.version.max(version);
            }
            (Party::Manager(_), Control::Roster(_)) | (_, Control::Alive) => {}
            (party, Control::AskRoster { known }) => {
                if self.roster.number > known && matches!(party, Party::Client(_) | Party::Seat(_)) {
                    let roster = Control::Roster(self.roster.clone());
                    self.say(token, &roster);
                }
            }
            (party, control) => self.came.push_back(LinkInput::Control(party, control)),
        }
    }

    /// Somebody wants another seat of this process.
    fn hand_over(&mut self, token: Token, seat: SeatId, greeting: Greeting) -> bool {
        if let Some(link) = self.all.remove(token) {
            self.strangers -= 1;
            let _ = epoll::delete(&*self.epoll, link.socket());
            self.handed = Some((seat, Box::new(HandedLink { link, greeting, frames: Vec::new() })));
        }
        false
    }

    /// Takes a connection that came to another seat of this process.
    pub fn take_handed(&mut self, handed: HandedLink, now_ms: u64) {
        self.now_ms = now_ms;
        let HandedLink { link, greeting, frames } = handed;
        self.strangers += 1;
        let token = self.all.insert(link);
        self.watch(token);
        let goes_on = self.greeted(token, &greeting);
        if !goes_on || !frames.into_iter().all(|(frame, bytes)| self.take(token, frame, bytes)) {
            self.close(token);
        }
    }

    /// Somebody has said who it is; whether the connection goes on.
    fn greeted(&mut self, token: Token, greeting: &Greeting) -> bool {
        let version = match self.check(greeting) {
            Ok(version) => version,
            Err(why) => return self.refuse(token, why),
        };
        let shown = self.all.at_token(token).is_some_and(|link| self.is_shown(link, greeting.from));
        if !shown {
            let why = format!("the certificate is not for {}, as far as this process knows", greeting.from);
            return self.refuse(token, why);
        }
        let you = match greeting.from {
            Party::Client(_) => {
                self.next_client = self.next_client.wrapping_add(1).max(1);
                Party::Client(self.next_client)
            }
            party => party,
        };
        if let Party::Seat(seat) = you {
            let called = Called::Seat(seat, greeting.lane);
            if let Some(mine) = self.targets.get(&called).and_then(|target| target.link) {
                if self.me < seat {
                    // If it is dead, this finds out.
                    self.say(mine, &Control::Alive);
                    return self.refuse(token, ALREADY.to_owned());
                }
                self.close(mine);
            }
        }
        let key = (you, if matches!(you, Party::Client(_)) { Lane::Client } else { greeting.lane });
        if let Some(old) = self.by_caller.insert(key, token) {
            self.close_only(old);
        }
        self.strangers -= 1;
        let greeted = Greeted { version, cluster: Some(self.cluster), from: Party::Seat(self.me), you };
        let longest = self.longest_frame;
        let Some(link) = self.all.get_mut(token) else { return false };
        link.lane = key.1;
        link.stands(you, version, longest);
        self.say(token, &Control::Greeted(greeted));
        true
    }

    fn refuse(&mut self, token: Token, why: String) -> bool {
        if let Some(link) = self.all.get_mut(token) {
            link.say(&Control::Refused { why });
            let _ = link.flush();
        }
        false
    }

    /// Whoever was called has answered; whether the connection goes on.
    fn answered(&mut self, token: Token, greeted: &Greeted) -> bool {
        let Some(link) = self.all.get_mut(token) else { return false };
        let Spoken { oldest, newest } = Spoken::OWN;
        let is_spoken = (oldest..=newest).contains(&greeted.version);
        if !is_spoken || greeted.cluster.is_some_and(|cluster| cluster != self.cluster) {
            tracing::warn!("{} belongs to another cluster or version", greeted.from);
            return false;
        }
        if link.party.is_some_and(|party| party != greeted.from) {
            return false;
        }
        link.stands(greeted.from, greeted.version, self.longest_frame);
        for target in self.targets.values_mut().filter(|target| target.link == Some(token)) {
            target.failures = 0;
        }
        if let Party::Manager(manager) = greeted.from {
            if !self.has_answered(manager, token) {
                return false;
            }
            let known = self.roster.number;
            self.say(token, &Control::AskRoster { known });
        }
        true
    }

    /// Closes a connection and forgets it.
    fn close(&mut self, token: Token) {
        for target in self.targets.values_mut().filter(|target| target.link == Some(token)) {
            target.link = None;
        }
        self.by_caller.retain(|_, link| *link != token);
        self.close_only(token);
    }

    /// Closes a connection whose place another has taken.
    fn close_only(&mut self, token: Token) {
        let Some(link) = self.all.remove(token) else { return };
        self.strangers -= usize::from(link.state == State::Called);
        self.managers.retain(|_, manager| *manager != token);
    }

    /// Sends what there is to send.
    pub fn flush(&mut self) {
        self.local_peers.post();
        for token in std::mem::take(&mut self.dirty) {
            let Some(link) = self.all.get_mut(token) else { continue };
            link.dirty = false;
            if link.state == State::Connecting {
                continue;
            }
            if link.flush().is_err() {
                self.close(token);
            } else {
                self.set_interest(token);
            }
        }
    }

    /// Calls managers that are not connected, and hangs up on who says nothing. To be called now and then.
    pub fn tick(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        if now_ms < self.swept_ms + REDIAL_MS.0 {
            return;
        }
        self.swept_ms = now_ms;
        self.sweep();
        if !self.managers.is_empty() {
            self.managed_ms = now_ms;
        }
        for address in self.managers_called() {
            let called = Called::Manager(address.clone());
            if self.targets.get(&called).is_none_or(|target| target.link.is_none()) {
                self.call(&called, &address, None, Lane::Client);
            }
        }
        self.look_at_leader();
    }
}

/// Whether a party may say this to seat `me`, in somebody's name.
fn may_say((me, party): (SeatId, Party), (to, from): (Address, Address), message: &Message) -> bool {
    let is_meant = !matches!(party, Party::Client(_)) || clients::may_say(me, to, message);
    is_meant && party.may_speak_as(from) && message.may_come_from(from)
}

/// Whoever was called. Which manager answers is known only once it has.
fn called(party: Option<Party>) -> String {
    party.map_or_else(|| "a manager".to_owned(), |party| party.to_string())
}
