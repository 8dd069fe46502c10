//! What operations there are, and how often each of them is drawn.

use fawn_memcache::client::RequestKind;

/// What a request is for: an operation of its own, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPurpose {
    /// The value of a key.
    Get,
    /// Another value for a key.
    Set,
    /// The first value of a key.
    Insert,
    /// The first half of a modify: the value that there is.
    ModifyGet,
    /// Its second half, asked for once the first is answered: another value in its place.
    ModifySet,
}

impl RequestPurpose {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// What is sent.
    #[inline]
    pub fn asked(self) -> RequestKind {
        match self {
            Self::Get | Self::ModifyGet => RequestKind::Get,
            Self::Set | Self::Insert | Self::ModifySet => RequestKind::Set,
        }
    }

    /// Whether it is half of a modify.
    #[inline]
    pub fn is_half(self) -> bool {
        matches!(self, Self::ModifyGet | Self::ModifySet)
    }
}

/// Shares of the operations, each from 0 to 1, and at most 1 together; what is left are gets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix {
    /// Sets of keys that are loaded.
    pub sets: f64,
    /// Sets of new keys.
    pub inserts: f64,
    /// Gets, each followed by a set of the same key.
    pub modifies: f64,
}

impl Mix {
    /// Sets, and gets.
    pub fn of_sets(share: f64) -> Self {
        Self { sets: share, ..Self::default() }
    }

    /// The share of gets, 0 to 1.
    pub fn gets(&self) -> f64 {
        (1.0 - self.sets - self.inserts - self.modifies).max(0.0)
    }

    /// Whether values that are loaded are ever replaced.
    pub fn replaces(&self) -> bool {
        self.sets > 0.0 || self.modifies > 0.0
    }
}
