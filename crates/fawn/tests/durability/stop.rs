//! A clean stop loses nothing in any mode.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::server::Server;

#[test]
fn clean_stop_loses_nothing_whatever_the_acknowledgement() {
    for ack in ["durable", "interval:60000", "memory"] {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..3 {
            let arguments = ["--memory", "64M", "--ack", ack];
            let mut server = Server::start(Command::new(env!("CARGO_BIN_EXE_fawn")), dir.path(), &arguments);
            let mut client = server.connect();
            for before in 0..round {
                let found = client.gets(&format!("key-{before}")).map(|(value, _)| value);
                assert_eq!(found.as_deref(), Some(&b"value"[..]), "round {before} with --ack {ack}");
            }
            client.send(format!("set key-{round} 0 0 5\r\nvalue\r\n").as_bytes()).unwrap();
            assert_eq!(client.line().as_deref(), Some("STORED"));
            Command::new("kill").arg("-TERM").arg(server.child.id().to_string()).status().unwrap();
            assert!(server.child.wait().unwrap().success(), "a clean stop exits with 0");
        }
    }
}

fn signal(server: &Server, name: &str) {
    assert!(Command::new("kill").arg(name).arg(server.child.id().to_string()).status().unwrap().success());
}

#[test]
fn a_signal_that_comes_twice_is_a_clean_stop_too() {
    let dir = tempfile::tempdir().unwrap();
    let start =
        || Server::start(Command::new(env!("CARGO_BIN_EXE_fawn")), dir.path(), &["--memory", "64M", "--ack", "memory"]);
    let mut server = start();
    let mut client = server.connect();
    let value = "v".repeat(1 << 19);
    client.send(format!("set key 0 0 {}\r\n{value}\r\n", value.len()).as_bytes()).unwrap();
    assert_eq!(client.line().as_deref(), Some("STORED"));
    // Two of a kind would merge while the first is pending.
    for name in ["-TERM", "-INT", "-TERM"] {
        signal(&server, name);
    }
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert_eq!(start().connect().gets("key").map(|(value, _)| value.len()), Some(value.len()));
}

#[test]
fn a_signal_some_seconds_after_the_first_stops_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(Command::new(env!("CARGO_BIN_EXE_fawn")), dir.path(), &["--memory", "64M"]);
    let mut client = server.connect();
    let value = "v".repeat(1 << 19);
    client.send(format!("set key 0 0 {}\r\n{value}\r\n", value.len()).as_bytes()).unwrap();
    assert_eq!(client.line().as_deref(), Some("STORED"));
    // Answers that the client does not take keep the server from stopping for ten seconds.
    client.send("get key\r\n".repeat(64).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    signal(&server, "-TERM");
    std::thread::sleep(Duration::from_millis(5500));
    assert_eq!(server.child.try_wait().unwrap(), None, "the server waits for its client");
    signal(&server, "-TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(143));
    assert!(start.elapsed() < Duration::from_secs(9), "it stopped at once");
}
