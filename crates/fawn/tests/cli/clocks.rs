//! Processes whose clock of the day is set while they run, or was wrong when they started.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;

use crate::cluster::{Cluster, Process};
use crate::observe::http;
use crate::server::{Kind, Run, Server as AnyServer, fawn, fawn_command, on_each_server, say, wait_for};

on_each_server!(expiries_are_by_the_servers_clock);

const YEAR: i64 = 31_536_000;

/// A clock that the processes of a test go by in the place of the machine's.
struct Clock {
    dir: tempfile::TempDir,
    ahead: File,
}

impl Clock {
    /// One that is right. `None`, with a message, where no process can be given one.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("clock.c");
        std::fs::write(&source, include_str!("clocks/clock.c")).unwrap();
        let mut compiler = Command::new("cc");
        let compiled = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(dir.path().join("clock.so")).arg(source);
        if !cfg!(target_arch = "x86_64") || !compiled.output().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: clocks are replaced on x86-64 only, with a C compiler (apt-get install gcc)");
            return None;
        }
        let ahead = File::create(dir.path().join("ahead")).unwrap();
        let clock = Self { dir, ahead };
        clock.set(100 * YEAR);
        let mut date = Command::new("date");
        clock.give(date.arg("+%s"));
        let text = String::from_utf8(date.output().unwrap().stdout).unwrap_or_default();
        if text.trim().parse().is_ok_and(|second: i64| second > 99 * YEAR + now()) {
            clock.set(0);
            return Some(clock);
        }
        eprintln!("skipped: the system's clock cannot be replaced here: {text:?}");
        None
    }

    /// Another, for other processes.
    fn another(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, [0; 8]).unwrap();
        path
    }

    /// Sets it so many seconds ahead.
    fn set(&self, ahead_s: i64) {
        self.ahead.write_all_at(&ahead_s.to_ne_bytes(), 0).unwrap();
    }

    /// Has a process go by it.
    fn give(&self, command: &mut Command) {
        self.give_file(command, &self.dir.path().join("ahead"));
    }

    fn give_file(&self, command: &mut Command, ahead: &std::path::Path) {
        command.env("LD_PRELOAD", self.dir.path().join("clock.so")).env("CLOCK_AHEAD", ahead);
    }
}

/// The machine's clock.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

/// A server that goes by a clock.
struct Server {
    clock: Clock,
    dir: tempfile::TempDir,
    process: Option<Process>,
}

impl Server {
    fn start(clock: Clock) -> Self {
        let mut server = Self { clock, dir: tempfile::tempdir().unwrap(), process: None };
        server.start_again();
        server
    }

    /// Starts it with what its directory holds, once it has been stopped.
    fn start_again(&mut self) {
        let dir = self.dir.path().join("data");
        let fixed = ["serve", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0"];
        let mut command = fawn_command(&[&fixed[..], &["--memory", "64M", "--threads", "1"]].concat());
        self.clock.give(&mut command);
        self.process = Some(Process::logged(command, &self.dir.path().join("log"), "serving memcached on "));
    }

    fn stop(&mut self, signal: Signal) {
        let mut process = self.process.take().unwrap();
        process.signal(signal);
        assert_eq!(process.child.wait().unwrap().success(), signal == Signal::TERM);
    }

    /// Sets the clock, and waits until the log says so.
    fn set_clock(&self, ahead_s: i64, said: &str) {
        let seen = self.log().len();
        self.clock.set(ahead_s);
        wait_for(said, || {
            // A loop that has nothing to do looks at its clock less often.
            self.say("mn");
            self.log()[seen..].contains(said).then_some(())
        });
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    fn say(&self, command: &str) -> String {
        say(&self.process.as_ref().unwrap().address, command, "\r\n")
    }

    /// Sets an item with this time to live.
    fn set(&self, key: &str, ttl_s: i64) -> String {
        self.say(&format!("set {key} 0 {ttl_s} 1\r\nx"))
    }

    fn has(&self, key: &str) -> bool {
        self.say(&format!("mg {key} v")).starts_with("VA 1")
    }

    /// Seconds that are left for an item; -1: it does not expire.
    fn left(&self, key: &str) -> i64 {
        let answer = self.say(&format!("mg {key} t"));
        answer.trim().strip_prefix("HD t").unwrap_or_else(|| panic!("{key}: {answer}")).parse().unwrap()
    }
}

#[test]
fn a_clock_that_is_set_and_set_right_again_ends_no_item_early_and_loses_none() {
    let Some(clock) = Clock::new() else { return };
    let mut server = Server::start(clock);
    let (mut forever, mut for_a_while) = (vec!["plain".to_owned()], vec!["timed".to_owned(), "touched".to_owned()]);
    for key in ["plain", "touched"] {
        assert_eq!(server.set(key, 0), "STORED\r\n");
    }
    assert_eq!(server.set("timed", 1000), "STORED\r\n");
    assert_eq!(server.say("flush_all 5000"), "OK\r\n");
    let jumps = [YEAR, -YEAR, 14 * YEAR, 90 * YEAR, 300 * YEAR, -now(), -now() - 5 * YEAR, 60];
    for (n, ahead_s) in jumps.into_iter().enumerate() {
        server.set_clock(ahead_s, "system clock ");
        for key in forever.iter().chain(&for_a_while) {
            assert!(server.has(key), "{key} while the clock is {ahead_s} s ahead");
        }
        assert_eq!(server.set(&format!("plain{n}"), 0), "STORED\r\n", "{ahead_s}");
        assert_eq!(server.set(&format!("timed{n}"), 1000), "STORED\r\n", "{ahead_s}");
        assert_eq!(server.say(&format!("ms meta{n} 1 T1000\r\nx")), "HD\r\n", "{ahead_s}");
        assert_eq!(server.set(&format!("until{n}"), now() + 1000), "STORED\r\n", "{ahead_s}");
        assert_eq!(server.say("touch touched 1000"), "TOUCHED\r\n", "{ahead_s}");
        forever.push(format!("plain{n}"));
        for_a_while.extend(["timed", "meta", "until"].map(|name| format!("{name}{n}")));
        server.set_clock(0, "the system clock is right again");
    }
    let check = |server: &Server| {
        for key in &forever {
            assert_eq!(server.left(key), -1, "{key}");
        }
        for key in &for_a_while {
            assert!((800..=1001).contains(&server.left(key)), "{key}: {}", server.left(key));
        }
    };
    check(&server);
    for signal in [Signal::TERM, Signal::KILL] {
        server.stop(signal);
        server.start_again();
        check(&server);
    }
}

#[test]
fn whatever_a_clock_shows_at_the_start_what_was_there_is_there_once_it_is_right() {
    let Some(clock) = Clock::new() else { return };
    let mut server = Server::start(clock);
    assert_eq!(server.set("plain", 0), "STORED\r\n");
    assert_eq!(server.set("timed", 1000), "STORED\r\n");
    let mut stop = [Signal::TERM, Signal::KILL].into_iter().cycle();
    for (n, (ahead_s, is_set)) in
        [(-now(), false), (90 * YEAR, false), (300 * YEAR, false), (YEAR, true), (-YEAR, true)].into_iter().enumerate()
    {
        server.stop(stop.next().unwrap());
        server.clock.set(ahead_s);
        server.start_again();
        assert!(server.has("plain"), "{ahead_s}");
        assert!(is_set || server.has("timed"), "nothing has expired by a clock that was never set: {ahead_s}");
        assert_eq!(server.set(&format!("plain{n}"), 0), "STORED\r\n", "{ahead_s}");
        let timed = server.set(&format!("timed{n}"), 1000);
        if is_set {
            assert_eq!(timed, "STORED\r\n", "{ahead_s}");
        } else {
            assert!(timed.starts_with("SERVER_ERROR the server's clock is not set"), "{ahead_s}: {timed}");
        }
        server.set_clock(0, "system clock ");
        wait_for("the time", || (server.set("timed-now", 1000) == "STORED\r\n").then_some(()));
        assert!(server.has("timed") && server.has(&format!("plain{n}")), "{ahead_s}");
        assert!(!is_set || server.has(&format!("timed{n}")), "{ahead_s}");
        // A merge or a clean stop must not drop what seemed to have expired.
        server.stop(stop.next().unwrap());
        server.start_again();
        assert!(server.has("timed") && server.left("plain") == -1 && server.left(&format!("plain{n}")) == -1);
    }
}

/// Sets items with a time to live through each node, all of them acknowledged.
fn set_timed(cluster: &Cluster, name: &str) {
    for (node, process) in &cluster.nodes {
        for n in 0..20 {
            let answer = say(&process.address, &format!("set {name}-{node}-{n} 0 100 1\r\nx"), "\r\n");
            assert_eq!(answer, "STORED\r\n", "{name}, by {node}");
        }
    }
}

/// All of them are found through each node, with all of their time.
fn find_timed(cluster: &Cluster, name: &str) {
    for (node, process) in &cluster.nodes {
        for n in 0..20 {
            for by in cluster.nodes.keys() {
                let answer = say(&process.address, &format!("mg {name}-{by}-{n} t"), "\r\n");
                let left = answer.trim().strip_prefix("HD t").and_then(|left| left.parse().ok());
                assert!(left.is_some_and(|left: i64| (30..=101).contains(&left)), "{name}, by {node}: {answer}");
            }
        }
    }
}

#[test]
fn a_cluster_with_a_clock_that_jumps_keeps_every_item_for_as_long_as_it_was_told() {
    let Some(clock) = Clock::new() else { return };
    let files = ["n1", "n2", "n3", "manager"].map(|name| (name, clock.another(name)));
    let set = |name: &str, ahead_s: i64| {
        let (_, path) = files.iter().find(|(of, _)| *of == name).unwrap();
        File::options().write(true).open(path).unwrap().write_all_at(&ahead_s.to_ne_bytes(), 0).unwrap();
    };
    let given: Vec<_> = files.iter().map(|(name, path)| (*name, path.clone())).collect();
    let mut cluster = Cluster::start_as(3, 3, move |name, command| {
        let (_, path) = given.iter().find(|(of, _)| *of == name).unwrap();
        clock.give_file(command, path);
    });
    let trouble = |cluster: &Cluster, name: &str| {
        let status = cluster.status();
        let member = status["members"].as_array()?.iter().find(|one| one["name"] == name)?.clone();
        Some(member.to_string().contains("its system clock is "))
    };
    let log = |cluster: &Cluster, name: &str| std::fs::read_to_string(cluster.file(&format!("{name}.log"))).unwrap();

    for ahead_s in [YEAR, -now()] {
        set("n2", ahead_s);
        wait_for("the status of a wrong clock", || trouble(&cluster, "n2").filter(|is_told| *is_told));
        set_timed(&cluster, &format!("one{ahead_s}"));
        set("n2", 0);
        wait_for("the status of a right clock", || trouble(&cluster, "n2").filter(|is_told| !is_told));
        find_timed(&cluster, &format!("one{ahead_s}"));
    }

    // All of them, as when the server of time that all machines ask is wrong.
    for (name, _) in &files {
        set(name, YEAR);
    }
    for name in ["n1", "n2", "n3"] {
        wait_for("the log of a jump", || {
            log(&cluster, name).contains("s forward: expiries do not follow it").then_some(())
        });
    }
    set_timed(&cluster, "all");
    for (name, _) in &files {
        set(name, 0);
    }
    for name in ["n1", "n2", "n3"] {
        wait_for("the log of its end", || {
            log(&cluster, name).contains("the system clock is right again").then_some(())
        });
    }
    find_timed(&cluster, "all");

    // One that starts while its clock is wrong.
    cluster.nodes.remove("n3");
    set("n3", YEAR);
    cluster.start_node("n3");
    wait_for("the log of the cluster's time", || {
        log(&cluster, "n3").contains("ahead of the cluster's time").then_some(())
    });
    set_timed(&cluster, "start");
    set("n3", 0);
    find_timed(&cluster, "start");
    find_timed(&cluster, "all");
}

#[test]
fn a_cluster_of_boards_that_start_in_1970_serves_and_has_a_time_once_their_clock_is_set() {
    let Some(clock) = Clock::new() else { return };
    clock.set(-now());
    let ahead = clock.ahead.try_clone().unwrap();
    let cluster = Cluster::start_as(2, 2, move |_, command| clock.give(command));
    assert_eq!(say(cluster.clients(), "set plain 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    let timed = || say(cluster.clients(), "set timed 0 100 1\r\nx", "\r\n");
    assert!(timed().starts_with("SERVER_ERROR the server's clock is not set"), "{}", timed());
    ahead.write_all_at(&[0; 8], 0).unwrap();
    wait_for("a time", || (timed() == "STORED\r\n").then_some(()));
    assert_eq!(say(cluster.clients(), "mg plain t", "\r\n"), "HD t-1\r\n");
    let left = say(cluster.clients(), "mg timed t", "\r\n");
    assert!(left.starts_with("HD t100") || left.starts_with("HD t9"), "{left}");
}

#[test]
fn a_cluster_of_boards_that_start_in_1970_and_use_tls_serves_once_their_clock_is_set() {
    let Some(clock) = Clock::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let certs = dir.path().join("certs").to_str().unwrap().to_owned();
    let made = fawn(&["certs", "init", "--certs", &certs, "--manager", "manager", "--member", "n1", "--member", "n2"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    clock.set(-now());
    let any = "127.0.0.1:0";
    let start = |arguments: &[&str], name: &str, before: &str| {
        let mut command = fawn_command(&[arguments, &["--certs", &certs]].concat());
        clock.give(&mut command);
        let log = std::fs::File::create(dir.path().join(format!("{name}.log"))).unwrap();
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        Board { child, said: None, before: before.to_owned() }
    };
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut manager = start(&["manager", "--dir", &path("m"), "--listen", any, "--replicas", "2"], "m", " ready on ");
    let managers = manager.address();
    let mut nodes = ["n1", "n2"].map(|name| {
        let data = path(name);
        let fixed = ["node", "--name", name, "--dir", &data, "--memory", "64M", "--threads", "1"];
        let more = ["--virtual-ids", "2", "--listen", any, "--cluster-listen", any, "--manager", &managers];
        start(&[&fixed[..], &more].concat(), name, "serving memcached on ")
    });
    // Certificates that are not valid yet are refused meanwhile, and the log says why.
    wait_for("a log that names the clock", || {
        let log = std::fs::read_to_string(dir.path().join("n1.log")).unwrap();
        log.contains("clock").then_some(())
    });
    clock.set(0);
    let addresses = nodes.each_mut().map(Board::address);
    for address in &addresses {
        wait_for("a write", || (say(address, "set timed 0 100 1\r\nx", "\r\n") == "STORED\r\n").then_some(()));
        let left = say(address, "mg timed t", "\r\n");
        assert!(left.starts_with("HD t100") || left.starts_with("HD t9"), "{left}");
    }
    let status = fawn(&["status", "--manager", &managers, "--certs", &certs]);
    assert!(status.code == 0 && status.stdout.contains("n2"), "{status:?}");
}

/// A process that says where it is as soon as it may.
struct Board {
    child: Child,
    said: Option<String>,
    before: String,
}

impl Board {
    fn address(&mut self) -> String {
        if let Some(stdout) = self.child.stdout.take() {
            let mut lines = BufReader::new(stdout).lines().map(Result::unwrap);
            self.said = lines.find_map(|line| Some(line.split_once(&self.before)?.1.to_owned()));
        }
        self.said.clone().expect("it says where it is")
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_status_names_ranges_whose_time_is_ahead_and_what_does_not_expire_goes_on() {
    let Some(clock) = Clock::new() else { return };
    clock.set(YEAR);
    let ahead = clock.ahead.try_clone().unwrap();
    let mut cluster = Cluster::start_as(1, 1, move |_, command| clock.give(command));
    assert_eq!(say(cluster.clients(), "set timed 0 100 1\r\nx", "\r\n"), "STORED\r\n");
    assert_eq!(say(cluster.clients(), "set plain 0 0 1\r\nx", "\r\n"), "STORED\r\n");
    // Everybody starts again with a clock that is right.
    cluster.nodes.remove("n1").unwrap().stop(Signal::TERM);
    cluster.manager.signal(Signal::TERM);
    assert!(cluster.manager.child.wait().unwrap().success());
    ahead.write_all_at(&[0; 8], 0).unwrap();
    let (dir, address) = (cluster.file("m"), cluster.manager.address.clone());
    let manager = fawn_command(&["manager", "--dir", dir.to_str().unwrap(), "--listen", &address]);
    cluster.manager = Process::logged(manager, &cluster.file("manager.log"), " ready on ");
    cluster.start_node("n1");
    for (key, exptime, says) in [
        ("plain", 0, "STORED\r\n"),
        ("timed", 100, "SERVER_ERROR the expiry clock of this key's range is ahead of the system clock: retry"),
    ] {
        let answer = say(cluster.clients(), &format!("set {key} 0 {exptime} 1\r\ny"), "\r\n");
        assert!(answer.starts_with(says), "{key}: {answer}");
    }
    let says = "of its ranges is ahead of the system clock, that of range ";
    let check = wait_for("the status", || {
        let check = fawn(&["status", "--check", "--manager", &cluster.manager.address]);
        check.stdout.contains(says).then_some(check)
    });
    assert!(check.code == 1 && check.stdout.contains("n1: the expiry clock of "), "{check:?}");
    assert!(check.stdout.contains("restart the node, which sets the expiry clock back ten minutes later"), "{check:?}");
    let log = std::fs::read_to_string(cluster.file("n1.log")).unwrap();
    assert!(log.contains("ranges is ahead of the system clock, that of range "), "{log}");
}

/// Runs `fawn` by this clock.
fn fawn_by(clock: &Clock, arguments: &[&str]) -> Run {
    let mut command = fawn_command(arguments);
    clock.give(&mut command);
    command.output().unwrap().into()
}

#[test]
fn a_dump_of_a_cluster_has_what_lives_there_whatever_the_clock_of_who_dumps_it_shows() {
    let Some(clock) = Clock::new() else { return };
    let cluster = Cluster::start(1, 1);
    for set in ["set plain 0 0 1", "set timed 0 1000 1"] {
        assert_eq!(say(cluster.clients(), &format!("{set}\r\nx"), "\r\n"), "STORED\r\n");
    }
    for (ahead_s, expired) in [(2 * YEAR, true), (-YEAR, false), (-now(), false)] {
        clock.set(ahead_s);
        let dump = fawn_by(&clock, &["dump", "--manager", &cluster.manager.address, "-"]);
        assert_eq!((dump.code, dump.stdout.lines().count()), (0, 2), "{ahead_s}: {dump:?}");
        let says = "; 1 of those dumped had expired by this machine's clock";
        assert_eq!(dump.stderr.contains(says), expired, "{ahead_s}: {}", dump.stderr);
    }
}

/// The expiry that a line of JSON has.
fn exptime(line: &str) -> i64 {
    let rest = line.split("\"exptime\":").nth(1).unwrap_or_else(|| panic!("{line}"));
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn expiries_are_by_the_servers_clock(kind: Kind) {
    let (Some(clock), Some(server), Some(other)) = (Clock::new(), AnyServer::start(kind), AnyServer::start(kind))
    else {
        return;
    };
    let (address, to) = (server.address.as_str(), other.address.as_str());
    server.say("set timed 0 1000 1\r\nx", "\r\n");
    let until = now() + 1000;
    let is_near = |at: i64, than: i64| (at - than).abs() <= 60;
    for ahead_s in [YEAR, -YEAR, -now()] {
        clock.set(ahead_s);
        let dump = fawn_by(&clock, &["dump", "--from", address, "-"]);
        let (line, told) = (&dump.stdout, &dump.stderr);
        assert!(is_near(exptime(line), until) && told.contains("fawn: the server's clock is "), "{ahead_s}: {dump:?}");
        let get = fawn_by(&clock, &["get", "--json", "--to", address, "timed"]);
        assert!(is_near(exptime(&get.stdout), until), "{ahead_s}: {get:?}");
        let copy = fawn_by(&clock, &["load", "--from-memcached", address, "--to", to]);
        assert!(copy.stderr.contains("fawn: the server's clock is "), "{ahead_s}: {copy:?}");
        assert!(copy.code == 0 && !copy.stdout.contains("expired"), "it lives at both servers: {ahead_s}: {copy:?}");
        let file = server.file("timed.jsonl", line);
        let load = fawn_by(&clock, &["load", "--no-resume", "--to", to, file.to_str().unwrap()]);
        assert!(load.code == 0 && !load.stdout.contains("expired"), "{ahead_s}: {load:?}");
        let set = fawn_by(&clock, &["set", "--to", address, "--expire", "40d", "long", "x"]);
        assert_eq!(set.code, 0, "{ahead_s}: {}", set.stderr);
        for (server, key, left) in [(&other, "timed", 1000), (&server, "long", 40 * 86_400)] {
            let answer = server.say(&format!("mg {key} t"), "\r\n");
            let found = answer.trim().strip_prefix("HD t").and_then(|left| left.parse().ok());
            assert!(found.is_some_and(|found| is_near(found, left)), "{ahead_s}, {key}: {answer}");
        }
        server.say("delete long", "\r\n");
    }
    clock.set(0);
    let dump = fawn_by(&clock, &["dump", "--from", address, "-"]);
    assert!(!dump.stderr.contains("clock"), "{}", dump.stderr);
    let late = fawn_by(&clock, &["set", "--to", address, "--expire", "36500d", "late", "x"]);
    assert!(late.code == 1 && late.stderr.contains("is after 2106-02-07, when the latest expiry is"), "{late:?}");
    assert_eq!(fawn_by(&clock, &["get", "--to", address, "late"]).code, 1);
}

#[test]
fn the_start_of_a_process_stays_in_its_metrics_when_the_clock_is_set() {
    let Some(clock) = Clock::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let fixed = ["serve", "--dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut command = fawn_command(&[&fixed[..], &["--memory", "64M", "--threads", "1"]].concat());
    clock.give(&mut command);
    let server = Process::logged(command, &dir.path().join("log"), " on http://");
    let started = || -> f64 {
        let (_, metrics) = http(server.address.trim_end_matches('/'), "/metrics");
        let found = metrics.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "));
        found.expect("it is there").parse().unwrap()
    };
    let before = started();
    assert!((before - now() as f64).abs() < 60.0, "{before}");
    for ahead_s in [YEAR, -now()] {
        clock.set(ahead_s);
        assert!((started() - before).abs() < 1e-6, "{ahead_s}");
    }
}

#[test]
fn no_certificates_are_made_by_a_clock_that_nobody_has_set() {
    let Some(clock) = Clock::new() else { return };
    clock.set(-now());
    let dir = tempfile::tempdir().unwrap();
    let certs = dir.path().join("certs");
    let run = fawn_by(&clock, &["certs", "init", "--certs", certs.to_str().unwrap(), "--member", "n1"]);
    assert!(run.code == 1 && run.stderr.contains("this machine's clock shows 1970-01-0"), "{run:?}");
    assert!(run.stderr.trim_end().ends_with(": set the clock first") && !certs.exists(), "{run:?}");
}
