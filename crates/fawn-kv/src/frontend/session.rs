//! A front-end's own sessions, for those that keep none: they number what they ask, and say how far all is answered.
//!
//! There is one for each range, so that a request that is stuck in one range has no other remember what is answered long
//! since. Ranges are split and merged: a request keeps its name, wherever it goes.
//!
//! A session's name begins with the second at which it began, and ranges forget old ones. So it is given another name now
//! and then; numbers go on, so that none comes twice under one name.

use crate::ids::{RangeId, RequestId};
use crate::range::sequence_map::SequenceMap;
use std::collections::BTreeMap;

/// Sessions that a front-end has, at most: of more ranges than that, some share one.
pub(crate) const SESSIONS: u32 = 256;

/// One session.
#[derive(Debug, Default)]
struct Session {
    name: u64,
    /// The Unix second in its name; `None` before the first use.
    began: Option<u32>,
    /// Numbers so far.
    last: u64,
    /// Numbers that are not answered.
    open: SequenceMap<()>,
}

/// All sessions of a front-end.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// The lower half of the first one's names; the others follow. Nobody else has any of them.
    low: u32,
    /// By what is added to it.
    by: BTreeMap<u32, Session>,
}

impl Sessions {
    pub(crate) fn new(low: u32) -> Self {
        Self { low, by: BTreeMap::new() }
    }

    /// Names a request on keys of a range, or on those of many; `idle_s` is how long ranges remember sessions that are not
    /// used.
    pub(crate) fn number(&mut self, range: Option<RangeId>, unix: u32, idle_s: u32) -> RequestId {
        let at = range.map_or(0, |range| 1 + range.0 % (SESSIONS - 1));
        let low = self.low.wrapping_add(at);
        let session = self.by.entry(at).or_default();
        if session.began.is_none_or(|began| unix >= began.saturating_add(idle_s / 2)) {
            session.begin(unix, low);
        }
        session.last += 1;
        session.open.insert(session.last, ());
        RequestId { session: session.name, number: session.last }
    }

    /// A range whose time is `time` has forgotten the session.
    pub(crate) fn forgotten(&mut self, name: u64, time: u32) {
        let low = name as u32;
        if let Some(session) = self.of(name).filter(|session| session.name == name) {
            session.begin(session.began.map_or(time, |began| time.max(began.saturating_add(1))), low);
        }
    }

    /// Up to here all of a session's requests are answered.
    pub(crate) fn answered(&self, name: u64) -> u64 {
        let session = self.by.get(&self.place(name)).expect("a request has a session");
        session.open.first().map_or(session.last, |open| open - 1)
    }

    /// As far as a request's session is answered; `None`: it is one of these sessions.
    pub(crate) fn answered_up_to(&self, id: RequestId, answered: Option<u64>) -> u64 {
        answered.unwrap_or_else(|| self.answered(id.session))
    }

    /// A request is answered, or given up.
    pub(crate) fn ended(&mut self, id: RequestId) {
        if let Some(session) = self.of(id.session) {
            session.open.remove(id.number);
        }
    }

    fn place(&self, name: u64) -> u32 {
        (name as u32).wrapping_sub(self.low)
    }

    fn of(&mut self, name: u64) -> Option<&mut Session> {
        self.by.get_mut(&self.place(name))
    }
}

impl Session {
    fn begin(&mut self, unix: u32, low: u32) {
        self.began = Some(unix);
        self.name = u64::from(unix) << 32 | u64::from(low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_stuck_holds_back_what_is_said_to_be_answered_in_its_own_range_alone() {
        let mut sessions = Sessions::new(u32::MAX - 5);
        let mut number = |range| sessions.number(range, 1000, 3600);
        let (stuck, other) = (number(Some(RangeId(7))), number(Some(RangeId(8))));
        let (same, of_many) = (number(Some(RangeId(7))), number(None));
        for id in [other, same, of_many] {
            sessions.ended(id);
        }
        assert_eq!((stuck.session, stuck.number), (same.session, same.number - 1));
        assert_eq!(sessions.answered(stuck.session), stuck.number - 1);
        assert_eq!(sessions.answered(other.session), other.number);
        assert_eq!(sessions.answered(of_many.session), of_many.number);
        sessions.ended(stuck);
        assert_eq!(sessions.answered(stuck.session), same.number);
    }

    #[test]
    fn a_session_that_was_forgotten_goes_on_under_a_later_name_and_no_number_comes_twice() {
        let mut sessions = Sessions::new(77);
        let first = sessions.number(None, 1000, 3600);
        sessions.forgotten(first.session, 900);
        let second = sessions.number(None, 1000, 3600);
        assert_eq!((second.session >> 32, second.number), (1001, 2));
        sessions.forgotten(first.session, 5000);
        assert_eq!(sessions.number(None, 1000, 3600).session, second.session, "an old name is forgotten anyhow");
    }
}
