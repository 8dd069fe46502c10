//! [`OpenFile`]: a descriptor of a store's file, which counts among the stores' part of the process's descriptors.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::descriptors;

/// An open file of a store. Shared by everyone who reads it; closed with its last user.
#[derive(Debug)]
pub struct OpenFile {
    fd: OwnedFd,
}

impl OpenFile {
    /// The file of a descriptor that was just opened.
    pub(crate) fn new(fd: OwnedFd) -> Self {
        descriptors::opened();
        Self { fd }
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        descriptors::closed();
    }
}
