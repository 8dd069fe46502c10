//! The clocks, coarse (some milliseconds) and cheap.

use rustix::time::{ClockId, clock_gettime};

/// The Unix second.
#[inline]
pub fn unix() -> u32 {
    u32::try_from(clock_gettime(ClockId::RealtimeCoarse).tv_sec).unwrap_or(u32::MAX)
}

/// Milliseconds of a clock that never goes back.
#[inline]
pub fn monotonic_ms() -> u64 {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    (time.tv_sec * 1000 + time.tv_nsec / 1_000_000).cast_unsigned()
}
