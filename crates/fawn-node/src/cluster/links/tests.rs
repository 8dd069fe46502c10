//! A seat's connections without the seat.

use super::*;
use crate::tests::harness::PATIENCE;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// Connections of seat 1, of which managers are there.
fn links(managers: &[&str], names: Names) -> Links {
    let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
    let seeds = Seeds::At(managers.iter().map(ToString::to_string).collect());
    let me = (SeatId(1), ClusterId([7; 16]), 1 << 20);
    Links::new(me, Roster::default(), (seeds, Arc::new(names)), Siblings::default(), None, epoll)
}

/// What the event loop does between two ticks.
fn turn(links: &mut Links, now_ms: u64) {
    let (mut room, at_once) = ([const { std::mem::MaybeUninit::uninit() }; 512], rustix::time::Timespec::default());
    let epoll = Arc::clone(&links.epoll);
    let (events, _) = epoll::wait(&*epoll, &mut room, Some(&at_once)).unwrap();
    for event in events {
        links.on_event(Token::from_u64(event.data.u64() & !WATCHED), event.flags, now_ms);
    }
    links.flush();
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
    let mut links = links(&["manager.example:7000"], Names::new(move |_| Ok(addresses.clone())));
    let (begun, mut now_ms) = (Instant::now(), 0);
    while manager.accept().is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody calls the second address");
        now_ms += 100;
        links.tick(now_ms);
        turn(&mut links, now_ms);
        std::thread::sleep(Duration::from_millis(1));
    }
}
