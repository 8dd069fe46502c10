//! [`Reader`]: reads of pages for an event loop that must not block.
//!
//! Reads are collected by [`push`](Reader::push), handed over by [`submit`](Reader::submit) (one system call a batch,
//! and one every few reads of a large one, so that the device works while the rest is planned) and come back in any order from
//! [`complete`](Reader::complete). [`as_fd`](AsFd::as_fd) gives a descriptor for `epoll`; whoever has no event loop calls
//! [`wait`](Reader::wait).
//!
//! Two ways lead to the device, chosen when the reader is made: `io_uring`, and a pool of threads that call `pread`
//! where the kernel or a container's seccomp profile refuses `io_uring`. Measured behind a server on two cores, 4 KiB
//! gets with 32 connections: 9.5 CPU-us by `io_uring`, 23 by 32 threads, 18 by reads on the event loop itself.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use fawn_store::flash::{FileId, FlashError};
use fawn_store::page::Page;

use crate::files::Files;

mod options;
mod pool;
mod request;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod ring;

pub use options::{Issuer, ReadPath, ReaderOptions};
use request::ReadRequest;

/// The largest depth that [`ReaderOptions::depth`] may have.
const MAX_DEPTH: u32 = 4096;

/// Reads pages without blocking its thread. See the [module](self).
pub struct Reader {
    path: ReadBackend,
}

enum ReadBackend {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    Ring(Box<ring::RingReader>),
    Pool(pool::PoolReader),
}

/// Calls the method of whichever path is taken.
macro_rules! either {
    ($reader:expr, $path:ident => $call:expr) => {
        match $reader {
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            ReadBackend::Ring($path) => $call,
            ReadBackend::Pool($path) => $call,
        }
    };
}

impl Reader {
    /// A reader of `files`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when `io_uring` was demanded and is refused, or no thread or descriptor can be had.
    pub fn new(files: Arc<Files>, options: ReaderOptions) -> Result<Self, FlashError> {
        assert!((1..=MAX_DEPTH).contains(&options.depth), "a reader's depth is 1 to {MAX_DEPTH}");
        assert!(options.threads >= 1, "a pool has a thread");
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if options.path != ReadPath::Pread {
            match ring::RingReader::new(Arc::clone(&files), options.depth, options.issuer) {
                Ok(ring) => return Ok(Self { path: ReadBackend::Ring(Box::new(ring)) }),
                Err(error) if options.path == ReadPath::IoUring => return Err(error),
                Err(error) => tracing::info!(%error, "reading by threads"),
            }
        }
        #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
        if options.path == ReadPath::IoUring {
            return Err(FlashError::Io("io_uring is for 64-bit Linux: choose another read path".to_owned()));
        }
        Ok(Self { path: ReadBackend::Pool(pool::PoolReader::new(files, options.threads)?) })
    }

    /// `"io_uring"` or `"pread"`, for people.
    pub fn name(&self) -> &'static str {
        match &self.path {
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            ReadBackend::Ring(_) => "io_uring",
            ReadBackend::Pool(_) => "pread",
        }
    }

    /// Asks for `count` pages (at least 1) of `file` from page number `first`. Every token comes back once from
    /// [`complete`](Self::complete), whatever happens. It may be read at once, and is after [`submit`](Self::submit).
    #[inline]
    pub fn push(&mut self, token: u64, file: FileId, first: u64, count: u32) {
        assert!(count >= 1, "a read has a page");
        let request = ReadRequest { token, file, first, count };
        either!(&mut self.path, path => path.push(request));
    }

    /// Hands over what was pushed, if anything was, and lets go of files that were removed.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the kernel takes no reads any more; the reader is of no use then.
    #[inline]
    pub fn submit(&mut self) -> Result<(), FlashError> {
        either!(&mut self.path, path => path.submit())
    }

    /// Calls `done` for each read that has come back, with its token and its pages; returns their number. Never
    /// blocks. To be called when the descriptor has become readable.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    #[inline]
    pub fn complete(&mut self, done: impl FnMut(u64, Result<&mut [Page], FlashError>)) -> Result<usize, FlashError> {
        either!(&mut self.path, path => path.complete(done))
    }

    /// As [`complete`](Self::complete), of about `most` reads only: who has the next read for each that comes back asks for
    /// it while others wait to be taken, and the device has something to do. Hands over by itself what was pushed, now or
    /// in a later call. For those that wait in the reader: the descriptor does not tell of what is left.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn take(
        &mut self,
        most: usize,
        done: impl FnMut(u64, Result<&mut [Page], FlashError>),
    ) -> Result<usize, FlashError> {
        either!(&mut self.path, path => path.take(most, done))
    }

    /// Whether reads have come back, so that [`take`](Self::take) need not [`wait`](Self::wait). Makes no system call.
    #[inline]
    pub fn has_completions(&mut self) -> bool {
        either!(&mut self.path, path => path.has_completions())
    }

    /// Submits, and blocks until `want` reads have come back, or as many of them as were handed over at once. To be
    /// followed by [`complete`](Self::complete).
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn wait(&mut self, want: usize) -> Result<(), FlashError> {
        either!(&mut self.path, path => path.wait(want))
    }

    /// Whether files were removed since it last looked, which take space on the device for as long as it holds them.
    /// [`submit`](Self::submit) lets go of them. Makes no system call.
    #[inline]
    pub fn holds_removed(&self) -> bool {
        match &self.path {
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            ReadBackend::Ring(ring) => ring.holds_removed(),
            // It opens a file for each read.
            ReadBackend::Pool(_) => false,
        }
    }

    /// Reads pushed and not yet come back.
    #[inline]
    pub fn in_flight(&self) -> usize {
        either!(&self.path, path => path.in_flight())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.name()).field("in_flight", &self.in_flight()).finish()
    }
}

/// An eventfd that is written when reads come back, and never read: register it as `EPOLLIN | EPOLLET`.
impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(&self.path, path => path.as_fd())
    }
}

#[cfg(test)]
pub(crate) mod tests;
