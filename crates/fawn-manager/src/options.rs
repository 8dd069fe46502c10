//! What a manager is started with, and why it cannot be.

use crate::consensus::state_machine::OpenError;
use fawn_admin::Board;
use fawn_kv::ids::Rules;
use fawn_kv::manager::{Leases, Settings, SettingsError};
use fawn_tls::{Material, TlsError};
use std::io;
use std::path::{Path, PathBuf};

/// Stretches that the key space is cut into for front-ends, of a cluster that begins.
pub const WEDGES: u32 = 256;

/// Entries of the log between two snapshots.
pub const SNAPSHOT_ENTRIES: u64 = 2000;

/// What a manager is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps the log; made if it does not exist.
    pub dir: PathBuf,
    /// Where it takes calls, HOST:PORT; `None`: only within the process.
    pub listen: Option<String>,
    /// Where others reach it, if that is another address.
    pub advertise: Option<String>,
    /// All managers that the group is to begin with; the others join the first of them, in the order of addresses.
    pub peers: Vec<String>,
    /// Managers of a group that it is to join; empty: none.
    pub join: Vec<String>,
    /// What a cluster begins with, if it has yet to.
    pub settings: Settings,
    /// The same: how many wedges it has.
    pub wedges: u32,
    /// A snapshot is made after so many entries of the log, and as many are kept for members that are behind.
    pub snapshot_entries: u64,
    /// How links are protected; `None`: not at all.
    pub tls: Option<Material>,
    /// It may listen beyond the loopback without protection.
    pub insecure: bool,
    /// Where the admin port finds what it tells.
    pub board: Option<Board>,
}

impl Options {
    /// A manager that only this process reaches, of a cluster with three replicas.
    pub fn new(dir: &Path) -> Self {
        let settings = Settings { replicas: 3, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        Self {
            dir: dir.to_owned(),
            listen: None,
            advertise: None,
            peers: Vec::new(),
            join: Vec::new(),
            settings,
            wedges: WEDGES,
            snapshot_entries: SNAPSHOT_ENTRIES,
            tls: None,
            insecure: false,
            board: None,
        }
    }
}

/// Why a manager cannot be started, or has stopped.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// Settings that no cluster can go by.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The directory.
    #[error("cannot use the directory {path}: {error}")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has a node's data.
    #[error("{} is the data directory of a node or of `fawn serve`: give the manager a --dir of its own", .0.display())]
    OfData(PathBuf),
    /// It is that of a cluster in one process, whose manager has another.
    #[error("{} is the directory of `fawn serve --nodes`: its manager's directory is {}", .0.display(), .1.display())]
    OfACluster(PathBuf, PathBuf),
    /// Another process has it.
    #[error("{0} is in use by another manager: stop it, or choose another directory")]
    InUse(PathBuf),
    /// What is kept there.
    #[error("cannot use the manager's files in {path}: {error}")]
    Kept {
        /// Where.
        path: PathBuf,
        /// Why.
        error: OpenError,
    },
    /// The address.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// The certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Beyond the loopback without TLS.
    #[error(
        "{0} can be reached from other machines, and TLS is off: give certificates (--certs), or pass --insecure if \
        the network is trusted"
    )]
    Unprotected(String),
    /// No address of its own.
    #[error(
        "a manager of a group needs an address that the others can reach: use --listen, and --advertise behind 0.0.0.0"
    )]
    Address,
    /// It is not one of its peers.
    #[error("{0} is not among --peers: list the addresses of all managers, including this one")]
    NotAmongPeers(String),
    /// The system refuses something.
    #[error("{what}: {error}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// No manager has begun there.
    #[error("there is no manager's log in {0}: give the --dir of a manager")]
    Empty(PathBuf),
    /// A manager has begun there.
    #[error("there is already a manager's log in {}: restore into an empty directory", .0.display())]
    NotEmpty(PathBuf),
    /// Consensus cannot begin.
    #[error("the group of managers cannot continue: {0}")]
    Group(String),
}

impl ManagerError {
    /// What is kept in a directory cannot be used.
    pub(crate) fn kept(path: &Path, error: impl Into<OpenError>) -> Self {
        Self::Kept { path: path.to_owned(), error: error.into() }
    }
}
