//! This machine's own operating points: integer work by one thread up to all, at the clock that the system chooses.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use fawn_meter::{Meter, MeterError};

use crate::cost::Cost;
use crate::threads::work_for;

/// 64-bit operations of one step of `SplitMix64` in the source: one addition, three shifts, three exclusive ors, two multiplications.
const OPERATIONS_A_STEP: u64 = 9;
/// Generators that a thread steps in turn. They do not depend on each other, so that a processor may overlap them.
const GENERATORS: usize = 4;
const STEPS_A_LOOK: u64 = 10_000;

/// One step of `SplitMix64`.
fn step(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Integer operations of `threads` threads for `time`, and what they cost. They are counted in the source, not by the processor, so
/// compare them with those of other points of the same program alone.
///
/// # Errors
/// The meter cannot be read.
pub fn measure(threads: usize, time: Duration, meter: Option<&Meter>) -> Result<(u64, Cost), MeterError> {
    work_for(threads, time, meter, |thread| {
        let mut states: [u64; GENERATORS] = std::array::from_fn(|at| (thread * GENERATORS + at) as u64);
        move || {
            let mut sum = 0u64;
            for _ in 0..STEPS_A_LOOK {
                for state in &mut states {
                    sum = sum.wrapping_add(step(state));
                }
            }
            black_box(sum);
            STEPS_A_LOOK * GENERATORS as u64 * OPERATIONS_A_STEP
        }
    })
}

/// One, two, four … and all threads.
pub fn thread_counts(all: usize) -> Vec<usize> {
    let doubled = (0..).map(|power| 1usize << power).take_while(|count| *count < all);
    doubled.chain([all]).collect()
}

/// What sets the clock of the processors below this `/sys`, for a note.
pub fn clock_note(sys: &Path) -> String {
    let dir = sys.join("devices/system/cpu/cpu0/cpufreq");
    match std::fs::read_to_string(dir.join("scaling_governor")) {
        Ok(governor) => format!(
            "this machine's points are numbers of threads at the clock that the governor {} chooses: to set the clock takes \
             root, and this command does not",
            governor.trim()
        ),
        Err(_) => {
            "this machine's points are numbers of threads: the system offers no clock to set (no cpufreq)".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_splitmix64() {
        // The first values of the reference implementation with seed 0.
        let mut state = 0;
        assert_eq!([step(&mut state), step(&mut state)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn work_is_counted_in_whole_pieces() {
        let (operations, cost) = measure(2, Duration::from_millis(5), None).unwrap();
        assert!(operations > 0 && operations.is_multiple_of(STEPS_A_LOOK * 36) && cost.cpu_seconds > 0.0);
    }

    #[test]
    fn threads_double_up_to_all() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(2), [1, 2]);
        assert_eq!(thread_counts(6), [1, 2, 4, 6]);
        assert_eq!(thread_counts(8), [1, 2, 4, 8]);
    }

    #[test]
    fn the_governor_is_named_where_there_is_one() {
        let dir = tempfile::tempdir().unwrap();
        assert!(clock_note(dir.path()).contains("no cpufreq"));
        let cpufreq = dir.path().join("devices/system/cpu/cpu0/cpufreq");
        std::fs::create_dir_all(&cpufreq).unwrap();
        std::fs::write(cpufreq.join("scaling_governor"), "schedutil\n").unwrap();
        assert!(clock_note(dir.path()).contains("governor schedutil chooses"));
    }
}
