//! The processor time that the process has used.

/// Processor time as memcached prints it: seconds with six decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// In the program.
    pub user: String,
    /// In the kernel.
    pub system: String,
}

/// The processor time used so far, from `/proc/self/stat`; zeros where there is none.
pub fn now() -> ProcessUsage {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses and may hold blanks; user and system time are 14 and 15.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = after_name.split_ascii_whitespace().skip(11).map(|field| field.parse::<u64>().unwrap_or(0));
    let mut seconds = || {
        let used = fields.next().unwrap_or(0);
        format!("{}.{:06}", used / ticks, used % ticks * 1_000_000 / ticks)
    };
    ProcessUsage { user: seconds(), system: seconds() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_time_is_seconds_with_six_decimals() {
        let mut work = 0_u64;
        for n in 0..50_000_000_u64 {
            work = std::hint::black_box(work.wrapping_mul(31).wrapping_add(n));
        }
        let user = now().user;
        let (seconds, micros) = user.split_once('.').unwrap();
        assert_eq!(micros.len(), 6);
        assert!(seconds.parse::<u64>().unwrap() * 1_000_000 + micros.parse::<u64>().unwrap() > 0, "{user} {work}");
    }
}
