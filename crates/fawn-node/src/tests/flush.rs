//! `flush_all` in the order of its connection, and when the store has no room for it.

use super::harness::{Node, error_line, eventually, hit, key_of, set};
use crate::request::FLUSH_FAILED;
use std::sync::atomic::Ordering;

#[test]
fn a_put_that_waits_for_a_buffer_is_flushed_by_what_comes_after_it() {
    for loops in [1, 3] {
        let node = Node::start(loops, 1, |_| {});
        let mut client = node.client();
        node.knobs.set(|knobs| &knobs.busy, true);
        let keys: Vec<String> = (0..loops).map(|home| key_of("k", home, loops)).collect();
        let sets: String = keys.iter().map(|key| set(key, "old")).collect();
        client.say(format!("{sets}flush_all\r\nget {}\r\n", keys.join(" ")));
        node.await_stat("fawn_waiting", loops as u64);
        client.expect_silence();
        node.knobs.set(|knobs| &knobs.busy, false);
        client.expect(format!("{}OK\r\nEND\r\n", "STORED\r\n".repeat(loops)));
    }
}

#[test]
fn a_large_value_that_is_being_written_is_flushed_by_what_comes_after_it() {
    let node = Node::simple();
    node.knobs.large_from.store(1000, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.values_held, true);
    let mut client = node.client();
    client.say(format!("{}flush_all\r\nget big\r\n", set("big", &"x".repeat(5000))));
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.values_held, false);
    client.expect("STORED\r\nOK\r\nEND\r\n");
}

#[test]
fn what_is_being_read_when_a_flush_comes_is_answered_as_of_before_it() {
    for loops in [1, 3] {
        let node = Node::start(loops, 1, |_| {});
        let mut client = node.client();
        let keys: Vec<String> = (0..loops).map(|home| key_of("cold", home, loops)).collect();
        for key in &keys {
            client.ask(set(key, "5"), "STORED\r\n");
        }
        node.knobs.set(|knobs| &knobs.cold, true);
        node.knobs.set(|knobs| &knobs.reads_held, true);
        let (mut words, mut answer) = (String::new(), String::new());
        for key in &keys {
            words += &format!("get {key}\r\nadd {key} 0 0 1\r\n9\r\nincr {key} 1\r\n");
            answer += &format!("{}END\r\nNOT_STORED\r\n6\r\n", hit(key, "5"));
        }
        for key in &keys {
            words += &format!("flush_all\r\nget {key}\r\n{}", set(key, "new"));
            answer += "OK\r\nEND\r\nSTORED\r\n";
        }
        client.say(words);
        node.await_stat("fawn_waiting", 3 * loops as u64);
        client.expect_silence();
        node.knobs.set(|knobs| &knobs.reads_held, false);
        client.expect(answer);
        let last = &keys[loops - 1];
        client.ask(format!("get {last}\r\n"), format!("{}END\r\n", hit(last, "new")));
    }
}

#[test]
fn a_flush_waits_for_room_and_nothing_that_comes_after_it_overtakes_it() {
    for loops in [1, 2] {
        let node = Node::start(loops, 2, |_| {});
        let mut client = node.client();
        node.knobs.set(|knobs| &knobs.flush_busy, true);
        let keys: Vec<String> = (0..loops).map(|home| key_of("k", home, loops)).collect();
        let sets: String = keys.iter().map(|key| set(key, "new")).collect();
        client.say(format!("flush_all\r\n{sets}flush_all 0 noreply\r\nmn\r\n"));
        client.expect_silence();
        assert_eq!(node.stat("cmd_set"), 0, "the puts come after the flush");
        node.knobs.set(|knobs| &knobs.flush_busy, false);
        client.expect(format!("OK\r\n{}MN\r\n", "STORED\r\n".repeat(loops)));
        assert_eq!(node.stat("cmd_flush"), 2);
        client.ask(format!("{sets}get {}\r\n", keys.join(" ")), "STORED\r\n".repeat(loops));
        client.expect(format!("{}END\r\n", keys.iter().map(|key| hit(key, "new")).collect::<String>()));
    }
}

#[test]
fn a_flush_that_fails_says_so_unless_it_is_told_to_be_silent() {
    for loops in [1, 2] {
        let node = Node::start(loops, 1, |_| {});
        node.knobs.set(|knobs| &knobs.flush_busy, true);
        let (mut loud, mut silent) = (node.client(), node.client());
        loud.say("flush_all\r\n");
        silent.say("flush_all noreply\r\n");
        eventually(|| node.stat("cmd_flush") == 2, "two flushes under way");
        node.knobs.set(|knobs| &knobs.stop, true);
        assert_eq!(loud.rest(), error_line(FLUSH_FAILED));
        assert_eq!(silent.rest(), "");
        assert!(node.wait().is_err());
    }
}

#[test]
fn a_flush_that_never_becomes_durable_is_no_success() {
    let node = Node::start(2, 1, |_| {});
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    let mut client = node.client();
    client.say("flush_all\r\n");
    eventually(|| node.stat("cmd_flush") == 1, "the flush");
    client.expect_silence();
    node.knobs.fail_commit.store(true, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    assert_eq!(client.rest(), error_line(crate::request::STOPPED));
}
