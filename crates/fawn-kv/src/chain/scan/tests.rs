//! What a member shows to those who are no members.

use super::*;
use crate::chain::Replica;
use crate::chain::wedge_fence::tests::{FRONT, ME, Plain, alone, step_with};
use crate::ids::{RangeId, RequestId, Seq, WedgeEpoch};
use crate::operation::{Delete, Operation, Store};
use crate::range::meta::Meta;
use crate::timing::Timing;
use fawn_ring::Interval;

const RANGE: RangeId = RangeId(0);

fn ask(replica: &mut Replica, store: &mut Plain, keys: Interval, least: Position, sought: Sought) -> Option<Found> {
    let (id, asker) = (RequestId { session: 3, number: 1 }, Asker { address: FRONT, tag: 3 });
    let scan = Message::Scan { range: RANGE, id, asker, keys, least, sought };
    let ((), sent) = step_with(store, replica, |replica, context| replica.receive(FRONT, scan, context));
    sent.into_iter().find_map(|message| match message {
        Message::Scanned { from, found, .. } => {
            assert_eq!(from, ME);
            Some(found)
        }
        _ => None,
    })
}

fn write(replica: &mut Replica, store: &mut Plain, key: &[u8], operation: Operation<'_>) {
    let id = RequestId { session: 1 << 32, number: replica.last().seq.0 + 1 };
    let (asker, operation) = (Asker { address: FRONT, tag: 7 }, operation.encode());
    let (epoch, wedge) = (crate::ids::Epoch(2), WedgeEpoch(0));
    let put = Message::Request {
        range: RANGE,
        id,
        answered: 0,
        asker,
        wedge,
        epoch,
        key: key.into(),
        place: None,
        operation,
    };
    step_with(store, replica, |replica, context| replica.receive(FRONT, put, context));
}

fn set(replica: &mut Replica, store: &mut Plain, key: &[u8]) {
    write(replica, store, key, Operation::Store(Store::set(b"v")));
}

fn part(since: Position) -> Sought {
    Sought::Part { since, began: None }
}

fn shown(found: Option<Found>) -> (Vec<(Vec<u8>, bool)>, Position) {
    match found {
        Some(Found::Part { kept, upto, .. } | Found::Records { kept, upto, .. }) => {
            let mut all: Vec<_> = kept.into_iter().map(|kept| (kept.key, kept.version.is_some())).collect();
            all.sort();
            (all, upto)
        }
        other => panic!("{other:?} shows nothing"),
    }
}

#[test]
fn what_is_gone_is_left_out_of_the_first_pass_and_told_in_later_ones() {
    let (mut replica, mut store) = (alone(Meta::default()), Plain::default());
    set(&mut replica, &mut store, b"a");
    set(&mut replica, &mut store, b"b");
    let before = replica.committed();
    write(&mut replica, &mut store, b"a", Operation::Delete(Delete::default()));
    set(&mut replica, &mut store, b"c");
    let all = Interval::ALL;
    let (kept, upto) = shown(ask(&mut replica, &mut store, all, Position::default(), part(Position::default())));
    assert_eq!(kept, [(b"b".to_vec(), true), (b"c".to_vec(), true)]);
    assert_eq!(upto, replica.committed());
    let (kept, _) = shown(ask(&mut replica, &mut store, all, before, part(before)));
    assert_eq!(kept, [(b"a".to_vec(), false), (b"c".to_vec(), true)]);
    let (kept, upto) = shown(ask(&mut replica, &mut store, all, before, Sought::Records { after: before }));
    assert_eq!((kept, upto), (vec![(b"a".to_vec(), false), (b"c".to_vec(), true)], replica.committed()));
}

#[test]
fn of_some_keys_only_these_are_shown() {
    let (mut replica, mut store) = (alone(Meta::default()), Plain::default());
    for key in [b"a", b"b", b"c", b"d"] {
        set(&mut replica, &mut store, key);
    }
    let lies = crate::chain::wedge_fence::tests::SECRET.position(b"c");
    let (low, _) = Interval::ALL.cut(&lies).unwrap();
    let (kept, _) = shown(ask(&mut replica, &mut store, low, Position::default(), part(Position::default())));
    let expected: Vec<_> = [b"a", b"b", b"c", b"d"]
        .iter()
        .filter(|key| low.contains(&crate::chain::wedge_fence::tests::SECRET.position(&key[..])))
        .map(|key| (key.to_vec(), true))
        .collect();
    assert!(expected.len() < 4 && kept == expected, "{kept:?}");
}

#[test]
fn whoever_knows_of_less_than_was_seen_does_not_answer_and_nor_does_one_without_a_lease() {
    let (mut replica, mut store) = (alone(Meta::default()), Plain::default());
    set(&mut replica, &mut store, b"a");
    let committed = replica.committed();
    let later = Position { seq: Seq(committed.seq.0 + 1), ..committed };
    let all = Interval::ALL;
    let found = ask(&mut replica, &mut store, all, later, part(Position::default()));
    assert!(matches!(found, Some(Found::Later { .. })), "{found:?}");
    store.leaseless = true;
    let found = ask(&mut replica, &mut store, all, Position::default(), part(Position::default()));
    assert!(matches!(found, Some(Found::Later { .. })), "{found:?}");
    let found = ask(&mut replica, &mut store, all, committed, part(Position::default()));
    assert!(matches!(found, Some(Found::Part { .. })), "whoever goes on needs no lease: {found:?}");
}

#[test]
fn records_that_are_no_longer_in_memory_and_deletions_that_are_forgotten_are_too_old() {
    let timing = Timing { history: 2, ..Timing::default() };
    let (mut replica, mut store) = (alone(Meta::default()), Plain { timing, ..Plain::default() });
    set(&mut replica, &mut store, b"a");
    let before = replica.committed();
    for key in [b"b", b"c", b"d"] {
        set(&mut replica, &mut store, key);
    }
    let all = Interval::ALL;
    assert_eq!(ask(&mut replica, &mut store, all, before, Sought::Records { after: before }), Some(Found::TooOld));
    store.forgotten = before.seq;
    assert!(matches!(ask(&mut replica, &mut store, all, before, part(before)), Some(Found::Part { .. })));
    store.forgotten = before.seq.next();
    assert_eq!(ask(&mut replica, &mut store, all, before, part(before)), Some(Found::TooOld));
}

#[test]
fn no_more_is_shown_in_a_time_than_may_be_copied() {
    let timing = Timing { copy_bytes_per_s: 1, ..Timing::default() };
    let (mut replica, mut store) = (alone(Meta::default()), Plain { timing, ..Plain::default() });
    set(&mut replica, &mut store, b"a");
    let mut pace = crate::chain::Pace::default();
    pace.took(1, 1, 1);
    store.pace = pace;
    let found = ask(&mut replica, &mut store, Interval::ALL, Position::default(), part(Position::default()));
    assert!(matches!(found, Some(Found::Later { wait_us }) if wait_us > 900_000), "{found:?}");
}
