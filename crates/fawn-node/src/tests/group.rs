//! Many sockets that are ready at the same time: each gets its own answers, whatever the others send.

use super::harness::{Client, Node, hit, set};
use crate::net::prefetch::PREFETCHED_KEYS;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;

/// What a client says while the loop is held up, what it says afterwards, and all that it is answered. The last two end
/// with the connection.
fn script(n: usize) -> (String, String, String) {
    let key = format!("key{n}");
    let value = format!("value of {n}");
    let sets = format!("{}get {key}\r\n", set(&key, &value));
    let stored = format!("STORED\r\n{}END\r\n", hit(&key, &value));
    match n % 8 {
        // One request.
        0 => ("get warm\r\n".into(), String::new(), format!("{}END\r\n", hit("warm", "w"))),
        // Several, one of which cannot be told ahead.
        1 => (format!("{sets}delete {key}\r\nget {key} warm\r\n"), String::new(), {
            format!("{stored}DELETED\r\n{}END\r\n", hit("warm", "w"))
        }),
        // Half of one.
        2 => (sets[..sets.len() - 7].into(), sets[sets.len() - 7..].into(), stored),
        // Half of the value of one that is not large, and not small either.
        3 => {
            let value = "v".repeat(12_000);
            let sets = format!("{}get {key}\r\n", set(&key, &value));
            (sets[..6000].into(), sets[6000..].into(), format!("STORED\r\n{}END\r\n", hit(&key, &value)))
        }
        // A large answer, which does not wait for the others.
        4 => ("get large warm\r\n".into(), String::new(), {
            format!("{}{}END\r\n", hit("large", &"l".repeat(50_000)), hit("warm", "w"))
        }),
        // One that waits for a read, and others behind it.
        5 => ("get cold\r\nget warm\r\n".into(), String::new(), {
            format!("{}END\r\n{}END\r\n", hit("cold", "c"), hit("warm", "w"))
        }),
        // Rubbish, and the end.
        6 => {
            ("get warm\r\nnonsense\r\nquit\r\n".into(), String::new(), format!("{}END\r\nERROR\r\n", hit("warm", "w")))
        }
        // The end in the middle of a command.
        _ => ("get warm\r\nget war".into(), String::new(), format!("{}END\r\n", hit("warm", "w"))),
    }
}

#[test]
fn sockets_that_are_ready_together_get_their_own_answers() {
    let node = Node::simple();
    let large = "l".repeat(50_000);
    let loaded = format!("{}{}{}", set("warm", "w"), set("cold", "c"), set("large", &large));
    node.client().ask(loaded, "STORED\r\n".repeat(3));
    node.knobs.set(|knobs| &knobs.cold, true);
    for round in 0..5 {
        let mut clients: Vec<Client<TcpStream>> = (0..100).map(|_| node.client()).collect();
        // All of them are accepted.
        for client in &mut clients {
            client.ask("mn\r\n", "MN\r\n");
        }
        node.knobs.set(|knobs| &knobs.stuck, true);
        for (n, client) in clients.iter_mut().enumerate() {
            client.say(script(n + round).0);
            if (n + round) % 8 == 7 {
                client.0.shutdown(Shutdown::Write).unwrap();
            }
        }
        node.knobs.set(|knobs| &knobs.stuck, false);
        for (n, client) in clients.iter_mut().enumerate() {
            client.say(script(n + round).1);
        }
        for (n, client) in clients.iter_mut().enumerate() {
            client.expect(script(n + round).2);
            if (n + round) % 8 >= 6 {
                assert_eq!(client.rest(), "");
            } else {
                client.ask("get warm\r\n", format!("{}END\r\n", hit("warm", "w")));
            }
        }
    }
}

#[test]
fn keys_of_clients_that_ask_one_at_a_time_are_fetched_ahead_together() {
    let node = Node::simple();
    let mut clients: Vec<Client<TcpStream>> = (0..2 * PREFETCHED_KEYS).map(|_| node.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.ask(set(&format!("key{n}"), "v"), "STORED\r\n");
    }
    node.knobs.warmed.store(0, Ordering::SeqCst);
    node.knobs.set(|knobs| &knobs.stuck, true);
    for (n, client) in clients.iter_mut().enumerate() {
        client.say(format!("get key{n}\r\n"));
    }
    node.knobs.set(|knobs| &knobs.stuck, false);
    for (n, client) in clients.iter_mut().enumerate() {
        client.expect(format!("{}END\r\n", hit(&format!("key{n}"), "v")));
    }
    assert_eq!(node.knobs.warmed.load(Ordering::SeqCst), PREFETCHED_KEYS as u64);
}

/// Clients that take their answers while others of their group are worked on go on, whatever made them wait.
fn all_get_on(node: &Node) {
    const GETS: usize = 40;
    let value = "x".repeat(300_000);
    node.client().ask(set("big", &value), "STORED\r\n");
    let answer = format!("{}END\r\nMN\r\n", hit("big", &value));
    for _ in 0..3 {
        let mut clients: Vec<Client<TcpStream>> = (0..PREFETCHED_KEYS).map(|_| node.client()).collect();
        for client in &mut clients {
            client.ask("mn\r\n", "MN\r\n");
        }
        node.knobs.set(|knobs| &knobs.stuck, true);
        for client in &mut clients {
            client.say("get big\r\nmn\r\n".repeat(GETS));
        }
        node.knobs.set(|knobs| &knobs.stuck, false);
        std::thread::scope(|scope| {
            for mut client in clients {
                let answer = &answer;
                scope.spawn(move || (0..GETS).for_each(|_| client.expect(answer)));
            }
        });
    }
}

#[test]
fn clients_that_take_their_answers_get_on_beside_each_other() {
    all_get_on(&Node::start(1, 1, |options| options.limits.output_bytes = 50_000));
}

#[test]
fn clients_of_a_group_share_what_room_there_is() {
    let node = Node::start(1, 1, |options| {
        options.limits.buffered_bytes = 8 << 20;
        options.limits.output_bytes = 1 << 20;
    });
    all_get_on(&node);
    // Some that take nothing, each of which asks for more than all of them may have.
    let mut clients: Vec<Client<TcpStream>> = (0..PREFETCHED_KEYS / 2).map(|_| node.client()).collect();
    for client in &mut clients {
        client.ask("mn\r\n", "MN\r\n");
    }
    node.knobs.set(|knobs| &knobs.stuck, true);
    for client in &mut clients {
        client.say("get big\r\n".repeat(100));
    }
    node.knobs.set(|knobs| &knobs.stuck, false);
    std::thread::sleep(std::time::Duration::from_millis(200));
    // 2 MiB for all, which the first of them fill; each other one has one answer, and there is room for who takes his.
    let buffered = node.stat("fawn_buffered_bytes");
    assert!(buffered < 5 << 20, "{buffered}");
}
