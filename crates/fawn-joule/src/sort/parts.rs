//! Parts of a merge, each written into its own range of a file.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use super::error::{SortError, first_cause};
use super::monitor::ByteMonitor;
use super::pages::PagesPool;
use super::writer::{RangeWriter, WriteTarget, write_jobs};

/// Threads that write at most: a device that has so many writes at a time is busy.
const MOST_WRITERS: usize = 8;

/// What lies between two cuts, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct MergePart<'f> {
    /// Records of each list before it.
    pub from: &'f [u64],
    /// The same with those in it.
    pub to: &'f [u64],
    /// The stretch of a file that it is part of.
    pub target: &'f WriteTarget<'f>,
    /// Where in the file it begins.
    pub offset: u64,
}

impl MergePart<'_> {
    /// The records before it, of all lists.
    pub fn first(&self) -> u64 {
        self.from.iter().sum()
    }
}

/// Records between two cuts.
pub fn records_between(from: &[u64], to: &[u64]) -> u64 {
    to.iter().sum::<u64>() - from.iter().sum::<u64>()
}

/// How parts are written.
#[derive(Clone, Copy)]
pub struct PartWriting<'w> {
    /// Threads that merge.
    pub threads: usize,
    /// The buffers of writes.
    pub pool: &'w PagesPool,
    /// What is told how far it is.
    pub monitor: &'w ByteMonitor<'w>,
    /// What it is told.
    pub what: &'w str,
}

impl<'f> PartWriting<'f> {
    /// Has `merge` put the records of each part into its writer, several parts at a time. It gets the part's number, too.
    ///
    /// # Errors
    /// Those of `merge`, or a part cannot be written.
    pub fn run(
        &self,
        parts: &[MergePart<'f>],
        merge: impl Fn(usize, &MergePart<'f>, &mut RangeWriter<'f>) -> Result<(), SortError> + Sync,
    ) -> Result<(), SortError> {
        let (jobs, received) = channel();
        let (received, next) = (Mutex::new(received), AtomicUsize::new(0));
        let merge_parts = |jobs: std::sync::mpsc::Sender<_>| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(number) else { return Ok(()) };
                let mut writer = RangeWriter::new(part.target, part.offset, self.pool, jobs.clone())?;
                merge(number, part, &mut writer)?;
                writer.finish()?;
            }
        };
        let merge_parts = &merge_parts;
        let results = thread::scope(|scope| {
            for _ in 0..self.threads.clamp(2, MOST_WRITERS) {
                scope.spawn(|| write_jobs(&received, self.monitor, self.what));
            }
            let threads = self.threads.min(parts.len());
            let threads: Vec<_> = (0..threads)
                .map(|_| {
                    let jobs = jobs.clone();
                    scope.spawn(move || merge_parts(jobs))
                })
                .collect();
            drop(jobs);
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
        });
        first_cause(results)
    }
}
