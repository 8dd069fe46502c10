//! Clusters of real processes' parts in one process: sockets, files and threads, and a manager in memory.

mod adopting;
mod managers;
mod room;

use super::member::{ClusterOptions, Process, start};
use crate::options::ServeOptions;
use crate::tests::harness::{Client, PATIENCE, client_of, eventually};
use fawn_kv::ids::{Incarnation, NodeId, Rules, SeatId};
use fawn_kv::manager::roster::NodeClass;
use fawn_kv::manager::{Command, Standing};
use managers::Managers;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A member that stops when it goes.
struct Running {
    process: Option<Process>,
    address: String,
}

impl Running {
    /// A client, once the cluster serves.
    fn client(&self) -> Client<TcpStream> {
        assert!(self.process.as_ref().unwrap().running.await_serving());
        client_of(&self.address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.running.stopper()();
            let stopped = process.running.wait();
            assert!(stopped.is_ok() || std::thread::panicking(), "{stopped:?}");
        }
    }
}

struct Cluster {
    managers: Managers,
    dirs: TempDir,
}

impl Cluster {
    fn start(replicas: u32, first_nodes: u32) -> Self {
        let managers = Managers::start(replicas, first_nodes, Rules::default());
        Self { managers, dirs: tempfile::tempdir().unwrap() }
    }

    fn options(&self, name: &str, threads: usize) -> ClusterOptions {
        ClusterOptions {
            serve: ServeOptions {
                listen: vec!["127.0.0.1:0".into()],
                threads: NonZeroUsize::new(threads).unwrap(),
                memory_bytes: 32 << 20,
                ..ServeOptions::new(self.dirs.path().join(name))
            },
            name: name.to_owned(),
            managers: vec![self.managers.address.clone()],
            cluster_listen: "127.0.0.1:0".into(),
            advertise: None,
            machine: None,
            domain: None,
            virtual_ids: 2,
            node: NodeClass::Serving,
            rest: Duration::ZERO,
            is_front: true,
            cache_bytes: 1 << 20,
            copy_bytes_per_s: 128 << 20,
            certificates: None,
        }
    }

    fn member(options: &ClusterOptions) -> Running {
        Self::process(std::slice::from_ref(options))
    }

    fn process(members: &[ClusterOptions]) -> Running {
        let process = start(members, &AtomicBool::new(false)).unwrap();
        let address = process.running.addresses().first().map(|at| at.address.clone()).unwrap_or_default();
        Running { process: Some(process), address }
    }

    fn node(&self, name: &str) -> Running {
        Self::member(&self.options(name, 1))
    }

    /// Waits until every chain has so many members, and nothing is to be done.
    fn settles(&self, replicas: usize) {
        let begun = Instant::now();
        loop {
            let seen = self.managers.seen.lock().unwrap();
            let level = !seen.chains.is_empty() && seen.chains.iter().all(|chain| chain.len() == replicas);
            if level && seen.is_settled {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not settle: {:?}", seen.chains);
            drop(seen);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Asks until the answer is not that the cluster is changing, or has yet to begin.
fn ask(client: &mut Client<TcpStream>, request: &str) -> String {
    let begun = Instant::now();
    loop {
        let answer = client.ask_until(request, "\r\n");
        if !answer.starts_with("SERVER_ERROR") {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// As [`ask`], for a get.
fn get(client: &mut Client<TcpStream>, key: &str) -> String {
    let begun = Instant::now();
    loop {
        client.say(format!("get {key}\r\n"));
        let mut answer = client.ask_until("", "\r\n");
        if answer.starts_with("VALUE") && !answer.ends_with("END\r\n") {
            answer += &client.ask_until("", "END\r\n");
        }
        if !answer.starts_with("SERVER_ERROR") {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_one_front_end_stores_every_other_shows() {
    let cluster = Cluster::start(3, 3);
    let nodes = ["a", "b", "c"].map(|name| cluster.node(name));
    cluster.settles(3);
    for n in 0..50 {
        let mut client = nodes[n % 3].client();
        assert_eq!(ask(&mut client, &format!("set key{n} 7 0 5\r\nval{n:02}\r\n")), "STORED\r\n");
        let mut other = nodes[(n + 1) % 3].client();
        let answer = other.ask_until(&format!("get key{n}\r\n"), "END\r\n");
        assert_eq!(answer, format!("VALUE key{n} 7 5\r\nval{n:02}\r\nEND\r\n"));
    }
}

/// Every command that a memcached client may send, once each as what the one before left behind has it.
#[test]
fn every_command_is_answered_as_by_a_single_store() {
    let cluster = Cluster::start(2, 2);
    let nodes = ["a", "b"].map(|name| cluster.node(name));
    cluster.settles(2);
    let mut client = nodes[0].client();
    assert_eq!(ask(&mut client, "set k 5 0 2\r\nab\r\n"), "STORED\r\n");
    for (request, answer) in [
        ("add k 0 0 1\r\nx\r\n", "NOT_STORED\r\n"),
        ("append k 0 0 1\r\nc\r\n", "STORED\r\n"),
        ("prepend k 0 0 1\r\n_\r\n", "STORED\r\n"),
        ("get k\r\n", "VALUE k 5 4\r\n_abc\r\nEND\r\n"),
        ("replace none 0 0 1\r\nx\r\n", "NOT_STORED\r\n"),
        ("set n 0 0 2\r\n41\r\n", "STORED\r\n"),
        ("incr n 1\r\n", "42\r\n"),
        ("decr n 50\r\n", "0\r\n"),
        ("incr k 1\r\n", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"),
        ("touch k 1000\r\n", "TOUCHED\r\n"),
        ("gat 0 k\r\n", "VALUE k 5 4\r\n_abc\r\nEND\r\n"),
        ("get k n k none\r\n", "VALUE k 5 4\r\n_abc\r\nVALUE n 0 2\r\n0 \r\nVALUE k 5 4\r\n_abc\r\nEND\r\n"),
        ("delete n\r\n", "DELETED\r\n"),
        ("delete n\r\n", "NOT_FOUND\r\n"),
        ("mg k v f t\r\n", "VA 4 f5 t-1\r\n_abc\r\n"),
        ("mg none v\r\n", "EN\r\n"),
        ("ms m 3 T0\r\nxyz\r\n", "HD\r\n"),
        ("ma c N0 J7\r\n", "HD\r\n"),
        ("mg c v\r\n", "VA 1\r\n7\r\n"),
        ("md m I\r\n", "HD\r\n"),
        ("mg m v\r\n", "VA 3 X W\r\nxyz\r\n"),
        ("mg m v\r\n", "VA 3 Z X\r\nxyz\r\n"),
        ("md m\r\n", "HD\r\n"),
        ("mn\r\n", "MN\r\n"),
        ("flush_all\r\n", "OK\r\n"),
        ("get k c\r\n", "END\r\n"),
        ("set k 0 -1 1\r\nx\r\n", "STORED\r\n"),
        ("get k\r\n", "END\r\n"),
    ] {
        client.ask(request, answer);
    }
    client.say("gets k\r\nset k 0 0 1\r\n1\r\nset k 0 0 1\r\n2\r\nget k\r\nset k 0 0 1\r\n3\r\nget k\r\n");
    client.expect("END\r\nSTORED\r\nSTORED\r\nVALUE k 0 1\r\n2\r\nEND\r\nSTORED\r\nVALUE k 0 1\r\n3\r\nEND\r\n");
    let gets = nodes[1].client().ask_until("gets k\r\n", "END\r\n");
    let cas: u64 = gets.split_whitespace().nth(4).unwrap().parse().unwrap();
    client.ask(format!("cas k 0 0 1 {}\r\nx\r\n", cas + 1), "EXISTS\r\n");
    client.ask(format!("cas k 0 0 1 {cas}\r\n4\r\n"), "STORED\r\n");
    client.ask(format!("cas k 0 0 1 {cas}\r\n5\r\n"), "EXISTS\r\n");
}

#[test]
fn members_come_and_go_while_clients_write() {
    let cluster = Cluster::start(3, 1);
    let first = cluster.node("a");
    cluster.settles(1);
    let mut client = first.client();
    let mut written = 0;
    let mut write = |client: &mut Client<TcpStream>, count: u32| {
        for n in written..written + count {
            let answer = ask(client, &format!("set key{n} 0 0 {}\r\n{n}\r\n", n.to_string().len()));
            assert_eq!(answer, "STORED\r\n");
        }
        written += count;
    };
    write(&mut client, 300);
    let second = cluster.node("b");
    write(&mut client, 300);
    let third = Cluster::member(&cluster.options("c", 2));
    write(&mut client, 300);
    cluster.settles(3);
    drop(second);
    write(&mut client, 300);
    let _second = cluster.node("b");
    cluster.settles(3);
    // The first node leaves: three machines are there no more.
    let (node, incarnation) = (NodeId(1), Incarnation(1));
    cluster.managers.command(Command::Stand { node, incarnation, standing: Standing::Draining });
    cluster.settles(2);
    let mut other = third.client();
    for n in 0..1200 {
        let value = n.to_string();
        let answer = get(&mut other, &format!("key{n}"));
        assert_eq!(answer, format!("VALUE key{n} 0 {}\r\n{value}\r\nEND\r\n", value.len()), "key {n}");
    }
    eventually(
        || cluster.managers.seen.lock().unwrap().figures.values().filter(|seat| !seat.ranges.is_empty()).count() >= 3,
        "seats tell how they do",
    );
}

#[test]
fn members_of_one_process_are_a_cluster_like_any_other() {
    let cluster = Cluster::start(3, 3);
    let members = ["a", "b", "c"].map(|name| cluster.options(name, 1));
    let process = Cluster::process(&members);
    cluster.settles(3);
    let mut clients = [0; 3].map(|_| process.client());
    for n in 0..100 {
        assert_eq!(ask(&mut clients[n % 3], &format!("set key{n} 0 0 2\r\n{n:02}\r\n")), "STORED\r\n");
        let answer = get(&mut clients[(n + 1) % 3], &format!("key{n}"));
        assert_eq!(answer, format!("VALUE key{n} 0 2\r\n{n:02}\r\nEND\r\n"));
    }
}

#[test]
fn a_cluster_that_stops_as_a_whole_comes_back_with_what_it_had() {
    let cluster = Cluster::start(2, 2);
    for round in 0..3 {
        let nodes = ["a", "b"].map(|name| cluster.node(name));
        if round == 0 {
            cluster.settles(2);
        }
        let mut client = nodes[round % 2].client();
        for n in 0..100 {
            if round > 0 {
                let value = format!("{}", round - 1);
                let answer = get(&mut client, &format!("key{n}"));
                assert_eq!(answer, format!("VALUE key{n} 0 1\r\n{value}\r\nEND\r\n"));
            }
            assert_eq!(ask(&mut client, &format!("set key{n} 0 0 1\r\n{round}\r\n")), "STORED\r\n");
        }
    }
}

#[test]
fn the_first_command_of_a_client_is_carried_out_also_after_a_restart() {
    let cluster = Cluster::start(2, 2);
    for round in 0..2 {
        let nodes = ["a", "b"].map(|name| cluster.node(name));
        for (number, node) in nodes.iter().enumerate() {
            let mut client = node.client();
            client.say(format!("set key{round}{number} 0 0 1 noreply\r\n{number}\r\n"));
            client.ask("mn\r\n", "MN\r\n");
            client.ask(
                format!("get key{round}{number}\r\n"),
                format!("VALUE key{round}{number} 0 1\r\n{number}\r\nEND\r\n"),
            );
        }
    }
}

#[test]
fn clients_are_refused_while_a_part_of_the_cluster_is_missing() {
    let cluster = Cluster::start(2, 2);
    let first = cluster.node("a");
    // It has been taken in, and the cluster begins with two.
    eventually(
        || cluster.managers.seen.lock().unwrap().figures.contains_key(&SeatId(1)),
        "a seat that tells how it does",
    );
    let refused = TcpStream::connect(&first.address).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let asked = first.process.as_ref().unwrap().running.shared().ask_samples();
    let waits_for = asked.samples[0].seat.as_ref().unwrap().waits_for.clone();
    assert!(waits_for.as_deref().is_some_and(|why| why.contains("no chain exists yet")), "{waits_for:?}");
    let _second = cluster.node("b");
    first.client().ask("set k 0 0 1\r\nx\r\n", "STORED\r\n");
}

#[test]
fn a_process_ends_when_another_with_another_directory_has_its_name() {
    let cluster = Cluster::start(1, 1);
    let mut first = cluster.node("a");
    cluster.settles(1);
    let mut options = cluster.options("a", 1);
    options.serve.dir = cluster.dirs.path().join("another");
    let _second = Cluster::member(&options);
    let why = first.process.take().unwrap().running.wait().unwrap_err().to_string();
    assert!(why.contains("another process, with another directory, has the name a now"), "{why}");
}

#[test]
fn there_are_descriptors_for_every_client_of_every_seat() {
    let cluster = Cluster::start(1, 1);
    let members = ["a", "b"].map(|name| cluster.options(name, 2));
    let (seats, links) = super::member::descriptors(&members);
    assert!(seats == 4 && links >= 4 * super::clients::MOST_CLIENTS);
}
