//! Fences by themselves, and as a member of a chain keeps them.

use super::*;
use crate::chain::{Lease, Replica};
use crate::ids::{
    Asker, Attempt, Chain, ClusterId, Epoch, FrontId, Incarnation, Member, NodeId, Position, RangeId, RequestId, Rules,
    Seq,
};
use crate::operation::{Operation, Store};
use crate::range::entry::{Entry, Kept};
use crate::range::fences::Fences;
use crate::range::meta::Meta;
use crate::store::{Gate, Lookup, Part, Place, RecoveredRange, Scan, Ticket};
use crate::timing::Timing;
use crate::wire::Answer;
use fawn_ring::Key;
use fawn_ring::Secret;
use std::collections::BTreeMap;
use std::sync::Arc;

fn at(prefix: u64) -> Key {
    Key::lowest_with_prefix(prefix)
}

pub(in crate::chain) fn keys(low: u64, high: u64) -> Interval {
    Interval::new(at(low), Key::highest_with_prefix(high))
}

/// A store in which everything is durable at once, and what is committed is found.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(in crate::chain) struct Plain {
    pub(in crate::chain) kept: BTreeMap<Vec<u8>, Kept>,
    /// Lookups wait for flash.
    pub(in crate::chain) waits: bool,
    /// There is no room for values.
    pub(in crate::chain) full: bool,
    /// Nor for any record.
    pub(in crate::chain) takes_nothing: bool,
    pub(in crate::chain) timing: Timing,
    /// The Unix second, if later than 1.
    pub(in crate::chain) unix: u32,
    /// The latest Unix second that the node has gone by, if later than `unix`.
    pub(in crate::chain) latest: u32,
    /// Microseconds, if later than 1.
    pub(in crate::chain) us: u64,
    /// The node has no lease.
    pub(in crate::chain) leaseless: bool,
    /// See [`RangeStore::forgotten`].
    pub(in crate::chain) forgotten: Seq,
    /// How fast the node copies.
    pub(in crate::chain) pace: crate::chain::Pace,
    /// Who waits for lookups.
    pub(in crate::chain) tickets: (BTreeMap<Ticket, RangeId>, Ticket),
}

impl RangeStore for Plain {
    fn cluster(&self) -> Option<ClusterId> {
        None
    }
    fn join(&mut self, _: ClusterId) -> Gate {
        Gate(0)
    }
    fn create(&mut self, _: RangeId, _: Interval) -> Gate {
        Gate(0)
    }
    fn append(&mut self, _: RangeId, _: &Arc<Entry>) -> Gate {
        Gate(0)
    }
    fn truncate(&mut self, _: RangeId, _: Position) -> Gate {
        Gate(0)
    }
    fn hold(&mut self, _: RangeId, _: Attempt) -> Gate {
        Gate(0)
    }
    fn reset(&mut self, _: RangeId) -> Gate {
        Gate(0)
    }
    fn install(&mut self, _: RangeId, _: &[Kept]) -> Option<Gate> {
        Some(Gate(0))
    }
    fn install_end(&mut self, _: RangeId, _: &Meta, _: Seq) -> Gate {
        Gate(0)
    }
    fn commit(&mut self, _: RangeId, entry: &Entry, _: &Key) {
        let version = if let Change::Value(version) = &entry.change { Some(version.clone()) } else { None };
        if !entry.key.is_empty() {
            let (key, position) = (entry.key.clone(), entry.position);
            self.kept.insert(key.clone(), Kept { key, position, version });
        }
    }
    fn inherit(&mut self, _: &[RangeId], _: &[(RangeId, RecoveredRange)]) -> Gate {
        Gate(0)
    }
    fn drop_range(&mut self, _: RangeId) -> Gate {
        Gate(0)
    }
    fn lookup(&mut self, _: RangeId, key: &[u8], _: Ticket) -> Lookup {
        if self.waits { Lookup::Later } else { Lookup::Known(self.kept.get(key).cloned()) }
    }
    fn scan(&mut self, _: RangeId, from: Option<Key>, since: Seq, _: Position, _: Ticket) -> Scan {
        let is_in = |kept: &&Kept| kept.position.seq > since && Some(SECRET.position(&kept.key)) >= from;
        let mut kept: Vec<Kept> = self.kept.values().filter(is_in).cloned().collect();
        kept.sort_by_key(|kept| SECRET.position(&kept.key));
        Scan::Known(Part { kept, next: None })
    }
    fn longest_record(&self) -> usize {
        1 << 10
    }
    fn ready(&mut self) -> bool {
        true
    }
    fn is_logged(&self) -> bool {
        true
    }
    fn takes(&mut self, _: RangeId, _: Place) -> bool {
        !self.takes_nothing
    }
    fn is_full(&self) -> bool {
        self.full
    }
    fn has_failed(&self) -> bool {
        false
    }
    fn forgotten(&self, _: RangeId) -> Seq {
        self.forgotten
    }
    fn durable(&self) -> Gate {
        Gate(0)
    }
}

pub(in crate::chain) const SECRET: Secret = Secret([1; 32]);

/// Where the key of the tests' requests lies, by the top of it.
fn key_prefix() -> u64 {
    SECRET.position(b"k").prefix()
}

/// Some keys with the requests' among them.
fn around() -> Interval {
    keys(key_prefix() - 5, key_prefix() + 5)
}

pub(in crate::chain) const ME: Member = Member { node: NodeId(0), incarnation: Incarnation(1) };
pub(in crate::chain) const FRONT: Address = Address::Front(FrontId(3));

fn fence(seq: u64, keys: Interval, epoch: u64) -> Entry {
    let position = Position { epoch: Epoch(1), seq: Seq(seq) };
    let change = Change::Fence { keys, epoch: WedgeEpoch(epoch), front: FRONT };
    Entry { position, time: 1, key: Vec::new(), change, asked: None }
}

/// One step of a member whose store holds nothing, and what it sends.
pub(in crate::chain) fn step<T>(
    replica: &mut Replica,
    step: impl FnOnce(&mut Replica, &mut Context<'_, Plain>) -> T,
) -> (T, Vec<Message>) {
    step_with(&mut Plain::default(), replica, step)
}

/// One step of a member, and what it sends.
pub(in crate::chain) fn step_with<T>(
    store: &mut Plain,
    replica: &mut Replica,
    step: impl FnOnce(&mut Replica, &mut Context<'_, Plain>) -> T,
) -> (T, Vec<Message>) {
    step_part(store, |context| step(replica, context))
}

/// One step of a part of a member, and what it sends.
pub(in crate::chain) fn step_part<T>(
    store: &mut Plain,
    step: impl FnOnce(&mut Context<'_, Plain>) -> T,
) -> (T, Vec<Message>) {
    let (mut out, mut tickets) = (Vec::new(), std::mem::take(&mut store.tickets));
    let mut pace = std::mem::take(&mut store.pace);
    let lease = Lease { asked_us: 1, until_us: if store.leaseless { 0 } else { u64::MAX } };
    let (timing, now_us) = (store.timing, store.us.max(1));
    let (unix, latest, secret) = (store.unix.max(1), store.latest.max(store.unix), &SECRET);
    let (said, waits, paced) = (&mut out, &mut tickets, &mut pace);
    let mut context =
        Context { now_us, unix, latest, secret, lease, timing, store, out: said, tickets: waits, pace: paced };
    let did = step(&mut context);
    (store.tickets, store.pace) = (tickets, pace);
    (did, out.into_iter().map(|(_, message)| message).collect())
}

pub(in crate::chain) fn recovered(meta: Meta, entries: Vec<Entry>) -> RecoveredRange {
    RecoveredRange { keys: Interval::ALL, held: Some(Attempt(1)), meta, entries }
}

/// The only member of a chain, which is head and tail.
pub(in crate::chain) fn alone(meta: Meta) -> Replica {
    head_of(vec![ME], Rules::default(), meta)
}

/// The head of a chain of these members.
pub(in crate::chain) fn head_of(members: Vec<Member>, rules: Rules, meta: Meta) -> Replica {
    let mut replica = Replica::new(RangeId(0), ME, recovered(meta, Vec::new()), &SECRET);
    let last = replica.last();
    step(&mut replica, |replica, context| {
        let (attempt, incarnation, range) = (Attempt(2), ME.incarnation, RangeId(0));
        replica.receive(
            Address::Manager,
            Message::Seal { incarnation, range, attempt, keys: Interval::ALL, source: None },
            context,
        );
        let source = Some(ME);
        replica.receive(Address::Manager, Message::Equalise { incarnation, range, attempt, source, last }, context);
        let (epoch, first) = (Epoch(2), Seq(last.seq.0 + 10));
        let chain = Chain { epoch, attempt, members, rules, after: last, first, ..Chain::none(Interval::ALL) };
        replica.activated(chain, context);
    });
    assert!(replica.chain().is_some());
    replica
}

/// What a put and a get of the same key are answered.
fn ask(replica: &mut Replica, wedge: u64) -> [Option<Answer>; 2] {
    let id = RequestId { session: 1 << 32, number: replica.last().seq.0 + 1 };
    let asker = Asker { address: FRONT, tag: 7 };
    let (range, wedge, key) = (RangeId(0), WedgeEpoch(wedge), b"k".to_vec());
    let operation = postcard::to_allocvec(&Operation::Store(Store::set(b"v"))).unwrap();
    let put = Message::Request {
        range,
        id,
        answered: 0,
        asker,
        wedge,
        epoch: Epoch(1),
        key: key.clone(),
        place: None,
        operation,
    };
    let get = Message::Get { range, id, asker, wedge, key, place: None, continuation: None };
    [put, get].map(|message| {
        let ((), sent) = step(replica, |replica, context| replica.receive(FRONT, message, context));
        sent.into_iter().find_map(|message| match message {
            Message::Reply { answer, .. } => Some(answer),
            _ => None,
        })
    })
}

fn is_served(answers: &[Option<Answer>; 2]) -> bool {
    answers.iter().all(|answer| matches!(answer, Some(Answer::Done { .. } | Answer::Found(_))))
}

#[test]
fn from_when_it_is_in_the_log_a_fence_keeps_off_puts_and_gets_of_lower_epochs() {
    let mut replica = alone(Meta::default());
    assert!(is_served(&ask(&mut replica, 0)));
    let other = keys(0, 9);
    for (keys, epoch) in [(around(), 3), (other, 9)] {
        // Records that its chain has not committed: the member is mid in a chain, say.
        step(&mut replica, |replica, context| {
            let position = Position { epoch: Epoch(2), seq: replica.last().seq.next() };
            replica.log_mut().append(Entry { position, ..fence(0, keys, epoch) }, context);
        });
    }
    assert!(replica.meta().alive.fences == Fences::default(), "they are not committed");
    let place = at(key_prefix());
    assert!(replica.log_mut().is_fenced(&place, WedgeEpoch(2)) && !replica.log_mut().is_fenced(&place, WedgeEpoch(3)));
    let fenced = Some(Answer::Fenced);
    assert_eq!(ask(&mut replica, 2), [fenced.clone(), fenced]);
    assert!(is_served(&ask(&mut replica, 3)), "other keys have other fences");
}

#[test]
fn one_that_is_fenced_off_is_not_told_what_came_of_a_try() {
    let mut replica = alone(Meta::default());
    let (range, id, asker) = (RangeId(0), RequestId { session: 1 << 32, number: 1 }, Asker { address: FRONT, tag: 7 });
    let operation = postcard::to_allocvec(&Operation::Store(Store::set(b"v"))).unwrap();
    let mut put = |wedge: u64| {
        let (wedge, key, operation) = (WedgeEpoch(wedge), b"k".to_vec(), operation.clone());
        let put =
            Message::Request { range, id, answered: 0, asker, wedge, epoch: Epoch(1), key, place: None, operation };
        let ((), sent) = step(&mut replica, |replica, context| replica.receive(FRONT, put, context));
        let fence = Message::Fence { range, front: FRONT, keys: around(), epoch: WedgeEpoch(2) };
        step(&mut replica, |replica, context| replica.receive(FRONT, fence, context));
        sent.into_iter().find_map(|message| match message {
            Message::Reply { answer, .. } => Some(answer),
            _ => None,
        })
    };
    assert!(matches!(put(1), Some(Answer::Done { again: false, .. })));
    assert_eq!(put(1), Some(Answer::Fenced), "the new owner may not know of it yet, and cache what was there before");
    assert!(matches!(put(2), Some(Answer::Done { again: true, .. })));
}

#[test]
fn truncation_rolls_fences_back() {
    let begin = Change::Begin { after: Position::default() };
    let entries =
        vec![Entry { change: begin, ..fence(1, keys(0, 9), 0) }, fence(2, keys(0, 9), 2), fence(3, keys(0, 9), 3)];
    let mut replica = Replica::new(RangeId(0), ME, recovered(Meta::default(), entries), &SECRET);
    assert!(replica.log_mut().is_fenced(&at(5), WedgeEpoch(2)));
    let to = Position { epoch: Epoch(1), seq: Seq(2) };
    step(&mut replica, |replica, context| replica.log_mut().truncate(to, context));
    assert!(!replica.log_mut().is_fenced(&at(5), WedgeEpoch(2)) && replica.log_mut().is_fenced(&at(5), WedgeEpoch(1)));
}

#[test]
fn restarts_copies_splits_and_merges_remember_fences() {
    let mut meta = Meta::default();
    meta.commit(&fence(1, keys(0, 9), 4));
    assert!(alone(meta.clone()).log_mut().is_fenced(&at(5), WedgeEpoch(3)));
    let mut copy = Replica::new(RangeId(0), ME, recovered(Meta::default(), Vec::new()), &SECRET);
    step(&mut copy, |copy, context| copy.log_mut().install(meta.clone(), Seq(0), context));
    assert!(copy.log_mut().is_fenced(&at(5), WedgeEpoch(3)));
    step(&mut copy, |copy, context| copy.log_mut().reset(context));
    assert!(!copy.log_mut().is_fenced(&at(5), WedgeEpoch(3)), "what is discarded is discarded whole");
    let (lower, upper) = Interval::ALL.cut(&at(5)).unwrap();
    assert_eq!(meta.cut(lower).alive.fences.at(&at(5)), WedgeEpoch(4));
    let mut other = Meta::default();
    other.commit(&fence(1, keys(8, 20), 6));
    let joined = meta.cut(lower).joined(other, [lower, upper], Position::default());
    let seen = [5, 8, 15].map(|prefix| joined.alive.fences.at(&at(prefix)).0);
    assert_eq!(seen, [4, 6, 6], "the higher epoch wins");
}

#[test]
fn whoever_asks_for_a_fence_is_told_when_it_is_committed_and_told_again() {
    let mut replica = alone(Meta::default());
    let message = Message::Fence { range: RangeId(0), front: FRONT, keys: keys(0, 9), epoch: WedgeEpoch(2) };
    let holds = Message::FenceHolds { range: RangeId(0), keys: keys(0, 9), epoch: WedgeEpoch(2) };
    let ((), sent) = step(&mut replica, |replica, context| replica.receive(FRONT, message.clone(), context));
    assert!(sent.contains(&holds), "{sent:?}");
    let last = replica.last();
    let ((), sent) = step(&mut replica, |replica, context| replica.receive(FRONT, message, context));
    assert_eq!((sent, replica.last()), (vec![holds], last), "without another record");
}
