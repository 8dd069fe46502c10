//! Three seats and the links between them.

use super::*;
use crate::ids::{Asker, FrontId, NodeId, RangeId, RequestId, WedgeEpoch};
use crate::wire::Answer;
use std::collections::VecDeque;

fn front(seat: usize) -> Address {
    Address::Front(FrontId(seat as u32))
}

fn node(seat: usize) -> Address {
    Address::Node(NodeId(seat as u64))
}

fn seat_of(address: Address) -> usize {
    match address {
        Address::Node(NodeId(number)) => number as usize,
        Address::Front(FrontId(number)) => number as usize,
        other => panic!("{other:?} is no seat"),
    }
}

/// Seats that have a front-end and a node each.
struct Bench {
    relays: Vec<Relay>,
    /// Who does not reach whom.
    cut: Vec<(usize, usize)>,
    now_us: u64,
    /// Messages over links, and what came to whom it was meant for.
    messages: usize,
    came: Vec<RoutedMessage>,
}

impl Bench {
    fn new() -> Self {
        let relay = |seat| {
            let mut relay = Relay::new(front(seat), &Timing::default());
            relay.switch(true);
            relay.set_helpers((0..3).filter(|other| *other != seat).map(front).collect());
            relay
        };
        let relays = (0..3).map(relay).collect();
        Self { relays, cut: Vec::new(), now_us: 1_000_000, messages: 0, came: Vec::new() }
    }

    /// Carries what a seat sends, and all that comes of it.
    fn carry(&mut self, seat: usize, out: Vec<RoutedMessage>) {
        let mut way: VecDeque<(usize, RoutedMessage)> = out.into_iter().map(|sent| (seat, sent)).collect();
        while let Some((from, sent)) = way.pop_front() {
            self.messages += 1;
            let to = seat_of(sent.0);
            if self.cut.contains(&(from, to)) {
                continue;
            }
            let mut out = Vec::new();
            self.came.extend(self.relays[to].receive(self.now_us, sent, &mut out));
            way.extend(out.into_iter().map(|sent| (to, sent)));
        }
    }

    fn pass(&mut self, us: u64) {
        let end_us = self.now_us + us;
        while self.now_us < end_us {
            self.now_us += 10_000;
            for seat in 0..3 {
                let mut out = Vec::new();
                self.relays[seat].tick(self.now_us, &mut out);
                self.carry(seat, out);
            }
        }
    }

    /// Says something; over how many links it came, if it did.
    fn say(&mut self, from: Address, to: Address, message: &Message) -> Option<usize> {
        self.messages = 0;
        let seat = seat_of(from);
        let (by, said) = self.relays[seat].detour(self.now_us, (to, from), message).unwrap_or((to, message.clone()));
        self.carry(seat, vec![(by, from, said)]);
        let came = std::mem::take(&mut self.came);
        assert!(came.is_empty() || came == [(to, from, message.clone())], "once, and as it was said: {came:?}");
        (!came.is_empty()).then_some(self.messages)
    }
}

const ID: RequestId = RequestId { session: 7, number: 1 };

fn get(from: usize) -> Message {
    let asker = Asker { address: front(from), tag: 3 };
    let (range, wedge, key) = (RangeId(1), WedgeEpoch(1), b"k".to_vec());
    Message::Get { range, id: ID, asker, wedge, key, place: None, continuation: None }
}

fn reply() -> Message {
    Message::Reply { id: ID, tag: 3, continuation: None, until: 0, answer: Answer::Found(None) }
}

#[test]
fn what_a_broken_link_does_not_carry_goes_by_way_of_a_third_seat_and_so_does_the_answer() {
    for cut in [&[(0, 1)][..], &[(1, 0)], &[(0, 1), (1, 0)]] {
        let mut bench = Bench::new();
        assert_eq!(bench.say(front(0), node(1), &get(0)), Some(1));
        bench.cut = cut.to_vec();
        let mut lost_us = 0;
        while bench.say(front(0), node(1), &get(0)) != Some(2) {
            bench.pass(50_000);
            lost_us += 50_000;
            assert!(lost_us <= 1_000_000, "{cut:?}");
        }
        // Whoever has said nothing yet answers by the same way.
        assert_eq!(bench.say(node(1), front(0), &reply()), Some(2), "{cut:?}");
        bench.pass(500_000);
        assert_eq!(bench.say(front(0), node(1), &get(0)), Some(2));
        bench.cut.clear();
        bench.pass(500_000);
        assert_eq!(bench.say(front(0), node(1), &get(0)), Some(1), "the link is mended");
        assert_eq!(bench.say(node(1), front(0), &reply()), Some(1));
    }
}

#[test]
fn nothing_goes_by_way_of_others_to_one_that_nobody_reaches() {
    let mut bench = Bench::new();
    bench.cut = vec![(0, 1), (1, 0), (2, 1), (1, 2)];
    for _ in 0..20 {
        assert_eq!(bench.say(front(0), node(1), &get(0)), None);
        assert_eq!(bench.messages, 1, "it is sent over the link");
        bench.pass(100_000);
    }
    // Once nobody wants to say anything to it, nobody looks for it.
    bench.pass(Timing::default().broken_us + 1_000_000);
    bench.messages = 0;
    bench.pass(1_000_000);
    assert!(bench.messages < 30, "{} messages: each seat looks whether anybody answers", bench.messages);
}

#[test]
fn a_message_goes_by_way_of_one_seat_and_no_further_and_only_if_its_sender_may_say_it() {
    let mut relay = Relay::new(front(2), &Timing::default());
    relay.switch(true);
    let relayed = |from, to, message: &Message| Message::Relayed { to, from, message: message.encode() };
    let mut receive = |from, message| {
        let mut out = Vec::new();
        let came = relay.receive(1_000_000, (front(2), from, message), &mut out);
        (came, out.len())
    };
    assert_eq!(receive(front(0), relayed(front(0), node(1), &get(0))), (None, 1), "it is passed on");
    assert_eq!(receive(front(1), relayed(front(0), node(1), &get(0))), (None, 0), "that was passed on already");
    assert_eq!(
        receive(front(0), relayed(front(0), Address::Client(1), &reply())),
        (None, 0),
        "clients are of one seat"
    );
    assert_eq!(receive(front(1), relayed(node(0), front(2), &reply())), (Some((front(2), node(0), reply())), 0));
    assert!(receive(front(1), relayed(node(0), front(2), &get(0))).0.is_some(), "members pass gets on");
    assert_eq!(receive(front(1), relayed(front(0), front(2), &get(3))), (None, 0), "it asks for another");
    assert_eq!(receive(front(1), relayed(Address::Manager, front(2), &reply())), (None, 0), "managers are not relayed");
    let nested = relayed(front(0), front(2), &relayed(front(0), front(2), &reply()));
    assert_eq!(receive(front(1), nested), (None, 0));
    let broken = Message::Relayed { to: front(2), from: front(0), message: vec![3, 99] };
    assert_eq!(receive(front(1), broken), (None, 0));
}

#[test]
fn nothing_is_probed_or_relayed_before_everybody_knows_of_it() {
    let mut bench = Bench::new();
    for relay in &mut bench.relays {
        relay.switch(false);
    }
    bench.cut = vec![(0, 1)];
    for _ in 0..10 {
        assert_eq!(bench.say(front(0), node(1), &get(0)), None);
        bench.messages = 0;
        bench.pass(200_000);
        assert_eq!(bench.messages, 0);
    }
}

#[test]
fn a_seat_without_traffic_finds_out_that_nobody_answers_and_that_somebody_does_again() {
    for cut in [vec![(1, 0), (1, 2)], vec![(0, 1), (2, 1)], vec![(1, 0), (2, 1)]] {
        let mut bench = Bench::new();
        bench.pass(5_000_000);
        let cut_off = |bench: &Bench| [0, 1, 2].map(|seat: usize| bench.relays[seat].is_cut_off(bench.now_us));
        assert_eq!(cut_off(&bench), [false; 3]);
        bench.messages = 0;
        bench.pass(10_000_000);
        assert!(bench.messages < 200, "{} messages of seats with nothing to say, in 10 s", bench.messages);
        bench.cut = cut.clone();
        bench.pass(2_000_000);
        assert_eq!(cut_off(&bench), [false, true, false], "{cut:?}");
        bench.cut.clear();
        bench.pass(1_000_000);
        assert_eq!(cut_off(&bench), [false; 3]);
    }
}

#[test]
fn a_seat_that_did_not_run_is_not_cut_off_and_who_is_in_the_seat_itself_is_no_other_member() {
    let mut bench = Bench::new();
    bench.pass(5_000_000);
    // Nobody runs meanwhile, and then all do.
    bench.now_us += 5_000_000;
    bench.relays[1].tick(bench.now_us, &mut Vec::new());
    assert!(!bench.relays[1].is_cut_off(bench.now_us));
    bench.cut = vec![(1, 0), (1, 2)];
    for _ in 0..20 {
        bench.pass(100_000);
        let echo = Message::Echo { number: bench.now_us };
        assert_eq!(bench.relays[1].receive(bench.now_us, (front(1), node(1), echo), &mut Vec::new()), None);
    }
    assert!(bench.relays[1].is_cut_off(bench.now_us));
}
