//! Whole pages to and from a descriptor, with partial transfers and interruptions taken care of.

use std::io::IoSlice;
use std::os::fd::AsFd;

use fawn_store::page::{PAGE_BYTES, Page};
use rustix::io::{Errno, ReadWriteFlags};
use zerocopy::IntoBytes;

use crate::os::retry::Backoff;

/// Fills `pages` from page number `first`; returns the bytes read, fewer than asked for only at the end of the file.
pub fn read<Fd: AsFd>(fd: Fd, first: u64, pages: &mut [Page], backoff: &mut Backoff) -> Result<usize, Errno> {
    let bytes = pages.as_mut_bytes();
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pread(&fd, &mut bytes[done..], first * PAGE_BYTES as u64 + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(errno) => backoff.wait(|| "reading pages".to_owned(), errno)?,
        }
    }
    Ok(done)
}

/// Writes `pages` from page number `first`.
pub fn write<Fd: AsFd>(fd: Fd, first: u64, pages: &[Page]) -> Result<(), Errno> {
    write_all(first, pages, |bytes, offset| rustix::io::pwrite(&fd, bytes, offset))
}

/// Writes `pages` from page number `first`; they are durable on return.
pub fn write_synced<Fd: AsFd>(fd: Fd, first: u64, pages: &[Page]) -> Result<(), Errno> {
    // The durability tests build the opposite, too, and must notice.
    let sync = if cfg!(fawn_without_sync) { ReadWriteFlags::empty() } else { ReadWriteFlags::DSYNC };
    write_all(first, pages, |bytes, offset| rustix::io::pwritev2(&fd, &[IoSlice::new(bytes)], offset, sync))
}

fn write_all(
    first: u64,
    pages: &[Page],
    mut write: impl FnMut(&[u8], u64) -> Result<usize, Errno>,
) -> Result<(), Errno> {
    let bytes = pages.as_bytes();
    let (mut done, mut backoff) = (0, Backoff::default());
    while done < bytes.len() {
        match write(&bytes[done..], first * PAGE_BYTES as u64 + done as u64) {
            // A device that takes nothing and names no reason would be asked for ever.
            Ok(0) => return Err(Errno::IO),
            Ok(written) => done += written,
            // What is left is written as a whole again, so an interrupted write that was to be durable is, too.
            Err(errno) => backoff.wait(|| "writing pages".to_owned(), errno)?,
        }
    }
    Ok(())
}
