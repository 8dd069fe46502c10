//! Clients: each asks one thing at a time, tries again until it is answered or gives up, and remembers what it saw.

use std::collections::BTreeMap;

use fawn_kv::ids::{Address, Chain, RangeId, RequestId};
use fawn_kv::message::{Answer, Message};
use fawn_kv::operation::{Arithmetic, Cas, Delete, Mode, Operation, Outcome, Store};

use crate::history::{KvOperation, KvOutcome};
use crate::random::Random;

/// A try is given up after this, and another one made.
const TRY_US: u64 = 300_000;
/// An operation is given up after this: nobody knows what became of it.
const GIVE_UP_US: u64 = 20_000_000;

/// What a client has asked.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The request, the same at every try: an answer to any of them will do.
    pub id: RequestId,
    /// The key's number.
    pub key: u64,
    /// What was asked, as the checker has it.
    pub operation: KvOperation,
    /// When it began, and when it was last tried.
    pub began_us: u64,
    tried_us: u64,
}

/// One client.
#[derive(Debug)]
pub struct Client {
    /// Its number.
    pub number: u32,
    session: u64,
    next: u64,
    view: BTreeMap<RangeId, Chain>,
    /// What it waits for.
    pub asking: Option<Asking>,
    /// The last version that it saw of each key, for compare-and-swap.
    seen: BTreeMap<u64, u64>,
    random: Random,
}

/// What became of an operation.
#[derive(Debug)]
pub enum Ended {
    /// It was answered.
    Answered(Asking, KvOutcome),
    /// Nobody knows.
    GivenUp(Asking),
}

impl Client {
    /// Client `number`, whose session nobody else has.
    pub fn new(number: u32, random: Random) -> Self {
        Self {
            number,
            session: u64::from(number) + 1,
            next: 1,
            view: BTreeMap::new(),
            asking: None,
            seen: BTreeMap::new(),
            random,
        }
    }

    /// Begins an operation on a key of `keys`. The checker is told of it.
    pub fn begin(&mut self, keys: u64, now_us: u64) -> &Asking {
        // Half of all operations are on few keys.
        let key = if self.random.chance(1, 2) { self.random.below(keys.min(3)) } else { self.random.below(keys) };
        let id = RequestId { session: self.session, number: self.next };
        let value = self.session * 1_000_000_000 + self.next;
        self.next += 1;
        let operation = match self.random.below(16) {
            0..6 => KvOperation::Get,
            6..10 => KvOperation::Put { value },
            10..12 => KvOperation::CompareAndSwap { expected: self.seen.get(&key).copied().unwrap_or(1), value },
            12 => KvOperation::Delete,
            13 => KvOperation::Add { value },
            14 => KvOperation::Replace { value },
            _ => KvOperation::Increment { by: 1 },
        };
        self.asking.insert(Asking { id, key, operation, began_us: now_us, tried_us: 0 })
    }

    /// Tries again if it is time to, or gives up.
    pub fn tick(&mut self, now_us: u64, ranges: u32, out: &mut Vec<(Address, Message)>) -> Option<Ended> {
        let asking = self.asking.as_mut()?;
        if now_us >= asking.began_us + GIVE_UP_US {
            return self.asking.take().map(Ended::GivenUp);
        }
        if asking.tried_us > 0 && now_us < asking.tried_us + TRY_US {
            return None;
        }
        if asking.tried_us > 0 || self.view.is_empty() {
            out.push((Address::Manager, Message::AskView { client: self.number }));
        }
        asking.tried_us = now_us.max(1);
        let (id, client) = (asking.id, self.number);
        let range = RangeId((asking.key % u64::from(ranges)) as u32);
        let Some(chain) = self.view.get(&range).filter(|chain| !chain.members.is_empty()) else {
            asking.tried_us = now_us.saturating_sub(TRY_US - 20_000).max(1);
            return None;
        };
        let key = format!("key-{:04}", asking.key).into_bytes();
        if asking.operation == KvOperation::Get {
            out.push((Address::Node(chain.tail().node), Message::Get { range, id, client, key }));
            return None;
        }
        let text;
        let operation = match asking.operation {
            KvOperation::Get => unreachable!("gets were just sent"),
            KvOperation::Delete => Operation::Delete(Delete::default()),
            KvOperation::Increment { by } => Operation::Arithmetic(Arithmetic {
                decrement: false,
                delta: by,
                initial: 0,
                vivify: None,
                touch: None,
                compare: None,
                new_cas: None,
            }),
            KvOperation::Put { value }
            | KvOperation::CompareAndSwap { value, .. }
            | KvOperation::Add { value }
            | KvOperation::Replace { value } => {
                text = value.to_string();
                let (mode, compare) = match asking.operation {
                    KvOperation::CompareAndSwap { expected, .. } => (Mode::Cas, Some(expected)),
                    KvOperation::Add { .. } => (Mode::Add, None),
                    KvOperation::Replace { .. } => (Mode::Replace, None),
                    _ => (Mode::Set, None),
                };
                Operation::Store(Store { mode, compare, ..Store::set(text.as_bytes()) })
            }
        };
        let operation = postcard::to_allocvec(&operation).expect("an operation can be encoded");
        // Everything before is answered, or was given up for good.
        let answered = id.number - 1;
        let message = Message::Request { range, id, answered, client, key, operation };
        out.push((Address::Node(chain.head().node), message));
        None
    }

    /// A message has come.
    pub fn receive(&mut self, message: Message) -> Option<Ended> {
        match message {
            Message::View { chains } => {
                for (range, chain) in chains {
                    let known = self.view.entry(range).or_insert_with(Chain::none);
                    if chain.epoch >= known.epoch {
                        *known = chain;
                    }
                }
                None
            }
            Message::Reply { id, answer } => {
                let asking = self.asking.take_if(|asking| asking.id == id)?;
                let outcome = match answer {
                    Answer::Done { outcome, seq } => outcome_of(outcome, seq.0),
                    Answer::Found(kept) => match kept.and_then(|kept| Some((kept.version?, kept.position))) {
                        None => KvOutcome::Miss,
                        Some((version, position)) => {
                            let text = String::from_utf8(version.value).expect("values are numbers");
                            let value = text.parse().expect("values are numbers");
                            KvOutcome::Hit { value, version: Some(position.seq.0) }
                        }
                    },
                    Answer::NotMine | Answer::Unknown => {
                        assert!(answer == Answer::NotMine, "a request that is still tried was not answered");
                        self.asking = Some(asking);
                        return None;
                    }
                };
                if let KvOutcome::Hit { version: Some(version), .. }
                | KvOutcome::Stored { version: Some(version) }
                | KvOutcome::Number { version: Some(version), .. } = outcome
                {
                    self.seen.insert(asking.key, version);
                }
                Some(Ended::Answered(asking, outcome))
            }
            _ => None,
        }
    }
}

fn outcome_of(outcome: Outcome, seq: u64) -> KvOutcome {
    let version = |cas: Cas| Some(cas.resolve(seq));
    match outcome {
        Outcome::Stored { cas, .. } => KvOutcome::Stored { version: version(cas) },
        Outcome::NotStored => KvOutcome::NotStored,
        Outcome::Exists => KvOutcome::Exists,
        Outcome::NotFound => KvOutcome::NotFound,
        Outcome::Deleted => KvOutcome::Deleted,
        Outcome::Number(number) => KvOutcome::Number { value: number.value, version: version(number.cas) },
        other => unreachable!("no operation of the workload comes to {other:?}"),
    }
}
