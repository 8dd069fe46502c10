//! [`BulkLoad`]: much that is new goes into a data directory that nobody has open, sorted, at the rate of the device.
//!
//! One thread takes records and gathers them, another sorts and spools what is full; at the end each store is built by a
//! thread, as many at once as there are cores. How a store takes a load: [`fawn_store::bulk`].

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use fawn_ring::Secret;
use fawn_store::bulk::{Batch, Bulk, BulkSummary};
use fawn_store::flash::{Flash as _, FlashError};
use fawn_store::large::Stub;
use fawn_store::page::PAGE_BYTES;
use fawn_store::record::{Kind, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use fawn_store::segment::SegmentError;
use fawn_store::{Options, Write};

use crate::db::Error;
use crate::directory::{Directory, store_of};
use crate::files::Files;
use crate::os::clock;
use crate::os::retry::RetryLimit;
use crate::os::threads;

/// Share of the memory that one batch takes, in hundredths: there are two, or one and what is read ahead.
const BATCH_SHARE: u64 = 42;
/// Bytes of a large value that are laid out in pages at once.
const CHUNK_BYTES: usize = 4 << 20;

/// Options of a [`BulkLoad`].
#[derive(Clone, Copy, Debug)]
pub struct BulkOptions {
    /// DRAM to use, in bytes: at least 8 MiB a store. A new directory gets the commit log that `fawn serve` would make
    /// with as much.
    pub memory: u64,
    /// Stores of a directory that is made.
    pub stores: usize,
}

/// A load into a directory. See the module's text. What was pushed is in the directory once [`finish`](Self::finish) has
/// returned; until then nothing of it is.
pub struct BulkLoad {
    directory: Directory,
    secret: Secret,
    stores: Vec<StoreFiles>,
    /// Bytes of a record above which its value has a file of its own.
    most_in_line: usize,
    memory: u64,
    batch: Batch,
    bytes: u64,
    work: SpoolState,
}

/// What the thread that takes records knows of a store.
struct StoreFiles {
    files: Arc<Files>,
    next_value: u64,
}

/// Where the stores are while the load collects records.
enum SpoolState {
    /// Nobody yet: all that has come fits one batch.
    Idle(Vec<Bulk>),
    /// The thread that sorts and spools.
    Spooling(Spooler),
    /// The thread that sorts and spools has failed.
    Failed,
}

struct Spooler {
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    thread: JoinHandle<(Vec<Bulk>, Result<(), FlashError>)>,
}

impl BulkLoad {
    /// Opens the directory `path`, or makes it, and brings its stores to rest.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::Open`], [`Error::Flash`]: each says what to do.
    pub fn open(path: &Path, options: BulkOptions) -> Result<Self, Error> {
        let directory = Directory::open(path, options.stores)?;
        let count = directory.stores();
        let (secret, now) = (directory.secret(), clock::unix());
        directory.make_room(&Options::new(secret, options.memory / count as u64))?;
        let (mut stores, mut bulks) = (Vec::new(), Vec::new());
        for index in 0..count {
            let files = Arc::new(directory.files_with(index, RetryLimit::Patient)?);
            let store = Options {
                index: index as u32,
                count: count as u32,
                interval: directory.interval(index),
                ..Options::new(secret, options.memory / count as u64)
            };
            let opened = Bulk::open(&store, &*files, now).map_err(|source| Error::Open { store: index, source });
            let (bulk, _) = opened?;
            stores.push(StoreFiles { files, next_value: bulk.first_value_file() });
            bulks.push(bulk);
        }
        Ok(Self {
            most_in_line: bulks.iter().map(Bulk::most_in_line).min().unwrap_or(0),
            batch: Batch::new((options.memory * BATCH_SHARE / 100) as usize),
            work: SpoolState::Idle(bulks),
            memory: options.memory,
            bytes: 0,
            directory,
            secret,
            stores,
        })
    }

    /// The data directory that the load writes into.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Bytes of the records pushed so far, without values that have files of their own: what [`finish`](Self::finish) goes
    /// through.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a value. Of several with one key the last counts; over what the store has any does.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`]: it was not taken. [`Error::Flash`]: the load cannot go on.
    pub fn push(&mut self, write: &Write<'_>) -> Result<(), Error> {
        if write.key.is_empty() || write.key.len() > MAX_KEY_BYTES {
            return Err(Error::KeyLength(write.key.len()));
        }
        if write.value.len() > MAX_VALUE_BYTES {
            return Err(Error::ValueLength(write.value.len()));
        }
        let key = self.secret.position(write.key);
        if Batch::record_bytes(write) <= self.most_in_line {
            return self.push_in_line(&key, write);
        }
        let store = store_of(&key, self.stores.len());
        let stub = self.write_value(store, write.value)?.encode();
        self.push_in_line(&key, &Write { kind: Kind::Stub, value: &stub, ..*write })
    }

    #[inline]
    fn push_in_line(&mut self, key: &fawn_ring::Key, write: &Write<'_>) -> Result<(), Error> {
        if !self.batch.fits(write.key.len(), write.value.len()) {
            self.next_batch()?;
        }
        self.bytes += Batch::record_bytes(write) as u64;
        self.batch.push(key, write);
        Ok(())
    }

    /// Gives a value a file of its own. Its name is durable with the load.
    fn write_value(&mut self, store: usize, value: &[u8]) -> Result<Stub, FlashError> {
        let StoreFiles { files, next_value } = &mut self.stores[store];
        let stub = Stub::of(*next_value, value);
        *next_value += 2;
        files.create(stub.id(), stub.pages())?;
        for (number, chunk) in value.chunks(CHUNK_BYTES).enumerate() {
            let first = (number * (CHUNK_BYTES / PAGE_BYTES)) as u64;
            files.write(stub.id(), first, Stub::lay_out(chunk).pages())?;
        }
        files.sync(stub.id())?;
        Ok(stub)
    }

    /// Has the full batch sorted and spooled, and goes on with an empty one.
    #[cold]
    fn next_batch(&mut self) -> Result<(), Error> {
        if let SpoolState::Idle(bulks) = &mut self.work {
            let files = self.stores.iter().map(|store| Arc::clone(&store.files)).collect();
            let spooler = Spooler::start(std::mem::take(bulks), files, self.secret)?;
            self.work = SpoolState::Spooling(spooler);
            let capacity = self.memory * BATCH_SHARE / 100;
            let full = std::mem::replace(&mut self.batch, Batch::new(capacity as usize));
            return self.send(full);
        }
        let SpoolState::Spooling(spooler) = &self.work else {
            return Err(FlashError::Io("the load has already failed".to_owned()).into());
        };
        match spooler.empty.recv() {
            Ok(empty) => {
                let full = std::mem::replace(&mut self.batch, empty);
                self.send(full)
            }
            Err(_) => self.failed(),
        }
    }

    fn send(&mut self, full: Batch) -> Result<(), Error> {
        match &self.work {
            SpoolState::Spooling(spooler) if spooler.full.send(full).is_ok() => Ok(()),
            _ => self.failed(),
        }
    }

    /// Why the thread that spools has ended; gives the load up.
    fn failed(&mut self) -> Result<(), Error> {
        let (bulks, result) = self.stop_spooling();
        self.remove_all(bulks);
        result.and(Err(FlashError::Io("the thread that spools has ended".to_owned()))).map_err(Error::from)
    }

    /// Waits for what is being spooled.
    fn stop_spooling(&mut self) -> (Vec<Bulk>, Result<(), FlashError>) {
        match std::mem::replace(&mut self.work, SpoolState::Failed) {
            SpoolState::Idle(bulks) => (bulks, Ok(())),
            SpoolState::Failed => (Vec::new(), Ok(())),
            SpoolState::Spooling(Spooler { full, empty, thread }) => {
                drop((full, empty));
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }

    fn remove_all(&self, bulks: Vec<Bulk>) {
        for (mut bulk, store) in bulks.into_iter().zip(&self.stores) {
            bulk.set_next_value_file(store.next_value);
            // What cannot be removed now is by the next opening.
            let _ = bulk.abandon(&*store.files);
        }
    }

    /// Gives the load up: the directory is as before.
    pub fn abandon(mut self) {
        let (bulks, _) = self.stop_spooling();
        self.remove_all(bulks);
    }

    /// Puts everything into the stores; durable when it returns. `done` counts bytes of records, up to
    /// [`bytes`](Self::bytes).
    ///
    /// # Errors
    /// [`Error::Flash`], [`Error::Damage`]: parts of the load may be in the directory; to load all of it again completes it.
    pub fn finish(mut self, done: &AtomicU64) -> Result<BulkSummary, Error> {
        let (bulks, spooled) = self.stop_spooling();
        if let Err(error) = spooled {
            self.remove_all(bulks);
            return Err(error.into());
        }
        self.batch.sort(&self.secret);
        let last = Arc::new(std::mem::replace(&mut self.batch, Batch::new(0)));
        let cores = fawn_machine::cores().0.get();
        let workers = bulks.len().min(cores);
        let read_bytes = self.memory * BATCH_SHARE / 100 / workers as u64;
        let left: Mutex<Vec<(Bulk, &StoreFiles)>> = Mutex::new(bulks.into_iter().zip(&self.stores).collect());
        let build = || -> Result<BulkSummary, SegmentError> {
            let mut sum = BulkSummary::default();
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((mut bulk, store)) = next else {
                    return Ok(sum);
                };
                bulk.set_next_value_file(store.next_value);
                let built = bulk.build(&*store.files, &last, read_bytes, &mut |bytes| {
                    done.fetch_add(bytes, Ordering::Relaxed);
                    store.files.close_removed();
                })?;
                store.files.close_removed();
                sum.segments += built.segments;
                sum.written_bytes += built.written_bytes;
                sum.merged += built.merged;
                sum.lost += built.lost;
            }
        };
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(build)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut sum = BulkSummary::default();
        for built in results {
            let built = built.map_err(|error| match error {
                SegmentError::Flash(error) => Error::Flash(error),
                SegmentError::Damage(damage) => Error::Damage(damage),
            })?;
            sum.segments += built.segments;
            sum.written_bytes += built.written_bytes;
            sum.merged += built.merged;
            sum.lost += built.lost;
        }
        Ok(sum)
    }
}

impl Spooler {
    fn start(bulks: Vec<Bulk>, files: Vec<Arc<Files>>, secret: Secret) -> Result<Self, FlashError> {
        let (full, inbox) = sync_channel(0);
        let (outbox, empty) = channel();
        let spool = move || threads::guarded(|| run(bulks, &files, &secret, &inbox, &outbox));
        let thread = thread::Builder::new()
            .name("fawn-spool".to_owned())
            .spawn(spool)
            .map_err(|error| FlashError::Io(format!("starting the thread fawn-spool: {error}")))?;
        Ok(Self { full, empty, thread })
    }
}

/// Sorts and spools batches until no more come, and gives them back empty.
fn run(
    mut bulks: Vec<Bulk>,
    files: &[Arc<Files>],
    secret: &Secret,
    full: &Receiver<Batch>,
    empty: &Sender<Batch>,
) -> (Vec<Bulk>, Result<(), FlashError>) {
    while let Ok(mut batch) = full.recv() {
        batch.sort(secret);
        for (bulk, files) in bulks.iter_mut().zip(files) {
            if let Err(error) = bulk.spool(&**files, &batch) {
                return (bulks, Err(error));
            }
        }
        batch.clear();
        // Who has stopped waiting for it takes no more records.
        let _ = empty.send(batch);
    }
    (bulks, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Db, DbOptions, Extras};

    fn value(round: u64, number: u64) -> Vec<u8> {
        let mut value = format!("{round}-{number}").into_bytes();
        // Every hundredth is too large to be kept in line.
        value.resize(if number % 100 == 7 { 300_000 } else { 20 + number as usize % 300 }, b'.');
        value
    }

    fn load(path: &Path, round: u64, numbers: std::ops::Range<u64>) -> BulkSummary {
        let mut load = BulkLoad::open(path, BulkOptions { memory: 24 << 20, stores: 3 }).unwrap();
        for number in numbers {
            let (key, value) = (format!("key {number}").into_bytes(), value(round, number));
            load.push(&Write { client_flags: number as u32, ..Write::value(&key, &value) }).unwrap();
        }
        let (bytes, done) = (load.bytes(), AtomicU64::new(0));
        let built = load.finish(&done).unwrap();
        assert_eq!(done.into_inner(), bytes, "all of it was told of");
        built
    }

    /// Names of all files of records.
    fn files(path: &Path) -> usize {
        let stores = (0..3).map(|store| path.join(format!("store-{store}")));
        let names = stores.flat_map(|store| std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().file_name()));
        let is_other = |name: &str| name.starts_with("manifest") || ["commit-log", "spare"].contains(&name);
        names.filter(|name| !is_other(name.to_str().unwrap())).count()
    }

    #[test]
    fn several_stores_take_more_than_fits_memory_and_what_programs_wrote_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let db = Db::open(&path, DbOptions { stores: 3, ..DbOptions::default() }).unwrap();
        db.put(b"own", b"1").unwrap();
        db.put(b"key 3", b"old").unwrap();
        db.close().unwrap();
        drop(db);
        let built = load(&path, 1, 0..60_000);
        let large = 60_000 / 100;
        assert_eq!(files(&path) as u64, built.segments + large, "spools are gone");
        let again = load(&path, 2, 0..30_000);
        assert!(again.written_bytes < built.written_bytes);
        let db = Db::open(&path, DbOptions::default()).unwrap();
        assert_eq!(db.get(b"own").unwrap(), Some(b"1".to_vec()));
        for number in (0..60_000).step_by(13).chain([3, 7, 107]) {
            let item = db.get_item(format!("key {number}").as_bytes()).unwrap().unwrap();
            let round = if number < 30_000 { 2 } else { 1 };
            assert!(item.value == value(round, number), "key {number}");
            assert_eq!(item.extras, Extras { flags: number as u32, expiry: 0 });
        }
        db.put(b"key 5", b"later").unwrap();
        assert_eq!(db.get(b"key 5").unwrap(), Some(b"later".to_vec()));
    }

    #[test]
    fn what_is_given_up_leaves_nothing_and_keys_without_a_length_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut load = BulkLoad::open(dir.path(), BulkOptions { memory: 24 << 20, stores: 3 }).unwrap();
        for number in 0..100_000 {
            load.push(&Write::value(format!("key {number}").as_bytes(), &value(1, number))).unwrap();
        }
        assert!(files(dir.path()) > 1_000, "large values, and spools");
        assert!(matches!(load.push(&Write::value(b"", b"v")), Err(Error::KeyLength(0))));
        load.abandon();
        assert_eq!(files(dir.path()), 0);
    }
}
