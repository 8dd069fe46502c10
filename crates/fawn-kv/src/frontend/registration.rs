//! What a front-end is to the manager: its life, its heartbeats, and its questions for the map.

use crate::ids::Incarnation;
use std::collections::VecDeque;

/// Between two questions who is in which chain, where the answer to the first was news. While answers are none, each time
/// twice as long, up to as long as if there had been no answer.
pub(super) const VIEW_US: u64 = 10_000;

/// What a front-end is to the manager.
#[derive(Debug)]
pub(super) struct Life {
    /// Names this start.
    pub(super) nonce: u64,
    /// `None` until the manager has said.
    pub(super) incarnation: Option<Incarnation>,
    /// Number and time of the heartbeats that were sent last.
    pub(super) heartbeats: VecDeque<(u64, u64)>,
    pub(super) next_heartbeat: u64,
    /// When it last asked who is in which chain, and from when on it may ask again.
    pub(super) asked_view_us: Option<u64>,
    pub(super) view_after_us: u64,
    /// For so long after the last answer it does not ask.
    pub(super) view_gap_us: u64,
    /// It asks as soon as it may.
    pub(super) wants_view: bool,
    /// No other member answers.
    pub(super) is_cut_off: bool,
}

impl Life {
    pub(super) fn new(nonce: u64) -> Self {
        Self {
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

    /// Who is in which chain was answered: whoever wants to know more need not wait as long as if it had been lost.
    pub(super) fn answered_view(&mut self, now_us: u64, is_news: bool) {
        self.view_gap_us = if is_news { VIEW_US } else { self.view_gap_us.saturating_mul(2) };
        self.view_after_us = self.view_after_us.min(now_us.saturating_add(self.view_gap_us));
    }

    /// Whether the manager has numbered it.
    pub(super) fn has_begun(&self) -> bool {
        self.incarnation.is_some()
    }
}
