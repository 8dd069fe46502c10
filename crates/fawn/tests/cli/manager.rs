//! Managers, and the commands that ask them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::server::{Run, fawn, fawn_command, wait_for};

/// Where the manager of a directory logs.
fn log_of(dir: &Path) -> PathBuf {
    dir.with_extension("log")
}

/// A manager that runs.
struct Manager {
    child: Child,
    address: String,
}

impl Manager {
    fn start(dir: &Path, more: &[&str]) -> Self {
        let log = File::options().append(true).create(true).open(log_of(dir)).unwrap();
        let mut arguments = vec!["manager", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let mut child = fawn_command(&arguments).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once(" ready on ").expect("it says where it is").1.to_owned();
        Self { child, address }
    }

    /// As a service manager stops it.
    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "a clean stop exits with 0");
    }

    /// The status as JSON.
    fn status(&self) -> serde_json::Value {
        let run = fawn(&["status", "--manager", &self.address, "--json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_manager_begins_a_cluster_and_keeps_what_it_was_told() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(&dir.path().join("1"), &["--replicas", "2"]);
    let before = manager.status();
    assert_eq!(before["settings"]["replicas"], 2);
    let lacks = before["lacks"].as_array().unwrap();
    assert!(
        lacks.iter().any(|what| what.as_str().unwrap().contains("fewer than 2 replicas")),
        "there is no node: {lacks:?}"
    );
    let set = |arguments: &[&str]| {
        let mut all = vec!["cluster", "set", "--manager", &manager.address];
        all.extend(arguments);
        fawn(&all)
    };
    let done = set(&["--replicas", "5", "--ack", "replicated"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, ""), "{}", done.stderr);
    assert_eq!(done.stderr, "the cluster has new settings: replicas 5, ack replicated\n");
    let refused = set(&["--min-write-replicas", "6"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("min_write_replicas is 6, but chains have at most 5"), "{}", refused.stderr);
    assert_eq!(set(&[]).code, 2, "something is to be set");
    manager.stop();
    let manager = Manager::start(&dir.path().join("1"), &[]);
    let after = manager.status();
    assert_eq!(after["cluster"], before["cluster"]);
    assert_eq!((&after["settings"]["replicas"], &after["settings"]["ack"]), (&5.into(), &"replicated".into()));
}

#[test]
fn the_consistency_that_a_cluster_began_with_is_kept_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(&dir.path().join("1"), &["--consistency", "weak"]);
    assert_eq!(manager.status()["settings"]["consistency"], "weak");
    let table = fawn(&["status", "--manager", &manager.address]);
    assert!(table.stdout.contains("consistency weak"), "{}", table.stdout);
    let set = fawn(&["cluster", "set", "--manager", &manager.address, "--spread-reads", "true"]);
    assert!(set.code == 1 && set.stderr.contains("this cluster is weak"), "{}", set.stderr);
    manager.stop();
    let manager = Manager::start(&dir.path().join("1"), &[]);
    assert_eq!(manager.status()["settings"]["consistency"], "weak");
    let strong = Manager::start(&dir.path().join("2"), &[]);
    assert_eq!(strong.status()["settings"]["consistency"], "strong");
    let refused = fawn(&["manager", "--consistency", "weak", "--spread-reads"]);
    assert!(refused.code == 2 && refused.stderr.contains("leave out --spread-reads"), "{}", refused.stderr);
}

#[test]
fn a_manager_that_is_started_again_does_not_say_that_the_cluster_begins() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("1");
    let said = |what: &str| std::fs::read_to_string(log_of(&dir)).unwrap().matches(what).count();
    let manager = Manager::start(&dir, &[]);
    wait_for("the version", || (said(", which is the cluster's from now on") == 1).then_some(()));
    assert_eq!((said("the cluster begins: "), said("this manager belongs to cluster ")), (1, 0));
    manager.stop();
    let manager = Manager::start(&dir, &[]);
    wait_for("the leader", || (said("this manager leads, in term") == 2).then_some(()));
    manager.stop();
    assert_eq!((said("the cluster begins: "), said("this manager belongs to cluster ")), (1, 1));
    assert_eq!(said(", which is the cluster's from now on"), 1);
}

#[test]
fn people_read_a_table_without_colours_where_nobody_looks() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(&dir.path().join("1"), &[]);
    let run = fawn(&["status", "--manager", &manager.address, "--ranges"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in ["cluster ", "replicas 3", "MANAGER", &manager.address, "leader, term", "MEMBER", "RANGE"] {
        assert!(run.stdout.contains(part), "{part} is in {}", run.stdout);
    }
    assert!(!run.stdout.contains('\x1b'), "{:?}", run.stdout);
    let plan = fawn(&["rebalance", "--dry-run", "--manager", &manager.address]);
    assert_eq!((plan.code, plan.stdout.as_str()), (0, "nothing would change\n"), "{}", plan.stderr);
}

#[test]
fn a_member_that_there_is_not_cannot_leave() {
    let dir = tempfile::tempdir().unwrap();
    let manager = Manager::start(&dir.path().join("1"), &[]);
    for command in ["drain", "remove"] {
        let run = fawn(&["node", command, "nobody", "--manager", &manager.address]);
        assert_eq!(run.code, 1);
        assert!(run.stderr.contains("there is no member nobody"), "{}", run.stderr);
    }
}

#[test]
fn where_no_manager_answers_that_is_said_in_time() {
    let run = fawn(&["status", "--manager", "127.0.0.1:1", "--timeout", "300ms"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("no leading manager answered within 300ms"), "{}", run.stderr);
    assert!(run.stderr.contains("127.0.0.1:1"), "{}", run.stderr);
}

/// Whoever names what cannot be a manager knows it within this, on a busy machine too.
const SOON: Duration = Duration::from_secs(20);

/// A port where nothing but this is ever said.
fn port_that_says(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let (mut stream, mut buffer) = (stream.unwrap(), [0; 4096]);
                let mut said = Vec::new();
                // As servers of lines do: what has no end of a line is waited for.
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    said.extend_from_slice(&buffer[..count]);
                    if said.windows(4).any(|end| end == b"\r\n\r\n") {
                        return stream.write_all(answer.as_bytes());
                    }
                }
                Ok(())
            });
        }
    });
    address
}

#[test]
fn whoever_names_what_is_no_manager_is_told_what_answers_and_what_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let serve = ["serve", "--dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "64M"];
    let mut server = fawn_command(&[&serve[..], &["--threads", "1", "--admin", "127.0.0.1:0"]].concat());
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut after = |before: &str| lines.find_map(|line| Some(line.split_once(before)?.1.to_owned())).unwrap();
    let memcached = after("serving memcached on ");
    let admin = after(" on http://").trim_end_matches('/').to_owned();
    let (http, silent) = (port_that_says("HTTP/1.1 400 Bad Request\r\n\r\n"), port_that_says(""));
    let mut asked = vec![
        (&memcached[..], "a memcached port answers"),
        (&admin, "an HTTP server answers"),
        (&http, "an HTTP server answers"),
        ("no-such-host.invalid:7400", "the name in no-such-host.invalid:7400 "),
    ];
    let out = dir.path().join("out.jsonl");
    let commands = [
        &["status", "--check"][..],
        &["node", "drain", "n1"],
        &["rebalance", "--dry-run"],
        &["cluster", "set", "--ack", "durable"],
        &["manager", "backup", "-"],
        &["dump", out.to_str().unwrap()],
    ];
    let told = |command: &[&str], address: &str, says: &str| {
        let start = Instant::now();
        let run = fawn(&[command, &["--manager", address]].concat());
        let took = start.elapsed();
        assert!(run.code == 1 && run.stderr.contains(says), "{command:?}, {address}: {run:?}");
        assert!(run.stderr.contains("--manager"), "{command:?}, {address}: {run:?}");
        assert!(took < SOON, "{command:?}, {address}: {took:?}");
    };
    std::thread::scope(|scope| {
        for command in commands {
            for (address, says) in asked.iter().copied() {
                let told = &told;
                scope.spawn(move || told(command, address, says));
            }
        }
        // A node waits for its managers, and says so.
        let (node, log) = (dir.path().join("node"), dir.path().join("node.log"));
        let any = "127.0.0.1:0";
        let fixed = ["node", "--name", "n1", "--dir", node.to_str().unwrap(), "--memory", "64M", "--threads", "1"];
        let more = ["--listen", any, "--cluster-listen", any, "--manager", &memcached];
        let mut command = fawn_command(&[&fixed[..], &more].concat());
        let mut child = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        wait_for("a word from a node that waits", || {
            let log = std::fs::read_to_string(&log).unwrap();
            log.contains(&format!("({memcached}: it does not answer: is it the address of a manager?)")).then_some(())
        });
        child.kill().unwrap();
        child.wait().unwrap();
    });
    asked.truncate(2);
    let both = asked.iter().map(|(address, _)| *address).collect::<Vec<_>>().join(",");
    told(commands[0], &both, &format!("at {memcached}, a memcached port answers; at {admin}, an HTTP server answers"));
    // Whoever says nothing may be a manager that is held up.
    let run = fawn(&["status", "--manager", &silent, "--timeout", "3s"]);
    assert!(run.code == 1 && run.stderr.contains("no leading manager answered within 3s"), "{run:?}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn managers_are_added_and_taken_out_and_one_that_is_left_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let first = Manager::start(&dir.path().join("1"), &[]);
    let second = Manager::start(&dir.path().join("2"), &["--join", &first.address]);
    let voters = |manager: &Manager| {
        let status = manager.status();
        let managers = status["managers"].as_array().unwrap();
        managers.iter().filter(|one| one["votes"] == true).count()
    };
    wait_for("two managers", || (voters(&first) == 2).then_some(()));
    let unknown = fawn(&["manager", "remove", "127.0.0.1:1", "--manager", &first.address]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("there is no manager 127.0.0.1:1"), "{}", unknown.stderr);

    // Half of two is no majority.
    let before = first.status();
    let address = first.address.clone();
    let dir_1 = dir.path().join("1");
    let log = || std::fs::read_to_string(log_of(&dir_1)).unwrap();
    drop(second);
    wait_for("that the other is missed", || log().contains("is unreachable").then_some(()));
    // Longer than some tries of consensus, which are not told.
    std::thread::sleep(Duration::from_secs(1));
    first.stop();
    let log = log();
    assert!(log.matches("is unreachable").count() <= 2, "it hung up, and is not there: {log}");
    assert!(!log.contains("openraft") && !log.contains("ERROR"), "{log}");
    let recover = ["manager", "recover", "--dir", dir_1.to_str().unwrap()];
    assert_eq!(fawn(&recover).code, 2, "it has to be said that the others are lost");
    let run = fawn(&[&recover[..], &["--others-are-lost"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("is now the only one of its group"), "{}", run.stderr);
    assert!(run.stderr.contains("with its old directory"), "{}", run.stderr);
    let first = Manager::start(&dir_1, &["--advertise", &address]);
    let after = first.status();
    assert_eq!((&after["cluster"], after["managers"].as_array().unwrap().len()), (&before["cluster"], 1));
}

/// Runs programs where names are asked of a server that never answers, for 40 seconds each.
struct SilentResolver(tempfile::NamedTempFile);

impl SilentResolver {
    fn new() -> Option<Self> {
        let resolver = Self(tempfile::NamedTempFile::new().unwrap());
        std::fs::write(resolver.0.path(), "nameserver 10.0.0.1\n").unwrap();
        let probe = resolver.command(&Command::new("true")).output();
        if probe.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(resolver);
        }
        eprintln!("skipped: no network of its own for a process here: {probe:?}");
        None
    }

    fn command(&self, of: &Command) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net"]);
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        // What is sent to an address behind this interface is lost.
        let script = "ip link set lo up && ip route add 10.0.0.1 dev lo && mount --bind \"$0\" /etc/resolv.conf && \
                      exec \"$@\"";
        command.args(["sh", "-c", script]).arg(self.0.path()).arg(of.get_program()).args(of.get_args());
        command.env("RES_OPTIONS", "timeout:40 attempts:1");
        command
    }
}

#[test]
fn a_name_that_nobody_resolves_is_not_waited_for() {
    let Some(resolver) = SilentResolver::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (out, address) = (dir.path().join("out.jsonl"), "no-such-host.invalid:7400");
    let commands = [
        &["status", "--manager", address][..],
        &["manager", "backup", "-", "--manager", address],
        &["dump", out.to_str().unwrap(), "--manager", address],
        &["get", "key", "--to", address, "--timeout", "2s"],
    ];
    std::thread::scope(|scope| {
        for command in commands {
            let resolver = &resolver;
            scope.spawn(move || {
                let start = Instant::now();
                let run = Run::from(resolver.command(&fawn_command(command)).output().unwrap());
                let took = start.elapsed();
                assert!(run.code == 1 && run.stderr.contains("not resolved in time"), "{command:?}: {run:?}");
                assert!(took < SOON, "{command:?}: {took:?}");
            });
        }
    });
}
