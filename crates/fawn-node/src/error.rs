//! Why a node does not start, or stopped.

use std::io;
use std::path::PathBuf;

/// Why [`serve`](crate::serve) failed. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address that cannot be understood or resolved.
    #[error("cannot listen on '{address}': {source}; give HOST:PORT, e.g. 127.0.0.1:11211")]
    Address {
        /// As given.
        address: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// Another process listens there.
    #[error("{address} is already in use by another process; stop it, or choose another with {flag}")]
    InUse {
        /// The address or path.
        address: String,
        /// The flag that says where to listen instead.
        flag: &'static str,
    },
    /// Any other failure to listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address or path.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Listening to the world without protection.
    #[error(
        "{address} can be reached from other machines, and {missing}; set {missing_options}, listen on 127.0.0.1, or \
         pass --insecure if the network is trusted"
    )]
    Exposed {
        /// The address.
        address: String,
        /// What is missing, as a clause.
        missing: &'static str,
        /// The options that would add it.
        missing_options: &'static str,
    },
    /// There is nothing to listen on.
    #[error("there is nothing to listen on; give --listen or --unix")]
    NoListener,
    /// The authentication file.
    #[error("cannot use the authentication file {path}: {what}")]
    AuthFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A certificate or key file.
    #[error(transparent)]
    Tls(#[from] fawn_tls::TlsError),
    /// The stores could not be opened.
    #[error("{0}")]
    Open(String),
    /// A store stopped: a write or sync of its log failed. Nothing that was acknowledged is lost unless the device
    /// lost it.
    #[error("{0}; the node has stopped, check the device and its kernel log, then start again")]
    Stopped(String),
    /// It ran well, and its cluster has no place for it any more. The sentence says what to do.
    #[error("{0}")]
    Ousted(String),
    /// Another process listens where this one was to, since its stores were opened. The sentence says what to do.
    #[error("{0}")]
    Unheard(String),
    /// The managers of the cluster will not have it.
    #[error("the managers refuse this process: {0}")]
    Refused(String),
    /// Others cannot be told where to call.
    #[error("other processes cannot call {address}: give another address with --advertise HOST:PORT")]
    Advertise {
        /// Where it listens.
        address: String,
    },
    /// It was told to stop before it had begun.
    #[error("stopped before anything was served")]
    Interrupted,
    /// The process may not open what it needs.
    #[error(
        "the system allows this process {limit} open files, too few to serve a client; raise the hard limit (ulimit \
        -Hn, LimitNOFILE=) to 1024 or more"
    )]
    Descriptors {
        /// Its limit.
        limit: usize,
    },
    /// The system refused something that every node needs.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl ServeError {
    /// For `map_err`.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::System { doing, source: source.into() }
    }
}
