//! The system calls about cached pages that have no safe form.
#![allow(unsafe_code, reason = "a system call that no library has, and advice about a map that another library made")]

use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::mm::{Advice, madvise};

/// A page of the page cache, bytes.
pub const PAGE_BYTES: u64 = 4096;

/// What cachestat(2) takes.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    bytes: u64,
}

/// What it tells, in pages.
#[repr(C)]
#[derive(Default)]
struct Stat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The same number on all architectures.
const CACHESTAT: libc::c_long = 451;

/// Bytes of this part of a file that the page cache holds; `None`: the kernel is older than 6.5.
pub fn cached_bytes(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Option<u64> {
    let (range, mut stat) = (CachestatRange { offset, bytes }, Stat::default());
    // SAFETY: the kernel reads a range and writes a stat, both of which live during the call, and nothing else.
    let code = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    (code == 0).then_some(stat.cached * PAGE_BYTES)
}

/// Takes pages of a file out of this process's map of it, which is at `address`; they are mapped again when they are used.
///
/// # Safety
/// There is a shared map of a file, and of nothing else.
// SAFETY: what is asked of the caller is said above.
pub unsafe fn unmap(address: usize, bytes: u64) {
    // SAFETY: a shared map's contents are the file's before and after; dropped are page table entries alone.
    let _ = unsafe { madvise(std::ptr::with_exposed_provenance_mut(address), bytes as usize, Advice::LinuxDontNeed) };
}
