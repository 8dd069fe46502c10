//! What this process may use of the machine: memory and cores, as the machine, containers and resource limits leave it.
//!
//! What the system says is text in files; [`limits`] reads the texts, whoever gives them, and [`memory`] and [`cores`] give
//! it the system's.

use std::num::NonZeroUsize;
use std::path::Path;

pub mod limits;

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
