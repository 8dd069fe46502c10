//! [`Notify`]: threads sleep until another thread notifies them.
//!
//! A notification costs a system call only if a thread sleeps, and wakes all sleepers with one call. They need no lock to
//! wake up, so dozens of threads that wait for one sync do not queue for a mutex afterwards.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;
use rustix::time::Timespec;

/// Something to wait for. Look at it with [`listen`](Self::listen) *before* testing the condition, then
/// [`wait`](Self::wait) with what was seen.
#[derive(Debug, Default)]
pub struct Notify {
    count: AtomicU32,
    sleepers: AtomicU32,
}

impl Notify {
    /// The number of notifications so far (wrapping).
    #[inline]
    pub fn listen(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    /// Sleeps until there are more notifications than `heard`, or the time is over. May wake without reason.
    pub fn wait(&self, heard: u32, timeout: Option<Duration>) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // All failures are reasons to look again: there was a notification, a signal came, the time is over.
        let _ = futex::wait(&self.count, futex::Flags::PRIVATE, heard, timeout.as_ref());
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes all sleepers; whether there were any.
    #[inline]
    pub fn notify(&self) -> bool {
        self.count.fetch_add(1, Ordering::SeqCst);
        let any = self.sleepers.load(Ordering::SeqCst) > 0;
        if any {
            let _ = futex::wake(&self.count, futex::Flags::PRIVATE, i32::MAX.cast_unsigned());
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_notification_between_listening_and_waiting_is_not_lost() {
        let notify = Notify::default();
        let heard = notify.listen();
        notify.notify();
        notify.wait(heard, None);
    }

    #[test]
    fn every_sleeper_wakes() {
        let (notify, count) = (Arc::new(Notify::default()), Arc::new(AtomicU32::new(0)));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (notify, count) = (Arc::clone(&notify), Arc::clone(&count));
                std::thread::spawn(move || {
                    for round in 0..1000 {
                        loop {
                            let heard = notify.listen();
                            if count.load(Ordering::SeqCst) > round {
                                break;
                            }
                            notify.wait(heard, None);
                        }
                    }
                })
            })
            .collect();
        for _ in 0..1000 {
            count.fetch_add(1, Ordering::SeqCst);
            notify.notify();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_wait_ends_with_its_time() {
        let notify = Notify::default();
        notify.wait(notify.listen(), Some(Duration::from_millis(5)));
    }
}
