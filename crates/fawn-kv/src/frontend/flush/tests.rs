//! Flushes through a front-end, whose nodes, manager and fellows are played by the test.

use crate::frontend::Limits;
use crate::frontend::tests::{Bench, ME, OTHER, SentRequest, all_asked, answers, asked, at, found};
use crate::ids::{Address, Asker, Epoch, NodeId, Position, RequestId, Seq, WedgeEpoch, WedgeId};
use crate::operation::Outcome;
use crate::wire::{Answer, Message};

const FLUSH: RequestId = RequestId { session: 8, number: 5 };

/// Client 4 asks for a flush.
fn flush(bench: &mut Bench, answered: Option<u64>, due: u32) -> Vec<(Address, Message)> {
    let asker = Asker { address: Address::Client(4), tag: 1 };
    bench.hear(Message::AskFlush { id: FLUSH, answered, asker, wedge: None, due })
}

/// The front-end's fellow wants a wedge flushed.
fn flush_wedge(bench: &mut Bench) -> Vec<(Address, Message)> {
    let asker = Asker { address: Address::Front(OTHER), tag: 3 };
    bench.hear(Message::AskFlush { id: FLUSH, answered: Some(4), asker, wedge: Some(WedgeId(0)), due: 0 })
}

fn done() -> Answer {
    let position = Position { epoch: Epoch(1), seq: Seq(9) };
    Answer::Done { outcome: Outcome::Deleted, position, again: false, shown: None }
}

/// The heads of both ranges answer.
fn done_all(bench: &mut Bench, sent: &[SentRequest]) -> Vec<(Address, Message)> {
    sent.iter().flat_map(|sent| bench.reply(sent, done())).collect()
}

#[test]
fn a_flush_asks_the_heads_of_all_ranges_and_is_answered_once_all_have() {
    let mut bench = Bench::serving();
    let sent = all_asked(&flush(&mut bench, Some(4), 0));
    let to: Vec<Address> = sent.iter().map(|sent| sent.to).collect();
    assert_eq!(to, [Address::Node(NodeId(5)), Address::Node(NodeId(6))]);
    assert!(sent.iter().all(|sent| (sent.id, sent.wedge) == (FLUSH, Some(WedgeEpoch(1)))), "{sent:?}");
    assert_eq!(answers(&bench.reply(&sent[0], done())), []);
    let again = asked(&bench.tick(100_000));
    assert_eq!(again, SentRequest { tag: again.tag, ..sent[1].clone() }, "the other is asked again");
    assert_eq!(answers(&bench.reply(&again, Answer::TooFew)), []);
    assert_eq!(answers(&bench.reply(&sent[1], done())), [Answer::Flushed]);
    assert_eq!((bench.front.in_flight(), bench.front.counts().flushes), (0, 1));
    assert_eq!(answers(&bench.reply(&sent[1], done())), [], "nobody waits any more");
}

#[test]
fn what_is_cached_goes_before_a_flush_is_answered_and_what_is_in_flight_is_not_cached_after_it() {
    let mut bench = Bench::serving();
    let miss = bench.miss("cached");
    bench.reply(&miss, found("cached", "v", 5));
    let (get, old) = (bench.miss("get"), bench.miss("put"));
    bench.reply(&old, found("put", "old", 4));
    let put = bench.set("put", "v");
    let sent = all_asked(&flush(&mut bench, Some(4), 0));
    assert_eq!(bench.cached("cached"), Some(found("cached", "v", 5)), "it is not flushed yet, as far as anyone knows");
    assert_eq!(answers(&done_all(&mut bench, &sent)), [Answer::Flushed]);
    bench.miss("cached");
    let second = bench.miss("get");
    assert_ne!(second.tag, get.tag, "nobody joins what was asked before");
    bench.reply(&get, found("get", "v", 5));
    bench.stored(&put, 6, false);
    bench.miss("put");
    bench.reply(&second, found("get", "w", 12));
    assert_eq!(bench.cached("get"), Some(found("get", "w", 12)));
}

#[test]
fn a_wedge_of_another_is_flushed_by_its_owner() {
    let mut bench = Bench::with(Limits::default());
    assert_eq!(all_asked(&flush(&mut bench, Some(4), 0)), [], "nobody owns it yet");
    bench.view(WedgeEpoch(1), Some(OTHER));
    let sent = asked(&bench.tick(10_000));
    assert_eq!((sent.to, sent.id), (Address::Front(OTHER), FLUSH));
    assert_eq!(answers(&bench.reply(&sent, Answer::AskAgain)), []);
    let again = asked(&bench.tick(200_000));
    assert_eq!(again, SentRequest { tag: again.tag, ..sent.clone() });
    assert_eq!(answers(&bench.reply(&sent, Answer::Flushed)), [Answer::Flushed]);
    // What comes from another front-end goes no further.
    let out = flush_wedge(&mut bench);
    assert!(matches!(&out[..], [(Address::Front(OTHER), Message::Reply { tag: 3, answer: Answer::AskAgain, .. })]));
}

#[test]
fn the_owner_tells_the_front_end_that_was_asked() {
    let mut bench = Bench::serving();
    let sent = all_asked(&flush_wedge(&mut bench));
    assert_eq!(sent.len(), 2);
    let out = done_all(&mut bench, &sent);
    assert!(
        matches!(
            &out[..],
            [(Address::Front(OTHER), Message::Reply { id: FLUSH, tag: 3, answer: Answer::Flushed, .. })]
        ),
        "{out:?}"
    );
}

#[test]
fn a_flush_goes_on_under_its_name_when_the_wedge_has_another_owner() {
    let mut bench = Bench::serving();
    let sent = all_asked(&flush(&mut bench, Some(4), 0));
    bench.reply(&sent[0], done());
    bench.reply(&sent[1], Answer::Fenced);
    assert_eq!(all_asked(&bench.tick(200_000)), [], "nobody knows yet who owns it");
    bench.view(WedgeEpoch(2), Some(OTHER));
    let other = asked(&bench.tick(100_000));
    assert_eq!((other.to, other.id), (Address::Front(OTHER), FLUSH));
    bench.view(WedgeEpoch(3), Some(ME));
    bench.lease(WedgeEpoch(3));
    bench.fence_all(WedgeEpoch(3));
    let again = asked(&bench.tick(100_000));
    assert_eq!(
        (again.to, again.id, again.wedge),
        (sent[1].to, FLUSH, Some(WedgeEpoch(3))),
        "the other range has answered"
    );
    assert_eq!(answers(&bench.reply(&again, done())), [Answer::Flushed]);
}

#[test]
fn a_retry_waits_with_the_first_try_and_both_are_given_up_in_time() {
    let mut bench = Bench::serving();
    let sent = all_asked(&flush(&mut bench, Some(4), 0));
    assert_eq!(flush(&mut bench, Some(4), 0), [], "the same asker waits once");
    let miss = bench.miss("k");
    assert_eq!(answers(&bench.tick(Limits::default().deadline_us)), [Answer::TimedOut, Answer::TimedOut]);
    assert_eq!(answers(&done_all(&mut bench, &sent)), []);
    assert_eq!(answers(&bench.reply(&miss, found("k", "v", 5))), [], "given up as well");
    assert_eq!(bench.front.in_flight(), 0);
}

#[test]
fn those_without_a_session_have_their_flush_numbered_in_the_front_ends_own() {
    let mut bench = Bench::serving();
    let sent = all_asked(&flush(&mut bench, None, 0));
    assert_ne!(sent[0].id, FLUSH);
    assert_eq!(sent[0].id, sent[1].id);
    let out = done_all(&mut bench, &sent);
    assert!(matches!(
        &out[..],
        [(Address::Client(4), Message::Reply { id: FLUSH, tag: 1, answer: Answer::Flushed, .. })]
    ));
}

#[test]
fn more_flushes_than_its_bound_are_refused() {
    let mut bench = Bench::with(Limits { flushed_wedges: 1, ..Limits::default() });
    flush(&mut bench, None, 0);
    assert_eq!(answers(&flush(&mut bench, None, 0)), [Answer::Busy]);
    assert_eq!(bench.front.in_flight(), 1);
}

#[test]
fn a_flush_that_asks_for_hundreds_of_wedges_leaves_room_for_another() {
    let mut bench = Bench::serving();
    for number in 0..300 {
        let (id, asker) = (RequestId { number, ..FLUSH }, Asker { address: Address::Front(OTHER), tag: number });
        let ask = Message::AskFlush { id, answered: Some(4), asker, wedge: Some(WedgeId(0)), due: 0 };
        assert_eq!(answers(&bench.hear(ask)), []);
    }
    assert_eq!(all_asked(&flush(&mut bench, None, 0)).len(), 2, "the heads of both ranges");
}

#[test]
fn what_a_flush_that_is_due_has_removed_is_asked_of_the_chain() {
    let mut bench = Bench::serving();
    let (get, old) = (bench.miss("get"), bench.miss("put"));
    bench.reply(&old, found("put", "old", 4));
    let put = bench.set("put", "v");
    let until = (bench.now_us / 1_000_000 + 1) as u32;
    let outcome = Outcome::Stored { cas: crate::operation::Cas::Appended, size: 1 };
    let stored = Answer::Done { outcome, position: at(6), again: false, shown: None };
    for (sent, answer) in [(&get, found("get", "v", 5)), (&put, stored)] {
        bench.hear(Message::Reply { id: sent.id, tag: sent.tag, continuation: None, until, answer });
    }
    assert_eq!(bench.cached("get"), Some(found("get", "v", 5)));
    assert_eq!(bench.cached("put"), Some(found("put", "v", 6)));
    bench.now_us += 1_000_000;
    bench.miss("get");
    bench.miss("put");
}

#[test]
fn a_flush_that_was_refused_at_every_try_is_refused_and_of_one_that_has_begun_nobody_knows() {
    for (begun, said) in [(false, Answer::TooFew), (true, Answer::TimedOut)] {
        let mut bench = Bench::serving();
        let Limits { deadline_us, retry_us, .. } = Limits::default();
        let sent = all_asked(&flush(&mut bench, Some(4), 0));
        bench.reply(&sent[0], if begun { done() } else { Answer::Busy });
        bench.reply(&sent[1], Answer::TooFew);
        for _ in 1..deadline_us / retry_us {
            for sent in all_asked(&bench.tick(retry_us)) {
                assert_eq!(answers(&bench.reply(&sent, Answer::TooFew)), []);
            }
        }
        assert_eq!(answers(&bench.tick(2 * retry_us)), [said]);
    }
}
