//! What a process takes of the machine where nobody says how much, from what that follows, and the least that it needs.

use std::num::NonZeroUsize;

use fawn_machine::Limit;
use fawn_node::SettingOrigins;

use crate::values::{Size, ValueError};

/// The least for a store that nobody gave a size, if half of the memory has it.
const LEAST_DEFAULT: u64 = 64 << 20;

/// Of the memory, the part for what clients send and have not been answered, at most the default of the server.
const BUFFERS_SHARE: u64 = 8;

/// And the least of that: some large values at a time.
const LEAST_BUFFERS: u64 = 32 << 20;

/// Cores that this process may use.
pub fn cores() -> NonZeroUsize {
    fawn_machine::cores().0
}

/// The name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Bytes of memory that this process may use; a machine that says nothing has 1 GiB.
pub fn memory() -> Limit {
    match fawn_machine::memory() {
        Limit { amount: 0, from } => Limit { amount: 1 << 30, from },
        known => known,
    }
}

/// A quarter of the memory, at least 64 MiB or half of it, whichever is less, and `least`.
pub fn default_memory(least: Size) -> Size {
    Size { bytes: quarter(memory().amount).max(least.bytes) }
}

fn quarter(memory: u64) -> u64 {
    (memory / 4).max(LEAST_DEFAULT.min(memory / 2))
}

/// Of the memory, the part for cached values of a front-end, at most the default.
const CACHE_SHARE: u64 = 8;

/// DRAM for cached values of the front-ends of a process.
pub const CACHE_BYTES: u64 = 64 << 20;

/// That, or an eighth of the memory if that is less.
pub fn default_cache() -> u64 {
    cache_of(memory().amount)
}

fn cache_of(memory: u64) -> u64 {
    (memory / CACHE_SHARE).min(CACHE_BYTES)
}

/// How much that is of the memory, in words.
fn part(memory: u64) -> String {
    match quarter(memory) {
        bytes if bytes == memory / 4 => "a quarter".to_owned(),
        bytes if bytes == memory / 2 => "half".to_owned(),
        bytes => Size { bytes }.to_string(),
    }
}

/// Bytes that requests and answers of clients may hold.
pub fn buffers(most: usize) -> usize {
    buffers_of(memory().amount, most)
}

fn buffers_of(memory: u64, most: usize) -> usize {
    usize::try_from((memory / BUFFERS_SHARE).max(LEAST_BUFFERS)).unwrap_or(most).min(most)
}

/// Where the memory and the threads of a server come from, for its log. The log warns where more memory was asked for than there
/// is.
pub fn chosen(memory: Option<Size>, threads: Option<NonZeroUsize>) -> SettingOrigins {
    let Limit { amount, from } = self::memory();
    let limit = Size { bytes: amount };
    let memory = match memory {
        Some(asked) => {
            if asked.bytes > amount {
                tracing::warn!(
                    "--memory {asked} is more than the {limit} that this process may use ({from}): lower it, or the \
                    process will swap or be killed when memory fills"
                );
            }
            format!("--memory, of {limit} ({from})")
        }
        None => format!("{} of {limit} ({from})", part(amount)),
    };
    let (cores, from) = fawn_machine::cores();
    let threads =
        if threads.is_some() { "--threads".to_owned() } else { format!("one a core, {cores} cores ({from})") };
    SettingOrigins { memory, threads }
}

/// Event loops for each core beyond which they only take turns.
const THREADS_A_CORE: usize = 4;

/// Parses `--threads`.
pub fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    let most = cores().saturating_mul(NonZeroUsize::new(THREADS_A_CORE).unwrap_or(NonZeroUsize::MIN));
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads <= most => Ok(threads),
        _ => Err(format!(
            "choose 1 to {most}: this machine has {} cores, and more threads would only take turns",
            cores()
        )),
    }
}

/// Least memory of a thread: its open segment, two that are being sealed, and an index.
const LEAST_MEMORY_A_THREAD: u64 = 8 << 20;

/// `1 thread`, `2 threads`.
pub fn counted(threads: NonZeroUsize) -> String {
    format!("{threads} thread{}", if threads.get() == 1 { "" } else { "s" })
}

/// The least memory of so many threads.
pub fn least_memory(threads: NonZeroUsize) -> Size {
    Size { bytes: LEAST_MEMORY_A_THREAD * threads.get() as u64 }
}

/// Refuses less memory than so many threads need, whether anybody gave their number or not.
///
/// # Errors
/// What is wrong.
pub fn check_memory(memory: Option<Size>, threads: NonZeroUsize) -> Result<(), String> {
    let least = least_memory(threads);
    let Some(memory) = memory.filter(|memory| *memory < least) else { return Ok(()) };
    let fit = memory.bytes / LEAST_MEMORY_A_THREAD;
    let fewer = if fit > 0 { format!(", or --threads {fit}") } else { String::new() };
    let (memory, threads, least) = (memory.flag(), counted(threads), least.flag());
    Err(format!("--memory {memory} is too small for {threads}: give --memory {least}{fewer}"))
}

/// Parses `--memory` of a single store.
pub fn parse_store_memory(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: ValueError| error.to_string())?;
    let least = Size { bytes: LEAST_MEMORY_A_THREAD };
    if size < least {
        return Err(format!("a store needs at least {}", least.flag()));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_container_is_not_filled_by_default() {
        const MIB: u64 = 1 << 20;
        for (memory, default) in [(64, 32), (100, 50), (160, 64), (256, 64), (1024, 256), (25_600, 6400)] {
            assert_eq!(quarter(memory * MIB), default * MIB, "{memory}");
        }
        let told = [97, 160, 1024].map(|memory| part(memory * MIB));
        assert_eq!(told, ["half", "64 MiB", "a quarter"].map(str::to_owned));
        for (memory, buffers) in [(64, 32), (160, 32), (1024, 128), (4096, 512), (25_600, 512)] {
            assert_eq!(buffers_of(memory * MIB, 512 << 20), buffers << 20, "{memory}");
        }
        for (memory, cache) in [(64, 8), (160, 20), (512, 64), (25_600, 64)] {
            assert_eq!(cache_of(memory * MIB), cache * MIB, "{memory}");
        }
    }
}
