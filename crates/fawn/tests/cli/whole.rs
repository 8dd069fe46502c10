//! `fawn serve --nodes`: what it does with directories that are there already.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::server::{fawn, fawn_command, say, wait_for};

/// A process whose standard error goes into a file.
struct Process {
    child: Child,
    log: PathBuf,
    /// The end of its first line; empty if it has said none.
    address: String,
    /// The end of its next line, if it is a cluster in one process: where its manager is.
    manager: String,
}

impl Process {
    fn start(dir: &Path, arguments: &[&str]) -> Self {
        let log = dir.with_extension("log");
        let mut command = fawn_command(&[arguments, &["--listen", "127.0.0.1:0"]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            line.trim().rsplit_once(" on ").map(|(_, address)| address.to_owned()).unwrap_or_default()
        };
        let address = next();
        let manager = if arguments.contains(&"--nodes") { next() } else { String::new() };
        Self { child, log, address, manager }
    }

    fn serve(dir: &Path, more: &[&str]) -> Self {
        let fixed = ["serve", "--dir", dir.to_str().unwrap(), "--memory", "64M", "--threads", "2"];
        Self::start(dir, &[&fixed[..], more].concat())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn stop(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "a clean stop exits with 0: {}", self.log());
        self.log()
    }

    /// Waits until it has given up, before it served; its log.
    fn refused(mut self) -> String {
        assert_eq!(self.address, "", "it serves nobody");
        assert_eq!(self.child.wait().unwrap().code(), Some(1));
        self.log()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Until a write goes through.
fn takes_writes(process: &Process) {
    wait_for("a write", || (say(&process.address, "set w 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(()));
}

#[test]
fn a_cluster_in_one_process_does_not_begin_beside_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let plain = Process::serve(&data, &[]);
    takes_writes(&plain);
    plain.stop();
    let told = Process::serve(&data, &["--nodes", "2"]).refused();
    assert!(told.contains("`fawn node --dir "), "{told}");
    assert!(!data.join("manager").exists() && !data.join("node-1").exists());
    let plain = Process::serve(&data, &[]);
    assert_eq!(say(&plain.address, "get w", "END\r\n"), "VALUE w 0 1\r\nx\r\nEND\r\n");
}

#[test]
fn a_cluster_in_one_process_is_started_with_all_of_its_nodes_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let cluster = Process::serve(&data, &["--nodes", "2"]);
    takes_writes(&cluster);
    cluster.stop();
    let told = Process::serve(&data, &["--nodes", "1"]).refused();
    assert!(told.contains("has 2 nodes, and each has its own keys: give --nodes 2"), "{told}");
    let told = Process::serve(&data, &[]).refused();
    assert!(told.contains("is the directory of a cluster in one process: give --nodes 2"), "{told}");
    let cluster = Process::serve(&data, &["--nodes", "2"]);
    wait_for("what was written", || {
        say(&cluster.address, "get w", "\r\n").starts_with("VALUE w 0 1\r\n").then_some(())
    });
}

#[test]
fn replicas_that_a_cluster_in_one_process_does_not_have_are_told_and_how_it_gets_them() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let cluster = Process::serve(&data, &["--nodes", "2", "--replicas", "1"]);
    takes_writes(&cluster);
    assert!(!cluster.stop().contains("copies of each value"));
    let two = ["--nodes", "2", "--replicas", "2"];
    let cluster = Process::serve(&data, &two);
    let told = "keeps 1 copies of each value, and --replicas 2 does not change that";
    wait_for("the warning", || cluster.log().contains(told).then_some(()));
    takes_writes(&cluster);
    assert_eq!(cluster.stop().matches(told).count(), 1);
    // As the warning says.
    let managers = data.join("manager");
    let manager = Process::start(&data, &["manager", "--dir", managers.to_str().unwrap()]);
    let set = fawn(&["cluster", "set", "--manager", &manager.address, "--replicas", "2"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    let status = fawn(&["status", "--manager", &manager.address, "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["settings"]["replicas"], 2);
    manager.stop();
    let cluster = Process::serve(&data, &["--nodes", "2"]);
    takes_writes(&cluster);
    // The warning comes once the manager leads, as it does by now.
    std::thread::sleep(Duration::from_secs(1));
    assert!(!cluster.stop().contains("copies of each value"), "nobody has asked for any number");
    takes_writes(&Process::serve(&data, &two));
}

#[test]
fn a_manager_does_not_begin_among_a_stores_data() {
    let dir = tempfile::tempdir().unwrap();
    let (one, all) = (dir.path().join("one"), dir.path().join("all"));
    let plain = Process::serve(&one, &[]);
    takes_writes(&plain);
    let cluster = Process::serve(&all, &["--nodes", "2"]);
    takes_writes(&cluster);
    cluster.stop();
    for (data, says) in [
        (one.clone(), "is the data directory of a node or of `fawn serve`"),
        (all.join("node-1"), "is the data directory of a node or of `fawn serve`"),
        (all.clone(), "is the directory of `fawn serve --nodes`: its manager's directory is "),
    ] {
        let at = data.to_str().unwrap();
        let begin = fawn(&["manager", "--dir", at, "--listen", "127.0.0.1:0"]);
        let recover = fawn(&["manager", "recover", "--others-are-lost", "--dir", at]);
        for run in [begin, recover] {
            assert!(run.code == 1 && run.stderr.contains(says), "{says}: {run:?}");
        }
        assert!(!data.join("manager.log").exists() && !data.join("manager.redb").exists());
    }
    plain.stop();
}

#[test]
fn a_cluster_in_one_process_is_looked_at_and_changed_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let whole = ["--nodes", "2", "--replicas", "2"];
    let cluster = Process::serve(&data, &[&whole[..], &["--manager-address", "127.0.0.1:0"]].concat());
    // The first command is carried out.
    assert_eq!(say(&cluster.address, "set w 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    let manager = cluster.manager.clone();
    let members = || {
        let status = fawn(&["status", "--manager", &manager, "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        let chains = status["ranges"].as_array().map_or(0, |ranges| {
            ranges.iter().filter(|range| range["chain"].as_array().is_some_and(|chain| chain.len() < 2)).count()
        });
        let names = |member: &serde_json::Value| member["name"].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = status["members"].as_array().into_iter().flatten().map(names).collect();
        (names, chains == 0 && status["settled"] == true)
    };
    assert_eq!(members().0, ["node-1", "node-2"]);
    // One more, as a process of its own, which is killed and comes back.
    let more = dir.path().join("more");
    let more = ["node", "--name", "n3", "--dir", more.to_str().unwrap(), "--manager", &manager, "--memory", "64M"];
    let more = [&more[..], &["--threads", "1", "--cluster-listen", "127.0.0.1:0"]].concat();
    drop(Process::start(&dir.path().join("n3"), &more));
    let third = Process::start(&dir.path().join("n3"), &more);
    assert!(say(&third.address, "get w", "END\r\n").starts_with("VALUE w 0 1\r\nx\r\n"));
    wait_for("three level members", || (members().0.len() == 3 && members().1).then_some(()));
    // One of the process's own leaves, and the others serve without it.
    let drained = fawn(&["node", "drain", "node-2", "--manager", &manager]);
    assert_eq!(drained.code, 0, "{}", drained.stderr);
    assert_eq!(fawn(&["node", "remove", "node-2", "--manager", &manager, "--force"]).code, 0);
    wait_for("that it serves without the node", || {
        cluster.log().contains("node-2 was removed from the cluster: this process continues without it").then_some(())
    });
    let get = || {
        let stream = std::net::TcpStream::connect(&cluster.address).is_ok();
        (stream && say(&cluster.address, "get w", "END\r\n").starts_with("VALUE w")).then_some(())
    };
    wait_for("an answer", get);
    assert_eq!(members().0, ["n3", "node-1"]);
    cluster.stop();
    // The manager is where it was.
    let cluster = Process::serve(&data, &whole);
    assert_eq!(cluster.manager, manager);
    wait_for("what it has", || say(&cluster.address, "get w", "\r\n").starts_with("VALUE w 0 1\r\n").then_some(()));
    assert_eq!(members().0, ["n3", "node-1"]);
}

#[test]
fn a_weak_cluster_takes_what_depends_on_no_value_and_stays_weak() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let nodes = ["--nodes", "2", "--replicas", "2"];
    let cluster = Process::serve(&data, &[&nodes[..], &["--consistency", "weak"]].concat());
    takes_writes(&cluster);
    let is_refused = |cluster: &Process, command: &str| {
        let said = say(&cluster.address, command, "\r\n");
        assert!(said.starts_with("CLIENT_ERROR this cluster is weak and refuses cas, add"), "{command}: {said}");
    };
    let refused = |cluster: &Process| {
        for command in ["add", "replace", "append", "prepend"] {
            is_refused(cluster, &format!("{command} w 0 0 1\r\ny"));
        }
        for command in [
            "cas w 0 0 1 7\r\ny",
            "incr w 1",
            "decr w 1",
            "ma w",
            "ms w 1 MA\r\ny",
            "ms w 1 C7\r\ny",
            "md w C7",
            "md w I",
            "mg w N30 v",
        ] {
            is_refused(cluster, command);
        }
    };
    refused(&cluster);
    let said = |command: &str, end: &str| say(&cluster.address, command, end);
    assert_eq!(said("get w", "END\r\n"), "VALUE w 0 1\r\nx\r\nEND\r\n", "what is refused changes nothing");
    for (command, answer) in [
        ("ms m 1 T0\r\nz", "HD\r\n"),
        ("touch w 100", "TOUCHED\r\n"),
        ("mg w v", "VA 1\r\nx\r\n"),
        ("delete m", "DELETED\r\n"),
        ("md m", "NF\r\n"),
        ("flush_all", "OK\r\n"),
        ("mg w", "EN\r\n"),
    ] {
        assert_eq!(said(command, answer), answer, "{command}");
    }
    takes_writes(&cluster);
    cluster.stop();
    let cluster = Process::serve(&data, &[&nodes[..], &["--consistency", "strong"]].concat());
    let told = "was created with --consistency weak, which no flag changes";
    wait_for("the warning", || cluster.log().contains(told).then_some(()));
    takes_writes(&cluster);
    refused(&cluster);
}
