//! Callers that the leader answers by way of another manager.

use crate::caller::{Caller, LONG, Seat, greeting};
use crate::three::Group;
use fawn_kv::ids::{ManagerId, SeatId};
use fawn_kv::link::{Control, Frame, Frames, Greeting, Party, Proxied};
use fawn_kv::status::{Answer, Question};
use fawn_manager::Operator;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Calls the leader by way of the manager at an address.
fn call(address: &str, leader: ManagerId, from: Party) -> Result<Caller, String> {
    let greeting = Greeting { to: Some(Party::Manager(leader)), ..greeting(from) };
    Caller::call(TcpStream::connect(address).unwrap(), greeting)
}

#[test]
fn a_member_joins_and_has_leases_by_way_of_a_manager_that_does_not_lead() {
    let group = Group::start(3, 3, 1000);
    let leader = group.status().leader;
    let ways = (0..3).filter(|place| *place != group.leader());
    let ways: Vec<&str> = ways.map(|place| group.addresses[place].as_str()).collect();
    let mut seat = Seat::join(|party| call(ways[0], leader, party).unwrap(), "a", 1);
    assert_eq!(seat.link.greeted.as_ref().unwrap().from, Party::Manager(leader), "the leader has answered");
    let member = seat.live(7);
    seat.lease(member.incarnation);
    seat.link.say(&Control::Ping { number: 9 });
    seat.link.wait(|frame| matches!(frame, Frame::Control(Control::Pong { number: 9 })).then_some(()));
    // By another way, and then by its own link: what is said there counts from then on, and the one before is over.
    let (own, party) = (&group.addresses[group.leader()], Party::Seat(seat.id));
    let calls: [&dyn Fn() -> Caller; 2] = [&|| call(ways[1], leader, party).unwrap(), &|| Caller::dial(own, party)];
    for call in calls {
        let mut before = std::mem::replace(&mut seat.link, call());
        seat.lease(member.incarnation);
        before.wait_for_end();
    }
    // Nobody has that seat.
    assert!(call(ways[0], leader, Party::Seat(SeatId(9))).is_err());
    let mut operator = call(ways[0], leader, Party::Operator).unwrap();
    assert_eq!(operator.status().leader, leader);
}

#[test]
fn a_manager_passes_on_to_nobody_but_the_leader() {
    let group = Group::start(3, 3, 1000);
    let leader = group.leader();
    let id = |place: usize| group.running[place].as_ref().unwrap().id();
    let [first, second] = [(leader + 1) % 3, (leader + 2) % 3];
    let why = call(&group.addresses[first], id(second), Party::Operator).err().expect("it does not lead");
    assert!(why.contains("but this is manager"), "{why}");
    let why =
        call(&group.addresses[first], id(leader), Party::Manager(id(second))).err().expect("managers call themselves");
    assert!(why.contains("but this is manager"), "{why}");
    // Nor does anybody but a manager speak for others.
    let mut operator = Caller::dial(&group.addresses[leader], Party::Operator);
    let proxied = Proxied { greeting: greeting(Party::Newcomer), roles: None, host: None };
    operator.say(&Control::Proxied(proxied));
    operator.wait_for_end();
}

/// Passes on to `to` what managers say to each other, and answers nobody else.
fn deaf_to_others(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for caller in listener.incoming() {
            let (mut caller, to) = (caller.unwrap(), to.clone());
            thread::spawn(move || {
                let (mut said, mut buffer) = (Vec::new(), [0; 8192]);
                let greeting = loop {
                    let count = caller.read(&mut buffer).unwrap_or(0);
                    said.extend_from_slice(&buffer[..count]);
                    match Frames::default().next(&said).unwrap() {
                        Ok((Frame::Control(Control::Greeting(greeting)), _)) => break greeting,
                        _ if count == 0 => return,
                        _ => {}
                    }
                };
                if !matches!(greeting.from, Party::Manager(_)) {
                    return while caller.read(&mut buffer).is_ok_and(|count| count > 0) {};
                }
                let mut manager = TcpStream::connect(to).unwrap();
                manager.write_all(&said).unwrap();
                let (mut back, mut from) = (caller.try_clone().unwrap(), manager.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut from, &mut back));
                let _ = std::io::copy(&mut caller, &mut manager);
            });
        }
    });
    address
}

#[test]
fn an_operator_that_does_not_reach_the_leader_is_answered_by_way_of_another_manager() {
    // All are reached where nobody but managers is answered; the operator knows where two of them listen.
    let group = Group::start_behind(3, 3, 1000, |address| Some(deaf_to_others(address.to_owned())));
    let leader = group.leader();
    let others: Vec<String> =
        (0..3).filter(|place| *place != leader).map(|place| group.addresses[place].clone()).collect();
    let operator = Operator::new(others, None, LONG);
    let Answer::Status(status) = operator.ask(&Question::Status).unwrap() else { panic!("no status") };
    assert_eq!(status.leader, group.running[leader].as_ref().unwrap().id());
}
