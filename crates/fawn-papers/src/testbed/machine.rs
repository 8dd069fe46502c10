//! What was measured on, as far as the system tells: what it does not is `None`, and is said to be unknown.

use std::fs;
use std::path::Path;

use fawn_machine::host::memory_info;
use rustix::fs::{major, minor};
use serde::{Deserialize, Serialize};

/// The program that measures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// The commit that it was built from, as far as it knows.
    pub commit: String,
    /// The command line that it was given.
    pub command: String,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInfo {
    /// The processor's model.
    pub cpu: Option<String>,
    /// Processors that the program may use.
    pub cores: usize,
    /// DRAM, bytes.
    pub dram_bytes: Option<u64>,
    /// The model of the device below the directory.
    pub device: Option<String>,
    /// Bytes of the file system of the directory.
    pub file_system_bytes: Option<u64>,
    /// Its type.
    pub file_system: Option<String>,
    /// The kernel's name and release.
    pub kernel: String,
    /// The machine's architecture.
    pub architecture: String,
    /// The host's name.
    pub host: String,
}

impl MachineInfo {
    /// This one, with the device of this directory, which exists.
    pub fn here(dir: &Path) -> Self {
        let name = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        Self {
            cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu(&text)).or_else(board),
            cores: fawn_machine::cores().0.get(),
            dram_bytes: memory_info("MemTotal"),
            device: device(dir),
            file_system_bytes: rustix::fs::statvfs(dir).ok().map(|found| found.f_blocks * found.f_frsize),
            file_system: fawn_flash::file_system(dir),
            kernel: format!("{} {}", text(name.sysname()), text(name.release())),
            architecture: text(name.machine()),
            host: text(name.nodename()),
        }
    }

    /// Its lines for people: what, and which.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let known = |it: &Option<String>| it.clone().unwrap_or_else(|| "unknown".to_owned());
        let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
        vec![
            ("processor", format!("{}, {}", known(&self.cpu), self.architecture)),
            ("cores", self.cores.to_string()),
            ("DRAM", known(&self.dram_bytes.map(gib))),
            ("device", known(&self.device)),
            ("file system", format!("{}, {}", known(&self.file_system), known(&self.file_system_bytes.map(gib)))),
            ("kernel", self.kernel.clone()),
        ]
    }
}

/// The model of the first processor.
fn cpu(text: &str) -> Option<String> {
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    text.lines().find(|line| line.starts_with("model name")).and_then(value).filter(|model| !model.is_empty())
}

/// What a board calls itself, where the processor does not say.
fn board() -> Option<String> {
    let text = fs::read_to_string("/proc/device-tree/model").ok()?;
    Some(text.trim_end_matches('\0').to_owned())
}

/// The model of the disk on which a directory lies, of which a partition has none.
fn device(dir: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let number = fs::metadata(dir).ok()?.dev();
    let block = fs::canonicalize(format!("/sys/dev/block/{}:{}", major(number), minor(number))).ok()?;
    let disk = if block.join("partition").exists() { block.parent()?.to_owned() } else { block };
    let model = fs::read_to_string(disk.join("device/model")).ok();
    let name = disk.file_name()?.to_string_lossy().into_owned();
    match model.map(|model| model.trim().to_owned()).filter(|model| !model.is_empty()) {
        Some(model) => Some(format!("{model} ({name})")),
        None => Some(format!("{name}, of unknown model")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_understood() {
        assert_eq!(cpu("processor\t: 0\nmodel name\t: A B\nmodel name\t: C\n").as_deref(), Some("A B"));
        assert_eq!(cpu("processor: 0\n"), None);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_core() {
        let machine = MachineInfo::here(Path::new("/"));
        assert!(machine.cores > 0 && machine.kernel.contains(' '), "{machine:?}");
        assert_eq!(machine.lines().len(), 6);
    }
}
