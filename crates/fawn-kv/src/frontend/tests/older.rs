//! A cluster in which some are of an older release.

use super::*;
use crate::operation::{Edit, EditKind};
use crate::wire::version::{CONTINUATIONS, PARTS};

#[test]
fn a_get_with_a_continuation_is_remembered_while_its_owner_may_be_of_an_older_release() {
    let mut bench = Bench::serving();
    bench.front.speak(CONTINUATIONS - 1);
    bench.view(WedgeEpoch(2), Some(OTHER));
    let (id, asker) = (RequestId { session: 9, number: 70 }, Asker { address: Address::Client(4), tag: 8 });
    let (key, continuation) = (b"k".to_vec(), Some(b"mine".to_vec()));
    let (answered, place, operation) = (None, None, None);
    let out = bench.hear(Message::Ask { id, answered, asker, forwarded: false, key, place, operation, continuation });
    let [(Address::Front(OTHER), asked @ Message::Ask { asker: Asker { tag, .. }, .. })] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!((asked.since(), bench.front.in_flight()), (crate::wire::version::OLDEST, 1));
    let (id, continuation) = (RequestId { session: 9, number: 70 }, None);
    let out = bench.hear(Message::Reply { id, tag: *tag, continuation, until: 0, answer: found("k", "v", 5) });
    let to_client = Message::Reply { id, tag: 8, continuation: None, until: 0, answer: found("k", "v", 5) };
    assert_eq!(out, [(Address::Client(4), to_client)]);
}

/// A step of a signed counter.
const ADD: Operation<'_> = Operation::Edit(Edit { kind: EditKind::Add { delta: 1 }, argument: b"" });

#[test]
fn an_edit_is_refused_at_once_until_everybody_is_known_to_read_it() {
    let mut bench = Bench::serving();
    bench.front.speak(PARTS - 1);
    let out = bench.ask("k", Some(&ADD));
    assert_eq!((answers(&out), all_asked(&out)), (vec![Answer::NeedsUpgrade], Vec::new()));
    assert_eq!(bench.front.in_flight(), 0);
    // Nor does an owner that has yet to hear of it take one from another front-end.
    let (id, asker) = (RequestId { session: 9, number: 70 }, Asker { address: Address::Front(OTHER), tag: 8 });
    let (key, place, operation) = (b"k".to_vec(), None, Some(ADD.encode()));
    let (answered, forwarded, continuation) = (Some(0), true, None);
    let out = bench.hear(Message::Ask { id, answered, asker, forwarded, key, place, operation, continuation });
    let refused = Message::Reply { id, tag: 8, continuation: None, until: 0, answer: Answer::NeedsUpgrade };
    assert_eq!(out, [(Address::Front(OTHER), refused)]);
    bench.set("k", "v");
    bench.front.speak(PARTS);
    assert_eq!(all_asked(&bench.ask("k", Some(&ADD))).len(), 1, "from here on the chain is asked");
}

#[test]
fn a_head_that_has_yet_to_hear_that_everybody_reads_edits_is_asked_again() {
    let mut bench = Bench::serving();
    let first = asked(&bench.ask("k", Some(&ADD)));
    assert_eq!(answers(&bench.reply(&first, Answer::NeedsUpgrade)), []);
    let again = asked(&bench.tick(Limits::default().retry_us));
    let (outcome, shown) = (Outcome::Integer(1), None);
    let done = Answer::Done { outcome, position: at(5), again: false, shown };
    assert_eq!(answers(&bench.reply(&again, done.clone())), [done]);
    // One that never hears of it: nothing was done.
    let first = asked(&bench.ask("k", Some(&ADD)));
    bench.reply(&first, Answer::NeedsUpgrade);
    assert_eq!(answers(&bench.tick(Limits::default().deadline_us)), [Answer::NeedsUpgrade]);
}
