//! Elections over slow links.

use crate::three::Group;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long each byte is on its way.
const DELAY: Duration = Duration::from_millis(40);

/// Passes on what one side sends, a while later.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let (queue, delayed) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, bytes) in delayed {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
    thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if queue.send((Instant::now() + DELAY, buffer[..count].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// An address at which whoever listens at `to` is reached over a slow link.
fn behind_slow_link(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for caller in listener.incoming() {
            let caller = caller.unwrap();
            // A manager that has stopped refuses, and so the caller finds its link closed.
            let Ok(manager) = TcpStream::connect(&to) else { continue };
            for stream in [&caller, &manager] {
                stream.set_nodelay(true).unwrap();
            }
            pass_on(caller.try_clone().unwrap(), manager.try_clone().unwrap());
            pass_on(manager, caller);
        }
    });
    address
}

#[test]
fn two_that_stand_at_the_same_moment_do_not_do_so_again_and_again() {
    // In about half of all groups the two that are left have election timeouts that end in the same tick of the library.
    let groups: Vec<_> = (0..6)
        .map(|_| {
            thread::spawn(|| {
                let mut group = Group::start_behind(3, 3, 1000, |address| Some(behind_slow_link(address.to_owned())));
                let leader = group.leader();
                group.stop(leader);
                // It fails if no leader is found in time.
                assert_eq!(group.status().managers.len(), 3);
            })
        })
        .collect();
    for group in groups {
        group.join().unwrap();
    }
}
