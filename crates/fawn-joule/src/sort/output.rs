//! Files that have their names only once they are whole and on the device.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fawn_files::links;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

use super::direct::DirectFile;
use super::error::SortError;

/// Who may use an output, but for what the umask takes away.
const MODE: u32 = 0o666;
/// Files of earlier processes with this one's number that were killed while they wrote.
const MOST_BESIDE: u32 = 100;

/// Names of unfinished files, for whoever ends the program before they are finished.
#[derive(Clone, Debug, Default)]
pub struct Leftovers(Arc<Mutex<Vec<PathBuf>>>);

impl Leftovers {
    /// Removes the unfinished files. No more than this may be done afterwards.
    pub fn remove(&self) {
        // The lock stays taken: no other file gets a name before the program ends.
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names.iter() {
            let _ = std::fs::remove_file(name);
        }
        std::mem::forget(names);
    }

    fn add(&self, name: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
    }

    fn forget(&self, name: &Path) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another file may have been given this name before.
        if let Some(at) = names.iter().rposition(|other| other == name) {
            names.remove(at);
        }
    }
}

/// A file under way to its name. It has none yet where the file system has files without names, and another one elsewhere. Nothing
/// of it stays if it is not finished.
#[derive(Debug)]
pub struct OutputFile {
    file: DirectFile,
    /// The name that it will have.
    target: PathBuf,
    /// The name that it has meanwhile.
    interim: Option<PathBuf>,
    leftovers: Leftovers,
    size: u64,
}

impl OutputFile {
    /// Makes a file of `size` bytes that will be called `path`, or be where that symbolic link leads.
    ///
    /// # Errors
    /// The file cannot be made, or something else than a file has this name.
    pub fn create(path: &Path, size: u64, leftovers: &Leftovers) -> Result<Self, SortError> {
        let failed = |error: std::io::Error| SortError::io("write", path, error);
        links::refuse_directory(path).map_err(failed)?;
        if links::is_stream(path) {
            return Err(failed(std::io::Error::other("it is no regular file; name one")));
        }
        let target = links::target(path).map_err(failed)?;
        let (file, interim) = match unnamed(directory_of(&target)) {
            Some(file) => (file, None),
            None => create_beside(&target, leftovers).map(|(name, file)| (file, Some(name))).map_err(failed)?,
        };
        let output = Self { file: DirectFile::new(file, path), target, interim, leftovers: leftovers.clone(), size };
        // Who might not read the file that is replaced may not read this one.
        if let Ok(replaced) = std::fs::metadata(&output.target) {
            output.file.file().set_permissions(replaced.permissions()).map_err(failed)?;
        }
        // Writes within a file's size do not wait for each other.
        output.file.file().set_len(size).map_err(failed)?;
        Ok(output)
    }

    /// The file, to be written.
    pub fn file(&self) -> &DirectFile {
        &self.file
    }

    /// Its bytes once it is whole.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Gives it its name, after everything in it is on the device. A file that had the name before is replaced.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> Result<(), SortError> {
        let put = self.put().map_err(|error| SortError::io("write", &self.target, error));
        if put.is_ok() {
            self.forget_interim();
        }
        put
    }

    fn put(&mut self) -> std::io::Result<()> {
        // Its last page may have been written as a whole.
        self.file.file().set_len(self.size)?;
        self.file.file().sync_all()?;
        let interim = match &self.interim {
            Some(interim) => interim.clone(),
            None => self.link()?,
        };
        std::fs::rename(interim, &self.target)?;
        links::sync_directory(&self.target)
    }

    /// Gives a file without a name one beside its own: a link cannot replace a file.
    fn link(&mut self) -> std::io::Result<PathBuf> {
        let file = proc_name(self.file.file());
        let link = |name: &Path| Ok(linkat(CWD, &file, CWD, name, AtFlags::SYMLINK_FOLLOW)?);
        let (name, ()) = first_free(&self.target, &self.leftovers, link)?;
        self.interim = Some(name.clone());
        Ok(name)
    }

    fn forget_interim(&mut self) {
        if let Some(interim) = self.interim.take() {
            self.leftovers.forget(&interim);
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(interim) = &self.interim {
            let _ = std::fs::remove_file(interim);
        }
        self.forget_interim();
    }
}

/// A file without a name in a directory; `None` where the file system has none, or could give it no name later.
fn unnamed(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(directory, flags, Mode::from_raw_mode(MODE)).ok()?);
    std::fs::metadata(proc_name(&file)).is_ok().then_some(file)
}

/// A new file beside `target`.
fn create_beside(target: &Path, leftovers: &Leftovers) -> std::io::Result<(PathBuf, File)> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    first_free(target, leftovers, |name| Ok(open(name, flags, Mode::from_raw_mode(MODE))?.into()))
}

/// Makes something under the first free name beside `target`, which is a leftover from then on.
fn first_free<T>(
    target: &Path,
    leftovers: &Leftovers,
    make: impl Fn(&Path) -> std::io::Result<T>,
) -> std::io::Result<(PathBuf, T)> {
    let mut number = 0;
    loop {
        let name = links::with_suffix(target, &format!(".{}-{number}.new", std::process::id()));
        // Before it is made, so that no signal finds it in between.
        leftovers.add(&name);
        match make(&name) {
            Ok(made) => return Ok((name, made)),
            Err(error) => {
                leftovers.forget(&name);
                if error.kind() != std::io::ErrorKind::AlreadyExists || number == MOST_BESIDE {
                    return Err(error);
                }
            }
        }
        number += 1;
    }
}

fn proc_name(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The directory of a file.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_once_it_is_finished_and_nothing_stays_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        std::fs::write(&path, "before").unwrap();
        let leftovers = Leftovers::default();
        drop(OutputFile::create(&path, 3, &leftovers).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        let output = OutputFile::create(&path, 3, &leftovers).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        output.finish().unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), names(dir.path())), (vec![0; 3], vec!["out".to_owned()]));
        assert!(leftovers.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_replaced_leaves_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        for mode in [0o600, 0o664] {
            std::fs::write(&path, "before").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            OutputFile::create(&path, 3, &Leftovers::default()).unwrap().finish().unwrap();
            let found = std::fs::metadata(&path).unwrap();
            assert_eq!((found.permissions().mode() & 0o777, found.len()), (mode, 3));
        }
    }

    #[test]
    fn files_with_names_meanwhile_are_leftovers_until_they_are_finished() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let leftovers = Leftovers::default();
        let (_, first) = create_beside(&path, &leftovers).unwrap();
        let (name, _) = create_beside(&path, &leftovers).unwrap();
        drop(first);
        assert!(name.to_str().unwrap().ends_with("-1.new") && names(dir.path()).len() == 2, "{name:?}");
        leftovers.remove();
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_directory_is_no_output() {
        let dir = tempfile::tempdir().unwrap();
        let error = OutputFile::create(dir.path(), 3, &Leftovers::default()).unwrap_err();
        assert!(error.to_string().ends_with("it is a directory: name a file in it"), "{error}");
    }
}
