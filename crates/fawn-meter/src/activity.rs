//! What the whole machine did: the share of its CPU time that was used, and what went to and from a device.

use std::path::{Path, PathBuf};

use crate::error::MeterError;
use crate::sysfs;

/// Bytes of a sector, as the kernel counts them, whatever the device has.
const SECTOR_BYTES: u64 = 512;

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Activity {
    /// CPU time, in ticks of the system: used, and all there was.
    busy_ticks: u64,
    total_ticks: u64,
    /// Reads and writes that a device completed.
    operations: u64,
    /// Bytes of them.
    bytes: u64,
}

/// What was done meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    /// Of all CPU time, 0 to 1.
    pub cpu_share: f64,
    /// How much of this one tick of the system is.
    pub cpu_share_step: f64,
    /// Reads and writes of the device.
    pub operations: f64,
    /// Bytes of them.
    pub bytes: f64,
}

impl Activity {
    /// So far, by the machine whose `/proc` this is; of `device` (`nvme0n1`), if there is one.
    ///
    /// # Errors
    /// What cannot be read, or that there is no such device.
    pub fn now(proc: &Path, device: Option<&str>) -> Result<Self, MeterError> {
        let path = proc.join("stat");
        let (busy_ticks, total_ticks) = parse_cpu(&sysfs::word(&path)?).ok_or_else(|| odd(&path))?;
        let (operations, bytes) = match device {
            None => (0, 0),
            Some(device) => {
                let path = proc.join("diskstats");
                parse_device(&sysfs::word(&path)?, device).ok_or_else(|| {
                    MeterError::Absent(format!("{} has no device {device}: name one of its list", path.display()))
                })?
            }
        };
        Ok(Self { busy_ticks, total_ticks, operations, bytes })
    }

    /// What was done since `before`.
    pub fn since(&self, before: &Self) -> Use {
        let total = self.total_ticks.saturating_sub(before.total_ticks).max(1) as f64;
        Use {
            cpu_share: self.busy_ticks.saturating_sub(before.busy_ticks) as f64 / total,
            cpu_share_step: 1.0 / total,
            operations: self.operations.saturating_sub(before.operations) as f64,
            bytes: self.bytes.saturating_sub(before.bytes) as f64,
        }
    }
}

fn odd(path: &Path) -> MeterError {
    MeterError::Odd { path: PathBuf::from(path), found: String::new(), expected: "what the kernel says of CPU time" }
}

/// Ticks that were used by this machine, and all, from `/proc/stat`.
fn parse_cpu(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is part of user and nice.
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let [_, _, _, idle, wait, _, _, stolen] = ticks[..] else { return None };
    let total: u64 = ticks.iter().sum();
    // What others of the host took is no use of this machine, and not this machine's to use.
    Some((total - idle - wait - stolen, total - stolen))
}

/// Reads and writes, and their bytes, of one line of `/proc/diskstats`.
fn parse_device(text: &str, device: &str) -> Option<(u64, u64)> {
    let line = text.lines().find(|line| line.split_ascii_whitespace().nth(2) == Some(device))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().skip(3).map_while(|field| field.parse().ok()).collect();
    // Reads, merged, sectors, milliseconds; writes, merged, sectors, …
    let [reads, _, sectors_read, _, writes, _, sectors_written, ..] = fields[..] else { return None };
    Some((reads + writes, (sectors_read + sectors_written) * SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_told_without_what_was_waited_and_stolen() {
        let at = |text| {
            let (busy_ticks, total_ticks) = parse_cpu(text).unwrap();
            Activity { busy_ticks, total_ticks, ..Activity::default() }
        };
        let before = at("cpu  100 10 50 1000 10 0 5 5 0 0\ncpu0 1 2\n");
        let after = at("cpu  150 10 70 1100 20 0 5 25 7 7\n");
        let used = after.since(&before);
        // 70 of 180; 20 more were stolen.
        assert!((used.cpu_share - 70.0 / 180.0).abs() < 1e-12 && (used.cpu_share_step - 1.0 / 180.0).abs() < 1e-12);
        assert_eq!(parse_cpu("cpu  1 2 3\n"), None);
        assert_eq!(parse_cpu("intr 1\n"), None);
    }

    #[test]
    fn a_device_is_found_by_its_whole_name() {
        let text = " 259 0 nvme0n1p1 1 0 8 0 1 0 8 0 0 0 0\n 259 1 nvme0n1 10 0 80 5 20 1 160 7 0 9 12 0 0 0 0 1 2\n";
        assert_eq!(parse_device(text, "nvme0n1"), Some((30, 240 * 512)));
        assert_eq!(parse_device(text, "nvme0"), None);
    }
}
