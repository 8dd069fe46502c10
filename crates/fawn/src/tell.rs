//! Standard error and standard output when nobody may be there to read them: a log piped into `head`, a dump into
//! `less`. Rust ignores SIGPIPE, and `eprintln!` and `println!` panic instead; so neither is used in this program.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Prints a line on standard error, if anybody listens.
pub fn tell(line: impl Display) {
    // One write a line: lines of several threads do not mix.
    Log.write_all(format!("{line}\n").as_bytes()).expect("the log takes everything");
}

/// Standard error as a place that takes everything: a server does not stop because its log has no reader.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nobody is left to tell about the failure.
        let _ = io::stderr().lock().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// After this a command says what it waits for.
const SLOW: Duration = Duration::from_millis(500);

/// Prints a line on standard error if what it is about takes long: unless this is dropped before.
#[derive(Debug)]
pub struct SlowNotice {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SlowNotice {
    /// From now on.
    pub fn begin(line: String) -> Self {
        Self::after(SLOW, move || tell(line))
    }

    fn after(time: Duration, say: impl FnOnce() + Send + 'static) -> Self {
        let (over, is_over) = channel::<()>();
        let wait = move || {
            if is_over.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        };
        // Without a thread nothing is said, and the command does all the same what it is for.
        Self { over: Some(over), thread: std::thread::Builder::new().spawn(wait).ok() }
    }
}

impl Drop for SlowNotice {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes "the reader has gone" for success: it has what it wanted, and the exit code is to tell what was found.
///
/// # Errors
/// Every other one that `result` holds.
pub fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_told_and_what_does_not_is_not() {
        let (said, heard) = channel();
        let notice = SlowNotice::after(Duration::from_millis(1), move || said.send(()).unwrap());
        heard.recv_timeout(Duration::from_mins(1)).unwrap();
        drop(notice);
        drop(SlowNotice::after(Duration::from_hours(1), || panic!("it was over long before")));
    }

    #[test]
    fn only_a_reader_that_has_gone_is_no_error() {
        assert!(unless_closed(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_closed(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
