//! Keeps the page cache's share of an engine's files below a budget, and looks how much space they take.
//!
//! Engines that read through the page cache would otherwise have the whole machine's memory, whatever they are told. A
//! thread counts the cached pages of the files (cachestat(2)) and drops what is too much (`posix_fadvise`), going round
//! the files; what is used again is read again. Nobody else's pages are touched, and no privilege is needed, other than
//! for a control group. Writers wait while the budget is exceeded by half.
#![allow(unsafe_code, reason = "advice about a map that an engine made")]

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fawn_machine::process::thread_cpu_us;
use rustix::fs::{Advice, fadvise, fdatasync};

use crate::pages::{PAGE_BYTES, cached_bytes, unmap};

/// Looks for new files, and at the space, this often.
const LOOK: Duration = Duration::from_millis(200);
/// What may be read between two rounds: 300 MB/s come to 3 MB.
const TURN: Duration = Duration::from_millis(10);
/// The page cache holds up to so much in one piece, at a multiple of that, and drops a piece as a whole or not at all.
const FOLIO_BYTES: u64 = 2 << 20;
/// The longest that a batch of puts waits.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct KeeperState {
    is_over: AtomicBool,
    /// Writers wait.
    is_full: AtomicBool,
    cpu_ns: AtomicU64,
    most_space: AtomicU64,
    most_cached: AtomicU64,
    /// Of all looks, to tell the mean.
    cached_pages: AtomicU64,
    looks: AtomicU64,
    is_blind: AtomicBool,
    waited_ns: AtomicU64,
}

/// The thread, until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<KeeperState>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Keeps the files below `dir`; `budget` is that of the page cache in bytes, where there is one.
    pub fn start(dir: &Path, budget: Option<u64>) -> Self {
        let shared = Arc::new(KeeperState::default());
        let (dir, of_thread) = (dir.to_owned(), Arc::clone(&shared));
        let thread = std::thread::spawn(move || keep(&dir, budget, &of_thread));
        Self { shared, thread: Some(thread) }
    }

    /// CPU time of the thread, microseconds: not the engine's.
    pub fn cpu_us(&self) -> f64 {
        self.shared.cpu_ns.load(Relaxed) as f64 / 1e3
    }

    /// Waits until the page cache has room for what is to be written, though not for long: in a file system in memory there
    /// never will be.
    pub fn wait_for_room(&self) {
        if !self.shared.is_full.load(Relaxed) {
            return;
        }
        let began = Instant::now();
        while self.shared.is_full.load(Relaxed) && began.elapsed() < LONGEST_WAIT {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.shared.waited_ns.fetch_add(began.elapsed().as_nanos() as u64, Relaxed);
    }

    /// Seconds that writers have waited for room.
    pub fn waited_seconds(&self) -> f64 {
        self.shared.waited_ns.load(Relaxed) as f64 / 1e9
    }

    /// The most space that the files took since this was last asked, bytes.
    pub fn take_most_space(&self) -> u64 {
        self.shared.most_space.swap(0, Relaxed)
    }

    /// What the page cache held when it was looked at, each time before anything was dropped: mean and most, bytes.
    pub fn cached(&self) -> (u64, u64) {
        let (pages, looks) = (self.shared.cached_pages.load(Relaxed), self.shared.looks.load(Relaxed));
        (pages * PAGE_BYTES / looks.max(1), self.shared.most_cached.load(Relaxed))
    }

    /// Whether the kernel does not tell what is cached, so that there was no limit.
    pub fn is_blind(&self) -> bool {
        self.shared.is_blind.load(Relaxed)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        // A thread that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Bytes of the device that everything below `dir` takes.
pub fn space(dir: &Path) -> u64 {
    files(dir).iter().filter_map(|path| std::fs::metadata(path).ok()).map(|found| found.blocks() * 512).sum()
}

/// All files below `dir`; what is removed meanwhile may be missing.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

fn keep(dir: &Path, budget: Option<u64>, shared: &KeeperState) {
    let mut cache = budget.map(PageCache::new);
    let mut looked: Option<Instant> = None;
    while !shared.is_over.load(Relaxed) {
        if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            shared.most_space.fetch_max(space(dir), Relaxed);
            if let Some(cache) = &mut cache {
                cache.look(dir);
            }
        }
        if let Some(cache) = &mut cache {
            match cache.limit() {
                Some((before, after)) => {
                    shared.most_cached.fetch_max(before, Relaxed);
                    shared.cached_pages.fetch_add(before / PAGE_BYTES, Relaxed);
                    shared.looks.fetch_add(1, Relaxed);
                    shared.is_full.store(after > cache.budget / 2 * 3, Relaxed);
                }
                None => shared.is_blind.store(true, Relaxed),
            }
        }
        shared.cpu_ns.store((thread_cpu_us() * 1e3) as u64, Relaxed);
        std::thread::sleep(TURN);
    }
}

/// A file and where it is mapped.
struct CachedFile {
    file: File,
    bytes: u64,
    map: Option<usize>,
}

/// The page cache of some files.
struct PageCache {
    budget: u64,
    /// Pages are dropped by so many bytes.
    window: u64,
    files: BTreeMap<PathBuf, CachedFile>,
    /// Where dropping goes on.
    hand: (PathBuf, u64),
}

impl PageCache {
    fn new(budget: u64) -> Self {
        let window = (budget / 16).next_power_of_two().clamp(FOLIO_BYTES, 8 << 20);
        Self { budget, window, files: BTreeMap::new(), hand: (PathBuf::new(), 0) }
    }

    /// Learns which files there are.
    fn look(&mut self, dir: &Path) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut before = std::mem::take(&mut self.files);
        for path in files(dir) {
            let known = before.remove(&path).map(|cached| cached.file);
            let Some(file) = known.or_else(|| File::open(&path).ok()) else { continue };
            let Ok(found) = file.metadata() else { continue };
            let map = largest_map(&maps, &path);
            // LMDB's locks are memory, not data.
            if !path.ends_with("lock.mdb") {
                self.files.insert(path, CachedFile { file, bytes: found.len(), map });
            }
        }
    }

    /// Drops what is too much: bytes cached before and after, `None` if the kernel does not tell.
    fn limit(&mut self) -> Option<(u64, u64)> {
        let before = self.cached()?;
        if before <= self.budget {
            return Some((before, before));
        }
        let mut after = self.sweep(before)?;
        if after > self.budget {
            // What is dirty stays until it is written.
            for cached in self.files.values() {
                // What cannot be written is dropped no more than before.
                let _ = fdatasync(&cached.file);
            }
            after = self.cached()?;
            after = self.sweep(after)?;
        }
        if after > self.budget {
            // Pieces may be larger yet, with larger pages.
            for cached in self.files.values() {
                drop_window(cached, 0, cached.bytes)?;
            }
            after = self.cached()?;
        }
        Some((before, after))
    }

    fn cached(&self) -> Option<u64> {
        self.files.values().map(|cached| cached_bytes(cached.file.as_fd(), 0, cached.bytes)).sum()
    }

    /// Goes round the files, from where it stopped, until few enough bytes are cached; how many are.
    fn sweep(&mut self, mut total: u64) -> Option<u64> {
        let all: u64 = self.files.values().map(|cached| cached.bytes).sum();
        let mut swept = 0;
        while total > self.budget && swept <= all {
            let (path, offset) = self.hand.clone();
            let Some((name, cached)) = self.files.range(path.clone()..).next() else {
                if self.files.is_empty() {
                    return Some(total);
                }
                self.hand = (PathBuf::new(), 0);
                continue;
            };
            let offset = if *name == path { offset } else { 0 };
            let bytes = self.window.min(cached.bytes.saturating_sub(offset));
            if bytes > 0 {
                total -= drop_window(cached, offset, bytes)?.min(total);
            }
            swept += bytes;
            self.hand = (name.clone(), offset + bytes);
            if offset + bytes >= cached.bytes {
                let mut next = name.clone().into_os_string();
                next.push("\0");
                self.hand = (next.into(), 0);
            }
        }
        Some(total)
    }
}

/// Drops a part of a file from the page cache; how many bytes have gone.
fn drop_window(cached: &CachedFile, offset: u64, bytes: u64) -> Option<u64> {
    let before = cached_bytes(cached.file.as_fd(), offset, bytes)?;
    if before == 0 {
        return Some(0);
    }
    if let Some(map) = cached.map {
        // SAFETY: the engine maps the file as a whole for as long as it is open, and is closed after the keeper's end.
        unsafe { unmap(map + offset as usize, bytes) };
    }
    // What cannot be dropped is counted below.
    let _ = fadvise(&cached.file, offset, std::num::NonZeroU64::new(bytes), Advice::DontNeed);
    Some(before.saturating_sub(cached_bytes(cached.file.as_fd(), offset, bytes)?))
}

/// Where this file is mapped, by `/proc/self/maps`, if it is.
fn largest_map(maps: &str, path: &Path) -> Option<usize> {
    let path = path.to_str()?;
    let ranges = maps.lines().filter(|line| line.ends_with(path)).filter_map(|line| {
        let (from, rest) = line.split_once('-')?;
        let (to, rest) = rest.split_once(' ')?;
        let is_shared = rest.as_bytes().get(3) == Some(&b's');
        is_shared.then_some(())?;
        Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
    });
    ranges.max_by_key(|(from, to)| to - from).map(|(from, _)| from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_read_is_dropped_down_to_the_budget() {
        // Not in memory, where nothing can be dropped.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("below").join("file");
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(&path, vec![1; 8 << 20]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        File::open(&path).unwrap().read_to_end(&mut Vec::new()).unwrap();
        let mut cache = PageCache::new(2 << 20);
        cache.look(dir.path());
        let Some((before, after)) = cache.limit() else {
            eprintln!("skipped: the kernel is older than 6.5");
            return;
        };
        assert!(before >= 8 << 20 && after <= 2 << 20, "{before} {after}");
        assert!(space(dir.path()) >= 8 << 20);
    }

    #[test]
    fn a_shared_map_is_found_by_its_file() {
        let maps = "1000-3000 r--s 00000000 fe:00 12 /data/data.mdb\n8000-9000 r--p 00000000 fe:00 13 /data/other\n";
        assert_eq!(largest_map(maps, Path::new("/data/data.mdb")), Some(0x1000));
        assert_eq!(largest_map(maps, Path::new("/data/none")), None);
        assert_eq!(largest_map(maps, Path::new("/data/other")), None, "it is private");
    }
}
