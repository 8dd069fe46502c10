//! A thread that writes large values into files of their own, so that the loop does not wait for them.
//!
//! A file that cannot be made or written is removed and refused: no record names it. A failed sync is another matter. The
//! file's own might be harmless, but the one that makes names durable is that of the whole directory, and the kernel
//! reports its failure once: the store's maintenance, which puts segments there, would sync after it and be told that all
//! is well. So the store stops after either, as after any failed sync.

use crate::request::TaskTicket;
use crate::shard::stores::StoreEvent;
use fawn_flash::guarded;
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
    Write { store: usize, ticket: TaskTicket, file: u64, value: Vec<u8> },
    Remove { store: usize, file: FileId },
}

/// What has come of the jobs.
#[derive(Debug, Default)]
pub struct WriteReport {
    /// Values that were written or refused.
    pub news: Vec<StoreEvent>,
    /// Stores that must stop, and why.
    pub failed: Vec<(usize, String)>,
}

/// Why a value has no file.
#[derive(Debug)]
enum Unwritten {
    /// It could not be made or written.
    Refused(FlashError),
    /// A sync failed.
    Unsynced(FlashError),
}

struct WriterResults {
    made: Mutex<WriteReport>,
    /// Written when there are news.
    bell: OwnedFd,
}

/// The thread.
pub struct ValueWriter {
    jobs: Option<Sender<Job>>,
    done: Arc<WriterResults>,
    thread: Option<JoinHandle<()>>,
    /// Values given and not yet told of.
    in_flight: usize,
}

impl ValueWriter {
    /// Starts the thread of loop `number`, for stores with `files`.
    ///
    /// # Errors
    /// [`FlashError::Io`] when the system has no thread or descriptor left.
    pub fn start<F: Flash + Send + Sync + 'static>(number: usize, files: Vec<Arc<F>>) -> Result<Self, FlashError> {
        let refused = |error: std::io::Error| FlashError::Io(format!("starting the thread for large values: {error}"));
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(|error| refused(error.into()))?;
        let done = Arc::new(WriterResults { made: Mutex::default(), bell });
        let (jobs, inbox) = channel();
        let its_done = Arc::clone(&done);
        let thread = std::thread::Builder::new()
            .name(format!("fawn-values-{number}"))
            .spawn(move || guarded(|| work(&files, &inbox, &its_done)))
            .map_err(refused)?;
        Ok(Self { jobs: Some(jobs), done, thread: Some(thread), in_flight: 0 })
    }

    fn send(&self, job: Job) {
        let jobs = self.jobs.as_ref().expect("the thread lives as long as its handle");
        jobs.send(job).expect("the thread ends after its handle");
    }

    /// Writes `value` to value file number `file` of `store`.
    pub fn write(&mut self, store: usize, ticket: TaskTicket, file: u64, value: Vec<u8>) {
        self.in_flight += 1;
        self.send(Job::Write { store, ticket, file, value });
    }

    /// Removes a file that no record names.
    pub fn remove(&self, store: usize, file: FileId) {
        self.send(Job::Remove { store, file });
    }

    /// What has been written since the last call.
    pub fn take_done(&mut self) -> WriteReport {
        if self.in_flight == 0 {
            return WriteReport::default();
        }
        let made = std::mem::take(&mut *self.done.made.lock().unwrap_or_else(PoisonError::into_inner));
        self.in_flight -= made.news.len();
        made
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

fn work<F: Flash>(files: &[Arc<F>], inbox: &Receiver<Job>, done: &WriterResults) {
    for job in inbox {
        match job {
            Job::Write { store, ticket, file, value } => {
                let stub = Stub::of(file, &value);
                let written = write(&*files[store], &stub, &value);
                if written.is_err() {
                    remove(&*files[store], stub.id());
                }
                let mut made = done.made.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(Unwritten::Unsynced(error)) = &written {
                    made.failed.push((store, format!("syncing {:?} failed: {error}", stub.id())));
                }
                let result = written.map(|()| stub);
                let result = result.map_err(|(Unwritten::Refused(error) | Unwritten::Unsynced(error))| error);
                made.news.push(StoreEvent::Written { ticket, result });
                drop(made);
                let _ = rustix::io::write(&done.bell, &1_u64.to_ne_bytes());
            }
            Job::Remove { store, file } => remove(&*files[store], file),
        }
    }
}

fn write(files: &impl Flash, stub: &Stub, value: &[u8]) -> Result<(), Unwritten> {
    files.create(stub.id(), stub.pages()).map_err(Unwritten::Refused)?;
    for (number, chunk) in value.chunks(CHUNK_BYTES).enumerate() {
        let first = (number * (CHUNK_BYTES / PAGE_BYTES)) as u64;
        files.write(stub.id(), first, Stub::lay_out(chunk).pages()).map_err(Unwritten::Refused)?;
    }
    files.sync(stub.id()).and_then(|()| files.sync_names()).map_err(Unwritten::Unsynced)
}

fn remove(files: &impl Flash, file: FileId) {
    match files.remove(file) {
        Ok(()) | Err(FlashError::NotFound(_)) => {}
        // The next opening removes files that nothing names.
        Err(error) => tracing::warn!("an unused value file stays until the next start: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_store::flash::Space;
    use fawn_store::page::Page;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Flash on which one step of writing a value fails.
    #[derive(Default)]
    struct Broken {
        step: &'static str,
        removed: AtomicBool,
    }

    impl Broken {
        fn fails(&self, step: &str) -> Result<(), FlashError> {
            if self.step == step { Err(FlashError::Io("told to fail".into())) } else { Ok(()) }
        }
    }

    impl Flash for Broken {
        fn create(&self, _: FileId, _: u64) -> Result<(), FlashError> {
            self.fails("create")
        }

        fn write(&self, _: FileId, _: u64, _: &[Page]) -> Result<(), FlashError> {
            self.fails("write")
        }

        fn sync(&self, _: FileId) -> Result<(), FlashError> {
            self.fails("sync")
        }

        fn sync_names(&self) -> Result<(), FlashError> {
            self.fails("sync_names")
        }

        fn remove(&self, _: FileId) -> Result<(), FlashError> {
            self.removed.store(true, Ordering::SeqCst);
            Ok(())
        }

        fn read(&self, _: FileId, _: u64, _: &mut [Page]) -> Result<(), FlashError> {
            unreachable!("values are only written here")
        }

        fn punch(&self, _: FileId, _: u64, _: u64) -> Result<(), FlashError> {
            unreachable!("values are only written here")
        }

        fn truncate(&self, _: FileId, _: u64) -> Result<(), FlashError> {
            unreachable!("values are only written here")
        }

        fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
            unreachable!("values are only written here")
        }

        fn space(&self) -> Result<Space, FlashError> {
            unreachable!("values are only written here")
        }
    }

    #[test]
    fn a_failed_sync_stops_the_store_and_a_failed_write_does_not() {
        for (step, refused, stops) in [
            ("", false, false),
            ("create", true, false),
            ("write", true, false),
            ("sync", true, true),
            ("sync_names", true, true),
        ] {
            let files = [Arc::new(Broken::default()), Arc::new(Broken { step, ..Broken::default() })];
            let mut values = ValueWriter::start(0, files.to_vec()).unwrap();
            values.write(1, 7, 3, vec![1; 10_000]);
            let made = loop {
                let made = values.take_done();
                if !made.news.is_empty() {
                    break made;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            };
            let [StoreEvent::Written { ticket: 7, result }] = &made.news[..] else { panic!("{:?}", made.news) };
            assert_eq!((result.is_err(), files[1].removed.load(Ordering::SeqCst)), (refused, refused), "{step}");
            assert_eq!(made.failed.iter().map(|(store, _)| *store).collect::<Vec<_>>(), vec![1; usize::from(stops)]);
        }
    }
}
