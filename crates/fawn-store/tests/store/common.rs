//! What all modules share: small options, seeds in parallel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fawn_ring::{Interval, Secret};
use fawn_sim::store::Machine;
use fawn_store::work::ScanPart;
use fawn_store::{Ack, Options};

/// Options under which everything happens often: seals after a few dozen records, merges after a few seals.
pub fn tiny() -> Options {
    Options {
        segment_bytes: 8 << 10,
        log_pages: 24,
        slices: 3,
        slice_bytes: 24 << 10,
        ..Options::new(Secret([7; 32]), 4 << 20)
    }
}

/// As [`tiny`], with another acknowledgement.
pub fn tiny_with(ack: Ack) -> Options {
    Options { ack, ..tiny() }
}

/// A machine with [`tiny`] options.
pub fn machine(seed: u64) -> Machine {
    Machine::new(tiny(), seed).expect("an empty device takes a new store")
}

/// A number from the environment.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.replace('_', "").parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}"))
    })
}

/// Runs `test` for `count` seeds from `first` on all cores, with progress on long runs. The first seed that fails is
/// named.
pub fn for_seeds(what: &str, first: u64, count: u64, test: impl Fn(u64) + Sync) {
    let (next, done) = (AtomicU64::new(first), AtomicU64::new(0));
    let failed = AtomicBool::new(false);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || failed.load(Ordering::Relaxed) {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| test(seed))).is_err() {
                        eprintln!("{what}: seed {seed} fails");
                        failed.store(true, Ordering::Relaxed);
                        return;
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of(10_000) {
                        eprintln!("{what}: {done} of {count} done");
                    }
                }
            });
        }
    });
    assert!(!failed.load(Ordering::Relaxed), "{what}: a seed fails, named above");
}

/// A value that says which change it is, `len` bytes long.
pub fn value(change: u64, len: usize) -> Vec<u8> {
    let text = format!("<{change}>");
    text.bytes().cycle().take(len).collect()
}

/// A part of a scan, of at least `bytes` unless it is the last.
pub fn scan_part(machine: &mut Machine, keys: Interval, bytes: usize) -> ScanPart {
    let now = machine.now();
    machine.store().scan(keys, bytes, now);
    let mut part = None;
    assert!(machine.turn_until(|machine| {
        part = part.take().or_else(|| machine.store().reports().take_scanned());
        part.is_some()
    }));
    let part = part.expect("it has come");
    assert_eq!(part.error, None);
    part
}
