//! What a client asks, and what became of it.

use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::ids::{RangeId, RequestId};
use fawn_ring::Interval;

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A key, by its number.
    Key(u64),
    /// So many keys from one on: a multi-get.
    Keys(u64, u64),
    /// All keys of a range: a flush.
    Range(RangeId, Interval),
    /// All keys there are: a flush through front-ends.
    All,
}

impl About {
    /// Whether it is a flush that is about it.
    pub fn is_flush(self) -> bool {
        matches!(self, Self::Range(..) | Self::All)
    }
}

/// How an operation is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As clients of memcached do.
    #[default]
    Whole,
    /// As a view or an edit of a string.
    Part,
    /// As a view or an edit of a hash, in which a field is the value.
    Field,
}

/// What a client has asked.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The request, the same at every try: an answer to any of them will do.
    pub id: RequestId,
    /// What it is about.
    pub about: About,
    /// What was asked, as the checker has it.
    pub operation: KvOperation,
    /// How it was asked.
    pub form: Form,
    /// It gets by way of the head, which sets another expiry.
    pub by_head: bool,
    /// Unix second at which the value that it stores or touches expires; 0 for never, or for none that is set. A delete
    /// with one is a touch.
    pub expiry: u32,
    /// Unix second at which what it flushes is gone; 0 for now.
    pub due: u32,
    /// When it began.
    pub began_us: u64,
    /// When it was last tried; 0: it is to be tried.
    pub tried_us: u64,
    /// How often it was tried.
    pub tries: u64,
    /// It is given up after so long.
    pub give_up_us: u64,
}

/// What became of an operation.
#[derive(Debug)]
pub enum Conclusion {
    /// It was answered, for each key, or for all the same.
    Answered(Asking, Vec<KvOutcome>),
    /// Nobody knows.
    GivenUp(Asking),
    /// It was carried out, but what it has shown is not known any more.
    ShownNoMore(Asking),
}
