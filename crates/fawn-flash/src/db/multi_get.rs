//! Gets of many keys: all reads from flash are in flight at once.

use std::sync::Arc;

use fawn_ring::Key;
use fawn_store::record::Kind;
use fawn_store::{Gate, Lookup, Read, Store};

use super::error::Error;
use super::get::{LargeRecord, ReadOutcome};
use super::inner::DbInner;
use super::shard::{Shard, ShardCore};
use crate::os::clock;
use crate::reader::{Issuer, Reader, ReaderOptions};

/// Reads of one call that are given to the device at once.
const DEPTH: u32 = 128;
/// Reads that are waited for together.
const FEW: usize = 8;
/// Idle readers that are kept for each shard.
const KEEP_READERS: usize = 4;

/// Where one key of a call stands.
enum KeyState {
    /// The key's get is answered; `None`: there is no such key.
    Done(Option<Vec<u8>>),
    /// The read for the key is in flight.
    Reading(Read),
    /// Left for a get of its own: its index is loading, its value is in a file of its own.
    Later,
}

/// One call under way.
struct MultiGet<'a, K> {
    names: &'a [K],
    places: Vec<(Key, usize)>,
    states: Vec<KeyState>,
    now: u32,
    /// What an answer from each shard waits for.
    gates: Vec<Gate>,
    /// The first failure; the others finish all the same, because every read must be given back.
    failed: Option<Error>,
}

impl DbInner {
    pub(super) fn get_many<K: AsRef<[u8]>>(&self, names: &[K]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let places = names.iter().map(|name| self.place(name.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let mut call = MultiGet {
            names,
            places,
            states: names.iter().map(|_| KeyState::Later).collect(),
            now: clock::unix(),
            gates: vec![Gate::NONE; self.shards.len()],
            failed: None,
        };
        let mut readers: Vec<Option<Reader>> = self.shards.iter().map(|_| None).collect();
        for (place, reader) in readers.iter_mut().enumerate() {
            self.begin_all(&mut call, place, reader);
        }
        for reader in readers.iter_mut().flatten() {
            if let Err(error) = reader.submit() {
                call.failed.get_or_insert(error.into());
            }
        }
        for (shard, reader) in readers.into_iter().enumerate() {
            if let Some(mut reader) = reader {
                self.finish_all(&mut call, shard, &mut reader);
                self.keep(shard, reader);
            }
        }
        if let Some(error) = call.failed {
            return Err(error);
        }
        for (shard, gate) in self.shards.iter().zip(&call.gates) {
            shard.wait(*gate)?;
        }
        let answers = call.states.into_iter().zip(names).map(|(state, name)| match state {
            KeyState::Done(value) => Ok(value),
            KeyState::Later => self.get(name.as_ref(), |record| record.value.to_vec()),
            KeyState::Reading(_) => unreachable!("every read has come back"),
        });
        answers.collect()
    }

    /// Looks up the keys of shard `place`, and asks for the pages of those that must be read.
    fn begin_all<K: AsRef<[u8]>>(&self, call: &mut MultiGet<'_, K>, place: usize, reader: &mut Option<Reader>) {
        let mut group = [0; Store::PREFETCH_KEYS];
        let mut keys = [Key::MIN; Store::PREFETCH_KEYS];
        let mut next = 0;
        loop {
            let mut count = 0;
            while next < call.places.len() && count < group.len() {
                if call.places[next].1 == place {
                    (group[count], keys[count]) = (next, call.places[next].0);
                    count += 1;
                }
                next += 1;
            }
            if count == 0 {
                return;
            }
            // One lock a group: other threads get in between.
            let mut core = match self.shards[place].open_core() {
                Ok(core) => core,
                Err(error) => {
                    call.failed.get_or_insert(error);
                    return;
                }
            };
            core.store.prefetch(&keys[..count]);
            for &number in &group[..count] {
                call.states[number] = begin(&mut core, call, number);
            }
            drop(core);
            self.ask(call, place, &group[..count], reader);
        }
    }

    /// Asks for the pages of those keys of a group that must be read. Not under the lock: the device may be told of some.
    fn ask<K: AsRef<[u8]>>(
        &self,
        call: &mut MultiGet<'_, K>,
        place: usize,
        group: &[usize],
        reader: &mut Option<Reader>,
    ) {
        for &number in group {
            let KeyState::Reading(read) = &call.states[number] else { continue };
            if reader.is_none() {
                match self.reader(place) {
                    Ok(idle) => *reader = Some(idle),
                    Err(error) => {
                        let KeyState::Reading(read) = std::mem::replace(&mut call.states[number], KeyState::Done(None))
                        else {
                            unreachable!("it was just looked at");
                        };
                        self.shards[place].give_up(read);
                        call.failed.get_or_insert(error);
                        continue;
                    }
                }
            }
            let reader = reader.as_mut().expect("made just above");
            reader.push(number as u64, read.file, read.first, read.count);
        }
    }

    /// Waits for all reads in flight on `reader`, and for those that follow from them.
    fn finish_all<K: AsRef<[u8]>>(&self, call: &mut MultiGet<'_, K>, shard: usize, reader: &mut Reader) {
        let shard = &self.shards[shard];
        let mut again = Vec::new();
        while reader.in_flight() > 0 {
            // The device works on one half while the answers of the other are worked off.
            let want = reader.in_flight().min(DEPTH as usize).div_ceil(2).max(FEW);
            let waited = reader.wait(want.min(reader.in_flight())).and_then(|()| {
                reader.complete(|token, pages| {
                    let number = token as usize;
                    let KeyState::Reading(read) = std::mem::replace(&mut call.states[number], KeyState::Later) else {
                        unreachable!("a read comes back once");
                    };
                    match pages {
                        Ok(pages) => match finish_one(shard, call, number, read, pages) {
                            Ok(Ok(state)) => call.states[number] = state,
                            Ok(Err(next)) => again.push((number, next)),
                            Err(error) => {
                                call.failed.get_or_insert(error);
                            }
                        },
                        Err(error) => {
                            shard.give_up(read);
                            call.failed.get_or_insert(error.into());
                        }
                    }
                })
            });
            if let Err(error) = waited {
                // Nothing comes back any more: the reads' pins are given up with their view of the store.
                call.failed.get_or_insert(error.into());
                for state in &mut call.states {
                    if matches!(state, KeyState::Reading(_))
                        && let KeyState::Reading(read) = std::mem::replace(state, KeyState::Later)
                    {
                        shard.give_up(read);
                    }
                }
                return;
            }
            for (number, next) in again.drain(..) {
                reader.push(number as u64, next.file, next.first, next.count);
                call.states[number] = KeyState::Reading(next);
            }
        }
    }

    /// A reader of shard `place`'s files that nobody is using.
    fn reader(&self, place: usize) -> Result<Reader, Error> {
        if let Some(reader) = self.shards[place].readers().pop() {
            return Ok(reader);
        }
        let options =
            ReaderOptions { path: self.reads, depth: DEPTH, issuer: Issuer::AnyThread, ..ReaderOptions::default() };
        Ok(Reader::new(Arc::clone(&self.shards[place].files), options)?)
    }

    fn keep(&self, place: usize, reader: Reader) {
        let mut readers = self.shards[place].readers();
        if readers.len() < KEEP_READERS && reader.in_flight() == 0 {
            readers.push(reader);
        }
    }
}

/// Looks one key up.
fn begin<K: AsRef<[u8]>>(core: &mut ShardCore, call: &mut MultiGet<'_, K>, number: usize) -> KeyState {
    let (key, place) = call.places[number];
    match core.store.lookup(&key, call.names[number].as_ref(), call.now) {
        Lookup::Found { record, .. } if record.kind == Kind::Stub => KeyState::Later,
        Lookup::Found { record, gate } => {
            call.gates[place] = call.gates[place].max(gate);
            KeyState::Done(Some(record.value.to_vec()))
        }
        Lookup::Absent { gate } => {
            call.gates[place] = call.gates[place].max(gate);
            KeyState::Done(None)
        }
        Lookup::Loading => {
            core.hand_out();
            KeyState::Later
        }
        Lookup::Damaged(damage) => {
            call.failed.get_or_insert(damage.into());
            KeyState::Done(None)
        }
        Lookup::Read(read) => KeyState::Reading(read),
    }
}

/// Finishes the read of key `number`; `Ok(Err(_))` names the next one.
fn finish_one<K: AsRef<[u8]>>(
    shard: &Shard,
    call: &mut MultiGet<'_, K>,
    number: usize,
    read: Read,
    pages: &mut [fawn_store::page::Page],
) -> Result<Result<KeyState, Read>, Error> {
    let (key, name) = (call.places[number].0, call.names[number].as_ref());
    let mut copy = |record: &fawn_store::record::Record<'_>| record.value.to_vec();
    let place = call.places[number].1;
    let state = match shard.finish(read, pages, &key, name, call.now, &mut copy)? {
        Err(next) => return Ok(Err(next)),
        Ok(ReadOutcome::Answer(value, gate)) => {
            call.gates[place] = call.gates[place].max(gate);
            KeyState::Done(value)
        }
        Ok(ReadOutcome::Large(LargeRecord { .. })) => KeyState::Later,
    };
    Ok(Ok(state))
}
