//! The bytes of what managers keep: commands in their log, and the state that those lead to, from which a manager goes on
//! without the commands before it. Both begin with a version; the rest is as on the wire (docs/wire.md, "How things are written").

use super::lead::Manager;
use super::state::{Command, Standing, State};
use crate::chain::Timing;
use crate::ids::{ClusterId, NodeId};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of the bytes of commands and states.
pub const VERSION: u8 = 1;

/// Bytes that are no command and no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// Another version.
    #[error(
        "the managers' log is of version {0}, and this manager reads version {VERSION}: run the release that wrote it"
    )]
    Version(u8),
    /// The bytes make no sense.
    #[error("the managers' log is damaged: {0}")]
    Malformed(String),
}

impl Command {
    /// The command's bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The command that `bytes` are.
    ///
    /// # Errors
    /// [`KeptError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, KeptError> {
        decode(bytes)
    }
}

impl State {
    /// The state's bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// The state that `bytes` are.
    ///
    /// # Errors
    /// [`KeptError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, KeptError> {
        decode(bytes)
    }
}

impl Manager {
    /// A manager that goes on from a state that was decided, as [`State::encode`] kept it; `draw` as in [`new`](Self::new). It
    /// does not lead, and remembers nothing of what another manager asked before it.
    pub fn restored(timing: Timing, state: State, draw: ClusterId) -> Self {
        let members = state.nodes.iter().filter(|(_, node)| node.standing == Standing::Member);
        let members: Vec<NodeId> = members.map(|(node, _)| *node).collect();
        let mut manager = Self::with_state(timing, state, draw);
        for node in members {
            manager.place(node);
        }
        manager
    }
}

fn encode(of: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(of, vec![VERSION]).expect("it can always be encoded into memory")
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, KeptError> {
    let (&version, rest) = bytes.split_first().ok_or_else(|| KeptError::Malformed("there are none".into()))?;
    if version != VERSION {
        return Err(KeptError::Version(version));
    }
    match postcard::take_from_bytes(rest) {
        Ok((it, [])) => Ok(it),
        Ok((_, more)) => Err(KeptError::Malformed(format!("{} bytes too many", more.len()))),
        Err(error) => Err(KeptError::Malformed(error.to_string())),
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
