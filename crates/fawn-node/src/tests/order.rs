//! Answers in request order, whatever they wait for; operations on one key in order.

use super::harness::{Node, error_line, eventually, hit, set};
use crate::request::UNREADABLE;
use std::sync::atomic::Ordering;

#[test]
fn hot_answers_wait_for_a_cold_one_before_them() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(format!("{}{}", set("cold1", "c"), set("hot", "h")), "STORED\r\nSTORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    client.say("get hot\r\nget cold1\r\nget hot\r\nget cold2\r\nversion\r\n");
    client.expect(format!("{}END\r\n", hit("hot", "h")));
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.reads_held, false);
    client.expect(format!("{}END\r\n{}END\r\nEND\r\nVERSION", hit("cold1", "c"), hit("hot", "h")));
}

#[test]
fn reads_of_one_turn_are_submitted_together_and_may_take_two() {
    let node = Node::simple();
    let mut client = node.client();
    let (sets, gets): (String, String) =
        (0..64).map(|n| (set(&format!("twice{n}"), "v"), format!("get twice{n}\r\n"))).unzip();
    client.ask(sets, "STORED\r\n".repeat(64));
    node.knobs.set(|knobs| &knobs.cold, true);
    let answer: String = (0..64).map(|n| format!("{}END\r\n", hit(&format!("twice{n}"), "v"))).collect();
    client.ask(gets, answer);
    assert_eq!(node.knobs.reads.load(Ordering::SeqCst), 128);
    assert!(node.knobs.submits.load(Ordering::SeqCst) <= 16, "{:?}", node.knobs.submits);
}

#[test]
fn a_get_of_hot_and_cold_keys_comes_whole_or_as_one_error() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(format!("{}{}{}", set("hot", "h"), set("cold", "c"), set("coldbad", "b")), "STORED\r\n".repeat(3));
    node.knobs.set(|knobs| &knobs.cold, true);
    client.ask("get hot cold nothing coldx hot\r\n", format!("{0}{1}{0}END\r\n", hit("hot", "h"), hit("cold", "c")));
    node.knobs.set(|knobs| &knobs.bad, true);
    client.ask("get hot coldbad cold hot\r\nget hot\r\n", error_line(UNREADABLE) + &hit("hot", "h") + "END\r\n");
    client.ask("get coldbad\r\n", error_line(UNREADABLE));
    client.ask("incr coldbad 1\r\n", error_line(UNREADABLE));
}

#[test]
fn operations_on_a_key_queue_behind_one_that_reads_it() {
    let node = Node::simple();
    let (mut first, mut second) = (node.client(), node.client());
    first.ask(set("cold", "5"), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.reads_held, true);
    first.say("incr cold 1\r\nincr cold 10\r\nset cold 0 0 3\r\n100\r\nincr cold 1\r\nget cold\r\n");
    node.await_stat("fawn_waiting", 5);
    second.say("append cold 0 0 1\r\n7\r\n");
    node.await_stat("fawn_waiting", 6);
    second.ask(set("other", "x"), "");
    node.knobs.set(|knobs| &knobs.reads_held, false);
    first.expect("6\r\n16\r\nSTORED\r\n101\r\nVALUE cold 0 3\r\n101\r\nEND\r\n");
    second.expect("STORED\r\nSTORED\r\n");
    second.ask("get cold\r\n", "VALUE cold 0 4\r\n1017\r\nEND\r\n");
    node.await_stat("fawn_waiting", 0);
}

#[test]
fn counters_on_cold_keys_lose_no_step() {
    let node = Node::simple();
    node.client().ask(set("cold", "0"), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.cold, true);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = node.client();
                for _ in 0..50 {
                    client.ask_until(&"incr cold 1\r\n".repeat(4), "\r\n");
                }
                client.ask_until("version\r\n", &format!("VERSION {}\r\n", fawn_memcache::VERSION));
            });
        }
    });
    node.client().ask("incr cold 0\r\n", "1600\r\n");
}

#[test]
fn an_answer_leaves_only_after_its_commit() {
    let node = Node::simple();
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    let (mut writer, mut reader) = (node.client(), node.client());
    writer.say(format!("version\r\n{}{}get other\r\n", set("a", "1"), set("b", "2")));
    writer.expect(format!("VERSION {}\r\n", fawn_memcache::VERSION));
    eventually(|| node.stat("cmd_set") == 2, "two sets");
    reader.say("get a\r\n");
    writer.expect_silence();
    reader.expect_silence();
    assert_eq!(node.knobs.committed.load(Ordering::SeqCst), 0);
    node.knobs.set(|knobs| &knobs.commits_held, false);
    writer.expect("STORED\r\nSTORED\r\nEND\r\n");
    reader.expect(format!("{}END\r\n", hit("a", "1")));
    assert_eq!(node.knobs.committed.load(Ordering::SeqCst), 2);
}

#[test]
fn a_get_of_several_keys_waits_for_every_commit_it_shows() {
    let node = Node::start(1, 3, |_| {});
    node.knobs.set(|knobs| &knobs.durable, true);
    let mut client = node.client();
    let keys: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
    let sets: String = keys.iter().map(|key| set(key, "v")).collect();
    node.knobs.set(|knobs| &knobs.commits_held, true);
    client.say(format!("{sets}get {}\r\n", keys.join(" ")));
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.commits_held, false);
    client.expect("STORED\r\n".repeat(20));
    client.expect(keys.iter().map(|key| hit(key, "v")).chain(["END\r\n".into()]).collect::<String>());
}

#[test]
fn what_is_busy_or_loading_waits_in_order() {
    let node = Node::simple();
    let mut client = node.client();
    client.ask(set("a", "1"), "STORED\r\n");
    node.knobs.set(|knobs| &knobs.busy, true);
    client.say(format!("{}get a\r\nget b\r\n{}", set("a", "2"), set("a", "3")));
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.busy, false);
    client.expect(format!("STORED\r\n{}END\r\nEND\r\nSTORED\r\n", hit("a", "2")));
    node.knobs.set(|knobs| &knobs.loading, true);
    client.say(format!("get a\r\n{}get a\r\ngets z a\r\n", set("a", "4")));
    client.expect_silence();
    node.knobs.set(|knobs| &knobs.loading, false);
    client.expect(format!("{}END\r\nSTORED\r\n{}END\r\nVALUE a 0 1 4\r\n4\r\nEND\r\n", hit("a", "3"), hit("a", "4")));
}

/// Every mix of fast and slow, many clients: answers come in order and right.
#[test]
fn mixed_hot_cold_and_durable_answers_stay_in_order() {
    let node = Node::start(1, 2, |_| {});
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.cold, true);
    std::thread::scope(|scope| {
        for id in 0..6 {
            let node = &node;
            scope.spawn(move || {
                let mut client = node.client();
                let (mut words, mut answer) = (String::new(), String::new());
                for round in 0..200 {
                    let (hot, cold, twice) = (format!("hot{id}"), format!("cold{id}"), format!("twice{id}"));
                    let value = format!("{round}");
                    words += &format!("{}{}{}", set(&hot, &value), set(&cold, &value), set(&twice, &value));
                    words += &format!("get {hot} {cold} none {twice}\r\nincr {cold} 1\r\nincr {twice} 2\r\nget {cold}\r\nget {hot}\r\n");
                    answer += &"STORED\r\n".repeat(3);
                    answer += &format!("{}{}{}END\r\n", hit(&hot, &value), hit(&cold, &value), hit(&twice, &value));
                    let more = format!("{}", round + 1);
                    answer += &format!("{}\r\n{}\r\n{}END\r\n{}END\r\n", round + 1, round + 2, hit(&cold, &more), hit(&hot, &value));
                }
                client.say(words);
                client.expect(answer);
            });
        }
    });
}
