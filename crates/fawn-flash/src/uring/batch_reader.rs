//! Several reads of one thread at once, which waits for all of them: what merges read ahead.
//!
//! By an `io_uring` of its own, made when first needed: many reads cost one system call, and the device has them all at
//! once. Where it is refused, they are made one after the other.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use fawn_store::flash::Fill;
use fawn_store::page::PAGE_BYTES;
use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::os::open_file::OpenFile;
use crate::os::retry::is_transient_in_ring;
use crate::uring::setup;

/// Reads that are under way at most.
const DEPTH: usize = 64;
/// How often reads under way are looked at when the kernel takes no more.
const LOOK: Duration = Duration::from_millis(1);

/// The ring, if there is one.
#[derive(Default)]
pub enum BatchReader {
    #[default]
    Untried,
    Refused,
    Ring(Box<IoUring>),
}

impl std::fmt::Debug for BatchReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Untried => "Untried",
            Self::Refused => "Refused",
            Self::Ring(_) => "Ring",
        })
    }
}

impl BatchReader {
    /// Makes `fills`, each of the open file at its place; the bytes read by each, in `done`, are fewer than asked for only
    /// where the device stopped short. `false` when the kernel refuses: then nothing is known, and nothing is under way.
    pub fn read(&mut self, fills: &mut [Fill<'_>], open: &[Arc<OpenFile>], done: &mut [Result<usize, Errno>]) -> bool {
        if matches!(self, Self::Untried) {
            *self = setup::build(DEPTH, opcode::Read::CODE).map_or_else(
                |error| {
                    tracing::debug!(%error, "io_uring is not available: merges read one part after the other");
                    Self::Refused
                },
                |ring| Self::Ring(Box::new(ring)),
            );
        }
        let Self::Ring(ring) = self else { return false };
        for first in (0..fills.len()).step_by(DEPTH) {
            let end = fills.len().min(first + DEPTH);
            if let Err(error) = wave(ring, first, &mut fills[first..end], &open[first..end], done) {
                tracing::warn!(%error, "io_uring accepts no more reads: merges read one part after the other");
                *self = Self::Refused;
                return false;
            }
        }
        true
    }
}

/// Makes at most [`DEPTH`] reads. When it returns, the kernel is done with all of them, whatever became of them.
fn wave(
    ring: &mut IoUring,
    first: usize,
    fills: &mut [Fill<'_>],
    open: &[Arc<OpenFile>],
    done: &mut [Result<usize, Errno>],
) -> io::Result<()> {
    for (n, (fill, open)) in fills.iter_mut().zip(open).enumerate() {
        let bytes = fill.pages.as_mut_bytes();
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let entry = opcode::Read::new(types::Fd(open.as_fd().as_raw_fd()), bytes.as_mut_ptr(), length)
            .offset(fill.first * PAGE_BYTES as u64)
            .build()
            .user_data((first + n) as u64);
        // SAFETY: the memory is borrowed for as long as this function runs, which does not return before the entry has
        // completed or was never handed to the kernel; so is the descriptor.
        unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
    }
    // Of those handed to the kernel, it may write to memory of the caller's until they complete, also when it takes no more.
    let (mut left, mut failed) = (fills.len(), None);
    while left > if failed.is_some() { ring.submission().len() } else { 0 } {
        match if failed.is_some() { Ok(0) } else { ring.submit_and_wait(left) } {
            Ok(_) => {}
            // What is under way frees some of what the kernel is short of.
            Err(error) if is_transient_in_ring(&error) => std::thread::sleep(LOOK),
            Err(error) => failed = Some(error),
        }
        for entry in ring.completion() {
            let result = entry.result();
            done[entry.user_data() as usize] = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
            left -= 1;
        }
        if failed.is_some() {
            std::thread::sleep(LOOK);
        }
    }
    failed.map_or(Ok(()), Err)
}
