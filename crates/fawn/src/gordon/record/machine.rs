//! Where this machine says what it does, and what it says now.

use std::path::{Path, PathBuf};

use anyhow::bail;
use fawn_gordon::recorder::{DiskCounters, ResourceCounters, cgroup, proc};
use fawn_gordon::trace::{COLUMNS, TraceColumn};

use super::instructions::{CountedEvent, ProcessorCounters};

/// Where control groups are.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Bytes of a group of version 1, by disk.
const BLKIO_BYTES: &str = "blkio.throttle.io_service_bytes";

/// The network of this host with itself.
const LOOPBACK: &str = "lo";

/// A disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDisk {
    /// Its name, such as `sda`.
    pub name: String,
    /// Its numbers, such as `8:0`.
    pub numbers: Option<String>,
}

impl RecordedDisk {
    /// Its numbers as Linux packs them.
    pub fn device(&self) -> Option<u32> {
        let (major, minor) = self.numbers.as_ref()?.split_once(':')?;
        Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
    }
}

/// Files of a control group.
#[derive(Debug)]
enum GroupFiles {
    /// Version 2: a directory with `cpu.stat` and `io.stat`.
    Unified(PathBuf),
    /// Version 1: a directory of each controller.
    Split { cpuacct: PathBuf, blkio: PathBuf },
}

/// All that is read of this machine.
pub struct MachineCounters {
    ticks_per_second: f64,
    group: Option<GroupFiles>,
    interfaces: Vec<String>,
    disks: Vec<RecordedDisk>,
    /// Whether the disks are this machine's alone: all that they do counts, whatever group it is for.
    are_own_disks: bool,
    instructions: Option<ProcessorCounters>,
    cache_misses: Option<ProcessorCounters>,
    sources: [Option<String>; COLUMNS],
    absences: Vec<(TraceColumn, String)>,
}

impl MachineCounters {
    /// Looks for all counters. Empty lists stand for every network adapter, or where there is none every interface but the
    /// loopback, and for every disk. `own_disks` stand in for `disks`, and are read from `/proc` whatever the group.
    ///
    /// # Errors
    /// What was named is not there.
    pub fn find(
        group: Option<&str>,
        interfaces: &[String],
        disks: &[String],
        own_disks: &[String],
    ) -> anyhow::Result<Self> {
        let group_files = group.map(find_group).transpose()?;
        let interfaces = chosen_interfaces(interfaces)?;
        let are_own_disks = !own_disks.is_empty();
        let disks = chosen_disks(if are_own_disks { own_disks } else { disks })?;
        let mut all = Self {
            ticks_per_second: rustix::param::clock_ticks_per_second() as f64,
            group: group_files,
            interfaces,
            disks,
            are_own_disks,
            instructions: None,
            cache_misses: None,
            sources: [const { None }; COLUMNS],
            absences: Vec::new(),
        };
        all.start_processor_counters(group);
        let now = all.read();
        for column in TraceColumn::ALL {
            if now.get(column).is_some() {
                all.sources[column as usize] = Some(all.source(column));
            } else if !all.absences.iter().any(|(absent, _)| *absent == column) {
                all.absences.push((column, all.why_absent(column)));
            }
        }
        Ok(all)
    }

    /// Where each column's figures come from, by column. `None`: not measured.
    pub fn sources(&self) -> &[Option<String>; COLUMNS] {
        &self.sources
    }

    /// Columns that are not measured, each with the reason.
    pub fn absences(&self) -> &[(TraceColumn, String)] {
        &self.absences
    }

    /// The disks.
    pub fn disks(&self) -> &[RecordedDisk] {
        &self.disks
    }

    /// The totals now.
    pub fn read(&mut self) -> ResourceCounters {
        let mut now = ResourceCounters::default();
        now.set(TraceColumn::Instructions, self.instructions.as_mut().and_then(ProcessorCounters::read));
        now.set(TraceColumn::CacheMisses, self.cache_misses.as_mut().and_then(ProcessorCounters::read));
        let network = text(Path::new("/proc/net/dev"));
        let is_interface = |name: &str| self.interfaces.iter().any(|chosen| chosen == name);
        now.set_network(network.and_then(|dev| proc::network(&dev, is_interface)));
        now.set(TraceColumn::CpuSeconds, self.cpu_seconds());
        now.set_disks(self.disk_counters());
        now
    }

    fn cpu_seconds(&self) -> Option<f64> {
        match &self.group {
            None => proc::cpu_seconds(&text(Path::new("/proc/stat"))?, self.ticks_per_second),
            Some(GroupFiles::Unified(dir)) => cgroup::cpu_seconds_v2(&text(&dir.join("cpu.stat"))?),
            Some(GroupFiles::Split { cpuacct, .. }) => cgroup::cpu_seconds_v1(&text(&cpuacct.join("cpuacct.usage"))?),
        }
    }

    fn disk_counters(&self) -> Option<DiskCounters> {
        let is_numbered = |numbers: &str| self.disks.iter().any(|disk| disk.numbers.as_deref() == Some(numbers));
        let is_named = |name: &str| self.disks.iter().any(|disk| disk.name == name);
        match self.group_of_disks() {
            None => proc::disks(&text(Path::new("/proc/diskstats"))?, is_named),
            Some(GroupFiles::Unified(dir)) => Some(cgroup::disks_v2(&text(&dir.join("io.stat"))?, is_numbered)),
            Some(GroupFiles::Split { blkio, .. }) => {
                let of_root = text(&Path::new(CGROUPS).join("blkio").join(BLKIO_BYTES))?;
                if !cgroup::counts_disks_v1(&of_root, is_numbered) {
                    return None;
                }
                let bytes = text_with_descendants(blkio, BLKIO_BYTES)?;
                let serviced = text_with_descendants(blkio, "blkio.throttle.io_serviced")?;
                Some(cgroup::disks_v1(&bytes, &serviced, is_numbered))
            }
        }
    }

    /// The group whose share of the disks counts. `None`: all that they do counts.
    fn group_of_disks(&self) -> Option<&GroupFiles> {
        self.group.as_ref().filter(|_| !self.are_own_disks)
    }

    fn start_processor_counters(&mut self, group: Option<&str>) {
        for (event, column) in [
            (CountedEvent::Instructions, TraceColumn::Instructions),
            (CountedEvent::CacheMisses, TraceColumn::CacheMisses),
        ] {
            let started = if group.is_some() {
                Err("hardware counters are of the whole machine, not of a control group".to_owned())
            } else {
                ProcessorCounters::start(event)
            };
            match (started, event) {
                (Ok(counters), CountedEvent::Instructions) => self.instructions = Some(counters),
                (Ok(counters), CountedEvent::CacheMisses) => self.cache_misses = Some(counters),
                (Err(why), _) => self.absences.push((column, why)),
            }
        }
    }

    fn source(&self, column: TraceColumn) -> String {
        let disks = || self.disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", ");
        match column {
            TraceColumn::Instructions => CountedEvent::Instructions.source().to_owned(),
            TraceColumn::CacheMisses => CountedEvent::CacheMisses.source().to_owned(),
            TraceColumn::NetworkInBytes | TraceColumn::NetworkOutBytes => {
                format!("/proc/net/dev ({})", self.interfaces.join(", "))
            }
            TraceColumn::CpuSeconds => match &self.group {
                None => "/proc/stat".to_owned(),
                Some(GroupFiles::Unified(dir)) => dir.join("cpu.stat").display().to_string(),
                Some(GroupFiles::Split { cpuacct, .. }) => cpuacct.join("cpuacct.usage").display().to_string(),
            },
            _ => match self.group_of_disks() {
                None => format!("/proc/diskstats ({})", disks()),
                Some(GroupFiles::Unified(dir)) => format!("{} ({})", dir.join("io.stat").display(), disks()),
                Some(GroupFiles::Split { blkio, .. }) => {
                    format!("{} ({})", blkio.join("blkio.throttle.*").display(), disks())
                }
            },
        }
    }

    fn why_absent(&self, column: TraceColumn) -> String {
        match column {
            TraceColumn::Instructions | TraceColumn::CacheMisses => "the counters cannot be read".to_owned(),
            TraceColumn::CpuSeconds => "neither /proc nor the control group says it".to_owned(),
            TraceColumn::NetworkInBytes | TraceColumn::NetworkOutBytes if self.interfaces.is_empty() => {
                "there is no network interface besides the loopback: name one with --interface".to_owned()
            }
            TraceColumn::NetworkInBytes | TraceColumn::NetworkOutBytes => "/proc/net/dev cannot be read".to_owned(),
            _ if self.disks.is_empty() => "/sys/block lists no disk: name one with --disk".to_owned(),
            _ => match (self.group_of_disks(), self.disks.iter().find_map(|disk| disk.numbers.as_ref())) {
                (Some(GroupFiles::Split { blkio, .. }), Some(numbers)) => format!(
                    "the kernel counts disks of a control group only once it has a limit: set a high one, with \
                     echo {numbers} 1000000000000 > {}, or name a disk that nobody else uses with --device",
                    blkio.join("blkio.throttle.read_bps_device").display()
                ),
                (Some(_), _) => {
                    "the control group counts no disks: name one that nobody else uses with --device".to_owned()
                }
                (None, _) => "/proc/diskstats cannot be read".to_owned(),
            },
        }
    }
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// A file of version 1 that counts the groups below this one too, as `cpuacct.usage` does. Older kernels have one for the
/// group alone.
fn text_with_descendants(blkio: &Path, name: &str) -> Option<String> {
    text(&blkio.join(format!("{name}_recursive"))).or_else(|| text(&blkio.join(name)))
}

/// Where a control group's files are.
fn find_group(name: &str) -> anyhow::Result<GroupFiles> {
    let name = name.strip_prefix(CGROUPS).unwrap_or(name).trim_start_matches('/');
    let root = Path::new(CGROUPS);
    let dir = root.join(name);
    if root.join("cgroup.controllers").exists() && dir.is_dir() {
        return Ok(GroupFiles::Unified(dir));
    }
    let (cpuacct, blkio) = (root.join("cpuacct").join(name), root.join("blkio").join(name));
    if cpuacct.is_dir() || blkio.is_dir() {
        return Ok(GroupFiles::Split { cpuacct, blkio });
    }
    let unified = root.join("unified").join(name);
    if unified.is_dir() {
        return Ok(GroupFiles::Unified(unified));
    }
    bail!("there is no control group {name} below {CGROUPS}: name one as /proc/PID/cgroup has it")
}

fn chosen_interfaces(chosen: &[String]) -> anyhow::Result<Vec<String>> {
    let dev = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let known: Vec<&str> = dev.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no network interface {unknown}: there are {}", known.join(", "));
    }
    if !chosen.is_empty() {
        return Ok(chosen.to_vec());
    }
    // Bridges, tunnels and the like pass on what an adapter counts too. A container may have nothing but such.
    let has_adapter = |name: &&str| Path::new("/sys/class/net").join(name).join("device").exists();
    let others: Vec<&str> = known.into_iter().filter(|name| *name != LOOPBACK).collect();
    let adapters: Vec<&str> = others.iter().copied().filter(has_adapter).collect();
    Ok(if adapters.is_empty() { others } else { adapters }.into_iter().map(str::to_owned).collect())
}

fn chosen_disks(chosen: &[String]) -> anyhow::Result<Vec<RecordedDisk>> {
    let block = Path::new("/sys/block");
    let numbers = |name: &str| {
        let text = std::fs::read_to_string(block.join(name).join("dev")).ok()?;
        Some(text.trim().to_owned())
    };
    let mut known: Vec<String> = std::fs::read_dir(block)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    known.sort();
    if !chosen.is_empty() {
        let stats = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
        for name in chosen {
            if proc::disks(&stats, |known| known == name).is_none() {
                bail!("/proc/diskstats has no disk {name}: there are {}", known.join(", "));
            }
        }
        return Ok(chosen.iter().map(|name| RecordedDisk { name: name.clone(), numbers: numbers(name) }).collect());
    }
    // What lies on other disks would count twice, and what lies in memory is no disk.
    let is_disk = |name: &String| {
        let lies_on_others =
            std::fs::read_dir(block.join(name).join("slaves")).is_ok_and(|mut slaves| slaves.next().is_some());
        !lies_on_others && !["loop", "ram", "zram", "fd", "sr"].iter().any(|prefix| is_numbered(name, prefix))
    };
    known.retain(is_disk);
    Ok(known.into_iter().map(|name| RecordedDisk { numbers: numbers(&name), name }).collect())
}

/// Whether a name is this prefix and a number.
fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_disks_are_known_by_their_names() {
        assert!(is_numbered("loop0", "loop") && is_numbered("sr1", "sr"));
        assert!(!is_numbered("sram", "sr") && !is_numbered("loop", "loop"));
        let disk = RecordedDisk { name: "sda".to_owned(), numbers: Some("8:16".to_owned()) };
        assert_eq!(disk.device(), Some(8 << 20 | 16));
    }
}
