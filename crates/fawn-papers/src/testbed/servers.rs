//! Processes, most of them of this very program: started with ports that are free, stopped and awaited at the end, also on errors.

use std::fs::{self, File};
use std::io::{self, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use fawn_bench::children::{StoppableChild, spawn_lasting};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::Error;

/// How often something that must come is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// A process is ready within this time.
const READY: Duration = Duration::from_mins(1);
/// One that is asked to stop does so within this time.
const STOP: Duration = Duration::from_secs(30);
/// Free port, on the loopback.
pub const ANY_PORT: &str = "127.0.0.1:0";

/// A process. It is asked to stop and awaited when this is dropped, and killed if it does not.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Given up once the child has ended.
    _registered: StoppableChild,
    name: String,
    dir: PathBuf,
}

impl Server {
    /// Starts `program` with its output in `NAME.out` and `NAME.err` of a directory.
    ///
    /// # Errors
    /// [`Error`]: it cannot be started.
    pub fn start(program: &Path, arguments: &[&str], dir: &Path, name: &str) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        let open = |end: &str| {
            let path = dir.join(format!("{name}.{end}"));
            File::create(&path).map_err(Error::io(path))
        };
        let mut command = plain(program);
        command.args(arguments).stdin(Stdio::null()).stdout(open("out")?).stderr(open("err")?);
        let child = spawn_lasting(command).map_err(Error::io(program))?;
        let registered = StoppableChild::of(&child);
        Ok(Self { child, _registered: registered, name: name.to_owned(), dir: dir.to_owned() })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The address that follows these words in what it says, once it says them.
    ///
    /// # Errors
    /// As [`said`](Self::said).
    pub fn address(&mut self, words: &str) -> Result<SocketAddr, Error> {
        self.said(words)
    }

    /// What follows these words in what it says, once it says them.
    ///
    /// # Errors
    /// [`Error::Server`]: it ends before, or takes too long.
    pub fn said<T: FromStr>(&mut self, words: &str) -> Result<T, Error> {
        let path = self.dir.join(format!("{}.out", self.name));
        let began = Instant::now();
        loop {
            let said = fs::read_to_string(&path).map_err(Error::io(&path))?;
            let whole = said.rfind('\n').map_or("", |end| &said[..end]);
            let found = whole.lines().find_map(|line| line.split_once(words)?.1.trim().parse().ok());
            if let Some(found) = found {
                return Ok(found);
            }
            if let Some(status) = self.child.try_wait().map_err(Error::io(&path))? {
                return Err(self.failed(&format!("ended with {status}")));
            }
            if began.elapsed() > READY {
                return Err(self.failed(&format!("is not ready after {} s", READY.as_secs())));
            }
            thread::sleep(LOOK);
        }
    }

    /// Fails if it has ended although nobody asked it to.
    ///
    /// # Errors
    /// [`Error::Server`], with its last output.
    pub fn check_runs(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(self.failed(&format!("has ended with {status}"))),
            _ => Ok(()),
        }
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Errors
    /// [`Error::Server`]: it does not, or not cleanly.
    pub fn stop(mut self) -> Result<(), Error> {
        self.ask_to_stop();
        match self.ended_within(STOP) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.failed(&format!("was asked to stop and ended with {status}"))),
            None => Err(self.failed(&format!("was asked to stop and has not after {} s", STOP.as_secs()))),
        }
    }

    /// Kills it, as a crash would.
    pub fn kill(mut self) {
        // One that has ended needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ask_to_stop(&self) {
        // One that has ended needs no signal.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if began.elapsed() > time {
                return None;
            }
            thread::sleep(LOOK);
        }
    }

    fn failed(&self, how: &str) -> Error {
        let log = fs::read_to_string(self.dir.join(format!("{}.err", self.name))).unwrap_or_default();
        let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        Error::Server { name: self.name.clone(), what: format!("{how}; its last output: {last}") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.ask_to_stop();
            if self.ended_within(STOP).is_none() {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

/// Stops them all at once: the first failure of those that there are.
///
/// # Errors
/// As [`Server::stop`].
pub fn stop_all(servers: Vec<Server>) -> Result<(), Error> {
    servers.iter().for_each(Server::ask_to_stop);
    let mut stopped = Ok(());
    for server in servers {
        stopped = stopped.and(server.stop());
    }
    stopped
}

/// Sends a command to a server of memcached's protocol; what it answers.
///
/// # Errors
/// It cannot be reached, or the network breaks; answers that take longer than `patience` fail when they are read.
pub fn ask(address: SocketAddr, command: &[u8], patience: Duration) -> io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(command)?;
    Ok(BufReader::new(stream))
}

/// What a command prints.
///
/// # Errors
/// [`Error`]; [`Error::Server`]: it fails.
pub fn output(program: &Path, arguments: &[&str]) -> Result<String, Error> {
    let output = plain(program).args(arguments).stdin(Stdio::null()).output().map_err(Error::io(program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let what = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Server { name: format!("{} {}", program.display(), arguments.join(" ")), what })
}

/// The program as it is where nothing is configured: what experiments measure does not depend on the environment.
fn plain(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FAWN_")) {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, dir: &Path) -> Server {
        Server::start(Path::new("sh"), &["-c", script], dir, "it").unwrap()
    }

    #[test]
    fn an_address_is_read_once_its_line_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let mut server = shell("printf 'x: ready on 127.0.0.1:1'; sleep 0.1; echo 23; exec sleep 60", dir.path());
        assert_eq!(server.address(" ready on ").unwrap().port(), 123);
        let error = server.stop().unwrap_err().to_string();
        assert!(error.contains("asked to stop and ended with signal: 15"), "{error}");
    }

    #[test]
    fn one_that_ends_early_is_told_with_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let error = shell("echo first >&2; echo no room >&2; exit 3", dir.path()).address("x").unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("no room"), "{error}");
    }

    #[test]
    fn one_that_has_ended_is_noticed_with_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let mut server = shell("echo at 127.0.0.1:1; echo last >&2; exec sleep 60", dir.path());
        server.address("at ").unwrap();
        server.check_runs().unwrap();
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        let error = server.check_runs().unwrap_err().to_string();
        assert!(error.contains("has ended with signal: 9") && error.ends_with("its last output: last"), "{error}");
    }

    #[test]
    fn one_that_is_dropped_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let mut server = shell("echo at 127.0.0.1:1; exec sleep 60", dir.path());
        server.address("at ").unwrap();
        let pid = server.pid();
        drop(server);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
