//! A directory that was served by itself becomes the first of a cluster.

use super::*;
use crate::runtime::server;
use fawn_flash::Directory;

/// Serves a plain directory while `run` talks to it.
fn served(options: &ServeOptions, run: impl FnOnce(&mut Client<TcpStream>)) {
    let (running, directory) = server::start(options).unwrap();
    let mut client = client_of(&running.addresses().first().unwrap().address);
    run(&mut client);
    running.stopper()();
    running.wait().unwrap();
    drop(directory);
}

fn value_of(n: usize) -> String {
    format!("value {n} {}", "x".repeat(n % 300))
}

/// A key that may still be loaded from flash, with its cas.
fn gets(client: &mut Client<TcpStream>, key: &str) -> String {
    let begun = Instant::now();
    loop {
        client.say(format!("gets {key}\r\nmn\r\n"));
        let answer = client.ask_until("", "MN\r\n");
        if !answer.starts_with("SERVER_ERROR") {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_directory_that_was_served_alone_grows_into_a_cluster() {
    let cluster = Cluster::start(2, 1);
    let options = cluster.options("a", 2);
    let mut before = Vec::new();
    served(&options.serve, |client| {
        client.ask("set flushed 0 0 1\r\nx\r\n", "STORED\r\n");
        client.ask("flush_all\r\n", "OK\r\n");
        for n in 0..2000 {
            let value = value_of(n);
            client.ask(format!("set key{n} {n} 0 {}\r\n{value}\r\n", value.len()), "STORED\r\n");
        }
        client.ask("set kept 0 2000000000 2\r\nab\r\n", "STORED\r\n");
        client.ask("ms own 1 E777\r\nx\r\n", "HD\r\n");
        client.ask("ms stale 1\r\ny\r\n", "HD\r\n");
        client.ask("md stale I\r\n", "HD\r\n");
        for n in (0..2000).step_by(7) {
            client.ask(format!("delete key{n}\r\n"), "DELETED\r\n");
        }
        before = (0..2000).map(|n| gets(client, &format!("key{n}"))).collect();
    });
    let first = Cluster::member(&options);
    let refused = Directory::open(&options.serve.dir, 1).unwrap_err().to_string();
    assert!(refused.contains("in use"), "{refused}");
    let look = |client: &mut Client<TcpStream>, when: &str| {
        for (n, before) in before.iter().enumerate() {
            assert_eq!(gets(client, &format!("key{n}")), *before, "key {n} {when}");
        }
        assert_eq!(get(client, "flushed"), "END\r\n");
        client.ask("mg kept v\r\n", "VA 2\r\nab\r\n");
        client.ask("mg own c\r\n", "HD c777\r\n");
    };
    look(&mut first.client(), "at the first node alone");
    let second = cluster.node("b");
    cluster.settles(2);
    look(&mut second.client(), "once another has joined");
    let mut client = second.client();
    client.ask("mg stale v\r\n", "VA 1 X W\r\ny\r\n");
    // A cas that was seen before still fits, once.
    let cas: u64 = before[1].split_whitespace().nth(4).unwrap().parse().unwrap();
    client.ask(format!("cas key1 0 0 3 {cas}\r\nnew\r\n"), "STORED\r\n");
    client.ask(format!("cas key1 0 0 3 {cas}\r\nnot\r\n"), "EXISTS\r\n");
    let after: u64 = gets(&mut client, "key1").split_whitespace().nth(4).unwrap().parse().unwrap();
    let told = |answer: &String| answer.split_whitespace().nth(4).and_then(|cas| cas.parse::<u64>().ok());
    assert!(before.iter().filter_map(told).all(|cas| cas < after), "{after}");
    drop((client, first));
    let refused = Directory::open(&options.serve.dir, 1).unwrap_err().to_string();
    assert!(refused.contains("fawn node --dir"), "{refused}");
    let again = Cluster::member(&options);
    cluster.settles(2);
    let answer = get(&mut again.client(), "key1");
    assert_eq!(answer, "VALUE key1 0 3\r\nnew\r\nEND\r\n");
}

#[test]
fn a_second_directory_with_data_is_told_what_to_do() {
    let cluster = Cluster::start(1, 1);
    let _first = cluster.node("a");
    cluster.settles(1);
    let options = cluster.options("b", 1);
    served(&options.serve, |client| client.ask("set k 0 0 1\r\nx\r\n", "STORED\r\n"));
    // These managers let anybody in; those of a real cluster refuse it for its keys another key order.
    let refused = start(std::slice::from_ref(&options), &AtomicBool::new(false))
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(refused.contains("another key order"), "{refused}");
    served(&options.serve, |client| client.ask("get k\r\n", "VALUE k 0 1\r\nx\r\nEND\r\n"));
}

#[test]
fn values_in_files_of_their_own_are_refused_before_anything_is_changed() {
    let cluster = Cluster::start(1, 1);
    let options = cluster.options("a", 1);
    let large = "y".repeat(700 << 10);
    served(&options.serve, |client| {
        client.ask(format!("set k 0 0 {}\r\n{large}\r\n", large.len()), "STORED\r\n");
    });
    let refused = start(std::slice::from_ref(&options), &AtomicBool::new(false))
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(refused.contains("fawn dump"), "{refused}");
    served(&options.serve, |client| {
        client.ask("get k\r\n", format!("VALUE k 0 {}\r\n{large}\r\nEND\r\n", large.len()));
    });
}
