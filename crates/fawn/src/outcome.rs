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

/// Something failed in a command whose exit code 1 is an answer, e.g. that nothing was found: exit code 2, as of `grep`.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct NoAnswer(pub anyhow::Error);

/// Makes each error of such a command a [`NoAnswer`], but for one that says so by itself.
///
/// # Errors
/// [`UsageError`], [`NoAnswer`].
pub fn answer(result: anyhow::Result<CommandStatus>) -> anyhow::Result<CommandStatus> {
    result.map_err(|error| if error.is::<UsageError>() { error } else { NoAnswer(error).into() })
}
