//! Waiting for a device that is full, or for memory or descriptors that are short. It is said in the log once when it begins and
//! once when it is over.

use crate::journal::disk::is_passing;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two tries.
const AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct StallState {
    /// Since when, and why.
    waits: Option<(Instant, String)>,
    /// Whoever waits gives up.
    is_stopped: bool,
}

impl StallState {
    fn begin(&mut self, error: &io::Error) {
        if self.waits.is_none() {
            tracing::warn!(
                "cannot write the manager's log: {error}; this manager decides nothing until it can, and retries by \
                itself"
            );
            self.waits = Some((Instant::now(), error.to_string()));
        }
    }
}

/// Whether a manager waits to write its log.
#[derive(Debug, Default)]
pub struct Stall {
    state: Mutex<StallState>,
    stopped: Condvar,
}

impl Stall {
    fn state(&self) -> MutexGuard<'_, StallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why it waits, if it does.
    pub fn why(&self) -> Option<String> {
        self.state().waits.as_ref().map(|(_, why)| why.clone())
    }

    /// Whoever waits, now or later, gives up after the next try.
    pub fn stop(&self) {
        self.state().is_stopped = true;
        self.stopped.notify_all();
    }

    /// Attempts until an error is none that [passes](is_passing).
    ///
    /// # Errors
    /// The error that does not pass; or the last one, if somebody says [`stop`](Self::stop).
    pub fn wait_out(&self, mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        loop {
            match attempt() {
                Err(error) if is_passing(&error) => {
                    let mut state = self.state();
                    if state.is_stopped {
                        return Err(error);
                    }
                    state.begin(&error);
                    drop(self.stopped.wait_timeout(state, AGAIN));
                }
                done => {
                    if let (Ok(()), Some((since, _))) = (&done, self.state().waits.take()) {
                        let waited = since.elapsed().as_secs_f64();
                        tracing::info!("the manager's log can be written again, after {waited:.1} s");
                    }
                    return done;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn what_passes_is_waited_for_and_what_does_not_is_told() {
        let stall = Stall::default();
        let mut left = 3;
        let tried = stall.wait_out(|| {
            assert_eq!(stall.why().is_some(), left < 3, "it is known while it waits");
            left -= 1;
            if left > 0 { Err(Errno::NOSPC.into()) } else { Ok(()) }
        });
        assert!(tried.is_ok() && left == 0 && stall.why().is_none());
        let failed = stall.wait_out(|| Err(Errno::IO.into())).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(Errno::IO.raw_os_error()));
    }

    #[test]
    fn whoever_stops_does_not_wait_for_the_device() {
        let stall = Stall::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| stall.wait_out(|| Err(Errno::NOSPC.into())));
            while stall.why().is_none() {
                std::thread::yield_now();
            }
            stall.stop();
            assert!(is_passing(&waits.join().unwrap().unwrap_err()));
        });
    }
}
