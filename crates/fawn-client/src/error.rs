//! Why there is no answer.

use fawn_kv::client::MOST_CONTINUATION_BYTES;
use fawn_kv::message::Answer;
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
    /// Nothing was done: the cluster takes no value that long.
    #[error("the value is longer than the cluster takes: split it, or start nodes with a larger --max-item-size")]
    TooLarge,
    /// Nothing was done: too few nodes that have the key live.
    #[error("too few of the nodes that keep the key live for a write: see fawn status")]
    TooFew,
    /// Nothing was done: a disk is full.
    #[error("a node that keeps the key has no room for more values: delete something, or add a node")]
    Full,
    /// Nothing was done: a disk cannot be read.
    #[error("a node cannot read what it has of the key: see its log")]
    Unreadable,
    /// Nothing was done: too much is under way.
    #[error("too much is under way for it to be taken on in time: ask for less at once")]
    Busy,
    /// Nothing was done: nobody could be asked in time.
    #[error("nobody who has the key could be asked in time")]
    Unreached,
    /// A dump does not go on. It may be taken up again later, from its last bookmark.
    #[error("nobody who has the next keys has shown them for {seconds} s: {why}")]
    Stalled {
        /// Seconds that nothing has come.
        seconds: u64,
        /// Why the last try came to nothing.
        why: &'static str,
    },
    /// A get has no answer in time.
    #[error("there was no answer in time")]
    TimedOut,
    /// A write may have been carried out, or may be yet: nobody knows.
    #[error("there was no answer in time: the write may have been carried out, or may be yet")]
    Unknown,
    /// The value there is no number. Nothing was changed.
    #[error("the value is not a number that can be counted on")]
    NotANumber,
    /// Nothing was done: the cluster is a weak one.
    #[error("this cluster was formed with --consistency weak, and takes no operation that depends on what is there")]
    Conditional,
    /// Nothing was done: what was put would have expired sooner than it should.
    #[error("the time by which the key's range lets values expire is ahead of the clock: try again in half a minute")]
    Ahead,
    /// Nothing was done: the other side is of another release, or broken.
    #[error("the cluster's answer makes no sense to this client: run the same release on both sides")]
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
            Answer::Ahead { .. } => Self::Ahead,
            _ => Self::Busy,
        }
    }
}
