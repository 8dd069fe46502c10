//! Broken links: what a seat has for another one that it does not reach goes by way of a third that reaches both.
//!
//! Every request passes through the owner of its key's wedge, and from there through the key's chain. So it takes several links,
//! and chains and wedges cannot always be dealt out such that all of them work. A seat finds out by *probes* which links do: it
//! probes whom it has something to say to, and the other echoes the probe. A link works as long as echoes come, so both ways
//! have to. If none comes for a while, the peer is probed by way of others, and an echo comes back the way that its probe came.
//! While there is such a way and the link is broken, messages take it.
//!
//! * A message goes by way of one seat and no further, so it cannot go round in circles.
//! * It is sent once, by the one way or the other: what may not come twice does not.
//! * It is the same message. The receiver takes it as if the sender had said it itself, and drops it unless the sender may say it.
//! * What only the members of a chain say to each other is not relayed, but for barriers: managers keep members that do not hear
//!   each other out of one chain.
//!
//! A seat that no echo reaches, by no way, is *cut off*. Its front-end tells managers, which give its wedges to others, and its
//! node tells them, so that chains go on without it. So that this is found out without traffic, one other member is probed now and
//! then if nothing else is.
//!
//! Releases before version 6 do not know of this, so it begins once the cluster's version is 6.

#[cfg(test)]
mod tests;

use crate::ids::{Address, SeatId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::Message;
use std::collections::BTreeMap;

/// Seats by way of which a peer is probed at a time.
const MOST_PROBED: usize = 4;

/// Peers that are probed, at most. Any others are sent to directly.
const MOST_PEERS: usize = 4096;

/// A message on its way: the receiver, the sender, and what it says.
pub type RoutedMessage = (Address, Address, Message);

/// One whom something was to be sent to lately.
#[derive(Clone, Copy, Debug)]
struct Peer {
    /// When something was last to be sent to it.
    used_us: u64,
    /// When the link to it was last known to work both ways, or was used first.
    direct_us: u64,
    /// By way of whom it was reached last, and when.
    by: Option<(Address, u64)>,
    /// When it was probed last.
    probed_us: Option<u64>,
    /// It goes by way of another, and that was told.
    is_told: bool,
}

/// How many messages took another way than the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those of this seat.
    pub relayed: u64,
    /// Those that it passed on for others.
    pub passed_on: u64,
}

/// The links of a seat that are broken, and the ways around them.
#[derive(Debug)]
pub struct Relay {
    me: Address,
    /// Between two probes of a peer, in microseconds.
    every_us: u64,
    /// A link without an echo for so long is broken.
    silent_us: u64,
    /// A peer that is not reached is probed for so long after something was last to be sent to it.
    broken_us: u64,
    is_on: bool,
    helpers: Vec<Address>,
    /// The helper whose turn it is.
    turn: usize,
    /// When the newest probe was sent of which an echo has come, by whatever way; or since when there is somebody to probe.
    echoed_us: Option<u64>,
    /// When it last looked at the time.
    ticked_us: u64,
    /// When helpers were last probed without anything to say to them.
    looked_us: u64,
    peers: BTreeMap<Address, Peer>,
    counts: Counts,
    /// Not more than peers, each once.
    news: BTreeMap<Address, Option<Address>>,
}

impl Relay {
    /// That of the seat whose front-end, or else node, is `me`. It does nothing before it is [switched on](Self::switch).
    pub fn new(me: Address, timing: &Timing) -> Self {
        Self {
            me,
            every_us: timing.silent_us / 3,
            silent_us: timing.silent_us,
            broken_us: timing.broken_us,
            is_on: false,
            helpers: Vec::new(),
            turn: 0,
            echoed_us: None,
            ticked_us: 0,
            looked_us: 0,
            peers: BTreeMap::new(),
            counts: Counts::default(),
            news: BTreeMap::new(),
        }
    }

    /// Whether a message is between relays.
    pub fn takes(message: &Message) -> bool {
        matches!(message, Message::Relayed { .. } | Message::Probe { .. } | Message::Echo { .. })
    }

    /// Peers whose link was found to be broken since this was asked last, with by way of whom they are reached; `None`: the
    /// link works again.
    pub fn take_news(&mut self) -> BTreeMap<Address, Option<Address>> {
        std::mem::take(&mut self.news)
    }

    /// Whether everybody knows of relays.
    pub fn switch(&mut self, is_on: bool) {
        self.is_on = is_on && !planted(Bug::NotRelayed);
    }

    /// Those by way of whom others may be reached: one of each other member.
    pub fn set_helpers(&mut self, helpers: Vec<Address>) {
        self.helpers = helpers;
    }

    /// How many messages took another way.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Peers whose link is broken.
    pub fn broken(&self, now_us: u64) -> usize {
        self.peers.values().filter(|peer| now_us >= peer.direct_us + self.silent_us).count()
    }

    /// Whether no other member has echoed a probe lately, by whatever way.
    pub fn is_cut_off(&self, now_us: u64) -> bool {
        let is_late = |at_us: u64| now_us >= at_us + 2 * self.silent_us;
        self.is_on && !self.helpers.is_empty() && self.echoed_us.is_some_and(is_late)
    }

    /// Something is to be sent. `None`: over the link to the receiver; otherwise to whom instead, and what.
    pub fn detour(
        &mut self,
        now_us: u64,
        (to, from): (Address, Address),
        message: &Message,
    ) -> Option<(Address, Message)> {
        if !self.is_on || !is_seat(to) || !is_relayable(message) {
            return None;
        }
        let has_room = self.peers.len() < MOST_PEERS;
        let new = Peer { used_us: now_us, direct_us: now_us, by: None, probed_us: None, is_told: false };
        let peer = match self.peers.get_mut(&to) {
            Some(peer) => peer,
            None if has_room => self.peers.entry(to).or_insert(new),
            None => return None,
        };
        peer.used_us = now_us;
        let is_broken = now_us >= peer.direct_us + self.silent_us;
        let (by, _) = peer.by.filter(|(_, at_us)| is_broken && now_us < at_us + self.silent_us)?;
        took(Path::Relayed);
        self.counts.relayed += 1;
        Some((by, Message::Relayed { to, from, message: message.encode() }))
    }

    /// Time has passed: probes what is due.
    pub fn tick(&mut self, now_us: u64, out: &mut Vec<RoutedMessage>) {
        self.forgive(now_us);
        if !self.is_on {
            self.echoed_us = None;
            return self.peers.clear();
        }
        self.look_around(now_us, out);
        let Self { me, every_us, silent_us, broken_us, .. } = *self;
        self.peers.retain(|_, peer| {
            let is_broken = now_us >= peer.direct_us + silent_us;
            now_us < peer.used_us + if is_broken { broken_us } else { silent_us }
        });
        for (to, peer) in &mut self.peers {
            let is_broken = now_us >= peer.direct_us + silent_us;
            let by = peer.by.filter(|(_, at_us)| is_broken && now_us < at_us + silent_us);
            if peer.is_told != is_broken && (by.is_some() || !is_broken) {
                peer.is_told = is_broken;
                self.news.insert(*to, by.map(|(by, _)| by));
            }
            if peer.probed_us.is_some_and(|at_us| now_us < at_us + every_us) {
                continue;
            }
            peer.probed_us = Some(now_us);
            let probe = Message::Probe { number: now_us };
            out.push((*to, me, probe.clone()));
            if now_us < peer.direct_us + 2 * every_us {
                continue;
            }
            let relayed = |by| (by, me, Message::Relayed { to: *to, from: me, message: probe.encode() });
            match peer.by {
                Some((by, at_us)) if now_us < at_us + 2 * every_us => out.push(relayed(by)),
                _ => {
                    let others = self.helpers.iter().cycle().skip(self.turn).take(self.helpers.len());
                    let others = others.filter(|helper| **helper != *to && **helper != me).take(MOST_PROBED);
                    out.extend(others.map(|helper| relayed(*helper)));
                    self.turn = (self.turn + MOST_PROBED) % self.helpers.len().max(1);
                }
            }
        }
    }

    /// While this seat did not run, it probed nobody.
    fn forgive(&mut self, now_us: u64) {
        let paused_us = now_us.saturating_sub(self.ticked_us);
        self.ticked_us = now_us;
        if paused_us >= self.every_us {
            self.echoed_us = self.echoed_us.map(|at_us| at_us.saturating_add(paused_us).min(now_us));
        }
    }

    /// Probes helpers if nobody has echoed for a while: one of them, or more if it has been long.
    fn look_around(&mut self, now_us: u64, out: &mut Vec<RoutedMessage>) {
        let echoed_us = *self.echoed_us.get_or_insert(now_us);
        let is_due = now_us >= echoed_us + 2 * self.every_us && now_us >= self.looked_us + self.every_us;
        if self.helpers.is_empty() || !is_due {
            return;
        }
        let count = if now_us < echoed_us + self.silent_us { 1 } else { MOST_PROBED };
        for _ in 0..count.min(self.helpers.len()) {
            self.turn = (self.turn + 1) % self.helpers.len();
            out.push((self.helpers[self.turn], self.me, Message::Probe { number: now_us }));
        }
        self.looked_us = now_us;
    }

    /// An echo has come. Whoever is in this seat itself is no other member.
    fn echoed(&mut self, from: Address, number: u64, now_us: u64) {
        if SeatId::of(from) != SeatId::of(self.me) {
            self.echoed_us = self.echoed_us.max(Some(number.min(now_us)));
        }
    }

    /// A message has come: it is passed on or answered, or returned for whom it is meant, as whoever said it sent it.
    pub fn receive(
        &mut self,
        now_us: u64,
        (to, from, message): RoutedMessage,
        out: &mut Vec<RoutedMessage>,
    ) -> Option<RoutedMessage> {
        match message {
            Message::Probe { number } => out.push((from, to, Message::Echo { number })),
            Message::Echo { number } => {
                self.echoed(from, number, now_us);
                if let Some(peer) = self.peers.get_mut(&from) {
                    peer.direct_us = peer.direct_us.max(number.min(now_us));
                }
            }
            Message::Relayed { to: goal, from: source, message } if goal == to => {
                return self.arrived(now_us, (goal, source, &message), from, out);
            }
            // By way of one, and no further.
            Message::Relayed { to: goal, from: source, message } if source == from && is_seat(goal) => {
                self.counts.passed_on += 1;
                out.push((goal, self.me, Message::Relayed { to: goal, from: source, message }));
            }
            Message::Relayed { .. } => {}
            message => return Some((to, from, message)),
        }
        None
    }

    /// A message has come by way of another.
    fn arrived(
        &mut self,
        now_us: u64,
        (to, source, message): (Address, Address, &[u8]),
        by: Address,
        out: &mut Vec<RoutedMessage>,
    ) -> Option<RoutedMessage> {
        let message = Message::decode(message).ok()?;
        match message {
            Message::Probe { number } if is_seat(source) => {
                let message = Message::Echo { number }.encode();
                out.push((by, to, Message::Relayed { to: source, from: to, message }));
                None
            }
            Message::Echo { number } => {
                self.echoed(source, number, now_us);
                let peer = self.peers.get_mut(&source)?;
                let at_us = number.min(now_us);
                if peer.by.is_none_or(|(_, before_us)| before_us <= at_us) {
                    peer.by = Some((by, at_us));
                }
                None
            }
            message if is_seat(source) && is_relayable(&message) && message.may_come_from(source) => {
                self.answer_by(source, by, now_us);
                Some((to, source, message))
            }
            _ => None,
        }
    }

    /// Whoever does not reach this seat is not reached from here, either, until an echo comes.
    fn answer_by(&mut self, source: Address, by: Address, now_us: u64) {
        if !self.is_on || (self.peers.len() >= MOST_PEERS && !self.peers.contains_key(&source)) {
            return;
        }
        let new = Peer { used_us: now_us, direct_us: 0, by: None, probed_us: None, is_told: false };
        let peer = self.peers.entry(source).or_insert(new);
        if peer.by.is_none_or(|(_, at_us)| now_us >= at_us + 2 * self.every_us) {
            peer.by = Some((by, now_us));
        }
    }
}

fn is_seat(address: Address) -> bool {
    matches!(address, Address::Node(_) | Address::Front(_))
}

/// Whether a message may go by way of another seat: what is asked and answered, and what front-ends need for that.
fn is_relayable(message: &Message) -> bool {
    matches!(
        message,
        Message::Request { .. }
            | Message::Flush { .. }
            | Message::Get { .. }
            | Message::Reply { .. }
            | Message::Ask { .. }
            | Message::AskFlush { .. }
            | Message::Fence { .. }
            | Message::FenceHolds { .. }
            | Message::Barrier { .. }
            | Message::BarrierAt { .. }
            | Message::Scan { .. }
            | Message::Scanned { .. }
    )
}
