//! Waking a loop that sleeps in `epoll_wait`, and only then.
//!
//! A thread that hands work to another one first publishes the work (into a ring), then calls [`Wake::notify`]. A
//! thread about to sleep first says so ([`Wake::prepare_to_sleep`]), then looks for work once more. Both put a
//! sequentially consistent fence between their two steps, so at least one of them sees the other: either the
//! notifier sees the sleeper and writes the eventfd, or the sleeper sees the work and does not sleep.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Wakes one loop. Its eventfd goes into the loop's epoll set, edge-triggered, and is never read.
#[derive(Debug)]
pub struct Wake {
    event: OwnedFd,
    /// True from just before the owner blocks until it runs again or somebody has woken it.
    asleep: AtomicBool,
}

impl Wake {
    /// One whose loop is awake.
    ///
    /// # Errors
    /// What `eventfd(2)` reports.
    pub fn new() -> Result<Self, Errno> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { event, asleep: AtomicBool::new(false) })
    }

    /// The owner says that it is about to block; it must look at its rings once more after this.
    #[inline]
    pub fn prepare_to_sleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The owner runs again.
    #[inline]
    pub fn awake(&self) {
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the owner if it sleeps; to be called after the work was published. Returns whether a system call was
    /// needed.
    #[inline]
    pub fn notify(&self) -> bool {
        fence(Ordering::SeqCst);
        if !self.asleep.load(Ordering::Relaxed) || !self.asleep.swap(false, Ordering::Relaxed) {
            return false;
        }
        // It can only fail with EAGAIN, when 2^64 - 2 wake-ups have never been read: the edge is there all the same.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        true
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn only_a_sleeper_costs_a_system_call() {
        let wake = Wake::new().unwrap();
        assert!(!wake.notify());
        wake.prepare_to_sleep();
        assert!(wake.notify());
        assert!(!wake.notify(), "one wake-up a sleep");
        wake.prepare_to_sleep();
        wake.awake();
        assert!(!wake.notify());
    }

    /// Two threads hand a number back and forth and sleep in between; a lost wake-up shows as a time-out.
    #[test]
    fn no_wake_up_is_lost() {
        const ROUNDS: u64 = 20_000;
        let sides = [Arc::new(Wake::new().unwrap()), Arc::new(Wake::new().unwrap())];
        let ball = Arc::new(AtomicU64::new(0));
        let play = |me: usize| {
            let (mine, other, ball) = (Arc::clone(&sides[me]), Arc::clone(&sides[1 - me]), Arc::clone(&ball));
            std::thread::spawn(move || {
                let mut turn = me as u64;
                while turn < ROUNDS {
                    if ball.load(Ordering::Relaxed) != turn {
                        mine.prepare_to_sleep();
                        if ball.load(Ordering::Relaxed) != turn {
                            let ready = poll(
                                &mut [PollFd::new(&*mine, PollFlags::IN)],
                                Some(&Timespec { tv_sec: 10, tv_nsec: 0 }),
                            );
                            assert_ne!(ready, Ok(0), "a wake-up was lost in turn {turn}");
                            let _ = rustix::io::read(&*mine, &mut [0; 8]);
                        }
                        mine.awake();
                        continue;
                    }
                    ball.store(turn + 1, Ordering::Relaxed);
                    other.notify();
                    turn += 2;
                }
            })
        };
        for player in [play(0), play(1)] {
            player.join().unwrap();
        }
    }
}
