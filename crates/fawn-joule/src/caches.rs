//! The processor's caches, as Linux tells them below `/sys/devices/system/cpu/cpu0/cache`.

use std::fs;
use std::path::Path;

use fawn_report::chart::ChartLimit;
use serde::Serialize;

/// A cache that holds data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuCache {
    /// 1 is the one beside the core.
    pub level: u32,
    /// All of it.
    pub bytes: u64,
    /// Processors that share it, as lists of the kernel; null where it does not say.
    pub shared_by: Option<String>,
}

impl CpuCache {
    /// The caches of the first processor below this `/sys`, the one beside the core first; empty where the system does not tell, as
    /// on some boards and in some virtual machines.
    pub fn all(sys: &Path) -> Vec<Self> {
        let dir = sys.join("devices/system/cpu/cpu0/cache");
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut caches: Vec<Self> = entries.filter_map(|entry| Self::read(&entry.path())).collect();
        caches.sort_by_key(|cache| (cache.level, cache.bytes));
        caches.dedup_by_key(|cache| cache.level);
        caches
    }

    /// Bytes of the second level that a thread has if all processors that share it have one; `None`: the system does not tell of a
    /// second level.
    pub fn of_a_thread(all: &[Self]) -> Option<u64> {
        let second = all.iter().find(|cache| cache.level == 2)?;
        let sharing = second.shared_by.as_deref().and_then(fawn_machine::cpus::parse).map_or(1, |all| all.len().max(1));
        Some(second.bytes / sharing as u64)
    }

    fn read(dir: &Path) -> Option<Self> {
        let of = |name: &str| fs::read_to_string(dir.join(name)).ok().map(|text| text.trim().to_owned());
        let holds_data = of("type").is_some_and(|kind| kind == "Data" || kind == "Unified");
        let (level, bytes) = (of("level")?.parse().ok()?, size(&of("size")?)?);
        (holds_data && bytes > 0).then(|| Self { level, bytes, shared_by: of("shared_cpu_list") })
    }

    /// `L2 (1 MiB)`.
    pub fn describe(&self) -> String {
        let (amount, unit) = match self.bytes {
            bytes if bytes.is_multiple_of(1 << 20) => (bytes >> 20, "MiB"),
            bytes => (bytes >> 10, "KiB"),
        };
        format!("L{} ({amount} {unit})", self.level)
    }

    /// Its size as a line of a chart.
    pub fn limit(&self) -> ChartLimit {
        ChartLimit { at: self.bytes as f64, name: format!("L{}", self.level) }
    }
}

/// `48K`, `32768K`, `2M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorded tree.
    fn caches(machine: &str) -> Vec<(u32, u64)> {
        let sys = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(machine).join("sys");
        CpuCache::all(&sys).into_iter().map(|cache| (cache.level, cache.bytes)).collect()
    }

    #[test]
    fn caches_of_recorded_machines_are_read_without_those_of_instructions() {
        assert_eq!(caches("epyc-vm"), [(1, 48 << 10), (2, 1 << 20), (3, 32 << 20)]);
        assert_eq!(caches("no-caches"), []);
    }

    #[test]
    fn a_thread_has_its_part_of_the_second_level() {
        let cache = |level: u32, kib: u64, shared_by: Option<&str>| CpuCache {
            level,
            bytes: kib << 10,
            shared_by: shared_by.map(str::to_owned),
        };
        let of = |second: CpuCache| CpuCache::of_a_thread(&[cache(1, 32, None), second, cache(3, 2048, Some("0-3"))]);
        assert_eq!(of(cache(2, 512, Some("0"))), Some(512 << 10));
        assert_eq!(of(cache(2, 1280, Some("0,4"))), Some(640 << 10));
        assert_eq!(of(cache(2, 2048, None)), Some(2 << 20));
        assert_eq!(CpuCache::of_a_thread(&[cache(1, 32, None)]), None);
    }

    #[test]
    fn caches_are_told_with_their_level_and_size() {
        let told = |bytes: u64| CpuCache { level: 2, bytes, shared_by: None }.describe();
        assert_eq!([told(512 << 10), told(1 << 20)], ["L2 (512 KiB)", "L2 (1 MiB)"]);
        let limit = CpuCache { level: 1, bytes: 49_152, shared_by: None }.limit();
        assert_eq!((limit.name.as_str(), limit.at as u64), ("L1", 49_152));
    }

    #[test]
    fn sizes_have_units_of_powers_of_two() {
        assert_eq!(
            [size("48K"), size("2M"), size("512"), size("3X"), size("")],
            [Some(49_152), Some(2 << 20), Some(512), None, None]
        );
    }
}
