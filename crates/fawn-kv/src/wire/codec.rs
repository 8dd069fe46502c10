//! The bytes of a message: the version that brought it, and then the message in postcard's encoding, up to the last byte.
//!
//! So whoever speaks an older version reads all that is as old, from whomever it comes.

use crate::wire::encoding::{self, DecodeError};
use crate::wire::version::{CONTINUATIONS, FAREWELLS, NEWEST, OLDEST, RELAYS, SCANS, TIMES, WEAK_CLUSTERS};
use crate::wire::{Answer, Message};
use std::borrow::Cow;

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Another version.
    #[error(
        "the message has version {0}, and this process speaks {OLDEST} to {NEWEST}: run releases with a common version"
    )]
    Version(u8),
    /// The bytes make no sense.
    #[error("the bytes are not a message: {0}")]
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
            Self::Relayed { .. }
            | Self::Probe { .. }
            | Self::Echo { .. }
            | Self::FrontCutOff { .. }
            | Self::NodeCutOff { .. } => RELAYS,
            _ => OLDEST,
        }
    }

    /// The message for whoever speaks `version`: what it cannot read, and cannot do without, is said in older words. `None`: there
    /// are none.
    pub fn spoken_in(&self, version: u8) -> Option<Cow<'_, Self>> {
        if self.since() <= version {
            return Some(Cow::Borrowed(self));
        }
        let Self::Reply { id, tag, continuation, until, answer } = self else { return None };
        let answer = match answer {
            // Nothing was done, and it may be tried again.
            Answer::Ahead { .. } => Answer::Busy,
            // Nothing was done, and nothing will be.
            Answer::Conditional => Answer::Malformed,
            _ => return None,
        };
        let (continuation, until) = (continuation.clone(), *until);
        Some(Cow::Owned(Self::Reply { id: *id, tag: *tag, continuation, until, answer }))
    }

    /// The message's bytes.
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self.since(), self)
    }

    /// The message that `bytes` are. Memory is bounded by their number.
    ///
    /// # Errors
    /// [`WireError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (version, message) = encoding::decode_of::<Self>(OLDEST..=NEWEST, bytes)?;
        if message.since() != version {
            return Err(WireError::Malformed(format!("version {version} has no such message")));
        }
        Ok(message)
    }
}

impl From<DecodeError> for WireError {
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
    use crate::ids::RequestId;

    #[test]
    fn a_refusal_is_said_to_older_releases_in_their_own_words() {
        let reply = |answer| {
            let id = RequestId { session: 9, number: 70 };
            Message::Reply { id, tag: 3, continuation: None, until: 0, answer }
        };
        for (answer, older) in [(Answer::Ahead { time: 5 }, Answer::Busy), (Answer::Conditional, Answer::Malformed)] {
            let message = reply(answer);
            for version in OLDEST..message.since() {
                assert_eq!(message.spoken_in(version).as_deref(), Some(&reply(older.clone())), "version {version}");
            }
            assert_eq!(message.spoken_in(message.since()).as_deref(), Some(&message));
        }
        assert_eq!(reply(Answer::Busy).spoken_in(OLDEST).as_deref(), Some(&reply(Answer::Busy)));
        assert_eq!(Message::Probe { number: 1 }.spoken_in(RELAYS - 1), None);
    }
}
