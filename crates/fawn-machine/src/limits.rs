//! Limits of memory and cores, out of the texts in which Linux tells them. Sees no file itself.
//!
//! | text | what is taken from it |
//! |---|---|
//! | `/proc/meminfo` | the machine's memory |
//! | `/proc/self/cgroup`, `/proc/self/mountinfo` | where the process's control groups are visible |
//! | `memory.max`, `memory.high`, `cpu.max` | limits of a group (version 2), of each level up to the mount |
//! | `memory.limit_in_bytes`, `memory.stat`, `cpu.cfs_quota_us`, `cpu.cfs_period_us` | the same of version 1 |
//! | `/proc/self/limits` | `RLIMIT_AS`, `RLIMIT_DATA` |
//! | `/proc/self/status` | cores that the scheduler may use: affinity and cpusets |

use std::path::{Component, Path, PathBuf};

use crate::cpus;

/// How much there is, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes, or cores.
    pub amount: u64,
    /// For people: `the machine's memory`, `/sys/fs/cgroup/app/memory.max`.
    pub from: String,
}

/// Gives a file's text; `None` where there is none.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// Bytes of memory; 0 where nothing says how many.
pub fn memory(read: ReadFile<'_>) -> Limit {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| meminfo(&text, "MemTotal")).unwrap_or(0);
    let mut found = vec![Limit { amount: machine, from: "the machine's memory".to_owned() }];
    for group in groups(read, "memory") {
        let files: &[&str] = if group.is_v2 { &["memory.max", "memory.high"] } else { &["memory.limit_in_bytes"] };
        for level in group.levels() {
            for file in files {
                let path = level.join(file);
                let amount = read(&path).and_then(|text| text.trim().parse().ok());
                found.extend(amount.map(|amount| Limit { amount, from: path.display().to_string() }));
            }
        }
        if !group.is_v2 {
            // It knows of levels above those that are visible, too.
            let path = group.dir.join("memory.stat");
            let amount = read(&path).and_then(|text| field(&text, "hierarchical_memory_limit "));
            found.extend(amount.map(|amount| Limit { amount, from: path.display().to_string() }));
        }
    }
    let limits = read(Path::new("/proc/self/limits")).unwrap_or_default();
    for (title, name) in [("Max address space ", "RLIMIT_AS"), ("Max data size ", "RLIMIT_DATA")] {
        let amount = field(&limits, title);
        found.extend(amount.map(|amount| Limit { amount, from: format!("{name} (ulimit)") }));
    }
    // The first of equals: what is nearest to the process, but the machine before everything.
    found.retain(|limit| limit.amount > 0);
    found.into_iter().min_by_key(|limit| limit.amount).unwrap_or(Limit { amount: 0, from: "nothing".to_owned() })
}

/// Whole cores, at least 1 where anything is said; 0 where nothing is.
pub fn cores(read: ReadFile<'_>) -> Limit {
    let status = read(Path::new("/proc/self/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map_or(0, list_length);
    let mut found = vec![Limit { amount: allowed, from: "the cores that the scheduler may use".to_owned() }];
    for group in groups(read, "cpu") {
        for level in group.levels() {
            found.extend(quota(read, &level, group.is_v2));
        }
    }
    found.retain(|limit| limit.amount > 0);
    found.into_iter().min_by_key(|limit| limit.amount).unwrap_or(Limit { amount: 0, from: "nothing".to_owned() })
}

/// The whole cores that a level's quota is worth.
fn quota(read: ReadFile<'_>, level: &Path, is_v2: bool) -> Option<Limit> {
    let file = level.join(if is_v2 { "cpu.max" } else { "cpu.cfs_quota_us" });
    let text = read(&file)?;
    let mut words = text.split_whitespace();
    // `max`, and -1 of version 1, are no number.
    let quota: u64 = words.next()?.parse().ok()?;
    let period: u64 = match words.next() {
        Some(period) => period.parse().ok()?,
        None if is_v2 => 100_000,
        None => read(&level.join("cpu.cfs_period_us"))?.trim().parse().ok()?,
    };
    let amount = quota.checked_div(period)?.max(1);
    Some(Limit { amount, from: file.display().to_string() })
}

/// The number after a field's name, at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A field of `/proc/meminfo`, in bytes.
pub fn meminfo(text: &str, name: &str) -> Option<u64> {
    field(text, &format!("{name}:"))?.checked_mul(1024)
}

/// How many numbers a list such as `0-3,8` has; 0 if it is no such list.
fn list_length(list: &str) -> u64 {
    cpus::parse(list).map_or(0, |cpus| cpus.len() as u64)
}

/// A control group of the process.
struct Group {
    /// Where the file system of control groups is mounted.
    mount: PathBuf,
    /// The group's own directory there.
    dir: PathBuf,
    is_v2: bool,
}

impl Group {
    /// Directories from the group's own up to the mount's.
    fn levels(&self) -> Vec<PathBuf> {
        let levels = self.dir.ancestors().take_while(|level| level.starts_with(&self.mount));
        levels.map(Path::to_owned).collect()
    }
}

/// The groups of the process that may limit what `controller` controls.
fn groups(read: ReadFile<'_>, controller: &str) -> Vec<Group> {
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    let mut groups = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|one| one == controller) {
            continue;
        }
        for mount in mounts.lines().filter_map(Mount::parse) {
            let is_its = if is_v2 { mount.is_v2 } else { !mount.is_v2 && mount.controls(controller) };
            if is_its {
                groups.push(Group { dir: mount.dir_of(path), mount: PathBuf::from(mount.point), is_v2 });
            }
        }
    }
    groups
}

/// A mount of a file system of control groups.
struct Mount<'a> {
    /// What of the file system is mounted.
    root: String,
    /// Where.
    point: String,
    is_v2: bool,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// Of a line of `mountinfo`: `36 25 0:31 ROOT POINT OPTIONS [FIELDS] - TYPE SOURCE SUPER`.
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (unescaped(before.next()?), unescaped(before.next()?));
        let mut after = after.split(' ');
        let is_v2 = match after.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        Some(Self { root, point, is_v2, options: after.nth(1).unwrap_or_default() })
    }

    fn controls(&self, controller: &str) -> bool {
        self.options.split(',').any(|one| one == controller)
    }

    /// Where the group of this path is. In a container the path may be the host's, and the mount show its part alone; or lie
    /// outside of what the mount shows.
    fn dir_of(&self, path: &str) -> PathBuf {
        let below = Path::new(path).strip_prefix(&self.root).unwrap_or(Path::new(""));
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        Path::new(&self.point).join(if is_plain { below } else { Path::new("") })
    }
}

/// `mountinfo` writes blanks and the like as three octal digits.
fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (escape, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(escape, character);
    }
    plain
}

#[cfg(test)]
mod tests;
