//! Signals that a service manager, a shell or a terminal may send to a server, and what each means here.
//!
//! | signal | meaning |
//! |---|---|
//! | TERM, INT, QUIT, HUP, XCPU | stop cleanly; the last three unless they were ignored from the start, as by `nohup` |
//! | USR1, USR2, ALRM, VTALRM, PROF, IO, XFSZ, PWR | nothing: the log says so |
//! | PIPE | ignored by the Rust runtime |
//! | TSTP, STOP, CONT | the system's: the process pauses and goes on |

use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Sent when a power supply fails; many systems still send it, and its default would end the process.
#[cfg(target_os = "linux")]
const SIGPWR: i32 = 30;

/// Would end the process by default, and mean nothing here.
#[cfg(target_os = "linux")]
pub const MEANINGLESS: &[i32] = &[SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ, SIGPWR];
/// Would end the process by default, and mean nothing here.
#[cfg(not(target_os = "linux"))]
pub const MEANINGLESS: &[i32] = &[SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ];

/// The signals that whoever started this program had it ignore, such as `nohup`: a bit each, from the lowest. None where the
/// system does not say.
pub fn ignored() -> u64 {
    ignored_in(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

fn ignored_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The signals that stop a server cleanly.
pub fn that_stop() -> Vec<i32> {
    stopping(ignored())
}

fn stopping(ignored: u64) -> Vec<i32> {
    let heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    let unless_ignored = [SIGHUP, SIGQUIT, SIGXCPU].into_iter().filter(heeded);
    [SIGTERM, SIGINT].into_iter().chain(unless_ignored).collect()
}

/// Whether a signal has asked this process to stop since the first call: also while no server watches for signals, as between
/// the end of one and the start of the next.
///
/// # Errors
/// The system gives no signals.
pub fn asked_to_stop() -> io::Result<Arc<AtomicBool>> {
    static ASKED: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(asked) = &*asked {
        return Ok(Arc::clone(asked));
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in that_stop() {
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    *asked = Some(Arc::clone(&flag));
    Ok(flag)
}

/// Its name, for people.
pub fn name(signal: i32) -> &'static str {
    match signal {
        SIGTERM => "TERM",
        SIGINT => "INT",
        SIGQUIT => "QUIT",
        SIGHUP => "HUP",
        SIGXCPU => "XCPU",
        SIGUSR1 => "USR1",
        SIGUSR2 => "USR2",
        SIGALRM => "ALRM",
        SIGVTALRM => "VTALRM",
        SIGPROF => "PROF",
        SIGIO => "IO",
        SIGXFSZ => "XFSZ",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
        assert_eq!(stopping(0), [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU]);
        // What `nohup` gives, and a shell's background job.
        assert_eq!(
            stopping(ignored_in("Name:\tfawn\nSigIgn:\t0000000000001001\n")),
            [SIGTERM, SIGINT, SIGQUIT, SIGXCPU]
        );
        assert_eq!(stopping(ignored_in("SigIgn:\t0000000000000006\n")), [SIGTERM, SIGINT, SIGHUP, SIGXCPU]);
        assert_eq!((ignored_in(""), ignored_in("SigIgn:\tnonsense")), (0, 0));
    }

    #[test]
    fn no_signal_both_stops_and_means_nothing() {
        assert!(stopping(0).iter().all(|signal| !MEANINGLESS.contains(signal)));
    }
}
