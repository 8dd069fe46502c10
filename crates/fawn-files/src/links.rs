//! Files that are replaced as a whole. A symbolic link of their name stays, and leads to the new file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Links after each other, as the system follows them.
const MOST_LINKS: usize = 40;

/// Files of earlier processes with this one's number that were killed while they wrote.
const MOST_BESIDE: u32 = 100;

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
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its symbolic links form a circle"))
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

/// Refuses a directory in the place of a file that is to be written.
///
/// # Errors
/// One that says so.
pub fn refuse_directory(path: &Path) -> io::Result<()> {
    let is_directory = path.as_os_str().as_bytes().ends_with(b"/") || path.is_dir();
    if is_directory {
        Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory: name a file in it"))
    } else {
        Ok(())
    }
}

/// Whether a name leads to a device, a pipe or a socket: what is written goes into it, and no file may take its place.
pub fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Whether two names lead to one file, through links of either kind or by another spelling. So do names of one file that does not
/// exist yet. `false` for what bytes only pass through, such as a terminal.
pub fn is_same(first: &Path, second: &Path) -> bool {
    match (std::fs::metadata(first), std::fs::metadata(second)) {
        (Ok(first), Ok(second)) => {
            let is_kept = !first.file_type().is_char_device();
            is_kept && (first.dev(), first.ino()) == (second.dev(), second.ino())
        }
        (Err(_), Err(_)) => new_file(first).zip(new_file(second)).is_some_and(|(first, second)| first == second),
        _ => false,
    }
}

/// Where a file would be made by this name, without links; `None`: it cannot be made.
fn new_file(path: &Path) -> Option<PathBuf> {
    let path = target(path).ok()?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(std::fs::canonicalize(directory).ok()?.join(path.file_name()?))
}

/// Puts a file with these bytes in the place of the one before, through to the device: whenever the machine stops, one of them
/// is there. `mode`: who may use it, but for what the umask takes away. A device or a pipe stays, and is written into.
///
/// # Errors
/// It cannot be written, or is a directory.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    refuse_directory(path)?;
    if is_stream(path) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let path = target(path)?;
    let (new, mut file) = create_beside(&path, mode)?;
    let put = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&new, &path));
    if put.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    put?;
    sync_directory(&path)
}

/// A new file beside `path`, under a name that nobody else uses: two that replace the same file do not meet.
fn create_beside(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    for number in 0.. {
        let new = with_suffix(path, &format!(".{}-{number}.new", std::process::id()));
        match OpenOptions::new().create_new(true).write(true).mode(mode).open(&new) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_BESIDE => {}
            opened => return opened.map(|file| (new, file)),
        }
    }
    unreachable!("the last one is returned");
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
    fn one_file_is_known_by_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "bytes").unwrap();
        std::fs::write(path("other"), "bytes").unwrap();
        std::fs::create_dir(path("inside")).unwrap();
        symlink("file", path("soft")).unwrap();
        std::fs::hard_link(path("file"), path("hard")).unwrap();
        for name in ["file", "soft", "hard", "inside/../file", "./file"] {
            assert!(is_same(&path("file"), &path(name)) && is_same(&path(name), &path("file")), "{name}");
        }
        for name in ["other", "inside", "none"] {
            assert!(!is_same(&path("file"), &path(name)), "{name}");
        }
        assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")));
    }

    #[test]
    fn a_file_that_does_not_exist_yet_is_known_by_every_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("inside")).unwrap();
        symlink(".", path("here")).unwrap();
        symlink("new", path("soft")).unwrap();
        for name in ["new", "./new", "here/new", "inside/../new", "soft"] {
            assert!(is_same(&path("new"), &path(name)) && is_same(&path(name), &path("new")), "{name}");
        }
        for name in ["other", "inside/new", "inside", "none/new", "here"] {
            assert!(!is_same(&path("new"), &path(name)) && !is_same(&path(name), &path("new")), "{name}");
        }
        assert!(is_same(Path::new("no-such-file"), Path::new("./no-such-file")));
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
    fn files_of_others_beside_it_stay_and_nothing_is_left_behind() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        let (own, left) = (with_suffix(&path, ".new"), with_suffix(&path, &format!(".{}-0.new", std::process::id())));
        for file in [&own, &left] {
            std::fs::write(file, "old").unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        replace(&path, b"new", 0o600).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read(&own).unwrap(), b"old");
        // A directory cannot be replaced.
        let taken = dir.path().join("taken");
        std::fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(replace(&taken, b"new", 0o600).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4, "secret, the two that were there, taken");
    }

    #[test]
    fn a_device_or_a_pipe_is_written_into_and_a_directory_is_refused() {
        use std::io::Read as _;
        use std::os::unix::fs::FileTypeExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link) = (dir.path().join("pipe"), dir.path().join("link"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        symlink("pipe", &link).unwrap();
        for name in [&pipe, &link] {
            let mut read = String::new();
            std::thread::scope(|scope| {
                let writing = scope.spawn(|| replace(name, b"bytes", 0o600));
                File::open(&pipe).unwrap().read_to_string(&mut read).unwrap();
                writing.join().unwrap().unwrap();
            });
            assert_eq!(read, "bytes");
            assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo() && link.is_symlink());
        }
        // Where this user may write into it, it stays what it is.
        replace(Path::new("/dev/null"), b"bytes", 0o600).unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        for name in [dir.path().to_owned(), dir.path().join("none/"), PathBuf::from(".")] {
            let error = replace(&name, b"bytes", 0o600).unwrap_err();
            assert_eq!(error.to_string(), "it is a directory: name a file in it");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn files_that_are_replaced_by_several_at_once_are_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::thread::scope(|scope| {
            for byte in 0..4_u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        replace(path, &[byte; 10_000], 0o600).unwrap();
                        let read = std::fs::read(path).unwrap();
                        assert!(read.len() == 10_000 && read.iter().all(|other| *other == read[0]));
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
