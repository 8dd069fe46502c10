//! What is remembered, and what is not any more.

use super::*;
use crate::ids::{Address, Asker, Epoch, Seq};
use crate::operation::{Cas, Hit};
use crate::timing::Timing;

#[test]
fn of_two_ranges_that_become_one_neither_brings_back_a_session_that_the_other_has_forgotten() {
    let asker = Asker { address: Address::Client(1), tag: 0 };
    let id = |number| RequestId { session: 5 << 32, number };
    let entry = |seq, time, change, id: Option<RequestId>| {
        let asked = id.map(|id| Asked { id, answered: 0, asker, outcome: Outcome::Deleted, shown: None });
        Entry { position: Position { epoch: Epoch(1), seq: Seq(seq) }, time, key: Vec::new(), change, asked }
    };
    let (mut one, mut other) = (Sessions::default(), Sessions::default());
    one.commit(&entry(1, 7, Change::Nothing, Some(id(1))));
    one.commit(&entry(2, 20, Change::Expire { idle_since: 10, horizon: 10 }, None));
    other.commit(&entry(1, 8, Change::Nothing, Some(id(2))));
    for merged in [one.clone().merged(other.clone()), other.merged(one)] {
        assert_eq!(merged.known(id(1)), RequestStatus::Expired, "it was carried out in one of them");
    }
}

#[test]
fn a_session_may_say_that_all_there_can_be_is_answered() {
    let mut sessions = Sessions::default();
    for (seq, answered) in [(1, 0), (2, u64::MAX)] {
        let (id, asker) = (RequestId { session: 5, number: seq }, Asker { address: Address::Client(1), tag: 0 });
        let asked = Some(Asked { id, answered, asker, outcome: Outcome::Deleted, shown: None });
        let position = Position { epoch: Epoch(1), seq: Seq(seq) };
        sessions.commit(&Entry { position, time: 7, key: Vec::new(), change: Change::Nothing, asked });
    }
    let sessions = Sessions::default().merged(sessions);
    for number in [1, 2, 3, u64::MAX] {
        assert_eq!(sessions.known(RequestId { session: 5, number }), RequestStatus::Answered);
    }
}

/// A record of a request that was carried out at a second.
fn asked(seq: u64, time: u32, session: u64, number: u64, answered: u64) -> Entry {
    let (id, asker) = (RequestId { session, number }, Asker { address: Address::Client(1), tag: 0 });
    let asked = Some(Asked { id, answered, asker, outcome: Outcome::Deleted, shown: None });
    let position = Position { epoch: Epoch(1), seq: Seq(seq) };
    Entry { position, time, key: Vec::new(), change: Change::Nothing, asked }
}

fn expire(sessions: &mut Sessions, second: u32) {
    let position = Position { epoch: Epoch(1), seq: Seq(1 << 40) };
    let change = Change::Expire { idle_since: second, horizon: second };
    sessions.commit(&Entry { position, time: second, key: Vec::new(), change, asked: None });
}

const FEW: Bounds = Bounds { sessions: 4, unanswered: 3, requests: 100, least_s: 10, early_s: 100 };

#[test]
fn the_sessions_that_were_used_least_recently_make_room_and_none_that_is_forgotten_comes_back() {
    let mut sessions = Sessions::default();
    // Session 1 began first, and is used last.
    for (at, (began, used)) in [(1, 50), (2, 20), (3, 30), (4, 40)].into_iter().enumerate() {
        sessions.commit(&asked(at as u64 + 1, used, began << 32, 1, 0));
    }
    let new = |began: u64| RequestId { session: began << 32, number: 1 };
    assert_eq!(sessions.known_within(new(60), 0, 60, &FEW), RequestStatus::NoRoom);
    assert!(
        matches!(sessions.known_within(new(1), 0, 60, &FEW), RequestStatus::Done(..)),
        "whoever is known is answered"
    );
    let room = sessions.overfull(&FEW, 60, 60).unwrap();
    assert_eq!(room, Room { idle_since: 20, horizon: 20 });
    expire(&mut sessions, room.idle_since);
    assert_eq!(sessions.overfull(&FEW, 60, 60), None);
    assert_eq!(sessions.known_within(new(60), 0, 60, &FEW), RequestStatus::New);
    assert_eq!(sessions.known_within(new(2), 0, 60, &FEW), RequestStatus::Expired);
    assert_eq!(sessions.known_within(new(19), 0, 60, &FEW), RequestStatus::Expired, "it may have been here as well");
    assert!(matches!(sessions.known(new(1)), RequestStatus::Done(..)));
}

#[test]
fn a_session_with_too_many_requests_waits_until_it_says_that_some_are_answered() {
    let (mut sessions, session) = (Sessions::default(), 5 << 32);
    for number in [2, 3, 9] {
        sessions.commit(&asked(number, 7, session, number, 1));
    }
    let id = RequestId { session, number: 10 };
    let says = |answered| sessions.known_within(id, answered, 7, &FEW);
    assert_eq!([1, 2].map(says), [RequestStatus::TooMany, RequestStatus::New]);
    // All requests together.
    let none = Bounds { requests: 3, unanswered: 100, ..FEW };
    assert_eq!(
        [1, 2].map(|answered| sessions.known_within(id, answered, 7, &none)),
        [RequestStatus::TooMany, RequestStatus::New]
    );
    sessions.commit(&asked(20, 7, session, 10, 2));
    let known = [1, 2, 3, 4, 9].map(|number| sessions.known(RequestId { session, number }));
    let is_done = |known: &RequestStatus| matches!(known, RequestStatus::Done(..));
    assert_eq!(known.map(|known| is_done(&known)), [false, false, true, false, true], "each by itself");
}

#[test]
fn the_oldest_request_of_a_session_is_taken_however_many_later_ones_are_remembered() {
    let (mut sessions, session) = (Sessions::default(), 5 << 32);
    for number in [3, 4, 5] {
        sessions.commit(&asked(number, 7, session, number, 1));
    }
    let says = |number, bounds: &Bounds| sessions.known_within(RequestId { session, number }, 1, 7, bounds);
    let none = Bounds { requests: 3, unanswered: 1000, ..FEW };
    for bounds in [FEW, none] {
        // Until it is answered, none of the others can be forgotten.
        assert_eq!([2, 6].map(|number| says(number, &bounds)), [RequestStatus::New, RequestStatus::TooMany]);
    }
    // Those that follow it need not wait for its answer.
    let few_of_many = Bounds { unanswered: 64 * 3, ..FEW };
    for number in 6..6 + 64 * 3 {
        sessions.commit(&asked(number, 7, session, number, 1));
    }
    let known = [2, 6 + 64 * 3].map(|number| {
        sessions.known_within(RequestId { session, number }, 1, 7, &Bounds { requests: 1000, ..few_of_many })
    });
    assert_eq!(known, [RequestStatus::New, RequestStatus::TooMany]);
    assert_eq!((few_of_many.oldest(), FEW.oldest(), Bounds::default().oldest()), (4, 1, 65));
}

#[test]
fn of_a_session_named_after_a_time_to_come_only_the_name_is_kept_and_there_are_half_as_many_at_most() {
    let (mut sessions, early) = (Sessions::default(), |at: u64| 5000 << 32 | at);
    for at in 1..=2 {
        sessions.commit(&asked(at, 7, early(at), 1, 0));
    }
    let new = |session| RequestId { session, number: 1 };
    assert_eq!(sessions.known_within(new(early(3)), 0, 7, &FEW), RequestStatus::NoRoom);
    assert_eq!(sessions.known_within(new(7 << 32), 0, 7, &FEW), RequestStatus::New);
    assert_eq!(sessions.known_within(new(early(3)), 0, 4900, &FEW), RequestStatus::New, "by then its time is near");
    assert!(sessions.forgets_any(7, 7));
    expire(&mut sessions, 7);
    assert!(!sessions.forgets_any(7, 7), "once");
    assert_eq!(sessions.requests, 0);
    for number in [1, 2, u64::MAX] {
        assert_eq!(sessions.known(RequestId { session: early(1), number }), RequestStatus::Answered);
    }
    assert!(sessions.forgets_any(5000, 5000));
    expire(&mut sessions, 5000);
    assert_eq!(
        (sessions.len(), sessions.known(new(early(1)))),
        (0, RequestStatus::Expired),
        "the horizon keeps it off now"
    );
}

#[test]
fn what_a_range_remembers_at_most_fits_into_one_message() {
    let (Bounds { sessions: most, requests, .. }, pending) = (Bounds::default(), Timing::default().pending);
    let long = Cas::Known(u64::MAX);
    let hit = Hit {
        cas: long,
        expiry_before: u32::MAX,
        expiry: u32::MAX,
        created: true,
        won: true,
        stale: true,
        already_won: true,
        same_version: true,
    };
    let half = |which: u64| {
        let mut half = Sessions::default();
        // Each session may have one request more.
        for at in 0..(requests + most + pending) as u64 {
            // Numbers and names that are as long as can be.
            let session = u64::MAX - 2 * (at % (most + pending) as u64) - which;
            let mut entry = asked(u64::MAX - at, u32::MAX, session, u64::MAX - at, u64::MAX / 2);
            entry.position.epoch = Epoch(u32::MAX);
            entry.asked.as_mut().unwrap().outcome = Outcome::Hit(hit);
            half.commit(&entry);
        }
        half
    };
    let all = half(0).merged(half(1));
    assert_eq!((all.len(), all.requests), (2 * (most + pending), 2 * (requests + most + pending)));
    let bytes = postcard::to_allocvec(&all).unwrap();
    assert!((ENCODED_BYTES / 2..=ENCODED_BYTES).contains(&bytes.len()), "{} bytes", bytes.len());
    let again: Sessions = postcard::from_bytes(&bytes).unwrap();
    assert!(again == all, "what is counted is counted again");
}

#[test]
fn requests_are_counted_as_they_come_and_go() {
    let mut state = 1_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut halves = [Sessions::default(), Sessions::default()];
    for number in 1..3000_u64 {
        let which = below(2) as usize;
        let (session, time) = (below(5) << 32, number as u32 / 10);
        let mut entry = asked(number, time, session, number, number.saturating_sub(below(100)));
        if below(10) == 0 {
            let low = below(1 << 20);
            let [low, high] = [low, low + below(50)].map(fawn_ring::Key::lowest_with_prefix);
            entry.change = Change::Flush { due: 0, keys: vec![fawn_ring::Interval::new(low, high)] };
        }
        halves[which].commit(&entry);
        if below(50) == 0 {
            expire(&mut halves[which], time.saturating_sub(1));
        }
        if below(100) == 0 {
            halves = [halves[0].clone().merged(halves[1].clone()), Sessions::default()];
        }
        for sessions in &halves {
            let mut counted = sessions.clone();
            counted.count_again();
            assert_eq!(sessions.requests, counted.requests);
        }
    }
    assert!(halves[0].requests > 0);
}

/// Ranges whose horizon is beyond their time, as that was ahead once.
#[test]
fn where_all_sessions_are_named_after_a_horizon_to_come_those_that_are_idle_make_room() {
    const HORIZON: u64 = 90_000;
    let (mut sessions, mut seq) = (Sessions::default(), 0);
    expire(&mut sessions, HORIZON as u32);
    sessions.set_back(7);
    // A year of them, each of which is used once.
    for at in 0..50_u32 {
        let time = 1000 + 20 * at;
        let named = u64::from(sessions.horizon() + 1) << 32 | u64::from(at);
        let new = RequestId { session: named, number: 1 };
        if let Some(Room { idle_since, horizon }) = sessions.overfull(&FEW, time - FEW.least_s, time) {
            assert!(sessions.forgets_any(idle_since, horizon), "{at}");
            let position = Position { epoch: Epoch(1), seq: Seq(1 << 40) };
            let change = Change::Expire { idle_since, horizon };
            sessions.commit(&Entry { position, time, key: Vec::new(), change, asked: None });
            assert_eq!(sessions.known_within(new, 0, time, &FEW), RequestStatus::Expired, "it is given a later name");
        }
        let named = u64::from(sessions.horizon() + 1) << 32 | u64::from(at);
        let new = RequestId { session: named, number: 1 };
        assert_eq!(sessions.known_within(new, 0, time, &FEW), RequestStatus::New, "{at}");
        seq += 1;
        sessions.commit(&asked(seq, time, named, 1, 0));
        assert!(matches!(sessions.known(new), RequestStatus::Done(..)), "none that was used lately is forgotten");
    }
    // It goes no faster than one second for each time that there was no room.
    assert!((HORIZON as u32..HORIZON as u32 + 50).contains(&sessions.horizon()), "{}", sessions.horizon());
}

#[test]
fn where_all_sessions_are_named_after_a_time_that_was_set_back_the_oldest_names_make_room() {
    const AHEAD: u32 = 90_000;
    let mut sessions = Sessions::default();
    // As many as are taken before their time has to come are named after the end of all time.
    let named = |at: usize| {
        let began = if at < FEW.sessions / 2 { u32::MAX } else { AHEAD + at as u32 };
        u64::from(began) << 32 | at as u64
    };
    for at in 0..FEW.sessions {
        sessions.commit(&asked(at as u64 + 1, AHEAD, named(at), 1, 0));
    }
    sessions.set_back(7);
    let time = 7 + FEW.least_s + 1;
    let new = |sessions: &Sessions| RequestId { session: u64::from(sessions.horizon() + 1) << 32, number: 1 };
    assert_eq!(sessions.known_within(new(&sessions), 0, time, &FEW), RequestStatus::NoRoom);
    assert!(sessions.makes_room(&FEW, time));
    let Room { idle_since, horizon } = sessions.overfull(&FEW, time - FEW.least_s, time).expect("it is full");
    let position = Position { epoch: Epoch(1), seq: Seq(1 << 40) };
    let change = Change::Expire { idle_since, horizon };
    sessions.commit(&Entry { position, time, key: Vec::new(), change, asked: None });
    assert!((AHEAD..AHEAD + FEW.sessions as u32).contains(&sessions.horizon()), "{}", sessions.horizon());
    assert_eq!(sessions.known_within(new(&sessions), 0, time, &FEW), RequestStatus::New);
}
