//! A cluster of several processes: `fawn dump` and `fawn load`, and what comes after `fawn manager recover`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::server::{assert_same_lines, fawn, fawn_command, say, wait_for};

/// A process, killed when dropped.
pub struct Process {
    pub child: Child,
    /// The end of the first line that it has said.
    pub address: String,
}

impl Process {
    fn start(arguments: &[&str], before: &str) -> Self {
        Self::of(fawn_command(arguments), before)
    }

    fn of(command: Command, before: &str) -> Self {
        Self::logged(command, Path::new("/dev/null"), before)
    }

    /// Starts it, with a log, and waits for a line on its standard output that has this before the address.
    pub fn logged(mut command: Command, log: &Path, before: &str) -> Self {
        let log = std::fs::File::options().append(true).create(true).open(log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| Some(line.split_once(before)?.1.to_owned()));
        Self { child, address: address.expect("it says where it is") }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Sends it a signal that stops it cleanly, and waits for that.
    pub fn stop(mut self, signal: Signal) {
        self.signal(signal);
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{signal:?} stops it cleanly");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is done to the command of a process, by its name, before it starts.
type Prepare = Box<dyn Fn(&str, &mut Command)>;

/// A manager and nodes.
pub struct Cluster {
    dir: tempfile::TempDir,
    pub manager: Process,
    pub nodes: BTreeMap<String, Process>,
    /// What a process is given before it starts, by its name.
    prepare: Prepare,
}

impl Cluster {
    pub fn start(nodes: usize, replicas: usize) -> Self {
        Self::start_as(nodes, replicas, |_, _| {})
    }

    /// One whose processes, `manager` and `n1` to the last node, are started otherwise.
    pub fn start_as(nodes: usize, replicas: usize, prepare: impl Fn(&str, &mut Command) + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (own, replicas) = (dir.path().join("m"), replicas.to_string());
        let own = own.to_str().unwrap();
        let mut manager = fawn_command(&["manager", "--dir", own, "--listen", "127.0.0.1:0", "--replicas", &replicas]);
        prepare("manager", &mut manager);
        let log = dir.path().join("manager.log");
        let manager = Process::logged(manager, &log, " ready on ");
        let mut cluster = Self { dir, manager, nodes: BTreeMap::new(), prepare: Box::new(prepare) };
        for number in 1..=nodes {
            cluster.start_node(&format!("n{number}"));
        }
        wait_for("a cluster that is at rest", || {
            let status = cluster.status();
            let all = status["members"].as_array().is_some_and(|members| members.len() == nodes);
            (all && status["settled"] == true && !status["ranges"].as_array()?.is_empty()).then_some(())
        });
        wait_for("a write", || (say(cluster.clients(), "set w 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(()));
        assert_eq!(say(cluster.clients(), "delete w", "\r\n"), "DELETED\r\n");
        cluster
    }

    /// Starts the manager again, which has stopped, at the address that it had.
    pub fn restart_manager(&mut self) {
        let (dir, address) = (self.file("m"), self.manager.address.clone());
        let mut manager = fawn_command(&["manager", "--dir", dir.to_str().unwrap(), "--listen", &address]);
        (self.prepare)("manager", &mut manager);
        self.manager = Process::logged(manager, &self.file("manager.log"), " ready on ");
    }

    pub fn start_node(&mut self, name: &str) {
        let log = self.file(&format!("{name}.log"));
        let node = Process::logged(self.node_command(name), &log, "serving memcached on ");
        self.nodes.insert(name.to_owned(), node);
    }

    /// Starts one that may never serve.
    pub fn begin_node(&mut self, name: &str) {
        let log = std::fs::File::options().append(true).create(true).open(self.file(&format!("{name}.log"))).unwrap();
        let child = self.node_command(name).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.nodes.insert(name.to_owned(), Process { child, address: String::new() });
    }

    fn node_command(&self, name: &str) -> Command {
        let dir = self.dir.path().join(name);
        let fixed = ["node", "--name", name, "--dir", dir.to_str().unwrap(), "--memory", "64M", "--threads", "1"];
        let (any, managers) = ("127.0.0.1:0", &self.manager.address);
        let more = ["--virtual-ids", "2", "--listen", any, "--cluster-listen", any, "--manager", managers];
        let mut command = fawn_command(&[&fixed[..], &more].concat());
        (self.prepare)(name, &mut command);
        command
    }

    pub fn status(&self) -> Value {
        let run = fawn(&["status", "--manager", &self.manager.address, "--json"]);
        serde_json::from_str(&run.stdout).unwrap_or_default()
    }

    /// Where memcached clients are served.
    pub fn clients(&self) -> &str {
        &self.nodes["n1"].address
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn load(&self, lines: &str) {
        let path = self.file("in.jsonl");
        std::fs::write(&path, lines).unwrap();
        // On a busy machine a request may not be answered in time.
        wait_for("a load", || {
            let run = fawn(&["load", "--no-resume", "--to", self.clients(), path.to_str().unwrap()]);
            assert!(run.code == 0 || run.stderr.contains("no answer in time"), "{}", run.stderr);
            (run.code == 0).then_some(())
        });
    }

    fn dump_command<'a>(&'a self, path: &'a Path) -> Vec<&'a str> {
        vec!["dump", "--json", "--manager", &self.manager.address, path.to_str().unwrap()]
    }

    /// What a dump says, and the records in its file.
    fn dump(&self, name: &str) -> (Value, Vec<String>) {
        let path = self.file(name);
        let run = fawn(&self.dump_command(&path));
        assert_eq!(run.code, 0, "{}", run.stderr);
        (serde_json::from_str(&run.stdout).unwrap(), lines_of(&path))
    }
}

/// The lines of a file, sorted: ranges of clusters differ, and with them the order.
fn lines_of(path: &Path) -> Vec<String> {
    let mut lines: Vec<String> = std::fs::read_to_string(path).unwrap().lines().map(ToOwned::to_owned).collect();
    lines.sort();
    lines
}

/// The records by their keys; none is there twice.
pub fn by_key(lines: &[String]) -> BTreeMap<String, Value> {
    let records = lines.iter().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        (record["key"].as_str().unwrap().to_owned(), record)
    });
    let by_key: BTreeMap<String, Value> = records.collect();
    assert_eq!(by_key.len(), lines.len(), "each key is there once");
    by_key
}

/// What the summary says of ranges is about all keys and all records.
fn check_ranges(told: &Value, records: usize) {
    let ranges = told["ranges"].as_array().unwrap();
    assert_eq!(ranges[0]["low"], "0".repeat(40).as_str());
    assert_eq!(ranges[ranges.len() - 1]["high"], "f".repeat(40).as_str());
    assert!(ranges.iter().all(|range| range["seq"].as_u64().unwrap() > 0 && range["epoch"].as_u64().unwrap() > 0));
    let sum: u64 = ranges.iter().map(|range| range["records"].as_u64().unwrap()).sum();
    assert_eq!((sum, told["records"].as_u64().unwrap()), (records as u64, records as u64));
}

pub fn numbered(count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|n| format!("{{\"key\":\"k{n}\",\"value\":\"{n:0>100}\"}}")).collect();
    lines.join("\n")
}

#[test]
fn a_dump_of_a_cluster_carries_flags_expiry_and_cas_into_another_and_back() {
    let (first, second) = (Cluster::start(1, 1), Cluster::start(1, 1));
    let line = |n: u32| {
        let exptime = n % 2 * 1_999_000_000;
        format!("{{\"key\":\"k{n}\",\"value\":\"v{n}\\n\\u0001é\",\"flags\":{n},\"exptime\":{exptime}}}\n")
    };
    first.load(&(0..2000).map(line).collect::<String>());
    for n in 0..100 {
        assert_eq!(say(first.clients(), &format!("delete k{n}"), "\r\n"), "DELETED\r\n");
    }
    assert_eq!(say(first.clients(), "ms k200 1 E77\r\nx", "\r\n"), "HD\r\n");
    assert_eq!(say(first.clients(), "set k201 0 -1 1\r\nx", "\r\n"), "STORED\r\n");
    let (told, was) = first.dump("out.jsonl");
    check_ranges(&told, 1899);
    assert!(!first.file("out.jsonl.part").exists() && !first.file("out.jsonl.spool").exists());
    assert!(!first.file("out.jsonl.fawn-dump").exists());
    let records = by_key(&was);
    assert_eq!((&records["k200"]["cas"], &records["k200"]["value"]), (&77.into(), &"x".into()));
    assert_eq!((&records["k301"]["flags"], &records["k301"]["exptime"]), (&301.into(), &1_999_000_000.into()));
    assert!(!records.contains_key("k50") && !records.contains_key("k201"));
    second.load(&std::fs::read_to_string(first.file("out.jsonl")).unwrap());
    assert_same_lines(&second.dump("again.jsonl").1, &was);

    let path = second.file("told.jsonl");
    let dump = ["dump", "--manager", &second.manager.address, path.to_str().unwrap()];
    let brief = fawn(&dump);
    assert!(brief.code == 0 && brief.stdout.starts_with("dumped 1,899 records"), "{brief:?}");
    assert!(!brief.stdout.contains("range "), "{}", brief.stdout);
    // What memcached's protocol cannot name is in the dump, which says so.
    let client = fawn_client::Options::new([second.manager.address.clone()]);
    let client = fawn_client::blocking::Client::connect(client).unwrap();
    client.put("l".repeat(300), "x").unwrap();
    let verbose = fawn(&[&dump[..], &["--verbose"]].concat());
    assert!(verbose.code == 1 && verbose.stdout.starts_with("dumped 1,900 records"), "{verbose:?}");
    let ranges = verbose.stdout.lines().filter(|line| line.starts_with("range ") && line.contains(": as of record "));
    assert_eq!(ranges.count(), second.status()["ranges"].as_array().unwrap().len(), "{}", verbose.stdout);
    assert_eq!(lines_of(&path).len(), 1900);
}

#[test]
fn a_dump_under_load_while_a_node_is_killed_lacks_nothing_that_was_there_before() {
    let mut cluster = Cluster::start(3, 3);
    cluster.load(&numbered(8000));
    let (stop, written) = (AtomicBool::new(false), AtomicU32::new(0));
    let address = cluster.clients().to_owned();
    // Each round puts its number into all of these.
    let put = |round: u32| {
        for n in 0..50 {
            let line = format!("set hot{n} 0 0 6\r\n{round:06}");
            wait_for("a write", || (say(&address, &line, "\r\n") == "STORED\r\n").then_some(()));
        }
    };
    put(0);
    let path = cluster.file("out.jsonl");
    let (floor, rounds) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut round = 1;
            while !stop.load(Ordering::SeqCst) {
                put(round);
                written.store(round, Ordering::SeqCst);
                round += 1;
            }
            round
        });
        let killed = cluster.nodes.remove("n3").unwrap();
        wait_for("some rounds", || (written.load(Ordering::SeqCst) > 2).then_some(()));
        let floor = written.load(Ordering::SeqCst);
        let mut dump = fawn_command(&cluster.dump_command(&path)).stdout(Stdio::piped()).spawn().unwrap();
        drop(killed);
        let status = dump.wait().unwrap();
        stop.store(true, Ordering::SeqCst);
        assert!(status.success());
        (floor, writer.join().unwrap())
    });
    let records = by_key(&lines_of(&path));
    let plain: BTreeSet<&String> = records.keys().filter(|key| key.starts_with('k')).collect();
    assert_eq!((plain.len(), records.len()), (8000, 8050));
    for (key, record) in records.iter().filter(|(key, _)| key.starts_with("hot")) {
        let round: u32 = record["value"].as_str().unwrap().parse().unwrap();
        assert!((floor..rounds).contains(&round), "{key}: {round} of {floor} to {rounds}");
    }
    // What is written after a dump is in the next one.
    put(999_999);
    let records = by_key(&cluster.dump("next.jsonl").1);
    assert!(records.iter().all(|(key, record)| !key.starts_with("hot") || record["value"] == "999999"));
}

#[test]
fn a_dump_that_was_killed_goes_on_where_it_was() {
    let cluster = Cluster::start(2, 1);
    cluster.load(&numbered(5000));
    // Whoever has the first keys goes on; the dump has to wait for the other.
    let status = cluster.status();
    let ranges = status["ranges"].as_array().unwrap();
    let lowest = ranges.iter().min_by_key(|range| range["low"].as_str().unwrap().to_owned()).unwrap();
    let other = if lowest["chain"][0] == "n1" { "n2" } else { "n1" };
    cluster.nodes[other].signal(Signal::STOP);
    let path = cluster.file("out.jsonl");
    let told = cluster.file("dump.log");
    let log = std::fs::File::create(&told).unwrap();
    let mut dump = fawn_command(&cluster.dump_command(&path)).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let state = cluster.file("out.jsonl.fawn-dump");
    let (before, began) = wait_for("the first range in the file", || {
        let text = std::fs::read_to_string(&state).ok()?;
        let state: Value = serde_json::from_str(text.lines().next()?).ok()?;
        let done = state["done"].as_array().filter(|done| !done.is_empty()).cloned();
        done.map(|done| (done, state["began"].clone()))
    });
    let second = fawn(&cluster.dump_command(&path));
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("another dump is writing"), "{}", second.stderr);
    let told = wait_for("a word about what it waits for", || {
        std::fs::read_to_string(&told)
            .ok()
            .filter(|told| told.contains("fawn: waiting for a node that has the next keys"))
    });
    assert!(
        [": a node does not answer; ", ": a node cannot be reached; "].iter().any(|why| told.contains(why)),
        "{told}"
    );
    assert!(told.contains("the cluster ports of all nodes"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    dump.kill().unwrap();
    dump.wait().unwrap();
    assert!(!path.exists() && cluster.file("out.jsonl.part").exists());
    cluster.nodes[other].signal(Signal::CONT);
    let run = fawn(&cluster.dump_command(&path));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.starts_with("continuing the dump that began at 20"), "{}", run.stderr);
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    check_ranges(&told, 5000);
    assert_eq!(told["began"], began);
    assert_eq!(by_key(&lines_of(&path)).len(), 5000);
    assert_eq!(told["ranges"][0], before[0], "what was in the file stays as it was");
    assert!(!state.exists());
}

#[test]
fn front_ends_list_the_keys_of_all_ranges() {
    let mut cluster = Cluster::start(2, 2);
    cluster.load(&numbered(3000));
    assert_eq!(say(cluster.clients(), "delete k7", "\r\n"), "DELETED\r\n");
    for node in cluster.nodes.values() {
        let listed = say(&node.address, "lru_crawler metadump all", "END\r\n");
        let keys: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(listed.ends_with("END\r\n"));
        assert_eq!(listed.lines().filter(|line| line.starts_with("key=")).count(), 2999);
        assert!(keys.contains("key=k8") && !keys.contains("key=k7"));
    }
    let path = cluster.file("listed.jsonl");
    let run = fawn(&["dump", "--from", cluster.clients(), path.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(by_key(&lines_of(&path)).len(), 2999);
    // Each of two replicas that nobody has written to since holds all of it when it is stopped.
    for (name, node) in std::mem::take(&mut cluster.nodes) {
        node.stop(Signal::TERM);
        let held = fawn(&["store", "dump", cluster.file(&name).to_str().unwrap()]);
        let lines: Vec<String> = held.stdout.lines().map(ToOwned::to_owned).collect();
        assert_eq!((held.code, by_key(&lines).len()), (0, 2999), "{name}: {}", held.stderr);
        // Whoever is left hears what it has yet to hear.
        let is_told = held.stderr.contains(" of the writes are only in the log: this node did not know");
        assert!(name != "n1" || is_told, "{}", held.stderr);
    }
}

#[test]
fn after_a_quorum_was_recovered_clients_are_answered_from_what_was_there() {
    let mut cluster = Cluster::start(1, 1);
    assert_eq!(say(cluster.clients(), "set k 0 0 1\r\nv", "\r\n"), "STORED\r\n");
    let stopped = |mut process: Process| {
        process.signal(Signal::TERM);
        assert!(process.child.wait().unwrap().success());
    };
    // More than once: each time numbers of lives go up by a million.
    for number in 0..3 {
        cluster.nodes.remove("n1").map(stopped).expect("it runs");
        let dir = cluster.file("m");
        let address = cluster.manager.address.clone();
        let again = ["manager", "--dir", dir.to_str().unwrap(), "--listen", &address];
        cluster.manager.signal(Signal::TERM);
        assert!(cluster.manager.child.wait().unwrap().success());
        let run = fawn(&["manager", "recover", "--dir", dir.to_str().unwrap(), "--others-are-lost"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        cluster.manager = Process::start(&again, " ready on ");
        cluster.start_node("n1");
        let expected = if number == 0 { "v".to_owned() } else { (number - 1).to_string() };
        let shown = format!("VALUE k 0 1\r\n{expected}\r\nEND\r\n");
        wait_for("an answer", || (say(cluster.clients(), "get k", "\r\n") == shown).then_some(()));
        let set = format!("set k 0 0 1\r\n{number}");
        wait_for("a write", || (say(cluster.clients(), &set, "\r\n") == "STORED\r\n").then_some(()));
    }
}

/// Connections that others have made to an address of the loopback.
fn connections(address: &str) -> usize {
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let (ours, established) = (format!(":{port:04X}"), "01");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|words| words[1].ends_with(&ours) && words[3] == established).count()
}

#[test]
fn a_manager_that_goes_on_though_it_was_taken_out_of_its_group_deafens_no_node() {
    let cluster = Cluster::start(1, 1);
    let join = |name: &str| {
        let (dir, first) = (cluster.file(name), &cluster.manager.address);
        let arguments = ["manager", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0", "--join", first];
        Process::logged(fawn_command(&arguments), &cluster.file(&format!("{name}.log")), " ready on ")
    };
    let (_second, third) = (join("m2"), join("m3"));
    wait_for("three managers", || {
        let voters = cluster.status()["managers"].as_array()?.iter().filter(|one| one["votes"] == true).count();
        (voters == 3).then_some(())
    });
    // The first manager and the node.
    wait_for("two who have called the third", || (connections(&third.address) >= 2).then_some(()));
    let remove = fawn(&["manager", "remove", &third.address, "--manager", &cluster.manager.address]);
    assert_eq!(remove.code, 0, "{}", remove.stderr);
    // It asks for votes from now on, in one term after the other. A node that hears of nobody else is silent within 2 s.
    let is_out = || std::fs::read_to_string(cluster.file("m3.log")).unwrap().contains("was removed from its group");
    wait_for("that it is out", || is_out().then_some(()));
    std::thread::sleep(Duration::from_secs(3));
    let lacks = &cluster.status()["lacks"];
    assert!(!lacks.to_string().contains("silent"), "{lacks}");
    let log = std::fs::read_to_string(cluster.file("m3.log")).unwrap();
    assert!(log.contains("this manager was removed from its group: stop it"), "{log}");
}

#[test]
fn the_status_says_which_ranges_take_no_writes_and_which_nobody_serves() {
    let mut cluster = Cluster::start(1, 1);
    let lacks = |cluster: &Cluster, what: &str| {
        wait_for(what, || cluster.status()["lacks"].to_string().contains(what).then_some(()));
    };
    let set = ["cluster", "set", "--replicas", "2", "--min-write-replicas", "2"];
    let run = fawn(&[&set[..], &["--manager", &cluster.manager.address]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    lacks(&cluster, "ranges refuse writes, which need 2 replicas");
    let none = fawn(&["cluster", "set", "--min-write-replicas", "0", "--manager", &cluster.manager.address]);
    assert_eq!(none.code, 2, "a write needs a replica: {}", none.stderr);
    cluster.nodes.clear();
    lacks(&cluster, "ranges are out of service: start n1 with its latest data directory");
}

#[test]
fn whoever_drains_and_removes_a_node_is_told_what_becomes_of_copies_and_of_the_node() {
    let cluster = Cluster::start(2, 2);
    let managers = ["--manager", &cluster.manager.address];
    for (how, said) in [("--no-wait", "n2 is draining: "), ("--undo", "n2 stays\n")] {
        let run = fawn(&[&["node", "drain", "n2", how], &managers[..]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.starts_with(said) && run.stdout.is_empty(), "{}", run.stderr);
    }
    let drain = fawn(&[&["node", "drain", "n2"], &managers[..]].concat());
    assert_eq!(drain.code, 0, "{}", drain.stderr);
    assert!(drain.stderr.contains("other members have all data of n2"), "{}", drain.stderr);
    assert!(drain.stderr.contains("ranges now have fewer than 2 copies"), "{}", drain.stderr);

    let log = cluster.file("n3.log");
    let mut command = cluster.node_command("n3");
    let mut node = command.stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let mut lines = BufReader::new(node.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(" ready on ")), "it is a member");
    let remove = ["node", "remove", "n3", "--force", "--manager", &cluster.manager.address];
    let removed = fawn(&remove);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert_eq!(removed.stderr, "n3 is no longer a member of the cluster\n");
    assert_eq!(node.wait().unwrap().code(), Some(1));
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("n3 is no longer a member of the cluster"), "{said}");
    assert!(!said.contains("check the device"), "the device is as good as ever: {said}");
}

#[test]
fn a_front_end_that_starts_again_at_once_comes_in_and_a_second_one_of_its_name_is_refused() {
    let cluster = Cluster::start(1, 1);
    let (any, managers) = ("127.0.0.1:0", &cluster.manager.address);
    let front = ["frontend", "--name", "f1", "--threads", "1", "--listen", any, "--cluster-listen", any];
    let front = [&front[..], &["--manager", managers]].concat();
    drop(Process::start(&front, "serving memcached on "));
    let again = Process::start(&front, "serving memcached on ");
    assert_eq!(say(&again.address, "set k 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    let second = fawn(&front);
    assert!(second.code == 1 && second.stderr.contains("f1 already runs, with another directory"), "{second:?}");
    assert_eq!(say(&again.address, "get k", "END\r\n"), "VALUE k 0 1\r\nx\r\nEND\r\n");
}

#[test]
fn a_node_whose_disk_was_wiped_comes_in_at_once_and_has_the_first_command_carried_out() {
    let mut cluster = Cluster::start(2, 2);
    assert_eq!(say(cluster.clients(), "set k 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    drop(cluster.nodes.remove("n2"));
    std::fs::remove_dir_all(cluster.file("n2")).unwrap();
    cluster.start_node("n2");
    let answer = say(&cluster.nodes["n2"].address, "get k", "END\r\n");
    assert_eq!(answer, "VALUE k 0 1\r\nx\r\nEND\r\n");
}

#[test]
fn a_cluster_whose_managers_are_lost_goes_on_from_a_backup_and_a_new_manager_says_what_to_do() {
    let mut cluster = Cluster::start(2, 2);
    assert_eq!(say(cluster.clients(), "set k 0 0 1\r\nv", "\r\n"), "STORED\r\n");
    let (file, managers) = (cluster.file("backup"), cluster.manager.address.clone());
    let backup = ["manager", "backup", "--manager", &managers, file.to_str().unwrap()];
    let made = fawn(&backup);
    assert!(made.code == 0 && made.stderr.contains("with the members n1, n2"), "{made:?}");
    // What is no file stays what it is.
    let to = |name: &str| fawn(&["manager", "backup", "--manager", &managers, name]);
    assert_eq!(to("/dev/null").code, 0);
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&std::fs::metadata("/dev/null").unwrap().file_type()));
    let refused = to(cluster.file("n1").to_str().unwrap());
    assert!(refused.code == 1 && refused.stderr.contains("it is a directory: name a file in it"), "{refused:?}");
    let (program, arguments) = (env!("CARGO_BIN_EXE_fawn"), ["manager", "backup", "--manager", &managers, "-"]);
    let printed = std::process::Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&printed.stderr);
    assert!(said.contains("standard output has cluster"), "{said}");
    assert_eq!(printed.stdout.get(..8), std::fs::read(&file).unwrap().get(..8), "both are backups");
    let cluster_id = cluster.status()["cluster"].clone();
    let start = |dir: &Path, log: &Path| {
        let command = fawn_command(&["manager", "--dir", dir.to_str().unwrap(), "--listen", &managers]);
        Process::logged(command, log, " ready on ")
    };
    // One that knows nothing begins another cluster, and says that this is not what its nodes look for.
    cluster.manager.child.kill().unwrap();
    cluster.manager.child.wait().unwrap();
    std::fs::remove_dir_all(cluster.file("m")).unwrap();
    let log = cluster.file("new.log");
    let new = start(&cluster.file("new"), &log);
    wait_for("what to do", || {
        let log = std::fs::read_to_string(&log).unwrap();
        (log.contains("belongs to cluster") && log.contains("recover them")).then_some(())
    });
    drop(new);
    assert!(say(cluster.clients(), "get k", "END\r\n").starts_with("VALUE k 0 1\r\nv"), "nodes go on meanwhile");
    let dir = cluster.file("restored");
    let restore = ["manager", "restore", "--dir", dir.to_str().unwrap(), file.to_str().unwrap()];
    assert_eq!(fawn(&restore).code, 2, "it has to be said that the managers are lost");
    let restored = fawn(&[&restore[..], &["--managers-are-lost"]].concat());
    assert!(restored.code == 0 && restored.stderr.contains("is the only one of cluster"), "{restored:?}");
    cluster.manager = start(&dir, &cluster.file("restored.log"));
    wait_for("a cluster at rest", || {
        let status = cluster.status();
        (status["cluster"] == cluster_id && status["settled"] == true).then_some(())
    });
    for node in cluster.nodes.values() {
        wait_for("what was there", || say(&node.address, "get k", "\r\n").starts_with("VALUE k 0 1\r\n").then_some(()));
        wait_for("a write", || (say(&node.address, "set k 0 0 1\r\nv", "\r\n") == "STORED\r\n").then_some(()));
    }
}

#[test]
fn what_the_nodes_of_a_cluster_hold_without_managers_goes_into_a_new_cluster() {
    let mut cluster = Cluster::start(3, 2);
    cluster.load(&numbered(300));
    // One leaves its chains, and does not hear what comes then.
    let stop = |mut node: Process| {
        node.signal(Signal::TERM);
        assert!(node.child.wait().unwrap().success());
    };
    cluster.nodes.remove("n3").map(stop).unwrap();
    wait_for("chains without it", || {
        let status = cluster.status();
        let has = |range: &Value| range["chain"].as_array().is_some_and(|chain| chain.contains(&"n3".into()));
        (status["settled"] == true && !status["ranges"].as_array()?.iter().any(has)).then_some(())
    });
    for n in 0..100 {
        let set = format!("set k{n} 0 0 3\r\nnew");
        wait_for("a write", || (say(cluster.clients(), &set, "\r\n") == "STORED\r\n").then_some(()));
    }
    for n in 100..200 {
        let gone = |answer: &str| answer == "DELETED\r\n" || answer == "NOT_FOUND\r\n";
        wait_for("a deletion", || gone(&say(cluster.clients(), &format!("delete k{n}"), "\r\n")).then_some(()));
    }
    // A record tells the others of those before it.
    for n in 0..100 {
        say(cluster.clients(), &format!("set last{n} 0 0 1\r\nx"), "\r\n");
    }
    std::mem::take(&mut cluster.nodes).into_values().for_each(stop);
    cluster.manager.child.kill().unwrap();
    let dirs = ["n1", "n2", "n3"].map(|name| cluster.file(name).to_str().unwrap().to_owned());
    let all = fawn(&[&["store", "dump"][..], &dirs.each_ref().map(String::as_str)].concat());
    assert_eq!(all.code, 0, "{}", all.stderr);
    let lines: Vec<String> = all.stdout.lines().filter(|line| !line.contains("last")).map(ToOwned::to_owned).collect();
    let records = by_key(&lines);
    assert_eq!(records.len(), 200, "each key once, and none that was deleted");
    assert!((0..100).all(|n| records[&format!("k{n}")]["value"] == "new"));
    let some = fawn(&["store", "dump", &dirs[2], &dirs[2]]);
    assert_eq!(some.code, 1, "a directory is open once: {}", some.stderr);
    let new = Cluster::start(1, 1);
    new.load(&lines.join("\n"));
    assert_eq!(by_key(&new.dump("out.jsonl").1).len(), 200);
}

#[test]
fn a_sole_manager_that_comes_back_elsewhere_serves_who_is_told_and_the_others_say_where_they_call_it() {
    let mut cluster = Cluster::start(1, 1);
    assert_eq!(say(cluster.clients(), "set k 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    let (any, was) = ("127.0.0.1:0", cluster.manager.address.clone());
    let command = |name: &str, managers: &str| {
        let fixed = ["frontend", "--name", name, "--threads", "1", "--listen", any, "--cluster-listen", any];
        fawn_command(&[&fixed[..], &["--manager", managers]].concat())
    };
    let front = Process::logged(command("f1", &was), &cluster.file("f1.log"), "serving memcached on ");
    let manager = fawn_command(&["manager", "--dir", cluster.file("m").to_str().unwrap(), "--listen", any]);
    cluster.manager.signal(Signal::KILL);
    let moved = Process::logged(manager, &cluster.file("manager.log"), " ready on ");
    assert_ne!(moved.address, was);
    for name in ["n1", "f1"] {
        let told = wait_for("where it calls managers", || {
            let log = std::fs::read_to_string(cluster.file(&format!("{name}.log"))).unwrap();
            log.lines().find(|line| line.contains("no leading manager for ")).map(ToOwned::to_owned)
        });
        assert!(told.contains(&format!("(called at {was})")), "{told}");
        assert!(told.ends_with("or restart this process with their present addresses (--manager)"), "{told}");
    }
    assert_eq!(say(&front.address, "get k", "END\r\n"), "VALUE k 0 1\r\nx\r\nEND\r\n", "they go on");
    front.stop(Signal::TERM);
    // One that starts with the address that was says so, too.
    let log = cluster.file("f2.log");
    let mut stray = command("f2", &was);
    let stray = stray.stderr(std::fs::File::create(&log).unwrap()).stdout(Stdio::null()).spawn().unwrap();
    let stray = Process { child: stray, address: String::new() };
    wait_for("what it waits for", || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.contains(&format!(" at {was}; if managers have other addresses now")).then_some(())
    });
    drop(stray);

    cluster.nodes.remove("n1").unwrap().stop(Signal::TERM);
    cluster.manager = moved;
    cluster.start_node("n1");
    let again = command("f1", &cluster.manager.address);
    let front = Process::logged(again, &cluster.file("f1.log"), "serving memcached on ");
    for address in [cluster.clients(), &front.address] {
        assert_eq!(say(address, "get k", "END\r\n"), "VALUE k 0 1\r\nx\r\nEND\r\n");
        wait_for("a write", || (say(address, "set k 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(()));
    }
}
