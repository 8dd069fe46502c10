//! `fawn load`: records from a file, a pipe or a running memcached into a server.
//!
//! One thread reads and parses; each connection has a thread with many sets in flight (`client::run_pipeline`). A key
//! always takes the same connection, so that of several lines with one key the last wins. The ledger knows how far into
//! the input every record is acknowledged, and a ticking thread records that for a later resumption.
//!
//! `bulk`: into a data directory instead, which nobody has open.

mod bulk;
mod input;
mod lanes;
mod ledger;
mod report;
mod resume;

use std::cell::OnceCell;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Scope};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use fawn_files::text;
use fawn_store::record::MAX_VALUE_BYTES;

use crate::client::{Address, Binary, Connection, Endpoint, Failure, Missed, fetch_all, unix_now};
use crate::command::{Format, LoadArguments, OnError};
use crate::interrupt::tell_how_to_go_on;
use crate::progress::Progress;
use crate::records::{Destination, Record};
use crate::{Misused, Outcome};
use input::Input;
use lanes::{Lanes, Origin};
pub use ledger::Tally;
use ledger::{End, Ledger, Place};
use report::Notes;
pub use report::Report;
use resume::{Resume, ResumeError};

/// How often the progress is recorded.
const TICK: Duration = Duration::from_millis(500);
/// What an interrupted load says whose progress is not recorded.
const FROM_THE_START: &str = "acknowledged records stay; run the same command again to start from the beginning";

/// Runs `fawn load`.
pub fn run(arguments: &LoadArguments) -> anyhow::Result<Outcome> {
    let report = match (&arguments.from_memcached, &arguments.file) {
        (None, Some(file)) if arguments.bulk.bulk => bulk::load_file(arguments, file)?,
        (Some(from), _) => copy(arguments, from)?,
        (None, Some(file)) => load_file(arguments, file)?,
        (None, None) => bail!("name a file to load, or - for standard input"),
    };
    report.print("loaded", arguments.json, &mut std::io::stdout())?;
    Ok(report.outcome())
}

/// Loads a file or standard input.
fn load_file(arguments: &LoadArguments, path: &Path) -> anyhow::Result<Report> {
    let format = arguments.format.unwrap_or_else(|| Format::of_name(path));
    let mut input = Input::open(path)?;
    let mut resume = resume_state(arguments, path, format, &input)?;
    let start = match &mut resume {
        Some(resume) if !arguments.restart => resume.find()?,
        _ => Place::default(),
    };
    input.skip_to(start)?;

    let progress = Progress::bytes(input.size());
    progress.start_at(start.offset);
    let how = match (&resume, arguments.restart) {
        (None, _) => FROM_THE_START,
        (Some(_), false) => "run the same command again to continue after the last acknowledged record",
        (Some(_), true) => "run the same command without --restart to continue after the last acknowledged record",
    };
    tell_how_to_go_on(&progress, how, || {})?;
    let notes = Notes::new(&progress);
    if start != Place::default() {
        let (name, line) = (input.name(), start.line + 1);
        notes
            .say(&format!("fawn: continuing with {name} at line {line}; {} records were loaded before", start.records));
    }
    let ledger = Ledger::new(start);
    let resume = resume.map(|resume| Keeper { resume, explicit: arguments.resume.is_some() });
    let mut report = Report::start();
    let (resume, fed) = drive(arguments, &ledger, &notes, resume, Measure::Bytes, |_, _, lanes| {
        let endpoint = arguments.server.endpoint();
        let mut server = OfServer { lanes, ledger: &ledger, endpoint, largest: OnceCell::new() };
        feed_lines(arguments, format, &mut input, &mut server, &notes)
    });
    progress.finish();
    let skipped = match fed {
        Ok(skipped) => skipped,
        Err(error) => return Err(with_advice(error, resume.is_some())),
    };
    if let Some(keeper) = resume {
        keeper.resume.remove()?;
    }
    report.finish(&ledger.tally());
    report.skip(&skipped);
    report.loaded_before = start.records;
    Ok(report)
}

/// Copies every record of a running memcached.
fn copy(arguments: &LoadArguments, from: &Address) -> anyhow::Result<Report> {
    let mut source = arguments.server.endpoint();
    source.address = from.clone();
    (source.tls, source.credentials) = (None, None);
    let total = Connection::open(&source)?.stat("curr_items")?;

    let progress = Progress::records(total);
    tell_how_to_go_on(&progress, FROM_THE_START, || {})?;
    let notes = Notes::new(&progress);
    let (ledger, missed) = (Ledger::new(Place::default()), Missed::default());
    let mut report = Report::start();
    let (_, fed) = drive(arguments, &ledger, &notes, None, Measure::Records, |scope, failure, lanes| {
        let mut expired = 0;
        for fetched in fetch_all(scope, &source, arguments.connections, &missed, failure)? {
            for record in &fetched.records {
                expired += has_expired(record) as u64;
                lanes.push(record, ledger.enter(End::default()), Origin::Key(record.key.as_slice().into()))?;
            }
            lanes.flush()?;
        }
        Ok(expired)
    });
    progress.finish();
    report.finish(&ledger.tally());
    report.expired = fed?;
    report.vanished = missed.vanished();
    report.unreadable = missed.unreadable();
    report.unfetched = missed.unfetched();
    Ok(report)
}

/// The state file of this load; `None` when the input cannot be resumed or that is not wanted.
fn resume_state(
    arguments: &LoadArguments,
    path: &Path,
    format: Format,
    input: &Input,
) -> anyhow::Result<Option<Resume>> {
    if input.size().is_none() {
        let asked = arguments.resume.is_some();
        let what =
            || Misused(format!("{} is not a file, and only a file can be resumed: leave --resume out", input.name()));
        return if asked { Err(what().into()) } else { Ok(None) };
    }
    if arguments.no_resume {
        return Ok(None);
    }
    let state = arguments.resume.clone().unwrap_or_else(|| Resume::beside(path));
    // Opened again: the two handles move independently.
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(Resume::new(state, file, arguments.server.to.to_string(), format)))
}

/// Where the records of a file go.
trait Sink {
    /// What a bad line leaves undone.
    const NOT_LOADED: &'static str;

    /// What keys are to fit.
    const DESTINATION: Destination;

    /// The next line may have to be waited for.
    fn idle(&mut self) -> anyhow::Result<()>;

    /// Takes a record, with the end of its line.
    fn take(&mut self, record: &Record, end: End) -> anyhow::Result<()>;

    /// Bytes of the largest record that it takes. Asked for when a line is unusually long.
    fn largest(&self) -> usize;

    /// What takes no larger record, and how to have it take one.
    fn limit(&self) -> String;
}

/// A server that takes records.
struct OfServer<'a> {
    lanes: &'a mut Lanes,
    ledger: &'a Ledger,
    endpoint: Endpoint,
    largest: OnceCell<usize>,
}

impl Sink for OfServer<'_> {
    const NOT_LOADED: &'static str = "nothing from this line on was loaded";
    const DESTINATION: Destination = Destination::Server;

    fn idle(&mut self) -> anyhow::Result<()> {
        self.lanes.flush()
    }

    fn take(&mut self, record: &Record, end: End) -> anyhow::Result<()> {
        self.lanes.push(record, self.ledger.enter(end), Origin::Line(end.line))
    }

    fn largest(&self) -> usize {
        // One that does not tell its limit may have any; one that cannot be asked fails soon anyhow.
        let ask = || Connection::open(&self.endpoint).and_then(|mut connection| connection.setting("item_size_max"));
        let told = || ask().ok().flatten().and_then(|bytes| usize::try_from(bytes).ok());
        *self.largest.get_or_init(|| told().map_or(MAX_VALUE_BYTES, |bytes| bytes.min(MAX_VALUE_BYTES)))
    }

    fn limit(&self) -> String {
        let (address, largest) = (&self.endpoint.address, self.largest());
        format!(
            "{address} accepts no record of more than {largest} bytes; raise the server's limit (--max-item-size, \
            memcached's -I)"
        )
    }
}

/// Lines that came to nothing, or records to nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Skipped {
    bad_lines: u64,
    too_large: u64,
    /// Records, among those loaded, that had expired.
    expired: u64,
}

/// Parses the input and gives its records away.
fn feed_lines<S: Sink>(
    arguments: &LoadArguments,
    format: Format,
    input: &mut Input,
    sink: &mut S,
    notes: &Notes<'_>,
) -> anyhow::Result<Skipped> {
    let binary = if arguments.binary_keys { Binary::Take } else { Binary::Refuse };
    let (name, skips) = (input.name().to_owned(), arguments.on_error == OnError::Skip);
    let mut skipped = Skipped::default();
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
                skipped.expired += has_expired(&record) as u64;
                sink.take(&record, line.end)?;
            }
            Err(error) if number == 1 && text::foreign(text).is_some() => {
                let encoding = text::foreign(text).context(error.to_string())?;
                bail!(input::foreign(&name, encoding));
            }
            Err(error) if skips => {
                skipped.bad_lines += 1;
                notes.bad(&format!("{name}:{number}: skipped: {error}"));
                if skipped.bad_lines == 1 {
                    arguments
                        .format_in_doubt(format, text)
                        .into_iter()
                        .for_each(|doubt| notes.say(&format!("fawn: {doubt}")));
                }
            }
            Err(error) => {
                let doubt =
                    arguments.format_in_doubt(format, text).map(|doubt| format!("; {doubt}")).unwrap_or_default();
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
fn has_expired(record: &Record) -> bool {
    record.exptime != 0 && record.exptime <= unix_now()
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
    fn save(&mut self, place: Place) -> Result<(), ResumeError> {
        self.resume.save(place)
    }
}

/// Opens the connections, lets `feed` fill them, and waits for the last answer. Gives the state file back, unless it
/// cannot be written, and what `feed` gave.
fn drive<R>(
    arguments: &LoadArguments,
    ledger: &Ledger,
    notes: &Notes<'_>,
    mut keeper: Option<Keeper>,
    measure: Measure,
    feed: impl for<'scope, 'env> FnOnce(&'scope Scope<'scope, 'env>, &'scope Failure, &mut Lanes) -> anyhow::Result<R>,
) -> (Option<Keeper>, anyhow::Result<R>) {
    let failure = Failure::default();
    let endpoint = arguments.server.endpoint();
    let fed = thread::scope(|scope| {
        let lanes = Lanes::open(scope, &endpoint, arguments, ledger, notes, &failure);
        let (mut lanes, workers) = lanes?;
        let (stop, stopped) = channel::<()>();
        let kept = &mut keeper;
        let ticker = scope.spawn(move || tick(&stopped, ledger, notes, kept, measure));
        let fed = feed(scope, &failure, &mut lanes);
        // What came before a bad line is loaded, too.
        let fed = lanes.flush().and(fed);
        drop(lanes);
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        drop(stop);
        ticker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        fed
    });
    (keeper, failure.resolve(fed))
}

/// Shows and records the progress until `stopped` is closed, and once more then.
fn tick(
    stopped: &std::sync::mpsc::Receiver<()>,
    ledger: &Ledger,
    notes: &Notes<'_>,
    keeper: &mut Option<Keeper>,
    measure: Measure,
) -> anyhow::Result<()> {
    loop {
        let ended = stopped.recv_timeout(TICK) != Err(RecvTimeoutError::Timeout);
        let (done, tally) = (ledger.done(), ledger.tally());
        match measure {
            Measure::Bytes => notes.progress.update(done.offset, format!("{} records", tally.loaded)),
            Measure::Records => notes.progress.update(tally.loaded, String::new()),
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
    if resumable && error.is::<crate::client::ClientError>() {
        return anyhow!("{error}; run the same command again to continue");
    }
    error
}
