//! How many descriptors the process may keep open for files: half of what the system lets it have, because sockets
//! need some too.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

static OPEN: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(512);
static RAISED: Once = Once::new();

/// Raises the process's limit on descriptors as far as it may, once: a store has thousands of files.
pub fn raise_limit() {
    RAISED.call_once(|| {
        let old = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: old.maximum, maximum: old.maximum };
        let current = if setrlimit(Resource::Nofile, raised).is_ok() { old.maximum } else { old.current };
        let limit = current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        LIMIT.store((limit / 2).max(64), Ordering::Relaxed);
    });
}

/// Whether another file may be kept open without closing one.
pub fn has_room() -> bool {
    OPEN.load(Ordering::Relaxed) < LIMIT.load(Ordering::Relaxed)
}

/// A file was opened.
pub fn opened() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// A file was closed.
pub fn closed() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}
