//! What becomes of a request that a chain refuses for good, or whose session it has forgotten.

use super::*;

/// A put by somebody who has no session of its own.
fn put(bench: &mut Bench) -> SentRequest {
    let asker = Asker { address: Address::Client(4), tag: 0 };
    let operation = Some(Operation::Store(Store::set(b"v")).encode());
    let id = RequestId { session: 1, number: 1 };
    asked(&bench.hear(Message::ask(id, None, asker, b"k".to_vec(), operation)))
}

#[test]
fn what_was_sent_once_to_a_range_that_has_forgotten_the_session_is_carried_out_under_another_name() {
    let mut bench = Bench::serving();
    let first = put(&mut bench);
    let began = (first.id.session >> 32) as u32;
    // The range's time was far ahead once: everything that begins before then is forgotten.
    let out = bench.reply(&first, Answer::Unknown { time: began + 31_536_000 });
    assert_eq!(answers(&out), [], "nobody is told that nobody knows");
    let second = asked(&out);
    assert!(second.id.session >> 32 >= u64::from(began) + 31_536_000, "{second:?}");
    bench.stored(&second, 5, false);
    // If the answer of one try never came, it may have been carried out.
    let first = put(&mut bench);
    let again = asked(&bench.tick(Limits::default().retry_us));
    assert_eq!(first.id, again.id);
    let unknown = Answer::Unknown { time: (first.id.session >> 32) as u32 + 9 };
    assert_eq!(answers(&bench.reply(&again, unknown.clone())), [unknown]);
    // Nor is it tried for ever.
    let mut next = put(&mut bench);
    for renamed in 1.. {
        let out = bench.reply(&next, Answer::Unknown { time: (next.id.session >> 32) as u32 + 9 });
        if !answers(&out).is_empty() {
            assert_eq!(renamed, 4);
            break;
        }
        next = asked(&out);
    }
}

#[test]
fn who_has_named_a_request_hears_that_its_session_is_forgotten_only_if_nothing_was_done() {
    let mut bench = Bench::serving();
    let unknown = || Answer::Unknown { time: 9 };
    let only = bench.set("k", "v");
    assert_eq!(answers(&bench.reply(&only, unknown())), [unknown()]);
    bench.set("k", "w");
    let again = asked(&bench.tick(Limits::default().retry_us));
    assert_eq!(answers(&bench.reply(&again, unknown())), [Answer::TimedOut], "the first may have been carried out");
}

#[test]
fn a_put_that_a_full_node_refuses_is_answered_at_once_and_the_next_is_tried_again() {
    let mut bench = Bench::serving();
    for answer in [Answer::Full, Answer::Ahead { time: 7 }] {
        let put = bench.set("k", "v");
        assert_eq!(answers(&bench.reply(&put, answer.clone())), [answer]);
    }
    let put = bench.set("k", "v");
    let outcome = Outcome::Stored { cas: Cas::Appended, size: 1 };
    let done = Answer::Done { outcome, position: at(5), again: false, shown: None };
    assert_eq!(answers(&bench.reply(&put, done.clone())), [done], "there is room again");
    // While the outcome of another try is open, nobody is told that nothing was done.
    let first = bench.set("k", "w");
    let again = asked(&bench.tick(Limits::default().retry_us));
    assert_eq!(answers(&bench.reply(&again, Answer::Full)), []);
    assert_eq!(answers(&bench.reply(&first, Answer::Full)), [Answer::Full]);
}

#[test]
fn before_all_speak_a_version_that_says_so_a_forgotten_session_does_not_mean_that_nothing_was_done() {
    let mut bench = Bench::serving();
    bench.front.speak(crate::wire::version::SURE_UNKNOWNS - 1);
    // An owner of that release, say, whose own first try was carried out and never answered.
    let unknown = || Answer::Unknown { time: 1 << 30 };
    let own = put(&mut bench);
    assert_eq!(answers(&bench.reply(&own, unknown())), [unknown()], "it is not asked for again");
    let named = bench.set("k", "v");
    assert_eq!(answers(&bench.reply(&named, unknown())), [Answer::TimedOut]);
}
