//! How a task ends other than well, where that is more than "it failed": the exit code says which.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, and nothing was found |
//! | 1 | something was found, or failed |
//! | 2 | the command line is wrong |
//! | 130 | stopped by Ctrl-C, after what came of it so far |
//! | 141 | nobody reads standard output any more (as of a program that SIGPIPE ends) |

use std::io;

/// An end with an exit code of its own.
#[derive(Debug, thiserror::Error)]
pub enum TaskEnd {
    /// The command line is wrong; the sentence says what to do.
    #[error("{0}")]
    Usage(String),
    /// Whoever read standard output has what it wanted.
    #[error("standard output is closed")]
    Closed,
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Unwritten(io::Error),
    /// Stopped by Ctrl-C.
    #[error("stopped after {0} seeds")]
    Stopped(u64),
}

/// The exit code of a task that has ended with this error.
pub fn code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref() {
        Some(TaskEnd::Usage(_)) => 2,
        Some(TaskEnd::Closed) => 141,
        Some(TaskEnd::Stopped(_)) => 130,
        Some(TaskEnd::Unwritten(_)) | None => 1,
    }
}
