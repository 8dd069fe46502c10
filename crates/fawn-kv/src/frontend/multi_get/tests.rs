//! One front-end that answers many at once, or many keys to one.

use crate::frontend::Limits;
use crate::frontend::tests::{Bench, all_asked, answers, found, kept};
use crate::ids::{Address, Asker, RequestId};
use crate::range::entry::Kept;
use crate::wire::{Answer, Message};
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn many_gets_are_answered_as_one() {
    let mut bench = Bench::serving();
    let miss = bench.miss("a");
    bench.reply(&miss, found("a", "1", 5));
    let asker = Asker { address: Address::Client(4), tag: 1 };
    let (id, keys) =
        (RequestId { session: 9, number: 60 }, ["a", "b", "c"].map(|key| key.as_bytes().to_vec()).to_vec());
    let out = bench.hear(Message::AskMany { id, asker, keys: keys.clone() });
    let sent = all_asked(&out);
    assert_eq!((sent.len(), answers(&out).len()), (2, 0), "one is cached, two are asked for, nothing is said");
    assert_eq!(answers(&bench.reply(&sent[1], found("c", "3", 7))), []);
    let all = Answer::FoundMany(vec![Some(kept("a", "1", 5)), Some(kept("b", "2", 6)), Some(kept("c", "3", 7))]);
    assert_eq!(answers(&bench.reply(&sent[0], found("b", "2", 6))), [all]);
    let Limits { keys: most, many_bytes, .. } = Limits::default();
    // One answer has so many bytes and no more.
    let half = "x".repeat(many_bytes / 2);
    let out = bench.hear(Message::AskMany { id, asker, keys: vec![b"d".to_vec(), b"e".to_vec()] });
    let sent = all_asked(&out);
    assert_eq!(answers(&bench.reply(&sent[0], found("d", &half, 8))), []);
    assert_eq!(answers(&bench.reply(&sent[1], found("e", &half, 9))), [Answer::Busy]);
    // An error of one is an error of all, once.
    let out = bench.hear(Message::AskMany { id, asker, keys: vec![b"a".to_vec(), b"f".to_vec(), b"g".to_vec()] });
    assert_eq!(answers(&out), []);
    assert_eq!(answers(&bench.tick(Limits::default().deadline_us)), [Answer::TimedOut]);
    let out = bench.hear(Message::AskMany { id, asker, keys: vec![b"a".to_vec(); most + 1] });
    assert_eq!(answers(&out), [Answer::Busy]);
}

/// Where the values lie that are shown to `Address::Client(4)`.
fn shown_at(out: &[(Address, Message)]) -> BTreeSet<*const Kept> {
    let at = |answer| match answer {
        Answer::Found(Some(kept)) => vec![Arc::as_ptr(&kept)],
        Answer::FoundMany(kept) => kept.iter().flatten().map(Arc::as_ptr).collect(),
        other => panic!("a value is shown: {other:?}"),
    };
    answers(out).into_iter().flat_map(at).collect()
}

#[test]
fn however_many_are_shown_a_value_it_is_in_memory_once() {
    let mut bench = Bench::serving();
    let miss = bench.miss("k");
    let most = Limits::default().waiters;
    for _ in 2..most {
        assert_eq!(bench.get("k"), []);
    }
    let asker = Asker { address: Address::Client(4), tag: 1 };
    let (id, keys) = (RequestId { session: 9, number: 1 << 20 }, vec![b"k".to_vec()]);
    assert_eq!(bench.hear(Message::AskMany { id, asker, keys }), []);
    let mut out = bench.reply(&miss, found("k", "large", 5));
    assert_eq!(answers(&out).len(), most, "all who waited are answered in one step");
    for _ in 0..most {
        out.extend(bench.get("k"));
    }
    assert_eq!((answers(&out).len(), shown_at(&out).len()), (2 * most, 1), "nor has the cache one of its own");
}
