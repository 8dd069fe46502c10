//! The bytes of messages.

use fawn_check::random::Random;
use fawn_kv::ids::{
    Address, Asker, Epoch, FrontId, FrontMember, Incarnation, Position, RangeId, RequestId, Seq, WedgeEpoch,
};
use fawn_kv::operation::Outcome;
use fawn_kv::range::entry::{Asked, Change, Entry, Shown, Version};
use fawn_kv::wire::version::FAREWELLS;
use fawn_kv::wire::version::NEWEST;
use fawn_kv::wire::version::OLDEST;
use fawn_kv::wire::{Message, WireError};
use fawn_ring::{Interval, Key};
use std::sync::Arc;

fn feed() -> Message {
    let position = Position { epoch: Epoch(3), seq: Seq(77) };
    let version =
        Version { value: vec![7; 40], flags: 9, expiry: 0, stale: false, won: true, client_cas: Some(u64::MAX) };
    let id = RequestId { session: 5, number: 6 };
    let asker = Asker { address: Address::Client(1), tag: 9 };
    let shown = Some(Shown { value: vec![8; 30], flags: 1 });
    let asked = Some(Asked { id, answered: 4, asker, outcome: Outcome::NotFound, shown });
    let entry = Entry { position, time: 5, key: b"key".to_vec(), change: Change::Value(version), asked };
    Message::Feed {
        range: RangeId(1),
        epoch: Epoch(3),
        to: Incarnation(2),
        entries: vec![Arc::new(entry.clone()), Arc::new(entry)],
        mark: Seq(76),
    }
}

#[test]
fn what_is_encoded_is_decoded_and_nothing_shorter_or_longer_is() {
    let bytes = feed().encode();
    assert_eq!(Message::decode(&bytes).unwrap(), feed());
    for cut in 0..bytes.len() {
        assert!(Message::decode(&bytes[..cut]).is_err(), "{cut} bytes");
    }
    let longer = [&bytes[..], b"!"].concat();
    assert!(matches!(Message::decode(&longer), Err(WireError::Malformed(_))));
}

#[test]
fn another_version_is_refused_by_name() {
    let mut bytes = feed().encode();
    for version in [OLDEST - 1, NEWEST + 1] {
        bytes[0] = version;
        assert_eq!(Message::decode(&bytes), Err(WireError::Version(version)));
    }
}

#[test]
fn a_message_says_the_version_that_brought_it_and_no_other() {
    let member = FrontMember { front: FrontId(1), incarnation: Incarnation(2) };
    let farewell = Message::FrontFarewell { member };
    for (message, version) in [(feed(), OLDEST), (farewell, FAREWELLS)] {
        let mut bytes = message.encode();
        assert_eq!(bytes[0], version);
        assert_eq!(Message::decode(&bytes), Ok(message));
        for other in (OLDEST..=NEWEST).filter(|other| *other != version) {
            bytes[0] = other;
            assert!(matches!(Message::decode(&bytes), Err(WireError::Malformed(_))), "as of {other}");
        }
    }
}

#[test]
fn keys_that_end_before_they_begin_are_refused() {
    let fence = |low, high| {
        let (range, front, epoch) = (RangeId(1), Address::Front(FrontId(1)), WedgeEpoch(2));
        // As whoever means harm would write it.
        let keys = Interval { low: Key::lowest_with_prefix(low), high: Key::lowest_with_prefix(high) };
        Message::Fence { range, front, keys, epoch }
    };
    assert_eq!(Message::decode(&fence(7, 7).encode()), Ok(fence(7, 7)));
    assert!(matches!(Message::decode(&fence(8, 7).encode()), Err(WireError::Malformed(_))));
}

/// Damaged messages and noise: an error or another message, never a panic, and no more memory than the bytes justify.
#[test]
fn bytes_that_make_no_sense_are_refused() {
    let (whole, mut random) = (feed().encode(), Random::new(1));
    for _ in 0..300_000 {
        let mut bytes = if random.chance(1, 2) { whole.clone() } else { vec![0; random.below(60) as usize + 1] };
        if bytes.len() < 60 {
            random.fill(&mut bytes);
            bytes[0] = OLDEST;
        }
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.word() as u8;
        }
        if let Ok(Message::Feed { entries, .. }) = Message::decode(&bytes) {
            assert!(entries.len() <= bytes.len(), "{} records in {} bytes", entries.len(), bytes.len());
        }
    }
}
