//! Requests at the head of a chain of one.

use super::*;
use crate::chain::Replica;
use crate::chain::wedge_fence::tests::{FRONT, ME, Plain, alone, head_of, step_with};
use crate::ids::{Asker, Incarnation, Member, NodeId, RangeId, Rules, Seq, WedgeEpoch};
use crate::operation::{Edit, EditKind, MetaGet, Mode, PutCondition, Store};
use crate::range::meta::Meta;
use crate::range::sessions::Bounds;
use crate::wire::version::TIMES;
use fawn_ring::Interval;

const RANGE: RangeId = RangeId(0);

/// A head, its store, and what is asked of it.
struct Bench {
    replica: Replica,
    store: Plain,
}

impl Bench {
    fn new() -> Self {
        Self { replica: alone(Meta::default()), store: Plain::default() }
    }

    fn say(&mut self, message: Message) -> Option<Answer> {
        let ((), sent) =
            step_with(&mut self.store, &mut self.replica, |replica, context| replica.receive(FRONT, message, context));
        sent.into_iter()
            .find_map(|message| if let Message::Reply { answer, .. } = message { Some(answer) } else { None })
    }

    /// What an operation on the key `k` is answered.
    fn ask(&mut self, id: (u64, u64), operation: &Operation<'_>) -> Option<Answer> {
        self.ask_saying(id, 0, operation)
    }

    /// The same of a session that says up to where all is answered.
    fn ask_saying(
        &mut self,
        (session, number): (u64, u64),
        answered: u64,
        operation: &Operation<'_>,
    ) -> Option<Answer> {
        let (id, asker) = (RequestId { session, number }, Asker { address: FRONT, tag: 7 });
        let operation = postcard::to_allocvec(operation).unwrap();
        let (wedge, epoch, key) = (WedgeEpoch(0), Epoch(2), b"k".to_vec());
        self.say(Message::Request { range: RANGE, id, answered, asker, wedge, epoch, key, place: None, operation })
    }

    fn get(&mut self) -> Option<Answer> {
        let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: FRONT, tag: 8 });
        let (wedge, key) = (WedgeEpoch(0), b"k".to_vec());
        self.say(Message::Get { range: RANGE, id, asker, wedge, key, place: None, continuation: None })
    }
}

/// The value that an answer shows, and whether it is to a retry.
fn shown(answer: Option<Answer>) -> (Option<Vec<u8>>, bool) {
    match answer {
        Some(Answer::Done { outcome: Outcome::Hit(_), again, shown, .. }) => (shown.map(|shown| shown.value), again),
        other => panic!("no hit, but {other:?}"),
    }
}

#[test]
fn a_get_that_the_head_carries_out_shows_the_value_as_of_its_record_or_none() {
    let session = 1 << 32;
    let gets = [
        // The record holds the value; it changes nothing; it deletes, as the expiry has come.
        Operation::GetAndTouch { expiry: 1000 },
        Operation::MetaGet(MetaGet::default()),
        Operation::GetAndTouch { expiry: 1 },
    ];
    for (number, get) in gets.iter().enumerate() {
        let mut bench = Bench::new();
        bench.ask((session, 1), &Operation::Store(Store::set(b"old"))).unwrap();
        let id = (session, 10 + number as u64);
        assert_eq!(shown(bench.ask(id, get)), (Some(b"old".to_vec()), false));
        // A retry is shown the same, but where it has deleted what it showed.
        let again = if number == 2 { None } else { Some(b"old".to_vec()) };
        assert_eq!(shown(bench.ask(id, get)), (again, true));
        bench.ask((session, 2), &Operation::Store(Store::set(b"new"))).unwrap();
        assert_eq!(shown(bench.ask(id, get)), (None, true), "what is there by now is not what it found");
    }
}

#[test]
fn a_retry_that_waits_for_its_key_is_not_carried_out_once_more_when_its_session_has_forgotten_it() {
    let (mut bench, session) = (Bench::new(), 1 << 32);
    let get = Operation::GetAndTouch { expiry: 1000 };
    bench.ask((session, 1), &Operation::Store(Store::set(b"old"))).unwrap();
    assert_eq!(shown(bench.ask((session, 2), &get)), (Some(b"old".to_vec()), false));
    bench.store.waits = true;
    assert_eq!(bench.ask((session, 2), &get), None, "it waits for its key to be read");
    // Meanwhile the client has its first answer, and says so with a request about another key.
    let id = RequestId { session, number: 3 };
    let (asker, wedge, epoch) = (Asker { address: FRONT, tag: 7 }, WedgeEpoch(0), Epoch(2));
    let operation = postcard::to_allocvec(&Operation::Store(Store::set(b"v"))).unwrap();
    let (key, place) = (b"other".to_vec(), None);
    let other = Message::Request { range: RANGE, id, answered: 2, asker, wedge, epoch, key, place, operation };
    assert!(matches!(bench.say(other), Some(Answer::Done { .. })));
    let (last, kept) = (bench.replica.last(), bench.store.kept.get(&b"k"[..]).cloned());
    let ((), sent) = step_with(&mut bench.store, &mut bench.replica, |replica, context| {
        replica.read(0, kept, context);
    });
    assert_eq!(bench.replica.last(), last, "no record carries it out again");
    assert!(matches!(sent[..], [Message::Reply { answer: Answer::Unknown { .. }, .. }]), "{sent:?}");
}

#[test]
fn a_get_that_made_its_item_shows_it_empty_at_every_try() {
    let (mut bench, session) = (Bench::new(), 1 << 32);
    let vivify = Operation::MetaGet(MetaGet { vivify: Some(0), ..MetaGet::default() });
    assert_eq!(shown(bench.ask((session, 1), &vivify)), (Some(Vec::new()), false));
    bench.ask((session, 2), &Operation::Store(Store::set(b"new"))).unwrap();
    assert_eq!(shown(bench.ask((session, 1), &vivify)), (Some(Vec::new()), true));
}

#[test]
fn what_is_longer_than_the_store_takes_is_refused_and_leaves_no_record() {
    let mut bench = Bench::new();
    let last = bench.replica.last();
    let [fits, longer] = [1023, 1024].map(|length| vec![b'v'; length]);
    assert_eq!(bench.ask((1 << 32, 1), &Operation::Store(Store::set(&longer))), Some(Answer::TooLarge));
    assert_eq!(bench.replica.last(), last);
    // The number is free still: nothing was carried out.
    assert!(matches!(
        bench.ask((1 << 32, 1), &Operation::Store(Store::set(&fits))),
        Some(Answer::Done { again: false, .. })
    ));
}

/// The head of a chain of two, and its tail.
fn head_of_two(rules: Rules) -> (Bench, Member) {
    let tail = Member { node: NodeId(8), incarnation: Incarnation(1) };
    let replica = head_of(vec![ME, tail], rules, Meta::default());
    (Bench { replica, store: Plain::default() }, tail)
}

/// The tail has committed all that the head has.
fn commit(bench: &mut Bench, tail: Member) {
    let (last, to) = (bench.replica.last().seq, ME.incarnation);
    let have = Message::Have { range: RANGE, epoch: Epoch(2), to, last, committed: last, full: false };
    let (store, replica) = (&mut bench.store, &mut bench.replica);
    step_with(store, replica, |replica, context| replica.receive(Address::Node(tail.node), have, context));
    assert_eq!(bench.replica.committed(), bench.replica.last());
}

#[test]
fn a_session_that_is_about_to_be_forgotten_is_asked_to_wait() {
    let ((mut bench, tail), session) = (head_of_two(Rules::default()), 1 << 32);
    let set = Operation::Store(Store::set(b"v"));
    assert_eq!(bench.ask((session, 1), &set), None);
    commit(&mut bench, tail);
    bench.store.unix = 2 * bench.store.timing.session_idle_s;
    let other = u64::from(bench.store.unix) << 32;
    assert_eq!(bench.ask((other, 1), &set), None);
    // The record that forgets it is not committed: the tail has not answered.
    tick(&mut bench);
    let newest = bench.replica.entries().next_back().map(|entry| entry.change.clone());
    assert!(matches!(newest, Some(Change::Expire { .. })), "{newest:?}");
    let last = bench.replica.last();
    assert_eq!(bench.ask((session, 2), &set), Some(Answer::Busy), "its record would bring it back without request 1");
    assert_eq!(bench.replica.last(), last);
    assert_eq!(bench.ask((other + 1, 1), &set), None);
    assert!(bench.replica.last() > last, "another session goes on");
    commit(&mut bench, tail);
    assert!(matches!(bench.ask((session, 2), &set), Some(Answer::Unknown { .. })), "it is over");
}

#[test]
fn gets_and_requests_beyond_those_that_may_wait_are_told_so() {
    let mut bench = Bench::new();
    bench.store.waits = true;
    let timing = crate::timing::Timing::default();
    for _ in 0..timing.pending {
        assert_eq!(bench.get(), None);
    }
    assert_eq!(bench.get(), Some(Answer::Busy));
    let mut bench = Bench::new();
    bench.store.waits = true;
    let long = vec![b'v'; timing.pending_bytes / 4];
    let asked: Vec<_> = (1..=5)
        .map(|number| bench.ask((1 << 32, number), &Operation::Store(Store { mode: Mode::Add, ..Store::set(&long) })))
        .collect();
    assert_eq!(asked, [None, None, None, None, Some(Answer::Busy)]);
}

#[test]
fn of_a_request_and_a_flush_of_one_name_the_first_is_carried_out() {
    let mut bench = Bench::new();
    bench.store.waits = true;
    let (session, number) = (1 << 32, 5);
    let adds = Operation::Store(Store { mode: Mode::Add, ..Store::set(b"v") });
    assert_eq!(bench.ask((session, number), &adds), None);
    let (id, asker, wedge) = (RequestId { session, number }, Asker { address: FRONT, tag: 9 }, WedgeEpoch(0));
    let flush = Message::Flush { range: RANGE, id, answered: 0, asker, wedge, keys: fawn_ring::Interval::ALL, due: 0 };
    let last = bench.replica.last();
    assert_eq!(bench.say(flush), None);
    assert_eq!(bench.replica.last(), last);
    let ((), sent) = step_with(&mut bench.store, &mut bench.replica, |replica, context| replica.read(0, None, context));
    step_with(&mut bench.store, &mut bench.replica, Replica::tick);
    assert_eq!(bench.replica.last().seq, last.seq.next(), "{sent:?}");
}

#[test]
fn a_range_that_remembers_too_many_sessions_takes_another_once_one_was_not_used_for_a_while() {
    let (mut bench, set) = (Bench::new(), Operation::Store(Store::set(b"v")));
    bench.store.timing.sessions =
        Bounds { sessions: 2, unanswered: 2, requests: 100, least_s: 10, ..Bounds::default() };
    let is_done = |answer: Option<Answer>| matches!(answer, Some(Answer::Done { again: false, .. }));
    assert!(is_done(bench.ask((1 << 32, 1), &set)));
    bench.store.unix = 5;
    assert!(is_done(bench.ask((2 << 32, 1), &set)));
    assert_eq!(bench.ask((5 << 32, 1), &set), Some(Answer::Busy));
    assert!(is_done(bench.ask((1 << 32, 2), &set)), "those that it remembers go on");
    // Nothing is written any more: the head's clock counts.
    for (unix, answer) in [(14, Some(Answer::Busy)), (16, None)] {
        bench.store.unix = unix;
        step_with(&mut bench.store, &mut bench.replica, Replica::tick);
        let said = bench.ask((5 << 32, 1), &set);
        assert!(answer.as_ref() == said.as_ref() || (answer.is_none() && matches!(said, Some(Answer::Unknown { .. }))));
    }
    assert!(matches!(bench.ask((2 << 32, 2), &set), Some(Answer::Unknown { .. })), "it was used before second 6");
    assert!([16 << 32, 16 << 32 | 1].into_iter().all(|session| is_done(bench.ask((session, 1), &set))));
    // The clock of the day has stopped, or was put back: the other one goes on.
    for (us, room) in [(0, false), (9_000_000, false), (30_000_000, true)] {
        bench.store.us = us;
        step_with(&mut bench.store, &mut bench.replica, Replica::tick);
        assert_eq!(is_done(bench.ask((17 << 32, 1), &set)), room);
    }
}

#[test]
fn a_session_of_which_too_many_requests_are_remembered_has_to_wait() {
    let (mut bench, session, set) = (Bench::new(), 1 << 32, Operation::Store(Store::set(b"v")));
    bench.store.timing.sessions = Bounds { unanswered: 2, ..Bounds::default() };
    let is_done = |answer: Option<Answer>, retry| matches!(answer, Some(Answer::Done { again, .. }) if again == retry);
    assert!(is_done(bench.ask((session, 1), &set), false) && is_done(bench.ask((session, 3), &set), false));
    let last = bench.replica.last();
    assert_eq!(bench.ask((session, 4), &set), Some(Answer::Busy));
    assert_eq!(bench.replica.last(), last);
    assert!(is_done(bench.ask((session, 1), &set), true) && is_done(bench.ask((2 << 32, 1), &set), false));
    assert!(is_done(bench.ask_saying((session, 4), 1, &set), false));
    assert!(is_done(bench.ask((session, 3), &set), true), "each by itself");
}

#[test]
fn of_two_ranges_that_were_merged_no_more_sessions_are_remembered_than_of_one() {
    let (timing, mut meta) = (crate::timing::Timing::default(), Meta::default());
    let most = timing.sessions.sessions + timing.pending;
    for at in 1..=2 * most as u64 {
        let (id, asker) = (RequestId { session: at << 32, number: 1 }, Asker { address: FRONT, tag: 7 });
        let asked = Some(Asked { id, answered: 0, asker, outcome: Outcome::Deleted, shown: None });
        let position = Position { epoch: Epoch(1), seq: Seq(at) };
        meta.commit(&Entry { position, time: at as u32, key: Vec::new(), change: Change::Nothing, asked });
    }
    let replica = alone(meta);
    let kept = replica.meta().sessions.len();
    assert!((most / 2..most).contains(&kept), "{kept}");
    let known =
        [1, 2 * most as u64].map(|at| replica.meta().sessions.known(RequestId { session: at << 32, number: 1 }));
    assert!(matches!(known, [RequestStatus::Expired, RequestStatus::Done(..)]), "{known:?}");
}

/// What a put of the key `k` with an expiry is answered.
fn put_until(bench: &mut Bench, number: u64, expiry: u32) -> Option<Answer> {
    bench.ask((1 << 32, number), &Operation::Store(Store { expiry, ..Store::set(b"v") }))
}

#[test]
fn what_would_expire_at_once_as_the_ranges_time_is_ahead_is_refused_until_that_is_set_back() {
    const WRONG: u32 = RIGHT + 31_536_000;
    let mut bench = Bench::new();
    bench.store.us = 1;
    // The head's clock was a year ahead once.
    bench.store.unix = WRONG;
    assert!(matches!(put_until(&mut bench, 1, 0), Some(Answer::Done { .. })));
    bench.store.unix = RIGHT;
    assert_eq!(put_until(&mut bench, 2, RIGHT + 100), Some(Answer::Ahead { time: WRONG }));
    // What does not expire is taken, and so is what is to be gone at once, and what lives for longer.
    for (number, expiry) in [(3, 0), (4, 1), (5, RIGHT), (6, WRONG + 100)] {
        assert!(matches!(put_until(&mut bench, number, expiry), Some(Answer::Done { .. })), "{expiry}");
    }
    let tick = |bench: &mut Bench| {
        step_with(&mut bench.store, &mut bench.replica, |replica, context| {
            replica.tick(context);
            (replica.ahead_s(context.unix), replica.meta().alive.time)
        })
        .0
    };
    assert_eq!(tick(&mut bench), (WRONG - RIGHT, WRONG));
    bench.store.us += bench.store.timing.heal_us;
    // Not while a member may be of a release that would not set its own back.
    let in_older_cluster = step_with(&mut bench.store, &mut bench.replica, |replica, context| {
        context.timing.version = TIMES - 1;
        replica.tick(context);
        replica.meta().alive.time
    });
    assert_eq!(in_older_cluster.0, WRONG);
    assert_eq!(tick(&mut bench), (0, RIGHT));
    assert!(matches!(put_until(&mut bench, 7, RIGHT + 100), Some(Answer::Done { .. })));
    bench.store.unix = RIGHT + 99;
    assert!(matches!(bench.get(), Some(Answer::Found(Some(kept))) if kept.version.is_some()));
    // Sessions were used no later than now, so that they are forgotten in time.
    assert!(bench.replica.meta().sessions.used(1 << 32).is_some_and(|used| used <= RIGHT + 99));
}

#[test]
fn a_delayed_flush_is_refused_where_the_ranges_time_is_ahead() {
    let mut bench = Bench::new();
    (bench.store.unix, bench.store.us) = (5000, 1);
    assert!(matches!(put_until(&mut bench, 1, 0), Some(Answer::Done { .. })));
    bench.store.unix = 1000;
    let flush = |bench: &mut Bench, number, due| {
        let (id, asker) = (RequestId { session: 1 << 32, number }, Asker { address: FRONT, tag: 7 });
        let (wedge, keys) = (WedgeEpoch(0), Interval::ALL);
        bench.say(Message::Flush { range: RANGE, id, answered: 0, asker, wedge, keys, due })
    };
    assert_eq!(flush(&mut bench, 2, 1100), Some(Answer::Ahead { time: 5000 }));
    assert!(matches!(flush(&mut bench, 3, 6000), Some(Answer::Done { .. })));
    assert!(matches!(bench.get(), Some(Answer::Found(Some(kept))) if kept.version.is_some()));
}

const RIGHT: u32 = 1_800_000_000;
const YEAR: u32 = 31_536_000;

fn tick(bench: &mut Bench) {
    step_with(&mut bench.store, &mut bench.replica, Replica::tick);
}

/// Whether a get finds the key `k`.
fn finds(bench: &mut Bench) -> bool {
    let Some(Answer::Found(kept)) = bench.get() else { panic!("a head of one answers") };
    kept.is_some_and(|kept| kept.version.is_some())
}

#[test]
fn what_was_seen_to_expire_does_not_come_back_where_the_clock_is_set_back() {
    let mut bench = Bench::new();
    (bench.store.us, bench.store.unix) = (1, RIGHT);
    assert!(matches!(put_until(&mut bench, 1, RIGHT + 5), Some(Answer::Done { .. })));
    bench.store.unix = RIGHT + 10;
    tick(&mut bench);
    put_other(&mut bench);
    assert!(!finds(&mut bench));
    // All clocks are set back for long. This head went by the later time itself.
    (bench.store.unix, bench.store.latest) = (RIGHT + 10 - YEAR, RIGHT + 10);
    for _ in 0..100 {
        bench.store.us += bench.store.timing.heal_us;
        bench.store.unix += 600;
        tick(&mut bench);
        assert!(!finds(&mut bench));
    }
    let soon = bench.store.unix + 100;
    assert!(matches!(put_until(&mut bench, 3, soon), Some(Answer::Ahead { .. })), "it is told");
    // Its next life did not, and whoever starts it anew says that the clock is right.
    bench.store.latest = 0;
    tick(&mut bench);
    bench.store.us += bench.store.timing.heal_us - 1;
    tick(&mut bench);
    assert!(bench.replica.ahead_s(bench.store.unix) > 0, "a clock that is wrong at a start is often right soon");
    bench.store.us += 1;
    tick(&mut bench);
    assert_eq!(bench.replica.ahead_s(bench.store.unix), 0);
}

#[test]
fn a_time_that_is_ahead_is_set_back_to_the_latest_that_the_head_went_by() {
    let mut bench = Bench::new();
    (bench.store.us, bench.store.unix) = (1, RIGHT + YEAR);
    put_other(&mut bench);
    // The head's next life: its clock is right at first, and goes an hour back then.
    (bench.store.unix, bench.store.latest) = (RIGHT - 3600, RIGHT);
    tick(&mut bench);
    bench.store.us += bench.store.timing.heal_us;
    tick(&mut bench);
    assert_eq!(bench.replica.ahead_s(RIGHT - 3600), 3600, "what has expired in that hour does not come back");
    assert_eq!(bench.replica.ahead_s(RIGHT), 0);
}

/// Moves the range's time to that of the head.
fn put_other(bench: &mut Bench) {
    let (id, asker) = (RequestId { session: u64::from(RIGHT) << 32, number: 1 }, Asker { address: FRONT, tag: 7 });
    let operation = Operation::Store(Store::set(b"v")).encode();
    let (wedge, epoch, key) = (WedgeEpoch(0), Epoch(2), b"other".to_vec());
    bench.say(Message::Request { range: RANGE, id, answered: 0, asker, wedge, epoch, key, place: None, operation });
}

#[test]
fn a_clock_that_may_be_right_about_the_ranges_time_keeps_it_where_it_is() {
    let mut bench = Bench::new();
    (bench.store.us, bench.store.unix) = (1, RIGHT + YEAR);
    put_other(&mut bench);
    // A board that boots a year back: its clock is set a minute later, and followed an hour later.
    bench.store.unix = RIGHT;
    tick(&mut bench);
    bench.store.us += 60_000_000;
    bench.store.latest = RIGHT + YEAR + 60;
    for _ in 0..10 {
        tick(&mut bench);
        bench.store.us += bench.store.timing.heal_us;
    }
    assert_eq!(bench.replica.ahead_s(RIGHT), YEAR);
    assert!(matches!(put_until(&mut bench, 3, RIGHT + 100), Some(Answer::Ahead { .. })));
}

#[test]
fn sessions_are_forgotten_while_a_ranges_time_is_ahead_and_after_it_is_set_back() {
    for is_healed in [false, true] {
        let mut bench = Bench::new();
        bench.store.timing.sessions = Bounds { sessions: 16, ..Bounds::default() };
        (bench.store.us, bench.store.unix) = (1, RIGHT);
        let mut named = RIGHT;
        // A request of a session of its own, that goes on under a later name where it has to.
        let mut put = |bench: &mut Bench, number: u64| {
            for _ in 0..4 {
                match bench.ask((u64::from(named) << 32 | number, 1), &Operation::Store(Store::set(b"v"))) {
                    Some(Answer::Unknown { time }) => named = time.max(named + 1),
                    answer => return matches!(answer, Some(Answer::Done { .. })),
                }
            }
            false
        };
        assert!(put(&mut bench, 1));
        // The head's clock is a year ahead for a while: it looks for idle sessions by that, and moves the horizon.
        bench.store.unix = RIGHT + YEAR;
        assert!(put(&mut bench, 2));
        tick(&mut bench);
        bench.store.unix = RIGHT + 20;
        tick(&mut bench);
        if is_healed {
            bench.store.us += bench.store.timing.heal_us;
            tick(&mut bench);
            assert_eq!(bench.replica.ahead_s(bench.store.unix), 0);
        } else {
            bench.store.latest = RIGHT + YEAR;
        }
        for number in 3..200 {
            bench.store.unix += 30;
            bench.store.us += 30_000_000;
            tick(&mut bench);
            assert!(put(&mut bench, number), "healed: {is_healed}, session {number}");
        }
        if is_healed {
            bench.store.unix += 2 * bench.store.timing.session_idle_s;
            put_other(&mut bench);
            bench.store.unix += 1;
            tick(&mut bench);
            tick(&mut bench);
        }
    }
}

#[test]
fn a_member_that_has_yet_to_commit_that_the_time_is_set_back_has_the_tail_asked_for_what_had_expired() {
    let (mut bench, tail) = head_of_two(Rules { spread_reads: true, ..Rules::default() });
    // The tail is asked; or what is shown: whether there is anything.
    let get = |bench: &mut Bench| {
        let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: FRONT, tag: 8 });
        let (wedge, key) = (WedgeEpoch(0), b"k".to_vec());
        let get = Message::Get { range: RANGE, id, asker, wedge, key, place: None, continuation: None };
        let (store, replica) = (&mut bench.store, &mut bench.replica);
        let ((), sent) = step_with(store, replica, |replica, context| replica.receive(FRONT, get, context));
        sent.into_iter().find_map(|message| match message {
            Message::Get { .. } => Some(None),
            Message::Reply { answer: Answer::Found(kept), .. } => {
                Some(Some(kept.is_some_and(|kept| kept.version.is_some())))
            }
            _ => None,
        })
    };
    (bench.store.us, bench.store.unix) = (1, RIGHT);
    put_until(&mut bench, 1, RIGHT + 1000);
    commit(&mut bench, tail);
    assert_eq!(get(&mut bench), Some(Some(true)));
    // Another head's clock is a year ahead.
    bench.store.unix = RIGHT + YEAR;
    put_other(&mut bench);
    commit(&mut bench, tail);
    assert_eq!(get(&mut bench), Some(Some(false)));
    bench.store.unix = RIGHT + 10;
    tick(&mut bench);
    bench.store.us += bench.store.timing.heal_us;
    tick(&mut bench);
    assert!(bench.replica.last() > bench.replica.committed());
    assert_eq!(get(&mut bench), Some(None), "the tail may have shown it by now");
    commit(&mut bench, tail);
    assert_eq!(get(&mut bench), Some(Some(true)));
}

fn edit(kind: EditKind, argument: &[u8]) -> Operation<'_> {
    Operation::Edit(Edit { kind, argument })
}

#[test]
fn a_retry_of_an_edit_is_answered_as_the_first_time_but_for_what_was_computed_and_reads_nothing() {
    let (mut bench, session) = (Bench::new(), 1 << 32);
    bench.ask((session, 1), &Operation::Store(Store::set(b"41"))).unwrap();
    let done = |answer: Option<Answer>| match answer {
        Some(Answer::Done { outcome, again, shown, .. }) => (outcome, again, shown.map(|shown| shown.value)),
        other => panic!("it is not done: {other:?}"),
    };
    let (add, take) = (edit(EditKind::Add { delta: 1 }, b""), edit(EditKind::Take, b""));
    let append = edit(EditKind::SetFields { only_absent: false }, b"");
    assert_eq!(done(bench.ask((session, 2), &add)), (Outcome::Integer(42), false, None));
    let refused = done(bench.ask((session, 3), &append));
    assert!(matches!(refused, (Outcome::Refused(_), false, None)), "{refused:?}");
    assert_eq!(done(bench.ask((session, 4), &take)), (Outcome::Computed, false, Some(b"42".to_vec())));
    assert_eq!(done(bench.ask((session, 5), &add)), (Outcome::Integer(1), false, None));
    let last = bench.replica.last();
    // The key would have to be read.
    bench.store.waits = true;
    assert_eq!(done(bench.ask((session, 2), &add)), (Outcome::Integer(42), true, None));
    assert_eq!(done(bench.ask((session, 3), &append)), (refused.0, true, None));
    assert_eq!(done(bench.ask((session, 4), &take)), (Outcome::Computed, true, None));
    assert_eq!(bench.replica.last(), last);
}

#[test]
fn no_record_has_an_edit_while_a_member_may_be_of_a_release_that_cannot_read_it() {
    let mut bench = Bench::new();
    bench.store.timing.version = PARTS - 1;
    let (last, add) = (bench.replica.last(), edit(EditKind::Add { delta: 1 }, b""));
    assert_eq!(bench.ask((1 << 32, 1), &add), Some(Answer::NeedsUpgrade));
    assert_eq!(bench.replica.last(), last);
    bench.store.timing.version = PARTS;
    assert!(matches!(
        bench.ask((1 << 32, 1), &add),
        Some(Answer::Done { outcome: Outcome::Integer(1), again: false, .. })
    ));
}

#[test]
fn a_new_value_and_what_is_shown_of_the_old_one_are_no_longer_together_than_a_value_may_be() {
    let (mut bench, session) = (Bench::new(), 1 << 32);
    let [old, fits, longer] = [600, 423, 424].map(|length| vec![b'v'; length]);
    bench.ask((session, 1), &Operation::Store(Store::set(&old))).unwrap();
    let last = bench.replica.last();
    let put = EditKind::Put { condition: PutCondition::Always, expiry: None, show: true };
    assert_eq!(bench.ask((session, 2), &edit(put, &longer)), Some(Answer::TooLarge));
    assert_eq!(bench.replica.last(), last);
    assert!(matches!(
        bench.ask((session, 2), &edit(put, &fits)),
        Some(Answer::Done { outcome: Outcome::Computed, again: false, shown: Some(Shown { value, .. }), .. }) if value == old
    ));
}
