//! This process: its CPU time, its memory, and what it has read from and written to devices.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

use crate::number_after;

/// CPU time of this process so far, all threads, in microseconds.
pub fn cpu_us() -> f64 {
    us(ClockId::ProcessCPUTime)
}

/// CPU time of this thread so far, in microseconds.
pub fn thread_cpu_us() -> f64 {
    us(ClockId::ThreadCPUTime)
}

fn us(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// What this process has read from and written to devices so far, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfers {
    read: u64,
    /// What is in the page cache counts as written.
    written: u64,
    /// What was written and never came to a device, as it was deleted before.
    cancelled: u64,
}

impl Transfers {
    /// Until now; `None` if the system does not say.
    pub fn now() -> Option<Self> {
        Self::of(&fs::read_to_string("/proc/self/io").ok()?)
    }

    fn of(text: &str) -> Option<Self> {
        Some(Self {
            read: number_after(text, "\nread_bytes: ")?,
            written: number_after(text, "\nwrite_bytes: ")?,
            cancelled: number_after(text, "\ncancelled_write_bytes: ").unwrap_or(0),
        })
    }

    /// Bytes read and written since `before`.
    pub fn since(self, before: Self) -> (u64, u64) {
        let written = self.written - before.written;
        (self.read - before.read, written.saturating_sub(self.cancelled - before.cancelled))
    }
}

/// CPU time so far, in microseconds, of the threads of this process whose names begin with `prefix`. `None` if there are none, or
/// the system does not say.
pub fn threads_cpu_us(prefix: &str) -> Option<f64> {
    let mut all = None;
    for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let of = |name: &str| fs::read_to_string(task.path().join(name)).ok();
        if of("comm").is_some_and(|name| name.starts_with(prefix)) {
            let ns: f64 = of("schedstat")?.split(' ').next()?.parse().ok()?;
            all = Some(all.unwrap_or(0.0) + ns / 1e3);
        }
    }
    all
}

/// Resident memory of this process now and at most, in bytes; `None` where the system does not tell.
pub fn resident_bytes() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let kib = |name| number_after(&text, name).map(|kib| kib << 10);
    Some((kib("\nVmRSS:")?, kib("\nVmHWM:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_what_the_system_says() {
        let text = "rchar: 1\nread_bytes: 4096\nwrite_bytes: 12\ncancelled_write_bytes: 3\n";
        assert_eq!(number_after(text, "\nread_bytes: "), Some(4096));
        assert_eq!(number_after(text, "\nwrite_bytes: "), Some(12));
        assert_eq!(number_after("Name:\tx\nVmRSS:\t     812 kB\n", "\nVmRSS:"), Some(812));
        assert_eq!(number_after(text, "\nVmRSS:"), None);
        let (now, most) = resident_bytes().unwrap();
        assert!(now > 0 && most >= now);
    }

    #[test]
    fn what_was_deleted_before_it_was_written_does_not_count() {
        let transfers = |written: u64, cancelled: u64| {
            let text = format!("rchar: 1\nread_bytes: 7\nwrite_bytes: {written}\ncancelled_write_bytes: {cancelled}\n");
            Transfers::of(&text).unwrap()
        };
        assert_eq!(transfers(5000, 2000), Transfers { read: 7, written: 5000, cancelled: 2000 });
        assert_eq!(transfers(9000, 3000).since(transfers(5000, 2000)), (0, 3000));
        // Written before, deleted since.
        assert_eq!(transfers(5100, 2900).since(transfers(5000, 2000)), (0, 0));
        // Deleted before anything was written.
        assert_eq!(transfers(5000, 9000).since(transfers(0, 9000)), (0, 5000));
    }
}
