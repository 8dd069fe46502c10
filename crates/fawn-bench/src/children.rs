//! Processes that are started to be measured: they are asked to stop when this one has to end at once.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal, test_kill_process};

/// The variable of the environment by which a child knows who has started it. No setting of a server has such a name.
const PARENT: &str = "STARTED_TO_BE_MEASURED_BY";

/// A command to be started, and who waits for its process.
type Spawning = (Command, Sender<io::Result<Child>>);

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

/// Starts a process which, if it calls [`end_with_parent`], ends with this one, also if somebody kills this one. The system takes the
/// end of the thread that has started a process for that of its parent. So a thread that lasts starts all.
///
/// # Errors
/// What the system says.
pub fn spawn_lasting(mut command: Command) -> io::Result<Child> {
    static THREAD: OnceLock<Mutex<Sender<Spawning>>> = OnceLock::new();
    let start = || {
        let (commands, given) = channel::<Spawning>();
        let starting = move || {
            for (mut command, started) in given {
                // Whoever waits for it may have ended.
                let _ = started.send(command.spawn());
            }
        };
        // Without it nothing is started, which is told below.
        let _ = thread::Builder::new().name("fawn-children".to_owned()).spawn(starting);
        Mutex::new(commands)
    };
    command.env(PARENT, getpid().as_raw_nonzero().to_string());
    let (started, child) = channel();
    let commands = THREAD.get_or_init(start).lock().unwrap_or_else(PoisonError::into_inner).clone();
    let _ = commands.send((command, started));
    child.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes is gone")))
}

/// Has this process asked to stop when the one ends that has started it by [`spawn_lasting`]; whether that one is gone already.
pub fn end_with_parent() -> bool {
    let parent = std::env::var(PARENT).ok().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    let Some(parent) = parent else { return false };
    // Where the system cannot do it, children stay.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    if getppid() == Some(parent) {
        return false;
    }
    // Of a process that runs the variable was inherited by a child of its child.
    let _ = set_parent_process_death_signal(None);
    test_kill_process(parent).is_err()
}
