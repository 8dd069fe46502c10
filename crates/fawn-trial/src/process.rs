//! A process of the product: started on a host, with its output in files, and the signals that it gets.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::timeline::LOG;

/// A process. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    output: PathBuf,
    /// Where the output of this life begins.
    from: u64,
}

/// How often something that must come is looked for.
const LOOK: Duration = Duration::from_millis(10);

impl Process {
    /// Starts a command; its output is added to `NAME.out` and `NAME.err` in a directory.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut command: Command, logs: &Path, name: &str) -> io::Result<Self> {
        let open = |end: &str| OpenOptions::new().create(true).append(true).open(logs.join(format!("{name}.{end}")));
        let output = open("out")?;
        let from = output.metadata()?.len();
        command.stdin(Stdio::null()).stdout(output).stderr(open("err")?);
        // Ctrl-C is for the trial, which then ends its processes in its own way.
        let child = command.process_group(0).env("RUST_BACKTRACE", "1").env("FAWN_LOG", LOG).spawn()?;
        Ok(Self { child, output: logs.join(format!("{name}.out")), from })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said on standard output in this life: once something, it is ready.
    pub fn said(&self) -> String {
        let read = || {
            use io::{Read as _, Seek as _};
            let mut file = File::open(&self.output)?;
            file.seek(io::SeekFrom::Start(self.from))?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            io::Result::Ok(text)
        };
        read().unwrap_or_default()
    }

    /// Whether it has said that it is ready, within some time.
    pub fn is_ready_within(&mut self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while !self.said().ends_with('\n') {
            if Instant::now() >= deadline || self.ended().is_some() {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// How it ended, within some time.
    pub fn ended_within(&mut self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            let ended = self.ended();
            if ended.is_some() || Instant::now() >= deadline {
                return ended;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // One that has ended needs none.
        let _ = kill_process(pid.expect("a child has a number"), signal);
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a command prints on standard output; it is killed where it takes too long.
///
/// # Errors
/// It cannot be started, takes too long or fails: then with what it says on standard error.
pub fn output(mut command: Command, scratch: &Path, within: Duration) -> io::Result<String> {
    let (out, err) = (scratch.with_extension("out"), scratch.with_extension("err"));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let mut child = command.spawn()?;
    let deadline = Instant::now() + within;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {within:?}")));
        }
        std::thread::sleep(LOOK);
    };
    if status.success() {
        return std::fs::read_to_string(out);
    }
    Err(io::Error::other(format!("{status}: {}", std::fs::read_to_string(err)?.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ready_when_it_says_so_and_ends_when_it_is_asked() {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo ready; exec sleep 60"]);
        let mut process = Process::start(command, logs.path(), "a").unwrap();
        assert!(process.is_ready_within(Duration::from_secs(10)));
        assert_eq!(process.said(), "ready\n");
        process.signal(Signal::TERM);
        assert!(process.ended_within(Duration::from_secs(10)).is_some_and(|status| !status.success()));
    }

    #[test]
    fn a_command_that_takes_too_long_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sleep");
        command.arg("60");
        let error = output(command, &scratch.path().join("x"), Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
