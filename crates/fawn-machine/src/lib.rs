//! What the system says of a machine and of this process.
//!
//! What it does not say is `None`, and nobody guesses it.
//!
//! # Layout
//!
//! * [`limits`]: memory and cores that a process may use, as the machine, containers and resource limits leave them. It reads the
//!   texts of the system, whoever gives them; [`memory`] and [`cores`] give it the system's.
//! * [`cpus`]: lists of processors.
//! * [`process`]: CPU time, memory and transfers of this process.
//! * [`host`]: memory and space of the machine.
//! * [`wait`]: a wait for events that is exact to less than a millisecond.

#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::SystemTime;

pub mod cpus;
pub mod host;
pub mod limits;
pub mod process;
pub mod wait;

pub use limits::Limit;

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Bytes of memory that this process may use, and what says so.
pub fn memory() -> Limit {
    limits::memory(&read)
}

/// Cores that this process may use, and what says so.
pub fn cores() -> (NonZeroUsize, String) {
    let Limit { amount, from } = limits::cores(&read);
    let known = usize::try_from(amount).ok().and_then(NonZeroUsize::new);
    match (known, std::thread::available_parallelism()) {
        // It knows of what keeps no text, such as another way to ask for the affinity.
        (Some(known), Ok(other)) if other < known => (other, "the system's scheduler".to_owned()),
        (Some(known), _) => (known, from),
        (None, other) => (other.unwrap_or(NonZeroUsize::MIN), "the system's scheduler".to_owned()),
    }
}

/// Another seed for each call: a measurement that repeats the reads of the one before measures a cache on the way.
pub fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// The number that follows a name in a text of the system.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    let rest = rest.trim_start();
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}
