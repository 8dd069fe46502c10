//! [`Bell`]: threads sleep until it rings.
//!
//! Ringing costs a system call only when somebody sleeps, and wakes all sleepers with one call; nobody needs a lock to
//! wake up, so that dozens of threads that wait for one sync do not queue for a mutex afterwards.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;
use rustix::time::Timespec;

/// Something to wait for. Look at it with [`listen`](Self::listen) *before* testing the condition, then
/// [`wait`](Self::wait) with what was seen.
#[derive(Debug, Default)]
pub struct Bell {
    rings: AtomicU32,
    sleepers: AtomicU32,
}

impl Bell {
    /// How often it has rung (wrapping).
    #[inline]
    pub fn listen(&self) -> u32 {
        self.rings.load(Ordering::SeqCst)
    }

    /// Sleeps until it has rung since it was `heard`, or the time is over; may wake without reason.
    pub fn wait(&self, heard: u32, timeout: Option<Duration>) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // All failures are reasons to look again: it rang, a signal came, the time is over.
        let _ = futex::wait(&self.rings, futex::Flags::PRIVATE, heard, timeout.as_ref());
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes all sleepers; whether there were any.
    #[inline]
    pub fn ring(&self) -> bool {
        self.rings.fetch_add(1, Ordering::SeqCst);
        let any = self.sleepers.load(Ordering::SeqCst) > 0;
        if any {
            let _ = futex::wake(&self.rings, futex::Flags::PRIVATE, i32::MAX.cast_unsigned());
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_ring_between_listening_and_waiting_is_not_lost() {
        let bell = Bell::default();
        let heard = bell.listen();
        bell.ring();
        bell.wait(heard, None);
    }

    #[test]
    fn every_sleeper_wakes() {
        let (bell, count) = (Arc::new(Bell::default()), Arc::new(AtomicU32::new(0)));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (bell, count) = (Arc::clone(&bell), Arc::clone(&count));
                std::thread::spawn(move || {
                    for round in 0..1000 {
                        loop {
                            let heard = bell.listen();
                            if count.load(Ordering::SeqCst) > round {
                                break;
                            }
                            bell.wait(heard, None);
                        }
                    }
                })
            })
            .collect();
        for _ in 0..1000 {
            count.fetch_add(1, Ordering::SeqCst);
            bell.ring();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_wait_ends_with_its_time() {
        let bell = Bell::default();
        bell.wait(bell.listen(), Some(Duration::from_millis(5)));
    }
}
