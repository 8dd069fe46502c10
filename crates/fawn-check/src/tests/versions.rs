//! Cases of numbers: told, not told, told late.

use crate::KvOperation::{CompareAndSwap, Delete, Get};
use crate::KvOutcome::{Deleted, Exists, Hit, Stored};
use crate::tests::cases::{history, hit, holds, put, stored};
use crate::{KvOutcome, Verdict, check};

const STORED: Option<KvOutcome> = Some(Stored { version: None });

#[test]
fn versions_grow_in_the_order_of_the_writes() {
    assert!(!holds(&[(0, 1, put(7), stored(2)), (2, 3, put(8), stored(1))]));
    assert!(!holds(&[(0, 1, put(7), stored(2)), (2, 3, put(8), stored(2))]));
    assert!(holds(&[(0, 5, put(7), stored(2)), (2, 3, put(8), stored(1))]));
    assert!(!holds(&[(0, 5, put(7), stored(2)), (2, 3, put(8), stored(1)), (6, 7, Get, hit(8, 1))]));
}

#[test]
fn versions_grow_across_deletes() {
    let again =
        |version| holds(&[(0, 1, put(7), stored(5)), (2, 3, Delete, Some(Deleted)), (4, 5, put(7), stored(version))]);
    assert!(again(6));
    assert!(!again(5));
    assert!(!again(4));
}

#[test]
fn a_version_that_was_not_told_is_settled_by_who_sees_it_first() {
    let told_late = |first, second| {
        holds(&[
            (0, 1, put(7), stored(5)),
            (2, 3, put(8), STORED),
            (4, 5, Get, Some(Hit { value: 8, version: None })),
            (6, 7, Get, hit(8, first)),
            (8, 9, Get, hit(8, second)),
        ])
    };
    assert!(told_late(6, 6));
    assert!(told_late(9, 9));
    assert!(!told_late(6, 7), "one version has one number");
    assert!(!told_late(5, 5), "it was another one's");
}

#[test]
fn a_swap_settles_a_version_too() {
    let swap = |expected, outcome, after| {
        holds(&[
            (0, 1, put(7), stored(5)),
            (2, 3, put(8), STORED),
            (4, 5, CompareAndSwap { expected, value: 9 }, outcome),
            (6, 7, Get, after),
        ])
    };
    assert!(swap(6, stored(7), hit(9, 7)));
    assert!(swap(6, STORED, hit(9, 7)));
    assert!(!swap(6, STORED, hit(9, 6)), "the version that was swapped had that number");
    assert!(!swap(5, STORED, hit(9, 7)), "that was the first put's number");
    assert!(swap(5, Some(Exists), hit(8, 6)));
    assert!(swap(6, Some(Exists), hit(8, 6)), "more than right is allowed: nobody had seen the number");
}

#[test]
fn a_swap_of_unknown_outcome_swaps_its_version_only() {
    let unheard = [(0, 1, put(7), stored(1)), (2, 0, CompareAndSwap { expected: 1, value: 8 }, None)];
    assert!(holds(&[&unheard[..], &[(3, 4, put(9), stored(3)), (5, 6, Get, hit(9, 3))]].concat()));
    assert!(holds(&[&unheard[..], &[(3, 4, Get, hit(8, 2)), (5, 6, put(9), stored(3))]].concat()));
    assert!(!holds(&[&unheard[..], &[(3, 4, put(9), stored(3)), (5, 6, Get, hit(8, 4))]].concat()));
    assert!(!holds(&[&unheard[..], &[(3, 4, Get, hit(8, 1))]].concat()), "a new version has a new number");
}

#[test]
fn a_swap_that_was_missed_is_forgotten_in_time() {
    // A thousand swaps of versions that are gone would be a thousand ways to go on, were they kept.
    let mut cases = Vec::new();
    for at in 0..1000 {
        cases.push((10 * at, 10 * at + 1, put(at), stored(at + 1)));
        cases.push((10 * at + 2, 0, CompareAndSwap { expected: at + 1, value: 5000 + at }, None));
        cases.push((10 * at + 3, 10 * at + 9, Get, hit(at, at + 1)));
    }
    assert_eq!(check(&history(&cases)), Verdict::Linearizable);
}
