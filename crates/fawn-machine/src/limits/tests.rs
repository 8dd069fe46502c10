//! Layouts as kernels, containers and service managers make them.

use super::*;
use std::collections::HashMap;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
const MEMINFO: &str = "MemTotal:       26214400 kB\nMemFree:         1000000 kB\nMemAvailable:   20971520 kB\n";
const UNLIMITED: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
    Max data size             unlimited            unlimited            bytes     \n\
    Max address space         unlimited            unlimited            bytes     \n";
const V2_MOUNT: &str = "25 1 0:22 / /proc rw - proc proc rw\n\
    30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1_MOUNTS: &str = "33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n\
    36 32 0:32 / /sys/fs/cgroup/memory rw shared:13 - cgroup cgroup rw,memory\n";

/// A machine of 25 GiB and 8 cores with these files, too.
struct Machine(HashMap<String, String>);

impl Machine {
    fn with(files: &[(&str, &str)]) -> Self {
        let fixed = [
            ("/proc/meminfo", MEMINFO),
            ("/proc/self/limits", UNLIMITED),
            ("/proc/self/status", "Name:\tfawn\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"),
        ];
        Self(fixed.iter().chain(files).map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    fn memory(&self) -> (u64, String) {
        let Limit { amount, from } = memory(&|path| self.0.get(path.to_str().unwrap()).cloned());
        (amount, from)
    }

    fn cores(&self) -> (u64, String) {
        let Limit { amount, from } = cores(&|path| self.0.get(path.to_str().unwrap()).cloned());
        (amount, from)
    }
}

#[test]
fn without_groups_the_machine_is_all_there_is() {
    let machine = Machine::with(&[]);
    assert_eq!(machine.memory(), (25 * GIB, "the machine's memory".to_owned()));
    assert_eq!(machine.cores(), (8, "the cores that the scheduler may use".to_owned()));
    let unlimited = Machine::with(&[
        ("/proc/self/cgroup", "0::/user.slice\n"),
        ("/proc/self/mountinfo", V2_MOUNT),
        ("/sys/fs/cgroup/user.slice/memory.max", "max\n"),
        ("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
    ]);
    assert_eq!((unlimited.memory().0, unlimited.cores().0), (25 * GIB, 8));
    assert_eq!(memory(&|_| None).amount, 0);
    assert_eq!(cores(&|_| None).amount, 0);
}

#[test]
fn a_container_of_version_2_sees_its_own_group_as_the_root() {
    let machine = Machine::with(&[
        ("/proc/self/cgroup", "0::/\n"),
        ("/proc/self/mountinfo", V2_MOUNT),
        ("/sys/fs/cgroup/memory.max", "167772160\n"),
        ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
    ]);
    assert_eq!(machine.memory(), (160 * MIB, "/sys/fs/cgroup/memory.max".to_owned()));
    assert_eq!(machine.cores(), (1, "/sys/fs/cgroup/cpu.max".to_owned()));
}

#[test]
fn every_level_up_to_the_root_counts() {
    let levels = "/sys/fs/cgroup/system.slice";
    let machine = Machine::with(&[
        ("/proc/self/cgroup", "0::/system.slice/fawn.service/worker\n"),
        ("/proc/self/mountinfo", V2_MOUNT),
        (&format!("{levels}/fawn.service/worker/memory.max"), "max\n"),
        (&format!("{levels}/fawn.service/memory.max"), "4294967296\n"),
        (&format!("{levels}/memory.max"), "2147483648\n"),
        (&format!("{levels}/fawn.service/cpu.max"), "400000 100000\n"),
        (&format!("{levels}/cpu.max"), "600000 100000\n"),
    ]);
    assert_eq!(machine.memory(), (2 * GIB, "/sys/fs/cgroup/system.slice/memory.max".to_owned()));
    assert_eq!(machine.cores(), (4, "/sys/fs/cgroup/system.slice/fawn.service/cpu.max".to_owned()));
    // systemd's MemoryHigh= throttles what goes beyond.
    let high = "/sys/fs/cgroup/system.slice/fawn.service/memory.high";
    let mut throttled = machine;
    throttled.0.insert(high.to_owned(), "1073741824\n".to_owned());
    assert_eq!(throttled.memory(), (GIB, high.to_owned()));
}

#[test]
fn a_container_of_version_1_may_see_its_path_on_the_host() {
    let group = "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n";
    let mounts = "600 599 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
        601 599 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
    let machine = Machine::with(&[
        ("/proc/self/cgroup", group),
        ("/proc/self/mountinfo", mounts),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "167772160\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
    ]);
    assert_eq!(machine.memory(), (160 * MIB, "/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned()));
    assert_eq!(machine.cores(), (3, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us".to_owned()));
}

#[test]
fn version_1_tells_of_levels_that_are_not_visible() {
    let machine = Machine::with(&[
        ("/proc/self/cgroup", "9:memory:/a/b\n3:cpu,cpuacct:/a/b\n"),
        ("/proc/self/mountinfo", V1_MOUNTS),
        // No limit: the largest page-aligned number.
        ("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"),
        ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8589934592\n"),
        ("/sys/fs/cgroup/memory/a/b/memory.stat", "cache 0\nhierarchical_memory_limit 1073741824\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
    ]);
    assert_eq!(machine.memory(), (GIB, "/sys/fs/cgroup/memory/a/b/memory.stat".to_owned()));
    assert_eq!(machine.cores(), (1, "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us".to_owned()));
}

#[test]
fn a_hybrid_has_both_versions() {
    let mounts = format!("{V1_MOUNTS}40 32 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let machine = Machine::with(&[
        ("/proc/self/cgroup", "9:memory:/svc\n0::/svc\n"),
        ("/proc/self/mountinfo", &mounts),
        ("/sys/fs/cgroup/memory/svc/memory.limit_in_bytes", "1073741824\n"),
        ("/sys/fs/cgroup/unified/svc/cpu.max", "200000 100000\n"),
    ]);
    assert_eq!((machine.memory().0, machine.cores().0), (GIB, 2));
}

#[test]
fn a_path_outside_of_what_is_mounted_means_the_mount() {
    for path in ["/../../other", "/..", "/elsewhere/deep"] {
        let machine = Machine::with(&[
            ("/proc/self/cgroup", &format!("0::{path}\n")),
            ("/proc/self/mountinfo", &V2_MOUNT.replace("0:26 / /sys", "0:26 /mine /sys")),
            ("/sys/fs/cgroup/memory.max", "1073741824\n"),
        ]);
        assert_eq!(machine.memory(), (GIB, "/sys/fs/cgroup/memory.max".to_owned()), "{path}");
    }
}

#[test]
fn resource_limits_count_too() {
    let limits = UNLIMITED.replace("Max address space         unlimited ", "Max address space         2147483648");
    let machine = Machine::with(&[("/proc/self/limits", &limits)]);
    assert_eq!(machine.memory(), (2 * GIB, "RLIMIT_AS (ulimit)".to_owned()));
    let limits = UNLIMITED.replace("Max data size             unlimited ", "Max data size             1073741824");
    let machine = Machine::with(&[("/proc/self/limits", &limits)]);
    assert_eq!(machine.memory(), (GIB, "RLIMIT_DATA (ulimit)".to_owned()));
}

#[test]
fn cores_are_those_that_may_be_used() {
    for (list, length) in [("0", 1), ("0-1", 2), ("0,2,4-7", 6), ("", 0), ("3-1", 0), ("x", 0)] {
        assert_eq!(list_length(list), length, "{list}");
    }
    let machine = Machine::with(&[("/proc/self/status", "Cpus_allowed_list:\t2,5\n")]);
    assert_eq!(machine.cores().0, 2);
}

#[test]
fn nonsense_limits_nothing() {
    let machine = Machine::with(&[
        ("/proc/self/cgroup", "0::/a\nnonsense\n"),
        ("/proc/self/mountinfo", &format!("nonsense\n - \n{V2_MOUNT}")),
        ("/sys/fs/cgroup/a/memory.max", "many\n"),
        ("/sys/fs/cgroup/a/cpu.max", "100000 0\n"),
        ("/sys/fs/cgroup/cpu.max", "\n"),
    ]);
    assert_eq!((machine.memory().0, machine.cores().0), (25 * GIB, 8));
}
