//! Control groups: version 2 (`cpu.stat`, `io.stat`) and version 1 (`cpuacct.usage`, `blkio.throttle.*`).

use super::counters::DiskCounters;
use super::proc::count;

/// Seconds of processor time, from `cpu.stat` of version 2.
pub fn cpu_seconds_v2(cpu_stat: &str) -> Option<f64> {
    let us = cpu_stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(us.trim().parse::<u64>().ok()? as f64 / 1e6)
}

/// Seconds of processor time, from `cpuacct.usage` of version 1.
pub fn cpu_seconds_v1(cpuacct_usage: &str) -> Option<f64> {
    Some(cpuacct_usage.trim().parse::<u64>().ok()? as f64 / 1e9)
}

/// What the group's disks did, from `io.stat` of version 2. Disks are named by their numbers, such as `8:0`. An empty file is a
/// group that has used no disk.
pub fn disks_v2(io_stat: &str, is_chosen: impl Fn(&str) -> bool) -> DiskCounters {
    let mut sum = DiskCounters::default();
    for line in io_stat.lines() {
        let mut words = line.split_ascii_whitespace();
        if !words.next().is_some_and(&is_chosen) {
            continue;
        }
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            let Some(value) = count(value) else { continue };
            match name {
                "rbytes" => sum.read_bytes += value,
                "wbytes" => sum.write_bytes += value,
                "rios" => sum.reads += value,
                "wios" => sum.writes += value,
                _ => {}
            }
        }
    }
    sum
}

/// The same from `blkio.throttle.io_service_bytes` and `blkio.throttle.io_serviced` of version 1.
pub fn disks_v1(service_bytes: &str, serviced: &str, is_chosen: impl Fn(&str) -> bool) -> DiskCounters {
    let sum = |text: &str, operation: &str| -> f64 {
        let of_line = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let is_it = words.next().is_some_and(&is_chosen) && words.next() == Some(operation);
            if is_it { count(words.next()?) } else { None }
        };
        text.lines().filter_map(of_line).sum()
    };
    DiskCounters {
        read_bytes: sum(service_bytes, "Read"),
        write_bytes: sum(service_bytes, "Write"),
        reads: sum(serviced, "Read"),
        writes: sum(serviced, "Write"),
    }
}

/// Whether the kernel counts what groups of version 1 do on these disks, from a `blkio.throttle` file of the root group. Recent
/// kernels (seen on Linux 6.18) begin to when a group gets its first limit for a disk; until then no file has a line of that disk.
pub fn counts_disks_v1(of_root: &str, is_chosen: impl Fn(&str) -> bool) -> bool {
    of_root.lines().filter_map(|line| line.split_once(' ')).any(|(disk, _)| is_chosen(disk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_has_one_line_a_disk() {
        assert_eq!(cpu_seconds_v2("usage_usec 2500000\nuser_usec 1\nsystem_usec 2\n"), Some(2.5));
        assert_eq!(cpu_seconds_v2("user_usec 1\n"), None);
        let stat =
            "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n253:0 rbytes=4096 wbytes=8192 rios=1 wios=2\n";
        let disks = disks_v2(stat, |name| name == "8:0");
        assert_eq!((disks.read_bytes, disks.write_bytes, disks.reads, disks.writes), (4096.0, 8192.0, 1.0, 2.0));
        assert_eq!(disks_v2("", |_| true), DiskCounters::default());
    }

    #[test]
    fn version_1_counts_disks_of_which_the_root_has_lines() {
        let is_vda = |disk: &str| disk == "254:0";
        assert!(counts_disks_v1("254:0 Read 0\n254:0 Write 0\nTotal 0\n", is_vda));
        assert!(!counts_disks_v1("8:0 Read 4096\nTotal 4096\n", is_vda) && !counts_disks_v1("Total 0\n", is_vda));
    }

    #[test]
    fn version_1_has_one_line_an_operation() {
        assert_eq!(cpu_seconds_v1("1500000000\n"), Some(1.5));
        let bytes = "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n8:0 Total 12288\n7:0 Read 1\nTotal 12289\n";
        let serviced = "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n";
        let disks = disks_v1(bytes, serviced, |name| name == "8:0");
        assert_eq!((disks.read_bytes, disks.write_bytes, disks.reads, disks.writes), (4096.0, 8192.0, 1.0, 2.0));
    }
}
