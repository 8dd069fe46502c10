//! Bulk loading: records from a file or a pipe into a data directory that no server has open.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};
use fawn_flash::{BulkLoad, BulkOptions, DirectoryError, Error};
use fawn_store::Write;
use fawn_store::bulk::BulkSummary;
use fawn_store::flash::FlashError;
use fawn_store::record::MAX_VALUE_BYTES;

use super::ack_tracker::{End, TransferCounts};
use super::from_rdb::{RdbFile, RdbInput, feed_entries};
use super::input::RecordInput;
use super::{Sink, feed_lines};
use crate::client::set_now;
use crate::load::{LoadOptions, OnError};
use crate::records::{Destination, Format, Record};
use crate::summary::TransferSummary;
use crate::ui::{Notes, TransferExtent, Ui};

/// How often the progress is shown, and after how many records while they are read.
const TICK: (Duration, u64) = (Duration::from_millis(200), 1024);

/// What to do after Ctrl-C.
const AGAIN: &str = "run the same command again, which loads from the beginning; until it is complete, each part of \
    the keys is as before or as after";

/// Loads a file, or standard input (`-`), into a directory. `check` may refuse it, once the input is open.
///
/// # Errors
/// A part of the records may be loaded: the message says so.
pub fn load_bulk(
    options: &LoadOptions,
    path: &Path,
    dir: &Path,
    (bulk, check): (BulkOptions, impl FnOnce() -> anyhow::Result<()>),
    ui: &dyn Ui,
) -> anyhow::Result<TransferSummary> {
    let format = options.format.unwrap_or_else(|| Format::of_name(path));
    let mut input = RecordInput::open(path)?;
    check()?;
    let progress = ui.begin(TransferExtent::Bytes(input.size()), Box::new(|| AGAIN.to_owned()))?;
    let mut summary = TransferSummary::start();
    let load = BulkLoad::open(dir, bulk).map_err(refused)?;

    let notes = Notes::new(progress.as_ref());
    let mut sink = OfDirectory::new(load, &notes, options, input.name());
    let fed = feed_lines(options, (path, format), &mut input, &mut sink, &notes);
    progress.finish();
    let skipped = sink.complete(fed, &mut summary, ui)?;
    summary.skip(&skipped);
    Ok(summary)
}

/// Loads an RDB file into a directory in the same way. It is not read before: what is damaged ends the load before anything of it
/// is in the directory.
///
/// # Errors
/// A part of the records may be loaded: the message says so.
pub fn load_rdb_bulk(
    options: &LoadOptions,
    rdb: &RdbInput,
    dir: &Path,
    (bulk, check): (BulkOptions, impl FnOnce() -> anyhow::Result<()>),
    ui: &dyn Ui,
) -> anyhow::Result<TransferSummary> {
    let mut file = RdbFile::open(&rdb.path)?;
    check()?;
    let progress = ui.begin(TransferExtent::Bytes(file.size), Box::new(|| AGAIN.to_owned()))?;
    let mut summary = TransferSummary::start();
    let load = BulkLoad::open(dir, bulk).map_err(refused)?;

    let notes = Notes::new(progress.as_ref());
    let mut sink = OfDirectory::new(load, &notes, options, &file.name);
    let fed = feed_entries(&mut file, (rdb.database, 0), &mut sink, &notes);
    progress.finish();
    let left_out = sink.complete(fed, &mut summary, ui)?;
    left_out.tell(options, &mut summary);
    Ok(summary)
}

/// A directory that takes records.
struct OfDirectory<'a> {
    load: BulkLoad,
    notes: &'a Notes<'a>,
    on_error: OnError,
    name: String,
    transferred: TransferCounts,
}

impl<'a> OfDirectory<'a> {
    fn new(load: BulkLoad, notes: &'a Notes<'a>, options: &LoadOptions, name: &str) -> Self {
        let (on_error, name, transferred) = (options.on_error, name.to_owned(), TransferCounts::default());
        Self { load, notes, on_error, name, transferred }
    }

    /// Puts what was read into the directory, or gives it up. Gives what feeding it gave.
    fn complete<R>(self, fed: anyhow::Result<R>, summary: &mut TransferSummary, ui: &dyn Ui) -> anyhow::Result<R> {
        let fed = match fed {
            Ok(fed) => fed,
            Err(error) => {
                self.load.abandon();
                return Err(error);
            }
        };
        let built = build(self.load, ui).map_err(interrupted)?;
        summary.finish(&self.transferred);
        summary.unreadable = built.lost;
        Ok(fed)
    }
}

impl Sink for OfDirectory<'_> {
    const NOT_LOADED: &'static str = "nothing was loaded";
    const DESTINATION: Destination = Destination::Store;

    fn idle(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn now(&self) -> Option<u32> {
        set_now()
    }

    fn take(&mut self, record: &Record, end: End) -> anyhow::Result<()> {
        let number = end.line;
        let Record { key, value, flags, exptime, cas } = record;
        let client_cas = (*cas != 0).then_some(*cas);
        let write = Write { client_flags: *flags, expiry: *exptime, client_cas, ..Write::value(key, value) };
        match self.load.push(&write) {
            Ok(()) => {
                self.transferred.loaded += 1;
                self.transferred.bytes += (key.len() + value.len()) as u64;
            }
            Err(error @ Error::ValueLength(_)) if self.on_error == OnError::Skip => {
                self.transferred.too_large += 1;
                self.notes.bad(&format!("{}:{number}: skipped: {error}", self.name));
            }
            Err(error @ Error::ValueLength(_)) => {
                bail!("{}:{number}: {error}; nothing was loaded: skip such records with --on-error skip", self.name)
            }
            Err(error) => return Err(stopped(error)),
        }
        if self.transferred.loaded.is_multiple_of(TICK.1) {
            self.notes.progress.update(end.offset, format!("{} records", self.transferred.loaded));
        }
        Ok(())
    }

    fn largest(&self) -> usize {
        MAX_VALUE_BYTES
    }

    fn limit(&self) -> String {
        format!("a value has at most {MAX_VALUE_BYTES} bytes")
    }
}

/// Puts what was read into the stores, under a bar of its own.
fn build(load: BulkLoad, ui: &dyn Ui) -> Result<BulkSummary, Error> {
    let progress = ui.bar(TransferExtent::Bytes(Some(load.bytes())));
    let done = AtomicU64::new(0);
    let built = thread::scope(|scope| {
        let (stop, stopped) = channel::<()>();
        let (progress, done) = (progress.as_ref(), &done);
        scope.spawn(move || {
            while stopped.recv_timeout(TICK.0) == Err(RecvTimeoutError::Timeout) {
                progress.update(done.load(Ordering::Relaxed), "sorted and written".to_owned());
            }
        });
        let built = load.finish(done);
        drop(stop);
        built
    });
    progress.finish();
    built
}

/// Why a directory is not loaded into.
fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Directory(DirectoryError::Member { path }) => anyhow!(
            "{} belongs to a node of a cluster, and other nodes have copies of its data: load into the cluster, \
            with `fawn load --to ADDR:PORT` of any of its memcached ports",
            path.display()
        ),
        error => error.into(),
    }
}

/// Why a load does not go on before anything of it is in the directory.
fn stopped(error: Error) -> anyhow::Error {
    match error {
        Error::Flash(FlashError::NoSpace) => anyhow!(
            "no space left on the device for spooled records; nothing was loaded: free space, or give more \
            --memory, and run the same command again"
        ),
        error => anyhow::Error::new(error).context("nothing was loaded"),
    }
}

/// Why a load was not completed.
fn interrupted(error: Error) -> anyhow::Error {
    match error {
        Error::Flash(FlashError::NoSpace) => anyhow!(
            "no space left on the device; a part of the records was loaded: free space, and run the same command again"
        ),
        error => anyhow!("{error}; a part of the records may have been loaded: run the same command again"),
    }
}
