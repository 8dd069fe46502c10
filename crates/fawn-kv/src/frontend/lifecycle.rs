//! A front-end's life: its name, its lease, the wedges that it is given, and those that it loses.

use super::cache::entries_for;
use super::machine::Front;
use super::registration::VIEW_US;
use super::wedge::Own;
use crate::ids::{Address, FrontMember, Incarnation, WedgeEpoch, WedgeId};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::Interval;

/// Heartbeats that are remembered until they are answered.
const HEARTBEATS: usize = 16;

impl Front {
    /// Says hello until its life has a number, and that it lives from then on; takes over what it was given.
    pub(super) fn live(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let due = |sent: u64| now_us >= sent + self.timing.heartbeat_us;
        if self.life.heartbeats.back().is_none_or(|(_, sent)| due(*sent)) {
            let nonce = self.life.next_heartbeat;
            self.life.next_heartbeat += 1;
            self.life.heartbeats.push_back((nonce, now_us));
            if self.life.heartbeats.len() > HEARTBEATS {
                self.life.heartbeats.pop_front();
            }
            let message = match self.life.incarnation {
                None => Message::FrontHello { front: self.id, nonce: self.life.nonce },
                Some(incarnation) => {
                    Message::FrontHeartbeat { member: FrontMember { front: self.id, incarnation }, nonce }
                }
            };
            out.push((Address::Manager, message));
            if let Some(incarnation) = self.life.incarnation.filter(|_| self.life.is_cut_off) {
                let member = FrontMember { front: self.id, incarnation };
                out.push((Address::Manager, Message::FrontCutOff { member }));
            }
        }
        let is_due = self.life.asked_view_us.is_none_or(due);
        if is_due {
            self.life.view_gap_us = VIEW_US;
        }
        if is_due || self.life.wants_view {
            self.ask_view(now_us, out);
        }
        self.send_fences(now_us, out);
    }

    /// Whether any other member answers: managers leave wedges with those that some do.
    pub fn note_cut_off(&mut self, is_cut_off: bool) {
        self.life.is_cut_off = is_cut_off;
    }

    /// Ends this life, and says so: the front-end asks and answers nothing from here on.
    pub fn farewell(self, out: &mut Vec<(Address, Message)>) {
        if let Some(incarnation) = self.life.incarnation {
            let member = FrontMember { front: self.id, incarnation };
            out.push((Address::Manager, Message::FrontFarewell { member }));
        }
    }

    /// Asks who is in which chain and who owns what: now, or as soon as that is not too often.
    pub(super) fn ask_view(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        self.life.wants_view = now_us < self.life.view_after_us;
        if !self.life.wants_view {
            self.life.asked_view_us = Some(now_us);
            self.life.view_after_us = now_us + self.timing.resend_us;
            out.push((
                Address::Manager,
                Message::AskView { asker: Address::Front(self.id), known: self.routes.number() },
            ));
        }
    }

    /// A message has come that is not about a request.
    pub(super) fn hear(&mut self, now_us: u64, message: Message, out: &mut Vec<(Address, Message)>) {
        match message {
            Message::FrontWelcome { nonce, incarnation } => self.welcome(nonce, incarnation),
            Message::FrontSuperseded { incarnation } if self.life.incarnation == Some(incarnation) => self.begin_anew(),
            Message::FrontLease { incarnation, nonce, lease_us, wedges }
                if self.life.incarnation == Some(incarnation) =>
            {
                self.granted(nonce, lease_us, &wedges);
                self.send_fences(now_us, out);
            }
            Message::View { since, number, chains, wedges } => {
                let changed = !chains.is_empty();
                let is_news = self.routes.learn((since, number), chains, &wedges) || changed;
                self.compare_wedges();
                self.send_fences(now_us, out);
                self.life.answered_view(now_us, is_news);
                if is_news {
                    self.send_waiting(&Interval::ALL, now_us, out);
                }
                if changed {
                    self.cache.resize(entries_for(self.routes.nodes(), self.limits.cache_factor));
                }
            }
            Message::FenceHolds { keys, epoch, .. } => {
                let own = self.own.values_mut().find(|own| own.epoch == epoch && own.keys.overlaps(&keys));
                if let Some(own) = own
                    && own.fenced(&keys)
                {
                    let keys = own.keys;
                    self.counts.takeovers += u64::from(epoch > WedgeEpoch(1));
                    self.send_waiting(&keys, now_us, out);
                }
            }
            _ => {}
        }
    }

    fn welcome(&mut self, nonce: u64, incarnation: Incarnation) {
        if nonce == self.life.nonce && self.life.incarnation.is_none() {
            self.life.incarnation = Some(incarnation);
            self.begin_tags(incarnation);
        }
    }

    /// Its name was given to another start: a hello of an earlier one came late.
    fn begin_anew(&mut self) {
        self.life.incarnation = None;
        self.life.nonce += 1;
        self.life.heartbeats.clear();
        for wedge in self.own.keys().copied().collect::<Vec<_>>() {
            self.lose(wedge);
        }
    }

    fn granted(&mut self, nonce: u64, lease_us: u64, wedges: &[(WedgeId, WedgeEpoch)]) {
        let Some((_, asked_us)) = self.life.heartbeats.iter().find(|(sent, _)| *sent == nonce).copied() else { return };
        let until_us = asked_us.saturating_add(lease_us);
        for (wedge, epoch) in wedges {
            self.given(*wedge, *epoch);
            if let Some(own) = self.own.get_mut(wedge).filter(|own| own.epoch == *epoch) {
                own.extend(until_us);
            }
        }
    }

    /// It owns a wedge, perhaps without a lease yet, or any more.
    fn given(&mut self, wedge: WedgeId, epoch: WedgeEpoch) {
        // Its keys are in the view, which is asked for at the start.
        let Some(keys) = self.routes.wedge(wedge).filter(|known| known.epoch <= epoch).map(|known| known.keys) else {
            return;
        };
        if self.own.get(&wedge).is_none_or(|own| own.epoch < epoch) {
            self.lose(wedge);
            self.own.insert(wedge, Own::new(keys, epoch));
        }
    }

    /// Takes what it was given, and gives up what others own by now.
    fn compare_wedges(&mut self) {
        let Some(incarnation) = self.life.incarnation else { return };
        let me = FrontMember { front: self.id, incarnation };
        let decided: Vec<(WedgeId, WedgeEpoch, bool)> =
            self.routes.wedges().map(|(id, wedge)| (id, wedge.epoch, wedge.owner == Some(me))).collect();
        for (wedge, epoch, is_mine) in decided {
            if is_mine {
                self.given(wedge, epoch);
            } else if self.own.get(&wedge).is_some_and(|own| own.epoch < epoch) {
                self.lose(wedge);
            }
        }
    }

    /// It no longer owns a wedge, or not in the same epoch.
    pub(super) fn lose(&mut self, wedge: WedgeId) {
        let Some(own) = self.own.remove(&wedge) else { return };
        if !planted(Bug::CacheKeptAcrossEpochs) {
            self.cache.empty(&own.keys);
        }
        self.flights.spoil_all(&own.keys);
    }

    /// Asks the heads of all ranges that have keys of a wedge that it was given to fence whoever owned it before off.
    fn send_fences(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        let front = Address::Front(self.id);
        let resend_us = self.timing.resend_us;
        let late = |own: &Own| own.asked_us.is_none_or(|asked| now_us >= asked + resend_us);
        for own in self.own.values_mut().filter(|own| !own.is_fenced()) {
            if !late(own) {
                continue;
            }
            own.asked_us = Some(now_us);
            for (range, chain, keys) in self.routes.parts(&own.keys).filter(|(.., keys)| own.lacks(keys)) {
                let message = Message::Fence { range, front, keys, epoch: own.epoch };
                out.push((Address::Node(chain.head().node), message));
            }
        }
    }
}
