//! Reads by a pool of threads.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use fawn_store::flash::{FileId, FlashError};
use fawn_store::page::{Page, PageBuf};

use super::request::{ReadRequest, SMALL_PAGES};
use crate::files::Files;
use crate::os::eventfd::EventFd;
use crate::os::retry::Backoff;

/// Stack of a thread, bytes: it calls `pread` and little else.
const STACK_BYTES: usize = 128 << 10;

pub struct PoolReader {
    shared: Arc<PoolState>,
    threads: Vec<JoinHandle<()>>,
    /// Pushed, not yet submitted.
    pushed: Vec<ReadRequest>,
    in_flight: usize,
    /// Taken from the shared list, whose allocation it trades with.
    taken: Vec<CompletedRead>,
}

struct PoolState {
    files: Arc<Files>,
    jobs: Mutex<RequestQueue>,
    wanted: Condvar,
    done: Mutex<CompletedReads>,
    finished: Condvar,
    signal: EventFd,
}

#[derive(Default)]
struct RequestQueue {
    queue: VecDeque<ReadRequest>,
    idle: usize,
    stop: bool,
}

#[derive(Default)]
struct CompletedReads {
    done: Vec<CompletedRead>,
    /// Length of `done` that somebody sleeps for; 0 when nobody does.
    wanted: usize,
    /// Small buffers to use again.
    spare: Vec<PageBuf>,
}

struct CompletedRead {
    token: u64,
    /// Pages that were asked for; the buffer may have more.
    count: usize,
    result: Result<PageBuf, FlashError>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PoolReader {
    pub fn new(files: Arc<Files>, threads: usize) -> Result<Self, FlashError> {
        let shared = Arc::new(PoolState {
            files,
            jobs: Mutex::default(),
            wanted: Condvar::new(),
            done: Mutex::default(),
            finished: Condvar::new(),
            signal: EventFd::new()?,
        });
        let mut pool = Self { shared, threads: Vec::new(), pushed: Vec::new(), in_flight: 0, taken: Vec::new() };
        for number in 0..threads {
            let shared = Arc::clone(&pool.shared);
            let thread = thread::Builder::new()
                .name(format!("fawn-read-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || crate::os::threads::guarded(|| shared.work()))
                .map_err(|error| FlashError::Io(format!("starting a thread for reads: {error}")))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    pub fn push(&mut self, request: ReadRequest) {
        self.pushed.push(request);
        self.in_flight += 1;
    }

    #[allow(clippy::unnecessary_wraps)] // as the other path
    pub fn submit(&mut self) -> Result<(), FlashError> {
        if self.pushed.is_empty() {
            return Ok(());
        }
        let count = self.pushed.len();
        let mut jobs = lock(&self.shared.jobs);
        jobs.queue.extend(self.pushed.drain(..));
        let wake = count.min(jobs.idle);
        drop(jobs);
        for _ in 0..wake {
            self.shared.wanted.notify_one();
        }
        Ok(())
    }

    /// Takes all: whoever reads has a thread of its own, which goes on by itself with what is handed over here.
    pub fn take(
        &mut self,
        _most: usize,
        done: impl FnMut(u64, Result<&mut [Page], FlashError>),
    ) -> Result<usize, FlashError> {
        self.submit()?;
        self.complete(done)
    }

    #[allow(clippy::unnecessary_wraps, reason = "as the ring has it, which may fail")]
    pub fn complete(
        &mut self,
        mut done: impl FnMut(u64, Result<&mut [Page], FlashError>),
    ) -> Result<usize, FlashError> {
        if self.in_flight == 0 {
            return Ok(0);
        }
        std::mem::swap(&mut lock(&self.shared.done).done, &mut self.taken);
        let count = self.taken.len();
        self.in_flight -= count;
        let mut spare = Vec::new();
        for CompletedRead { token, count, result } in self.taken.drain(..) {
            match result {
                Ok(mut pages) => {
                    done(token, Ok(&mut pages.pages_mut()[..count]));
                    if pages.len() == SMALL_PAGES {
                        spare.push(pages);
                    }
                }
                Err(error) => done(token, Err(error)),
            }
        }
        if !spare.is_empty() {
            let mut finished = lock(&self.shared.done);
            let room = self.threads.len().saturating_sub(finished.spare.len());
            finished.spare.extend(spare.into_iter().take(room));
        }
        Ok(count)
    }

    pub fn has_completions(&self) -> bool {
        !lock(&self.shared.done).done.is_empty()
    }

    pub fn wait(&mut self, want: usize) -> Result<(), FlashError> {
        self.submit()?;
        let mut finished = lock(&self.shared.done);
        finished.wanted = want.min(self.in_flight);
        let waited = self.shared.finished.wait_while(finished, |finished| finished.done.len() < finished.wanted);
        waited.unwrap_or_else(PoisonError::into_inner).wanted = 0;
        Ok(())
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.signal.as_fd()
    }
}

impl Drop for PoolReader {
    fn drop(&mut self) {
        lock(&self.shared.jobs).stop = true;
        self.shared.wanted.notify_all();
        for thread in self.threads.drain(..) {
            // A panic there has stopped the process.
            let _ = thread.join();
        }
    }
}

impl PoolState {
    /// What a thread of the pool does, until it is stopped.
    fn work(&self) {
        while let Some(request) = self.next() {
            let result = self.read(request.file, request.first, request.count as usize);
            let done = CompletedRead { token: request.token, count: request.count as usize, result };
            let mut finished = lock(&self.done);
            let first = finished.done.is_empty();
            finished.done.push(done);
            let enough = finished.done.len() == finished.wanted;
            drop(finished);
            // Whoever takes the first takes the others with it.
            if first {
                self.signal.raise();
            }
            if enough {
                self.finished.notify_one();
            }
        }
    }

    fn next(&self) -> Option<ReadRequest> {
        let mut jobs = lock(&self.jobs);
        loop {
            if jobs.stop {
                return None;
            }
            if let Some(request) = jobs.queue.pop_front() {
                return Some(request);
            }
            jobs.idle += 1;
            jobs = self.wanted.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            jobs.idle -= 1;
        }
    }

    fn read(&self, file: FileId, first: u64, count: usize) -> Result<PageBuf, FlashError> {
        let mut pages = if count <= SMALL_PAGES {
            lock(&self.done).spare.pop().unwrap_or_else(|| PageBuf::zeroed(SMALL_PAGES))
        } else {
            PageBuf::zeroed(count)
        };
        // Somebody waits for it: what the system is short of for long refuses the read.
        self.files.read_with(file, first, &mut pages.pages_mut()[..count], &mut Backoff::brief())?;
        Ok(pages)
    }
}
