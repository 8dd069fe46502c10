//! [`Mailbox`]: what a store's threads have done until the event loop takes it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fawn_store::WrittenBatch;
use fawn_store::flash::FlashError;
use fawn_store::work::MaintenanceEvent;

use crate::os::eventfd::EventFd;

/// What the threads have done and the event loop has not seen.
pub struct Mailbox {
    signal: EventFd,
    /// Whether anything is in `mail`; set before the eventfd is written, cleared before the mail is taken.
    raised: AtomicBool,
    mail: Mutex<Mail>,
}

/// What was put into a mailbox since it was last emptied.
#[derive(Default)]
pub struct Mail {
    /// What the maintenance thread has done, in order.
    pub events: Vec<MaintenanceEvent>,
    /// The batch that the commit thread has written.
    pub committed: Option<WrittenBatch>,
}

impl Mailbox {
    /// An empty mailbox.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the system has no descriptor left.
    pub fn new() -> Result<Self, FlashError> {
        Ok(Self { signal: EventFd::new()?, raised: AtomicBool::new(false), mail: Mutex::default() })
    }

    /// Has `put` add something; the first piece wakes the event loop.
    pub fn put(&self, put: impl FnOnce(&mut Mail)) {
        put(&mut self.mail.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.raised.swap(true, Ordering::AcqRel) {
            self.signal.raise();
        }
    }

    /// All that is there; `None` when nothing is. Makes no system call.
    pub fn take(&self) -> Option<Mail> {
        if !self.raised.load(Ordering::Acquire) {
            return None;
        }
        self.raised.store(false, Ordering::SeqCst);
        Some(std::mem::take(&mut *self.mail.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Whether there is anything.
    #[inline]
    pub fn has_mail(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Forgets earlier wake-ups, for [`wait`](Self::wait).
    pub fn drain(&self) {
        self.signal.drain();
    }

    /// Blocks until something is put in, if nothing was since the last [`drain`](Self::drain), or until the time is over.
    pub fn wait(&self, timeout: Duration) {
        self.signal.wait(timeout);
    }
}

/// An eventfd that is written when the first piece of mail arrives, and never read.
impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }
}
