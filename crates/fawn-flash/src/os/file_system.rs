//! Which file system a directory is on.

use std::fs;
use std::path::Path;

/// The type of the file system that a directory is on, such as `ext4`; `None` where the system does not say.
pub fn file_system(dir: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    nearest(&mounts, &fs::canonicalize(dir).ok()?)
}

/// The type of the file system that is mounted nearest above a path.
fn nearest(mounts: &str, path: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let kind = after.split(' ').next()?;
        path.starts_with(&point).then(|| (point.len(), kind.to_owned()))
    });
    // Of two on one place the later one is seen.
    mounts.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_says_the_type() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / /a\\040b rw shared:1 - tmpfs none rw\n\
                      3 1 0:6 / /a rw - xfs none rw\n";
        let kind = |path: &str| nearest(mounts, Path::new(path));
        assert_eq!(kind("/x").as_deref(), Some("ext4"));
        assert_eq!(kind("/a b/c").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/a/c").as_deref(), Some("xfs"));
        assert!(file_system(Path::new("/")).is_some(), "this machine has mounts");
    }
}
