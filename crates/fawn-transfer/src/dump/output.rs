//! Where the records of a dump go.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use fawn_files::links::{sync_directory, target, with_suffix};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::state::Paths;
use crate::checksum;

/// Bytes written at a time.
const WRITE_SIZE: usize = 256 * 1024;

/// Where the records go.
pub enum Output {
    /// Standard output, a pipe or a device, which nothing may take the place of.
    Stream { stream: BufWriter<Box<dyn Write>>, name: String },
    /// `partial` becomes `path` when it is complete.
    File { file: BufWriter<File>, partial: PathBuf, path: PathBuf },
}

impl Output {
    /// Opens `path`, to [go on](Self::go_on) somewhere; `-` is standard output. Nobody else writes the file meanwhile. A symbolic
    /// link stays: the file is made where it leads to.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::stream(io::stdout(), "standard output".to_owned()));
        }
        let found = std::fs::metadata(path);
        if found.as_ref().is_ok_and(Metadata::is_dir) {
            bail!("{} is a directory: name a file in it", path.display());
        }
        if found.is_ok_and(|found| !found.is_file()) {
            let file = OpenOptions::new().write(true).open(path).with_context(|| cannot_write(path))?;
            return Ok(Self::stream(file, path.display().to_string()));
        }
        let path = target(path).with_context(|| format!("cannot follow {}", path.display()))?;
        let partial = partial_of(&path);
        let file = lock(&partial)?;
        // Who might not read the file that is replaced may not read this one.
        if let Ok(replaced) = std::fs::metadata(&path) {
            file.set_permissions(replaced.permissions()).with_context(|| cannot_write(&partial))?;
        }
        let file = BufWriter::with_capacity(WRITE_SIZE, file);
        Ok(Self::File { file, partial, path })
    }

    fn stream(stream: impl Write + 'static, name: String) -> Self {
        Self::Stream { stream: BufWriter::with_capacity(WRITE_SIZE, Box::new(stream)), name }
    }

    /// Where a dump into it keeps what it needs to go on; none with a stream.
    pub fn paths(&self) -> Option<Paths> {
        match self {
            Self::Stream { .. } => None,
            Self::File { path, .. } => Some(Paths::of(path)),
        }
    }

    /// The file that is not complete.
    pub fn partial(&self) -> Option<&Path> {
        match self {
            Self::Stream { .. } => None,
            Self::File { partial, .. } => Some(partial),
        }
    }

    /// Opens `path` to begin there. What an interrupted dump of a cluster has left to go on with goes first: it would take
    /// what is written now for its own.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let mut output = Self::open(path)?;
        if let Some(paths) = output.paths() {
            paths.remove()?;
        }
        output.go_on(0)?;
        Ok(output)
    }

    /// Of the bytes [before](checksum::before) a place of the file.
    pub fn checksum(&self, offset: u64) -> anyhow::Result<u32> {
        match self {
            Self::Stream { .. } => Ok(0),
            Self::File { file, partial, .. } => {
                checksum::before(file.get_ref(), offset).with_context(|| format!("cannot read {}", partial.display()))
            }
        }
    }

    /// What comes next goes behind so many bytes that were written before.
    pub fn go_on(&mut self, after: u64) -> anyhow::Result<()> {
        let Self::File { file, partial, .. } = self else { return Ok(()) };
        let path = partial.display();
        let mut file = file.get_ref();
        let placed = file.set_len(after).and_then(|()| file.seek(SeekFrom::Start(after)));
        placed
            .map(drop)
            .with_context(|| format!("cannot continue with {path}; start from the beginning with --restart"))
    }

    /// What was written so far is safe.
    pub fn sync(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Stream { stream, name } => stream.flush().with_context(|| format!("cannot write {name}")),
            Self::File { file, partial, .. } => {
                file.flush().and_then(|()| file.get_ref().sync_all()).with_context(|| cannot_write(partial))
            }
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stream { stream, name } => stream.write_all(bytes).with_context(|| format!("cannot write {name}")),
            Self::File { file, partial, .. } => file.write_all(bytes).with_context(|| cannot_write(partial)),
        }
    }

    /// Makes the records safe under the name that was asked for. Once they have it, others may begin in the place of this
    /// one.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        self.sync()?;
        let Self::File { partial, path, .. } = self else { return Ok(()) };
        std::fs::rename(&*partial, &*path).with_context(|| {
            let (partial, path) = (partial.display(), path.display());
            format!("all records are in {partial}, but it cannot be renamed to {path}: rename it yourself")
        })?;
        sync_directory(path).with_context(|| cannot_write(path))
    }
}

/// Opens a file that is not complete, for this process alone for as long as it is open.
fn lock(partial: &Path) -> anyhow::Result<File> {
    loop {
        let mut options = OpenOptions::new();
        let options = options.create(true).read(true).write(true).truncate(false);
        // A link would take the name of the file, and the records would be where it leads.
        let file = match options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(partial) {
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                bail!("{} is a symbolic link: remove it, or choose another file", partial.display())
            }
            file => file.with_context(|| format!("cannot write {}", partial.display()))?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another dump is writing {}: wait for it, or choose another file", partial.display())
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", partial.display()));
            }
        }
        let own = file.metadata().with_context(|| cannot_write(partial))?;
        // Whoever had it may have completed it since: then it has another name, and is not to be touched.
        if std::fs::metadata(partial).is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino())) {
            return Ok(file);
        }
    }
}

/// The name of a file that is not complete.
pub fn partial_of(path: &Path) -> PathBuf {
    with_suffix(path, ".part")
}

/// Why a file is not written, perhaps.
pub fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; is there space, and does `ulimit -f` allow so large a file?", path.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_that_is_replaced_leaves_its_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dump");
        for mode in [0o600, 0o664] {
            std::fs::write(&path, "before").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let mut output = Output::create(&path).unwrap();
            output.write(b"records").unwrap();
            output.finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"records");
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }
}
