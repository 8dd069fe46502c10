//! Processes that are started to be measured: they are asked to stop when this one has to end at once.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

/// Those that run, for whoever has to end at once.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A child that is asked to stop by [`ask_all_to_stop`], until this is dropped.
#[derive(Debug)]
pub struct StoppableChild(Pid);

impl StoppableChild {
    /// One that was started just now.
    pub fn of(child: &Child) -> Self {
        let own = Pid::from_child(child);
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        Self(own)
    }
}

impl Drop for StoppableChild {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|running| *running != self.0);
    }
}

/// Asks all children that run to stop, and waits for none: for a process that was itself told to end.
pub fn ask_all_to_stop() {
    for server in RUNNING.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // One that has ended needs no signal.
        let _ = kill_process(*server, Signal::TERM);
    }
}
