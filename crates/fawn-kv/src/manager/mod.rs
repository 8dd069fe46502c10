//! The manager: the one that decides who is in which chain (FAWN SOSP'09 §3.4.1, §3.4.4).
//!
//! # Layout
//!
//! * [`State`]: what is decided: a deterministic state machine, fed by an ordered log of [`Command`]s. `settings`: the operator's.
//! * [`Manager`] (`leader`): what the leader does: it passes messages, decisions and time to the parts below, each of which owns
//!   what it knows. `view`: what all of them may read. `effects`: what they want done.
//! * `liveness`: which nodes the leader hears, and so which are dead. `connectivity`: which of them had better not be in one chain,
//!   by `link_failures`: which nodes do not hear each other.
//! * `plan`: who should be in which chain. `attempts`: a change of a chain, from the first order to the last.
//!   `range_proposals`: what waits for the managers' log. `placement_preview`: what would change if nodes left.
//!   `notices`: what is said of what was decided.
//! * `lease`: leases of nodes. `questions`: whether this manager still leads. `recovery`: going on after decisions that were
//!   lost.
//! * [`Wedges`] (`wedge_state`): which front-end owns which wedge of the key space. `wedges`: how one passes to another.
//!   `frontends`: whom of them the leader hears. `wedge_lease`: their leases. `wedge_locality`: an owner that is near the
//!   wedge's keys.
//! * `adopt`, `offers`: how the first ranges come to be what a plain directory holds. [`roster`]: members by name.
//!   `snapshot`: the bytes of the decided state, as managers keep them.
//!
//! # Members that stop and say so
//!
//! A node that is asked to stop would be out of its chains as late as one that was killed: it is missed a second later, and
//! could then have a lease for another. But it knows that it answers nothing any more. Its farewell ends the life by a
//! command, so that whoever leads next knows, too. What is lost or comes late does no harm.

mod adopt;
mod attempts;
mod connectivity;
mod effects;
mod frontends;
mod leader;
mod lease;
mod link_failures;
mod liveness;
mod notices;
mod offers;
mod placement_preview;
mod plan;
mod questions;
mod range_proposals;
mod recovery;
pub mod roster;
mod settings;
mod snapshot;
mod state;
mod view;
mod wedge_lease;
mod wedge_locality;
mod wedge_state;
mod wedges;

pub use effects::Effects;
pub use leader::Manager;
pub use recovery::Waits;
pub use settings::{
    Leases, MOST_LEASE_US, MOST_REPLICAS, MOST_VIRTUAL_IDS, Settings, SettingsError, check_virtual_ids,
};
pub use snapshot::{KeptError, NEWEST, VERSION};
pub use state::{Adopted, Command, Into, NodeRegistration, Over, Pending, Range, Standing, State};
pub use wedge_state::Wedges;
