//! Many gets as one: nothing is shown before all of them are answered, and an error of one is an error of all. Each key is
//! shown as of some time between the question and the answer, not all as of the same.

#[cfg(test)]
mod tests;

use super::in_flight::{Many, Waiter};
use super::machine::{Ask, Front};
use crate::ids::{Address, Asker, RequestId};
use crate::range::entry::Kept;
use crate::timing::Now;
use crate::wire::{Answer, Message};
use std::collections::BTreeMap;

impl Front {
    /// Somebody wants many keys.
    pub(super) fn ask_many(
        &mut self,
        id: RequestId,
        asker: Asker,
        keys: Vec<Vec<u8>>,
        now: Now,
        out: &mut Vec<(Address, Message)>,
    ) {
        self.counts.many += 1;
        let number = self.next_tag();
        self.manys.insert(number, Many { asker, id, keys: keys.len(), found: BTreeMap::new(), bytes: 0 });
        if keys.is_empty() {
            return self.end_many(number, Answer::FoundMany(Vec::new()), out);
        }
        if keys.len() > self.limits.keys {
            return self.end_many(number, Answer::Busy, out);
        }
        for (at, key) in keys.into_iter().enumerate() {
            // One that could not be answered has ended all.
            if self.manys.contains_key(&number) {
                self.ask(
                    Ask { id, answered: None, forwarded: false, key, place: None, operation: None },
                    Waiter::Part(number, at),
                    now,
                    out,
                );
            }
        }
    }

    /// One of many is answered.
    pub(super) fn part(&mut self, number: u64, at: usize, answer: Answer, out: &mut Vec<(Address, Message)>) {
        let Some(many) = self.manys.get_mut(&number) else { return };
        let Answer::Found(kept) = answer else { return self.end_many(number, answer, out) };
        let version = kept.as_ref().and_then(|kept| kept.version.as_ref());
        let bytes = size_of::<Kept>() + version.map_or(0, |version| version.value.len());
        many.bytes += bytes;
        many.found.insert(at, kept);
        self.held_bytes += bytes;
        let is_too_much = many.bytes > self.limits.many_bytes && many.keys > 1;
        if self.held_bytes > self.limits.bytes || is_too_much {
            return self.end_many(number, Answer::Busy, out);
        }
        if many.found.len() == many.keys {
            let found = std::mem::take(&mut many.found).into_values().collect();
            self.end_many(number, Answer::FoundMany(found), out);
        }
    }

    fn end_many(&mut self, number: u64, answer: Answer, out: &mut Vec<(Address, Message)>) {
        let Some(Many { asker: Asker { address, tag }, id, bytes, .. }) = self.manys.remove(&number) else { return };
        self.held_bytes -= bytes;
        out.push((address, Message::Reply { id, tag, continuation: None, until: 0, answer }));
    }
}
