//! A seat's ways around broken links: what it sends to another goes by way of a third where the link does not work
//! ([`fawn_kv::link::relay`]).

use super::seat::Seat;
use crate::runtime::clock::Now;
use fawn_kv::ids::{Address, SeatId};
use fawn_kv::timing;
use fawn_kv::wire::Message;
use fawn_kv::wire::version::RELAYS;

impl Seat {
    /// Sends a message to another seat or to a manager or client, over the link or around it.
    pub(super) fn send(&mut self, to: Address, from: Address, message: Message, (now, at): (Now, timing::Now)) {
        let is_near = SeatId::of(to).is_some_and(|seat| self.links.local_peers.has(seat));
        let detour = if is_near { None } else { self.relay.detour(at.us, (to, from), &message) };
        match detour {
            Some((by, relayed)) => self.links.send(by, from, relayed, now.ms),
            None => self.links.send(to, from, message, now.ms),
        }
    }

    /// A message of another seat's relay has come, which had so many bytes.
    pub(super) fn relayed(
        &mut self,
        (to, from, message): (Address, Address, Message),
        bytes: Option<usize>,
        time: (Now, timing::Now),
    ) {
        let mut out = Vec::new();
        let taken = self.relay.receive(time.1.us, (to, from, message), &mut out);
        self.said.extend(out);
        if let Some((to, from, message)) = taken {
            self.deliver_one_message(to, from, message, bytes, time);
        }
    }

    /// Probes whom this seat has something to say to, and tells in the log whose link is broken, or works again.
    pub(super) fn tick_relay(&mut self, at: timing::Now) {
        if self.links.take_changed() {
            let version = self.links.cluster_version();
            self.relay.switch(version >= RELAYS);
            self.front.iter_mut().for_each(|front| front.speak(version));
            self.node.iter_mut().for_each(|node| node.speak(version));
            self.relay.set_helpers(self.links.helpers());
        }
        let mut out = Vec::new();
        self.relay.tick(at.us, &mut out);
        self.said.extend(out);
        let is_cut_off = self.relay.is_cut_off(at.us);
        self.front.iter_mut().for_each(|front| front.note_cut_off(is_cut_off));
        self.node.iter_mut().for_each(|node| node.note_cut_off(is_cut_off));
        for (peer, by) in self.relay.take_news() {
            let Some(seat) = SeatId::of(peer) else { continue };
            let name = |seat: SeatId| self.links.name_of(seat);
            match by.and_then(SeatId::of) {
                Some(by) if self.broken.insert(seat) => {
                    tracing::warn!("the link to {} is broken: requests take a detour through {}", name(seat), name(by));
                }
                None if self.broken.remove(&seat) => tracing::info!("the link to {} works again", name(seat)),
                _ => {}
            }
        }
    }
}
