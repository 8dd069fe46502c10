//! The manager: the one that decides who is in which chain (FAWN SOSP'09 §3.4.1, §3.4.4).
//!
//! # Layout
//!
//! * [`State`]: what is decided: a deterministic state machine, fed by an ordered log of [`Command`]s. `settings`: the operator's.
//! * [`Manager`] (`leader`): what the leader does: it hears nodes, grants leases, plans changes and drives them to their end.
//! * `plan`: who should be in which chain. `attempts`: a change of a chain, from the first order to the last.
//!   `placement_preview`: what would change if nodes left. `link_failures`: which nodes do not hear each other.
//! * `lease`: leases of nodes. `questions`: whether this manager still leads. `graceful_leave`: a member stops and says so.
//!   `recovery`: going on after decisions that were lost.
//! * [`Wedges`] (`wedge_state`): which front-end owns which wedge of the key space. `wedges`: how one passes to another.
//!   `frontends`: whom of them the leader hears. `wedge_locality`: an owner that is near the wedge's keys.
//! * `adopt`, `offers`: how the first ranges come to be what a plain directory holds. [`roster`]: members by name.
//!   `snapshot`: the bytes of the decided state, as managers keep them.

mod adopt;
mod attempts;
mod frontends;
mod graceful_leave;
mod leader;
mod lease;
mod link_failures;
mod offers;
mod placement_preview;
mod plan;
mod questions;
mod recovery;
pub mod roster;
mod settings;
mod snapshot;
mod state;
mod wedge_locality;
mod wedge_state;
mod wedges;

pub use leader::{Effects, Manager};
pub use recovery::Waits;
pub use settings::{
    Leases, MOST_LEASE_US, MOST_REPLICAS, MOST_VIRTUAL_IDS, Settings, SettingsError, check_virtual_ids,
};
pub use snapshot::{KeptError, NEWEST, VERSION};
pub use state::{Adopted, Command, Into, NodeRegistration, Over, Pending, Range, Standing, State};
pub use wedge_state::Wedges;
