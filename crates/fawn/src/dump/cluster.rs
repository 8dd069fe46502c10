//! `fawn dump --manager`: all that is in a cluster, each range as one record of its log left it.
//!
//! What comes of a range goes into a spool until the range is over; then its records go to the file, each once. Between two
//! events all is in [`State`], which is saved about once a second: whoever kills the dump has lost no more than that.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fawn_client::blocking::Client;
use fawn_client::{Bookmark, Cut, Event, Options, What};
use fawn_kv::entry::Kept;
use fawn_ring::{Interval, Key};
use serde::{Deserialize, Serialize};

use super::output::{Output, cannot_write};
use super::spool::{Runs, Spool};
use crate::Outcome;
use crate::cluster::OPERATOR;
use crate::command::{DumpArguments, Format};
use crate::load::{Report, Tally};
use crate::progress::Progress;
use crate::records::Record;

/// The version of the state file.
const VERSION: u32 = 1;

/// Between two saves.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// Of what the bar is a part.
const WHOLE: u64 = 10_000;

/// As of which record a stretch of keys is in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Done {
    /// The first key and the last, as hexadecimal digits.
    low: String,
    /// See `low`.
    high: String,
    range: u32,
    epoch: u32,
    seq: u64,
    /// Unix second of the range's time.
    time: u32,
    /// Times that the range was read, the later ones for what had changed.
    passes: u32,
    records: u64,
}

/// How far the dump is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    version: u32,
    /// Of which it is.
    cluster: Option<String>,
    format: String,
    bookmark: Bookmark,
    runs: Runs,
    /// Bytes of the file that are records of ranges that are over.
    file_bytes: u64,
    records: u64,
    bytes: u64,
    cut: u64,
    done: Vec<Done>,
}

/// Where a dump keeps what it needs to go on.
struct Paths {
    state: PathBuf,
    spool: PathBuf,
    /// Nothing goes on into a stream.
    is_stream: bool,
}

impl Paths {
    fn of(file: &Path) -> Self {
        let is_stream = Output::is_stream(file);
        let base = if is_stream {
            std::env::temp_dir().join(format!("fawn-dump-{}", std::process::id()))
        } else {
            file.to_owned()
        };
        let with = |end: &str| {
            let mut name = base.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        Self { state: with(".fawn-dump"), spool: with(".spool"), is_stream }
    }

    fn remove(&self) {
        // What is left is of no use, and in nobody's way.
        let _ = std::fs::remove_file(&self.state);
        let _ = std::fs::remove_file(&self.spool);
    }
}

/// Runs it.
pub fn run(arguments: &DumpArguments) -> anyhow::Result<Outcome> {
    let format = arguments.format.unwrap_or_else(|| Format::of_name(&arguments.file));
    let mut options = Options::new(arguments.managers.clone());
    options.certificates = arguments.certs.material(OPERATOR);
    let client = Client::connect(options)?;
    let mut dumping = Dumping::begin(arguments, format, &client)?;
    let mut report = Report::start();
    let worked = dumping.work(&client);
    dumping.progress.finish();
    if let Err(error) = worked {
        let is_stream = dumping.paths.is_stream;
        if is_stream {
            dumping.paths.remove();
        } else {
            dumping.save()?;
        }
        return Err(error);
    }
    let Dumping { output, paths, state, .. } = dumping;
    output.finish()?;
    paths.remove();
    report.cut = state.cut;
    report.finish(&Tally { loaded: state.records, bytes: state.bytes, ..Tally::default() });
    let mut out: Box<dyn Write> =
        if arguments.file.as_os_str() == "-" { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
    if arguments.json {
        let mut told = serde_json::to_value(&report)?;
        told["ranges"] = serde_json::to_value(&state.done)?;
        writeln!(out, "{told}")?;
    } else {
        report.print("dumped", false, &mut out)?;
        for Done { low, high, range, epoch, seq, records, .. } in &state.done {
            let (low, high) = (&low[..8], &high[..8]);
            writeln!(out, "range {range}, keys {low} to {high}: as of record {epoch}.{seq}, {records} records")?;
        }
    }
    Ok(Outcome::Done)
}

/// A dump under way.
struct Dumping {
    paths: Paths,
    output: Output,
    format: Format,
    spool: Spool,
    state: State,
    progress: Progress,
    saved: Instant,
}

impl Dumping {
    /// Begins, or goes on where another one was interrupted.
    fn begin(arguments: &DumpArguments, format: Format, client: &Client) -> anyhow::Result<Self> {
        let paths = Paths::of(&arguments.file);
        let fresh = State {
            version: VERSION,
            cluster: client.cluster().map(|cluster| cluster.to_string()),
            format: format!("{format:?}"),
            bookmark: Bookmark::new(Interval::ALL),
            runs: Runs::default(),
            file_bytes: 0,
            records: 0,
            bytes: 0,
            cut: 0,
            done: Vec::new(),
        };
        let found = if arguments.restart || paths.is_stream { None } else { find(&paths.state, &fresh)? };
        let state = found.unwrap_or(fresh);
        let output = Output::go_on(&arguments.file, state.file_bytes)?;
        let cannot = || format!("cannot go on with {}; begin anew with --restart", paths.spool.display());
        let spool = Spool::open(&paths.spool, state.runs.clone()).with_context(cannot)?;
        let progress = Progress::ranges(WHOLE);
        Ok(Self { paths, output, format, spool, state, progress, saved: Instant::now() })
    }

    /// Takes all that comes.
    fn work(&mut self, client: &Client) -> anyhow::Result<()> {
        let mut dump = client.dump(Some(self.state.bookmark.clone()));
        let path = self.paths.spool.clone();
        let no_spool = || cannot_write(&path);
        while let Some(Event { what, bookmark }) = dump.next_event()? {
            let placed =
                |kept: Vec<Kept>| kept.into_iter().map(|kept| (dump.place(&kept.key), kept)).collect::<Vec<_>>();
            let ends = matches!(what, What::Over(_));
            match what {
                What::Part(kept) => self.spool.add_part(placed(kept).into_iter()).with_context(no_spool)?,
                What::Records(kept) => self.spool.add_records(placed(kept).into_iter()).with_context(no_spool)?,
                What::Anew(keys) => self.spool.begin_anew(keys).with_context(no_spool)?,
                What::Over(cut) => self.over(&cut, bookmark.stretches.is_empty())?,
            }
            let low = bookmark.stretches.last().map(|stretch| stretch.from.unwrap_or(stretch.keys.high));
            self.state.bookmark = bookmark;
            self.show_progress(low.or(self.state.bookmark.rest));
            if !self.paths.is_stream && (ends || self.saved.elapsed() >= SAVE_EVERY) {
                self.save()?;
            }
        }
        Ok(())
    }

    fn show_progress(&self, at: Option<Key>) {
        let part = at.map_or(1.0, |at| at.prefix() as f64 / u64::MAX as f64);
        let message = format!("{} records", self.state.records);
        self.progress.update((part * WHOLE as f64) as u64, message);
    }

    /// A stretch is over: its records go to the file.
    fn over(&mut self, cut: &Cut, is_last: bool) -> anyhow::Result<()> {
        let Self { spool, state, output, format, paths, .. } = self;
        let (mut line, before) = (Vec::new(), state.records);
        spool.merge(&paths.spool, cut, |kept| {
            let Some(record) = record_of(kept) else { return Ok(()) };
            line.clear();
            format.push(&mut line, &record);
            output.write(&line)?;
            state.records += 1;
            state.bytes += (record.key.len() + record.value.len()) as u64;
            state.file_bytes += line.len() as u64;
            state.cut += u64::from(!format.carries_all_of(&record));
            Ok(())
        })?;
        let (low, high) = (format!("{:?}", cut.keys.low), format!("{:?}", cut.keys.high));
        let (range, epoch, seq) = (cut.range.0, cut.at.epoch.0, cut.at.seq.0);
        let records = state.records - before;
        state.done.push(Done { low, high, range, epoch, seq, time: cut.alive.time, passes: cut.passes, records });
        if is_last {
            spool.clear().with_context(|| cannot_write(&paths.spool))?;
        }
        Ok(())
    }

    /// Writes down how far it is.
    fn save(&mut self) -> anyhow::Result<()> {
        self.output.sync()?;
        self.state.runs = self.spool.save().with_context(|| cannot_write(&self.paths.spool))?.clone();
        let path = &self.paths.state;
        let mut name = path.clone().into_os_string();
        name.push(".new");
        let new = PathBuf::from(name);
        let write = || {
            let mut file = File::create(&new)?;
            serde_json::to_writer(&mut file, &self.state)?;
            file.sync_all()?;
            std::fs::rename(&new, path)
        };
        write().with_context(|| cannot_write(path))?;
        self.saved = Instant::now();
        Ok(())
    }
}

/// How far an interrupted dump came, if there was one.
fn find(path: &Path, fresh: &State) -> anyhow::Result<Option<State>> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let anew = "begin anew with --restart";
    let state: State = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not of this version of fawn dump; {anew}", path.display()))?;
    if state.version != fresh.version || state.format != fresh.format {
        bail!("{} is of a dump of another format; {anew}", path.display());
    }
    if state.cluster != fresh.cluster {
        bail!("{} is of a dump of another cluster; {anew}", path.display());
    }
    Ok(Some(state))
}

/// The record that a version is; none if it says that the key is gone.
fn record_of(kept: Kept) -> Option<Record> {
    let Kept { key, position, version } = kept;
    let version = version?;
    let cas = version.client_cas.unwrap_or(position.seq.0);
    Some(Record { key, value: version.value, flags: version.flags, exptime: version.expiry, cas })
}
