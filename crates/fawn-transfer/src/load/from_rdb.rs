//! Loading from RDB files, the snapshots of Redis.
//!
//! A regular file is read twice: once to see that it is whole, since its checksum is at its end, and once to load it. So nothing of
//! a damaged file is loaded. What comes through a pipe is loaded while it is read.

use std::cell::Cell;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use fawn_kv::operation::hash::{HASH_FLAGS, HashWriter};
use fawn_rdb::{RdbEntry, RdbError, RdbReader, RdbSource, RdbValue};

use super::ack_tracker::{AckTracker, End, InputPosition};
use super::input::{InputSource, cannot_read, name_of, pass};
use super::job::LoadJob;
use super::{
    Keeper, LoadOptions, LoadServer, Measure, OfServer, OnError, Sink, TargetClock, how_to_go_on, resume_state,
    with_advice,
};
use crate::key::{Binary, check_key, check_stored_key};
use crate::load::options::ResumeState;
use crate::records::{Destination, Record};
use crate::redis::LeftOut;
use crate::summary::TransferSummary;
use crate::ui::{Notes, Progress, TransferExtent, Ui};

/// Keys after which the progress is shown.
const TICK: u64 = 1024;

/// Bytes that `redis-cli --rdb -` leaves behind the end of what it prints: the mark that a server ends a transfer with.
const MARK_BYTES: usize = 40;

/// An RDB file to load.
#[derive(Clone, Debug)]
pub struct RdbInput {
    /// Its path; `-` for standard input.
    pub path: PathBuf,
    /// The number of the database that is loaded.
    pub database: u32,
}

/// Loads the strings and hashes of an RDB file into a server.
///
/// # Errors
/// What was acknowledged before is loaded; nothing of a regular file that is damaged.
/// [`NotResumable`](super::NotResumable).
pub fn load_rdb(
    options: &LoadOptions,
    rdb: &RdbInput,
    target: &LoadServer<'_>,
    ui: &dyn Ui,
) -> anyhow::Result<TransferSummary> {
    let mut file = RdbFile::open(&rdb.path)?;
    let format = match rdb.database {
        0 => "Rdb".to_owned(),
        number => format!("Rdb (database {number})"),
    };
    let mut resume = resume_state(options, &rdb.path, target, (format, "key"), (&file.name, file.size))?;
    let start = match &mut resume {
        Some(resume) if !options.restart => resume.find()?,
        _ => InputPosition::default(),
    };
    let endpoint = (target.endpoint)();
    let how = how_to_go_on(resume.is_some(), options.restart);
    let first = ui.begin(TransferExtent::Bytes(file.size), Box::new(move || how.to_owned()))?;
    let of_load = if file.size.is_some() {
        let checked = file.check(first.as_ref());
        first.finish();
        checked?;
        Some(ui.bar(TransferExtent::Bytes(file.size)))
    } else {
        None
    };
    let progress = of_load.as_ref().unwrap_or(&first).as_ref();
    let notes = Notes::new(progress);
    if start != InputPosition::default() {
        let (name, key) = (&file.name, start.line + 1);
        notes.say(&format!("fawn: continuing with {name} at key {key}; {} records were loaded before", start.records));
    }
    let acks = AckTracker::new(start);
    let explicit = matches!(options.resume, ResumeState::In(_));
    let resume = resume.map(|resume| Keeper { resume, explicit });
    let mut summary = TransferSummary::start();
    let skipping = LoadOptions { on_error: OnError::Skip, ..options.clone() };
    let load = LoadJob { options: &skipping, endpoint: &endpoint, input: Some(&rdb.path), acks: &acks, notes: &notes };
    let (resume, fed) = load.drive(resume, Measure::Bytes, |_, _, pool| {
        let clock = TargetClock::of(&endpoint);
        let mut server = OfServer::naming_keys(pool, &acks, endpoint.clone(), clock);
        feed_entries(&mut file, (rdb.database, start.line), &mut server, &notes)
    });
    progress.finish();
    let left_out = match fed {
        Ok(left_out) => left_out,
        Err(error) => return Err(with_advice(error, resume.is_some())),
    };
    if let Some(keeper) = resume {
        keeper.resume.remove()?;
    }
    summary.finish(&acks.transferred());
    summary.loaded_before = start.records;
    left_out.tell(options, &mut summary);
    Ok(summary)
}

/// An open file.
pub(super) struct RdbFile {
    source: InputSource,
    /// What messages call it.
    pub(super) name: String,
    /// Of a regular file.
    pub(super) size: Option<u64>,
}

impl RdbFile {
    /// Opens `path`; `-` is standard input.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let (source, size) = InputSource::open(path)?;
        Ok(Self { source, name: name_of(path), size })
    }

    /// Reads all of a regular file, and goes back to its beginning.
    fn check(&mut self, progress: &dyn Progress) -> anyhow::Result<()> {
        let outcome = self.read_all(progress);
        if let InputSource::File(file) = &mut self.source {
            file.rewind().with_context(|| cannot_read(&self.name))?;
        }
        outcome.map_err(|error| refused(&self.name, error, "nothing was loaded"))
    }

    fn read_all(&mut self, progress: &dyn Progress) -> Result<(), RdbError> {
        let mut reader = RdbReader::open(SummedSource::new(&mut self.source), fawn_store::record::MAX_VALUE_BYTES)?;
        let mut keys = 0_u64;
        while reader.next_entry()?.is_some() {
            keys += 1;
            if keys.is_multiple_of(TICK) {
                progress.update(reader.offset(), "checked".to_owned());
            }
        }
        Ok(())
    }
}

/// Bytes of a file, and the CRC-32C of those that are done with.
struct SummedSource<'a> {
    source: &'a mut InputSource,
    end: End,
    /// The next bytes had to be waited for.
    has_read: Cell<bool>,
}

impl<'a> SummedSource<'a> {
    fn new(source: &'a mut InputSource) -> Self {
        Self { source, end: End::default(), has_read: Cell::new(false) }
    }
}

impl Read for SummedSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.has_read.set(true);
        self.source.read(buffer)
    }
}

impl RdbSource for SummedSource<'_> {
    fn passed(&mut self, bytes: &[u8]) {
        pass(&mut self.end, bytes);
    }
}

/// What a file has beside what was loaded.
#[derive(Debug, Default)]
pub(super) struct RdbLeftOut {
    left_out: LeftOut,
    too_large: u64,
}

impl RdbLeftOut {
    /// Enters it into a summary.
    pub(super) fn tell(self, options: &LoadOptions, summary: &mut TransferSummary) {
        summary.too_large += self.too_large;
        summary.left_out = Some(self.left_out);
        summary.may_leave_out = options.on_error == OnError::Skip;
    }
}

/// Gives the records of a database away, from the key behind the first `before` on.
pub(super) fn feed_entries<S: Sink>(
    file: &mut RdbFile,
    (database, before): (u32, u64),
    sink: &mut S,
    notes: &Notes<'_>,
) -> anyhow::Result<RdbLeftOut> {
    let (name, is_pipe) = (file.name.clone(), file.size.is_none());
    let broken = |error| refused(&name, error, S::NOT_LOADED);
    let mut found = RdbLeftOut::default();
    let mut keys = 0;
    let mut reader = RdbReader::open(SummedSource::new(&mut file.source), sink.largest()).map_err(broken)?;
    while let Some(entry) = reader.next_entry().map_err(broken)? {
        keys += 1;
        if is_pipe && reader.source().has_read.replace(false) {
            sink.idle()?;
        }
        let is_before = keys <= before;
        match found.record(entry, database, sink) {
            Ok(Some(record)) if !is_before => sink.take(&record, End { line: keys, ..reader.source().end })?,
            Ok(_) => {}
            // It was told before.
            Err(_) if is_before => {}
            Err(TooLarge { key }) => {
                notes.bad(&format!("key {}: skipped: {}", key.escape_ascii(), sink.limit()));
            }
        }
    }
    let end = reader.offset();
    let rest = reader.rest(MARK_BYTES + 1).map_err(broken)?;
    let is_mark = is_pipe && rest.len() == MARK_BYTES && rest.iter().all(u8::is_ascii_hexdigit);
    if !rest.is_empty() && !is_mark {
        bail!(
            "{name} goes on behind byte {end}, where its snapshot ends, so keys may be missing or out of date: save an RDB file \
             with BGSAVE instead of an append-only file, or copy the running server with --from-redis"
        );
    }
    Ok(found)
}

/// The value of this key is too large for where it is to go.
struct TooLarge {
    key: Vec<u8>,
}

impl RdbLeftOut {
    /// The record that an entry is; none if it is left out.
    fn record<S: Sink>(&mut self, entry: RdbEntry, database: u32, sink: &S) -> Result<Option<Record>, TooLarge> {
        let left_out = &mut self.left_out;
        if entry.database != database {
            *left_out.other_databases.entry(entry.database).or_default() += 1;
            return Ok(None);
        }
        // Rounded up, so that nothing expires early by it.
        let expiry = |ms: u64| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX);
        let exptime = entry.expires_ms.map_or(0, |ms| expiry(ms).max(1));
        if exptime != 0 && sink.now().is_some_and(|now| exptime <= now) {
            left_out.expired_before += 1;
            return Ok(None);
        }
        let is_loadable = match S::DESTINATION {
            Destination::Server => check_key(&entry.key, Binary::Take).is_ok(),
            Destination::Store => check_stored_key(&entry.key, Binary::Take).is_ok(),
        };
        let (value, flags) = match entry.value {
            RdbValue::Other(kind) => {
                left_out.add_type(&kind.to_string(), &entry.key);
                return Ok(None);
            }
            _ if !is_loadable => {
                left_out.unloadable_keys.add(&entry.key);
                return Ok(None);
            }
            RdbValue::String(value) => (value, 0),
            RdbValue::Hash(fields) => {
                let mut hash = HashWriter::with_room(fields.bytes() + 4 * fields.len());
                fields.iter().for_each(|field| hash.push(field));
                (hash.finish(), HASH_FLAGS)
            }
            RdbValue::TooLarge => {
                self.too_large += 1;
                return Err(TooLarge { key: entry.key });
            }
        };
        if value.len() > sink.largest() {
            self.too_large += 1;
            return Err(TooLarge { key: entry.key });
        }
        Ok(Some(Record { key: entry.key, value, flags, exptime, cas: 0 }))
    }
}

/// Why a file is not loaded, and what to do.
fn refused(name: &str, error: RdbError, outcome: &str) -> anyhow::Error {
    const OR_COPY: &str = "copy the running server with --from-redis";
    match error {
        RdbError::Source(source) => anyhow::Error::from(source).context(cannot_read(name)),
        RdbError::NoRdb => anyhow!("{name}: {error}: give the file that SAVE or BGSAVE writes, or {OR_COPY}"),
        RdbError::Version(_) => anyhow!("{name}: {error}: {OR_COPY}"),
        error => anyhow!("{name}: {error}; {outcome}: save the file again with BGSAVE, or {OR_COPY}"),
    }
}
