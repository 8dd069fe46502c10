//! What must hold of a weak cluster, whose members are chains of their own (FAWN-DHT §3.3).
//!
//! As long as every owner of a range has the log of the one before it, the owners alone decide, and a key's history is judged
//! as in a cluster with chains. A chain whose next owner has a log of its own may have lost, or brought back, anything that
//! was written: from there on its keys' answers may show only what somebody asked to be written. Once nothing goes
//! wrong any more there is a *last look*: a put of every key, a get that must show it, and every member must have it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::ids::{Ack, NodeId, RangeId};
use fawn_kv::manager::{Command, State};
use fawn_kv::wire::Message;
use fawn_ring::Interval;

use super::client::{Asking, Ended, name, position};
use super::world::World;

/// Between one key and the next: until then all members have heard of the one before. What comes to a member after its
/// session has said that it is answered is refused there.
const NEXT_AFTER_US: u64 = 5_000;

/// After the last key, until then all members have read from flash what they had to.
const END_AFTER_US: u64 = 200_000;

/// How often a key is put again that some member lacks: its log may have had no room at that moment, which nobody hears of.
const RETRIES: u32 = 3;

/// What clients asked to be written to a key.
#[derive(Debug, Default)]
struct Asked {
    values: BTreeSet<u64>,
    /// By how much it may have been counted up, and down.
    counted: u64,
    counted_down: u64,
    /// Digits were written to it, before or after whatever was there.
    extended: bool,
}

impl Asked {
    /// Whether a value can be there.
    fn explains(&self, value: u64) -> bool {
        let (least, most) = (value.saturating_sub(self.counted), value.saturating_add(self.counted_down));
        self.extended || self.values.range(least..=most).next().is_some()
    }
}

/// The last look at every key.
#[derive(Debug, Default)]
struct LastLook {
    from_us: u64,
    /// Keys that nobody has put yet.
    rest: VecDeque<u64>,
    /// Who puts what to which key, or has put it and now gets.
    at: Option<(usize, u64, u64, bool)>,
    /// What was put and got.
    done: Vec<(u64, u64)>,
    /// Values given out.
    values: u64,
    /// How often keys were put again that some member lacked.
    retries: u32,
}

/// What is known of a weak cluster from outside.
#[derive(Debug)]
pub(super) struct Weak {
    /// By key.
    asked: Vec<Asked>,
    last: Option<LastLook>,
}

impl Weak {
    pub(super) fn new(keys: u64) -> Self {
        Self { asked: (0..keys).map(|_| Asked::default()).collect(), last: None }
    }
}

/// Whether the chain that an attempt brings about begins with the log of the owner before.
fn keeps_owner(agreed: &State, id: RangeId) -> bool {
    let Some(range) = agreed.ranges.get(&id) else { return true };
    let Some(pending) = &range.pending else { return true };
    let (chain, Some(source)) = (&range.chain, pending.source) else { return true };
    let (Some(before), Some(after)) = (chain.members.first(), pending.target.first()) else { return true };
    let is_newcomer = chain.place(source).is_some() && chain.place(*after).is_none();
    let lost_nothing = source == *before || (source.node == before.node && chain.rules.ack == Ack::Durable);
    lost_nothing && (*after == source || is_newcomer)
}

impl World {
    /// The keys whose next owner, by a command that is to be agreed, has another log than the one before.
    pub(super) fn owners_lost_by(&self, command: &Command) -> Vec<Interval> {
        let mut ranges = self.parents(command);
        ranges.retain(|range| self.weak.is_some() && !keeps_owner(&self.agreed, *range));
        ranges.iter().map(|range| self.agreed.ranges[range].chain.keys).collect()
    }

    /// From here on these keys are judged less strictly.
    pub(super) fn weaken(&mut self, lost: &[Interval]) {
        for key in 0..self.plan.keys as usize {
            if lost.iter().any(|keys| keys.contains(&self.positions[key])) {
                self.summary.weakened += u64::from(self.checkers[key].take().is_some());
            }
        }
    }

    /// A client asks something about these keys.
    pub(super) fn note_asked(&mut self, keys: &[u64], operation: KvOperation) {
        let Some(weak) = &mut self.weak else { return };
        for key in keys {
            let asked = &mut weak.asked[*key as usize];
            match operation {
                KvOperation::Put { value }
                | KvOperation::CompareAndSwap { value, .. }
                | KvOperation::Add { value }
                | KvOperation::Replace { value } => {
                    asked.values.insert(value);
                }
                KvOperation::Increment { by } => asked.counted += by,
                KvOperation::Decrement { by, initial } => {
                    asked.counted_down = asked.counted_down.saturating_add(by);
                    asked.values.extend(initial);
                }
                KvOperation::Extend { .. } => asked.extended = true,
                KvOperation::Win { vivify: true, .. } => {
                    asked.values.insert(0);
                }
                KvOperation::Get
                | KvOperation::Delete
                | KvOperation::Expire { .. }
                | KvOperation::Touch
                | KvOperation::Invalidate
                | KvOperation::Win { vivify: false, .. } => {}
            }
        }
    }

    /// No answer shows what nobody asked to be written.
    pub(super) fn look_at_answer(&self, key: u64, outcome: Option<KvOutcome>) -> Result<(), String> {
        let (
            Some(weak),
            Some(KvOutcome::Hit { value, .. } | KvOutcome::Number { value, .. } | KvOutcome::Item { value, .. }),
        ) = (&self.weak, outcome)
        else {
            return Ok(());
        };
        let explained = weak.asked[key as usize].explains(value);
        if explained { Ok(()) } else { Err(format!("key {key} shows {value}, which nobody wrote")) }
    }

    /// Whether a run that is quiet is over. In a weak cluster the last look comes before.
    pub(super) fn is_over(&mut self) -> Result<bool, String> {
        if self.weak.is_none() {
            return Ok(true);
        }
        // What was asked long ago, and comes late, is carried out.
        if self.is_under_way(|message| {
            let asks = matches!(message, Message::Ask { .. } | Message::AskMany { .. });
            asks || matches!(message, Message::Request { .. } | Message::Flush { .. })
        }) {
            return Ok(false);
        }
        let weak = self.weak.as_mut().expect("it is weak");
        let Some(last) = &weak.last else {
            // Sessions have other names by then, and members that missed puts, as they had no room or were behind, take them.
            let from_us = self.now_us + u64::from(self.timing.session_idle_s) * 1_000_000;
            weak.last = Some(LastLook { rest: (0..self.plan.keys).collect(), from_us, ..LastLook::default() });
            self.invariants.watch();
            for number in 0..self.clients.len() {
                self.clients[number].end_session();
            }
            return Ok(false);
        };
        if self.now_us < last.from_us + END_AFTER_US || !last.rest.is_empty() || last.at.is_some() {
            return Ok(false);
        }
        let (done, retries) = (last.done.clone(), last.retries);
        let lacking = done.into_iter().filter_map(|(key, value)| Some((key, self.all_have(key, value).err()?)));
        let lacking: BTreeMap<u64, String> = lacking.collect();
        let Some(lack) = lacking.values().next() else { return Ok(true) };
        if retries == RETRIES {
            return Err(lack.clone());
        }
        let weak = self.weak.as_mut().expect("it is weak");
        let last = weak.last.as_mut().expect("it has begun");
        last.done.retain(|(key, _)| !lacking.contains_key(key));
        last.rest.extend(lacking.into_keys());
        (last.retries, last.from_us) = (retries + 1, self.now_us);
        Ok(false)
    }

    /// Every member has what was put last.
    fn all_have(&self, key: u64, value: u64) -> Result<(), String> {
        let (_, id) = self.agreed.by_last.range(position(key)..).next().expect("every key is in a range");
        let lacks = |node: &NodeId| !self.invariants.has(*node, &name(key), value.to_string().as_bytes());
        let mut nodes = self.agreed.ranges[id].chain.members.iter().map(|member| member.node);
        match nodes.find(lacks) {
            Some(node) => Err(format!("{node:?} lacks {value}, which was put of key {key} when nothing went wrong")),
            None => Ok(()),
        }
    }

    /// What a client that is idle asks in the last look.
    pub(super) fn ask_last(&mut self, number: usize) -> Result<(), String> {
        let state = &self.agreed;
        let Some(Weak { last: Some(last), .. }) = &mut self.weak else { return Ok(()) };
        if self.now_us < last.from_us || self.clients[number].asking.is_some() {
            return Ok(());
        }
        match last.at {
            Some((by, key, _, true)) if by == number => return self.ask(number, key, KvOperation::Get),
            Some(_) => return Ok(()),
            None => {}
        }
        while let Some(key) = last.rest.pop_front() {
            let (_, id) = state.by_last.range(position(key)..).next().expect("every key is in a range");
            let chain = &state.ranges[id].chain;
            if chain.members.len() < usize::from(chain.rules.min_write_replicas) {
                continue;
            }
            last.values += 1;
            let value = (number as u64 + 1) * 1_000_000_000 + 500_000_000 + last.values;
            last.at = Some((number, key, value, false));
            return self.ask(number, key, KvOperation::Put { value });
        }
        Ok(())
    }

    /// What a client asked has ended: in the last look a get shows what was put.
    pub(super) fn look_at_last(&mut self, number: usize, ended: &Ended) -> Result<(), String> {
        let Some(Weak { last: Some(last), .. }) = &mut self.weak else { return Ok(()) };
        let Some((_, key, value, was_put)) = last.at.filter(|(by, ..)| *by == number) else { return Ok(()) };
        match ended {
            Ended::GivenUp(Asking { operation: KvOperation::Get, .. }) => {}
            Ended::GivenUp(_) | Ended::ShownNoMore(_) => {
                last.at = None;
                last.rest.push_back(key);
            }
            Ended::Answered(..) if !was_put => {
                last.at = Some((number, key, value, true));
            }
            Ended::Answered(_, outcomes) => {
                if !matches!(outcomes[..], [KvOutcome::Hit { value: shown, .. }] if shown == value) {
                    return Err(format!("key {key} shows {outcomes:?} after {value} was put when nothing went wrong"));
                }
                (last.at, last.from_us) = (None, self.now_us + NEXT_AFTER_US);
                last.done.push((key, value));
            }
        }
        Ok(())
    }
}
