//! A front-end's own session, for those that keep none: it numbers what they ask, and says how far all is answered.
//!
//! A session's name begins with the second at which it began, and ranges forget old ones. So it is given another name now
//! and then; numbers go on, so that none comes twice under one name.

use crate::ids::RequestId;
use std::collections::BTreeSet;

/// The session.
#[derive(Debug)]
pub(super) struct Session {
    /// The lower half of its names, which nobody else has.
    low: u32,
    name: u64,
    /// The Unix second in its name; `None` before the first use.
    began: Option<u32>,
    next: u64,
    /// Numbers that are not answered.
    open: BTreeSet<u64>,
}

impl Session {
    pub(super) fn new(low: u32) -> Self {
        Self { low, name: 0, began: None, next: 1, open: BTreeSet::new() }
    }

    /// Names a request; `idle_s` is how long ranges remember sessions that are not used.
    pub(super) fn number(&mut self, unix: u32, idle_s: u32) -> RequestId {
        if self.began.is_none_or(|began| unix >= began.saturating_add(idle_s / 2)) {
            self.begin(unix);
        }
        let number = self.next;
        self.next += 1;
        self.open.insert(number);
        RequestId { session: self.name, number }
    }

    /// A range whose time is `time` has forgotten the session.
    pub(super) fn forgotten(&mut self, session: u64, time: u32) {
        if session == self.name {
            self.begin(self.began.map_or(time, |began| time.max(began + 1)));
        }
    }

    fn begin(&mut self, unix: u32) {
        self.began = Some(unix);
        self.name = u64::from(unix) << 32 | u64::from(self.low);
    }

    /// Up to here all is answered.
    pub(super) fn answered(&self) -> u64 {
        self.open.first().map_or(self.next, |open| *open) - 1
    }

    /// A request is answered, or given up.
    pub(super) fn ended(&mut self, number: u64) {
        self.open.remove(&number);
    }
}
