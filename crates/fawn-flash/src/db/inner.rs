//! [`DbInner`]: the stores of an open directory and the thread that ticks for them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fawn_ring::{Key, Secret};
use fawn_store::record::{MAX_KEY_BYTES, Record};
use fawn_store::{Opening, Options, Write};

use super::error::Error;
use super::shard::Shard;
use super::types::{Condition, DbOptions, WriteOutcome};
use crate::directory::{Directory, store_of};
use crate::os::notify::Notify;
use crate::os::{clock, threads};
use crate::reader::ReadPath;

/// What the clones of a `Db` share.
pub(super) struct DbInner {
    secret: Secret,
    pub(super) shards: Arc<[Arc<Shard>]>,
    pub(super) openings: Vec<Opening>,
    pub(super) reads: ReadPath,
    ticker: Arc<Ticker>,
    ticks: Mutex<Option<JoinHandle<()>>>,
    /// Given up, with its lock, by the first close.
    directory: Mutex<Option<Directory>>,
}

/// Stops the thread that ticks.
#[derive(Default)]
struct Ticker {
    stop: AtomicBool,
    notify: Notify,
}

impl DbInner {
    /// Opens the directory `path`, or makes it, and starts the threads.
    pub fn open(path: &Path, options: DbOptions) -> Result<Self, Error> {
        let cores = fawn_machine::cores().0.get();
        let wanted = if options.stores == 0 { cores } else { options.stores };
        let directory = Directory::open(path, wanted)?;
        let opened = open_shards(&directory, options)?;
        let (shards, openings): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let shards: Arc<[Arc<Shard>]> = shards.into();
        let ticker = Arc::new(Ticker::default());
        let (its_ticker, its_shards) = (Arc::clone(&ticker), Arc::clone(&shards));
        let ticks = threads::start("fawn-tick".to_owned(), move || tick(&its_ticker, &its_shards))?;
        Ok(Self {
            secret: directory.secret(),
            shards,
            openings,
            reads: options.reads,
            ticker,
            ticks: Mutex::new(Some(ticks)),
            directory: Mutex::new(Some(directory)),
        })
    }

    /// The position of a key and the shard that holds it.
    #[inline]
    pub fn place(&self, name: &[u8]) -> Result<(Key, usize), Error> {
        if name.is_empty() || name.len() > MAX_KEY_BYTES {
            return Err(Error::KeyLength(name.len()));
        }
        let key = self.secret.position(name);
        Ok((key, store_of(&key, self.shards.len())))
    }

    /// Gives the newest version of a key to `found`, if there is one.
    #[inline]
    pub fn get<T>(&self, name: &[u8], found: impl FnMut(&Record<'_>) -> T) -> Result<Option<T>, Error> {
        let (key, shard) = self.place(name)?;
        self.shards[shard].get(&key, name, found)
    }

    /// Writes a key if `condition` holds.
    #[inline]
    pub fn change(&self, write: &Write<'_>, condition: Condition) -> Result<WriteOutcome, Error> {
        let (key, shard) = self.place(write.key)?;
        self.shards[shard].change(&key, write, condition)
    }

    /// Stops all threads and records a clean stop; does nothing the second time.
    pub fn close(&self) -> Result<(), Error> {
        let directory = self.directory.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.ticker.stop.store(true, Ordering::SeqCst);
        self.ticker.notify.notify();
        if let Some(ticks) = self.ticks.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic there has stopped the process.
            let _ = ticks.join();
        }
        let mut result = Ok(());
        for shard in &*self.shards {
            result = result.and(shard.close());
        }
        for shard in &*self.shards {
            shard.readers().clear();
        }
        drop(directory);
        result
    }
}

impl Drop for DbInner {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the database could not be stopped cleanly");
        }
    }
}

/// Opens all stores of `directory`, at once.
fn open_shards(directory: &Directory, options: DbOptions) -> Result<Vec<(Arc<Shard>, Opening)>, Error> {
    let count = directory.stores();
    let of_store = |index: usize| Options {
        index: index as u32,
        count: count as u32,
        interval: directory.interval(index),
        ack: options.ack,
        segment_bytes: options.segment_bytes,
        miss_filter: options.miss_filter,
        ..Options::new(directory.secret(), options.memory / count as u64)
    };
    directory.make_room(&of_store(0))?;
    let open = |index: usize| {
        let files = Arc::new(directory.files(index, options.caching)?);
        let of_store = of_store(index);
        Shard::open(files, of_store).map_err(|source| Error::Open { store: index, source })
    };
    let results: Vec<Result<_, Error>> = std::thread::scope(|scope| {
        let open = &open;
        let threads: Vec<_> = (0..count).map(|index| scope.spawn(move || threads::guarded(|| open(index)))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a panic there has stopped the process")).collect()
    });
    if results.iter().any(Result::is_err) {
        for (shard, _) in results.iter().flatten() {
            // The error that is reported is why they are closed at all.
            let _ = shard.close();
        }
    }
    results.into_iter().collect()
}

/// What the thread that ticks does.
fn tick(ticker: &Ticker, shards: &[Arc<Shard>]) {
    let mut second = 0;
    loop {
        let heard = ticker.notify.listen();
        if ticker.stop.load(Ordering::SeqCst) {
            return;
        }
        let now_ms = clock::monotonic_ms();
        let new_second = now_ms / 1000 != second;
        second = now_ms / 1000;
        let next = shards.iter().map(|shard| shard.tick(now_ms, new_second)).min().unwrap_or(now_ms + 1000);
        ticker.notify.wait(heard, Some(Duration::from_millis(next - now_ms)));
    }
}
