//! Configurations that follow their files: a certificate is renewed by replacing its files, and no process stops for it.
//!
//! Whoever takes a configuration for a new connection causes a look at the files now and then; there is no thread.
//! Connections that are open keep what they began with. New files that are bad change nothing and are told in the log.

use crate::certificate::{Expiry, now};
use crate::config::{Links, Material, read_for_clients, read_links};
use crate::error::TlsError;
use rustls::ServerConfig;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The files are not looked at more often.
pub const LOOK_EVERY: Duration = Duration::from_secs(3);

/// What will expire is told as often.
const WARN_EVERY: Duration = Duration::from_hours(24);

/// A file as it was last seen; `None`: there was none.
type Stamp = Option<(u64, i64, i64, u64)>;

/// Reads a configuration, and what of it expires first.
type Build<T> = Box<dyn Fn() -> Result<(T, Option<Expiry>), TlsError> + Send + Sync>;

/// A configuration, and where it comes from.
pub struct Reloading<T> {
    files: Vec<PathBuf>,
    build: Build<T>,
    state: Mutex<ReloadState<T>>,
}

struct ReloadState<T> {
    current: T,
    expiry: Option<Expiry>,
    /// Of the files before they were read for `current`, or last in vain.
    stamps: Vec<Stamp>,
    looked: Instant,
    /// What was said last about files that are bad. They are read again at every look: two that were written within a
    /// tick of the file system's clock have one stamp.
    complaint: Option<TlsError>,
    warned: Option<Instant>,
}

impl Reloading<Links> {
    /// What links are made with.
    ///
    /// # Errors
    /// As [`links`](crate::links): it has to begin with good files.
    pub fn links(files: &Material) -> Result<Self, TlsError> {
        let paths = vec![files.ca.clone(), files.cert.clone(), files.key.clone()];
        let files = files.clone();
        Self::new(paths, Box::new(move || read_links(&files)))
    }
}

impl Reloading<Arc<ServerConfig>> {
    /// What clients of memcached's port are shown.
    ///
    /// # Errors
    /// As [`for_clients`](crate::for_clients).
    pub fn for_clients(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let (cert, key) = (cert.to_owned(), key.to_owned());
        Self::new(vec![cert.clone(), key.clone()], Box::new(move || read_for_clients(&cert, &key)))
    }
}

impl<T: Clone> Reloading<T> {
    fn new(files: Vec<PathBuf>, build: Build<T>) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let (current, expiry) = build()?;
        let mut state = ReloadState { current, expiry, stamps, looked: Instant::now(), complaint: None, warned: None };
        state.warn();
        Ok(Self { files, build, state: Mutex::new(state) })
    }

    /// The configuration for a connection that begins now. Looks at the files if that is some seconds ago.
    pub fn current(&self) -> T {
        let mut state = self.lock();
        if state.looked.elapsed() >= LOOK_EVERY {
            let told = state.complaint.clone();
            if let Err(error) = self.look(&mut state)
                && told.as_ref() != Some(&error)
            {
                tracing::warn!("{error}; the previous certificates stay in use");
            }
        }
        state.current.clone()
    }

    /// Which of its certificates ends first, and when: of the files as they are now.
    pub fn expiry(&self) -> Option<Expiry> {
        self.current();
        self.lock().expiry.clone()
    }

    /// Reads the files now.
    ///
    /// # Errors
    /// What is wrong with them, which is told to the caller alone; the configuration stays as it was.
    pub fn reload(&self) -> Result<(), TlsError> {
        let mut state = self.lock();
        state.stamps.clear();
        self.look(&mut state)
    }

    fn look(&self, state: &mut ReloadState<T>) -> Result<(), TlsError> {
        state.looked = Instant::now();
        // Before they are read: what is written meanwhile is seen next time.
        let stamps = stamps(&self.files);
        if stamps == state.stamps && state.complaint.is_none() {
            state.warn();
            return Ok(());
        }
        state.stamps = stamps;
        match (self.build)() {
            Ok((current, expiry)) => {
                (state.current, state.expiry) = (current, expiry);
                (state.complaint, state.warned) = (None, None);
                tracing::info!("reloaded {} for new connections", self.names());
                state.warn();
                Ok(())
            }
            Err(error) => {
                state.complaint = Some(error.clone());
                Err(error)
            }
        }
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        names.join(", ")
    }

    fn lock(&self) -> MutexGuard<'_, ReloadState<T>> {
        // Whoever panicked with it has changed nothing by halves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> ReloadState<T> {
    /// Says once a day what will expire.
    fn warn(&mut self) {
        let Some(warning) = self.expiry.as_ref().and_then(|expiry| expiry.warning(now())) else { return };
        if self.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            self.warned = Some(Instant::now());
            tracing::warn!("{warning}");
        }
    }
}

impl<T> fmt::Debug for Reloading<T> {
    /// The files alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloading").field("files", &self.files).finish_non_exhaustive()
    }
}

/// What tells one version of the files from another.
fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
    };
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A number in a file, how often it was read, and the handle.
    fn number(path: &Path) -> (Arc<AtomicUsize>, Reloading<u32>) {
        let reads = Arc::new(AtomicUsize::new(0));
        let (count, from) = (Arc::clone(&reads), path.to_owned());
        let build = move || {
            count.fetch_add(1, Ordering::Relaxed);
            let text = std::fs::read_to_string(&from).map_err(|error| TlsError::file(&from, error.to_string()))?;
            let number = text.parse().map_err(|_| TlsError::file(&from, "it has no number"))?;
            Ok((number, None))
        };
        (reads, Reloading::new(vec![path.to_owned()], Box::new(build)).unwrap())
    }

    /// As if the last look had been long ago.
    fn let_time_pass(reloading: &Reloading<u32>) {
        let mut state = reloading.state.lock().unwrap();
        state.looked = state.looked.checked_sub(LOOK_EVERY).unwrap();
    }

    #[test]
    fn files_are_looked_at_now_and_then_and_read_when_they_have_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("number");
        std::fs::write(&path, "1").unwrap();
        let (reads, reloading) = number(&path);
        std::fs::write(&path, "22").unwrap();
        assert_eq!(reloading.current(), 1, "it is too early to look");
        let_time_pass(&reloading);
        assert_eq!(reloading.current(), 22);
        let_time_pass(&reloading);
        assert_eq!(reloading.current(), 22);
        assert_eq!(reads.load(Ordering::Relaxed), 2, "what has not changed is not read again");
    }

    #[test]
    fn bad_files_change_nothing_until_they_are_good() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("number");
        std::fs::write(&path, "1").unwrap();
        let (reads, reloading) = number(&path);
        std::fs::write(&path, "rubbish").unwrap();
        let_time_pass(&reloading);
        assert_eq!(reloading.current(), 1);
        assert!(reloading.reload().unwrap_err().to_string().ends_with("it has no number"));
        std::fs::remove_file(&path).unwrap();
        assert!(reloading.reload().is_err());
        assert_eq!(reloading.current(), 1);
        let before = reads.load(Ordering::Relaxed);
        let_time_pass(&reloading);
        assert_eq!(reloading.current(), 1);
        assert_eq!(reads.load(Ordering::Relaxed), before + 1, "what was bad is read again at every look");
        std::fs::write(&path, "3").unwrap();
        let_time_pass(&reloading);
        assert_eq!(reloading.current(), 3);
    }
}
