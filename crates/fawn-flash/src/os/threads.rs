//! Threads whose panic stops the process.

use std::process;
use std::thread::{self, JoinHandle};

use fawn_store::flash::FlashError;

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
