//! What a program can want, what becomes of it, and how long that may take.

use crate::ids::Position;
use crate::operation::Outcome;
use crate::range::entry::{Kept, Shown};
use crate::timing::Timing;
use crate::wire::Answer;

/// When a client asks again, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// After what is not answered was asked, at first and at most: each time twice as long.
    pub retry_us: (u64, u64),
    /// After it was refused, the same.
    pub refused_us: (u64, u64),
    /// A front-end that could not be reached is left alone for so long, where there are others.
    pub avoid_us: u64,
    /// Where there are none, it is called again after this, at first and at most: each time in vain twice as long.
    pub redial_us: (u64, u64),
    /// Who owns what is asked again after this, while anything is asked at all: a front-end says nothing of it when it passes
    /// on what is another's.
    pub view_us: u64,
    /// Ranges remember sessions that are not used for so many seconds.
    pub session_idle_s: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retry_us: (200_000, 1_600_000),
            refused_us: (10_000, 500_000),
            avoid_us: 300_000,
            redial_us: (50_000, 1_000_000),
            view_us: 1_000_000,
            session_idle_s: Timing::default().session_idle_s,
        }
    }
}

/// What a program wants of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// To see it.
    Get,
    /// The same, and front-ends remember nothing of it: these bytes travel with the request and come back with the answer
    /// (FAWN-DHT, §3.2: `get(key, continuation)`). No more than [`MOST_CONTINUATION_BYTES`](super::MOST_CONTINUATION_BYTES).
    GetWith(Vec<u8>),
    /// To have an [`Operation`](crate::operation::Operation) carried out, once: its encoding.
    Write(Vec<u8>),
    /// To have all keys gone, whichever it names.
    Flush {
        /// The Unix second at which they are gone; 0 for now.
        due: u32,
    },
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// A get has found this.
    Found(Option<Kept>),
    /// A get with a continuation has found this; what came with it.
    FoundWith(Option<Kept>, Vec<u8>),
    /// The operation was carried out, once.
    Done {
        /// What it came to.
        outcome: Outcome,
        /// The record's place.
        position: Position,
        /// Where the outcome shows an item: what it shows, if that is still known.
        shown: Option<Shown>,
    },
    /// All keys are gone, or will be when that is due.
    Flushed,
    /// It was refused, at every try: nothing was done.
    Refused(Answer),
    /// Nobody could be asked: nothing was done.
    Unreached,
    /// There was no answer in time: an operation may have been carried out, or may be yet.
    Unknown,
}
