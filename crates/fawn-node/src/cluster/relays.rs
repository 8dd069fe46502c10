//! Ways around broken links: what an endpoint sends to another seat goes through a third one where the link does not work
//! ([`fawn_kv::link::relay`]).

use super::links::ClusterLinks;
use super::message_queue::{Envelope, MessageQueue};
use crate::runtime::clock::Now;
use fawn_kv::ids::{Address, SeatId};
use fawn_kv::link::relay::{Counts, Relay};
use fawn_kv::timing;
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::RELAYS;
use std::collections::BTreeSet;

/// The ways of one endpoint.
pub struct Detours {
    relay: Relay,
    /// Seats whose link is broken, as the log says.
    broken: BTreeSet<SeatId>,
}

impl Detours {
    /// All links of `me` work, as far as is known.
    pub fn new(me: Address) -> Self {
        Self { relay: Relay::new(me, &Timing::default()), broken: BTreeSet::new() }
    }

    /// Sends a message to another seat or to a manager or client, over the link or around it.
    pub fn send(&mut self, links: &mut ClusterLinks, (to, from, message): Envelope, (now, at): (Now, timing::Now)) {
        let is_local = SeatId::of(to).is_some_and(|seat| links.is_local(seat));
        let detour = if is_local { None } else { self.relay.detour(at.us, (to, from), &message) };
        match detour {
            Some((by, relayed)) => links.send(by, from, relayed, now.ms),
            None => links.send(to, from, message, now.ms),
        }
    }

    /// A message of another seat's relay has come. Returns what is for this endpoint.
    pub fn receive(&mut self, envelope: Envelope, at: timing::Now, messages: &mut MessageQueue) -> Option<Envelope> {
        let mut out = Vec::new();
        let taken = self.relay.receive(at.us, envelope, &mut out);
        messages.extend(out);
        taken
    }

    /// The cluster's version or its members have changed.
    pub fn set_members(&mut self, version: u8, helpers: Vec<Address>) {
        self.relay.switch(version >= RELAYS);
        self.relay.set_helpers(helpers);
    }

    /// Probes whom this endpoint has something to say to. Returns whether no other member answers it.
    pub fn tick(&mut self, at: timing::Now, messages: &mut MessageQueue) -> bool {
        let mut out = Vec::new();
        self.relay.tick(at.us, &mut out);
        messages.extend(out);
        self.relay.is_cut_off(at.us)
    }

    /// Logs whose link is broken, or works again.
    pub fn log_news(&mut self, links: &ClusterLinks) {
        for (peer, by) in self.relay.take_news() {
            let Some(seat) = SeatId::of(peer) else { continue };
            let name = |seat: SeatId| links.membership().name_of(seat);
            match by.and_then(SeatId::of) {
                Some(by) if self.broken.insert(seat) => {
                    tracing::warn!("the link to {} is broken: requests take a detour through {}", name(seat), name(by));
                }
                None if self.broken.remove(&seat) => tracing::info!("the link to {} works again", name(seat)),
                _ => {}
            }
        }
    }

    /// Whether no other member answers.
    pub fn is_cut_off(&self, at: timing::Now) -> bool {
        self.relay.is_cut_off(at.us)
    }

    /// Messages that took a way around a broken link, and links that are broken now.
    pub fn counts(&self, at: timing::Now) -> (Counts, usize) {
        (self.relay.counts(), self.relay.broken(at.us))
    }
}

/// Whether a message is for an endpoint's [`Detours`].
pub fn is_relayed(message: &Message) -> bool {
    Relay::takes(message)
}
