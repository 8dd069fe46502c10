//! Signals, descriptors and memory that run out, and limits that a process is started with.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use crate::cluster::{Cluster, Process};
use crate::server::{Kind, Server, fawn, fawn_command, say, wait_for};

/// A server that a shell line starts; `$FAWN` is the program, `$DIR` its directory. Its log is `DIR/log`.
struct Shell {
    child: Child,
    address: String,
    dir: tempfile::TempDir,
}

const SERVE: &str = "$FAWN serve --dir $DIR/data --listen 127.0.0.1:0 --memory 64M --threads 1";

impl Shell {
    fn start(line: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (out, log) = (dir.path().join("out"), dir.path().join("log"));
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).env("FAWN", env!("CARGO_BIN_EXE_fawn")).env("DIR", dir.path());
        command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(log).unwrap());
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let address = wait_for("the server's address", || {
            let text = std::fs::read_to_string(&out).ok()?;
            Some(text.lines().next()?.strip_prefix("fawn: serving memcached on ")?.to_owned())
        });
        Self { child, address, dir }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    /// The log, as soon as it contains this.
    fn log_with(&self, words: &str) -> String {
        wait_for(&format!("{words:?} in the log"), || Some(self.log()).filter(|log| log.contains(words)))
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends signals that have numbers alone.
fn send_numbers(child: &Child, signals: &[i32]) {
    let kills: Vec<String> = signals.iter().map(|signal| format!("kill -{signal} {}", child.id())).collect();
    assert!(Command::new("sh").args(["-c", &kills.join(" && ")]).status().unwrap().success());
}

fn get(address: &str, key: &str) -> String {
    say(address, &format!("get {key}"), "END\r\n")
}

#[test]
fn a_hangup_or_quit_stops_cleanly_with_all_that_was_acknowledged() {
    for signal in [Signal::HUP, Signal::QUIT, Signal::TERM] {
        let mut server = Shell::start(&format!("exec {SERVE} --ack memory"));
        for n in 0..100 {
            assert_eq!(say(&server.address, &format!("set k{n} 0 0 1\r\nv"), "\r\n"), "STORED\r\n");
        }
        server.send(signal);
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{signal:?}: {}", server.log());
        let data = server.dir.path().join("data");
        let kept = fawn(&["store", "dump", data.to_str().unwrap()]).stdout.lines().count();
        assert_eq!(kept, 100, "{signal:?}");
    }
}

#[test]
fn a_signal_to_halt_stops_cleanly_and_other_real_time_signals_mean_nothing() {
    let mut server = Shell::start(&format!("exec {SERVE} --ack memory"));
    assert_eq!(say(&server.address, "set k 0 0 1\r\nv", "\r\n"), "STORED\r\n");
    send_numbers(&server.child, &[16, 30, 35, 36, 38, 64]);
    let log = server.log_with("signal 64 (real-time) is ignored");
    assert!(log.contains("(PWR) is ignored") && server.is_running(), "{log}");
    send_numbers(&server.child, &[37]);
    assert_eq!(server.child.wait().unwrap().code(), Some(0), "{}", server.log());
    let kept = fawn(&["store", "dump", server.dir.path().join("data").to_str().unwrap()]);
    assert_eq!(kept.stdout.lines().count(), 1, "{}", kept.stderr);

    let dir = server.dir.path().join("manager");
    let manager = fawn_command(&["manager", "--dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let mut manager = Process::logged(manager, Path::new("/dev/null"), " ready on ");
    send_numbers(&manager.child, &[16, 30, 35, 64, 37]);
    assert_eq!(manager.child.wait().unwrap().code(), Some(0));
}

#[test]
fn every_process_of_a_cluster_stops_cleanly_by_every_signal_with_all_that_was_acknowledged() {
    // By one copy in memory.
    let mut cluster = Cluster::start_as(3, 1, |name, command| {
        if name == "manager" {
            command.args(["--ack", "replicated"]);
        }
    });
    let (any, dir) = ("127.0.0.1:0", tempfile::tempdir().unwrap());
    let (managers, path) =
        (cluster.manager.address.clone(), |name: &str| dir.path().join(name).to_str().unwrap().to_owned());
    let signals = [("1", Signal::HUP), ("2", Signal::QUIT), ("3", Signal::INT)];
    let others: Vec<_> = std::thread::scope(|scope| {
        let started = signals.map(|(number, signal)| {
            let (front, data, manager) =
                (format!("f{number}"), path(&format!("d{number}")), path(&format!("m{number}")));
            let managers = &managers;
            scope.spawn(move || {
                let front = ["frontend", "--name", &front, "--threads", "1", "--listen", any, "--cluster-listen", any];
                let front = [&front[..], &["--manager", managers]].concat();
                let whole =
                    ["serve", "--nodes", "1", "--dir", &data, "--listen", any, "--memory", "64M", "--threads", "1"];
                let manager = ["manager", "--dir", &manager, "--listen", any];
                let [front, whole] = [&front[..], &whole].map(|arguments| {
                    Process::logged(fawn_command(arguments), Path::new("/dev/null"), "serving memcached on ")
                });
                let manager = Process::logged(fawn_command(&manager), Path::new("/dev/null"), " ready on ");
                for n in 0..50 {
                    assert_eq!(say(&whole.address, &format!("set k{n} 0 0 1\r\nv"), "\r\n"), "STORED\r\n");
                }
                let data = format!("{data}/node-1");
                (signal, front, manager, whole, data)
            })
        });
        started.into_iter().map(|started| started.join().unwrap()).collect()
    });
    for n in 0..200 {
        let set = format!("set k{n} 0 0 1\r\nv");
        wait_for("a write", || (say(cluster.clients(), &set, "\r\n") == "STORED\r\n").then_some(()));
    }
    for (signal, front, manager, whole, data) in others {
        front.stop(signal);
        manager.stop(signal);
        whole.stop(signal);
        let kept = fawn(&["store", "dump", &data]);
        assert_eq!((kept.code, kept.stdout.lines().count()), (0, 50), "{signal:?}: {}", kept.stderr);
    }
    let nodes = std::mem::take(&mut cluster.nodes);
    let dirs: Vec<String> = nodes.keys().map(|name| cluster.file(name).to_str().unwrap().to_owned()).collect();
    nodes.into_values().zip(signals).for_each(|(node, (_, signal))| node.stop(signal));
    let dump: Vec<&str> = ["store", "dump"].into_iter().chain(dirs.iter().map(String::as_str)).collect();
    let kept = fawn(&dump);
    assert_eq!((kept.code, kept.stdout.lines().count()), (0, 200), "{}", kept.stderr);
}

#[test]
fn under_nohup_a_hangup_means_nothing_and_other_signals_never_end_a_server() {
    let mut server = Shell::start(&format!("trap '' HUP; exec {SERVE}"));
    for signal in [Signal::HUP, Signal::USR1, Signal::USR2, Signal::ALARM, Signal::PIPE, Signal::IO] {
        server.send(signal);
    }
    wait_for("the log of a signal that means nothing", || server.log().contains("(USR2) is ignored").then_some(()));
    assert!(get(&server.address, "a").ends_with("END\r\n") && server.is_running(), "{}", server.log());
    server.send(Signal::STOP);
    server.send(Signal::CONT);
    assert!(get(&server.address, "a").ends_with("END\r\n"));
    server.send(Signal::INT);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_log_that_nobody_reads_blocks_no_server() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let arguments = ["serve", "--dir", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--memory", "64M"];
    let mut child = crate::server::fawn_command(&arguments);
    // Every line of debugging, into a pipe that is never read.
    let mut child = child.args(["--log-level", "trace"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    // More lines than a pipe takes: each signal is one.
    for _ in 0..2000 {
        kill_process(Pid::from_child(&child), Signal::USR1).unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
    assert_eq!(say(&address, "set k 0 0 1\r\nv", "\r\n"), "STORED\r\n");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn connections_that_take_all_descriptors_do_not_stop_the_store() {
    let server = Shell::start(&format!("ulimit -n 256; exec {SERVE}"));
    server.log_with("not 4096: the system allows this process 256 open files");
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(TcpStream::connect(&server.address).unwrap());
    }
    // One of those that were let in writes until segments are sealed, which need files.
    let served = held.iter_mut().position(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut answer = [0; 4];
        stream.write_all(b"mn\r\n").is_ok() && stream.read_exact(&mut answer).is_ok() && &answer == b"MN\r\n"
    });
    let writer = &mut held[served.expect("somebody is served")];
    let value = "x".repeat(100_000);
    for n in 0..300 {
        writer.write_all(format!("set key{n} 0 0 {}\r\n{value}\r\n", value.len()).as_bytes()).unwrap();
        let mut answer = [0; 8];
        writer.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"STORED\r\n", "{}", server.log());
    }
}

#[test]
fn a_store_that_gets_no_descriptor_for_a_while_goes_on_afterwards() {
    let server = Shell::start(&format!("exec {SERVE}"));
    let mut writer = TcpStream::connect(&server.address).unwrap();
    writer.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    writer.write_all(b"mn\r\n").unwrap();
    writer.read_exact(&mut [0; 4]).unwrap();
    let process = Pid::from_child(&server.child);
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count() as u64;
    let old = prlimit(Some(process), Resource::Nofile, getrlimit(Resource::Nofile)).unwrap();
    prlimit(Some(process), Resource::Nofile, Rlimit { current: Some(open), maximum: old.maximum }).unwrap();
    let mut reader = writer.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let value = "x".repeat(100_000);
        for n in 0..300 {
            writer.write_all(format!("set key{n} 0 0 {}\r\n{value}\r\n", value.len()).as_bytes()).unwrap();
        }
    });
    server.log_with("the store retries until it succeeds");
    prlimit(Some(process), Resource::Nofile, old).unwrap();
    for _ in 0..300 {
        let mut answer = [0; 8];
        reader.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"STORED\r\n", "{}", server.log());
    }
    sender.join().unwrap();
}

/// Connects, and waits until the server serves the connection.
fn connected(address: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(b"mn\r\n").unwrap();
    stream.read_exact(&mut [0; 4]).unwrap();
    BufReader::new(stream)
}

fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line
}

/// What a process may open is set; what it might before.
fn allow(process: Pid, descriptors: Option<u64>) -> Option<u64> {
    let old = prlimit(Some(process), Resource::Nofile, getrlimit(Resource::Nofile)).unwrap();
    let new = Rlimit { current: descriptors, maximum: old.maximum };
    prlimit(Some(process), Resource::Nofile, new).unwrap().current
}

/// Bytes that the nodes of a cluster have copied from each other.
fn copied(admin: &str) -> f64 {
    let mut stream = TcpStream::connect(admin).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let samples = text.lines().filter(|line| line.starts_with("fawn_node_copied_bytes_total{"));
    samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

#[test]
fn a_cluster_that_gets_no_descriptor_to_read_by_takes_that_for_no_damage() {
    const KEYS: usize = 400;
    let mut server = Shell::start(
        "exec $FAWN serve --dir $DIR/data --listen 127.0.0.1:0 --memory 96M --threads 1 --nodes 3 --replicas 3 \
         --manager-address 127.0.0.1:0 --admin 127.0.0.1:0",
    );
    let admin = wait_for("the admin port", || {
        let text = std::fs::read_to_string(server.dir.path().join("out")).unwrap();
        Some(text.split_once("on http://")?.1.lines().next()?.trim_end_matches('/').to_owned())
    });
    let value = "x".repeat(30_000);
    let put = |stream: &mut BufReader<TcpStream>, key: &str| {
        write!(stream.get_mut(), "set {key} 0 0 {}\r\n{value}\r\n", value.len()).unwrap();
        line(stream)
    };
    let (mut writer, mut reader) = (connected(&server.address), connected(&server.address));
    for n in 0..KEYS {
        let key = format!("key-{n}");
        wait_for("a set", || (put(&mut writer, &key) == "STORED\r\n").then_some(()));
    }
    let copied_before = copied(&admin);
    // What is sealed is open still, until somebody needs a descriptor: who writes a segment gets none.
    let process = Pid::from_child(&server.child);
    let allowed = allow(process, Some(3));
    let log = server.dir.path().join("log");
    let has_logged = |what: &str| std::fs::read_to_string(&log).unwrap().contains(what);
    wait_for("a segment that cannot be made", || {
        put(&mut writer, "more");
        has_logged("the store retries until it succeeds").then_some(())
    });
    for n in 0..40 {
        write!(reader.get_mut(), "get key-{n}\r\n").unwrap();
    }
    wait_for("a read that gets no descriptor", || {
        (has_logged("the read was refused, and may succeed later") || has_logged("cannot read flash")).then_some(())
    });
    allow(process, allowed);
    for n in 0..40 {
        let answer = line(&mut reader);
        if answer.starts_with("VALUE ") {
            assert_eq!((line(&mut reader).len(), line(&mut reader)), (value.len() + 2, "END\r\n".into()), "key-{n}");
        } else {
            assert!(answer.starts_with("SERVER_ERROR") && !answer.contains("cannot be read"), "key-{n}: {answer}");
        }
    }
    // Nothing is lost, and nobody has copied a range.
    for n in 0..KEYS {
        wait_for("each key", || {
            let answer = say(&server.address, &format!("mg key-{n} s"), "\r\n");
            assert_ne!(answer, "EN\r\n", "key-{n}");
            answer.starts_with("HD ").then_some(())
        });
    }
    let log = server.log();
    assert!(!log.contains("cannot read flash") && !log.contains("has stopped") && server.is_running(), "{log}");
    assert!(copied(&admin) - copied_before < (KEYS * value.len() / 4) as f64, "{log}");
}

#[test]
fn too_few_descriptors_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("ulimit -n 100; exec {SERVE}");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).env("FAWN", env!("CARGO_BIN_EXE_fawn")).env("DIR", dir.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && said.contains("100 open files") && said.contains("ulimit -Hn"),
        "{said}"
    );
}

#[test]
fn a_manager_with_few_descriptors_serves_a_cluster_or_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let manager = |limit: u32| {
        let script = format!("ulimit -n {limit}; exec $FAWN manager --dir $DIR/m --listen 127.0.0.1:0 --replicas 2");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).env("FAWN", env!("CARGO_BIN_EXE_fawn")).env("DIR", dir.path());
        command
    };
    let output = manager(50).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("50 open files") && said.contains("ulimit -Hn"), "{said}");
    assert!(!dir.path().join("m/manager.log").exists(), "nothing is begun");

    let log = dir.path().join("log");
    let manager = Process::logged(manager(256), &log, " ready on ");
    // More of them than it has descriptors.
    let _strangers: Vec<_> = (0..300).map(|_| TcpStream::connect(&manager.address).unwrap()).collect();
    let nodes = ["n1", "n2"].map(|name| {
        let data = dir.path().join(name);
        let any = "127.0.0.1:0";
        let node = ["node", "--name", name, "--dir", data.to_str().unwrap(), "--listen", any, "--cluster-listen", any];
        let node = [&node[..], &["--manager", &manager.address, "--memory", "64M", "--threads", "1"]].concat();
        Process::logged(fawn_command(&node), Path::new("/dev/null"), "serving memcached on ")
    });
    for node in &nodes {
        wait_for("a write", || (say(&node.address, "set k 0 0 1\r\nv", "\r\n") == "STORED\r\n").then_some(()));
    }
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("at most 128 connections at a time"), "{log}");
    assert!(log.matches("cannot accept").count() < 3, "{log}");
}

/// A file of records that a bulk load with 16 MiB has to spool.
fn many(dir: &Path) -> PathBuf {
    let file = dir.join("in.tsv");
    let value = "x".repeat(1000);
    let lines: Vec<String> = (0..40_000).map(|n| format!("key{n}\t{value}")).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    file
}

#[test]
fn a_bulk_load_that_gets_no_descriptors_says_what_it_waits_for_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let file = many(dir.path());
    let start = Instant::now();
    // Fewer are needed one time, more another: none may wait for ever, or without a word.
    let ended: Vec<_> = std::thread::scope(|scope| {
        let load = |limit: u32| {
            let (data, file) = (dir.path().join(format!("data{limit}")), &file);
            scope.spawn(move || {
                let bulk = "load --bulk --threads 1 --memory 16M --dir $DIR $FILE";
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -n {limit}; exec timeout 60 $FAWN {bulk}"));
                shell.env("FAWN", env!("CARGO_BIN_EXE_fawn")).env("DIR", data).env("FILE", file);
                let output = shell.output().unwrap();
                (limit, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
            })
        };
        let loads: Vec<_> = [6, 8, 10, 11, 12, 13, 16].into_iter().map(load).collect();
        loads.into_iter().map(|load| load.join().unwrap()).collect()
    });
    for (limit, code, said) in &ended {
        let is_told = *code == Some(1) && said.contains("Too many open files") && said.contains("ulimit -n");
        assert!(*code == Some(0) || is_told, "{limit}: {code:?}: {said}");
        assert!(said.lines().count() < 6, "{limit}: {said}");
    }
    let waited = ended.iter().filter(|(_, _, said)| said.contains(": retrying for 10 s")).count();
    assert!(waited > 0 || start.elapsed() < Duration::from_secs(10), "whoever waits says so: {ended:?}");
}

#[test]
fn a_bulk_load_that_gets_no_descriptor_for_a_while_goes_on_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let (data, log) = (dir.path().join("data"), dir.path().join("log"));
    let data = data.to_str().unwrap();
    let line = "x".repeat(1000);
    let arguments = ["load", "--bulk", "--threads", "1", "--memory", "16M", "--format", "tsv", "--dir", data, "-"];
    let mut command = fawn_command(&arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for n in 0..100 {
        input.write_all(format!("key{n}\t{line}\n").as_bytes()).unwrap();
    }
    wait_for("a directory", || Path::new(data).join("store-0/commit-log").exists().then_some(()));
    // It is at rest: what it has open now is all that it may have.
    std::thread::sleep(Duration::from_millis(300));
    let process = Pid::from_child(&child);
    let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count() as u64;
    let old = allow(process, Some(open));
    let rest = std::thread::spawn(move || {
        for n in 100..40_000 {
            input.write_all(format!("key{n}\t{line}\n").as_bytes()).unwrap();
        }
    });
    let said = wait_for("what it waits for", || {
        std::fs::read_to_string(&log).ok().filter(|said| said.contains(": retrying for 10 s"))
    });
    assert!(said.starts_with("fawn: ") && said.contains("raise the limit of open files (ulimit -n)"), "{said}");
    allow(process, old);
    rest.join().unwrap();
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    let kept = fawn(&["store", "dump", data]);
    assert_eq!((kept.code, kept.stdout.lines().count()), (0, 40_000), "{}", kept.stderr);
}

#[test]
fn whoever_only_looks_at_a_store_is_told_that_descriptors_are_short() {
    let mut server = Shell::start(&format!("exec {SERVE}"));
    assert_eq!(say(&server.address, "set k 0 0 1\r\nv", "\r\n"), "STORED\r\n");
    server.send(Signal::TERM);
    server.child.wait().unwrap();
    for command in ["dump", "check", "stats"] {
        // Fewer are needed one time, more another: none may wait for ever.
        for limit in [7, 8, 12] {
            let script = format!("ulimit -n {limit}; exec timeout 60 $FAWN store {command} $DIR/data");
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(script).env("FAWN", env!("CARGO_BIN_EXE_fawn")).env("DIR", server.dir.path());
            let output = shell.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = output.status.code();
            let is_told = code == Some(1) && said.contains("Too many open files") && said.contains("ulimit -n");
            assert!(code == Some(0) || is_told, "{command}, {limit}: {code:?}: {said}");
        }
    }
}

/// Whether system calls can be made to fail here.
fn can_inject() -> bool {
    let tried = Command::new("strace").args(["-e", "inject=getpid:error=EPERM", "-o", "/dev/null", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

const PASSING: [&str; 8] = [
    "io_uring_enter:error=ENOMEM:when=3..40+3",
    "pwritev2:error=EAGAIN:when=5+7",
    "pwrite64:error=ENOMEM:when=20+9",
    "fdatasync:error=EINTR:when=2+3",
    "fallocate:error=EINTR:when=2+3",
    "epoll_ctl:error=ENOMEM:when=30+5",
    "accept4:error=ENFILE:when=4+9",
    "epoll_wait:error=EINTR:when=9+5",
];

/// A server under these faults takes so many records, and stops cleanly.
fn survives(serve: &str, faults: &[&str], count: usize) {
    let inject: Vec<String> = faults.iter().map(|fault| format!("-e inject={fault}")).collect();
    let line = format!("exec strace -f -o /dev/null -e signal=none {} {serve}", inject.join(" "));
    let mut server = Shell::start(&line);
    let path = server.dir.path().join("in.tsv");
    std::fs::write(&path, records(count)).unwrap();
    // A connection may be refused, a server may not end: what was refused is loaded again.
    wait_for(&format!("a load in spite of {faults:?}"), || {
        let run = fawn(&["load", "--to", &server.address, "--restart", path_of(&path)]);
        (run.code == 0).then_some(())
    });
    let log = server.log();
    let is_well = !log.contains("has stopped") && !log.contains("cannot be read") && server.is_running();
    assert!(is_well, "{faults:?}: {log}");
    // The tracer passes it on to the server, and ends with it.
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.child.id())).unwrap();
    let traced = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
    kill_process(traced, Signal::TERM).unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0), "{faults:?}: {}", server.log());
}

/// Says that a test is skipped where those hear it who see no output of tests that pass.
fn skipped() {
    let _ = writeln!(std::io::stderr(), "skipped: strace is not installed, or may not trace");
}

#[test]
fn errors_that_pass_end_nothing() {
    if !can_inject() {
        return skipped();
    }
    for fault in PASSING {
        survives(SERVE, &[fault], 3000);
    }
}

#[test]
fn errors_that_pass_end_no_node_of_a_cluster() {
    if !can_inject() {
        return skipped();
    }
    // All but the writes of the manager's database, which this process has as well.
    let faults: Vec<&str> = PASSING.into_iter().filter(|fault| !fault.starts_with("pwrite64:")).collect();
    let serve = "$FAWN serve --dir $DIR/data --listen 127.0.0.1:0 --memory 96M --threads 1 --nodes 3 --replicas 3 \
        --manager-address 127.0.0.1:0";
    survives(serve, &faults, 2000);
}

fn path_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn records(count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|n| format!("key-{n}\t{}\n", "x".repeat(3000))).collect();
    lines.concat()
}

#[test]
fn the_log_says_what_is_taken_of_the_machine_and_why() {
    let server = Server::start(Kind::Fawn).expect("fawn is built");
    let log = server.log_with("connections=");
    assert!(log.contains("--memory, of ") && log.contains("threads_from"), "{log}");
    assert!(!log.contains("connections=0 "), "{log}");
}

#[test]
fn a_limit_of_address_space_bounds_the_default_memory() {
    let line = "ulimit -v 4000000; exec $FAWN serve --dir $DIR/data --listen 127.0.0.1:0 --threads 1";
    let server = Shell::start(line);
    if is_larger(4_000_000) {
        server.log_with("of 3.8 GiB (RLIMIT_AS (ulimit))");
    }
}

/// A control group of a test below the one that the test is in, for its memory.
struct Group(PathBuf);

impl Group {
    /// One that may have so many bytes; `None`, with a message, where none can be made.
    fn of_memory(bytes: u64) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let path_of = |controllers: &str| {
            own.lines().find_map(|line| line.split_once(controllers).map(|parts| parts.1.to_owned()))
        };
        let first = path_of(":memory:").map(|path| ("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
        let found = first.or_else(|| Some(("/sys/fs/cgroup", path_of("0::")?, "memory.max")));
        let made = found.and_then(|(mount, path, limit)| {
            let group = Self(Path::new(&format!("{mount}{path}")).join(format!("fawn-test-{}", std::process::id())));
            std::fs::create_dir(&group.0).ok()?;
            std::fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            Some(group)
        });
        if made.is_none() {
            eprintln!("skipped: no control group can be made here");
        }
        made
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its process may take a moment to go.
        for _ in 0..500 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn in_a_container_the_default_memory_fits_and_the_log_names_the_limit() {
    let Some(group) = Group::of_memory(200 << 20) else { return };
    let serve = "exec $FAWN serve --dir $DIR/data --listen 127.0.0.1:0 --threads 1";
    let line = format!("echo $$ > {}/cgroup.procs && {serve}", group.0.display());
    let mut server = Shell::start(&line);
    let log = server.log_with("memory_bytes=");
    let named = group.0.file_name().unwrap().to_str().unwrap();
    assert!(log.contains("64 MiB of 200") && log.contains(named), "{log}");
    assert!(log.contains("memory_bytes=67108864 "), "{log}");
    let path = server.dir.path().join("in.tsv");
    std::fs::write(&path, records(40_000)).unwrap();
    let run = fawn(&["load", "--to", &server.address, path_of(&path)]);
    assert!(run.code == 0 && server.is_running(), "{}{}", run.stderr, server.log());
    drop(server);
}

/// Whether the machine has more memory than so many KiB, and no other limit below it.
fn is_larger(kib: u64) -> bool {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    total.is_some_and(|total: u64| total > kib) && fawn_machine::memory().amount > kib << 10
}

#[test]
fn a_limit_of_file_sizes_is_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -f 1000; exec {SERVE}"));
    let output = command.env("FAWN", env!("CARGO_BIN_EXE_fawn")).env("DIR", dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let says = "File too large (os error 27); raise the limit of file sizes (ulimit -f)";
    assert!(output.status.code() == Some(1) && said.contains(says), "{said}");
}
