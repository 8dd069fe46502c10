//! Clusters of real processes' parts in one process: sockets, files and threads, and a manager in memory.

mod managers;

use super::member::{ClusterOptions, Member, start};
use crate::options::ServeOptions;
use crate::tests::harness::{Client, PATIENCE, client_of};
use fawn_kv::ids::Rules;
use managers::Managers;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A member that stops when it goes.
struct Running {
    member: Option<Member>,
    address: String,
}

impl Running {
    fn client(&self) -> Client<TcpStream> {
        client_of(&self.address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(member) = self.member.take() {
            member.running.stopper()();
            let stopped = member.running.wait();
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
            manager: None,
            cluster_listen: "127.0.0.1:0".into(),
            advertise: None,
            machine: None,
            domain: None,
            virtual_ids: 2,
            is_node: true,
            is_front: true,
            cache_bytes: 1 << 20,
        }
    }

    fn member(&self, options: &ClusterOptions) -> Running {
        let member = start(options, &AtomicBool::new(false)).unwrap();
        let address = member.running.addresses().first().cloned().unwrap_or_default();
        Running { member: Some(member), address }
    }

    fn node(&self, name: &str) -> Running {
        self.member(&self.options(name, 1))
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
