//! The bytes of a message: the version that brought it, and then the message in postcard's encoding, up to the last byte.
//!
//! So whoever speaks an older version reads all that is as old, from whomever it comes.

use crate::operation::is_of_part;
use crate::wire::encoding::{self, DecodeError};
use crate::wire::version::{CONTINUATIONS, FAREWELLS, NEWEST, OLDEST, PARTS, RELAYS, SCANS, TIMES, WEAK_CLUSTERS};
use crate::wire::{Answer, Given, Message};
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
            _ if self.is_of_part() => PARTS,
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

    /// Whether it carries an operation on a part of a value, or what one came to.
    fn is_of_part(&self) -> bool {
        match self {
            Self::Request { operation, .. } | Self::Ask { operation: Some(operation), .. } => is_of_part(operation),
            Self::Reply { answer: Answer::Done { outcome, .. }, .. } => outcome.is_of_part(),
            Self::Reply { answer, .. } => *answer == Answer::NeedsUpgrade,
            Self::Feed { entries, .. } => entries.iter().any(|entry| entry.is_of_part()),
            Self::Fetched { records: Given::Records(records), .. } => {
                records.entries.iter().any(|entry| entry.is_of_part())
            }
            Self::CopyPart { meta: Some(meta), .. } => meta.sessions.are_of_parts(),
            _ => false,
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
            Answer::Conditional | Answer::NeedsUpgrade => Answer::Malformed,
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
    use crate::ids::{
        Address, Asker, Epoch, Incarnation, Member, NodeId, Position, RangeId, RequestId, Seq, WedgeEpoch,
    };
    use crate::operation::{Edit, EditError, EditKind, Operation, Outcome, View, ViewKind};
    use crate::range::entry::{Asked, Change, Entry};
    use crate::range::meta::Meta;
    use crate::wire::Records;
    use std::sync::Arc;

    const ID: RequestId = RequestId { session: 1 << 32, number: 70 };
    const ASKER: Asker = Asker { address: Address::Client(4), tag: 9 };

    /// A request and an ask for an operation.
    fn asked(operation: Option<Operation<'_>>, continuation: Option<Vec<u8>>) -> Vec<Message> {
        let (key, place, operation) = (b"k".to_vec(), None, operation.map(|operation| operation.encode()));
        let request = operation.clone().map(|operation| Message::Request {
            range: RangeId(1),
            id: ID,
            answered: 0,
            asker: ASKER,
            wedge: WedgeEpoch(1),
            epoch: Epoch(1),
            key: key.clone(),
            place,
            operation,
        });
        let (id, answered, forwarded) = (ID, Some(1), false);
        let ask = Message::Ask { id, answered, asker: ASKER, forwarded, key, place, operation, continuation };
        request.into_iter().chain([ask]).collect()
    }

    /// Each message that an outcome travels in.
    fn told(outcome: Outcome) -> Vec<Message> {
        let position = Position { epoch: Epoch(1), seq: Seq(1) };
        let answer = Answer::Done { outcome, position, again: false, shown: None };
        let asked = Some(Asked { id: ID, answered: 0, asker: ASKER, outcome, shown: None });
        let entry = Entry { position, time: 5, key: Vec::new(), change: Change::Nothing, asked };
        let mut meta = Meta::default();
        meta.commit(&entry);
        let entries = vec![Arc::new(Entry { asked: None, ..entry.clone() }), Arc::new(entry)];
        let (range, to) = (RangeId(1), Incarnation(2));
        let from = Member { node: NodeId(3), incarnation: Incarnation(1) };
        let records = Given::Records(Records { common: position, entries: entries.clone(), last: position });
        vec![
            Message::Reply { id: ID, tag: 3, continuation: None, until: 0, answer },
            Message::Feed { range, epoch: Epoch(1), to, entries, mark: Seq(1) },
            Message::Fetched { range, attempt: None, to, from, records },
            Message::CopyPart {
                range,
                to,
                from,
                asked: None,
                since: position,
                kept: Vec::new(),
                next: None,
                at: position,
                forgotten: Seq(0),
                meta: Some(Box::new(meta)),
            },
        ]
    }

    #[test]
    fn whatever_carries_an_operation_on_a_part_or_what_it_came_to_is_of_the_version_that_brought_those() {
        let edit = Operation::Edit(Edit { kind: EditKind::Take, argument: b"" });
        let view = Operation::View(View { kind: ViewKind::Length, argument: b"" });
        let mut newer = [asked(Some(edit), None), asked(Some(view), None), asked(Some(edit), Some(vec![7]))].concat();
        for outcome in [Outcome::Integer(i64::MIN), Outcome::Computed, Outcome::Refused(EditError::TooLong)] {
            newer.extend(told(outcome));
        }
        let older = [asked(Some(Operation::Get), None), asked(None, None), told(Outcome::Miss)].concat();
        for (message, version) in newer.iter().map(|message| (message, PARTS)).chain(older.iter().map(|m| (m, OLDEST)))
        {
            let mut bytes = message.encode();
            assert_eq!((bytes[0], Message::decode(&bytes).as_ref()), (version, Ok(message)));
            bytes[0] = if version == PARTS { OLDEST } else { PARTS };
            assert!(matches!(Message::decode(&bytes), Err(WireError::Malformed(_))), "{message:?}");
            assert_eq!(message.spoken_in(PARTS - 1).is_some(), version < PARTS, "{message:?}");
        }
    }

    #[test]
    fn a_refusal_is_said_to_older_releases_in_their_own_words() {
        let reply = |answer| Message::Reply { id: ID, tag: 3, continuation: None, until: 0, answer };
        for (answer, older) in [
            (Answer::Ahead { time: 5 }, Answer::Busy),
            (Answer::Conditional, Answer::Malformed),
            (Answer::NeedsUpgrade, Answer::Malformed),
        ] {
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
