//! The managers of a cluster as processes: what [`fawn_kv::manager`] decides, agreed on by a group of them, and told to
//! whoever is connected.
//!
//! # Layout
//!
//! * [`options`], [`running`]: what a manager is started with, and how it runs in a thread of its own. [`directory`]: what
//!   it keeps, and where.
//! * [`replicated_state`]: what the entries of the log lead to. [`sealed`]: bytes with a version and a checksum.
//! * [`consensus`]: the log that all agree on. [`join`]: how a group comes together.
//! * [`journal`]: the file in which a manager keeps all of it. [`stall`]: what it does while that cannot be written.
//! * [`driver`]: the protocol's manager on that log, and what it answers over links. [`links`]: connections.
//! * [`operator`]: asking managers, for programs that wait for the answer.
//! * [`metrics`]: what the admin port tells.
//! * [`mod@recover`]: the way back from a majority that is lost for good. [`backup`]: the same after all are.
//! * [`clock`]: time and chance.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod backup;
pub mod clock;
pub mod consensus;
pub mod directory;
pub mod driver;
pub mod join;
pub mod journal;
pub mod links;
pub mod metrics;
pub mod operator;
pub mod options;
pub mod recover;
pub mod replicated_state;
pub mod running;
pub mod sealed;
pub mod stall;

pub use backup::{Backup, BackupError};
pub use directory::kept_address;
pub use links::stream::Tls;
pub use operator::{Operator, OperatorError};
pub use options::{ManagerError, Options};
pub use recover::{RecoverySummary, recover};
pub use running::{Running, start};
