//! Where the records of a dump go.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Bytes written at a time.
const WRITE_SIZE: usize = 256 * 1024;

/// Where the records go.
pub enum Output {
    /// Standard output, a pipe or a device, which nothing may take the place of.
    Stream(BufWriter<Box<dyn Write>>),
    /// `partial` becomes `path` when it is complete.
    File { file: BufWriter<File>, partial: PathBuf, path: PathBuf },
}

impl Output {
    /// Whether what is written to `path` is gone for good.
    pub fn is_stream(path: &Path) -> bool {
        let is_special = |found: std::fs::Metadata| !found.is_file() && !found.is_dir();
        path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(is_special)
    }

    /// Opens `path` to go on after so many bytes that were written before.
    pub fn go_on(path: &Path, after: u64) -> anyhow::Result<Self> {
        let output = if after == 0 { Self::create(path)? } else { Self::open_again(path)? };
        if let Self::File { file, partial, .. } = &output {
            let cannot = || format!("cannot go on with {}; begin anew with --restart", partial.display());
            let mut file = file.get_ref();
            let found = file.metadata().with_context(cannot)?.len();
            anyhow::ensure!(
                found >= after,
                "{} is shorter than what was written to it; begin anew with --restart",
                partial.display()
            );
            file.set_len(after).with_context(cannot)?;
            file.seek(SeekFrom::Start(after)).with_context(cannot)?;
        }
        Ok(output)
    }

    fn open_again(path: &Path) -> anyhow::Result<Self> {
        let partial = partial_of(path);
        let file = OpenOptions::new().write(true).open(&partial);
        let file =
            file.with_context(|| format!("cannot go on with {}; begin anew with --restart", partial.display()))?;
        Ok(Self::File { file: BufWriter::with_capacity(WRITE_SIZE, file), partial, path: path.to_owned() })
    }

    /// What was written so far is safe.
    pub fn sync(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Stream(stream) => Ok(stream.flush()?),
            Self::File { file, partial, .. } => {
                file.flush().and_then(|()| file.get_ref().sync_data()).with_context(|| cannot_write(partial))
            }
        }
    }

    /// Opens `path`; `-` is standard output.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stream(BufWriter::with_capacity(WRITE_SIZE, Box::new(io::stdout()))));
        }
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).with_context(|| cannot_write(path))?;
            return Ok(Self::Stream(BufWriter::with_capacity(WRITE_SIZE, Box::new(file))));
        }
        let partial = partial_of(path);
        let file = File::create(&partial).with_context(|| format!("cannot write {}", partial.display()))?;
        let file = BufWriter::with_capacity(WRITE_SIZE, file);
        Ok(Self::File { file, partial, path: path.to_owned() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stream(stream) => Ok(stream.write_all(bytes)?),
            Self::File { file, partial, .. } => file.write_all(bytes).with_context(|| cannot_write(partial)),
        }
    }

    /// Makes the records safe under the name that was asked for.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Stream(stream) => Ok(stream.flush()?),
            Self::File { file, partial, path } => {
                file.flush().and_then(|()| file.get_ref().sync_all()).with_context(|| cannot_write(partial))?;
                std::fs::rename(&*partial, &*path).with_context(|| cannot_write(path))
            }
        }
    }
}

/// The name of a file that is not complete.
fn partial_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Why a file is not written, perhaps.
pub fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; is there space?", path.display())
}
