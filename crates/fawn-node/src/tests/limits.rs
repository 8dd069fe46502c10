//! Hostile and broken clients.

use super::harness::{Node, eventually, hit, set};
use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[test]
fn one_connection_too_many_is_told_so() {
    let node = Node::start(1, 1, |options| options.limits.connections = 2);
    let (mut first, second) = (node.client(), node.client());
    first.ask(set("a", "1"), "STORED\r\n");
    let mut third = node.client();
    assert_eq!(third.rest(), "ERROR Too many open connections\r\n");
    drop(second);
    eventually(
        || {
            let mut again = node.client();
            again.say("mn\r\n");
            let mut got = [0; 4];
            std::io::Read::read(&mut again.0, &mut got).is_ok() && &got == b"MN\r\n"
        },
        "a free place",
    );
}

#[test]
fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let node = Node::start(1, 1, |options| options.limits.idle_timeout = Some(Duration::from_millis(300)));
    let (mut idle, mut busy) = (node.client(), node.client());
    for _ in 0..20 {
        busy.ask("mn\r\n", "MN\r\n");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(idle.rest(), "");
    busy.ask("mn\r\n", "MN\r\n");
    assert_eq!(node.stat("idle_kicks"), 1);
}

#[test]
fn a_client_that_reads_nothing_stops_being_read_and_is_cut_off() {
    let node = Node::start(1, 1, |options| {
        options.limits.stall_timeout = Duration::from_millis(700);
        options.limits.output_bytes = 100_000;
    });
    node.client().ask(set("big", &"x".repeat(900_000)), "STORED\r\n");
    let mut slow = node.client();
    slow.set_nonblocking(true).unwrap();
    // Until the node reads no more: its buffer, the two sockets' buffers, then nothing.
    let mut asked = 0;
    let gets = "get big\r\n".repeat(1000);
    eventually(
        || {
            match slow.0.write(gets.as_bytes()) {
                Ok(count) => asked += count,
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
            assert!(node.stat("fawn_buffered_bytes") < 4 << 20);
            node.stat("fawn_stall_kicks") == 1
        },
        "the end of a slow reader",
    );
    assert!(asked < 40 << 20);
    eventually(|| node.stat("fawn_buffered_bytes") == 0, "nothing buffered");
}

#[test]
fn a_slow_reader_gets_everything_in_the_end() {
    let node = Node::start(1, 1, |options| options.limits.output_bytes = 50_000);
    let mut client = node.client();
    client.ask(set("big", &"x".repeat(300_000)), "STORED\r\n");
    client.say("get big big\r\nmn\r\n".repeat(50));
    std::thread::sleep(Duration::from_millis(100));
    let answer = format!("{0}{0}END\r\nMN\r\n", hit("big", &"x".repeat(300_000)));
    for _ in 0..50 {
        client.expect(&answer);
    }
}

#[test]
fn a_huge_get_streams_within_bounds() {
    let node = Node::start(1, 1, |options| options.limits.whole_answer_bytes = 2 << 20);
    let mut client = node.client();
    client.ask(set("big", &"x".repeat(500_000)), "STORED\r\n");
    client.ask(set("cold", "c"), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    client.say(format!("get {}\r\n", "big cold ".repeat(100).trim_end()));
    std::thread::sleep(Duration::from_millis(200));
    assert!(node.stat("fawn_buffered_bytes") < 8 << 20);
    client.expect(format!("{}{}", hit("big", &"x".repeat(500_000)), hit("cold", "c")).repeat(100));
    client.expect("END\r\n");
}

#[test]
fn a_failure_after_the_front_has_left_closes_the_connection() {
    let node = Node::start(1, 1, |options| options.limits.whole_answer_bytes = 1 << 20);
    let mut client = node.client();
    client.ask(set("big", &"x".repeat(900_000)), "STORED\r\n");
    client.ask(set("coldbad", "c"), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.bad, true);
    client.say("get big big big coldbad\r\nversion\r\n");
    let text = client.rest();
    assert!(text.starts_with("VALUE big") && !text.contains("SERVER_ERROR") && !text.contains("END"), "{}", text.len());
}

#[test]
fn memory_for_large_values_is_shared_out() {
    let node = Node::start(1, 1, |options| {
        options.max_item_bytes = 8 << 20;
        options.limits.buffered_bytes = 24 << 20;
    });
    let value = "y".repeat(7 << 20);
    std::thread::scope(|scope| {
        for id in 0..6 {
            let (node, value) = (&node, &value);
            scope.spawn(move || {
                let mut client = node.client();
                for _ in 0..3 {
                    client.ask(set(&format!("k{id}"), value), "STORED\r\n");
                    client.ask(format!("get k{id}\r\n"), format!("{}END\r\n", hit(&format!("k{id}"), value)));
                }
            });
        }
    });
    node.await_stat("fawn_buffered_bytes", 0);
}

#[test]
fn thousands_of_half_commands_hold_little_memory() {
    let node = Node::simple();
    let clients: Vec<_> = (0..400)
        .map(|n| {
            let mut client = node.client();
            client.say(format!("set key{n} 0 0 100000\r\nhalf"));
            client
        })
        .collect();
    eventually(|| node.stat("curr_connections") == 401, "all connected");
    eventually(|| node.stat("fawn_buffered_bytes") < 400 * 256, "little memory");
    drop(clients);
    node.await_stat("curr_connections", 1);
    node.await_stat("fawn_buffered_bytes", 0);
}

#[test]
fn requests_in_flight_are_bounded_and_the_rest_waits() {
    let node = Node::start(1, 1, |options| options.limits.requests_in_flight = 10);
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    let mut clients: Vec<_> = (0..4).map(|_| node.client()).collect();
    for client in &mut clients {
        client.say("get cold\r\n".repeat(20));
    }
    let reads = || node.knobs.reads.load(Ordering::SeqCst);
    eventually(|| reads() == 10, "ten reads");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(reads(), 10);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    for client in &mut clients {
        client.expect("END\r\n".repeat(20));
    }
}

#[test]
fn a_client_that_only_closes_its_sending_side_gets_its_answers() {
    let node = Node::simple();
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    let mut client = node.client();
    client.say("get cold\r\nversion\r\nget half");
    client.shutdown(Shutdown::Write).unwrap();
    node.await_stat("fawn_waiting", 1);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    assert_eq!(client.rest(), format!("END\r\nVERSION {}\r\n", fawn_memcache::VERSION));
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_line_is_gone() {
    let node = Node::simple();
    node.knobs.set(|knobs| &knobs.cold, true);
    let mut client = node.client();
    client.say("mn\r\nget cold1 hot cold2 ha");
    client.expect("MN\r\n");
    eventually(|| node.stat("fawn_flash_reads") == 2 && node.stat("fawn_waiting") == 0, "both keys read");
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.rest(), "");
}

#[test]
fn the_binary_protocol_and_http_are_hung_up_on() {
    let node = Node::simple();
    for words in [&b"\x80\x0b\0\0\0\0\0\0"[..], b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"] {
        let mut client = node.client();
        client.say(words);
        assert!(!client.rest().contains("HTTP"));
    }
}

#[test]
fn a_client_that_vanishes_with_reads_under_way_leaves_nothing_behind() {
    let node = Node::simple();
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    for _ in 0..10 {
        node.client().say("get cold\r\nincr cold2 1\r\nget cold a cold\r\n");
    }
    node.await_stat("fawn_waiting", 40);
    node.knobs.set(|knobs| &knobs.reads_held, false);
    node.await_stat("fawn_waiting", 0);
    node.await_stat("curr_connections", 1);
    node.await_stat("fawn_buffered_bytes", 0);
}

#[test]
fn what_waits_for_a_buffer_counts_as_memory() {
    let node = Node::start(1, 1, |options| options.limits.buffered_bytes = 16 << 20);
    // A client that asked for statistics would have to wait as well.
    let now = || node.running().shared().totals();
    node.knobs.set(|knobs| &knobs.busy, true);
    let value = "x".repeat(500_000);
    let mut client = node.client();
    std::thread::scope(|scope| {
        let sets: String = (0..60).map(|n| set(&format!("k{n}"), &value)).collect();
        let mut writer = super::harness::Client(client.0.try_clone().unwrap());
        scope.spawn(move || writer.say(sets));
        eventually(|| now().buffered_bytes >= 4 << 20, "the share of operations and answers");
        std::thread::sleep(Duration::from_millis(100));
        assert!(now().waiting <= 9, "{} values of 0.5 MB in 4 MiB", now().waiting);
        node.knobs.set(|knobs| &knobs.busy, false);
        client.expect("STORED\r\n".repeat(60));
    });
    node.await_stat("fawn_buffered_bytes", 0);
}

#[test]
fn a_busy_store_is_tried_by_one_of_those_that_wait_and_each_is_counted_once() {
    const WAITING: u64 = 50;
    let node = Node::simple();
    let mut client = node.client();
    client.ask(set("cold", "1") + &set("a", "1"), "STORED\r\nSTORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.busy, true);
    let refused = || node.knobs.refused.load(Ordering::SeqCst);
    client.say(format!(
        "incr cold 1\r\nmg a T9 q\r\n{}",
        (2..WAITING).map(|n| set(&format!("k{n}"), "v")).collect::<String>()
    ));
    eventually(|| refused() == WAITING, "all have been refused");
    node.knobs.set(|knobs| &knobs.nag, true);
    for round in 1..=20 {
        node.knobs.ring();
        eventually(|| refused() > WAITING + round, "another try");
    }
    node.knobs.set(|knobs| &knobs.nag, false);
    let (turns, tries) = (node.stat("fawn_turns"), refused() - WAITING);
    assert!(tries <= turns, "{tries} tries in {turns} turns");
    // What it read is true for a second.
    let reads = node.knobs.reads.load(Ordering::SeqCst);
    assert!(reads <= tries / 4 + 2, "{reads} reads for {tries} tries");
    node.knobs.set(|knobs| &knobs.busy, false);
    client.expect(format!("2\r\nHD\r\n{}", "STORED\r\n".repeat(WAITING as usize - 2)));
    assert_eq!((node.stat("cmd_set"), node.stat("incr_hits"), node.stat("cmd_touch")), (WAITING, 1, 1));
}

#[test]
fn one_client_that_takes_nothing_leaves_room_for_others() {
    let node = Node::start(1, 1, |options| options.limits.buffered_bytes = 16 << 20);
    let value = "x".repeat(500_000);
    node.client().ask(set("big", &value), "STORED\r\n");
    let mut slow = node.client();
    slow.say(format!("get {}\r\n", "big ".repeat(100).trim_end()));
    eventually(|| node.stat("fawn_buffered_bytes") > 500_000, "an answer that nobody takes");
    let mut other = node.client();
    other.ask("get big\r\n", format!("{}END\r\n", hit("big", &value)));
    assert!(node.stat("fawn_buffered_bytes") <= 3 << 20, "{}", node.stat("fawn_buffered_bytes"));
    slow.expect(hit("big", &value).repeat(100));
    slow.expect("END\r\n");
}

#[test]
fn all_that_waited_for_room_go_on_at_once() {
    let node = Node::start(1, 1, |options| options.limits.requests_in_flight = 1);
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    let mut first = node.client();
    first.say("get cold\r\n");
    eventually(|| node.knobs.reads.load(Ordering::SeqCst) == 1, "a read");
    let mut clients: Vec<_> = (0..300).map(|_| node.client()).collect();
    for client in &mut clients {
        client.say("get hot\r\n");
    }
    let paused = || node.running().shared().totals().paused;
    eventually(|| paused() == 301, "all wait, the first included");
    let began = Instant::now();
    node.knobs.set(|knobs| &knobs.reads_held, false);
    first.expect("END\r\n");
    for client in &mut clients {
        client.expect("END\r\n");
    }
    assert!(began.elapsed() < Duration::from_secs(2), "five turns and no tick: {:?}", began.elapsed());
}

/// A file of users for a node.
fn users(dir: &tempfile::TempDir) -> std::path::PathBuf {
    let path = dir.path().join("users");
    std::fs::write(&path, "alice:secret\n").unwrap();
    path
}

const LOGIN: &str = "set auth 0 0 12\r\nalice secret\r\n";

#[test]
fn who_does_not_authenticate_is_closed_and_who_has_may_be_silent() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(1, 1, |options| {
        options.auth_file = Some(users(&dir));
        options.limits.stranger_timeout = Duration::from_millis(300);
    });
    let (mut known, mut silent, mut chatty) = (node.client(), node.client(), node.client());
    known.ask(LOGIN, "STORED\r\n");
    chatty.ask("get a\r\n", "CLIENT_ERROR unauthenticated\r\n");
    assert_eq!((silent.rest(), chatty.rest()), (String::new(), String::new()));
    known.ask("mn\r\n", "MN\r\n");
}

#[test]
fn a_handshake_that_never_begins_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let tls = super::harness::certificate(dir.path());
    let node = Node::start(1, 1, |options| {
        options.tls = Some(tls);
        options.limits.stranger_timeout = Duration::from_millis(300);
    });
    // The end of TLS, and nothing else.
    assert!(node.client().rest().len() < 64);
}

#[test]
fn connections_that_never_authenticate_keep_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    for (most, loops) in [(12, 1), (40, 2)] {
        let node = Node::start(loops, 1, |options| {
            options.auth_file = Some(users(&dir));
            options.limits.connections = most;
            options.limits.stranger_timeout = Duration::from_mins(10);
        });
        let _silent: Vec<_> = (0..3 * most).map(|_| node.client()).collect();
        let mut known: Vec<_> = Vec::new();
        while known.len() < most / 2 {
            let mut client = node.client();
            client.ask(LOGIN, "STORED\r\n");
            known.push(client);
        }
        // Those who have authenticated stay.
        for client in &mut known {
            client.ask("mn\r\n", "MN\r\n");
        }
    }
}

#[test]
fn connections_that_never_send_a_byte_keep_nobody_out_of_a_plain_server() {
    for loops in [1, 2] {
        let node = Node::start(loops, 1, |options| {
            options.limits.connections = 16;
            options.limits.stranger_timeout = Duration::from_millis(300);
        });
        // Somebody who has once said something may be silent.
        let mut known: Vec<_> = (0..4).map(|_| node.client()).collect();
        for client in &mut known {
            client.ask("mn\r\n", "MN\r\n");
        }
        let _mute: Vec<_> = (0..40).map(|_| node.client()).collect();
        std::thread::sleep(Duration::from_millis(400));
        let mut late: Vec<_> = (0..4).map(|_| node.client()).collect();
        for client in late.iter_mut().chain(&mut known) {
            client.ask("mn\r\n", "MN\r\n");
        }
    }
}

#[test]
fn connections_that_have_just_come_are_not_closed_for_others() {
    let node = Node::start(1, 1, |options| {
        options.limits.connections = 4;
        options.limits.stranger_timeout = Duration::from_mins(10);
    });
    let mut first: Vec<_> = (0..4).map(|_| node.client()).collect();
    assert!(node.client().rest().contains("Too many open connections"));
    for client in &mut first {
        client.ask("mn\r\n", "MN\r\n");
    }
}

#[test]
fn wrong_passwords_slow_a_connection_down() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(1, 1, |options| options.auth_file = Some(users(&dir)));
    let (wrong, refused) = ("set auth 0 0 12\r\nalice secreT\r\n", "CLIENT_ERROR authentication failure\r\n");
    let (mut client, began) = (node.client(), Instant::now());
    // A mistake costs nothing.
    client.ask([wrong, LOGIN].concat(), [refused, "STORED\r\n"].concat());
    let (mut guesser, mut other) = (node.client(), node.client());
    guesser.say(wrong.repeat(4));
    guesser.expect(refused.repeat(2));
    other.ask(LOGIN, "STORED\r\n");
    guesser.expect(refused.repeat(2));
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    other.ask("mn\r\n", "MN\r\n");
}
