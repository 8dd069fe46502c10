//! Large answers that wait for room.

use super::{Cluster, ask};
use crate::tests::harness::{eventually, hit, set};

const VALUE_BYTES: usize = 200_000;
/// Of which each loop's answers have an eighth, and as much again for clients that take theirs.
const BUFFERED: usize = 64 << 20;

/// Clients that send `count` times `command`, and take nothing, beside one that does.
fn clients_that_take_nothing(command: &str, count: usize, cache_bytes: u64) {
    let cluster = Cluster::start(1, 1);
    let mut options = cluster.options("a", 2);
    (options.serve.limits.buffered_bytes, options.cache_bytes) = (BUFFERED, cache_bytes);
    let node = Cluster::member(&options);
    cluster.settles(1);
    let shared = node.process.as_ref().unwrap().running.shared();
    let buffered = || shared.totals().buffered_bytes;
    let keys: Vec<String> = (0..8).map(|number| format!("big{number}")).collect();
    let value = "x".repeat(VALUE_BYTES);
    let mut client = node.client();
    for key in &keys {
        assert_eq!(ask(&mut client, &set(key, &value)), "STORED\r\n");
    }
    let mut slow: Vec<_> = (0..8).map(|_| node.client()).collect();
    for client in &mut slow {
        let gets: Vec<_> = (0..count).map(|n| format!("{command} {}\r\n", keys[n % keys.len()])).collect();
        client.say(gets.concat());
    }
    eventually(|| buffered() > BUFFERED as u64 / 8, "answers that nobody takes");
    for round in 0..40 {
        assert_eq!(ask(&mut client, &set(&format!("k{round}"), "v")), "STORED\r\n");
        let key = &keys[round % keys.len()];
        client.ask(format!("get {key}\r\n"), format!("{}END\r\n", hit(key, &value)));
        assert!(buffered() <= BUFFERED as u64 / 2, "{} bytes", buffered());
    }
    let gone = slow.split_off(4);
    for client in &mut slow {
        for n in 0..count {
            client.expect(format!("{}END\r\n", hit(&keys[n % keys.len()], &value)));
        }
    }
    drop(gone);
    eventually(|| buffered() == 0 && shared.totals().waiting == 0, "nothing is left of those that are gone");
}

#[test]
fn clients_that_take_nothing_hold_nobody_up_and_little_memory() {
    for cache_bytes in [0, 8 << 20] {
        clients_that_take_nothing("get", 200, cache_bytes);
    }
}

#[test]
fn nor_do_those_that_touch_what_they_get() {
    clients_that_take_nothing("gat 0", 50, 0);
}
