//! What comes late at a member, or twice.

mod disk;

use super::Replica;
use super::wedge_fence::tests::{ME, Plain, recovered, step, step_with};
use crate::ids::{Address, Attempt, Chain, Epoch, Incarnation, Member, NodeId, Position, RangeId, Seq};
use crate::range::entry::{Change, Entry};
use crate::range::meta::Meta;
use crate::wire::{Given, Message, Records};
use fawn_ring::{Interval, Key};
use std::sync::Arc;

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
    let mut replica = Replica::new(RangeId(0), ME, recovered(meta(5), vec![begin]), &fawn_ring::Secret([1; 32]));
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
        since: Position::default(),
        kept: Vec::new(),
        next,
        at: at(read_at),
        forgotten: Seq(0),
        meta: first.map(Box::new),
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
    let mut replica = Replica::new(RangeId(0), ME, recovered(Meta::default(), Vec::new()), &fawn_ring::Secret([1; 32]));
    learn(&mut replica, Attempt(2));
    step(&mut replica, |replica, context| {
        let records = crate::wire::Given::Another;
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

/// Orders of the manager, in their order.
fn obey(replica: &mut Replica, orders: impl IntoIterator<Item = Message>) -> Vec<Message> {
    let mut sent = Vec::new();
    for order in orders {
        sent.extend(step(replica, |replica, context| replica.receive(Address::Manager, order, context)).1);
    }
    sent
}

fn seal(attempt: Attempt) -> Message {
    Message::Seal { incarnation: ME.incarnation, range: RangeId(0), attempt, keys: Interval::ALL, source: None }
}

fn equalise(attempt: Attempt, source: Option<Member>, last: Position) -> Message {
    Message::Equalise { incarnation: ME.incarnation, range: RangeId(0), attempt, source, last }
}

fn nothing(position: Position) -> Entry {
    Entry { position, time: 1, key: Vec::new(), change: Change::Nothing, asked: None }
}

#[test]
fn a_log_that_is_cut_off_to_be_copied_is_level_as_of_no_attempt() {
    // Records 6 and 7 are acknowledged, by a chain whose last attempt was 1; the source knows no more how far this log is like
    // its own.
    let mut replica = Replica::new(
        RangeId(0),
        ME,
        recovered(meta(5), vec![nothing(at(6)), nothing(at(7))]),
        &fawn_ring::Secret([1; 32]),
    );
    obey(&mut replica, [seal(Attempt(2)), equalise(Attempt(2), Some(SOURCE), at(9))]);
    let (range, to, from, attempt) = (RangeId(0), ME.incarnation, SOURCE, Some(Attempt(2)));
    let too_old = Message::Fetched { range, attempt, to, from, records: Given::TooOld };
    step(&mut replica, |replica, context| replica.receive(Address::Node(SOURCE.node), too_old, context));
    assert_eq!(replica.last(), at(5));
    assert!(replica.held() < Some(Attempt(1)), "a chain that began with this log alone would lack 6 and 7");
}

#[test]
fn whoever_is_made_level_takes_what_its_store_has_room_for() {
    let mut replica = Replica::new(RangeId(0), ME, recovered(meta(5), Vec::new()), &fawn_ring::Secret([1; 32]));
    obey(&mut replica, [seal(Attempt(2)), equalise(Attempt(2), Some(SOURCE), at(9))]);
    let entries = (6..=9).map(|seq| Arc::new(nothing(at(seq)))).collect();
    let records = Given::Records(Records { common: at(5), entries, last: at(9) });
    let (range, to, from, attempt) = (RangeId(0), ME.incarnation, SOURCE, Some(Attempt(2)));
    let message = Message::Fetched { range, attempt, to, from, records };
    let mut come = |takes_nothing| {
        let store = &mut Plain { takes_nothing, ..Plain::default() };
        let address = Address::Node(SOURCE.node);
        step_with(store, &mut replica, |replica, context| replica.receive(address, message.clone(), context));
        replica.last()
    };
    assert_eq!(come(true), at(5), "it is asked for again");
    assert_eq!(come(false), at(9));
}

#[test]
fn where_an_epoch_ended_is_known_from_the_beginning_of_the_next() {
    // The source has restarted: of epoch 3 it has nothing in memory, but it has begun epoch 4 after record 7.
    let begin = Position { epoch: Epoch(4), seq: Seq(8) };
    let first = Entry { change: Change::Begin { after: at(7) }, ..nothing(begin) };
    let mut source = Replica::new(RangeId(0), ME, recovered(meta(7), vec![first]), &fawn_ring::Secret([1; 32]));
    obey(&mut source, [seal(Attempt(2))]);
    let (range, learner, attempt) = (RangeId(0), SOURCE, Some(Attempt(2)));
    let fetch = Message::Fetch { range, attempt, learner, committed: at(5), ends: vec![at(7)] };
    let ((), sent) = step(&mut source, |source, context| source.receive(Address::Node(SOURCE.node), fetch, context));
    let given = sent.into_iter().find_map(|message| match message {
        Message::Fetched { records, .. } => Some(records),
        _ => None,
    });
    let Some(Given::Records(records)) = given else { panic!("a copy for what both have: {given:?}") };
    assert_eq!((records.common, records.entries.len(), records.last), (at(7), 1, begin));
}

#[test]
fn whoever_has_what_was_lost_before_an_epoch_copies_anew_though_its_beginning_is_not_committed() {
    // Epoch 4 goes on from record 7: 8 and 9, which the other has committed, were lost.
    // Of two ranges that were merged, the first epoch may be higher by more than one.
    for epoch in [4, 9] {
        let begin = Position { epoch: Epoch(epoch), seq: Seq(520) };
        let first = Entry { change: Change::Begin { after: at(7) }, ..nothing(begin) };
        let mut source = Replica::new(RangeId(0), ME, recovered(meta(7), vec![first]), &fawn_ring::Secret([1; 32]));
        obey(&mut source, [seal(Attempt(2))]);
        let (range, learner, attempt) = (RangeId(0), SOURCE, Some(Attempt(2)));
        let mut refuses = |seq| {
            let fetch = Message::Fetch { range, attempt, learner, committed: at(seq), ends: Vec::new() };
            let from = Address::Node(SOURCE.node);
            let ((), sent) = step(&mut source, |source, context| source.receive(from, fetch, context));
            sent.iter().any(|message| matches!(message, Message::Fetched { records: Given::Another, .. }))
        };
        assert_eq!([7, 8, 9].map(&mut refuses), [false, true, true], "epoch {epoch}");
        // It may ask only then, for what is newer than that.
        let mut copied_since = |seq| {
            let (least, since) = (Position::default(), at(seq));
            let copy = Message::Copy { range, learner, from: None, since, least };
            let ((), sent) =
                step(&mut source, |source, context| source.receive(Address::Node(SOURCE.node), copy, context));
            sent.into_iter().find_map(|message| match message {
                Message::CopyPart { since, .. } => Some(since),
                _ => None,
            })
        };
        let everything = Some(Position::default());
        assert_eq!([7, 8, 9].map(&mut copied_since), [Some(at(7)), everything, everything], "epoch {epoch}");
    }
}

#[test]
fn a_range_that_holds_something_is_not_begun_anew() {
    let mut replica =
        Replica::new(RangeId(0), ME, recovered(meta(5), vec![nothing(at(6))]), &fawn_ring::Secret([1; 32]));
    // Managers that have lost their log number ranges and attempts from the first on.
    let sent = obey(&mut replica, [seal(Attempt(2)), equalise(Attempt(2), None, Position::default())]);
    assert_eq!(replica.last(), at(6));
    assert!(!sent.iter().any(|message| matches!(message, Message::Level { .. })));
}
