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
use fawn_ring::Interval;

use crate::cluster::checkers::invariants::Invariants;
use crate::cluster::checkers::redundancy::parents;
use crate::cluster::clients::operation::{Asking, Conclusion};
use crate::cluster::keys::{name, position};

/// Between one key and the next: until then all members have heard of the one before. What comes to a member after its
/// session has said that it is answered is refused there.
const NEXT_AFTER_US: u64 = 5_000;

/// After the last key, until then all members have read from flash what they had to.
const END_AFTER_US: u64 = 200_000;

/// How often a key is put again that some member lacks: its log may have had no room at that moment, which nobody hears of.
const RETRIES: u32 = 3;

/// What clients asked to be written to a key.
#[derive(Debug, Default)]
struct KeyWrites {
    values: BTreeSet<u64>,
    /// By how much it may have been counted up, and down.
    counted: u64,
    counted_down: u64,
    /// Digits were written to it, before or after whatever was there.
    extended: bool,
}

impl KeyWrites {
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
pub struct WeakChecker {
    /// By key.
    asked: Vec<KeyWrites>,
    last: Option<LastLook>,
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

impl WeakChecker {
    /// A checker of so many keys.
    pub fn new(keys: u64) -> Self {
        Self { asked: (0..keys).map(|_| KeyWrites::default()).collect(), last: None }
    }

    /// A client asks something about these keys.
    pub fn note_asked(&mut self, keys: &[u64], operation: KvOperation) {
        for key in keys {
            let asked = &mut self.asked[*key as usize];
            match operation {
                KvOperation::Put { value }
                | KvOperation::CompareAndSwap { value, .. }
                | KvOperation::Add { value }
                | KvOperation::Replace { value }
                | KvOperation::Swap { value } => {
                    asked.values.insert(value);
                }
                KvOperation::Increment { by } => asked.counted += by,
                KvOperation::Sum { by } => {
                    asked.values.insert(0);
                    asked.counted += by;
                }
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
                | KvOperation::Take
                | KvOperation::Measure
                | KvOperation::Invalidate
                | KvOperation::Win { vivify: false, .. } => {}
            }
        }
    }

    /// No answer shows what nobody asked to be written.
    ///
    /// # Errors
    /// One does.
    pub fn look_at_answer(&self, key: u64, outcome: Option<KvOutcome>) -> Result<(), String> {
        let Some(KvOutcome::Hit { value, .. } | KvOutcome::Number { value, .. } | KvOutcome::Item { value, .. }) =
            outcome
        else {
            return Ok(());
        };
        let explained = self.asked[key as usize].explains(value);
        if explained { Ok(()) } else { Err(format!("key {key} shows {value}, which nobody wrote")) }
    }

    /// Begins the last look once sessions have other names, and members that missed puts, as they had no room or were behind,
    /// have taken them. Whether it had not begun yet.
    pub fn begin_last_look(&mut self, from_us: u64) -> bool {
        if self.last.is_some() {
            return false;
        }
        let rest = (0..self.asked.len() as u64).collect();
        self.last = Some(LastLook { from_us, rest, ..LastLook::default() });
        true
    }

    /// Whether the last look is over. It goes on if some member lacks what was put, as `lack` says of a key and its value.
    ///
    /// # Errors
    /// A member lacks it still.
    pub fn is_over(&mut self, now_us: u64, lack: impl Fn(u64, u64) -> Option<String>) -> Result<bool, String> {
        let last = self.last.as_mut().expect("it has begun");
        if now_us < last.from_us + END_AFTER_US || !last.rest.is_empty() || last.at.is_some() {
            return Ok(false);
        }
        let lacking = last.done.iter().filter_map(|(key, value)| Some((*key, lack(*key, *value)?)));
        let lacking: BTreeMap<u64, String> = lacking.collect();
        let Some(first) = lacking.values().next() else { return Ok(true) };
        if last.retries == RETRIES {
            return Err(first.clone());
        }
        last.done.retain(|(key, _)| !lacking.contains_key(key));
        last.rest.extend(lacking.into_keys());
        (last.retries, last.from_us) = (last.retries + 1, now_us);
        Ok(false)
    }

    /// What a client that is idle asks in the last look: of which key, and what.
    pub fn next_question(&mut self, now_us: u64, client: usize, agreed: &State) -> Option<(u64, KvOperation)> {
        let last = self.last.as_mut().filter(|last| now_us >= last.from_us)?;
        match last.at {
            Some((by, key, _, true)) if by == client => return Some((key, KvOperation::Get)),
            Some(_) => return None,
            None => {}
        }
        while let Some(key) = last.rest.pop_front() {
            let (_, id) = agreed.by_last.range(position(key)..).next().expect("every key is in a range");
            let chain = &agreed.ranges[id].chain;
            if chain.members.len() < usize::from(chain.rules.min_write_replicas) {
                continue;
            }
            last.values += 1;
            let value = (client as u64 + 1) * 1_000_000_000 + 500_000_000 + last.values;
            last.at = Some((client, key, value, false));
            return Some((key, KvOperation::Put { value }));
        }
        None
    }

    /// What a client asked has ended: in the last look a get shows what was put.
    ///
    /// # Errors
    /// It does not.
    pub fn look_at_last(&mut self, now_us: u64, client: usize, conclusion: &Conclusion) -> Result<(), String> {
        let Some(last) = &mut self.last else { return Ok(()) };
        let Some((_, key, value, was_put)) = last.at.filter(|(by, ..)| *by == client) else { return Ok(()) };
        match conclusion {
            Conclusion::GivenUp(Asking { operation: KvOperation::Get, .. }) => {}
            Conclusion::GivenUp(_) | Conclusion::ShownNoMore(_) => {
                last.at = None;
                last.rest.push_back(key);
            }
            Conclusion::Answered(..) if !was_put => {
                last.at = Some((client, key, value, true));
            }
            Conclusion::Answered(_, outcomes) => {
                if !matches!(outcomes[..], [KvOutcome::Hit { value: shown, .. }] if shown == value) {
                    return Err(format!("key {key} shows {outcomes:?} after {value} was put when nothing went wrong"));
                }
                (last.at, last.from_us) = (None, now_us + NEXT_AFTER_US);
                last.done.push((key, value));
            }
        }
        Ok(())
    }
}

/// The keys whose next owner, by a command that is to be agreed, has another log than the one before.
pub fn owners_lost_by(agreed: &State, command: &Command) -> Vec<Interval> {
    let mut ranges = parents(agreed, command);
    ranges.retain(|range| !keeps_owner(agreed, *range));
    ranges.iter().map(|range| agreed.ranges[range].chain.keys).collect()
}

/// Which member of a key's chain lacks what was put of it last, if one does.
pub fn who_lacks(agreed: &State, invariants: &Invariants, key: u64, value: u64) -> Option<String> {
    let (_, id) = agreed.by_last.range(position(key)..).next().expect("every key is in a range");
    let lacks = |node: &NodeId| !invariants.has(*node, &name(key), value.to_string().as_bytes());
    let mut nodes = agreed.ranges[id].chain.members.iter().map(|member| member.node);
    let node = nodes.find(lacks)?;
    Some(format!("{node:?} lacks {value}, which was put of key {key} when nothing went wrong"))
}
