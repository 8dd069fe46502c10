//! What clients ask of a range.

use super::context::Context;
use crate::ids::{Asker, Epoch, RequestId, WedgeEpoch};
use crate::range::entry::MAX_KEY_BYTES;
use crate::wire::{Answer, Continuation, Message};
use fawn_ring::{Interval, Key};

/// A client's operation.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) answered: u64,
    pub(super) asker: Asker,
    pub(super) wedge: WedgeEpoch,
    pub(super) epoch: Epoch,
    pub(super) key: Vec<u8>,
    /// Where the key lies.
    pub(super) lies: Key,
    pub(super) operation: Vec<u8>,
    /// It was carried out before it came, and only what it showed is looked up.
    pub(super) is_done: bool,
}

impl Request {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.operation.len()
    }

    /// Why no member of a range with these keys carries it out, if none does.
    pub(super) fn refusal(&self, keys: &Interval) -> Option<Answer> {
        if self.key.is_empty() || self.key.len() > MAX_KEY_BYTES {
            return Some(Answer::Malformed);
        }
        (!keys.contains(&self.lies)).then_some(Answer::NotMine)
    }
}

/// What is asked: [`Message::Flush`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) id: RequestId,
    pub(super) answered: u64,
    pub(super) asker: Asker,
    pub(super) wedge: WedgeEpoch,
    pub(super) keys: Interval,
    pub(super) due: u32,
}

/// A get.
#[derive(Debug)]
pub(super) struct Get {
    pub(super) id: RequestId,
    pub(super) asker: Asker,
    pub(super) wedge: WedgeEpoch,
    pub(super) key: Vec<u8>,
    /// Where the key lies.
    pub(super) lies: Key,
    pub(super) continuation: Option<Continuation>,
}

impl Get {
    pub(super) fn answer<S>(self, answer: Answer, context: &mut Context<'_, S>) {
        self.answer_until(answer, 0, context);
    }

    /// An answer that no cache shows from a Unix second on; 0: none.
    pub(super) fn answer_until<S>(self, answer: Answer, until: u32, context: &mut Context<'_, S>) {
        let Self { id, asker: Asker { address, tag }, continuation, .. } = self;
        context.out.push((address, Message::Reply { id, tag, continuation, until, answer }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{FRONT, SECRET};

    #[test]
    fn a_key_that_is_none_is_malformed_and_one_of_another_range_is_refused() {
        let (low, high) = Interval::ALL.cut(&SECRET.position(b"k")).unwrap();
        let refusal = |key: &[u8], keys| {
            let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: FRONT, tag: 0 });
            let (wedge, epoch, lies, operation) = (WedgeEpoch(0), Epoch(1), SECRET.position(key), Vec::new());
            let key = key.to_vec();
            Request { id, answered: 0, asker, wedge, epoch, key, lies, operation, is_done: false }.refusal(keys)
        };
        assert_eq!((refusal(b"k", &low), refusal(b"k", &high)), (None, Some(Answer::NotMine)));
        assert_eq!(refusal(b"", &Interval::ALL), Some(Answer::Malformed));
        assert_eq!(refusal(&vec![b'k'; MAX_KEY_BYTES + 1], &Interval::ALL), Some(Answer::Malformed));
    }
}
