//! A front-end's life: its name, its lease, the wedges that it is given, and those that it loses.

use super::cache::entries_for;
use super::machine::Front;
use crate::ids::{Address, WedgeEpoch, WedgeId};
use crate::wire::Message;
use fawn_ring::Interval;

impl Front {
    /// Says hello until its life has a number, and that it lives from then on; takes over what it was given.
    pub(super) fn live(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        self.life.beat(&self.timing, now_us, out);
        if self.life.is_view_due(&self.timing, now_us) {
            self.ask_view(now_us, out);
        }
        self.send_fences(now_us, out);
    }

    /// Whether any other member answers: managers leave wedges with those that some do.
    pub fn note_cut_off(&mut self, is_cut_off: bool) {
        self.life.note_cut_off(is_cut_off);
    }

    /// Ends this life, and says so: the front-end asks and answers nothing from here on.
    pub fn farewell(self, out: &mut Vec<(Address, Message)>) {
        if let Some(member) = self.life.member() {
            out.push((Address::Manager, Message::FrontFarewell { member }));
        }
    }

    /// Asks who is in which chain and who owns what: now, or as soon as that is not too often.
    pub(super) fn ask_view(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        self.life.ask_view(self.routes.number(), &self.timing, now_us, out);
    }

    /// A message has come that is not about a request.
    pub(super) fn hear(&mut self, now_us: u64, message: Message, out: &mut Vec<(Address, Message)>) {
        match message {
            Message::FrontWelcome { nonce, incarnation } => {
                let begins = self.life.welcome(nonce, incarnation);
                if begins {
                    self.tags.begin(incarnation);
                }
            }
            Message::FrontSuperseded { incarnation } if self.life.is(incarnation) => {
                self.life.begin_anew();
                for keys in self.own.lose_all() {
                    self.cache.lose(&keys, &mut self.flights);
                }
            }
            Message::FrontLease { incarnation, nonce, lease_us, wedges } if self.life.is(incarnation) => {
                self.granted(nonce, lease_us, &wedges);
                self.send_fences(now_us, out);
            }
            Message::View { since, number, chains, wedges } => {
                let changed = !chains.is_empty();
                let is_news = self.routes.learn((since, number), chains, &wedges) || changed;
                if let Some(me) = self.life.member() {
                    for keys in self.own.compare(me, &self.routes) {
                        self.cache.lose(&keys, &mut self.flights);
                    }
                }
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
                if let Some(keys) = self.own.fenced(&keys, epoch) {
                    self.counts.takeovers += u64::from(epoch > WedgeEpoch(1));
                    self.send_waiting(&keys, now_us, out);
                }
            }
            _ => {}
        }
    }

    fn granted(&mut self, nonce: u64, lease_us: u64, wedges: &[(WedgeId, WedgeEpoch)]) {
        let Some(asked_us) = self.life.beat_us(nonce) else { return };
        let until_us = asked_us.saturating_add(lease_us);
        for (wedge, epoch) in wedges {
            if let Some(keys) = self.own.give(*wedge, *epoch, &self.routes) {
                self.cache.lose(&keys, &mut self.flights);
            }
            self.own.extend(*wedge, *epoch, until_us);
        }
    }

    /// It no longer owns a wedge.
    pub(super) fn lose(&mut self, wedge: WedgeId) {
        if let Some(keys) = self.own.lose(wedge) {
            self.cache.lose(&keys, &mut self.flights);
        }
    }

    /// Asks for the fences of wedges that it was given.
    fn send_fences(&mut self, now_us: u64, out: &mut Vec<(Address, Message)>) {
        self.own.send_fences(self.id, &self.routes, self.timing.resend_us, now_us, out);
    }
}
