//! The clocks, cheap to read.
//!
//! What day it is, a process knows by one [`Timekeeper`] that all its threads share: what expires must not depend on a clock
//! that somebody sets for a moment.

use fawn_store::timekeeper::{Step, Time, Timekeeper};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

/// Milliseconds between two readings of the wall clock.
const STEP_MS: u64 = 200;

/// The time that the whole process goes by.
static CLOCK: Mutex<ProcessClock> = Mutex::new(ProcessClock { keeper: None, cluster_zero_ms: None });

/// When the wall clock was last read, by the boot clock; 0: never.
static STEPPED_MS: AtomicU64 = AtomicU64::new(0);

/// Unix milliseconds, by which expiries are judged, at the boot clock's zero; [`UNSET`]: the clock was never set.
static ZERO_MS: AtomicI64 = AtomicI64::new(UNSET);

/// By how many seconds the wall clock is ahead of the steady time; negative: behind it.
static OFF_S: AtomicI64 = AtomicI64::new(0);

const UNSET: i64 = i64::MIN;

struct ProcessClock {
    keeper: Option<Timekeeper>,
    /// Unix milliseconds at the boot clock's zero, as the cluster has it; `None`: the system's clock counts.
    cluster_zero_ms: Option<i64>,
}

impl ProcessClock {
    fn keeper(&mut self) -> &mut Timekeeper {
        self.keeper.get_or_insert_default()
    }

    /// Reads the wall clock, if it is time to.
    fn step(&mut self, boot_ms: u64) {
        let last_ms = STEPPED_MS.load(Ordering::Relaxed);
        if last_ms != 0 && boot_ms < last_ms + STEP_MS {
            return;
        }
        let own_ms = wall_ms();
        let wall_ms =
            self.cluster_zero_ms.map_or(own_ms, |zero_ms| boot_ms.cast_signed().saturating_add(zero_ms).max(0) as u64);
        let step = self.keeper().step(wall_ms, boot_ms);
        log(step);
        self.publish(boot_ms, own_ms);
    }

    fn publish(&mut self, boot_ms: u64, own_ms: u64) {
        let time = self.keeper().time(boot_ms);
        let zero_ms = self.keeper().judged_zero_ms().unwrap_or(UNSET);
        let off_s = if time.is_set() { (own_ms / 1000).cast_signed() - i64::from(time.steady()) } else { 0 };
        ZERO_MS.store(zero_ms, Ordering::Relaxed);
        OFF_S.store(if off_s.abs() <= 1 { 0 } else { off_s }, Ordering::Relaxed);
        STEPPED_MS.store(boot_ms, Ordering::Relaxed);
    }
}

/// Says what happened to the wall clock.
fn log(step: Step) {
    match step {
        Step::Even => {}
        Step::Set => tracing::info!("the system clock was set: items can have a time to live from now on"),
        Step::Jumped(seconds) if seconds > 0 => tracing::warn!(
            "the system clock jumped {seconds} s forward: expiries do not follow it until the jump has lasted an hour"
        ),
        Step::Jumped(seconds) => tracing::warn!("the system clock jumped {} s back", -seconds),
        Step::Back => tracing::info!("the system clock is right again"),
        Step::Followed(seconds) => {
            tracing::warn!(
                "the jump of the system clock by {seconds} s has lasted an hour: expiries follow it from now on"
            );
        }
        Step::Lost => tracing::warn!(
            "the system clock shows a time before 2020 or after 2106 and is ignored: set it, e.g. with NTP"
        ),
    }
}

/// Unix milliseconds of the system's clock; 0 before 1970.
fn wall_ms() -> u64 {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    (time.tv_sec.saturating_mul(1000) + time.tv_nsec / 1_000_000).max(0).cast_unsigned()
}

/// Milliseconds of a clock that is never set and counts while the machine is suspended.
#[inline]
pub fn boot_ms() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    (time.tv_sec * 1000 + time.tv_nsec / 1_000_000).cast_unsigned()
}

/// Reads the wall clock if nobody has lately.
#[cold]
fn step(boot_ms: u64) {
    let clock = CLOCK.try_lock();
    match clock {
        Ok(mut clock) => clock.step(boot_ms),
        Err(TryLockError::Poisoned(clock)) => clock.into_inner().step(boot_ms),
        // Somebody else does.
        Err(TryLockError::WouldBlock) if STEPPED_MS.load(Ordering::Relaxed) != 0 => {}
        Err(TryLockError::WouldBlock) => lock().step(boot_ms),
    }
}

fn lock() -> std::sync::MutexGuard<'static, ProcessClock> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The Unix second by which it is judged what has expired; 0: the system's clock was never set.
#[inline]
pub fn unix() -> u32 {
    let boot_ms = boot_ms();
    let stepped_ms = STEPPED_MS.load(Ordering::Relaxed);
    if stepped_ms == 0 || boot_ms >= stepped_ms + STEP_MS {
        step(boot_ms);
    }
    let zero_ms = ZERO_MS.load(Ordering::Relaxed);
    if zero_ms == UNSET { 0 } else { ((boot_ms.cast_signed() + zero_ms) / 1000).clamp(0, u32::MAX.into()) as u32 }
}

/// What time it is for this process.
pub fn time() -> Time {
    keeper().time(boot_ms())
}

/// What keeps the process's time, as it is now. A copy is good for some tenths of a second.
pub fn keeper() -> Timekeeper {
    let boot_ms = boot_ms();
    let mut clock = lock();
    clock.step(boot_ms);
    *clock.keeper()
}

/// What the system's clock shows, in Unix milliseconds, and by how many seconds it is ahead of the process's time.
pub fn wall() -> (u64, i64) {
    (wall_ms(), OFF_S.load(Ordering::Relaxed))
}

/// Takes the time from the cluster, in Unix milliseconds: from now on it counts, and not the system's clock. Returns by how many
/// seconds the cluster is ahead of the system's clock, at the first call alone.
pub fn follow_cluster(unix_ms: u64) -> Option<i64> {
    let boot_ms = boot_ms();
    let mut clock = lock();
    let is_first = clock.cluster_zero_ms.replace(unix_ms.cast_signed() - boot_ms.cast_signed()).is_none();
    let off_s = (unix_ms / 1000).cast_signed() - (wall_ms() / 1000).cast_signed();
    if is_first {
        clock.keeper().believe(unix_ms, boot_ms);
        let own_ms = wall_ms();
        clock.publish(boot_ms, own_ms);
    }
    is_first.then_some(off_s)
}

/// Milliseconds of a clock that never goes back.
#[inline]
pub fn monotonic_ms() -> u64 {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    (time.tv_sec * 1000 + time.tv_nsec / 1_000_000).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_and_the_system_agree_on_what_second_it_is_while_nobody_sets_the_clock() {
        let (time, unix, (wall_ms, off_s)) = (time(), unix(), wall());
        assert!(time.is_set());
        assert!((wall_ms / 1000).abs_diff(u64::from(time.now)) <= 1, "{wall_ms} and {time:?}");
        assert!(unix.abs_diff(time.now) <= 1, "{unix} and {time:?}");
        assert_eq!(off_s, 0);
    }
}
