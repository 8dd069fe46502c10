//! Histories whose verdict is known.

#![allow(clippy::unnecessary_wraps)] // outcomes of cases are optional

use std::fmt;

use crate::KvOperation::{Add, CompareAndSwap, Delete, Get, Increment, Put, Replace};
use crate::KvOutcome::{Deleted, Exists, Hit, Miss, NotFound, NotStored, Number, Refused, Stored};
use crate::tests::brute;
use crate::{CheckFailure, Checker, History, KvModel, KvOperation, KvOutcome, Model, Verdict, check, check_within};

/// An operation from the first time to the second; without an outcome it is never answered.
pub type Case = (u64, u64, KvOperation, Option<KvOutcome>);

pub const fn stored(version: u64) -> Option<KvOutcome> {
    Some(Stored { version: Some(version) })
}

pub const fn hit(value: u64, version: u64) -> Option<KvOutcome> {
    Some(Hit { value, version: Some(version) })
}

pub fn put(value: u64) -> KvOperation {
    Put { value }
}

pub fn history(cases: &[Case]) -> History {
    let mut history = History::new();
    for (id, &(invoked, completed, operation, outcome)) in cases.iter().enumerate() {
        history.invoke(invoked, id as u64, operation);
        match outcome {
            Some(outcome) => history.complete(completed, id as u64, outcome),
            None => history.unknown(id as u64),
        }
    }
    history
}

/// Both checkers' verdict, which is one.
pub fn holds(cases: &[Case]) -> bool {
    let history = history(cases);
    let verdict = check(&history);
    assert_ne!(verdict, Verdict::TooHard);
    let holds = verdict == Verdict::Linearizable;
    assert_eq!(brute::is_linearizable(&history), holds, "{}\n{verdict:?}", history.to_text());
    holds
}

#[test]
fn one_client_sees_what_it_did() {
    assert!(holds(&[
        (0, 1, Get, Some(Miss)),
        (2, 3, put(7), stored(1)),
        (4, 5, Get, hit(7, 1)),
        (6, 7, Delete, Some(Deleted)),
        (8, 9, Delete, Some(NotFound)),
        (10, 11, Get, Some(Miss)),
    ]));
}

#[test]
fn a_stale_read_is_found() {
    let write_twice = [(0, 1, put(7), stored(1)), (2, 3, put(8), stored(2))];
    let read = |invoked| [&write_twice[..], &[(invoked, 9, Get, hit(7, 1))]].concat();
    assert!(!holds(&read(4)), "the second put had completed");
    assert!(holds(&read(3)), "the same instant is concurrent");
    assert!(holds(&read(2)));
}

#[test]
fn a_read_of_what_nobody_wrote_is_found() {
    assert!(!holds(&[(0, 5, put(7), stored(1)), (0, 5, Get, hit(8, 1))]));
    assert!(!holds(&[(2, 5, put(7), stored(1)), (0, 1, Get, hit(7, 1))]), "it was read before it was asked for");
}

#[test]
fn a_lost_write_is_found() {
    assert!(!holds(&[(0, 1, put(7), stored(1)), (2, 3, Get, Some(Miss))]));
    assert!(!holds(&[(0, 1, put(7), stored(1)), (2, 3, Delete, Some(NotFound))]));
    assert!(!holds(&[(0, 1, put(7), stored(1)), (2, 3, Add { value: 8 }, stored(2))]));
}

#[test]
fn a_lost_update_is_found() {
    let swap = |value, outcome| (2, 9, CompareAndSwap { expected: 1, value }, outcome);
    let both = |first, second| [(0, 1, put(7), stored(1)), swap(8, first), swap(9, second)];
    assert!(!holds(&both(stored(2), stored(3))), "one version was swapped twice");
    assert!(holds(&both(stored(2), Some(Exists))));
    assert!(!holds(&both(Some(Exists), Some(Exists))), "one of them comes first");
    assert!(holds(&both(None, Some(Exists))));
}

#[test]
fn two_increments_count_twice() {
    let count = |first, second| {
        let number = |value, version| Some(Number { value, version: Some(version) });
        [
            (0, 1, put(7), stored(1)),
            (2, 9, Increment { by: 1 }, number(first, first - 6)),
            (2, 9, Increment { by: 1 }, number(second, second - 6)),
        ]
    };
    assert!(holds(&count(8, 9)));
    assert!(holds(&count(9, 8)));
    assert!(!holds(&count(8, 8)));
    assert!(!holds(&count(8, 10)));
    let wrapping = Some(Number { value: 1, version: None });
    assert!(holds(&[(0, 1, put(u64::MAX), stored(1)), (2, 3, Increment { by: 2 }, wrapping)]));
}

#[test]
fn an_increment_executed_again_by_a_retry_is_found() {
    let counts = |last| {
        holds(&[
            (0, 1, put(7), stored(1)),
            (2, 3, Increment { by: 1 }, Some(Number { value: 8, version: Some(2) })),
            (4, 5, Get, hit(last, 3)),
        ])
    };
    assert!(!counts(8) && !counts(9));
}

#[test]
fn a_write_of_unknown_outcome_may_be_seen_late_or_never() {
    let put_unheard = [(0, 1, put(7), stored(1)), (2, 0, put(8), None), (3, 4, Get, hit(7, 1))];
    let then = |more: &[Case]| holds(&[&put_unheard[..], more].concat());
    assert!(then(&[]));
    assert!(then(&[(50, 51, Get, hit(7, 1))]));
    assert!(then(&[(50, 51, Get, hit(8, 2)), (52, 53, Get, hit(8, 2))]));
    assert!(then(&[(5, 6, put(9), stored(2)), (50, 51, Get, hit(8, 3))]), "it took effect after the next put");
}

#[test]
fn a_write_of_unknown_outcome_that_vanishes_is_found() {
    let put_unheard = [(0, 1, put(7), stored(1)), (2, 0, put(8), None), (3, 4, Get, hit(8, 2))];
    let then = |more: &[Case]| holds(&[&put_unheard[..], more].concat());
    assert!(!then(&[(5, 6, Get, hit(7, 1))]));
    assert!(!then(&[(5, 6, Get, Some(Miss))]));
    assert!(!then(&[(5, 6, put(9), stored(3)), (7, 8, Get, hit(8, 4))]), "it took effect twice");
    assert!(then(&[(5, 6, put(9), stored(3)), (7, 8, Get, hit(9, 3))]));
}

#[test]
fn a_read_inversion_is_found() {
    let put_slowly = [(0, 1, put(7), stored(1)), (2, 90, put(8), stored(2))];
    let reads = |first: Case, second: Case| holds(&[&put_slowly[..], &[first, second]].concat());
    assert!(reads((3, 4, Get, hit(7, 1)), (5, 6, Get, hit(8, 2))));
    assert!(!reads((3, 4, Get, hit(8, 2)), (5, 6, Get, hit(7, 1))), "new, then old");
    assert!(reads((3, 5, Get, hit(8, 2)), (4, 6, Get, hit(7, 1))), "they overlap");
}

#[test]
fn unknown_deletes_are_told_apart_from_what_others_did() {
    let read = |first, second| {
        holds(&[
            (0, 1, put(7), stored(1)),
            (2, 0, Delete, None),
            (2, 0, Delete, None),
            (3, 4, Get, first),
            (5, 6, put(8), stored(2)),
            (7, 8, Get, second),
            (9, 10, put(9), stored(3)),
            (11, 12, Get, hit(9, 3)),
        ])
    };
    assert!(read(Some(Miss), Some(Miss)), "one delete each");
    assert!(read(hit(7, 1), Some(Miss)));
    let thrice = [(13, 14, Get, Some(Miss)), (15, 16, put(5), stored(4)), (17, 18, Get, Some(Miss))];
    let mut history = history(&[(0, 1, put(7), stored(1)), (2, 0, Delete, None), (2, 0, Delete, None)]);
    let twice =
        [(3, 4, Get, Some(Miss)), (5, 6, put(8), stored(2)), (7, 8, Get, Some(Miss)), (9, 10, put(9), stored(3))];
    for (id, (invoked, completed, operation, outcome)) in twice.into_iter().chain(thrice).enumerate() {
        history.invoke(invoked, id as u64 + 10, operation);
        history.complete(completed, id as u64 + 10, outcome.unwrap());
    }
    assert!(matches!(check(&history), Verdict::NotLinearizable { .. }), "two deletes cannot make three misses");
}

#[test]
fn twins_that_end_together_leave_the_third_one_free() {
    let twice = [
        (0, 1, put(7), stored(1)),
        (2, 0, Delete, None),
        (2, 0, Delete, None),
        (2, 0, Delete, None),
        (3, 6, Add { value: 8 }, stored(2)),
        (4, 5, Add { value: 9 }, stored(3)),
    ];
    let once_more = (7, 8, Add { value: 5 }, stored(4));
    assert!(holds(&[&twice[..], &[once_more]].concat()));
    assert!(!holds(&[&twice[..], &[once_more, (9, 10, Get, Some(Miss))]].concat()), "a fourth delete");
}

#[test]
fn which_of_two_unknown_writes_was_there_stays_open() {
    let replaced = [(0, 0, put(5), None), (0, 0, put(6), None), (1, 2, Replace { value: 9 }, stored(3))];
    let then = |more: &[Case]| holds(&[&replaced[..], more].concat());
    assert!(then(&[(3, 4, Get, hit(5, 4))]));
    assert!(then(&[(3, 4, Get, hit(6, 4))]));
    assert!(!then(&[(3, 4, Get, hit(5, 4)), (5, 6, Get, hit(6, 5))]), "one of them was replaced");
}

#[test]
fn events_of_one_instant_are_concurrent_in_whatever_order_they_come() {
    let read_old = |invoked| {
        let mut checker = Checker::<KvModel>::new();
        checker.invoke(0, 1, put(7)).unwrap();
        checker.complete(5, 1, Stored { version: Some(1) }).unwrap();
        checker.invoke(invoked, 2, Get).unwrap();
        checker.complete(9, 2, Miss).unwrap();
        checker.finish()
    };
    assert!(read_old(5).is_ok());
    assert!(read_old(6).is_err());
}

#[test]
fn conditions_see_what_is_there() {
    let there = (0, 1, put(7), stored(1));
    assert!(holds(&[there, (2, 3, Add { value: 8 }, Some(NotStored)), (4, 5, Get, hit(7, 1))]));
    assert!(holds(&[there, (2, 3, Replace { value: 8 }, stored(2)), (4, 5, Get, hit(8, 2))]));
    assert!(!holds(&[there, (2, 3, Replace { value: 8 }, Some(NotStored))]));
    assert!(!holds(&[(2, 3, Add { value: 8 }, Some(NotStored))]));
    assert!(holds(&[(2, 3, Add { value: 8 }, stored(1)), (4, 5, Replace { value: 9 }, stored(2))]));
    assert!(holds(&[(2, 3, Increment { by: 1 }, Some(NotFound)), (4, 5, Delete, Some(NotFound))]));
    assert!(!holds(&[there, (2, 3, CompareAndSwap { expected: 1, value: 8 }, Some(NotFound))]));
    assert!(!holds(&[(2, 3, CompareAndSwap { expected: 1, value: 8 }, Some(Exists))]));
}

#[test]
fn a_refused_write_is_never_seen() {
    let refused = (0, 1, put(7), Some(Refused));
    assert!(holds(&[refused, (2, 3, Get, Some(Miss))]));
    assert!(!holds(&[refused, (2, 3, Get, hit(7, 1))]));
}

#[test]
fn the_shortest_wrong_prefix_is_told() {
    let history = history(&[
        (0, 1, put(7), stored(1)),
        (2, 3, put(8), stored(2)),
        (4, 9, Get, hit(7, 1)),
        (5, 20, Get, hit(8, 2)),
        (10, 11, put(9), stored(3)),
    ]);
    let Verdict::NotLinearizable { prefix, explanation } = check(&history) else { panic!("a read is stale") };
    assert_eq!(prefix, 7, "up to the completion of the stale read, the sixth line being the other's invocation");
    assert_eq!(
        explanation,
        "not linearizable from line 7 on:\n\
         9 complete 2 2 hit 7 1\n\
         nothing explains 2: get at 4: hit 7 1 at 9\n\
         the key could be, but for what was in flight:\n  value 8 version 2\n\
         completed before:\n  0: put 7 at 0: stored 1 at 1\n  1: put 8 at 2: stored 2 at 3\n"
    );
}

#[test]
fn the_text_has_one_event_a_line() {
    let history = history(&[
        (0, 4, put(7), stored(1)),
        (2, 0, CompareAndSwap { expected: 1, value: 8 }, None),
        (4, 5, Get, Some(Hit { value: 8, version: None })),
    ]);
    let text =
        "0 invoke 0 0 put 7\n2 invoke 1 1 cas 1 8\n4 invoke 2 2 get\n4 complete 0 0 stored 1\n5 complete 2 2 hit 8 -\n";
    assert_eq!(history.to_text(), text);
}

#[test]
fn a_checker_fails_while_events_go_on_and_stays_so() {
    let mut checker = Checker::<KvModel>::new();
    for (time, version) in [(0, 1), (2, 2)] {
        checker.invoke(time, 1, put(version)).unwrap();
        checker.complete(time + 1, 1, Stored { version: Some(version) }).unwrap();
    }
    checker.invoke(4, 2, Get).unwrap();
    checker.complete(5, 2, Hit { value: 1, version: Some(1) }).unwrap();
    let failure = checker.invoke(6, 3, Get).unwrap_err();
    let CheckFailure::Violation(violation) = &failure else { panic!("it is easy") };
    assert_eq!((violation.time, violation.id), (5, 2));
    assert_eq!(checker.unknown(3).unwrap_err(), failure);
    assert_eq!(checker.finish().unwrap_err(), failure);
}

#[test]
fn what_is_in_flight_at_the_end_is_unknown() {
    let mut checker = Checker::<KvModel>::new();
    checker.invoke(0, 1, put(7)).unwrap();
    checker.invoke(0, 2, Get).unwrap();
    checker.complete(3, 2, Hit { value: 7, version: Some(1) }).unwrap();
    checker.finish().unwrap();
}

#[test]
fn more_than_was_allowed_is_too_hard() {
    let puts: Vec<Case> = (0..12).map(|value| (0, 100, put(value), Some(Stored { version: None }))).collect();
    let read = (200, 201, Get, Some(Hit { value: 5, version: None }));
    let history = history(&[&puts[..], &[read]].concat());
    assert_eq!(check_within(&history, 1000), Verdict::TooHard);
    assert_eq!(check(&history), Verdict::Linearizable);
}

#[test]
fn more_completions_at_once_than_slots_are_too_hard() {
    let puts = |count: u64| -> Vec<Case> { (0..count).map(|at| (0, 100, put(at), stored(at + 1))).collect() };
    assert_eq!(check(&history(&puts(64))), Verdict::Linearizable);
    assert_eq!(check(&history(&puts(65))), Verdict::TooHard);
}

/// A model that is no key: a queue of one, to see that nothing of the service's is built in.
struct Token;

#[derive(Clone, Debug, PartialEq)]
struct Take;

impl fmt::Display for Take {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("take")
    }
}

impl Model for Token {
    type State = bool;
    type Operation = Take;
    type Outcome = bool;

    fn start() -> bool {
        true
    }

    fn step(state: &bool, _: &Take, outcome: Option<&bool>) -> Option<bool> {
        outcome.is_none_or(|taken| taken == state).then_some(false)
    }
}

#[test]
fn another_model_is_checked_by_the_same_search() {
    let take = |second| {
        let mut checker = Checker::<Token>::new();
        checker.invoke(0, 1, Take).unwrap();
        checker.invoke(0, 2, Take).unwrap();
        checker.complete(5, 1, true).unwrap();
        checker.complete(5, 2, second).unwrap();
        checker.finish()
    };
    assert!(take(false).is_ok());
    assert!(take(true).is_err());
}

#[test]
fn what_was_taken_once_is_not_taken_again_nor_summed_over() {
    let number = |value| Some(Number { value, version: None });
    let shown = |value| Some(Hit { value, version: None });
    assert!(holds(&[
        (0, 1, put(7), stored(1)),
        (2, 3, KvOperation::Sum { by: 4 }, number(11)),
        (4, 5, KvOperation::Measure, number(2)),
        (6, 7, KvOperation::Swap { value: 9 }, shown(11)),
        (8, 9, KvOperation::Take, shown(9)),
        (10, 11, KvOperation::Measure, number(0)),
        (12, 13, KvOperation::Sum { by: 4 }, number(4)),
    ]));
    let twice = |second| [(0, 1, put(7), stored(1)), (2, 3, KvOperation::Take, shown(7)), second];
    assert!(!holds(&twice((4, 5, KvOperation::Take, shown(7)))));
    assert!(holds(&twice((4, 5, KvOperation::Take, Some(Miss)))));
    assert!(!holds(&twice((4, 5, KvOperation::Sum { by: 1 }, number(8)))));
    // A retry that is carried out again.
    assert!(!holds(&[(0, 1, KvOperation::Sum { by: 1 }, number(2))]));
}
