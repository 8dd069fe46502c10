//! Errors of commands, in the words of Redis.

use fawn_resp::{Words, reply};
use std::borrow::Cow;

/// The text of an error, with the word in front that says of what kind it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError(pub Cow<'static, str>);

pub const SYNTAX: CommandError = CommandError::text("ERR syntax error");
pub const NOT_INTEGER: CommandError = CommandError::text("ERR value is not an integer or out of range");
pub const NOT_FLOAT: CommandError = CommandError::text("ERR value is not a valid float");
pub const OUT_OF_RANGE: CommandError = CommandError::text("ERR value is out of range");
pub const TOO_LONG: CommandError = CommandError::text("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
pub const WRONG_TYPE: CommandError =
    CommandError::text("WRONGTYPE Operation against a key holding the wrong kind of value");
pub const NO_AUTH: CommandError = CommandError::text("NOAUTH Authentication required.");
pub const WRONG_PASSWORD: CommandError =
    CommandError::text("WRONGPASS invalid username-password pair or user is disabled.");
pub const INVALID_CURSOR: CommandError = CommandError::text("ERR invalid cursor");

/// Bytes of a word that an error repeats.
const REPEATED_BYTES: usize = 128;

impl CommandError {
    /// An error that is always the same.
    pub const fn text(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Appends the error.
    #[cold]
    pub fn write(&self, out: &mut Vec<u8>) {
        reply::error(out, self.0.as_bytes());
    }

    /// The command has too many words or too few.
    #[cold]
    pub fn arity(name: &str) -> Self {
        Self(format!("ERR wrong number of arguments for '{name}' command").into())
    }

    /// The time to live makes no sense.
    #[cold]
    pub fn expire_time(name: &str) -> Self {
        Self(format!("ERR invalid expire time in '{name}' command").into())
    }

    /// There is no such command.
    #[cold]
    pub fn unknown_command(words: &Words<'_>) -> Self {
        let mut arguments = String::new();
        for word in words.iter().skip(1) {
            if arguments.len() >= REPEATED_BYTES {
                break;
            }
            let word = repeated(word, REPEATED_BYTES - arguments.len());
            arguments.extend(["'", &word, "' "]);
        }
        let name = repeated(words.name(), REPEATED_BYTES);
        Self(format!("ERR unknown command '{name}', with args beginning with: {arguments}").into())
    }

    /// There is no such subcommand.
    #[cold]
    pub fn unknown_subcommand(name: &str, sub: &[u8]) -> Self {
        let (sub, name) = (repeated(sub, REPEATED_BYTES), name.to_uppercase());
        Self(format!("ERR unknown subcommand '{sub}'. Try {name} HELP.").into())
    }
}

/// The beginning of a word, as an error repeats it: up to a zero byte, as C has it.
pub fn repeated(word: &[u8], most: usize) -> String {
    let word = &word[..word.len().min(most)];
    let word = word.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(word).into_owned()
}
