//! What a front-end is to the manager: its life, its heartbeats, and its questions for the map.

use crate::ids::{Address, FrontId, FrontMember, Incarnation};
use crate::timing::Timing;
use crate::wire::Message;
use std::collections::VecDeque;

/// Between two questions who is in which chain, where the answer to the first was news. While answers are none, each time
/// twice as long, up to as long as if there had been no answer.
const VIEW_US: u64 = 10_000;

/// Heartbeats that are remembered until they are answered.
const HEARTBEATS: usize = 16;

/// What a front-end is to the manager.
#[derive(Debug)]
pub(super) struct Life {
    front: FrontId,
    /// Names this start.
    nonce: u64,
    /// `None` until the manager has said.
    incarnation: Option<Incarnation>,
    /// Number and time of the heartbeats that were sent last.
    heartbeats: VecDeque<(u64, u64)>,
    next_heartbeat: u64,
    /// When it last asked who is in which chain, and from when on it may ask again.
    asked_view_us: Option<u64>,
    view_after_us: u64,
    /// For so long after the last answer it does not ask.
    view_gap_us: u64,
    /// It asks as soon as it may.
    wants_view: bool,
    /// No other member answers.
    is_cut_off: bool,
}

impl Life {
    pub(super) fn new(front: FrontId, nonce: u64) -> Self {
        Self {
            front,
            nonce,
            incarnation: None,
            heartbeats: VecDeque::new(),
            next_heartbeat: 0,
            asked_view_us: None,
            view_after_us: 0,
            view_gap_us: VIEW_US,
            wants_view: false,
            is_cut_off: false,
        }
    }

    /// Whether the manager has numbered it.
    pub(super) fn has_begun(&self) -> bool {
        self.incarnation.is_some()
    }

    /// Whether it has this number.
    pub(super) fn is(&self, incarnation: Incarnation) -> bool {
        self.incarnation == Some(incarnation)
    }

    /// The life, once it has a number.
    pub(super) fn member(&self) -> Option<FrontMember> {
        self.incarnation.map(|incarnation| FrontMember { front: self.front, incarnation })
    }

    /// Whether any other member answers.
    pub(super) fn note_cut_off(&mut self, is_cut_off: bool) {
        self.is_cut_off = is_cut_off;
    }

    /// Says hello until its life has a number, and that it lives from then on.
    pub(super) fn beat(&mut self, timing: &Timing, now_us: u64, out: &mut Vec<(Address, Message)>) {
        if self.heartbeats.back().is_some_and(|(_, sent)| now_us < sent + timing.heartbeat_us) {
            return;
        }
        let nonce = self.next_heartbeat;
        self.next_heartbeat += 1;
        self.heartbeats.push_back((nonce, now_us));
        if self.heartbeats.len() > HEARTBEATS {
            self.heartbeats.pop_front();
        }
        let message = match self.member() {
            None => Message::FrontHello { front: self.front, nonce: self.nonce },
            Some(member) => Message::FrontHeartbeat { member, nonce },
        };
        out.push((Address::Manager, message));
        if let Some(member) = self.member().filter(|_| self.is_cut_off) {
            out.push((Address::Manager, Message::FrontCutOff { member }));
        }
    }

    /// When the heartbeat of this number was sent, if that is remembered.
    pub(super) fn beat_us(&self, nonce: u64) -> Option<u64> {
        self.heartbeats.iter().find(|(sent, _)| *sent == nonce).map(|(_, sent_us)| *sent_us)
    }

    /// The manager has numbered a start. Returns whether it is this one, which had no number.
    pub(super) fn welcome(&mut self, nonce: u64, incarnation: Incarnation) -> bool {
        let is_mine = nonce == self.nonce && self.incarnation.is_none();
        if is_mine {
            self.incarnation = Some(incarnation);
        }
        is_mine
    }

    /// Its name was given to another start: a hello of an earlier one came late.
    pub(super) fn begin_anew(&mut self) {
        self.incarnation = None;
        self.nonce += 1;
        self.heartbeats.clear();
    }

    /// Whether it is time to ask who is in which chain, or was put off.
    pub(super) fn is_view_due(&mut self, timing: &Timing, now_us: u64) -> bool {
        let is_due = self.asked_view_us.is_none_or(|asked_us| now_us >= asked_us + timing.heartbeat_us);
        if is_due {
            self.view_gap_us = VIEW_US;
        }
        is_due || self.wants_view
    }

    /// Asks who is in which chain and who owns what: now, or as soon as that is not too often. `known` is the change up to
    /// which chains are known.
    pub(super) fn ask_view(&mut self, known: u64, timing: &Timing, now_us: u64, out: &mut Vec<(Address, Message)>) {
        self.wants_view = now_us < self.view_after_us;
        if !self.wants_view {
            self.asked_view_us = Some(now_us);
            self.view_after_us = now_us + timing.resend_us;
            out.push((Address::Manager, Message::AskView { asker: Address::Front(self.front), known }));
        }
    }

    /// Who is in which chain was answered: whoever wants to know more need not wait as long as if it had been lost.
    pub(super) fn answered_view(&mut self, now_us: u64, is_news: bool) {
        self.view_gap_us = if is_news { VIEW_US } else { self.view_gap_us.saturating_mul(2) };
        self.view_after_us = self.view_after_us.min(now_us.saturating_add(self.view_gap_us));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_says_hello_until_it_has_a_number_and_that_it_lives_from_then_on() {
        let (mut life, timing, mut out) = (Life::new(FrontId(1), 5), Timing::default(), Vec::new());
        life.beat(&timing, 0, &mut out);
        life.beat(&timing, timing.heartbeat_us - 1, &mut out);
        assert!(matches!(out[..], [(_, Message::FrontHello { nonce: 5, .. })]), "once in a while: {out:?}");
        assert!(!life.welcome(4, Incarnation(1)) && !life.has_begun(), "that is another start");
        assert!(life.welcome(5, Incarnation(2)) && !life.welcome(5, Incarnation(3)));
        out.clear();
        life.note_cut_off(true);
        life.beat(&timing, timing.heartbeat_us, &mut out);
        assert!(matches!(out[..], [(_, Message::FrontHeartbeat { .. }), (_, Message::FrontCutOff { .. })]));
        assert_eq!((life.beat_us(1), life.beat_us(2)), (Some(timing.heartbeat_us), None));
        life.begin_anew();
        assert!(!life.has_begun() && life.beat_us(1).is_none());
        assert!(life.welcome(6, Incarnation(3)) && life.is(Incarnation(3)));
    }

    #[test]
    fn a_view_is_asked_for_sooner_after_news() {
        let (mut life, timing, mut out) = (Life::new(FrontId(1), 5), Timing::default(), Vec::new());
        let mut ask = |life: &mut Life, now_us| {
            out.clear();
            life.ask_view(0, &timing, now_us, &mut out);
            out.len()
        };
        assert_eq!([ask(&mut life, 0), ask(&mut life, 1)], [1, 0]);
        assert!(life.is_view_due(&timing, 1), "it was put off");
        life.answered_view(1, true);
        assert_eq!([ask(&mut life, VIEW_US), ask(&mut life, 1 + VIEW_US)], [0, 1]);
        assert!(!life.is_view_due(&timing, 2 + VIEW_US));
        assert!(life.is_view_due(&timing, 1 + VIEW_US + timing.heartbeat_us));
    }
}
