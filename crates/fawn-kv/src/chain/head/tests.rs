//! Requests at the head of a chain of one.

use super::*;
use crate::chain::fence::tests::{FRONT, Plain, alone, step_with};
use crate::ids::RangeId;
use crate::message::Message;
use crate::meta::Meta;
use crate::operation::{MetaGet, Store};

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
    fn ask(&mut self, (session, number): (u64, u64), operation: &Operation<'_>) -> Option<Answer> {
        let (id, asker) = (RequestId { session, number }, Asker { address: FRONT, tag: 7 });
        let operation = postcard::to_allocvec(operation).unwrap();
        let (wedge, epoch, key) = (WedgeEpoch(0), Epoch(2), b"k".to_vec());
        self.say(Message::Request { range: RANGE, id, answered: 0, asker, wedge, epoch, key, operation })
    }

    fn get(&mut self) -> Option<Answer> {
        let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: FRONT, tag: 8 });
        let (wedge, key) = (WedgeEpoch(0), b"k".to_vec());
        self.say(Message::Get { range: RANGE, id, asker, wedge, key, continuation: None })
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

#[test]
fn a_session_that_is_about_to_be_forgotten_is_asked_to_wait() {
    let (mut bench, session) = (Bench::new(), 1 << 32);
    let set = Operation::Store(Store::set(b"v"));
    assert!(matches!(bench.ask((session, 1), &set), Some(Answer::Done { .. })));
    let idle = crate::chain::Timing::default().session_idle_s;
    // Not committed: the members after it have not answered, say.
    step_with(&mut self::Plain::default(), &mut bench.replica, |replica, context| {
        let (epoch, seq) = (replica.epoch(), replica.last().seq.next());
        let change = Change::Expire { idle_since: 1, horizon: 1 };
        let position = Position { epoch, seq };
        replica.append(Entry { position, time: 2 + idle, key: Vec::new(), change, asked: None }, context);
    });
    let answer = step_with(&mut bench.store, &mut bench.replica, |replica, context| {
        replica.answered(RequestId { session, number: 2 }, context)
    });
    assert_eq!(answer.0, Some(Answer::Busy), "its record would bring the session back without request 1");
    let other = step_with(&mut bench.store, &mut bench.replica, |replica, context| {
        replica.answered(RequestId { session: 9 << 32, number: 1 }, context)
    });
    assert_eq!(other.0, None);
    // Once it is committed, the session is over.
    assert!(matches!(bench.ask((session, 2), &set), Some(Answer::Busy | Answer::Unknown { .. })));
    assert!(matches!(bench.ask((session, 2), &set), Some(Answer::Unknown { .. })));
}

#[test]
fn gets_and_requests_beyond_those_that_may_wait_are_told_so() {
    let mut bench = Bench::new();
    bench.store.waits = true;
    let timing = crate::chain::Timing::default();
    for _ in 0..timing.pending {
        assert_eq!(bench.get(), None);
    }
    assert_eq!(bench.get(), Some(Answer::Busy));
    let mut bench = Bench::new();
    bench.store.waits = true;
    let long = vec![b'v'; timing.pending_bytes / 4];
    let asked: Vec<_> =
        (1..=5).map(|number| bench.ask((1 << 32, number), &Operation::Store(Store::set(&long)))).collect();
    assert_eq!(asked, [None, None, None, None, Some(Answer::Busy)]);
}

#[test]
fn of_a_request_and_a_flush_of_one_name_the_first_is_carried_out() {
    let mut bench = Bench::new();
    bench.store.waits = true;
    let (session, number) = (1 << 32, 5);
    assert_eq!(bench.ask((session, number), &Operation::Store(Store::set(b"v"))), None);
    let (id, asker, wedge) = (RequestId { session, number }, Asker { address: FRONT, tag: 9 }, WedgeEpoch(0));
    let flush = Message::Flush { range: RANGE, id, answered: 0, asker, wedge, keys: fawn_ring::Interval::ALL, due: 0 };
    let last = bench.replica.last();
    assert_eq!(bench.say(flush), None);
    assert_eq!(bench.replica.last(), last);
    let ((), sent) = step_with(&mut bench.store, &mut bench.replica, |replica, context| replica.read(0, None, context));
    step_with(&mut bench.store, &mut bench.replica, Replica::tick);
    assert_eq!(bench.replica.last().seq, last.seq.next(), "{sent:?}");
}
