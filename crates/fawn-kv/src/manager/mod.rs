//! The manager: the one that decides who is in which chain (FAWN SOSP'09 §3.4.1, §3.4.4).
//!
//! # Layout
//!
//! * [`State`]: what is decided: a deterministic state machine, fed by an ordered log of [`Command`]s.
//! * [`Manager`]: what its leader does: hears nodes, grants leases, plans changes and drives them to their end.
//! * `recovered`: going on after decisions that were lost.
//! * `foresee`: what would change if nodes left.
//! * `adopt`: how the first ranges come to be what a plain directory holds.
//! * `outages`: which nodes do not hear each other.
//! * `snapshot`: the bytes of both, as managers keep them.
//! * [`Wedges`]: which front-end owns which wedge of the key space, and how it passes to another; `near`: one that is near its
//!   keys.

mod adopt;
mod drive;
mod farewell;
mod foresee;
mod lead;
mod lease;
mod near;
mod outages;
mod plan;
mod recovered;
mod settings;
mod snapshot;
mod state;
mod wedges;

pub use adopt::Adopted;
pub use lead::{Effects, Manager};
pub use recovered::Waits;
pub use settings::{
    Leases, MOST_LEASE_US, MOST_REPLICAS, MOST_VIRTUAL_IDS, Settings, SettingsError, check_virtual_ids,
};
pub use snapshot::{KeptError, NEWEST, VERSION};
pub use state::{Command, Into, Over, Pending, Range, Registered, Standing, State};
pub use wedges::{Wedge, Wedges};
pub(crate) use wedges::{numbered, wedge_at};
