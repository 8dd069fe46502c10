//! A member, an operator and a client whose link to the leading manager alone is broken: the other managers are a way around it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fawn_kv::link::{Control, Frame, Frames, Party};
use serde_json::Value;

use crate::cluster::Process;
use crate::server::{fawn, fawn_command, say, wait_for};

/// What every connection to a manager goes through. Who has called is in the greeting.
#[derive(Clone, Default)]
struct Network {
    /// What somebody says to the manager at this address is lost, and what it is told; managers reach each other.
    cut: Arc<Mutex<BTreeSet<(String, &'static str)>>>,
}

/// Who has called, as far as cuts are concerned.
fn kind_of(party: Party) -> Option<&'static str> {
    match party {
        Party::Manager(_) => None,
        Party::Seat(seat) if seat.0 == 1 => Some("the first seat"),
        Party::Seat(_) => Some("another seat"),
        Party::Client(_) | Party::Newcomer | Party::Operator => Some("others"),
    }
}

impl Network {
    /// Where a manager is reached that listens elsewhere.
    fn to(&self, manager: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (network, own) = (self.clone(), address.clone());
        thread::spawn(move || {
            for caller in listener.incoming() {
                let (network, own, manager) = (network.clone(), own.clone(), manager.clone());
                thread::spawn(move || network.connect(caller.unwrap(), &own, &manager));
            }
        });
        address
    }

    fn connect(&self, mut caller: TcpStream, own: &str, manager: &str) -> Option<()> {
        let (mut said, mut buffer) = (Vec::new(), [0; 8192]);
        let greeting = loop {
            let count = caller.read(&mut buffer).ok().filter(|count| *count > 0)?;
            said.extend_from_slice(&buffer[..count]);
            if let Ok((Frame::Control(Control::Greeting(greeting)), _)) = Frames::default().next(&said).ok()? {
                break greeting;
            }
        };
        let way = kind_of(greeting.from).map(|kind| (own.to_owned(), kind));
        let mut manager = TcpStream::connect(manager).ok()?;
        self.pass(&said, &mut manager, way.as_ref())?;
        let (network, back_way) = (self.clone(), way.clone());
        let (back_from, back_to) = (manager.try_clone().ok()?, caller.try_clone().ok()?);
        thread::spawn(move || network.carry(back_from, back_to, back_way.as_ref()));
        self.carry(caller, manager, way.as_ref());
        Some(())
    }

    /// Carries bytes from one to the other until one hangs up. While the way is cut, they are lost.
    fn carry(&self, mut from: TcpStream, mut to: TcpStream, way: Option<&(String, &'static str)>) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if self.pass(&buffer[..count], &mut to, way).is_none() {
                break;
            }
        }
        if !self.is_cut(way) {
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        }
    }

    fn pass(&self, bytes: &[u8], to: &mut TcpStream, way: Option<&(String, &'static str)>) -> Option<()> {
        if self.is_cut(way) { Some(()) } else { to.write_all(bytes).ok() }
    }

    fn is_cut(&self, way: Option<&(String, &'static str)>) -> bool {
        way.is_some_and(|way| self.cut.lock().unwrap().contains(way))
    }

    fn cut(&self, address: &str, kinds: &[&'static str]) {
        *self.cut.lock().unwrap() = kinds.iter().map(|kind| (address.to_owned(), *kind)).collect();
    }
}

/// An address that nobody else has now. Its port is below those that the system gives to callers: one of these could be taken
/// before a manager listens.
fn free_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let address = || {
        let number = std::process::id().wrapping_mul(89).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        format!("127.0.0.1:{}", 10_000 + number % 22_000)
    };
    std::iter::repeat_with(address).find(|address| TcpListener::bind(address).is_ok()).expect("there are many")
}

/// Three managers behind a network, and nodes.
struct Cluster {
    dir: tempfile::TempDir,
    network: Network,
    /// Where managers are reached by the others, and where they listen.
    managers: BTreeMap<String, String>,
    /// By their names: managers are m1 to m3.
    processes: BTreeMap<String, Process>,
}

impl Cluster {
    fn start() -> Self {
        let (dir, network) = (tempfile::tempdir().unwrap(), Network::default());
        let listening = (0..3).map(|_| free_address());
        let managers: BTreeMap<String, String> =
            listening.map(|address| (network.to(address.clone()), address)).collect();
        let peers = managers.keys().cloned().collect::<Vec<_>>().join(",");
        let processes = managers.iter().zip(1..).map(|((reached, listens), number)| {
            let name = format!("m{number}");
            let own = dir.path().join(&name);
            let fixed = ["manager", "--dir", own.to_str().unwrap(), "--replicas", "2", "--min-write-replicas", "2"];
            let more = ["--listen", listens, "--advertise", reached, "--peers", &peers];
            let log = dir.path().join(format!("{name}.log"));
            (name, Process::logged(fawn_command(&[&fixed[..], &more].concat()), &log, " ready on "))
        });
        let processes = processes.collect();
        Self { dir, network, managers, processes }
    }

    fn reached(&self) -> String {
        self.managers.keys().cloned().collect::<Vec<_>>().join(",")
    }

    fn start_node(&mut self, name: &str) {
        let (own, managers) = (self.dir.path().join(name), self.reached());
        let fixed = ["node", "--name", name, "--dir", own.to_str().unwrap(), "--memory", "64M", "--threads", "1"];
        let (any, log) = ("127.0.0.1:0", self.dir.path().join(format!("{name}.log")));
        let more = ["--virtual-ids", "2", "--listen", any, "--cluster-listen", any, "--manager", &managers];
        let node = Process::logged(fawn_command(&[&fixed[..], &more].concat()), &log, "serving memcached on ");
        self.processes.insert(name.to_owned(), node);
    }

    /// The status, as an operator sees it whom no cut concerns.
    fn status(&self) -> Value {
        let managers = self.managers.values().cloned().collect::<Vec<_>>().join(",");
        serde_json::from_str(&fawn(&["status", "--manager", &managers, "--json"]).stdout).unwrap_or_default()
    }

    /// Where the others reach the manager that leads.
    fn leader(&self) -> String {
        wait_for("a leader", || {
            let status = self.status();
            let leader = status["managers"].as_array()?.iter().find(|manager| manager["leads"] == true)?;
            Some(leader["address"].as_str()?.to_owned())
        })
    }

    /// Whether all members are heard, and everything is as it should be.
    fn is_whole(&self, members: usize) -> Option<()> {
        let status = self.status();
        let heard = status["members"].as_array()?.iter().filter(|member| member["state"] == "up").count();
        let ranges = status["ranges"].as_array()?;
        let are_whole = ranges.iter().all(|range| range["chain"].as_array().is_some_and(|chain| chain.len() == 2));
        (heard == members && status["settled"] == true && !ranges.is_empty() && are_whole).then_some(())
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(format!("{name}.log"))).unwrap()
    }
}

fn is_stored(address: &str, key: &str) -> bool {
    say(address, &format!("set {key} 0 0 1\r\nx"), "\r\n") == "STORED\r\n"
}

#[test]
fn whoever_does_not_reach_the_leading_manager_alone_is_served_by_way_of_another() {
    let mut cluster = Cluster::start();
    for name in ["n1", "n2"] {
        cluster.start_node(name);
    }
    wait_for("a cluster that is at rest", || cluster.is_whole(2));
    let clients = cluster.processes["n1"].address.clone();
    wait_for("a write", || is_stored(&clients, "w").then_some(()));
    let leader = cluster.leader();
    cluster.network.cut(&leader, &["the first seat", "others"]);
    thread::scope(|scope| {
        scope.spawn(|| check_others(&cluster));
        // Longer than any lease.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            let key = format!("k{}", begun.elapsed().as_millis());
            wait_for("a write", || is_stored(&clients, &key).then_some(()));
            thread::sleep(Duration::from_millis(50));
        }
    });
    wait_for("a way around", || cluster.log("n1").contains("the link to the leading manager is broken").then_some(()));
    assert_eq!(cluster.leader(), leader, "the same manager leads");
    wait_for("all members in all chains", || cluster.is_whole(2));
    cluster.network.cut(&leader, &[]);
    wait_for("the link", || cluster.log("n1").contains("the link to the leading manager works again").then_some(()));
    assert!(is_stored(&clients, "w"));
}

/// Operators and client programs do not reach the leader either.
fn check_others(cluster: &Cluster) {
    let (managers, dump) = (cluster.reached(), cluster.dir.path().join("dump"));
    let commands =
        [vec!["status"], vec!["cluster", "set", "--ack", "durable"], vec!["dump", "--json", dump.to_str().unwrap()]];
    thread::scope(|scope| {
        for command in commands {
            let managers = &managers;
            scope.spawn(move || {
                let run = fawn(&[&command[..], &["--manager", managers]].concat());
                assert_eq!(run.code, 0, "{command:?}: {}", run.stderr);
            });
        }
    });
    assert!(std::fs::read_to_string(dump).unwrap().contains("\"w\""));
}
