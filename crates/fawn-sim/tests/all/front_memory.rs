//! What a front-end holds for each request that is under way, with and without a continuation (FAWN-DHT, §3.2).
//!
//! `cargo test -p fawn-sim --test all front_memory -- --nocapture` prints the figures.

use fawn_kv::frontend::{Front, Limits};
use fawn_kv::ids::Wedge;
use fawn_kv::ids::{
    Address, Asker, Attempt, Chain, Epoch, FrontId, FrontMember, Incarnation, Member, NodeId, RangeId, RequestId, Seq,
    WedgeEpoch, WedgeId,
};
use fawn_kv::timing::{Now, Timing};
use fawn_kv::wire::Message;
use fawn_ring::{Interval, Secret};

const FRONT: FrontId = FrontId(1);
const LIFE: Incarnation = Incarnation(1);
const NOW: Now = Now::at(1_000_000, 1_900_000_000);
const KEY_BYTES: usize = 20;
const REQUESTS: u64 = 10_000;

/// A front-end that owns all keys, which are in one range.
fn serving() -> Front {
    let limits = Limits { flights: 2 * REQUESTS as usize, ..Limits::default() };
    let mut front = Front::new(FRONT, 1, Timing::default(), limits, Secret([7; 32]));
    let members = vec![Member { node: NodeId(1), incarnation: LIFE }];
    let chain = Chain { epoch: Epoch(1), attempt: Attempt(1), members, first: Seq(1), ..Chain::none(Interval::ALL) };
    let owner = Some(FrontMember { front: FRONT, incarnation: LIFE });
    let wedge = Wedge { keys: Interval::ALL, epoch: WedgeEpoch(1), owner, released: false };
    let mut out = Vec::new();
    front.receive(NOW, Message::FrontWelcome { nonce: 1, incarnation: LIFE }, &mut out);
    let (chains, wedges) = (vec![(RangeId(1), chain)], vec![wedge]);
    front.receive(NOW, Message::View { since: 0, number: 1, chains, wedges }, &mut out);
    front.tick(NOW, &mut out);
    let nonce = out.iter().find_map(|(_, message)| match message {
        Message::FrontHeartbeat { nonce, .. } => Some(*nonce),
        _ => None,
    });
    let (nonce, wedges) = (nonce.expect("it says that it lives"), vec![(WedgeId(0), WedgeEpoch(1))]);
    let lease = Message::FrontLease { incarnation: LIFE, nonce, lease_us: 2_000_000, wedges };
    front.receive(NOW, lease, &mut out);
    let (range, keys, epoch) = (RangeId(1), Interval::ALL, WedgeEpoch(1));
    front.receive(NOW, Message::FenceHolds { range, keys, epoch }, &mut out);
    assert_eq!(front.served(NOW.us).count(), 1);
    front
}

/// Bytes that the front-end holds after so many gets that nobody has answered, and messages that it has sent.
fn held(front: &mut Front, requests: u64, continuation: Option<&[u8]>) -> (i64, usize) {
    let mut sent = 0;
    let measured = allocation_counter::measure(|| {
        let mut out = Vec::new();
        for number in 0..requests {
            let mut key = vec![b'k'; KEY_BYTES];
            key[..8].copy_from_slice(&number.to_le_bytes());
            let (id, asker) = (RequestId { session: 0, number }, Asker { address: Address::Client(1), tag: number });
            let continuation = continuation.map(<[u8]>::to_vec);
            let (answered, operation) = (None, None);
            let ask = Message::Ask { id, answered, asker, forwarded: false, key, place: None, operation, continuation };
            front.receive(NOW, ask, &mut out);
            sent += out.drain(..).filter(|(to, _)| *to == Address::Node(NodeId(1))).count();
        }
    });
    (measured.bytes_current, sent)
}

#[test]
fn a_get_with_a_continuation_takes_no_memory_of_a_front_end() {
    let mut front = serving();
    let (with, sent) = held(&mut front, REQUESTS, Some(b"what the client needs to go on"));
    assert_eq!((sent, front.in_flight()), (REQUESTS as usize, 0));
    let (without, sent) = held(&mut front, REQUESTS, None);
    assert_eq!((sent, front.in_flight()), (REQUESTS as usize, REQUESTS as usize));
    let each = |bytes: i64| bytes as f64 / REQUESTS as f64;
    println!(
        "bytes a request under way at a front-end, keys of {KEY_BYTES} bytes: {:.0} remembered, {:.0} with a continuation",
        each(without),
        each(with)
    );
    assert!(each(with) < 1.0, "{with} bytes are left of {REQUESTS} requests");
    assert!(each(without) > 100.0, "{without} bytes are held for {REQUESTS} requests");
}
