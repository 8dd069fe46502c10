//! Large answers that wait for room.

use super::harness::{Client, Node, eventually, hit, key_of, set};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

const LOOPS: usize = 2;
const VALUE_BYTES: usize = 200_000;
/// Of which each loop's answers have an eighth, and as much again for clients that take theirs.
const BUFFERED: usize = 64 << 20;

/// A node and a key of each of its loops, with a large value: in DRAM, or in a file of its own.
fn node(in_files: bool) -> (Node, Vec<String>, String) {
    let node = Node::start(LOOPS, 1, |options| options.limits.buffered_bytes = BUFFERED);
    if in_files {
        node.knobs.large_from.store(1000, Ordering::SeqCst);
    }
    let keys: Vec<String> = (0..LOOPS).map(|number| key_of("big", number, LOOPS)).collect();
    let value = "x".repeat(VALUE_BYTES);
    let mut client = node.client();
    for key in &keys {
        client.ask(set(key, &value), "STORED\r\n");
    }
    (node, keys, value)
}

fn buffered(node: &Node) -> u64 {
    node.running().shared().totals().buffered_bytes
}

/// Asks for the keys in turn, `count` times.
fn ask_for(client: &mut Client<TcpStream>, keys: &[String], count: usize) {
    client.say((0..count).map(|n| format!("get {}\r\n", keys[n % keys.len()])).collect::<String>());
}

#[test]
fn clients_that_take_nothing_hold_nobody_up_and_little_memory() {
    const GETS: usize = 200;
    for in_files in [false, true] {
        let (node, keys, value) = node(in_files);
        let mut slow: Vec<_> = (0..8).map(|_| node.client()).collect();
        for client in &mut slow {
            ask_for(client, &keys, GETS);
        }
        eventually(|| buffered(&node) > BUFFERED as u64 / 8, "answers that nobody takes");
        let mut others: Vec<_> = (0..4).map(|_| node.client()).collect();
        for (n, client) in others.iter_mut().enumerate() {
            for round in 0..10 {
                client.ask(set(&format!("k{n}-{round}"), "v"), "STORED\r\n");
                for key in &keys {
                    client.ask(format!("get {key}\r\n"), format!("{}END\r\n", hit(key, &value)));
                }
                // Input has the other half.
                assert!(buffered(&node) <= BUFFERED as u64 / 2, "{} bytes", buffered(&node));
            }
        }
        for client in &mut slow {
            for n in 0..GETS {
                client.expect(format!("{}END\r\n", hit(&keys[n % keys.len()], &value)));
            }
        }
        eventually(|| buffered(&node) == 0, "nothing buffered");
        assert_eq!(node.stat("fawn_waiting"), 0);
    }
}

/// Far less room than the lines need; whatever is held, the next key of each always comes.
#[test]
fn lines_of_large_values_get_on_beside_each_other() {
    for in_files in [false, true] {
        let (node, keys, value) = node(in_files);
        std::thread::scope(|scope| {
            for id in 0..12 {
                let (node, keys, value) = (&node, &keys, &value);
                scope.spawn(move || {
                    let mut client = node.client();
                    let line: Vec<&str> = (0..40).map(|n| keys[(n / (1 + id % 3)) % LOOPS].as_str()).collect();
                    for _ in 0..3 {
                        client.say(format!("get {}\r\nmn\r\n", line.join(" ")));
                        for key in &line {
                            client.expect(hit(key, value));
                        }
                        client.expect("END\r\nMN\r\n");
                    }
                });
            }
        });
        eventually(|| buffered(&node) == 0, "nothing buffered");
    }
}

#[test]
fn answers_that_nobody_wants_any_more_leave_nothing_behind() {
    for in_files in [false, true] {
        let (node, keys, value) = node(in_files);
        let mut slow: Vec<_> = (0..8).map(|_| node.client()).collect();
        for client in &mut slow {
            ask_for(client, &keys, 200);
        }
        eventually(|| node.running().shared().totals().waiting > 20, "answers that wait for room");
        drop(slow);
        node.await_stat("fawn_waiting", 0);
        eventually(|| buffered(&node) == 0, "nothing buffered");
        let mut client = node.client();
        ask_for(&mut client, &keys, 50);
        for n in 0..50 {
            client.expect(format!("{}END\r\n", hit(&keys[n % LOOPS], &value)));
        }
        node.stop().unwrap();
    }
}

/// What a get is shown was stored before it, whatever it had to wait for.
#[test]
fn a_get_that_waits_for_room_is_not_shown_what_comes_after_it() {
    let (node, keys, value) = node(false);
    let mut slow: Vec<_> = (0..6).map(|_| node.client()).collect();
    for client in &mut slow {
        ask_for(client, &keys, 100);
    }
    let mut client = node.client();
    let (mut words, mut answer) = (String::new(), String::new());
    for n in 0..20 {
        let key = key_of(&format!("own{n}-"), n % LOOPS, LOOPS);
        words += &(set(&key, &value) + &format!("get {key}\r\ngat 0 {key}\r\n") + &set(&key, "small"));
        words += &format!("get {key}\r\n");
        answer += &format!("STORED\r\n{0}END\r\n{0}END\r\nSTORED\r\n", hit(&key, &value));
        answer += &format!("{}END\r\n", hit(&key, "small"));
    }
    std::thread::scope(|scope| {
        let mut writer = Client(client.0.try_clone().unwrap());
        scope.spawn(move || writer.say(words));
        client.expect(answer);
    });
}

/// Far more than there is room for waits behind answers that have yet to be granted room.
#[test]
fn what_waits_behind_a_large_answer_does_not_keep_it_away() {
    for in_files in [false, true] {
        let (node, keys, value) = node(in_files);
        // The clients of loop 0 and of loop 1 alike: one key is theirs, and in DRAM, the other is not.
        let local = "y".repeat(900_000);
        let hot: Vec<String> = (0..LOOPS).map(|number| key_of("hot", number, LOOPS)).collect();
        node.knobs.large_from.store(0, Ordering::SeqCst);
        for key in &hot {
            node.client().ask(set(key, &local), "STORED\r\n");
        }
        let mut clients: Vec<_> = (0..80).map(|_| node.client()).collect();
        for _ in 0..2 {
            for (number, client) in clients.iter_mut().enumerate() {
                let (other, own) = (&keys[(number + 1) % LOOPS], &hot[number % LOOPS]);
                client.say(format!("get {other} {own}\r\nget {own} {other}\r\n"));
            }
            for (number, client) in clients.iter_mut().enumerate() {
                let (other, own) = (&keys[(number + 1) % LOOPS], &hot[number % LOOPS]);
                client.expect(format!("{}{}END\r\n", hit(other, &value), hit(own, &local)));
                client.expect(format!("{}{}END\r\n", hit(own, &local), hit(other, &value)));
            }
        }
        eventually(|| buffered(&node) == 0, "nothing buffered");
    }
}

/// The line is held by a sync in its middle, and longer than lines are held whole.
#[test]
fn a_long_line_that_waits_for_a_sync_goes_on_after_it() {
    let (node, keys, value) = node(false);
    node.knobs.set(|knobs| &knobs.durable, true);
    node.knobs.set(|knobs| &knobs.commits_held, true);
    for key in &keys {
        node.client().say(set(key, &value));
    }
    eventually(|| node.running().shared().totals().cmd_set == 4, "puts that wait for a sync");
    let mut clients: Vec<_> = (0..4).map(|_| node.client()).collect();
    let line: Vec<&str> = (0..30).map(|n| keys[n / 15].as_str()).collect();
    for client in &mut clients {
        client.say(format!("get {}\r\n", line.join(" ")));
        client.expect_silence();
    }
    node.knobs.set(|knobs| &knobs.commits_held, false);
    for client in &mut clients {
        for key in &line {
            client.expect(hit(key, &value));
        }
        client.expect("END\r\n");
    }
}

#[test]
fn a_client_that_pipelines_and_takes_its_answers_goes_on_beside_those_that_do_not() {
    let (node, keys, value) = node(false);
    let mut slow: Vec<_> = (0..30).map(|_| node.client()).collect();
    for client in &mut slow {
        ask_for(client, &keys, 100);
    }
    eventually(|| buffered(&node) > BUFFERED as u64 / 8, "answers that nobody takes");
    let mut client = node.client();
    for _ in 0..5 {
        ask_for(&mut client, &keys, 10);
        for n in 0..10 {
            client.expect(format!("{}END\r\n", hit(&keys[n % LOOPS], &value)));
        }
    }
}

/// Two loops' answers wait for each other's keys: each put waits for a get that waits for room, behind the other put.
#[test]
fn gets_that_wait_for_room_do_not_hold_puts_up_in_a_circle() {
    let (node, taken, value) = node(false);
    // A put waits for whoever reads its key, however slowly: nobody else reads these.
    let keys: Vec<String> = (0..LOOPS).map(|number| key_of("own", number, LOOPS)).collect();
    for key in &keys {
        node.client().ask(set(key, &value), "STORED\r\n");
    }
    let mut slow: Vec<_> = (0..40).map(|_| node.client()).collect();
    for client in &mut slow {
        ask_for(client, &taken, 100);
    }
    eventually(|| buffered(&node) > BUFFERED as u64 / 8, "answers that nobody takes");
    let mut clients: Vec<_> = (0..8).map(|_| node.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let (one, other) = (&keys[n % LOOPS], &keys[(n + 1) % LOOPS]);
        client.say(set(one, &value) + &format!("get {other}\r\n"));
    }
    for (n, client) in clients.iter_mut().enumerate() {
        client.expect(format!("STORED\r\n{}END\r\n", hit(&keys[(n + 1) % LOOPS], &value)));
    }
}
