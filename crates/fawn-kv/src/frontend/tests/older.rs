//! A cluster in which some are of an older release.

use super::*;
use crate::wire::version::CONTINUATIONS;

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
