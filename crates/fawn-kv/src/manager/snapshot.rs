//! The bytes of what managers keep: commands in their log, and the state that those lead to, from which a manager goes on
//! without the commands before it. Both begin with a version, a command with the one that brought it, so that what an older
//! release can read does not depend on who wrote it; the rest is as on the wire (docs/wire.md, "How things are written").

use super::state::{Command, State};
use crate::wire::encoding::{self, DecodeError};
use crate::wire::version;

/// Version of the bytes of states, and of commands that there always were.
pub const VERSION: u8 = 2;

/// The newest version of the bytes of commands.
pub const NEWEST: u8 = if version::NEWEST < version::FAREWELLS { 2 } else { 3 };

/// Bytes that are no command and no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// Another version.
    #[error(
        "the managers' log has version {0}, and this manager reads versions up to {NEWEST}: run the release that \
        wrote it, or a newer one"
    )]
    Version(u8),
    /// The bytes make no sense.
    #[error("the managers' log is damaged: {0}")]
    Malformed(String),
}

impl Command {
    /// The version that brought it.
    fn since(&self) -> u8 {
        if matches!(self, Self::End { .. }) { 3 } else { VERSION }
    }

    /// The command's bytes.
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self.since(), self)
    }

    /// The command that `bytes` are.
    ///
    /// # Errors
    /// [`KeptError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, KeptError> {
        let (version, command) = encoding::decode_of::<Self>(VERSION..=NEWEST, bytes)?;
        if command.since() != version {
            return Err(KeptError::Malformed(format!("version {version} has no such command")));
        }
        Ok(command)
    }
}

impl State {
    /// The state's bytes.
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(VERSION, self)
    }

    /// The state that `bytes` are.
    ///
    /// # Errors
    /// [`KeptError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, KeptError> {
        Ok(encoding::decode(VERSION, bytes)?)
    }
}

impl From<DecodeError> for KeptError {
    fn from(refused: DecodeError) -> Self {
        match refused {
            DecodeError::Version(version) => Self::Version(version),
            DecodeError::Malformed(why) => Self::Malformed(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rules;
    use crate::manager::{Leases, Settings};

    #[test]
    fn a_state_of_another_version_is_refused_and_so_are_bytes_too_many() {
        let (rules, leases) = (Rules::default(), Leases::default());
        let state = State::new(Settings { replicas: 3, first_nodes: 3, rules, leases });
        let mut bytes = state.encode();
        assert_eq!(State::decode(&bytes), Ok(state));
        bytes.push(0);
        let said = State::decode(&bytes).unwrap_err().to_string();
        assert_eq!(said, "the managers' log is damaged: 1 bytes too many");
        bytes[0] = VERSION + 1;
        assert_eq!(State::decode(&bytes), Err(KeptError::Version(VERSION + 1)));
        assert!(Command::decode(&[]).is_err());
    }
}
