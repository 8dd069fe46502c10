//! A scan, told by hand what members would answer.

use super::{Bookmark, Cut, Event, Limits, Scanner, What};
use crate::ids::{
    Address, Asker, Chain, Consistency, Epoch, Incarnation, Member, NodeId, Position, RangeId, RequestId, Rules, Seq,
};
use crate::range::entry::{Kept, Version};
use crate::range::meta::Alive;
use crate::scan::{Found, Sought};
use crate::timing::Now;
use crate::wire::Message;
use fawn_ring::{Interval, Key};

const ASKER: Asker = Asker { address: Address::Client(7), tag: 9 };

fn at(epoch: u32, seq: u64) -> Position {
    Position { epoch: Epoch(epoch), seq: Seq(seq) }
}

fn member(node: u64) -> Member {
    Member { node: NodeId(node), incarnation: Incarnation(1) }
}

fn keys(low: u64, high: u64) -> Interval {
    Interval::new(Key::lowest_with_prefix(low), Key::highest_with_prefix(high))
}

fn chain(keys: Interval, epoch: u32, members: &[u64]) -> Chain {
    let members = members.iter().map(|node| member(*node)).collect();
    Chain { epoch: Epoch(epoch), members, ..Chain::none(keys) }
}

fn kept(key: &str, position: Position) -> Kept {
    let version = Version { value: Vec::new(), flags: 0, expiry: 0, stale: false, won: false, client_cas: None };
    Kept { key: key.into(), position, version: Some(version) }
}

/// A scan, and what it has asked last.
struct Course {
    scanner: Scanner,
    now: Now,
    views: u64,
    asked: Option<(NodeId, RequestId, Interval, Position, Sought)>,
}

impl Course {
    fn begin(bookmark: Bookmark, chains: &[(u32, Chain)]) -> Self {
        let scanner = Scanner::new(ASKER, Limits::default(), bookmark);
        let mut course = Self { scanner, now: Now::at(1, 1), views: 0, asked: None };
        course.ask();
        course.learn(chains);
        course.ask();
        course
    }

    fn learn(&mut self, chains: &[(u32, Chain)]) {
        let chains = chains.iter().map(|(range, chain)| (RangeId(*range), chain.clone())).collect();
        let view = Message::View { since: self.views, number: self.views + 1, chains, wedges: Vec::new() };
        self.views += 1;
        self.scanner.receive(self.now, view);
    }

    /// Lets it ask.
    fn ask(&mut self) {
        let mut out = Vec::new();
        self.now.us = self.now.us.max(self.scanner.due_us().unwrap_or(0));
        self.scanner.tick(self.now, &mut out);
        for (to, message) in out {
            if let (Address::Node(node), Message::Scan { id, keys, least, sought, .. }) = (to, message) {
                self.asked = Some((node, id, keys, least, sought));
            }
        }
    }

    /// Whoever was asked answers; what comes of it.
    fn answer(&mut self, found: Found) -> Vec<What> {
        let (node, id, ..) = self.asked.take().expect("somebody was asked");
        self.scanner.receive(self.now, Message::Scanned { id, tag: ASKER.tag, from: member(node.0), found });
        let events = std::iter::from_fn(|| self.scanner.next_event()).map(|Event { what, .. }| what).collect();
        self.ask();
        events
    }

    fn sought(&self) -> (u64, Interval, Position, Sought) {
        let (node, _, keys, least, sought) = self.asked.expect("somebody was asked");
        (node.0, keys, least, sought)
    }
}

fn part(kept: Vec<Kept>, next: Option<u64>, at: Position, upto: Position) -> Found {
    Found::Part { kept, next: next.map(Key::lowest_with_prefix), at, upto }
}

fn records(kept: Vec<Kept>, upto: Position, is_end: bool) -> Found {
    Found::Records { kept, upto, ended: is_end.then(Box::default) }
}

fn all() -> Bookmark {
    Bookmark::new(Interval::ALL)
}

fn over(what: &[What]) -> Option<&Cut> {
    what.iter().find_map(|what| if let What::Over(cut) = what { Some(&**cut) } else { None })
}

#[test]
fn what_is_committed_meanwhile_comes_after_the_pass_and_the_end_is_no_older_than_anything_that_was_seen() {
    let mut course = Course::begin(all(), &[(1, chain(Interval::ALL, 1, &[1, 2, 3]))]);
    let first = Sought::Part { since: Position::default(), began: None };
    assert_eq!(course.sought(), (3, Interval::ALL, Position::default(), first), "the tail is asked first");
    let came = course.answer(part(vec![kept("a", at(1, 4))], Some(50), at(1, 10), at(1, 11)));
    assert_eq!(came, [What::Part(vec![kept("a", at(1, 4))])]);
    let (_, rest, least, sought) = course.sought();
    assert_eq!((rest.low, least), (Key::lowest_with_prefix(50), at(1, 11)));
    assert_eq!(sought, Sought::Part { since: Position::default(), began: Some(at(1, 10)) });
    course.answer(part(vec![kept("b", at(1, 14))], None, at(1, 12), at(1, 15)));
    assert_eq!(course.sought().3, Sought::Records { after: at(1, 10) });
    assert_eq!(over(&course.answer(records(vec![], at(1, 13), true))), None, "15 may have been seen");
    assert_eq!(course.sought().3, Sought::Records { after: at(1, 13) });
    let came = course.answer(records(vec![kept("a", at(1, 16))], at(1, 16), true));
    assert_eq!(came[0], What::Records(vec![kept("a", at(1, 16))]));
    let cut = over(&came).expect("it is over");
    assert_eq!((cut.keys, cut.range, cut.at, cut.passes), (Interval::ALL, RangeId(1), at(1, 16), 1));
    assert!(course.scanner.is_over() && course.scanner.due_us().is_none());
}

#[test]
fn where_records_are_no_longer_in_memory_another_pass_asks_for_what_is_new() {
    let mut course = Course::begin(all(), &[(1, chain(Interval::ALL, 1, &[1]))]);
    course.answer(part(vec![], None, at(1, 10), at(1, 10)));
    assert_eq!(course.answer(Found::TooOld), []);
    assert_eq!(course.sought().3, Sought::Part { since: at(1, 10), began: None });
    course.answer(part(vec![], None, at(1, 90), at(1, 90)));
    assert_eq!(course.sought().3, Sought::Records { after: at(1, 90) });
    assert_eq!(over(&course.answer(records(vec![], at(1, 90), true))).map(|cut| cut.passes), Some(2));
}

#[test]
fn what_cannot_be_brought_up_to_date_begins_anew() {
    let mut course = Course::begin(all(), &[(1, chain(Interval::ALL, 1, &[1]))]);
    course.answer(part(vec![], None, at(1, 10), at(1, 10)));
    course.answer(Found::TooOld);
    assert_eq!(course.answer(Found::TooOld), [What::Anew(Interval::ALL)]);
    let first = Sought::Part { since: Position::default(), began: None };
    assert_eq!(course.sought(), (1, Interval::ALL, Position::default(), first));
}

#[test]
fn of_a_range_that_is_split_each_part_goes_on_where_it_was_and_ends_by_itself() {
    let mut course = Course::begin(all(), &[(1, chain(Interval::ALL, 1, &[1]))]);
    course.answer(part(vec![], Some(70), at(1, 10), at(1, 10)));
    let (lower, upper) = Interval::ALL.cut(&Key::highest_with_prefix(49)).unwrap();
    course.learn(&[(2, chain(lower, 2, &[1])), (3, chain(upper, 2, &[2]))]);
    assert_eq!(course.answer(Found::NotMine), []);
    let (node, keys, _, sought) = course.sought();
    assert_eq!((node, keys, sought), (1, lower, Sought::Records { after: at(1, 10) }), "all of it had come");
    let came = course.answer(records(vec![], at(2, 12), true));
    assert_eq!(over(&came).map(|cut| (cut.keys, cut.at)), Some((lower, at(2, 12))));
    let (node, keys, _, sought) = course.sought();
    assert_eq!((node, keys.low, keys.high), (2, Key::lowest_with_prefix(70), Key::MAX));
    assert_eq!(sought, Sought::Part { since: Position::default(), began: Some(at(1, 10)) });
    course.answer(part(vec![], None, at(2, 30), at(2, 30)));
    let came = course.answer(records(vec![], at(2, 30), true));
    assert_eq!(over(&came).map(|cut| (cut.keys, cut.range)), Some((upper, RangeId(3))));
    assert!(course.scanner.is_over());
}

#[test]
fn a_stretch_goes_on_in_the_range_that_its_own_was_merged_into() {
    let (lower, upper) = Interval::ALL.cut(&Key::highest_with_prefix(49)).unwrap();
    let mut course = Course::begin(all(), &[(1, chain(lower, 1, &[1])), (2, chain(upper, 1, &[1]))]);
    course.answer(part(vec![], None, at(1, 10), at(1, 10)));
    course.learn(&[(3, chain(Interval::ALL, 2, &[2]))]);
    course.answer(Found::NotMine);
    assert_eq!(course.sought(), (2, lower, at(1, 10), Sought::Records { after: at(1, 10) }));
    assert_eq!(course.answer(Found::TooOld), []);
    assert_eq!(course.sought().3, Sought::Part { since: at(1, 10), began: None });
    course.answer(part(vec![], None, at(2, 40), at(2, 40)));
    let came = course.answer(records(vec![], at(2, 41), true));
    assert_eq!(over(&came).map(|cut| (cut.keys, cut.range, cut.at)), Some((lower, RangeId(3), at(2, 41))));
    assert_eq!(course.sought().1, upper, "the rest has a record of its own");
}

#[test]
fn another_member_is_asked_after_one_that_does_not_answer_once_something_was_seen() {
    let mut course = Course::begin(all(), &[(1, chain(Interval::ALL, 1, &[1, 2, 3]))]);
    course.ask();
    assert_eq!(course.sought().0, 3, "before, only the tail knows what was acknowledged");
    course.answer(part(vec![], Some(9), at(1, 10), at(1, 10)));
    let asked: Vec<u64> = (0..4).map(|_| (course.sought().0, course.ask()).0).collect();
    assert_eq!(asked, [3, 1, 2, 3]);
}

#[test]
fn a_bookmark_goes_on_elsewhere() {
    let chains = [(1, chain(Interval::ALL, 1, &[1, 2]))];
    let mut course = Course::begin(all(), &chains);
    let (node, id, ..) = course.asked.unwrap();
    let found = part(vec![kept("a", at(1, 4))], Some(50), at(1, 10), at(1, 11));
    course.scanner.receive(course.now, Message::Scanned { id, tag: ASKER.tag, from: member(node.0), found });
    let Event { bookmark, .. } = course.scanner.next_event().unwrap();
    let bytes = postcard::to_allocvec(&bookmark).unwrap();
    let other = Course::begin(postcard::from_bytes(&bytes).unwrap(), &chains);
    let (_, rest, least, sought) = other.sought();
    assert_eq!((rest.low, least), (Key::lowest_with_prefix(50), at(1, 11)));
    assert_eq!(sought, Sought::Part { since: Position::default(), began: Some(at(1, 10)) });
}

#[test]
fn in_a_weak_range_what_one_owner_has_shown_goes_with_nothing_of_anothers() {
    let weak = |members: &[u64], epoch| {
        let rules = Rules { consistency: Consistency::Weak, ..Rules::default() };
        Chain { rules, ..chain(Interval::ALL, epoch, members) }
    };
    let mut course = Course::begin(all(), &[(1, weak(&[1, 2], 1))]);
    assert_eq!(course.sought().0, 1, "the owner answers");
    course.answer(part(vec![], Some(9), at(1, 10), at(1, 10)));
    course.learn(&[(1, weak(&[2], 2))]);
    assert_eq!(course.answer(Found::NotMine), []);
    let is_anew = course.answer(part(vec![], None, at(2, 10), at(2, 10)));
    assert_eq!(is_anew, [What::Anew(Interval::ALL)]);
    assert_eq!(course.sought().2, Position::default());
}

#[test]
fn a_cut_says_what_was_there() {
    let mut alive = Alive::default();
    alive.time = 100;
    let cut = Cut { keys: keys(0, 9), range: RangeId(1), at: at(1, 9), passes: 1, alive };
    let lies = Key::lowest_with_prefix(5);
    let expiring = |expiry| {
        let mut kept = kept("k", at(1, 2));
        kept.version.as_mut().unwrap().expiry = expiry;
        cut.shows(&kept, &lies)
    };
    assert_eq!([0, 100, 101].map(expiring), [true, false, true]);
    assert!(!cut.shows(&Kept { version: None, ..kept("k", at(1, 2)) }, &lies));
}
