//! The bytes of a message: the version that brought it, and then the message in postcard's encoding, up to the last byte.
//!
//! So whoever speaks an older version reads all that is as old, from whomever it comes.

use crate::message::{Answer, Message};
use crate::version::{CONTINUATIONS, FAREWELLS, NEWEST, OLDEST, RELAYS, SCANS, TIMES, WEAK_CLUSTERS};
use crate::versioned::{self, Refused};

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another version.
    #[error(
        "the message is of version {0}, and this process speaks {OLDEST} to {NEWEST}: run releases that have one in common"
    )]
    Version(u8),
    /// The bytes make no sense.
    #[error("the bytes are no message: {0}")]
    Malformed(String),
}

impl Message {
    /// The version that brought it.
    pub fn since(&self) -> u8 {
        match self {
            Self::Farewell { .. } | Self::FrontFarewell { .. } => FAREWELLS,
            Self::Scan { .. } | Self::Scanned { .. } => SCANS,
            Self::Reply { answer: Answer::Conditional, .. } => WEAK_CLUSTERS,
            Self::Ask { continuation: Some(_), .. } => CONTINUATIONS,
            Self::Reply { answer: Answer::Ahead { .. }, .. } => TIMES,
            Self::Relayed { .. } | Self::Probe { .. } | Self::Echo { .. } => RELAYS,
            _ => OLDEST,
        }
    }

    /// The message's bytes.
    pub fn encode(&self) -> Vec<u8> {
        versioned::encode(self.since(), self)
    }

    /// The message that `bytes` are. Memory is bounded by their number.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (version, message) = versioned::decode_of::<Self>(OLDEST..=NEWEST, bytes)?;
        if message.since() != version {
            return Err(WireError::Malformed(format!("version {version} did not bring it")));
        }
        Ok(message)
    }
}

impl From<Refused> for WireError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Version(version) => Self::Version(version),
            Refused::Malformed(why) => Self::Malformed(why),
        }
    }
}
