//! [`EventFd`]: an eventfd that wakes the thread that waits for it in `epoll`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use fawn_store::flash::FlashError;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::time::Timespec;

/// An eventfd that is written and not read by event loops: register it as `EPOLLIN | EPOLLET`, so that every write is
/// an event.
#[derive(Debug)]
pub struct EventFd {
    fd: OwnedFd,
}

impl EventFd {
    /// A signal that was not raised.
    pub fn new() -> Result<Self, FlashError> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| FlashError::Io(format!("making an eventfd: {errno}")))?;
        Ok(Self { fd })
    }

    /// Wakes the thread that waits for the signal.
    pub fn raise(&self) {
        // The counter cannot overflow in the age of the universe; nothing else can fail.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Forgets what was raised so far, for [`wait`](Self::wait).
    pub fn drain(&self) {
        // When nothing was raised there is nothing to read.
        let _ = rustix::io::read(&self.fd, &mut [0u8; 8]);
    }

    /// Blocks until it is raised, if it was not since the last [`drain`](Self::drain), or until the time is over.
    pub fn wait(&self, timeout: Duration) {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        // An interruption only makes the caller look earlier.
        let _ = poll(&mut fds, Timespec::try_from(timeout).ok().as_ref());
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
