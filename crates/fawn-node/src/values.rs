//! A thread that writes large values into files of their own, so that the loop does not wait for them.

use crate::stores::{News, Ticket};
use fawn_flash::Files;
use fawn_store::flash::{FileId, Flash, FlashError};
use fawn_store::large::Stub;
use fawn_store::page::PAGE_BYTES;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes that are laid out in pages at once.
const CHUNK_BYTES: usize = 4 << 20;

enum Job {
    Write { store: usize, ticket: Ticket, file: u64, value: Vec<u8> },
    Remove { store: usize, file: FileId },
}

struct Done {
    news: Mutex<Vec<News>>,
    /// Written when there are news.
    bell: OwnedFd,
}

/// The thread.
pub struct ValueWriter {
    jobs: Option<Sender<Job>>,
    done: Arc<Done>,
    thread: Option<JoinHandle<()>>,
    /// Values given and not yet told of.
    in_flight: usize,
}

impl ValueWriter {
    /// Starts the thread of loop `number`, for stores with `files`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the system has no thread or descriptor left.
    pub fn start(number: usize, files: Vec<Arc<Files>>) -> Result<Self, FlashError> {
        let refused = |error: std::io::Error| FlashError::Io(format!("starting the thread for large values: {error}"));
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
        let done = Arc::new(Done { news: Mutex::default(), bell });
        let (jobs, inbox) = channel();
        let its_done = Arc::clone(&done);
        let thread = std::thread::Builder::new()
            .name(format!("fawn-values-{number}"))
            .spawn(move || work(&files, &inbox, &its_done))
            .map_err(refused)?;
        Ok(Self { jobs: Some(jobs), done, thread: Some(thread), in_flight: 0 })
    }

    fn send(&self, job: Job) {
        let jobs = self.jobs.as_ref().expect("the thread lives as long as its handle");
        jobs.send(job).expect("the thread ends after its handle");
    }

    /// Writes `value` to value file number `file` of `store`.
    pub fn write(&mut self, store: usize, ticket: Ticket, file: u64, value: Vec<u8>) {
        self.in_flight += 1;
        self.send(Job::Write { store, ticket, file, value });
    }

    /// Removes a file that no record names.
    pub fn remove(&self, store: usize, file: FileId) {
        self.send(Job::Remove { store, file });
    }

    /// What has been written since the last call.
    pub fn take_done(&mut self) -> Vec<News> {
        if self.in_flight == 0 {
            return Vec::new();
        }
        let news = std::mem::take(&mut *self.done.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.in_flight -= news.len();
        news
    }
}

impl AsFd for ValueWriter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.done.bell.as_fd()
    }
}

impl Drop for ValueWriter {
    /// Waits for the jobs that were given.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(files: &[Arc<Files>], inbox: &Receiver<Job>, done: &Done) {
    for job in inbox {
        match job {
            Job::Write { store, ticket, file, value } => {
                let stub = Stub::of(file, &value);
                let result = write(&files[store], &stub, &value).map(|()| stub);
                if result.is_err() {
                    remove(&files[store], stub.id());
                }
                let news = News::Written { ticket, result };
                done.news.lock().unwrap_or_else(PoisonError::into_inner).push(news);
                let _ = rustix::io::write(&done.bell, &1_u64.to_ne_bytes());
            }
            Job::Remove { store, file } => remove(&files[store], file),
        }
    }
}

fn write(files: &Files, stub: &Stub, value: &[u8]) -> Result<(), FlashError> {
    files.create(stub.id(), stub.pages())?;
    for (number, chunk) in value.chunks(CHUNK_BYTES).enumerate() {
        let first = (number * (CHUNK_BYTES / PAGE_BYTES)) as u64;
        files.write(stub.id(), first, Stub::lay_out(chunk).pages())?;
    }
    files.sync(stub.id())?;
    files.sync_names()
}

fn remove(files: &Files, file: FileId) {
    match files.remove(file) {
        Ok(()) | Err(FlashError::NotFound(_)) => {}
        // The next opening removes files that nothing names.
        Err(error) => tracing::warn!("a value file that nothing names stays until the next start: {error}"),
    }
}
