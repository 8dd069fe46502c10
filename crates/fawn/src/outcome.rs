//! What a command comes to, beside an error.

/// Whether everything that the command was asked for is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandStatus {
    /// Exit code 0.
    Done,
    /// Exit code 1; the command has said what is missing.
    Missing,
}

/// Arguments that cannot be meant, which only shows once the command is carried out: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);
