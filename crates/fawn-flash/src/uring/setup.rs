//! A ring for one thread and one operation.

use std::io;

use io_uring::{IoUring, Probe};

/// A ring of `depth` entries whose kernel knows this operation.
///
/// # Errors
/// What the kernel reports, or `Unsupported` when it does not know the operation.
pub fn build(depth: usize, operation: u8) -> io::Result<IoUring> {
    let ring = IoUring::builder().dontfork().build(depth as u32)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    if probe.is_supported(operation) { Ok(ring) } else { Err(io::ErrorKind::Unsupported.into()) }
}
