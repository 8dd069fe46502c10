//! A disk that is full, or cannot be read.

use crate::chain::Replica;
use crate::chain::wedge_fence::tests::{FRONT, ME, Plain, alone, recovered, step_with};
use crate::ids::{
    Address, Asker, Attempt, Chain, Epoch, Health, Incarnation, Member, NodeId, Position, RangeId, RequestId, Seq,
    WedgeEpoch,
};
use crate::operation::{Delete, Mode, Operation, Store};
use crate::range::entry::{Change, Entry};
use crate::range::meta::Meta;
use crate::wire::{Answer, Message};
use fawn_ring::Interval;

const RANGE: RangeId = RangeId(0);
const SUCCESSOR: Member = Member { node: NodeId(5), incarnation: Incarnation(2) };

fn request(number: u64, operation: &Operation<'_>) -> Message {
    let (id, asker) = (RequestId { session: 1 << 32, number }, Asker { address: FRONT, tag: 7 });
    let operation = postcard::to_allocvec(operation).unwrap();
    let (wedge, epoch, key) = (WedgeEpoch(0), Epoch(2), b"k".to_vec());
    Message::Request { range: RANGE, id, answered: 0, asker, wedge, epoch, key, place: None, operation }
}

fn get() -> Message {
    let (id, asker) = (RequestId { session: 1, number: 1 }, Asker { address: FRONT, tag: 8 });
    Message::Get { range: RANGE, id, asker, wedge: WedgeEpoch(0), key: b"k".to_vec(), place: None, continuation: None }
}

fn say(replica: &mut Replica, store: &mut Plain, from: Address, message: Message) -> Vec<Message> {
    step_with(store, replica, |replica, context| replica.receive(from, message, context)).1
}

fn answers(sent: &[Message]) -> Vec<&Answer> {
    let mut answers = Vec::new();
    for message in sent {
        if let Message::Reply { answer, .. } = message {
            answers.push(answer);
        }
    }
    answers
}

fn set() -> Operation<'static> {
    Operation::Store(Store::set(b"v"))
}

#[test]
fn a_full_head_takes_deletions_and_no_values() {
    let (mut head, mut store) = (alone(Meta::default()), Plain::default());
    assert!(matches!(answers(&say(&mut head, &mut store, FRONT, request(1, &set())))[..], [Answer::Done { .. }]));
    store.full = true;
    assert_eq!(answers(&say(&mut head, &mut store, FRONT, request(2, &set()))), [&Answer::Full]);
    let delete = Operation::Delete(Delete::default());
    assert!(matches!(answers(&say(&mut head, &mut store, FRONT, request(3, &delete)))[..], [Answer::Done { .. }]));
    // What was refused was not carried out: the same request is, once there is room.
    store.full = false;
    let sent = say(&mut head, &mut store, FRONT, request(2, &set()));
    assert!(matches!(answers(&sent)[..], [Answer::Done { again: false, .. }]));
    assert_eq!(head.report(true).health, Health::Full);
}

/// A member of a chain of two, which it has begun.
fn first_or_last(members: [Member; 2]) -> Replica {
    let mut replica = Replica::new(RANGE, ME, recovered(Meta::default(), Vec::new()), &fawn_ring::Secret([1; 32]));
    let (incarnation, range, attempt) = (ME.incarnation, RANGE, Attempt(2));
    let seal = Message::Seal { incarnation, range, attempt, keys: Interval::ALL, source: None };
    let level = Message::Equalise { incarnation, range, attempt, source: None, last: Position::default() };
    let mut store = Plain::default();
    for order in [seal, level] {
        say(&mut replica, &mut store, Address::Manager, order);
    }
    let chain = Chain {
        epoch: Epoch(2),
        attempt: Attempt(2),
        members: members.to_vec(),
        first: Seq(1),
        ..Chain::none(Interval::ALL)
    };
    step_with(&mut store, &mut replica, |replica, context| replica.activated(chain, context));
    assert!(replica.chain().is_some());
    replica
}

#[test]
fn a_head_takes_no_values_while_a_member_after_it_is_full() {
    let (mut head, mut store) = (first_or_last([ME, SUCCESSOR]), Plain::default());
    let have = |full: bool| {
        let (range, epoch, to) = (RANGE, Epoch(2), ME.incarnation);
        Message::Have { range, epoch, to, last: Seq(1), committed: Seq(1), full }
    };
    let from = Address::Node(SUCCESSOR.node);
    say(&mut head, &mut store, from, have(true));
    assert_eq!(answers(&say(&mut head, &mut store, FRONT, request(1, &set()))), [&Answer::Full]);
    say(&mut head, &mut store, from, have(false));
    let sent = say(&mut head, &mut store, FRONT, request(1, &set()));
    assert!(sent.iter().any(|message| matches!(message, Message::Feed { .. })), "{sent:?}");
}

#[test]
fn a_member_says_when_it_is_full_and_when_it_is_not() {
    let (mut tail, mut store) = (first_or_last([SUCCESSOR, ME]), Plain::default());
    let mut said = |full: bool| {
        store.full = full;
        let sent = step_with(&mut store, &mut tail, Replica::tick).1;
        sent.into_iter().find_map(|message| if let Message::Have { full, .. } = message { Some(full) } else { None })
    };
    said(false);
    assert_eq!([said(false), said(true), said(true), said(false)], [None, Some(true), None, Some(false)]);
}

#[test]
fn whoever_waits_for_what_cannot_be_read_is_told_so() {
    let (mut member, mut store) = (alone(Meta::default()), Plain { waits: true, ..Plain::default() });
    assert_eq!(
        answers(&say(
            &mut member,
            &mut store,
            FRONT,
            request(1, &Operation::Store(Store { mode: Mode::Add, ..Store::set(b"v") }))
        ))
        .len(),
        0
    );
    assert_eq!(answers(&say(&mut member, &mut store, FRONT, get())).len(), 0);
    let last = member.last();
    for ticket in store.tickets.0.keys().copied().collect::<Vec<_>>() {
        let sent = step_with(&mut store, &mut member, |replica, context| replica.unreadable(ticket, context)).1;
        assert_eq!(answers(&sent), [&Answer::Unreadable]);
    }
    assert_eq!((member.last(), member.report(false).health), (last, Health::Damaged));
    // Nothing waits any more, and the next try is judged anew.
    store.waits = false;
    assert!(matches!(answers(&say(&mut member, &mut store, FRONT, request(1, &set())))[..], [Answer::Done { .. }]));
}

#[test]
fn whoever_waits_for_a_read_that_is_refused_for_now_tries_again_and_the_copy_is_sound() {
    let (mut member, mut store) = (alone(Meta::default()), Plain { waits: true, ..Plain::default() });
    let add = Operation::Store(Store { mode: Mode::Add, ..Store::set(b"v") });
    assert!(answers(&say(&mut member, &mut store, FRONT, request(1, &add))).is_empty());
    assert!(answers(&say(&mut member, &mut store, FRONT, get())).is_empty());
    for ticket in store.tickets.0.keys().copied().collect::<Vec<_>>() {
        let sent = step_with(&mut store, &mut member, |replica, context| replica.not_read(ticket, context)).1;
        assert_eq!(answers(&sent), [&Answer::Busy]);
    }
    assert_eq!(member.report(false).health, Health::Sound);
    store.waits = false;
    assert!(matches!(answers(&say(&mut member, &mut store, FRONT, request(1, &add)))[..], [Answer::Done { .. }]));
}

fn learn() -> Message {
    let (incarnation, range, keys, over) = (ME.incarnation, RANGE, Interval::ALL, Attempt(3));
    let consistency = crate::ids::Consistency::Chain;
    Message::Learn { incarnation, range, keys, source: SUCCESSOR, over, consistency }
}

#[test]
fn a_damaged_copy_is_copied_whole_once_others_have_the_range() {
    let entry = |seq| {
        let position = Position { epoch: Epoch(1), seq: Seq(seq) };
        Entry { position, time: 1, key: Vec::new(), change: Change::Nothing, asked: None }
    };
    let committed = Position { epoch: Epoch(1), seq: Seq(5) };
    let meta = Meta { committed, ..Meta::default() };
    let mut replica = Replica::new(RANGE, ME, recovered(meta, vec![entry(6), entry(7)]), &fawn_ring::Secret([1; 32]));
    replica.damage();
    let sent = say(&mut replica, &mut Plain::default(), Address::Manager, learn());
    assert!(
        sent.iter()
            .any(|message| matches!(message, Message::Copy { from: None, since, .. } if *since == Position::default())),
        "{sent:?}"
    );
    assert_eq!((replica.held(), replica.report(false).health), (None, Health::Sound));
}

#[test]
fn a_learner_asks_for_no_more_than_its_disk_takes() {
    let mut replica = Replica::new(RANGE, ME, recovered(Meta::default(), Vec::new()), &fawn_ring::Secret([1; 32]));
    replica.damage();
    let mut store = Plain { full: true, ..Plain::default() };
    assert!(say(&mut replica, &mut store, Address::Manager, learn()).is_empty());
    (store.full, store.us) = (false, store.timing.resend_us);
    let sent = step_with(&mut store, &mut replica, Replica::tick).1;
    assert!(matches!(sent[..], [Message::Copy { .. }]), "{sent:?}");
}
