//! What the loops of a phase share.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::idle::{IdleStats, IdleTracker};
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
    /// Until when answers are waited for.
    pub last_answer_ns: u64,
    /// When no request is under way; `None`: that is not measured.
    pub idle: Option<Mutex<IdleTracker>>,
}

impl PhaseContext<'_> {
    /// Whether requests that were due before the end are sent, and answers awaited, for a time after it.
    pub fn has_grace(&self) -> bool {
        self.last_answer_ns < u64::MAX
    }

    /// Does this with what follows the requests that are under way, if anything does.
    #[inline]
    pub fn follow(&self, note: impl FnOnce(&mut IdleTracker)) {
        if let Some(idle) = &self.idle {
            note(&mut idle.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The idle stretches, once all loops have ended.
    pub fn idle_stats(self) -> Option<IdleStats> {
        self.idle.map(|idle| idle.into_inner().unwrap_or_else(PoisonError::into_inner).finish())
    }
}
