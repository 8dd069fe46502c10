//! Files that are replaced as a whole. A symbolic link of their name stays, and leads to the new file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Links after each other, as the system follows them.
const MOST_LINKS: usize = 40;

/// The file that a name leads to through symbolic links; it need not exist.
///
/// # Errors
/// A link cannot be read, or links lead in a circle.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                let next = std::fs::read_link(&path)?;
                // One that is relative begins where the link is.
                path = path.parent().map_or(next.clone(), |directory| directory.join(next));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its symbolic links lead in a circle"))
}

/// The name with something behind it, such as `.new`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes it safe that `path` has its name.
///
/// # Errors
/// The directory cannot be opened or synced.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Puts a file with these bytes in the place of the one before, through to the device: whenever the machine stops, one of them
/// is there. `mode`: who may use it, but for what the umask takes away.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let path = target(path)?;
    let new = with_suffix(&path, ".new");
    // One that a crash has left may be anybody's to read.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, &path)?;
    sync_directory(&path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_behind_links_is_replaced_and_the_links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("disk")).unwrap();
        symlink("disk/file", path("inner")).unwrap();
        symlink(path("inner"), path("outer")).unwrap();
        for text in ["first", "second"] {
            replace(&path("outer"), text.as_bytes(), 0o600).unwrap();
            assert_eq!(std::fs::read_to_string(path("disk/file")).unwrap(), text);
            assert!(path("outer").is_symlink() && path("inner").is_symlink());
        }
        assert_eq!(std::fs::read_dir(path("disk")).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn links_in_a_circle_are_told() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        assert!(target(&dir.path().join("a")).unwrap_err().to_string().contains("circle"));
        assert_eq!(target(Path::new("none")).unwrap(), Path::new("none"));
    }

    #[test]
    fn what_a_crash_has_left_for_all_to_read_does_not_make_the_next_file_so() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let left = with_suffix(&path, ".new");
        std::fs::write(&left, "old").unwrap();
        std::fs::set_permissions(&left, std::fs::Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"new", 0o600).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }
}
