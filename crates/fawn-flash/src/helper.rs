//! Threads that work for a store: one runs its maintenance half, one writes its commit log.

use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fawn_store::flash::{FileId, Flash as _, FlashError};
use fawn_store::work::{Event, Work};
use fawn_store::{Batch, Committed, Maintenance, Step};

use crate::files::Files;
use crate::pace::{Pace, Rest};

/// How long work that waits for space on the device is left alone.
const STALL: Duration = Duration::from_millis(100);
/// How often removed files that are still being read are looked at.
const HELD: Duration = Duration::from_millis(50);

/// Runs `work`; a panic in it stops the process: whoever waits for the thread's results would wait for ever, and what
/// it left behind cannot be trusted.
pub fn guarded<T>(work: impl FnOnce() -> T) -> T {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            if thread::panicking() {
                let name = thread::current().name().unwrap_or("unnamed").to_owned();
                eprintln!(
                    "the thread {name} has panicked (see above), so the process stops: please report this as a bug"
                );
                process::abort();
            }
        }
    }
    let _guard = Guard;
    work()
}

/// Starts a thread that stops the process when it panics.
pub fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, FlashError> {
    let failed = format!("starting the thread {name}");
    thread::Builder::new()
        .name(name)
        .spawn(move || guarded(work))
        .map_err(|error| FlashError::Io(format!("{failed}: {error}")))
}

/// What a maintenance thread does: works until the other end of `inbox` is dropped, as fast as `pace` says, and gives away
/// events.
pub fn maintain(
    mut maintenance: Maintenance,
    files: &Arc<Files>,
    pace: &Pace,
    inbox: &Receiver<Work>,
    mut deliver: impl FnMut(Event),
) {
    let mut rest = Rest::default();
    loop {
        loop {
            match inbox.try_recv() {
                Ok(work) => maintenance.submit(work),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        let began = Instant::now();
        let step = maintenance.step(&**files);
        if maintenance.may_rest() {
            rest.owe(pace, began.elapsed());
        } else {
            rest.forget();
        }
        let held = files.close_removed();
        let wait = match step {
            Step::Event(event) => {
                deliver(event);
                rest.take()
            }
            Step::More => rest.take(),
            Step::Idle if held => HELD,
            Step::Idle => Duration::MAX,
            Step::Stalled => STALL,
        };
        if wait.is_zero() {
            continue;
        }
        match inbox.recv_timeout(wait) {
            Ok(work) => maintenance.submit(work),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Writes one batch of the commit log.
pub fn write_batch(files: &Files, batch: Batch) -> Committed {
    let result = files.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
    Committed { batch, result }
}

/// What a commit thread does: writes batches until the other end of `inbox` is dropped. `deliver` may answer with the
/// batch to write next.
pub fn commit(files: &Files, inbox: &Receiver<Batch>, mut deliver: impl FnMut(Committed) -> Option<Batch>) {
    while let Ok(batch) = inbox.recv() {
        let mut next = Some(batch);
        while let Some(batch) = next.take() {
            next = deliver(write_batch(files, batch));
        }
    }
}
