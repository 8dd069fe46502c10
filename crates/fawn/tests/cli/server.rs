//! Servers to test against, and the command under test.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The kinds of server that the commands are tested against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fawn,
    Memcached,
}

impl Kind {
    /// Whether the data are there after a restart.
    pub fn keeps_data(self) -> bool {
        self == Self::Fawn
    }
}

/// A running server, stopped when dropped.
pub struct Server {
    child: Child,
    /// As `--to` and `--from` take it.
    pub address: String,
    dir: TempDir,
}

/// Turns test functions that take a [`Kind`] into a test for each kind of server.
macro_rules! on_each_server {
    ($($name:ident),* $(,)?) => {
        mod on_fawn {
            $(#[test] fn $name() { super::$name($crate::server::Kind::Fawn); })*
        }
        mod on_memcached {
            $(#[test] fn $name() { super::$name($crate::server::Kind::Memcached); })*
        }
    };
}
pub(crate) use on_each_server;

impl Server {
    /// Starts a server with default settings on a free port; `None`, with a message, when it is not installed.
    pub fn start(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Fawn => Self::fawn(&[]),
            Kind::Memcached => Self::memcached(&[]),
        }
    }

    /// Starts `fawn serve` with more arguments.
    pub fn fawn(arguments: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let (child, address) = spawn_fawn(dir.path(), "127.0.0.1:0", arguments)?;
        Some(Self { child, address, dir })
    }

    /// Starts memcached with more arguments.
    pub fn memcached(arguments: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let port_file = dir.path().join("port");
        let child = Command::new("memcached")
            // -u matters only to root, who may not run it otherwise. Port -1 takes a free one.
            .args(["-l", "127.0.0.1", "-p", "-1", "-U", "0", "-m", "256", "-u", "root"])
            .args(arguments)
            .env("MEMCACHED_PORT_FILENAME", &port_file)
            .stdin(Stdio::null())
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                eprintln!("skipped: memcached is not installed (apt-get install memcached)");
                return None;
            }
            Err(error) => panic!("cannot start memcached: {error}"),
        };
        let text = wait_for("memcached's port file", || {
            std::fs::read_to_string(&port_file).ok().filter(|text| text.ends_with('\n'))
        });
        let port = text.lines().find_map(|line| line.strip_prefix("TCP INET: ")).expect("memcached tells its TCP port");
        Some(Self { child, address: format!("127.0.0.1:{port}"), dir })
    }

    /// Starts Redis with more arguments, with nothing on disk.
    pub fn redis(arguments: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        // Whoever takes the port in between makes the start fail, and another is tried.
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
            let child = Command::new("redis-server")
                .args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "no", "--dir"])
                .arg(dir.path())
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn();
            let mut child = match child {
                Ok(child) => child,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    eprintln!("skipped: Redis is not installed (apt-get install redis-server)");
                    return None;
                }
                Err(error) => panic!("cannot start redis-server: {error}"),
            };
            let address = format!("127.0.0.1:{port}");
            let serves = wait_for("Redis", || match child.try_wait().unwrap() {
                Some(_) => Some(false),
                None => TcpStream::connect(&address).ok().map(|_| true),
            });
            if serves {
                return Some(Self { child, address, dir });
            }
        }
        panic!("redis-server ends at once");
    }

    /// Stops `fawn serve` cleanly and starts it again with the same data, at the same address.
    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Stops `fawn serve` cleanly.
    pub fn stop(&mut self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "a clean stop exits with 0");
    }

    /// Starts `fawn serve` again, which has stopped, with the same data, at the same address.
    pub fn start_again(&mut self) {
        let (child, address) = spawn_fawn(self.dir.path(), &self.address, &[]).expect("it ran before");
        assert_eq!(address, self.address);
        self.child = child;
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A directory for the test's files, removed with the server.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The directory of its data.
    pub fn data(&self) -> String {
        self.dir().join("data").to_str().unwrap().to_owned()
    }

    /// What `fawn serve` has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir().join("log")).unwrap()
    }

    /// The log, as soon as it contains this: a thread of its own writes it, so that it may come after the answer.
    pub fn log_with(&self, words: &str) -> String {
        wait_for(&format!("{words:?} in the log"), || Some(self.log()).filter(|log| log.contains(words)))
    }

    /// Writes a file into [`Server::dir`].
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The answer to one command of the text protocol, read until it ends with `end`.
    pub fn say(&self, command: &str, end: &str) -> String {
        say(&self.address, command, end)
    }

    /// Loads a file.
    pub fn load(&self, path: &Path, more: &[&str]) -> Run {
        let mut arguments = vec!["load", "--to", &self.address, path.to_str().unwrap()];
        arguments.extend(more);
        fawn(&arguments)
    }

    /// Dumps to standard output, as sorted lines.
    pub fn dump_lines(&self, format: &str) -> Vec<String> {
        let run = fawn(&["dump", "--from", &self.address, "--format", format, "-"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// Kills the server as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `fawn serve` and waits for the line that tells its address.
fn spawn_fawn(dir: &Path, listen: &str, arguments: &[&str]) -> Option<(Child, String)> {
    let data = dir.join("data");
    let mut command = fawn_command(&["serve", "--dir", data.to_str().unwrap(), "--listen", listen]);
    if !arguments.contains(&"--memory") {
        command.args(["--memory", "256M"]);
    }
    let log = dir.join("log");
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if let Some(address) = line.strip_prefix("fawn: serving memcached on ") {
        return Some((child, address.trim_end().to_owned()));
    }
    child.wait().unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("this build has no server"), "fawn serve did not start: {line}{log}");
    eprintln!("skipped: this build has no server");
    None
}

/// What a run of the command came to.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The `fawn` command, not started yet.
pub fn fawn_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fawn"));
    command.args(arguments).stdin(Stdio::null());
    // Every flag has a variable.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"FAWN_")) {
        command.env_remove(name);
    }
    command
}

/// Runs `fawn` to its end.
pub fn fawn(arguments: &[&str]) -> Run {
    fawn_command(arguments).output().unwrap().into()
}

/// Runs `fawn` with this standard input.
pub fn fawn_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut command = fawn_command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A command that stops early closes the pipe.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap().into()
    })
}

/// The answer of the server at `address` to a command of the text protocol, read until it ends with `end`, or is an error.
pub fn say(address: &str, command: &str, end: &str) -> String {
    use std::io::Read as _;
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let is_error = |answer: &[u8]| {
        ["SERVER_ERROR", "CLIENT_ERROR", "ERROR"].iter().any(|error| answer.starts_with(error.as_bytes()))
            && answer.ends_with(b"\r\n")
    };
    while !answer.ends_with(end.as_bytes()) && !is_error(&answer) {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the server hung up after {:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(answer).unwrap()
}

/// Numbered records as tsv.
pub fn numbered(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        writeln!(text, "key-{n:06}\tvalue {n}").unwrap();
    }
    text
}

/// Compares long lists without printing them.
#[track_caller]
pub fn assert_same_lines(is: &[String], expected: &[String]) {
    let differing = (0..is.len().max(expected.len())).find(|&n| is.get(n) != expected.get(n));
    if let Some(n) = differing {
        panic!("{} lines for {}; line {n} is {:?} for {:?}", is.len(), expected.len(), is.get(n), expected.get(n));
    }
}

/// Polls until there is something.
pub fn wait_for<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Interrupts a command whose output is piped; what it has said on standard error. By SIGTERM, which is heard as Ctrl-C is: a
/// shell has what it runs in the background ignore Ctrl-C, the tests and what they start too.
pub fn interrupted(mut child: Child) -> String {
    // It must not end because its input does.
    let _input = child.stdin.take();
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(143), "{said}");
    said
}
