//! Archives: nodes whose copies are read only where no other node has the data.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::{Cluster, Process, numbered};
use crate::server::{fawn_command, say, wait_for};

/// The command of a member of the cluster that is no node of the others' kind.
fn command(cluster: &Cluster, what: &str, name: &str, more: &[&str]) -> Command {
    let any = "127.0.0.1:0";
    let mut command = fawn_command(&[what, "--name", name, "--cluster-listen", any, "--threads", "1"]);
    command.args(["--manager", &cluster.manager.address]).args(more);
    if what == "node" {
        command.arg("--dir").arg(cluster.file(name)).args(["--memory", "64M", "--virtual-ids", "2"]);
    }
    command
}

fn start_archive(cluster: &mut Cluster, name: &str, more: &[&str]) {
    let mut archive = command(cluster, "node", name, &["--class", "archive"]);
    archive.args(more);
    let log = cluster.file(&format!("{name}.log"));
    cluster.nodes.insert(name.to_owned(), Process::logged(archive, &log, " ready on "));
}

/// What a process says that cannot start.
fn refusal(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "it starts");
    String::from_utf8(output.stderr).unwrap()
}

/// Waits until every range has a chain that begins with this node, and goes on with so many archives.
fn await_chains(cluster: &Cluster, head: &str, archives: usize) {
    wait_for("the chains", || {
        let status = cluster.status();
        let is_so = |range: &Value| {
            let chain: Vec<&str> = range["chain"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            chain.len() == 1 + archives && chain[0] == head && chain[1..].iter().all(|name| name.starts_with('a'))
        };
        (status["settled"] == true && status["ranges"].as_array()?.iter().all(is_so)).then_some(())
    });
}

#[test]
fn archives_hold_copies_that_are_read_only_once_no_other_node_has_them() {
    let mut cluster = Cluster::start(1, 3);
    cluster.load(&numbered(500));
    start_archive(&mut cluster, "a1", &[]);
    start_archive(&mut cluster, "a2", &[]);
    await_chains(&cluster, "n1", 2);
    let status = cluster.status();
    let class = |name: &str| {
        let members = status["members"].as_array().unwrap();
        members.iter().find(|member| member["name"] == name).unwrap()["class"].clone()
    };
    assert_eq!((class("n1"), class("a1")), ("serving".into(), "archive".into()));
    let front = command(&cluster, "frontend", "f1", &["--listen", "127.0.0.1:0", "--cache", "0"]);
    let front = Process::logged(front, &cluster.file("f1.log"), "serving memcached on ");
    let get = |n: usize| say(&front.address, &format!("get k{n}"), "END\r\n");
    let value = |n: usize| format!("VALUE k{n} 0 100\r\n{n:0>100}\r\nEND\r\n");
    for n in 1..100 {
        assert_eq!(get(n), value(n));
    }

    // Gets need no archive, and writes need all members.
    for name in ["a1", "a2"] {
        cluster.nodes[name].signal(Signal::STOP);
    }
    let began = Instant::now();
    for n in 1..100 {
        assert_eq!(get(n), value(n));
    }
    assert!(began.elapsed() < Duration::from_secs(1), "no get waits for a member that is gone");
    for name in ["a1", "a2"] {
        cluster.nodes[name].signal(Signal::CONT);
    }
    await_chains(&cluster, "n1", 2);
    wait_for("a write", || (say(&front.address, "set k500 0 0 1\r\nx", "\r\n") == "STORED\r\n").then_some(()));

    // The archives have all of it, and a node that comes copies it from them.
    cluster.nodes.remove("n1").unwrap().child.kill().unwrap();
    for n in 1..100 {
        wait_for("a get from an archive", || (get(n) == value(n)).then_some(()));
    }
    assert_eq!(say(&front.address, "get k500", "END\r\n"), "VALUE k500 0 1\r\nx\r\nEND\r\n");
    cluster.start_node("n2");
    await_chains(&cluster, "n2", 2);
    for n in 1..100 {
        assert_eq!(get(n), value(n));
    }
}

#[test]
fn a_node_keeps_its_class_and_a_weak_cluster_takes_no_archive() {
    let mut cluster = Cluster::start(1, 2);
    start_archive(&mut cluster, "a1", &[]);
    cluster.nodes.remove("a1").unwrap().stop(Signal::TERM);
    let said = refusal(command(&cluster, "node", "a1", &["--listen", "127.0.0.1:0"]));
    assert!(said.contains("a1 was created with class archive, not serving: start it as before"), "{said}");
    let said = refusal(command(&cluster, "node", "a2", &["--class", "archive", "--unix", "socket"]));
    assert!(said.contains("an archive serves no clients: leave out --listen, --redis, --http and --unix"), "{said}");

    let said = refusal(command(&cluster, "node", "n3", &["--rest", "1m"]));
    assert!(said.contains("only an archive may rest: give --class archive, or leave out --rest"), "{said}");
    let said = refusal(command(&cluster, "node", "a2", &["--class", "archive", "--rest", "2h"]));
    assert!(said.contains("give at most 1h"), "{said}");

    let weak = Cluster::start_as(1, 1, |name, command| {
        if name == "manager" {
            command.args(["--consistency", "weak"]);
        }
    });
    let said = refusal(command(&weak, "node", "a1", &["--class", "archive"]));
    assert!(said.contains("a1 cannot be an archive of a weak cluster"), "{said}");
}

#[test]
fn archives_that_rested_do_not_begin_a_chain_again_without_a_node_that_serves() {
    let mut cluster = Cluster::start(1, 2);
    start_archive(&mut cluster, "a1", &["--rest", "1h"]);
    await_chains(&cluster, "n1", 1);
    let stored = |key: &str| say(cluster.clients(), &format!("set {key} 0 0 1\r\nx"), "\r\n") == "STORED\r\n";
    wait_for("a write", || stored("first").then_some(()));
    assert!((0..50).all(|n| stored(&format!("k{n}"))), "the archive's sync is an hour away");
    for name in ["n1", "a1"] {
        let mut node = cluster.nodes.remove(name).unwrap();
        node.child.kill().unwrap();
        node.child.wait().unwrap();
    }
    // At this start it does not rest, but it did.
    start_archive(&mut cluster, "a1", &[]);
    let heard = |cluster: &Cluster| {
        let status = cluster.status();
        let members = status["members"].as_array()?;
        members.iter().any(|member| member["name"] == "a1" && member["state"] == "up").then_some(status)
    };
    wait_for("the archive", || heard(&cluster));
    std::thread::sleep(Duration::from_secs(4));
    let status = cluster.status();
    let ranges = status["ranges"].as_array().unwrap();
    let goes_on = |range: &Value| range["chain"].as_array().unwrap().iter().eq(["a1"]);
    assert!(!ranges.iter().any(goes_on), "the archive may lack what was acknowledged: {status}");
    cluster.start_node("n1");
    for n in 0..50 {
        let value = format!("VALUE k{n} 0 1\r\nx\r\nEND\r\n");
        wait_for("what was stored", || {
            (say(cluster.clients(), &format!("get k{n}"), "END\r\n") == value).then_some(())
        });
    }
}

#[test]
fn an_archive_that_rested_and_stopped_cleanly_begins_a_chain_again_alone() {
    let mut cluster = Cluster::start(1, 2);
    start_archive(&mut cluster, "a1", &["--rest", "1h"]);
    await_chains(&cluster, "n1", 1);
    let front = command(&cluster, "frontend", "f1", &["--listen", "127.0.0.1:0", "--cache", "0"]);
    let front = Process::logged(front, &cluster.file("f1.log"), "serving memcached on ");
    let stored = |key: &str| say(&front.address, &format!("set {key} 0 0 1\r\nx"), "\r\n") == "STORED\r\n";
    wait_for("a write", || stored("first").then_some(()));
    assert!((0..50).all(|n| stored(&format!("k{n}"))), "the archive's sync is an hour away");
    let (mut node, mut archive) = (cluster.nodes.remove("n1").unwrap(), cluster.nodes.remove("a1").unwrap());
    node.child.kill().unwrap();
    // What it has yet to sync it syncs now. That it rested is over.
    archive.signal(Signal::TERM);
    assert!(archive.child.wait().unwrap().success());
    node.child.wait().unwrap();
    let file = cluster.file("a1").join("MEMBER");
    let member = || std::fs::read_to_string(&file).unwrap();
    assert!(!member().contains("rested"), "{}", member());
    start_archive(&mut cluster, "a1", &["--rest", "1h"]);
    for n in 0..50 {
        let value = format!("VALUE k{n} 0 1\r\nx\r\nEND\r\n");
        wait_for("what was stored", || (say(&front.address, &format!("get k{n}"), "END\r\n") == value).then_some(()));
    }
    assert!(member().contains("\nrested\n"), "it rests again: {}", member());
}
