//! The time of the day in a run: when runs begin, and by how much clocks may be wrong.

/// Unix second at which runs begin.
pub const BEGIN_UNIX: u32 = 1_900_000_000;

/// Clocks of processes are wrong by no more, unless they know nothing.
pub const WRONG_US: u64 = 500_000;

/// By so many seconds a process may be off while its clock counts as right.
pub const RIGHT_S: u32 = 3;

/// The second by a clock that is right.
pub fn unix(now_us: u64) -> u32 {
    BEGIN_UNIX + (now_us / 1_000_000) as u32
}

/// The second by a clock that is so much ahead of one that is [`WRONG_US`] slow.
pub fn unix_of(now_us: u64, ahead_us: u64) -> u32 {
    (unix_ms_of(now_us, ahead_us) / 1000) as u32
}

/// The same in milliseconds.
pub fn unix_ms_of(now_us: u64, ahead_us: u64) -> u64 {
    u64::from(BEGIN_UNIX - 2) * 1000 + (now_us + 2_000_000 + ahead_us - WRONG_US) / 1000
}

/// When it is that second by a clock that is right.
pub fn time_of(unix: u32) -> u64 {
    u64::from(unix.saturating_sub(BEGIN_UNIX)) * 1_000_000
}

/// What a clock shows that began with `offset_us`, and is so many parts per million faster than the slowest there may be.
pub fn drifted_us(now_us: u64, offset_us: u64, fast_ppm: u64) -> u64 {
    offset_us + now_us - now_us * 4500 / 1_000_000 + now_us * fast_ppm / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_neither_slow_nor_fast_is_right() {
        for now_us in [0, 999_999, 1_000_000, 12_345_678] {
            assert_eq!(unix_of(now_us, WRONG_US), unix(now_us));
        }
        assert_eq!(time_of(unix(3_000_000)), 3_000_000);
        assert_eq!(time_of(1), 0);
    }
}
