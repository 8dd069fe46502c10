//! Why there is no answer.

use fawn_kv::client::{MOST_CONTINUATION_BYTES, MOST_WRITE_BYTES};
use fawn_kv::wire::Answer;
use fawn_tls::TlsError;
use std::time::Duration;

/// Why a client cannot connect.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No address is known.
    #[error("no address is given: name a manager of the cluster, HOST:PORT")]
    Nobody,
    /// The certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The cluster has not told in time what a client has to know.
    #[error("the cluster does not answer within {time:?}; the last try: {last}")]
    NoAnswer {
        /// How long it was tried.
        time: Duration,
        /// What came of the last try.
        last: String,
    },
    /// The system refuses something.
    #[error("cannot start a client: {0}")]
    System(#[from] std::io::Error),
}

/// Why an operation has no answer, and whether it was carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing was done: no key has so many bytes.
    #[error("a key has 1 to 65535 bytes, not {0}")]
    Key(usize),
    /// Nothing was done: no continuation has so many bytes.
    #[error("a continuation has at most {MOST_CONTINUATION_BYTES} bytes, not {0}")]
    Continuation(usize),
    /// Nothing was sent: no cluster can take so many bytes of key and value at a time.
    #[error("a write has at most {MOST_WRITE_BYTES} bytes of key and value, not {0}: split the value")]
    Oversize(usize),
    /// Nothing was done: the cluster takes no value that long.
    #[error("the value is too long for the cluster: split it, or start nodes with a larger --max-item-size")]
    TooLarge,
    /// Nothing was done: too few nodes that have the key live.
    #[error("too few replicas of the key are up for a write: see fawn status")]
    TooFew,
    /// Nothing was done: a disk is full.
    #[error("a node of the key's chain has no room for more values: delete something, or add a node")]
    Full,
    /// Nothing was done: a disk cannot be read.
    #[error("a node cannot read its record of the key: see its log")]
    Unreadable,
    /// Nothing was done: too much is under way.
    #[error("too many requests are in flight to start this one in time: send fewer at once")]
    Busy,
    /// Nothing was done: nobody could be asked in time.
    #[error("no node of the key's chain answered in time: see fawn status")]
    Unreached,
    /// A dump does not go on. It may be taken up again later, from its last bookmark.
    #[error("no node of the next keys has sent them for {seconds} s: {why}")]
    Stalled {
        /// Seconds that nothing has come.
        seconds: u64,
        /// Why the last try came to nothing.
        why: &'static str,
    },
    /// A get has no answer in time.
    #[error("no answer in time: retry")]
    TimedOut,
    /// A write may have been carried out, or may be yet: nobody knows.
    #[error("outcome unknown: the write may have been applied, or may be yet; read the key before retrying")]
    Unknown,
    /// The value there is no number. Nothing was changed.
    #[error("the value is not a number that can be incremented")]
    NotANumber,
    /// Nothing was done: the cluster is a weak one.
    #[error(
        "this cluster was created with --consistency weak, and refuses operations that depend on the current value"
    )]
    Conditional,
    /// Nothing was done: some process of the cluster is of an older release.
    #[error("not all processes of the cluster are of a release that has this operation: upgrade them, see fawn status")]
    NeedsUpgrade,
    /// Nothing was done: what was put would have expired sooner than it should.
    #[error("the expiry clock of the key's range is ahead of the system clock: retry in half a minute")]
    Ahead,
    /// Nothing was done: the other side is of another release, or broken.
    #[error("the client cannot decode the cluster's reply: run the same release on both sides")]
    Malformed,
}

impl Error {
    /// Whether it is certain that nothing was changed, nor will be.
    pub fn is_certain(&self) -> bool {
        *self != Self::Unknown
    }

    /// A refusal.
    pub(crate) fn refused(answer: &Answer) -> Self {
        match answer {
            Answer::TooLarge => Self::TooLarge,
            Answer::TooFew => Self::TooFew,
            Answer::Full => Self::Full,
            Answer::Unreadable => Self::Unreadable,
            Answer::Malformed => Self::Malformed,
            Answer::Conditional => Self::Conditional,
            Answer::NeedsUpgrade => Self::NeedsUpgrade,
            Answer::Ahead { .. } => Self::Ahead,
            _ => Self::Busy,
        }
    }
}
