//! One front-end, whose nodes and manager are played by the test.

use super::limits::Limits;
use super::machine::Front;
use crate::ids::{
    Address, Asker, Attempt, Chain, Consistency, Epoch, FrontId, FrontMember, Incarnation, Member, NodeId, Position,
    RangeId, RequestId, Rules, Seq, Wedge, WedgeEpoch, WedgeId,
};
use crate::operation::{Arithmetic, Cas, Delete, Mode, Number, Operation, Outcome, Store};
use crate::range::entry::{Kept, Version};
use crate::timing::{Now, Timing};
use crate::wire::{Answer, Continuation, Message};
use fawn_ring::{Interval, Secret};
use std::sync::Arc;

mod edits;
mod handover;
mod late;
mod older;
mod refused;

/// Names the start, and the front-end's own session.
const LOW: u64 = 77;
pub(super) const LEASE_US: u64 = 2_000_000;
pub(super) const ME: FrontId = FrontId(0);
pub(super) const OTHER: FrontId = FrontId(1);

pub(super) struct Bench {
    pub(super) front: Front,
    pub(super) now_us: u64,
    next: u64,
}

/// What the front-end asked a chain or another front-end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentRequest {
    pub(super) to: Address,
    pub(super) id: RequestId,
    pub(super) tag: u64,
    pub(super) wedge: Option<WedgeEpoch>,
}

impl Bench {
    /// A front-end that owns the one wedge there is, in epoch 1, under a lease, and serves it.
    pub(super) fn serving() -> Self {
        let mut bench = Self::with(Limits::default());
        bench.lease(WedgeEpoch(1));
        bench.fence_all(WedgeEpoch(1));
        bench
    }

    /// One that owns nothing yet.
    pub(super) fn with(limits: Limits) -> Self {
        let mut front = Front::new(ME, LOW, Timing::default(), limits, Secret([3; 32]));
        front.speak(crate::wire::version::NEWEST);
        let mut bench = Self { front, now_us: 10_000_000, next: 1 };
        bench.hear(Message::FrontWelcome { nonce: LOW, incarnation: Incarnation(1) });
        bench.view(WedgeEpoch(0), None);
        bench
    }

    fn now(&self) -> Now {
        Now::at(self.now_us, (self.now_us / 1_000_000) as u32)
    }

    pub(super) fn hear(&mut self, message: Message) -> Vec<(Address, Message)> {
        let mut out = Vec::new();
        self.front.receive(self.now(), message, &mut out);
        out
    }

    pub(super) fn tick(&mut self, us: u64) -> Vec<(Address, Message)> {
        self.now_us += us;
        let mut out = Vec::new();
        self.front.tick(self.now(), &mut out);
        out
    }

    /// Two ranges, one node each; one wedge.
    pub(super) fn view(&mut self, epoch: WedgeEpoch, owner: Option<FrontId>) -> Vec<(Address, Message)> {
        let wedges = vec![wedge(epoch, owner)];
        self.hear(Message::View { since: 0, number: 1, chains: chains(Epoch(1), 5), wedges })
    }

    /// A heartbeat goes out and is answered at once.
    pub(super) fn lease(&mut self, epoch: WedgeEpoch) -> Vec<(Address, Message)> {
        let beat = |(_, message): &(Address, Message)| match message {
            Message::FrontHeartbeat { nonce, .. } => Some(*nonce),
            _ => None,
        };
        let nonce = self.tick(300_000).iter().find_map(beat).expect("a heartbeat is due");
        self.hear(Message::FrontLease {
            incarnation: Incarnation(1),
            nonce,
            lease_us: 1_980_000,
            wedges: vec![(WedgeId(0), epoch)],
        })
    }

    pub(super) fn fence_all(&mut self, epoch: WedgeEpoch) {
        let keys = Interval::ALL.divide(2);
        for (range, keys) in keys.into_iter().enumerate() {
            self.hear(Message::FenceHolds { range: RangeId(range as u32), keys, epoch });
        }
    }

    fn ask(&mut self, key: &str, operation: Option<&Operation<'_>>) -> Vec<(Address, Message)> {
        let id = RequestId { session: 9, number: self.next };
        self.next += 1;
        let asker = Asker { address: Address::Client(4), tag: id.number };
        let operation = operation.map(|operation| postcard::to_allocvec(operation).unwrap());
        let answered = operation.is_some().then_some(0);
        let key = key.as_bytes().to_vec();
        self.hear(Message::ask(id, answered, asker, key, operation))
    }

    pub(super) fn get(&mut self, key: &str) -> Vec<(Address, Message)> {
        self.ask(key, None)
    }

    /// A get that must be sent to a chain.
    pub(super) fn miss(&mut self, key: &str) -> SentRequest {
        let out = self.get(key);
        asked(&out)
    }

    pub(super) fn set(&mut self, key: &str, value: &str) -> SentRequest {
        let out = self.ask(key, Some(&Operation::Store(Store::set(value.as_bytes()))));
        asked(&out)
    }

    pub(super) fn reply(&mut self, sent: &SentRequest, answer: Answer) -> Vec<(Address, Message)> {
        self.hear(Message::Reply { id: sent.id, tag: sent.tag, continuation: None, until: 0, answer })
    }

    pub(super) fn stored(&mut self, sent: &SentRequest, seq: u64, again: bool) {
        let outcome = Outcome::Stored { cas: Cas::Appended, size: 1 };
        self.reply(sent, Answer::Done { outcome, position: at(seq), again, shown: None });
    }

    /// What the cache shows of a key. If it has nothing, a get is under way from here on.
    pub(super) fn cached(&mut self, key: &str) -> Option<Answer> {
        answers(&self.get(key)).pop()
    }
}

/// The one wedge there is.
fn wedge(epoch: WedgeEpoch, owner: Option<FrontId>) -> Wedge {
    let owner = owner.map(|front| FrontMember { front, incarnation: Incarnation(1) });
    Wedge { keys: Interval::ALL, epoch, owner, released: false }
}

/// Two ranges of one member each, the first node of them the one given.
fn chains(epoch: Epoch, first: u64) -> Vec<(RangeId, Chain)> {
    let chain = |(at, keys)| {
        let members = vec![Member { node: NodeId(first + at), incarnation: Incarnation(1) }];
        (RangeId(at as u32), Chain { epoch, attempt: Attempt(epoch.0), members, ..Chain::none(keys) })
    };
    (0..).zip(Interval::ALL.divide(2)).map(chain).collect()
}

pub(super) fn at(seq: u64) -> Position {
    Position { epoch: Epoch(1), seq: Seq(seq) }
}

pub(super) fn kept(key: &str, value: &str, seq: u64) -> Arc<Kept> {
    let value = value.as_bytes().to_vec();
    let version = Version { value, flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
    Arc::new(Kept { key: key.as_bytes().to_vec(), position: at(seq), version: Some(version) })
}

pub(super) fn found(key: &str, value: &str, seq: u64) -> Answer {
    Answer::Found(Some(kept(key, value, seq)))
}

/// Whether the cache knows that there is none.
fn is_gone(cached: Option<Answer>) -> bool {
    matches!(cached, Some(Answer::Found(Some(kept))) if kept.version.is_none())
}

pub(super) fn answers(out: &[(Address, Message)]) -> Vec<Answer> {
    let answer = |(to, message): &(Address, Message)| match message {
        Message::Reply { answer, .. } if *to == Address::Client(4) => Some(answer.clone()),
        _ => None,
    };
    out.iter().filter_map(answer).collect()
}

pub(super) fn all_asked(out: &[(Address, Message)]) -> Vec<SentRequest> {
    let sent = |(to, message): &(Address, Message)| match message {
        Message::Get { id, asker, wedge, .. }
        | Message::Request { id, asker, wedge, .. }
        | Message::Flush { id, asker, wedge, .. } => {
            Some(SentRequest { to: *to, id: *id, tag: asker.tag, wedge: Some(*wedge) })
        }
        Message::Ask { id, asker, .. } | Message::AskFlush { id, asker, .. } => {
            Some(SentRequest { to: *to, id: *id, tag: asker.tag, wedge: None })
        }
        _ => None,
    };
    out.iter().filter_map(sent).collect()
}

pub(super) fn asked(out: &[(Address, Message)]) -> SentRequest {
    let mut sent = all_asked(out);
    assert_eq!(sent.len(), 1, "one thing is asked: {out:?}");
    sent.remove(0)
}

#[test]
fn a_wedge_is_served_only_once_all_its_fences_are_committed() {
    let mut bench = Bench::with(Limits::default());
    let fences = bench.lease(WedgeEpoch(1));
    let to: Vec<Address> = fences.iter().map(|(to, _)| *to).collect();
    assert_eq!(to, [Address::Node(NodeId(5)), Address::Node(NodeId(6))], "the heads of all ranges with keys of it");
    assert_eq!(all_asked(&bench.get("k")), [], "it waits");
    let halves = Interval::ALL.divide(2);
    bench.hear(Message::FenceHolds { range: RangeId(0), keys: halves[0], epoch: WedgeEpoch(1) });
    assert_eq!(all_asked(&bench.tick(10_000)), [], "one is missing");
    let again = bench.tick(60_000);
    let fences = again.iter().filter(|(_, message)| matches!(message, Message::Fence { .. })).count();
    assert_eq!(fences, 1, "and is asked for again: {again:?}");
    let holds = bench.hear(Message::FenceHolds { range: RangeId(1), keys: halves[1], epoch: WedgeEpoch(1) });
    assert_eq!(asked(&holds).wedge, Some(WedgeEpoch(1)));
}

#[test]
fn a_life_of_any_number_takes_its_answers() {
    for life in [1, (1 << 18) - 1, 1 << 18, 1_000_001, 3_000_003, (1 << 22) + 1, u32::MAX] {
        let mut front = Front::new(ME, LOW, Timing::default(), Limits::default(), Secret([3; 32]));
        front.receive(
            Now::default(),
            Message::FrontWelcome { nonce: LOW, incarnation: Incarnation(life) },
            &mut vec![],
        );
        let mut bench = Bench { front, now_us: 10_000_000, next: 1 };
        bench.hear(Message::View { since: 0, number: 1, chains: chains(Epoch(1), 5), wedges: vec![] });
        let other = FrontMember { front: OTHER, incarnation: Incarnation(1) };
        let wedges = vec![Wedge { owner: Some(other), ..wedge(WedgeEpoch(1), None) }];
        bench.hear(Message::View { since: 1, number: 1, chains: vec![], wedges });
        let miss = bench.miss("k");
        assert_eq!(answers(&bench.reply(&miss, found("k", "v", 5))), [found("k", "v", 5)], "life {life}");
    }
}

#[test]
fn the_cache_answers_under_a_lease_and_the_chain_without_one() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    assert_eq!(answers(&bench.reply(&miss, found("k", "v", 5))), [found("k", "v", 5)]);
    assert_eq!(bench.cached("k"), Some(found("k", "v", 5)));
    bench.now_us += LEASE_US;
    let miss = bench.miss("k");
    assert_eq!(miss.wedge, Some(WedgeEpoch(1)), "it asks as the owner that it may still be");
    // The same owner in the same epoch: what was cached is still right.
    bench.lease(WedgeEpoch(1));
    assert_eq!(bench.cached("k"), Some(found("k", "v", 5)));
}

#[test]
fn what_is_written_and_was_not_asked_for_is_not_cached() {
    let mut bench = Bench::serving();
    let set = bench.set("k", "v");
    bench.stored(&set, 6, false);
    assert_eq!(bench.cached("k"), None);
}

#[test]
fn that_a_key_is_not_there_is_cached_too() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    bench.reply(&miss, Answer::Found(None));
    assert!(is_gone(bench.cached("k")));
    let deletes = Operation::Delete(Delete::default());
    let miss = bench.miss("j");
    bench.reply(&miss, found("j", "v", 6));
    let sent = asked(&bench.ask("j", Some(&deletes)));
    bench.reply(&sent, Answer::Done { outcome: Outcome::Deleted, position: at(7), again: false, shown: None });
    assert!(is_gone(bench.cached("j")));
}

#[test]
fn a_get_joins_a_miss_unless_something_newer_was_seen_since() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    assert_eq!(bench.get("k"), [], "it waits with the other");
    let set = bench.set("k", "new");
    bench.stored(&set, 8, false);
    // The answer of the miss may be older than what was just stored; the cache has that.
    assert_eq!(bench.cached("k"), Some(found("k", "new", 8)));
    let outcome = Outcome::Number(Number { value: 1, cas: Cas::Appended, expiry_before: 0, expiry: 0, created: false });
    let adds = Operation::Arithmetic(Arithmetic {
        decrement: false,
        delta: 1,
        initial: 0,
        vivify: None,
        touch: None,
        compare: None,
        new_cas: None,
    });
    let add = asked(&bench.ask("k", Some(&adds)));
    bench.reply(&add, Answer::Done { outcome, position: at(9), again: false, shown: None });
    let second = bench.miss("k");
    assert_ne!(second.tag, miss.tag);
    let answered = bench.reply(&miss, found("k", "old", 7));
    assert_eq!(answers(&answered), [found("k", "old", 7), found("k", "old", 7)], "both asked before");
    assert_eq!(answers(&bench.reply(&second, found("k", "2", 9))), [found("k", "2", 9)]);
    assert_eq!(bench.cached("k"), Some(found("k", "2", 9)));
}

#[test]
fn nobody_joins_without_a_lease() {
    let mut bench = Bench::serving();
    let first = bench.miss("k");
    bench.now_us += LEASE_US;
    assert_ne!(bench.miss("k").tag, first.tag);
}

#[test]
fn an_older_answer_never_fills_and_a_newer_one_evicts() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    let (first, second) = (bench.set("k", "1"), bench.set("k", "2"));
    bench.stored(&second, 12, false);
    assert_eq!(bench.cached("k"), Some(found("k", "2", 12)));
    bench.stored(&first, 11, false);
    bench.reply(&miss, found("k", "0", 10));
    assert_eq!(bench.cached("k"), Some(found("k", "2", 12)), "older answers came later");
    let third = bench.set("k", "3");
    bench.stored(&third, 13, true);
    assert_eq!(bench.cached("k"), None, "it is known to be older than what is there");
}

#[test]
fn the_answer_to_a_retry_never_fills() {
    let mut bench = Bench::serving();
    let set = bench.set("k", "v");
    bench.stored(&set, 5, true);
    assert_eq!(bench.cached("k"), None);
}

#[test]
fn an_answer_to_a_try_that_was_given_up_never_fills() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    let out = bench.tick(Limits::default().deadline_us);
    assert_eq!(answers(&out), [Answer::TimedOut]);
    bench.lease(WedgeEpoch(1));
    assert_eq!(answers(&bench.reply(&miss, found("k", "v", 5))), []);
    assert_eq!(bench.cached("k"), None);
}

#[test]
fn an_unknown_outcome_evicts_and_spoils_what_is_under_way() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    bench.reply(&miss, found("k", "v", 5));
    bench.set("k", "w");
    let out = bench.tick(Limits::default().deadline_us);
    assert_eq!(answers(&out), [Answer::TimedOut]);
    bench.lease(WedgeEpoch(1));
    let miss = bench.miss("k");
    bench.reply(&miss, found("k", "v", 5));
    assert_eq!(bench.cached("k"), Some(found("k", "v", 5)), "a later miss knows better");
}

#[test]
fn a_condition_that_failed_evicts_and_spoils_what_is_under_way() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    let (put, add) = (bench.set("k", "v"), Operation::Store(Store { mode: Mode::Add, ..Store::set(b"w") }));
    let add = asked(&bench.ask("k", Some(&add)));
    bench.reply(&add, Answer::Done { outcome: Outcome::NotStored, position: at(9), again: false, shown: None });
    bench.reply(&miss, Answer::Found(None));
    bench.stored(&put, 8, false);
    assert_eq!(bench.cached("k"), None, "what was there at 9 may be newer than either");
}

#[test]
fn a_cache_goes_with_its_wedge_epoch() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    bench.reply(&miss, found("k", "v", 5));
    let late = bench.miss("j");
    bench.view(WedgeEpoch(2), Some(OTHER));
    assert_eq!(asked(&bench.get("k")).to, Address::Front(OTHER));
    bench.view(WedgeEpoch(3), Some(ME));
    bench.lease(WedgeEpoch(3));
    bench.fence_all(WedgeEpoch(3));
    bench.reply(&late, found("j", "old", 4));
    assert_eq!(bench.miss("j").wedge, Some(WedgeEpoch(3)), "the answer to a try in another epoch fills nothing");
    assert_eq!(bench.miss("k").wedge, Some(WedgeEpoch(3)));
}

#[test]
fn what_is_anothers_goes_one_hop() {
    let mut bench = Bench::with(Limits::default());
    bench.view(WedgeEpoch(1), Some(OTHER));
    let sent = bench.set("k", "v");
    assert_eq!((sent.to, sent.id), (Address::Front(OTHER), RequestId { session: 9, number: 1 }), "under the same name");
    assert_eq!(answers(&bench.reply(&sent, Answer::AskAgain)), [], "it asks again, when it knows more");
    let again = asked(&bench.tick(200_000));
    assert_eq!(again, SentRequest { tag: again.tag, ..sent.clone() });
    assert_ne!(again.tag, sent.tag, "each try has an answer of its own");
    let asker = Asker { address: Address::Client(4), tag: 1 };
    let (id, key) = (RequestId { session: 9, number: 50 }, b"k".to_vec());
    let forwarded = Message::Ask {
        id,
        answered: None,
        asker,
        forwarded: true,
        key,
        place: None,
        operation: None,
        continuation: None,
    };
    assert_eq!(answers(&bench.hear(forwarded)), [Answer::AskAgain]);
}

#[test]
fn a_retry_of_what_is_under_way_is_not_sent_twice() {
    let mut bench = Bench::serving();
    bench.set("k", "v");
    bench.next -= 1;
    let again = bench.ask("k", Some(&Operation::Store(Store::set(b"v"))));
    assert_eq!(again, []);
    assert_eq!(bench.front.in_flight(), 1);
}

#[test]
fn those_without_a_session_are_numbered_in_its_own_by_range() {
    let mut bench = Bench::serving();
    let mut sent = Vec::new();
    for number in 0..4 {
        let operation = Some(postcard::to_allocvec(&Operation::Store(Store::set(b"v"))).unwrap());
        let asker = Asker { address: Address::Client(4), tag: number };
        let (id, key) =
            (RequestId { session: 1, number: 1 }, ["k0", "k1", "k2", "k0"][number as usize].as_bytes().to_vec());
        let out = bench.hear(Message::ask(id, None, asker, key, operation));
        let Some((_, Message::Request { id, answered, .. })) = out.first() else { panic!("{out:?}") };
        sent.push((id.session, id.number, *answered));
        if number == 1 {
            // The second is answered; the first is not, which is in another range.
            let sent = asked(&out);
            bench.stored(&sent, 5, false);
        }
    }
    let [lower, upper] = [1, 2].map(|of| 10_u64 << 32 | (LOW + of));
    assert_eq!(sent, [(upper, 1, 0), (lower, 1, 0), (lower, 2, 1), (upper, 2, 0)]);
}

#[test]
fn beyond_its_bounds_it_says_that_it_is_busy() {
    let mut bench = Bench::with(Limits { flights: 2, waiters: 2, ..Limits::default() });
    bench.lease(WedgeEpoch(1));
    bench.fence_all(WedgeEpoch(1));
    bench.miss("a");
    bench.miss("b");
    assert_eq!(answers(&bench.get("c")), [Answer::Busy], "two are in flight");
    assert_eq!(answers(&bench.get("a")), [], "the second that waits for one answer");
    assert_eq!(answers(&bench.get("a")), [Answer::Busy], "the third");
    assert_eq!(bench.front.in_flight(), 2);
    assert_eq!(bench.front.counts().busy, 2);
}

#[test]
fn of_a_get_with_a_continuation_nothing_is_remembered() {
    let mut bench = Bench::serving();
    let asker = Asker { address: Address::Client(4), tag: 8 };
    let (id, key, blob) = (RequestId { session: 9, number: 70 }, b"k".to_vec(), b"mine".to_vec());
    let ask = Message::Ask {
        id,
        answered: None,
        asker,
        forwarded: false,
        key,
        place: None,
        operation: None,
        continuation: Some(blob),
    };
    let out = bench.hear(ask.clone());
    let Some((Address::Node(_), Message::Get { continuation, .. })) = out.first() else { panic!("{out:?}") };
    assert_eq!(bench.front.in_flight(), 0);
    // What it shows is seen: an older version does not stay in the cache.
    let miss = bench.miss("k");
    bench.reply(&miss, found("k", "old", 4));
    let continuation = continuation.clone();
    let reply =
        Message::Reply { id, tag: 0, continuation: continuation.clone(), until: 0, answer: found("k", "new", 5) };
    let out = bench.hear(reply);
    let to_client =
        Message::Reply { id, tag: 8, continuation: continuation.clone(), until: 0, answer: found("k", "new", 5) };
    assert_eq!(out, [(Address::Client(4), to_client)]);
    let miss = bench.miss("k");
    bench.reply(&miss, found("k", "new", 5));
    let out = bench.hear(ask);
    assert!(
        matches!(&out[..], [(Address::Client(4), Message::Reply { tag: 8, continuation: Some(given), .. })]
        if given.blob == b"mine"),
        "from the cache: {out:?}"
    );
}

#[test]
fn an_answer_with_a_continuation_goes_back_the_way_that_the_question_came_and_no_further() {
    let mut bench = Bench::serving();
    let id = RequestId { session: 9, number: 70 };
    let mut passed_on = |asker: Address, blob: Vec<u8>| {
        let continuation = Some(Continuation { asker: Asker { address: asker, tag: 8 }, blob });
        let reply = Message::Reply { id, tag: 0, continuation, until: 0, answer: found("k", "new", 5) };
        bench.hear(reply).into_iter().map(|(to, _)| to).collect::<Vec<_>>()
    };
    let of = |address| {
        let asker = Asker { address, tag: 3 };
        postcard::to_allocvec(&Continuation { asker, blob: b"mine".to_vec() }).unwrap()
    };
    let client = Address::Client(4);
    assert_eq!(passed_on(client, b"mine".to_vec()), [client]);
    assert_eq!(passed_on(Address::Front(ME), of(client)), [client]);
    assert_eq!(passed_on(Address::Front(OTHER), of(client)), [Address::Front(OTHER)]);
    for front in [ME, OTHER] {
        assert_eq!(passed_on(Address::Front(ME), of(Address::Front(front))), [], "it would go on without end");
    }
    assert_eq!(passed_on(Address::Front(ME), b"mine".to_vec()), []);
    assert_eq!(bench.front.invalid().count(), 3);
}

#[test]
fn a_get_with_a_continuation_is_passed_on_to_the_owner_without_a_trace() {
    let mut bench = Bench::serving();
    bench.view(WedgeEpoch(2), Some(OTHER));
    let (id, client) = (RequestId { session: 9, number: 70 }, Asker { address: Address::Client(4), tag: 8 });
    let (key, blob) = (b"k".to_vec(), b"mine".to_vec());
    let (place, operation, continuation) = (None, None, Some(blob.clone()));
    let ask = Message::Ask { id, answered: None, asker: client, forwarded: false, key, place, operation, continuation };
    let out = bench.hear(ask);
    let [(Address::Front(OTHER), Message::Ask { asker, continuation: Some(wrapped), .. })] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((asker.address, bench.front.in_flight()), (Address::Front(ME), 0));
    let continuation = Some(Continuation { asker: *asker, blob: wrapped.clone() });
    let out = bench.hear(Message::Reply { id, tag: asker.tag, continuation, until: 0, answer: found("k", "v", 5) });
    let continuation = Some(Continuation { asker: client, blob });
    let to_client = Message::Reply { id, tag: 8, continuation, until: 0, answer: found("k", "v", 5) };
    assert_eq!(out, [(Address::Client(4), to_client)]);
}

#[test]
fn what_has_expired_by_its_clock_is_asked_of_the_chain() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    let mut expires = kept("k", "v", 5);
    let expiry = (bench.now_us / 1_000_000 + 1) as u32;
    Arc::make_mut(&mut expires).version.as_mut().unwrap().expiry = expiry;
    bench.reply(&miss, Answer::Found(Some(expires.clone())));
    assert_eq!(bench.cached("k"), Some(Answer::Found(Some(expires))));
    bench.now_us += 1_000_000;
    bench.miss("k");
}

#[test]
fn another_start_under_its_name_takes_everything_from_it() {
    let mut bench = Bench::serving();
    bench.hear(Message::FrontSuperseded { incarnation: Incarnation(1) });
    assert_eq!(answers(&bench.get("k")), [Answer::Busy]);
    let out = bench.tick(300_000);
    assert!(out.contains(&(Address::Manager, Message::FrontHello { front: ME, nonce: LOW + 1 })), "{out:?}");
}

#[test]
fn what_has_expired_does_not_come_back_with_an_answer_that_is_late() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    let mut expires = kept("k", "v", 5);
    Arc::make_mut(&mut expires).version.as_mut().unwrap().expiry = u32::MAX;
    bench.now_us += LEASE_US;
    let second = bench.miss("k");
    bench.lease(WedgeEpoch(1));
    // By the range's time, which is ahead of this clock, it is gone.
    let gone = Answer::Found(Some(Arc::new(Kept { version: None, ..Arc::unwrap_or_clone(expires.clone()) })));
    bench.reply(&second, gone.clone());
    bench.reply(&miss, Answer::Found(Some(expires)));
    assert_eq!(bench.cached("k"), Some(gone));
}

#[test]
fn its_own_session_gets_another_name_before_ranges_forget_it() {
    let mut bench = Bench::serving();
    let store = Operation::Store(Store::set(b"v"));
    let ask = |bench: &mut Bench| {
        let (asker, operation) =
            (Asker { address: Address::Client(4), tag: 0 }, postcard::to_allocvec(&store).unwrap());
        let (id, key, operation) = (RequestId { session: 1, number: 1 }, b"k".to_vec(), Some(operation));
        let out = bench.hear(Message::ask(id, None, asker, key, operation));
        asked(&out)
    };
    let first = ask(&mut bench);
    let low = first.id.session & 0xffff_ffff;
    assert!((LOW..LOW + 256).contains(&low) && first.id.number == 1);
    bench.stored(&first, 5, false);
    bench.now_us += u64::from(Timing::default().session_idle_s) * 500_000;
    let second = ask(&mut bench);
    assert!(second.id.session > first.id.session && second.id.number == 2, "{second:?} after {first:?}");
    assert_eq!(second.id.session & 0xffff_ffff, low);
    // One that a range has forgotten all the same is not used again.
    let answer = Answer::Unknown { time: (second.id.session >> 32) as u32 + 9 };
    let third = asked(&bench.reply(&second, answer));
    assert_eq!((third.id.session >> 32, third.id.number), ((second.id.session >> 32) + 9, 3));
}

#[test]
fn in_a_weak_chain_a_put_goes_to_every_member_and_a_get_to_the_owner() {
    let mut bench = Bench::serving();
    let members: Vec<Member> = (7..10).map(|node| Member { node: NodeId(node), incarnation: Incarnation(1) }).collect();
    let rules = Rules { consistency: Consistency::Weak, spread_reads: true, ..Rules::default() };
    let (epoch, none) = (Epoch(2), Chain::none(Interval::ALL));
    let chain = Chain { epoch, attempt: Attempt(2), members: members.clone(), rules, ..none };
    bench.hear(Message::View { number: 2, since: 0, chains: vec![(RangeId(2), chain)], wedges: Vec::new() });

    let out = bench.ask("k", Some(&Operation::Store(Store::set(b"1"))));
    let asked = |(to, message): &(Address, Message)| match message {
        Message::Request { asker, epoch, .. } => Some((*to, asker.tag, *epoch)),
        _ => None,
    };
    let puts: Vec<_> = out.iter().filter_map(asked).collect();
    let all: Vec<_> = members.iter().map(|member| (Address::Node(member.node), puts[0].1, epoch)).collect();
    assert_eq!(puts, all);
    assert_eq!(bench.miss("j").to, Address::Node(NodeId(7)), "reads are not spread");
}

/// The answers that come at the deadline of a put, of which each try is answered by what `answer` makes of its number; all
/// in the order in which they were sent, or the first one at last.
fn at_the_deadline(first_at_last: bool, answer: impl Fn(usize) -> Option<Answer>) -> Vec<Answer> {
    let mut bench = Bench::serving();
    let Limits { deadline_us, retry_us, .. } = Limits::default();
    let mut tries = vec![bench.set("k", "v")];
    for _ in 0..(deadline_us / retry_us - 1) {
        let out = bench.tick(retry_us);
        assert_eq!(answers(&out), []);
        tries.extend(all_asked(&out));
    }
    assert!(tries.len() > 10 && tries.iter().all(|sent| sent.id == tries[0].id));
    let answered: Vec<_> = tries.iter().enumerate().filter_map(|(at, sent)| Some((sent, answer(at)?))).collect();
    let skip = usize::from(first_at_last);
    for (sent, answer) in answered.iter().skip(skip).chain(answered.iter().take(skip)) {
        assert_eq!(answers(&bench.reply(sent, answer.clone())), []);
    }
    answers(&bench.tick(retry_us * 2))
}

#[test]
fn what_was_refused_at_every_try_is_refused_at_the_deadline() {
    for first_at_last in [false, true] {
        assert_eq!(at_the_deadline(first_at_last, |_| Some(Answer::TooFew)), [Answer::TooFew]);
        assert_eq!(at_the_deadline(first_at_last, |_| Some(Answer::Busy)), [Answer::Busy]);
        assert_eq!(at_the_deadline(first_at_last, |_| Some(Answer::Unreadable)), [Answer::Unreadable]);
        assert_eq!(at_the_deadline(first_at_last, |_| Some(Answer::NotMine)), [Answer::Busy]);
    }
}

#[test]
fn of_a_request_with_a_try_that_was_not_answered_nobody_knows() {
    for silent in [0, 3] {
        let answer = |at| (at != silent).then_some(Answer::TooFew);
        assert_eq!(at_the_deadline(false, answer), [Answer::TimedOut]);
    }
    // An owner that gives its own try up does not know either.
    let answer = |at| Some(if at == 3 { Answer::TimedOut } else { Answer::Busy });
    assert_eq!(at_the_deadline(false, answer), [Answer::TimedOut]);
}

#[test]
fn two_refusals_of_one_try_stand_for_no_other() {
    let mut bench = Bench::serving();
    let Limits { deadline_us, retry_us, .. } = Limits::default();
    let first = bench.set("k", "v");
    let second = asked(&bench.tick(retry_us));
    assert_ne!(first.tag, second.tag);
    bench.reply(&second, Answer::Busy);
    bench.reply(&second, Answer::Busy);
    assert_eq!(answers(&bench.tick(deadline_us)), [Answer::TimedOut], "the first may have been carried out");
    // Nor does a refusal to the last try hide that the first was carried out.
    bench.lease(WedgeEpoch(1));
    let first = bench.set("k", "w");
    let second = asked(&bench.tick(retry_us));
    bench.reply(&second, Answer::TooFew);
    let outcome = Outcome::Stored { cas: Cas::Appended, size: 1 };
    let out = bench.reply(&first, Answer::Done { outcome, position: at(5), again: false, shown: None });
    assert!(matches!(&answers(&out)[..], [Answer::Done { .. }]));
}
