//! What comes late at a member, or twice.

use super::fence::tests::{ME, recovered, step};
use super::replica::Replica;
use crate::entry::{Change, Entry};
use crate::ids::{Address, Attempt, Chain, Epoch, Incarnation, Member, NodeId, Position, RangeId, Seq};
use crate::message::Message;
use crate::meta::Meta;
use fawn_ring::{Interval, Key};

const SOURCE: Member = Member { node: NodeId(7), incarnation: Incarnation(2) };

fn at(seq: u64) -> Position {
    Position { epoch: Epoch(3), seq: Seq(seq) }
}

fn meta(seq: u64) -> Meta {
    Meta { committed: at(seq), ..Meta::default() }
}

fn learn(replica: &mut Replica, over: Attempt) {
    let (incarnation, range, keys) = (ME.incarnation, RangeId(0), Interval::ALL);
    let consistency = crate::ids::Consistency::Chain;
    let message = Message::Learn { incarnation, range, keys, source: SOURCE, over, consistency };
    step(replica, |replica, context| replica.receive(Address::Manager, message, context));
}

#[test]
fn news_of_a_chain_that_was_left_since_does_not_make_a_learner_a_member() {
    let begin = Entry { position: at(6), time: 1, key: Vec::new(), change: Change::Nothing, asked: None };
    // Its log was made level for attempt 1; that chain it never heard of, and now it follows the one after.
    let mut replica = Replica::new(RangeId(0), ME, recovered(meta(5), vec![begin]));
    learn(&mut replica, Attempt(2));
    let late = Chain {
        epoch: Epoch(2),
        attempt: Attempt(1),
        members: vec![ME],
        after: Position { epoch: Epoch(1), seq: Seq(4) },
        first: Seq(5),
        ..Chain::none(Interval::ALL)
    };
    step(&mut replica, |replica, context| replica.activated(late, context));
    assert!(replica.chain().is_none() && replica.last() == at(6));
}

/// What a learner asks next, once this part has come.
fn took(
    replica: &mut Replica,
    asked: Option<Key>,
    next: Option<Key>,
    read_at: u64,
    first: Option<Meta>,
) -> Option<Key> {
    let part = Message::CopyPart {
        range: RangeId(0),
        to: ME.incarnation,
        from: SOURCE,
        asked,
        since: Seq(0),
        kept: Vec::new(),
        next,
        at: at(read_at),
        forgotten: Seq(0),
        meta: first,
    };
    let address = Address::Node(SOURCE.node);
    let ((), sent) = step(replica, |replica, context| replica.receive(address, part, context));
    sent.into_iter().find_map(|message| match message {
        Message::Copy { from, .. } => from,
        _ => None,
    })
}

#[test]
fn a_part_that_was_read_before_the_copy_began_is_not_taken() {
    let mut replica = Replica::new(RangeId(0), ME, recovered(Meta::default(), Vec::new()));
    learn(&mut replica, Attempt(2));
    step(&mut replica, |replica, context| {
        let records = crate::message::Given::Another;
        let (range, to, from) = (RangeId(0), ME.incarnation, SOURCE);
        let message = Message::Fetched { range, attempt: None, to, from, records };
        replica.receive(Address::Node(SOURCE.node), message, context);
    });
    let [second, third] = [1 << 60, 2 << 60].map(Key::lowest_with_prefix);
    assert_eq!(took(&mut replica, None, Some(second), 10, Some(meta(10))), Some(second));
    // Of a copy that was given up: it lacks what was committed after 8.
    assert_eq!(took(&mut replica, Some(second), Some(third), 8, None), None);
    assert_eq!(took(&mut replica, Some(second), Some(third), 11, None), Some(third));
}
