//! What any process has: time, memory, descriptors. The names are those that Prometheus' own libraries give them.

use crate::page::Page;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

crate::families! {
    CPU = Counter "process_cpu_seconds_total" [] "CPU time of the process, in user mode and in the kernel.";
    MEMORY = Gauge "process_resident_memory_bytes" [] "Resident memory of the process.";
    DESCRIPTORS = Gauge "process_open_fds" [] "Open file descriptors.";
    MOST_DESCRIPTORS = Gauge "process_max_fds" [] "Largest number of file descriptors that the process may have open.";
    STARTED = Gauge "process_start_time_seconds" [] "Unix time at which the process started, by the clock of that time.";
    BUILD = Gauge "fawn_build_info" ["version"] "Always 1; the label is the release.";
    CERTIFICATE_END = Gauge "fawn_certificate_end_seconds" ["file"] "Unix time at which the certificate in the file expires; for several that are used together, the first expiry.";
    HEALTHY = Gauge "fawn_healthy" [] "Whether /health reports that the process serves.";
}

/// Puts the figures of this process on a page; where the system does not tell one, it is left out.
pub fn measure(page: &mut Page, healthy: bool) {
    page.put(&BUILD, &[env!("CARGO_PKG_VERSION")], true);
    page.put(&HEALTHY, &[], healthy);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if let Some(stat) = Stat::parse(&stat) {
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        page.put(&CPU, &[], stat.cpu_ticks as f64 / ticks);
        page.put(&MEMORY, &[], stat.resident_pages * rustix::param::page_size() as u64);
    }
    if let Some(started) = note_start() {
        page.put(&STARTED, &[], started);
    }
    if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        page.put(&MOST_DESCRIPTORS, &[], most);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        // Not the one that lists them.
        page.put(&DESCRIPTORS, &[], open.count().saturating_sub(1));
    }
}

/// The Unix second at which the process started, as the clock had it when this was asked first. A clock that is set
/// later must not look like a restart.
pub fn note_start() -> Option<f64> {
    static STARTED_AT: OnceLock<Option<f64>> = OnceLock::new();
    *STARTED_AT.get_or_init(|| {
        let stat = Stat::parse(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let up = up.tv_sec as f64 + up.tv_nsec as f64 / 1e9;
        Some((now - up + stat.started_ticks as f64 / ticks).max(0.0))
    })
}

/// What is wanted of `/proc/self/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    /// Since the machine has started.
    started_ticks: u64,
    resident_pages: u64,
}

impl Stat {
    /// The second field is the program's name in parentheses and may hold blanks; user and system time are 14 and 15, the
    /// start 22, resident pages 24.
    fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self { cpu_ticks: field(14)? + field(15)?, started_ticks: field(22)?, resident_pages: field(24)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_process_are_counted_from_behind_its_name() {
        let stat = "7 (a) b) S 4 5 6 7 8 9 10 11 12 13 140 15 16 17 18 19 20 21 22 23 24 25";
        assert_eq!(Stat::parse(stat), Some(Stat { cpu_ticks: 155, started_ticks: 22, resident_pages: 24 }));
        assert_eq!(Stat::parse("7 (a) S 4"), None);
    }

    #[test]
    fn this_process_has_memory_and_descriptors() {
        let mut page = Page::default();
        measure(&mut page, true);
        let text = page.text();
        let number = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
            line.parse().unwrap()
        };
        assert!(number("process_resident_memory_bytes") > 100_000.0);
        assert!(number("process_open_fds") >= 3.0);
        assert!(number("process_max_fds") >= number("process_open_fds"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let started = number("process_start_time_seconds");
        assert!(started > now - 86_400.0 && started < now + 2.0, "{started} is no start of this process at {now}");
    }
}
