//! A seat's connections without the seat.

use super::*;
use crate::shard::backend::WATCHED;
use crate::tests::harness::PATIENCE;
use fawn_kv::ids::{ClusterId, ManagerId};
use fawn_kv::manager::roster::{Change, Roster};
use fawn_kv::wire::version::VersionRange;
use rustix::event::epoll;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The links of seat 1, and the epoll set that watches them.
struct Fixture {
    links: ClusterLinks,
    epoll: Arc<OwnedFd>,
}

/// The cluster of all tests.
const CLUSTER: ClusterId = ClusterId([7; 16]);

/// Seat 1, of which managers are there, as it was started and by the roster.
fn fixture(seeds: &[&str], managers: &[(u64, String)], names: Names) -> Fixture {
    let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
    let mut roster = Roster::default();
    for (id, address) in managers {
        roster.apply(&Change::Manager { id: ManagerId(*id), address: Some(address.clone()) });
    }
    let links = ClusterLinks::new(ClusterLinksParts {
        membership: Membership::new(SeatId(1), CLUSTER, roster, None),
        seeds: seeds.iter().map(ToString::to_string).collect(),
        names: Arc::new(names),
        local_peers: LocalPeers::default(),
        epoll: Arc::clone(&epoll),
        most_value_bytes: 1 << 20,
    });
    Fixture { links, epoll }
}

impl Fixture {
    /// What the event loop does between two ticks.
    fn turn(&mut self, now_ms: u64) {
        let (mut room, at_once) = ([const { std::mem::MaybeUninit::uninit() }; 512], rustix::time::Timespec::default());
        let (events, _) = epoll::wait(&*self.epoll, &mut room, Some(&at_once)).unwrap();
        for event in events {
            self.links.on_event(Token::from_u64(event.data.u64() & !WATCHED), event.flags, now_ms);
        }
        self.links.flush();
    }

    /// A tick, and the turn after it.
    fn tick(&mut self, now_ms: u64) {
        self.links.tick(now_ms);
        self.turn(now_ms);
    }
}

/// Somebody calls from a host and says nothing; the other end.
fn call(fixture: &mut Fixture, host: [u8; 4], now_ms: u64) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let link = PeerLink::new(ours.into(), LinkState::Called, None, Lane::Chain, now_ms);
    fixture.links.accept(link.from(Some(IpAddr::from(host))));
    theirs
}

/// Whether the seat has hung up.
fn is_over(mut caller: &UnixStream) -> bool {
    match caller.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

#[test]
fn a_manager_is_called_at_every_address_of_its_name() {
    // A port that is taken, and where nobody listens.
    let deaf = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&deaf, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let deaf_at = SocketAddr::try_from(getsockname(&deaf).unwrap()).unwrap();
    let manager = TcpListener::bind("127.0.0.1:0").unwrap();
    manager.set_nonblocking(true).unwrap();
    let addresses = vec![deaf_at, manager.local_addr().unwrap()];
    let mut fixture = fixture(&["manager.example:7000"], &[], Names::new(move |_| Ok(addresses.clone())));
    let (begun, mut now_ms) = (Instant::now(), 0);
    while manager.accept().is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody calls the second address");
        now_ms += 100;
        fixture.tick(now_ms);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn managers_that_were_named_at_the_start_are_called_once_those_of_the_roster_are_gone() {
    let manager = TcpListener::bind("127.0.0.1:0").unwrap();
    manager.set_nonblocking(true).unwrap();
    // A port that is taken, and where nobody listens.
    let deaf = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&deaf, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let was = SocketAddr::try_from(getsockname(&deaf).unwrap()).unwrap().to_string();
    let seed = manager.local_addr().unwrap().to_string();
    let mut fixture = fixture(&[&seed], &[(1, was.clone())], Names::default());
    let (begun, mut now_ms) = (Instant::now(), 100);
    fixture.tick(now_ms);
    assert_eq!(manager.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "the roster knows better");
    assert_eq!(fixture.links.manager_addresses(), std::slice::from_ref(&was));
    while manager.accept().is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody calls the manager that was named");
        now_ms += 100;
        fixture.tick(now_ms);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(fixture.links.manager_addresses(), [was, seed]);
}

#[test]
fn strangers_who_say_nothing_keep_nobody_out() {
    let mut fixture = fixture(&[], &[], Names::default());
    let idle: Vec<_> = (0..STRANGERS as u64).map(|at| call(&mut fixture, [10, 0, 0, 9], at)).collect();
    assert!(!idle.iter().any(is_over));
    let mut client = call(&mut fixture, [10, 0, 0, 1], 2000);
    assert!(is_over(&idle[0]), "it has waited longest");
    assert!(!idle[1..].iter().any(is_over));
    client.write_all(&greeting_of_a_client()).unwrap();
    fixture.turn(2000);
    let answer = heard(&mut client);
    assert!(matches!(answer, Frame::Control(Control::Greeted(_))), "{answer:?}");
}

fn greeting_of_a_client() -> Vec<u8> {
    let (mut greeting, from) = (Vec::new(), Party::Client(0));
    let VersionRange { oldest: lowest, newest: highest } = VersionRange::OWN;
    let (magic, lane, cluster) = (fawn_kv::link::control::MAGIC, Lane::Client, Some(CLUSTER));
    let control = Control::Greeting(Greeting { magic, lowest, highest, cluster, from, to: None, lane });
    frame::put_control(&mut greeting, &control);
    greeting
}

/// The one frame that waits for somebody.
fn heard(client: &mut UnixStream) -> Frame {
    let mut bytes = [0; 1024];
    let count = client.read(&mut bytes).unwrap();
    let (frame, used) = fawn_kv::link::Frames::default().next(&bytes[..count]).unwrap().unwrap();
    assert_eq!(used, count);
    frame
}

/// Has the seat receive these bytes of a client; how many bytes of a part it held at most.
fn send(fixture: &mut Fixture, client: &mut UnixStream, mut bytes: &[u8], now_ms: u64) -> usize {
    let mut held = 0;
    while !bytes.is_empty() {
        match client.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        fixture.turn(now_ms);
        let parts = fixture.links.peers.links().iter().map(|(_, link)| link.part_bytes());
        held = held.max(parts.max().unwrap_or_default());
    }
    held
}

#[test]
fn a_write_that_is_too_long_is_refused_by_its_name_and_what_comes_after_it_is_read() {
    let mut fixture = fixture(&[], &[], Names::default());
    let mut client = call(&mut fixture, [10, 0, 0, 1], 0);
    send(&mut fixture, &mut client, &greeting_of_a_client(), 0);
    let Frame::Control(Control::Greeted(Greeted { you: Party::Client(me), .. })) = heard(&mut client) else {
        panic!("it is no client")
    };
    let (me, front) = (Address::Client(me), SeatId(1).front());
    let asker = fawn_kv::ids::Asker { address: me, tag: 5 };
    let ask = |number, bytes: usize| {
        let id = fawn_kv::ids::RequestId { session: 9, number };
        let mut frame = Vec::new();
        let message = Message::ask(id, Some(0), asker, b"k".to_vec(), Some(vec![0; bytes]));
        frame::put_message(&mut frame, front, me, &message);
        (frame, id, message)
    };
    let (long, id, _) = ask(1, 50 << 20);
    let (short, _, message) = ask(2, 10);
    let held = send(&mut fixture, &mut client, &[long, short].concat(), 1);
    assert!(held < 128 << 10, "{held} bytes of a value that is not taken");
    let (continuation, answer) = (None, Answer::TooLarge);
    let reply = Message::Reply { id, tag: 5, continuation, until: 0, answer };
    assert_eq!(heard(&mut client), Frame::Message { to: me, from: front, message: reply });
    let input = fixture.links.input.pop_front();
    assert!(matches!(input, Some(LinkInput::Message(_, _, after, _)) if after == message));
    assert!(fixture.links.input.is_empty() && !is_over(&client));

    // For another seat: nobody answers for that one.
    let mut astray = Vec::new();
    let id = fawn_kv::ids::RequestId { session: 9, number: 3 };
    let message = Message::ask(id, Some(0), asker, b"k".to_vec(), Some(vec![0; 2 << 20]));
    frame::put_message(&mut astray, SeatId(2).front(), me, &message);
    send(&mut fixture, &mut client, &astray, 2);
    assert!(!is_over(&client), "it is dropped, as a short one is");

    let (long, ..) = ask(4, 2 << 20);
    send(&mut fixture, &mut client, &long[..1 << 20], 1000);
    fixture.tick(31_001);
    assert!(is_over(&client), "it has not come whole in time");
}

#[test]
fn a_frame_of_absurd_length_ends_the_connection() {
    let mut fixture = fixture(&[], &[], Names::default());
    let mut client = call(&mut fixture, [10, 0, 0, 1], 0);
    send(&mut fixture, &mut client, &greeting_of_a_client(), 0);
    heard(&mut client);
    let header = (frame::MOST_BYTES as u32 + 1).to_le_bytes();
    send(&mut fixture, &mut client, &[&header[..], &[0; 4]].concat(), 1);
    assert!(is_over(&client));
}

#[test]
fn the_stranger_that_goes_is_of_the_host_that_most_are_from() {
    let mut fixture = fixture(&[], &[], Names::default());
    let member = call(&mut fixture, [10, 0, 0, 1], 0);
    let idle: Vec<_> = (1..=2 * STRANGERS as u64).map(|at| call(&mut fixture, [10, 0, 0, 9], at)).collect();
    assert!(!is_over(&member), "others have called, all of one host");
    let (over, left) = idle.split_at(idle.len() - (STRANGERS - 1));
    assert!(over.iter().all(is_over) && !left.iter().any(is_over), "those of the host go in their order");
}

/// A manager that answers greetings and says that manager 1 leads, and to which manager each caller wants to speak.
fn manager_that_follows() -> (String, std::sync::mpsc::Receiver<Option<Party>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (wanted, wants) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut callers = Vec::new();
        for caller in listener.incoming() {
            let (mut caller, mut said, mut buffer) = (caller.unwrap(), Vec::new(), [0; 4096]);
            let to = loop {
                let count = caller.read(&mut buffer).unwrap();
                said.extend_from_slice(&buffer[..count]);
                if let Ok((Frame::Control(Control::Greeting(greeting)), _)) =
                    fawn_kv::link::Frames::default().next(&said).unwrap()
                {
                    break greeting.to;
                }
            };
            let from = to.unwrap_or(Party::Manager(ManagerId(2)));
            let you = Party::Seat(SeatId(1));
            let mut answer = Vec::new();
            let greeted = Greeted { version: fawn_kv::wire::version::PROXIES, cluster: None, from, you };
            frame::put_control(&mut answer, &Control::Greeted(greeted));
            frame::put_control(&mut answer, &Control::Leads { term: 1, leader: Some(ManagerId(1)) });
            caller.write_all(&answer).unwrap();
            callers.push(caller);
            if wanted.send(to).is_err() {
                return;
            }
        }
    });
    (address, wants)
}

#[test]
fn a_leader_that_does_not_answer_is_called_by_way_of_another_manager() {
    // It takes connections, and says nothing.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let (follower, wants) = manager_that_follows();
    let managers = [(1, deaf.local_addr().unwrap().to_string()), (2, follower)];
    let mut fixture = fixture(&[], &managers, Names::default());
    let leader = Party::Manager(ManagerId(1));
    let (begun, mut now_ms) = (Instant::now(), 1000);
    let mut calls = Vec::new();
    // By way of the other one, and again: over that way nobody answers pings either.
    while calls.iter().filter(|to| **to == Some(leader)).count() < 2 {
        assert!(begun.elapsed() < PATIENCE, "the other manager was called for {calls:?}");
        now_ms += 20;
        fixture.tick(now_ms);
        calls.extend(wants.try_iter());
        std::thread::sleep(Duration::from_millis(2));
        if calls.contains(&Some(leader)) && fixture.links.has_leader() {
            let token = fixture.links.leader_link().unwrap();
            assert!(fixture.links.peers.calls().is_proxied(token) && fixture.links.managers() == 2);
        }
    }
    assert_eq!(calls[0], None, "it is called for itself first");
}
