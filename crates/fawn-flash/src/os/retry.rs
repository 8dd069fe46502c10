//! Retries of system calls that fail because the system is short of something for a while.
//!
//! A thread that works for a store retries without end, because the store could not go on without what it does. A command
//! that loads into a directory retries for a while. A caller that must not block refuses the request instead. A sync that failed is
//! never retried: what it was to make durable may be lost.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_millis(100);
/// Tries of a [`Backoff::brief`]: with their pauses a tenth of a second in all.
pub const TRIES: u32 = 25;
/// The pause between two of the [`TRIES`].
pub const PAUSE: Duration = Duration::from_millis(4);
/// How often the log repeats that something is still tried.
const REPEAT: Duration = Duration::from_secs(10);
/// How long a [`RetryLimit::Patient`] retries.
const PATIENCE: Duration = Duration::from_secs(10);
/// When a [`RetryLimit::Patient`] last logged: a command tries many calls, one after the other.
static PATIENT_LOGGED: Mutex<Option<Instant>> = Mutex::new(None);

/// How long a call is retried that fails because the system is short of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryLimit {
    /// Without end: a server's store.
    #[default]
    Endless,
    /// Ten seconds, and the log says so: a command that changes a directory.
    Patient,
    /// A tenth of a second: a command that looks at a directory.
    Brief,
}

impl RetryLimit {
    /// For one call.
    pub fn backoff(self) -> Backoff {
        match self {
            Self::Endless => Backoff::default(),
            Self::Patient => Backoff { most: Some(PATIENCE), ..Backoff::default() },
            Self::Brief => Backoff::brief(),
        }
    }
}

/// Whether this error may be gone at the next try.
pub fn is_transient(errno: Errno) -> bool {
    matches!(errno, Errno::INTR | Errno::AGAIN | Errno::NOMEM | Errno::NOBUFS | Errno::MFILE | Errno::NFILE)
}

/// Whether this error of `io_uring_enter` may be gone at the next try. `EBUSY` is its own.
pub fn is_transient_in_ring(error: &std::io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| is_transient(errno) || errno == Errno::BUSY)
}

/// Counts tries of one thing, and pauses between them.
#[derive(Debug, Default)]
pub struct Backoff {
    pause: Duration,
    /// When the log last said that something is still tried.
    logged: Option<Instant>,
    /// Tries that are left; `None`: there is no end of them.
    left: Option<u32>,
    /// How long it is tried, and since when.
    most: Option<Duration>,
    began: Option<Instant>,
}

impl Backoff {
    /// A backoff that ends after [`TRIES`] tries and logs nothing.
    pub fn brief() -> Self {
        Self { left: Some(TRIES), ..Self::default() }
    }

    /// Waits before the next try if `errno` is transient, and logs what is tried.
    ///
    /// # Errors
    /// `errno`, if it is not transient or no try is left.
    pub fn wait(&mut self, doing: impl FnOnce() -> String, errno: Errno) -> Result<(), Errno> {
        if !is_transient(errno) {
            return Err(errno);
        }
        if errno == Errno::INTR {
            return Ok(());
        }
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).ok_or(errno)?;
            thread::sleep(PAUSE);
            return Ok(());
        }
        let now = Instant::now();
        if let Some(most) = self.most {
            if now.duration_since(*self.began.get_or_insert(now)) >= most {
                return Err(errno);
            }
            let mut logged = PATIENT_LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
            if logged.is_none_or(|logged| now.duration_since(logged) >= REPEAT) {
                *logged = Some(now);
                tracing::warn!("{}: {errno}: retrying for {} s", doing(), most.as_secs());
            }
        } else if self.logged.is_none_or(|logged| now.duration_since(logged) >= REPEAT) {
            self.logged = Some(now);
            tracing::warn!("{}: {errno}: the store retries until it succeeds", doing());
        }
        self.pause = (self.pause * 2).clamp(Duration::from_millis(1), LONGEST);
        thread::sleep(self.pause);
        Ok(())
    }
}

/// Repeats `attempt` until it succeeds, or fails for good.
///
/// # Errors
/// The first one that is not transient.
pub fn retry<T>(doing: impl Fn() -> String, attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    retry_with(&mut Backoff::default(), doing, attempt)
}

/// As [`retry`], with the caller's backoff.
///
/// # Errors
/// The first one that is not transient, or for which no try is left.
pub fn retry_with<T>(
    backoff: &mut Backoff,
    doing: impl Fn() -> String,
    mut attempt: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(errno) => backoff.wait(&doing, errno)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_until_it_has_passed_and_the_rest_is_told_at_once() {
        let passing = [Errno::INTR, Errno::AGAIN, Errno::NOMEM, Errno::NOBUFS, Errno::MFILE, Errno::NFILE];
        let mut errors = passing.into_iter();
        assert_eq!(retry(|| "testing".into(), || errors.next().map_or(Ok(7), Err)), Ok(7));
        for errno in [Errno::IO, Errno::BUSY, Errno::NOSPC, Errno::ROFS, Errno::BADF] {
            let mut tries = 0;
            let result: Result<(), _> = retry(
                || "testing".into(),
                || {
                    tries += 1;
                    Err(errno)
                },
            );
            assert_eq!((result, tries), (Err(errno), 1));
        }
    }

    #[test]
    fn a_patient_backoff_ends_after_a_while() {
        let mut backoff = Backoff { most: Some(Duration::from_millis(30)), ..RetryLimit::Patient.backoff() };
        let start = Instant::now();
        let result: Result<(), _> = retry_with(&mut backoff, || "testing".into(), || Err(Errno::MFILE));
        assert_eq!(result, Err(Errno::MFILE));
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(RetryLimit::Patient.backoff().most, Some(PATIENCE));
        assert_eq!((RetryLimit::Endless.backoff().most, RetryLimit::Brief.backoff().left), (None, Some(TRIES)));
    }

    #[test]
    fn a_brief_backoff_ends() {
        let (mut backoff, mut tries) = (Backoff::brief(), 0);
        let result: Result<(), _> = retry_with(
            &mut backoff,
            || "testing".into(),
            || {
                tries += 1;
                Err(Errno::NFILE)
            },
        );
        assert_eq!((result, tries), (Err(Errno::NFILE), TRIES + 1));
    }
}
