//! Loading: records from a file, a pipe or a running memcached into a server.
//!
//! One thread reads and parses; each connection has a thread with many sets in flight (`client::run_pipeline`). A key
//! always takes the same connection, so that of several lines with one key the last wins. The tracker of acknowledgements knows how
//! far into the input every record is acknowledged, and a ticking thread records that for a later resumption.
//!
//! [`bulk`]: into a data directory instead, which nobody has open. [`from_redis`]: from a running Redis. [`from_rdb`]: from its
//! snapshots, in a file.

mod ack_tracker;
mod bulk;
mod connection_pool;
mod from_rdb;
mod from_redis;
mod input;
mod job;
mod options;
mod resume;

use std::cell::OnceCell;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Scope};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use fawn_store::record::MAX_VALUE_BYTES;

use crate::client::{
    Address, ClientError, Endpoint, FirstFailure, MissedKeys, ServerClock, ServerConnection, fetch_all, set_now,
};
use crate::key::Binary;
use crate::records::{Destination, Format, Record};
use crate::summary::{SkipCounts, TransferSummary};
use crate::ui::{Notes, TransferExtent, Ui};
pub use ack_tracker::TransferCounts;
use ack_tracker::{AckTracker, End, InputPosition};
pub use bulk::{load_bulk, load_rdb_bulk};
use connection_pool::{ConnectionPool, Origin};
pub use from_rdb::{RdbInput, load_rdb};
pub use from_redis::load_redis;
use input::RecordInput;
use job::LoadJob;
pub use options::{LoadOptions, LoadServer, NotResumable, OnError, ResumeState};
use resume::{Resume, ResumeError};

/// How often the progress is recorded.
const TICK: Duration = Duration::from_millis(500);
/// What an interrupted load says whose progress is not recorded.
const FROM_THE_START: &str = "acknowledged records stay; run the same command again to start from the beginning";

/// Loads a file, or standard input (`-`), into a server.
///
/// # Errors
/// What was acknowledged before is loaded. [`NotResumable`].
pub fn load_file(
    options: &LoadOptions,
    path: &Path,
    target: &LoadServer<'_>,
    ui: &dyn Ui,
) -> anyhow::Result<TransferSummary> {
    let format = options.format.unwrap_or_else(|| Format::of_name(path));
    let mut input = RecordInput::open(path)?;
    let of = (format!("{format:?}"), "line");
    let mut resume = resume_state(options, path, target, of, (input.name(), input.size()))?;
    let start = match &mut resume {
        Some(resume) if !options.restart => resume.find()?,
        _ => InputPosition::default(),
    };
    input.skip_to(start)?;

    let how = how_to_go_on(resume.is_some(), options.restart);
    let progress = ui.begin(TransferExtent::Bytes(input.size()), Box::new(move || how.to_owned()))?;
    progress.start_at(start.offset);
    let notes = Notes::new(progress.as_ref());
    if start != InputPosition::default() {
        let (name, line) = (input.name(), start.line + 1);
        notes
            .say(&format!("fawn: continuing with {name} at line {line}; {} records were loaded before", start.records));
    }
    let acks = AckTracker::new(start);
    let explicit = matches!(options.resume, ResumeState::In(_));
    let resume = resume.map(|resume| Keeper { resume, explicit });
    let mut summary = TransferSummary::start();
    let endpoint = (target.endpoint)();
    let load = LoadJob { options, endpoint: &endpoint, input: Some(path), acks: &acks, notes: &notes };
    let (resume, fed) = load.drive(resume, Measure::Bytes, |_, _, pool| {
        let clock = TargetClock::of(&endpoint);
        let mut server = OfServer { names_keys: false, ..OfServer::naming_keys(pool, &acks, endpoint.clone(), clock) };
        feed_lines(options, (path, format), &mut input, &mut server, &notes)
    });
    progress.finish();
    let skipped = match fed {
        Ok(skipped) => skipped,
        Err(error) => return Err(with_advice(error, resume.is_some())),
    };
    if let Some(keeper) = resume {
        keeper.resume.remove()?;
    }
    summary.finish(&acks.transferred());
    summary.skip(&skipped);
    summary.expired_by_server = true;
    summary.loaded_before = start.records;
    Ok(summary)
}

/// Copies every record of the server at `from`, which is reached like the target, without TLS and credentials.
///
/// # Errors
/// What was acknowledged before is loaded.
pub fn copy(
    options: &LoadOptions,
    from: &Address,
    target: &LoadServer<'_>,
    ui: &dyn Ui,
) -> anyhow::Result<TransferSummary> {
    let endpoint = (target.endpoint)();
    let source = Endpoint { address: from.clone(), tls: None, credentials: None, timeout: endpoint.timeout };
    let mut connection = ServerConnection::open(&source)?;
    let (total, clock) = (connection.stat("curr_items")?, ServerClock::of(&mut connection)?);
    drop(connection);

    let progress = ui.begin(TransferExtent::Records(total), Box::new(|| FROM_THE_START.to_owned()))?;
    let notes = Notes::new(progress.as_ref());
    clock.difference().into_iter().for_each(|told| notes.say(&format!("fawn: {told}")));
    let (acks, missed) = (AckTracker::new(InputPosition::default()), MissedKeys::default());
    let mut summary = TransferSummary::start();
    let load = LoadJob { options, endpoint: &endpoint, input: None, acks: &acks, notes: &notes };
    let (_, fed) = load.drive(None, Measure::Records, |scope, failure, pool| {
        let (mut expired, target) = (0, TargetClock::of(&endpoint));
        for fetched in fetch_all(scope, (&source, clock), options.connections, &missed, failure)? {
            for record in &fetched.records {
                expired += has_expired(record, || target.now()) as u64;
                pool.push(record, acks.enter(End::default()), Origin::Key(record.key.as_slice().into()))?;
            }
            pool.flush()?;
        }
        Ok(expired)
    });
    progress.finish();
    summary.finish(&acks.transferred());
    summary.expired = fed?;
    summary.expired_by_server = true;
    summary.vanished = missed.vanished();
    summary.unreadable = missed.unreadable();
    summary.unfetched = missed.unfetched();
    Ok(summary)
}

/// The state file of this load; `None` when the input cannot be resumed or that is not wanted.
fn resume_state(
    options: &LoadOptions,
    path: &Path,
    target: &LoadServer<'_>,
    of: (String, &'static str),
    (name, size): (&str, Option<u64>),
) -> anyhow::Result<Option<Resume>> {
    let state = match &options.resume {
        ResumeState::In(_) if size.is_none() => return Err(NotResumable(name.to_owned()).into()),
        ResumeState::Nowhere => return Ok(None),
        _ if size.is_none() => return Ok(None),
        ResumeState::In(state) => state.clone(),
        ResumeState::Beside => Resume::beside(path),
    };
    // Opened again: the two handles move independently.
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(Resume::new(state, file, target.address.to_string(), of)))
}

/// What to do after an interruption.
fn how_to_go_on(is_resumable: bool, restart: bool) -> &'static str {
    match (is_resumable, restart) {
        (false, _) => FROM_THE_START,
        (true, false) => "run the same command again to continue after the last acknowledged record",
        (true, true) => "run the same command without --restart to continue after the last acknowledged record",
    }
}

/// Where the records of a file go.
trait Sink {
    /// What a bad line leaves undone.
    const NOT_LOADED: &'static str;

    /// What keys are to fit.
    const DESTINATION: Destination;

    /// The next line may have to be waited for.
    fn idle(&mut self) -> anyhow::Result<()>;

    /// The Unix second now, by the clock that decides what has expired there; none if that is not set.
    fn now(&self) -> Option<u32>;

    /// Takes a record, with the end of its line.
    fn take(&mut self, record: &Record, end: End) -> anyhow::Result<()>;

    /// Bytes of the largest record that it takes. Asked for when a line is unusually long.
    fn largest(&self) -> usize;

    /// What takes no larger record, and how to have it take one.
    fn limit(&self) -> String;
}

/// A server that takes records.
struct OfServer<'a> {
    pool: &'a mut ConnectionPool,
    acks: &'a AckTracker,
    endpoint: Endpoint,
    largest: OnceCell<usize>,
    clock: TargetClock<'a>,
    /// Whether messages name a record by its key, where lines mean nothing to a person.
    names_keys: bool,
}

impl<'a> OfServer<'a> {
    /// One whose messages name records by their keys.
    fn naming_keys(
        pool: &'a mut ConnectionPool,
        acks: &'a AckTracker,
        endpoint: Endpoint,
        clock: TargetClock<'a>,
    ) -> Self {
        Self { pool, acks, endpoint, largest: OnceCell::new(), clock, names_keys: true }
    }
}

/// The clock of the server that records go to. It is asked when the first record comes that may have expired.
struct TargetClock<'a> {
    endpoint: &'a Endpoint,
    told: OnceCell<Option<ServerClock>>,
}

impl<'a> TargetClock<'a> {
    fn of(endpoint: &'a Endpoint) -> Self {
        Self { endpoint, told: OnceCell::new() }
    }

    /// The Unix second now. This machine's clock stands for that of a server that cannot be asked.
    fn now(&self) -> Option<u32> {
        let ask = || ServerConnection::open(self.endpoint).and_then(|mut connection| ServerClock::of(&mut connection));
        self.told.get_or_init(|| ask().ok()).map_or_else(set_now, |clock| Some(clock.now()))
    }
}

impl Sink for OfServer<'_> {
    const NOT_LOADED: &'static str = "nothing from this line on was loaded";
    const DESTINATION: Destination = Destination::Server;

    fn idle(&mut self) -> anyhow::Result<()> {
        self.pool.flush()
    }

    fn now(&self) -> Option<u32> {
        self.clock.now()
    }

    fn take(&mut self, record: &Record, end: End) -> anyhow::Result<()> {
        let origin = if self.names_keys { Origin::Key(record.key.as_slice().into()) } else { Origin::Line(end.line) };
        self.pool.push(record, self.acks.enter(end), origin)
    }

    fn largest(&self) -> usize {
        // One that cannot be asked fails soon anyhow.
        let ask = || ServerConnection::open(&self.endpoint).and_then(|mut connection| largest_of(&mut connection));
        *self.largest.get_or_init(|| ask().unwrap_or(MAX_VALUE_BYTES))
    }

    fn limit(&self) -> String {
        limit_of(&self.endpoint.address, self.largest())
    }
}

/// Bytes of the largest record that a server takes. One that does not tell may take any.
fn largest_of(connection: &mut ServerConnection) -> Result<usize, ClientError> {
    let told = connection.setting("item_size_max")?.and_then(|bytes| usize::try_from(bytes).ok());
    Ok(told.map_or(MAX_VALUE_BYTES, |bytes| bytes.min(MAX_VALUE_BYTES)))
}

/// What to do about a record that is larger.
fn limit_of(address: &Address, largest: usize) -> String {
    format!(
        "{address} accepts no record of more than {largest} bytes; raise the server's limit (--max-item-size, memcached's -I)"
    )
}

/// Parses the input and gives its records away.
fn feed_lines<S: Sink>(
    options: &LoadOptions,
    (path, format): (&Path, Format),
    input: &mut RecordInput,
    sink: &mut S,
    notes: &Notes<'_>,
) -> anyhow::Result<SkipCounts> {
    let binary = if options.binary_keys { Binary::Take } else { Binary::Refuse };
    let (name, skips) = (input.name().to_owned(), options.on_error == OnError::Skip);
    let mut skipped = SkipCounts::default();
    let mut record = Record::default();
    loop {
        if input.may_wait() {
            sink.idle()?;
        }
        let Some(line) = input.next_line(|| sink.largest())? else { break };
        let number = line.end.line;
        let Some(text) = line.text else {
            let limit = sink.limit();
            if !skips {
                bail!(
                    "{name}:{number}: the line is too long for a record: {limit}; {}: skip such lines with --on-error skip",
                    S::NOT_LOADED
                );
            }
            skipped.too_large += 1;
            notes.bad(&format!("{name}:{number}: skipped: the line is too long for a record: {limit}"));
            continue;
        };
        if format.is_blank(text, binary) {
            continue;
        }
        match format.parse(text, binary, S::DESTINATION, &mut record) {
            Ok(()) => {
                skipped.expired += has_expired(&record, || sink.now()) as u64;
                sink.take(&record, line.end)?;
            }
            Err(error) if skips => {
                skipped.bad_lines += 1;
                notes.bad(&format!("{name}:{number}: skipped: {error}"));
                if skipped.bad_lines == 1 {
                    options
                        .format_in_doubt(path, format, text)
                        .into_iter()
                        .for_each(|doubt| notes.say(&format!("fawn: {doubt}")));
                }
            }
            Err(error) => {
                let doubt =
                    options.format_in_doubt(path, format, text).map(|doubt| format!("; {doubt}")).unwrap_or_default();
                bail!(
                    "{name}:{number}: {error}{doubt}; {}: correct it and run the same command again, or skip such lines with \
                     --on-error skip",
                    S::NOT_LOADED
                );
            }
        }
    }
    Ok(skipped)
}

/// Whether the record is stored only to be gone at once.
fn has_expired(record: &Record, now: impl FnOnce() -> Option<u32>) -> bool {
    record.exptime != 0 && now().is_some_and(|now| record.exptime <= now)
}

/// What the progress bar counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Bytes,
    Records,
}

/// The state file, and whether the user named it.
struct Keeper {
    resume: Resume,
    explicit: bool,
}

impl Keeper {
    /// Records how far the load has come.
    fn save(&mut self, place: InputPosition) -> Result<(), ResumeError> {
        self.resume.save(place)
    }
}

impl LoadJob<'_> {
    /// Opens the connections, lets `feed` fill them, and waits for the last answer. Gives the state file back, unless it
    /// cannot be written, and what `feed` gave.
    fn drive<R>(
        &self,
        mut keeper: Option<Keeper>,
        measure: Measure,
        feed: impl for<'scope, 'env> FnOnce(
            &'scope Scope<'scope, 'env>,
            &'scope FirstFailure,
            &mut ConnectionPool,
        ) -> anyhow::Result<R>,
    ) -> (Option<Keeper>, anyhow::Result<R>) {
        let failure = FirstFailure::default();
        let &LoadJob { acks, notes, .. } = self;
        let fed = thread::scope(|scope| {
            let (mut pool, workers) = ConnectionPool::open(scope, self, &failure)?;
            let (stop, stopped) = channel::<()>();
            let kept = &mut keeper;
            let ticker = scope.spawn(move || tick(&stopped, acks, notes, kept, measure));
            let fed = feed(scope, &failure, &mut pool);
            // What came before a bad line is loaded, too.
            let fed = pool.flush().and(fed);
            drop(pool);
            for worker in workers {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            drop(stop);
            ticker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            fed
        });
        (keeper, failure.resolve(fed))
    }
}

/// Shows and records the progress until `stopped` is closed, and once more then.
fn tick(
    stopped: &std::sync::mpsc::Receiver<()>,
    acks: &AckTracker,
    notes: &Notes<'_>,
    keeper: &mut Option<Keeper>,
    measure: Measure,
) -> anyhow::Result<()> {
    loop {
        let ended = stopped.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout);
        let (done, transferred) = (acks.done(), acks.transferred());
        match measure {
            Measure::Bytes => notes.progress.update(done.offset, format!("{} records", transferred.loaded)),
            Measure::Records => notes.progress.update(transferred.loaded, String::new()),
        }
        match keeper.as_mut().map_or(Ok(()), |keeper| keeper.save(done)) {
            Err(error) if keeper.as_ref().is_some_and(|keeper| keeper.explicit) => return Err(error.into()),
            Err(error) => {
                notes.say(&format!("fawn: this load cannot be resumed: {error}"));
                *keeper = None;
            }
            Ok(()) => {}
        }
        if ended {
            return Ok(());
        }
    }
}

/// Says how to go on after a failure.
fn with_advice(error: anyhow::Error, resumable: bool) -> anyhow::Error {
    if resumable && error.is::<ClientError>() {
        return anyhow!("{error}; run the same command again to continue");
    }
    error
}
