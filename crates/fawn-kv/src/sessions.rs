//! What a range remembers of the requests that it has carried out, so that none is ever carried out twice.

use crate::entry::{Asked, Entry};
use crate::ids::{RequestId, Seq};
use crate::operation::Outcome;
use crate::planted::{Bug, planted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: it may be carried out.
    New,
    /// It was carried out by the record with this number.
    Done(Seq, Outcome),
    /// The session has said that it was answered.
    Answered,
}

/// The requests of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Session {
    /// Up to this number all are answered.
    answered: u64,
    /// Those above it that were carried out, each by itself: not only the highest.
    done: BTreeMap<u64, (Seq, Outcome)>,
}

/// The committed requests of a range, by session. The same on every replica that has committed as far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions(BTreeMap<u64, Session>);

impl Sessions {
    /// What is known of a request.
    pub fn known(&self, id: RequestId) -> Known {
        let Some(session) = self.0.get(&id.session) else { return Known::New };
        match session.done.get(&id.number) {
            Some((seq, outcome)) => Known::Done(*seq, *outcome),
            None if id.number <= session.answered => Known::Answered,
            None => Known::New,
        }
    }

    /// Notes what a committed record answers.
    pub fn commit(&mut self, entry: &Entry) {
        let Some(Asked { id, answered, outcome, .. }) = entry.asked else { return };
        let session = self.0.entry(id.session).or_default();
        if answered > session.answered {
            session.answered = answered;
            session.done = session.done.split_off(&(answered + 1));
        }
        if id.number > session.answered {
            let before = session.done.insert(id.number, (entry.position.seq, outcome));
            let twice = planted(Bug::NoDedupe) || planted(Bug::CopyLosesSessions) || planted(Bug::AnsweredExecutes);
            assert!(before.is_none() || twice, "at most one record of a request is committed");
        }
    }
}
