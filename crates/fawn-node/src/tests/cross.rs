//! Several loops: keys that live on another one.

use super::harness::{Node, error_line, eventually, hit, key_of, set};

#[test]
fn every_connection_reaches_every_key() {
    for loops in [2, 3, 4] {
        let node = Node::start(loops, 2, |_| {});
        let mut clients: Vec<_> = (0..loops * 2).map(|_| node.client()).collect();
        let count = clients.len();
        for n in 0..200 {
            clients[n % count].ask(set(&format!("k{n}"), &format!("v{n}")), "STORED\r\n");
        }
        for n in 0..200 {
            clients[(n + 1) % count]
                .ask(format!("get k{n}\r\n"), format!("{}END\r\n", hit(&format!("k{n}"), &format!("v{n}"))));
        }
        assert_eq!(node.stat("curr_items"), 200);
        assert_eq!(node.stat("threads"), loops as u64);
        assert!(node.stat("fawn_remote_requests") > 0);
        clients[0].ask("flush_all\r\nget k1 k2 k3\r\n", "OK\r\nEND\r\n");
        assert_eq!(node.stat("curr_items"), 0);
        let conns = clients[0].ask_until("stats conns\r\n", "END\r\n");
        assert_eq!(conns.matches(":state").count(), count + 1, "{conns}");
    }
}

#[test]
fn connections_are_dealt_evenly() {
    let node = Node::start(4, 1, |_| {});
    let mut clients: Vec<_> = (0..12).map(|_| node.client()).collect();
    for client in &mut clients {
        client.ask("mn\r\n", "MN\r\n");
    }
    for counters in &node.running().shared().counters {
        assert_eq!(counters.curr_connections.get(), 3);
    }
}

/// Pipelines that mix own and foreign keys, hot and cold, from connections of all loops.
#[test]
fn pipelines_over_loops_are_answered_in_order() {
    let node = Node::start(3, 1, |_| {});
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.durable, true);
    std::thread::scope(|scope| {
        for id in 0..6 {
            let node = &node;
            scope.spawn(move || {
                let mut client = node.client();
                let keys: Vec<String> = (0..3)
                    .flat_map(|home| [key_of(&format!("hot{id}-"), home, 3), key_of(&format!("cold{id}-"), home, 3)])
                    .collect();
                let (mut words, mut answer) = (String::new(), String::new());
                for round in 0..100 {
                    for key in &keys {
                        words += &set(key, &format!("{round}"));
                        words += &format!("incr {key} 1\r\nget {key}\r\n");
                        answer +=
                            &format!("STORED\r\n{0}\r\n{1}END\r\n", round + 1, hit(key, &format!("{}", round + 1)));
                    }
                    words += &format!("get {}\r\nmn\r\n", keys.join(" "));
                    answer += &keys.iter().map(|key| hit(key, &format!("{}", round + 1))).collect::<String>();
                    answer += "END\r\nMN\r\n";
                }
                client.say(words);
                client.expect(answer);
            });
        }
    });
}

/// Far more requests than may be in flight between two loops, both ways at once: nothing is lost, nobody waits for ever.
#[test]
fn full_rings_pause_connections_and_lose_nothing() {
    let node = Node::start(2, 1, |options| options.limits.output_bytes = 64 << 20);
    let keys = [key_of("a", 0, 2), key_of("b", 1, 2)];
    for key in &keys {
        node.client().ask(set(key, "0"), "STORED\r\n");
    }
    node.knobs.set(|knobs| &knobs.durable, true);
    std::thread::scope(|scope| {
        for id in 0..8 {
            let (node, keys) = (&node, &keys);
            scope.spawn(move || {
                let mut client = node.client();
                let key = &keys[id % 2];
                client.say(format!("incr {key} 1\r\n").repeat(20_000));
                let text = client.ask_until("mn\r\n", "MN\r\n");
                assert_eq!(text.matches("\r\n").count(), 20_001);
            });
        }
    });
    for key in &keys {
        node.client().ask(format!("incr {key} 0\r\n"), "80000\r\n");
    }
    eventually(|| node.stat("fawn_paused") == 0, "no connection paused");
}

#[test]
fn a_large_value_crosses() {
    let node = Node::start(2, 1, |options| options.max_item_bytes = 64 << 20);
    let key = key_of("k", 1, 2);
    let value = "x".repeat(20 << 20);
    // The first connection lives on the first loop.
    let mut client = node.client();
    client.ask(format!("{}{}", set(&key, &value), set("other", "1")), "STORED\r\nSTORED\r\n");
    client.ask(format!("get {key} other\r\n"), format!("{}{}END\r\n", hit(&key, &value), hit("other", "1")));
}

#[test]
fn an_error_on_another_loop_stands_for_the_whole_get() {
    let node = Node::start(2, 1, |_| {});
    node.knobs.set(|knobs| &knobs.cold, true);
    node.knobs.set(|knobs| &knobs.bad, true);
    let bad = (0..100_000).map(|n| format!("cold{n}bad")).find(|key| {
        let route = crate::shard::route::Route::new(super::harness::SECRET, 2, 2);
        route.of(&route.position(key.as_bytes())).0 == 1
    });
    let mut client = node.client();
    client.ask(set("a", "1"), "STORED\r\n");
    client.ask(
        format!("get a {} a\r\nget a\r\n", bad.unwrap()),
        format!("{}{}END\r\n", error_line(crate::request::UNREADABLE), hit("a", "1")),
    );
}
