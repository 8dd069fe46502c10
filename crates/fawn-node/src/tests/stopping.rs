//! Stopping: on request, and because a store failed.

use super::harness::{Node, eventually, hit, set};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn a_stop_finishes_what_was_received_and_stops_the_stores() {
    let node = Node::start(3, 2, |_| {});
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    let knobs = std::sync::Arc::clone(&node.knobs);
    let mut clients: Vec<_> = (0..9).map(|_| node.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.say(format!("{}get k{n}\r\nget cold{n}\r\n", set(&format!("k{n}"), "v")));
    }
    let idle = node.client();
    // A gated get leaves no task; the cold ones do.
    std::thread::sleep(Duration::from_millis(100));
    let address = node.address().to_owned();
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| node.stop());
        eventually(|| std::net::TcpStream::connect(&address).is_err(), "a closed port");
        assert!(!stopped.is_finished(), "answers are owed");
        knobs.set(|knobs| &knobs.reads_held, false);
        knobs.set(|knobs| &knobs.commits_held, false);
        stopped.join().unwrap().unwrap();
    });
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.rest(), format!("STORED\r\n{}END\r\nEND\r\n", hit(&format!("k{n}"), "v")));
    }
    let mut idle = idle;
    assert_eq!(idle.rest(), "");
    assert_eq!(knobs.stopped.load(Ordering::SeqCst), 6);
}

#[test]
fn a_stop_does_not_wait_for_ever_for_a_client_that_reads_nothing() {
    let node = Node::start(1, 1, |options| options.limits.stop_timeout = Duration::from_millis(300));
    let mut client = node.client();
    client.ask(set("big", &"x".repeat(900_000)), "STORED\r\n");
    client.say("get big\r\n".repeat(30));
    std::thread::sleep(Duration::from_millis(50));
    node.stop().unwrap();
}

#[test]
fn a_store_that_stops_refuses_puts_and_ends_the_node_with_an_error() {
    let node = Node::simple();
    node.knobs.set(|knobs| &knobs.durable, true);
    let mut client = node.client();
    client.ask(set("a", "1"), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.commits_held, true);
    client.say(format!("{0}{0}get a\r\nmd a q\r\n", set("a", "2")));
    client.expect_silence();
    let mut reader = node.client();
    node.knobs.fail_commit.store(true, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    let stopped = format!("{}\r\n", crate::operate::STOPPED);
    assert_eq!(client.rest(), stopped.repeat(3));
    // What was never durable is not shown to anyone, and the connection is told to go, not left waiting.
    reader.0.write_all(b"get a\r\n").ok();
    assert!(!reader.rest().contains("VALUE"));
    let error = node.wait().unwrap_err().to_string();
    assert!(error.starts_with("told to fail; the node has stopped"), "{error}");
}
