//! Why a run ended early, each with what to do next.

use std::io;
use std::time::Duration;

use fawn_meter::MeterError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum LoadgenError {
    /// No connection.
    #[error("cannot connect to {target} ({source}): is a server listening there?")]
    Connect {
        /// The server.
        target: String,
        /// What the system says.
        source: io::Error,
    },
    /// The server hung up.
    #[error(
        "{target} closed a connection that had {in_flight} requests in flight, after {answers} answers on \
        it{refused}: see its log"
    )]
    Closed {
        /// The server.
        target: String,
        /// Requests without an answer.
        in_flight: usize,
        /// Answers before.
        answers: u64,
        /// What it had refused, for people; empty: nothing.
        refused: String,
    },
    /// The connection broke.
    #[error("a connection to {target} broke: {source}")]
    Broken {
        /// The server.
        target: String,
        /// What the system says.
        source: io::Error,
    },
    /// No answer came.
    #[error(
        "{target} sent no reply for {} s, with {in_flight} requests in flight on a connection: it hangs, or needs a \
        longer --timeout",
        waited.as_secs_f64()
    )]
    Silent {
        /// The server.
        target: String,
        /// For so long.
        waited: Duration,
        /// Requests without an answer.
        in_flight: usize,
    },
    /// A server has fallen silent while it was measured.
    #[error(
        "{target} answered nothing for {:.1} s, with {unanswered} requests waiting for it: it hangs; see its log, and \
        restart it",
        waited.as_secs_f64()
    )]
    NoReplies {
        /// The server.
        target: String,
        /// Requests without an answer.
        unanswered: u64,
        /// For so long.
        waited: Duration,
    },
    /// Every answer was wrong.
    #[error("the servers gave no right answer, so that there is no capacity to measure; the first was: {first}")]
    NoCapacity {
        /// The first of them, for people.
        first: String,
    },
    /// More connections than the process may have.
    #[error(
        "{connections} connections need {needed} open files, and this process may have {most}: raise the limit \
        (ulimit -n), or give fewer --connections"
    )]
    Descriptors {
        /// How many.
        connections: usize,
        /// Open files that they need, with those that the process has besides.
        needed: u64,
        /// Open files at most.
        most: u64,
    },
    /// An answer that is none.
    #[error(
        "{target} answered a {asked} with {said:?}, which is no reply in the {protocol} protocol: does the server \
        speak another --protocol?"
    )]
    Garbage {
        /// The server.
        target: String,
        /// `get` or `set`.
        asked: &'static str,
        /// The beginning of what it said.
        said: String,
        /// Which protocol was spoken.
        protocol: &'static str,
    },
    /// The server does not know the user.
    #[error("{target} answered the authentication with {said:?}: check --user and --password-file")]
    Authentication {
        /// The server.
        target: String,
        /// What it said.
        said: String,
    },
    /// A load that is not complete.
    #[error("{count} of {keys} sets of the load were refused, the first was {first}; nothing was measured")]
    Refused {
        /// How many.
        count: u64,
        /// Of so many.
        keys: u64,
        /// The first, with what the server said.
        first: String,
    },
    /// More keys than can be kept track of.
    #[error(
        "to verify gets after sets the generator needs 8 bytes of DRAM per key, {needed} for {keys} keys, and \
        {available} are available: give fewer --keys, or measure gets alone"
    )]
    Memory {
        /// How many.
        keys: u64,
        /// What they need, for people.
        needed: String,
        /// What there is, for people.
        available: String,
    },
    /// A process whose CPU time was to be told.
    #[error("cannot read the CPU time of process {pid} ({source}): name running processes with --server-pid")]
    Process {
        /// Its number.
        pid: u32,
        /// What the system says.
        source: io::Error,
    },
    /// The server that does nothing.
    #[error("cannot listen on {address} ({source}): choose another --listen")]
    Listen {
        /// Where.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The meter has failed.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The system refused something that a loop needs.
    #[error("the system refused the generator's resources ({0}): try fewer --connections")]
    System(io::Error),
}

impl From<rustix::io::Errno> for LoadgenError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::System(errno.into())
    }
}
