//! What the loops of a phase share.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use crate::newest::Newest;
use crate::plan::LoadPlan;
use crate::versions::KeyVersions;

/// What all loops of a phase share.
pub struct PhaseContext<'a> {
    /// What is asked for.
    pub plan: &'a LoadPlan,
    /// Which versions there may be.
    pub versions: &'a KeyVersions,
    /// What all loops have written last.
    pub newest: Newest,
    /// When the phase began; times are nanoseconds after this.
    pub began: Instant,
    /// When measuring begins and ends. A load, and a number of operations, end when all is done.
    pub window: std::ops::Range<u64>,
    /// The entry whose value the server shows for every key, with its version; `None`: a real server.
    pub shown: Option<(u64, u32)>,
    /// Operations answered so far, of all loops.
    pub answered: AtomicU64,
    /// One loop has failed: all end.
    pub stop: AtomicBool,
}
