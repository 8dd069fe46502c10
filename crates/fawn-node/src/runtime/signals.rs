//! Signals that a service manager, a shell or a terminal may send to a server, and what each means here.
//!
//! | signal | meaning |
//! |---|---|
//! | TERM, INT, RTMIN+3, QUIT, HUP, XCPU | stop cleanly; the last three unless they were ignored from the start, as by `nohup` |
//! | USR1, USR2, ALRM, VTALRM, PROF, IO, XFSZ, PWR, STKFLT, other real-time signals | nothing: the log says so |
//! | PIPE | ignored by the Rust runtime |
//! | TSTP, STOP, CONT | the system's: the process pauses and goes on |

use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Sent when a power supply fails; many systems still send it.
const SIGPWR: i32 = 30;

/// No system sends it any more.
const SIGSTKFLT: i32 = 16;

/// SIGRTMIN+3: asks systemd to halt. Images of containers choose it as their signal to stop.
const HALT: i32 = 37;

/// The real-time signals that a program may handle: a C library keeps the first ones for itself.
const REAL_TIME: RangeInclusive<i32> = if cfg!(target_env = "musl") { 35..=64 } else { 34..=64 };

/// Would end the process by default, and mean nothing here.
pub fn meaningless() -> Vec<i32> {
    let mut signals = vec![SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ];
    if cfg!(target_os = "linux") {
        signals.extend([SIGPWR, SIGSTKFLT]);
        signals.extend(REAL_TIME.filter(|signal| *signal != HALT));
    }
    signals
}

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
    let halt = cfg!(target_os = "linux").then_some(HALT);
    [SIGTERM, SIGINT].into_iter().chain(halt).chain(unless_ignored).collect()
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
        SIGPWR => "PWR",
        SIGSTKFLT => "STKFLT",
        HALT => "RTMIN+3",
        _ if REAL_TIME.contains(&signal) => "real-time",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
        assert_eq!(stopping(0), [SIGTERM, SIGINT, HALT, SIGHUP, SIGQUIT, SIGXCPU]);
        // What `nohup` gives, and a shell's background job.
        assert_eq!(
            stopping(ignored_in("Name:\tfawn\nSigIgn:\t0000000000001001\n")),
            [SIGTERM, SIGINT, HALT, SIGQUIT, SIGXCPU]
        );
        assert_eq!(stopping(ignored_in("SigIgn:\t0000000000000006\n")), [SIGTERM, SIGINT, HALT, SIGHUP, SIGXCPU]);
        assert_eq!((ignored_in(""), ignored_in("SigIgn:\tnonsense")), (0, 0));
    }

    #[test]
    fn no_signal_both_stops_and_means_nothing() {
        assert!(stopping(0).iter().all(|signal| !meaningless().contains(signal)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn each_signal_that_would_end_the_process_and_tells_of_no_bug_is_handled_and_has_a_name() {
        // KILL cannot be handled, and the runtime ignores PIPE. These tell of a bug of the program: ILL, TRAP, ABRT, BUS, FPE,
        // SEGV, SYS. The rest does not end a process by default, or is the C library's.
        let others = [9, 13, 4, 5, 6, 7, 8, 11, 31, 17, 18, 19, 20, 21, 22, 23, 28, 32, 33];
        let first = *REAL_TIME.start();
        for signal in (1..=64).filter(|signal| !others.contains(signal) && (*signal < 32 || *signal >= first)) {
            assert!(stopping(0).contains(&signal) || meaningless().contains(&signal), "{signal}");
            assert_ne!(name(signal), "unknown", "{signal}");
        }
    }
}
