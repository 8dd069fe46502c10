//! Commands of several keys: a line of requests, one for each.

use super::arguments::word;
use super::error::CommandError;
use super::key_command::{check_key, check_size};
use super::reply_state::{ReplyHead, ReplyKind};
use super::spec::{CommandSpec, LineKind};
use super::writer::REDIS;
use crate::request::{JoinParts, KeyAction, KeyRequest, ReplyForm};
use fawn_kv::operation::{Delete, Operation, Store, View, ViewKind};
use fawn_resp::reply::{self, RespVersion};
use fawn_resp::{Words, number};

/// A command that is given out key by key.
#[derive(Clone, Copy, Debug)]
pub struct MultiKeyCommand {
    kind: LineKind,
    /// Keys of the command.
    keys: usize,
    /// From one key to the next.
    step: usize,
    /// The place of the next key among the words.
    place: usize,
    version: RespVersion,
    is_muted: bool,
}

impl MultiKeyCommand {
    /// The line of a command, of which all keys and values may be used.
    pub fn begin(
        kind: LineKind,
        spec: &CommandSpec,
        words: &Words<'_>,
        (version, is_muted): (RespVersion, bool),
        max_item_bytes: usize,
    ) -> Result<Self, CommandError> {
        if kind == LineKind::Set && words.len().is_multiple_of(2) {
            return Err(CommandError::arity(spec.name));
        }
        let mut keys = 0;
        for place in spec.key_places(words.len()) {
            check_key(word(words, place))?;
            if kind == LineKind::Set {
                check_size(max_item_bytes, word(words, place), word(words, place + 1))?;
            }
            keys += 1;
        }
        Ok(Self { kind, keys, step: spec.keys.step, place: 1, version, is_muted })
    }

    /// The place of the next key among the words.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Whether all keys were given out.
    pub fn is_over(&self) -> bool {
        self.place > self.keys * self.step
    }

    /// The request for the next key.
    pub fn next<'a>(&mut self, words: &Words<'a>) -> KeyRequest<'a> {
        let (key, is_first) = (word(words, self.place), self.place == 1);
        let (operation, kind, join): (_, _, Option<JoinParts>) = match self.kind {
            LineKind::Get => {
                let begins = if is_first { self.keys as u32 } else { 0 };
                (Operation::Get, ReplyKind::ArrayValue { begins }, None)
            }
            LineKind::Set => {
                (Operation::Store(Store::set(word(words, self.place + 1))), ReplyKind::Status, Some(one_of))
            }
            LineKind::Delete => (Operation::Delete(Delete::default()), ReplyKind::Integer, Some(sum)),
            LineKind::Count => {
                let view = View { kind: ViewKind::Expiry, argument: b"" };
                (Operation::View(view), ReplyKind::Presence, Some(sum))
            }
        };
        self.place += self.step;
        let state = ReplyHead::new(kind, self.version, self.is_muted).encode();
        let form = ReplyForm::new(&REDIS, state, self.is_over());
        let form = join.map_or(form, |join| form.joined(join));
        KeyRequest::new(key, KeyAction::Operation(operation), form)
    }
}

/// The parts are numbers, and the reply is their sum; nothing, if there are none.
fn sum(parts: &[u8], out: &mut Vec<u8>) {
    let numbers = parts.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b":"));
    let sum =
        numbers.map(|line| number::integer(line.trim_ascii_end()).unwrap_or_default()).reduce(|one, other| one + other);
    if let Some(sum) = sum {
        reply::integer(out, sum);
    }
}

/// All parts say the same, and the reply says it once.
fn one_of(parts: &[u8], out: &mut Vec<u8>) {
    let end = parts.iter().position(|byte| *byte == b'\n').map_or(parts.len(), |at| at + 1);
    out.extend_from_slice(&parts[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_become_one_reply() {
        let joined = |join: JoinParts, parts: &str| {
            let mut out = Vec::new();
            join(parts.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(joined(sum, ":1\r\n:0\r\n:1\r\n"), ":2\r\n");
        assert_eq!(joined(one_of, "+OK\r\n+OK\r\n"), "+OK\r\n");
        assert_eq!(
            (joined(sum, ""), joined(one_of, "")),
            (String::new(), String::new()),
            "the client is to hear nothing"
        );
    }
}
