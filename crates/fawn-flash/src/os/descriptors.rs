//! Descriptors of the process: how many it may have, and which part of them is the stores'.
//!
//! A store that cannot open a file can neither seal nor merge, so its descriptors are set aside before clients get any:
//! half of what the system allows, up to [`FILES`]. Who serves connections takes no more than [`for_sockets`].

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that are kept for files, where the system allows twice as many.
pub const FILES: usize = 4096;

/// What the system allows is taken for this where it sets no limit.
const MOST: usize = 1 << 30;

static OPEN: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(1024);
static RAISED: Once = Once::new();

/// Raises the process's limit on descriptors as far as it may, once; what it is then.
pub fn raise_limit() -> usize {
    RAISED.call_once(|| {
        let old = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: old.maximum, maximum: old.maximum };
        let current = if setrlimit(Resource::Nofile, raised).is_ok() { old.maximum } else { old.current };
        let limit = current.map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST).min(MOST));
        LIMIT.store(limit, Ordering::Relaxed);
    });
    LIMIT.load(Ordering::Relaxed)
}

/// Of `limit` descriptors, those for sockets and whatever else is no file of a store.
pub fn for_sockets(limit: usize) -> usize {
    limit - FILES.min(limit / 2)
}

/// Whether a descriptor that was just taken for a socket leaves enough for the stores: an eighth of all, up to 512. The system
/// gives the lowest number that is free, so the number tells how many are taken, whoever has them.
pub fn leaves_room(taken: &impl AsFd) -> bool {
    let limit = raise_limit();
    usize::try_from(taken.as_fd().as_raw_fd()).is_ok_and(|number| number < limit - (limit / 8).min(512))
}

/// Whether another file may be kept open without closing one.
pub(crate) fn has_room() -> bool {
    OPEN.load(Ordering::Relaxed) < (LIMIT.load(Ordering::Relaxed) / 2).max(64)
}

/// Whether another file may be kept open for as long as it exists: half of the files' part is for those that come and go.
pub(crate) fn has_room_for_good() -> bool {
    OPEN.load(Ordering::Relaxed) < (LIMIT.load(Ordering::Relaxed) / 4).max(32)
}

/// A file was opened.
pub(crate) fn opened() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// A file was closed.
pub(crate) fn closed() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stores_have_their_part_before_anybody_else() {
        for (limit, sockets) in [(256, 128), (1024, 512), (8192, 4096), (20_000, 15_904), (MOST, MOST - FILES)] {
            assert_eq!(for_sockets(limit), sockets);
        }
        assert!(raise_limit() >= 64);
    }
}
