//! Stopping: on request, and because a store failed.

use super::harness::{Node, error_line, eventually, hit, key_of, set};
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
    let stopped = error_line(crate::request::STOPPED);
    assert_eq!(client.rest(), stopped.repeat(3));
    // What was never durable is not shown to anyone, and the connection is told to go, not left waiting.
    reader.0.write_all(b"get a\r\n").ok();
    assert!(!reader.rest().contains("VALUE"));
    let error = node.wait().unwrap_err().to_string();
    assert!(error.starts_with("told to fail; the node has stopped"), "{error}");
}

#[test]
fn stores_that_stop_together_all_tell_those_who_wait() {
    let node = Node::start(1, 4, |_| {});
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    let mut clients: Vec<_> = (0..40).map(|_| node.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.say(set(&format!("k{n}"), "v"));
    }
    eventually(|| node.stat("cmd_set") == 40, "all puts");
    node.knobs.fail_commit.store(true, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    for client in &mut clients {
        assert_eq!(client.rest(), error_line(crate::request::STOPPED));
    }
    assert!(node.wait().is_err());
}

#[test]
fn what_waits_for_an_index_when_its_store_stops_is_told_so() {
    let node = Node::simple();
    node.knobs.set(|knobs| &knobs.loading, true);
    let mut client = node.client();
    client.say("get a\r\nincr b 1\r\nmn\r\n");
    node.await_stat("fawn_waiting", 2);
    node.knobs.set(|knobs| &knobs.stop, true);
    assert_eq!(client.rest(), format!("{0}{0}MN\r\n", error_line(crate::request::STOPPED)));
    assert!(node.wait().unwrap_err().to_string().contains("told to stop"));
}

#[test]
fn reads_that_fail_for_good_end_those_who_wait_and_the_node() {
    let node = Node::start(1, 1, |options| options.limits.stop_timeout = Duration::from_mins(10));
    node.knobs.large_from.store(1000, Ordering::SeqCst);
    let mut client = node.client();
    client.ask(set("cold", "1") + &set("big", &"x".repeat(5000)), "STORED\r\nSTORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    client.say("get cold\r\nincr cold 1\r\nincr cold 1\r\nget big\r\n");
    node.await_stat("fawn_waiting", 4);
    node.knobs.reads_fail.store(true, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    assert_eq!(client.rest(), error_line(crate::request::UNREADABLE).repeat(4));
    let error = node.wait().unwrap_err().to_string();
    assert!(error.starts_with("reads no longer complete: told to fail"), "{error}");
}

#[test]
fn reads_that_never_come_back_do_not_keep_a_node_from_stopping() {
    for loops in [1, 2] {
        let node = Node::start(loops, 1, |options| options.limits.stop_timeout = Duration::from_millis(300));
        node.knobs.set(|knobs| &knobs.cold, true);
        node.knobs.set(|knobs| &knobs.reads_held, true);
        let mut client = node.client();
        client.say(format!("get {}\r\n", key_of("cold", loops - 1, loops)));
        node.await_stat("fawn_waiting", 1);
        let knobs = std::sync::Arc::clone(&node.knobs);
        let error = node.stop().unwrap_err().to_string();
        assert!(error.contains("operations were still in flight 0.3 s after"), "{error}");
        assert_eq!(client.rest(), "");
        assert_eq!(knobs.stopped.load(Ordering::SeqCst), loops as u64, "the stores are stopped all the same");
    }
}

#[test]
fn a_delete_that_never_becomes_durable_is_no_miss_in_a_line_of_keys() {
    let loops = 2;
    let node = Node::start(loops, 1, |_| {});
    node.knobs.set(|knobs| &knobs.durable, true);
    let keys = [key_of("a", 0, loops), key_of("gone", 1, loops), key_of("b", 0, loops)];
    let mut client = node.client();
    client.ask(keys.iter().map(|key| set(key, "v")).collect::<String>(), "STORED\r\n".repeat(3));
    node.knobs.set(|knobs| &knobs.commits_held, true);
    let mut deleter = node.client();
    deleter.say(format!("delete {} noreply\r\nmn\r\n", keys[1]));
    deleter.expect("MN\r\n");
    eventually(|| node.stat("delete_hits") == 1, "the delete");
    client.say(format!("get {}\r\n", keys.join(" ")));
    client.expect_silence();
    node.knobs.fail_commit.store(true, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    assert_eq!(client.rest(), error_line(crate::request::STOPPED));
}

/// The line is worked on after the store has stopped.
#[test]
fn a_line_of_keys_of_a_stopped_store_is_one_error() {
    let node = Node::start(1, 1, |options| options.limits.requests_in_flight = 1);
    node.knobs.set(|knobs| &knobs.durable, true);
    let mut client = node.client();
    client.ask(set("a", "1") + &set("gone", "1") + &set("new", "1"), "STORED\r\n".repeat(3));
    node.knobs.set(|knobs| &knobs.commits_held, true);
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    let line = "delete gone\r\nset new 0 0 1\r\n2\r\nget cold\r\nget a gone a\r\nget a new a\r\nget a\r\n";
    client.say(line);
    eventually(|| node.running().shared().totals().waiting == 1, "the cold get");
    node.knobs.fail_commit.store(true, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    eventually(|| node.running().shared().failure().is_some(), "the store's end");
    node.knobs.set(|knobs| &knobs.reads_held, false);
    let stopped = error_line(crate::request::STOPPED);
    assert_eq!(client.rest(), format!("{0}{0}END\r\n{0}{0}{1}END\r\n", stopped, hit("a", "1")));
}
