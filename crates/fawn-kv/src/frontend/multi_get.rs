//! Many gets as one: nothing is shown before all of them are answered, and an error of one is an error of all. Each key is
//! shown as of some time between the question and the answer, not all as of the same.

#[cfg(test)]
mod tests;

use super::in_flight::reply;
use super::limits::Limits;
use crate::ids::{Address, Asker, RequestId};
use crate::range::entry::Kept;
use crate::wire::{Answer, Message};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Gets that are answered together.
#[derive(Debug)]
struct Many {
    asker: Asker,
    id: RequestId,
    keys: usize,
    /// What was found, by the key's place among them.
    found: BTreeMap<usize, Option<Arc<Kept>>>,
    /// Bytes found so far.
    bytes: usize,
}

/// Multi-gets that are under way.
#[derive(Debug, Default)]
pub(super) struct MultiGets {
    by_number: BTreeMap<u64, Many>,
    /// Of parts of answers.
    held_bytes: usize,
}

impl MultiGets {
    /// Somebody wants so many keys. Returns whether they are to be asked for; else the answer is given.
    pub(super) fn begin(
        &mut self,
        number: u64,
        (asker, id): (Asker, RequestId),
        keys: usize,
        limits: &Limits,
        out: &mut Vec<(Address, Message)>,
    ) -> bool {
        let answer = match keys {
            0 => Answer::FoundMany(Vec::new()),
            keys if keys > limits.keys => Answer::Busy,
            _ => {
                self.by_number.insert(number, Many { asker, id, keys, found: BTreeMap::new(), bytes: 0 });
                return true;
            }
        };
        reply((asker, id), answer, out);
        false
    }

    /// Whether the keys of a multi-get are still wanted: one that could not be answered has ended all.
    pub(super) fn contains(&self, number: u64) -> bool {
        self.by_number.contains_key(&number)
    }

    /// One of many is answered.
    pub(super) fn answered(
        &mut self,
        number: u64,
        at: usize,
        answer: Answer,
        limits: &Limits,
        out: &mut Vec<(Address, Message)>,
    ) {
        let Some(many) = self.by_number.get_mut(&number) else { return };
        let Answer::Found(kept) = answer else { return self.end(number, answer, out) };
        let version = kept.as_ref().and_then(|kept| kept.version.as_ref());
        let bytes = size_of::<Kept>() + version.map_or(0, |version| version.value.len());
        many.bytes += bytes;
        many.found.insert(at, kept);
        self.held_bytes += bytes;
        let is_too_much = many.bytes > limits.many_bytes && many.keys > 1;
        if self.held_bytes > limits.bytes || is_too_much {
            return self.end(number, Answer::Busy, out);
        }
        if many.found.len() == many.keys {
            let found = std::mem::take(&mut many.found).into_values().collect();
            self.end(number, Answer::FoundMany(found), out);
        }
    }

    fn end(&mut self, number: u64, answer: Answer, out: &mut Vec<(Address, Message)>) {
        let Some(Many { asker, id, bytes, .. }) = self.by_number.remove(&number) else { return };
        self.held_bytes -= bytes;
        reply((asker, id), answer, out);
    }
}
