//! Files of `/proc`.

use super::counters::DiskCounters;

/// Bytes of a sector, in which `/proc/diskstats` counts whatever the disk has.
const SECTOR_BYTES: f64 = 512.0;

/// Seconds for which processors were busy, summed over them, from `/proc/stat`. Waiting for a disk is no work, and neither is
/// what the hypervisor took.
pub fn cpu_seconds(stat: &str, ticks_per_second: f64) -> Option<f64> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let mut ticks = line.split_ascii_whitespace().skip(1).map(|field| field.parse::<u64>().ok());
    let mut next = || ticks.next().flatten();
    let (user, nice, system) = (next()?, next()?, next()?);
    let (_idle, _iowait) = (next()?, next()?);
    let (irq, softirq) = (next().unwrap_or(0), next().unwrap_or(0));
    // Guests' time is in that of users.
    let busy = [user, nice, system, irq, softirq].into_iter().fold(0_u64, u64::saturating_add);
    Some(busy as f64 / ticks_per_second)
}

/// Bytes that interfaces received and sent, from `/proc/net/dev`. `None` if none is chosen.
pub fn network(dev: &str, is_chosen: impl Fn(&str) -> bool) -> Option<(f64, f64)> {
    let mut sum = None;
    for (name, counts) in dev.lines().filter_map(|line| line.split_once(':')) {
        if !is_chosen(name.trim()) {
            continue;
        }
        let fields: Vec<f64> = counts.split_ascii_whitespace().map_while(count).collect();
        let (received, sent) = (*fields.first()?, *fields.get(8)?);
        let (in_before, out_before) = sum.unwrap_or((0.0, 0.0));
        sum = Some((in_before + received, out_before + sent));
    }
    sum
}

/// What disks did, from `/proc/diskstats`. `None` if none is chosen.
pub fn disks(diskstats: &str, is_chosen: impl Fn(&str) -> bool) -> Option<DiskCounters> {
    let mut sum = None;
    for line in diskstats.lines() {
        let mut fields = line.split_ascii_whitespace().skip(2);
        if !fields.next().is_some_and(&is_chosen) {
            continue;
        }
        let counts: Vec<f64> = fields.map_while(count).collect();
        let [reads, _, sectors_read, _, writes, _, sectors_written, ..] = counts[..] else { continue };
        sum.get_or_insert_with(DiskCounters::default).add(&DiskCounters {
            read_bytes: sectors_read * SECTOR_BYTES,
            write_bytes: sectors_written * SECTOR_BYTES,
            reads,
            writes,
        });
    }
    sum
}

/// A counter. The kernel writes digits alone.
pub(super) fn count(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().map(|count| count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_processors_is_without_idleness_waiting_and_theft() {
        let stat = "cpu  100 20 30 4000 500 6 7 80 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
        assert_eq!(cpu_seconds(stat, 100.0), Some(1.63));
        assert_eq!(cpu_seconds("cpu  100 20\n", 100.0), None);
        assert_eq!(cpu_seconds("", 100.0), None);
    }

    #[test]
    fn interfaces_are_summed_if_they_are_chosen() {
        let dev = "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
             lo:  500       5    0    0    0     0          0         0      500       5    0    0    0     0       0          0\n  \
             eth0: 1000       9    0    0    0     0          0         0     2000       9    0    0    0     0       0          0\n  \
             eth1:    1       1    0    0    0     0          0         0        2       1    0    0    0     0       0          0\n";
        assert_eq!(network(dev, |name| name != "lo"), Some((1001.0, 2002.0)));
        assert_eq!(network(dev, |name| name == "lo"), Some((500.0, 500.0)));
        assert_eq!(network(dev, |name| name == "wlan0"), None);
    }

    #[test]
    fn disks_count_sectors_of_512_bytes() {
        let stats = " 254       0 vda 100 3 800 50 20 4 160 70 0 90 120 0 0 0 0 5 6\n 254       1 vda1 99 3 700 50 19 4 159 70 0 90 120\n   \
             7       0 loop0 1 0 2 0 0 0 0 0 0 0 0\n";
        let vda = disks(stats, |name| name == "vda").unwrap();
        assert_eq!((vda.reads, vda.writes, vda.read_bytes, vda.write_bytes), (100.0, 20.0, 409_600.0, 81_920.0));
        assert_eq!(disks(stats, |name| name == "sda"), None);
    }
}
