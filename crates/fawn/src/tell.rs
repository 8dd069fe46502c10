//! Standard error and standard output when nobody may be there to read them: a log piped into `head`, a dump into
//! `less`, a terminal that is gone or stopped. Rust ignores SIGPIPE, and `eprintln!` and `println!` panic instead; so neither is
//! used in this program.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lines of the log that wait for a slow reader; more are left out, and counted.
const MOST_WAITING: usize = 1024;

/// How long the end of the program waits until its log is written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Prints a line on standard error, if anybody listens.
pub fn tell(line: impl Display) {
    // One write a line: lines of several threads do not mix.
    write(format!("{}\n", advised(line.to_string())).as_bytes());
}

/// The line, with what to do if the process is short of something: that is no fault of whatever failed for it.
pub fn advised(line: String) -> String {
    if line.contains("Too many open files") && !line.contains("ulimit") {
        return format!("{line}: raise the limit of open files (ulimit -n)");
    }
    line
}

/// Nobody is left to tell about a failure.
fn write(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Standard error as a place that takes everything at once: a server neither stops nor waits because nobody reads its log. A
/// thread of its own writes.
#[derive(Clone, Copy, Debug)]
pub struct Log;

/// What the log's thread is given.
struct LogQueue {
    lines: SyncSender<Vec<u8>>,
    /// Lines that are not written yet.
    waiting: Mutex<usize>,
    written: Condvar,
    /// Lines that found no room since one did.
    left_out: AtomicU64,
}

static QUEUE: OnceLock<Option<LogQueue>> = OnceLock::new();

fn queue() -> Option<&'static LogQueue> {
    let start = || {
        let (lines, given) = sync_channel(MOST_WAITING);
        let thread = std::thread::Builder::new().name("fawn-log-lines".to_owned());
        thread.spawn(move || write_all(&given)).ok()?;
        Some(LogQueue { lines, waiting: Mutex::new(0), written: Condvar::new(), left_out: AtomicU64::new(0) })
    };
    QUEUE.get_or_init(start).as_ref()
}

fn write_all(given: &Receiver<Vec<u8>>) {
    while let Ok(line) = given.recv() {
        write(&line);
        // It was there when the line was given.
        let Some(queue) = queue() else { return };
        let left_out = queue.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            write(
                format!("({left_out} lines of the log are left out, because their reader was too slow)\n").as_bytes(),
            );
        }
        *queue.waiting.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        queue.written.notify_all();
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match queue() {
            Some(queue) => {
                *queue.waiting.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.lines.try_send(bytes.to_vec())
                {
                    *queue.waiting.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
                    queue.left_out.fetch_add(1, Ordering::Relaxed);
                }
            }
            None => write(bytes),
        }
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

/// Waits, not for long, until the log is written. To be called before the program ends, or says why it failed, or that it is
/// ready.
pub fn finish() {
    if let Some(queue) = QUEUE.get().and_then(Option::as_ref) {
        let waiting = queue.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = queue.written.wait_timeout_while(waiting, LAST_LINES, |waiting| *waiting > 0);
    }
}

/// From now on the lines of the log that come before a panic are written before it ends the program: they may say why.
pub fn finish_before_abort() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        finish();
    }));
}

/// Takes "the reader has gone" for success: it has what it wanted, and the exit code is to tell what was found.
///
/// # Errors
/// Every other one that `result` holds.
pub fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        // The system does not say what could not be written.
        Err(error) if error.raw_os_error().is_some() => {
            Err(io::Error::new(error.kind(), format!("cannot write to standard output: {error}")))
        }
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
        let full = unless_closed(Err(io::Error::from_raw_os_error(28))).unwrap_err();
        assert!(full.to_string().starts_with("cannot write to standard output: No space left on device"), "{full}");
    }
}
