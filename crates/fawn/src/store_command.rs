//! `fawn store`: a look into a store that no process has open.

use std::io::Write;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use fawn_flash::{Directory, DirectoryError, Files, MemberDirectory, Overlay, Stats};
use fawn_store::flash::FlashError;
use fawn_store::manifest::{Manifest, ManifestError};
use fawn_store::page::PAGE_BYTES;
use fawn_store::{Damage, WrittenBytes, check};
use fawn_transfer::client::unix_now;
use fawn_transfer::{Format, Record};
use serde_json::{Value, json};

use crate::interrupt::tell_how_to_go_on;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::resources::default_memory;
use crate::resources::parse_store_memory;
use crate::tell::{tell, unless_closed};
use crate::values::Size;

mod member;

use member::Budget;

/// Arguments of `fawn store`.
#[derive(Debug, Args)]
pub struct StoreArguments {
    /// What to look at.
    #[command(subcommand)]
    pub command: StoreCommand,
}

/// The subcommands of `fawn store`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Read everything and report damage with its file and byte offset; exit code 1 if there is any
    Check(StoreDirectory),
    /// Print statistics of the store, and with --memory how a server would index it
    Stats(StatsArguments),
    /// Print every live record as jsonl, the format of `fawn load`
    Dump(DumpStoreArguments),
}

/// Arguments of `fawn store dump`.
#[derive(Debug, Args)]
#[command(after_help = "With the directories of all nodes of a cluster, the command prints each key once, from the \
    node that was last in its chain. So you can move a cluster whose managers are lost for good into a new one with \
    `fawn load` (see also fawn manager restore).")]
pub struct DumpStoreArguments {
    /// Data directory, as for `fawn serve --dir` or `fawn node --dir`, or the directories of all nodes of a cluster
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Records are always JSON
    #[arg(long, hide = true)]
    pub json: bool,
}

/// A store's directory.
#[derive(Debug, Args)]
pub struct StoreDirectory {
    /// Data directory, as for `fawn serve --dir` or `fawn node --dir`
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `fawn store stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
entries, live_bytes and sealed_records are estimates. segment_file_bytes is the length of the segments' files, \
including parts that merges have returned to the device. segment_device_bytes is the space that they take there. \
The number of threads of a store is fixed at its creation, and each gets an equal part of --memory.

The size of the index depends on --memory. mode, phi (the share of the records that have index entries) and index_* \
are the values at the start of a server with that much. The command begins none of its merges. Without --memory \
these values are left out, null in JSON. Entries are then counted with as much of the index as fits a quarter of \
the machine's DRAM.")]
pub struct StatsArguments {
    #[command(flatten)]
    pub directory: StoreDirectory,
    /// Also compute the values of a server with this much --memory, at least 8M
    #[arg(long, value_name = "SIZE", value_parser = parse_store_memory)]
    pub memory: Option<Size>,
    /// With --memory: of a server with --miss-filter
    #[arg(long, requires = "memory")]
    pub miss_filter: bool,
}

/// Runs one of the subcommands.
///
/// # Errors
/// When the directory cannot be opened or read.
pub fn run(arguments: &StoreArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        StoreCommand::Check(directory) => check(directory),
        StoreCommand::Stats(arguments) => stats(arguments),
        StoreCommand::Dump(arguments) => dump(arguments),
    }
}

/// A directory of either kind.
enum DataDirectory {
    Plain(Directory),
    Member(MemberDirectory),
}

impl DataDirectory {
    fn stores(&self) -> usize {
        match self {
            Self::Plain(directory) => directory.stores(),
            Self::Member(directory) => directory.stores(),
        }
    }

    fn store_path(&self, index: usize) -> PathBuf {
        match self {
            Self::Plain(directory) => directory.store_path(index),
            Self::Member(directory) => directory.store_path(index),
        }
    }

    /// The files of a store, of which nothing is changed.
    fn files(&self, index: usize) -> Result<Overlay<Files>, FlashError> {
        Files::look(&self.store_path(index)).map(Overlay::new)
    }

    /// What a store is not that `FORMAT` and `SECRET` say it is, by its manifest.
    fn contradicted(&self, index: usize, files: &Overlay<Files>) -> Option<String> {
        let secret = match self {
            Self::Plain(directory) => Some(directory.secret()),
            Self::Member(directory) => directory.secret(),
        };
        let (manifest, state) = Manifest::open(files).ok()?;
        let manifest = manifest.file();
        if (state.store as usize, state.stores as usize) != (index, self.stores()) {
            let (found, of) = (state.store, state.stores);
            return Some(format!(
                "{manifest} belongs to store {found} of {of}, but FORMAT or the name of its directory says otherwise"
            ));
        }
        let is_other = secret.is_some_and(|secret| secret != state.secret);
        is_other.then(|| format!("SECRET is not the key that this store was created with, according to {manifest}"))
    }
}

/// The directory, which must exist: looking at a store makes none.
fn existing(path: &Path) -> anyhow::Result<DataDirectory> {
    if !path.join("FORMAT").is_file() {
        bail!("{} holds no FAWN data: give the directory of `fawn serve --dir` or `fawn node --dir`", path.display());
    }
    Ok(if MemberDirectory::is_member(path)? {
        DataDirectory::Member(MemberDirectory::look(path)?)
    } else {
        DataDirectory::Plain(Directory::look(path)?)
    })
}

fn check(arguments: &StoreDirectory) -> anyhow::Result<CommandStatus> {
    let directory = existing(&arguments.dir)?;
    let mut reports = Vec::new();
    let mut damaged = false;
    for index in 0..directory.stores() {
        let progress = TerminalBar::bytes(None);
        let files = directory.files(index)?;
        let found = check::check(&files, |done, total| {
            progress.update(done * PAGE_BYTES as u64, format!("of {} MiB", (total * PAGE_BYTES as u64) >> 20));
        });
        progress.finish();
        let found = match found {
            Ok(found) => found,
            // Made, but never opened: there is nothing in it yet.
            Err(ManifestError::NotFound) => check::Findings { clean: true, ..check::Findings::default() },
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("{} cannot be checked", directory.store_path(index).display()));
            }
        };
        if let Some(what) = directory.contradicted(index, &files) {
            bail!(
                "{}: {what}; put back the file that belongs there, or restore the directory from a copy",
                directory.store_path(index).display()
            );
        }
        damaged |= !found.damage.is_empty();
        if arguments.json {
            reports.push(findings_json(index, &found));
        } else {
            unless_closed(print_findings(&directory, index, &found))?;
        }
    }
    if arguments.json {
        unless_closed(writeln!(std::io::stdout(), "{}", json!({ "damaged": damaged, "stores": reports })))?;
    }
    Ok(if damaged { CommandStatus::Missing } else { CommandStatus::Done })
}

fn findings_json(index: usize, found: &check::Findings) -> Value {
    let damage = found
        .damage
        .iter()
        .map(|damage| json!({ "file": damage.file.to_string(), "offset": damage.offset, "what": damage.what }));
    json!({
        "store": index,
        "damage": damage.collect::<Vec<_>>(),
        "segments": found.segments,
        "records": found.records,
        "lost_records": found.lost,
        "bytes": found.bytes,
        "log_entries": found.log_entries,
        "torn_bytes": found.torn_bytes,
        "values": found.values,
        "torn_commit": found.torn_commit,
        "clean": found.clean,
    })
}

/// Damage with the pages that it goes on for: neighbours of which the same is said are one.
fn runs(damage: &[Damage]) -> Vec<(&Damage, u64)> {
    let mut runs: Vec<(&Damage, u64)> = Vec::new();
    for next in damage {
        match runs.last_mut() {
            Some((first, pages))
                if (first.file, &first.what) == (next.file, &next.what)
                    && first.offset + *pages * PAGE_BYTES as u64 == next.offset =>
            {
                *pages += 1;
            }
            _ => runs.push((next, 1)),
        }
    }
    runs
}

fn print_findings(directory: &DataDirectory, index: usize, found: &check::Findings) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (damage, pages) in runs(&found.damage) {
        let path = directory.store_path(index).join(damage.file.to_string());
        let (path, from, what) = (path.display(), damage.offset, &damage.what);
        match pages {
            1 => writeln!(out, "{path}: damaged at byte {from}: {what}")?,
            pages => {
                let to = from + pages * PAGE_BYTES as u64;
                writeln!(out, "{path}: damaged from byte {from} to {to}, {pages} pages: {what}")?;
            }
        }
    }
    writeln!(
        out,
        "store {index}: {} records of {} bytes in {} segments, {} log entries, {} large values, {}; {}{}",
        found.records,
        found.bytes,
        found.segments,
        found.log_entries,
        found.values,
        match (found.clean, found.torn_commit) {
            (true, _) => "stopped cleanly",
            (false, false) => "not stopped cleanly: the next start replays the log",
            (false, true) => "not stopped cleanly, during a commit of the manifest: the next start replays the log",
        },
        match found.damage.len() {
            0 => "no damage".to_owned(),
            1 => "1 place damaged".to_owned(),
            places => format!("{places} places damaged"),
        },
        match found.lost {
            0 => String::new(),
            1 => ", 1 record lost".to_owned(),
            lost => format!(", {lost} records lost"),
        },
    )
}

/// Bytes of the device that the segments in a store's directory take.
fn segment_device_bytes(store: &Path) -> std::io::Result<u64> {
    let mut blocks = 0;
    for entry in std::fs::read_dir(store)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"segment-") {
            blocks += entry.metadata()?.blocks();
        }
    }
    // Whatever the file system's own are.
    Ok(blocks * 512)
}

fn stats(arguments: &StatsArguments) -> anyhow::Result<CommandStatus> {
    let memory = arguments.memory.unwrap_or_else(|| default_memory(Size { bytes: 0 }));
    let budget = Budget { memory: memory.bytes, miss_filter: arguments.miss_filter };
    let held = existing(&arguments.directory.dir)?;
    let stores = match &held {
        DataDirectory::Member(directory) => member::stats(directory, budget)?,
        DataDirectory::Plain(directory) => member::plain_stats(directory, budget)?,
    };
    let mut device_bytes = 0;
    for index in 0..held.stores() {
        let path = held.store_path(index);
        device_bytes += segment_device_bytes(&path).with_context(|| format!("cannot scan {}", path.display()))?;
    }
    let figures = figures(&stores, device_bytes, arguments.memory.is_some());
    let mut out = std::io::stdout().lock();
    if arguments.directory.json {
        let object: serde_json::Map<String, Value> =
            figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        writeln!(out, "{}", Value::Object(object))?;
        return Ok(CommandStatus::Done);
    }
    for (name, value) in figures.into_iter().filter(|(_, value)| !value.is_null()) {
        let text = match value {
            Value::Number(number) if number.is_f64() => format!("{:.3}", number.as_f64().unwrap_or(0.0)),
            Value::String(text) => text,
            value => value.to_string(),
        };
        writeln!(out, "{name:<24} {text:>16}")?;
    }
    if arguments.memory.is_none() {
        writeln!(out, "{:<24} {:>16}", "mode", "unknown without --memory")?;
    }
    Ok(CommandStatus::Done)
}

/// Figures of all stores together, in the order in which they are told; null is what only a budget of memory tells.
fn figures(stores: &[Stats], device_bytes: u64, has_budget: bool) -> Vec<(&'static str, Value)> {
    let sum = |figure: fn(&Stats) -> u64| stores.iter().map(figure).sum::<u64>();
    let with_budget = |value: Value| if has_budget { value } else { Value::Null };
    let count = |figure: fn(&Stats) -> u64| Value::from(sum(figure));
    let of_index = |figure: fn(&Stats) -> u64| with_budget(count(figure));
    let sealed = sum(|store| store.sealed_entries).max(1);
    let written = stores.iter().fold(WrittenBytes::default(), |all, store| all.plus(&store.writes.written));
    let indexed = stores.iter().map(|store| store.index.phi * store.sealed.records as f64).sum::<f64>();
    let records = sum(|store| store.sealed.records);
    let phi = if records == 0 { 1.0 } else { indexed / records as f64 };
    let mode = if stores.iter().any(|store| store.index.draining) { "drained" } else { "indexed" };
    vec![
        ("entries", count(|store| store.entries)),
        ("buffered_entries", count(|store| store.buffered_entries)),
        ("slices", count(|store| store.index.slices)),
        ("segments", count(|store| store.sealed.segments)),
        ("live_bytes", count(|store| store.live_bytes)),
        ("sealed_records", count(|store| store.sealed.records)),
        ("sealed_bytes", count(|store| store.sealed.bytes)),
        ("garbage_bytes", count(|store| store.sealed.garbage_bytes)),
        ("segment_file_bytes", count(|store| store.sealed.file_bytes)),
        ("segment_device_bytes", device_bytes.into()),
        ("log_bytes", count(|store| store.log.bytes)),
        ("user_bytes_written", written.user.into()),
        ("log_bytes_written", written.log.into()),
        ("sealed_bytes_written", written.sealed.into()),
        ("merged_bytes_written", written.merged.into()),
        ("write_amplification", written.amplification().into()),
        ("device_free_bytes", stores.first().map_or(0, |store| store.device.free_bytes).into()),
        ("mode", with_budget(mode.into())),
        ("phi", with_budget(phi.into())),
        ("index_slots", of_index(|store| store.index.slots)),
        ("index_bytes", of_index(|store| store.index.bytes)),
        (
            "index_table_bytes",
            of_index(|store| store.index.bytes - store.index.directory_bytes - store.index.filter_bytes),
        ),
        ("index_directory_bytes", of_index(|store| store.index.directory_bytes)),
        ("index_filter_bytes", of_index(|store| store.index.filter_bytes)),
        ("index_bytes_per_entry", with_budget((sum(|store| store.index.bytes) as f64 / sealed as f64).into())),
        ("open_index_bytes", of_index(|store| store.buffers.index_bytes)),
    ]
}

fn dump(arguments: &DumpStoreArguments) -> anyhow::Result<CommandStatus> {
    let progress = TerminalBar::records(None);
    tell_how_to_go_on(&progress, "the output is not complete; run the same command again to print all of it", || {})?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut line = Vec::new();
    let mut count = 0u64;
    let mut print = |record: &Record| -> anyhow::Result<()> {
        line.clear();
        Format::Jsonl.push(&mut line, record);
        out.write_all(&line)?;
        count += 1;
        if count.is_multiple_of(1024) {
            progress.update(count, String::new());
        }
        Ok(())
    };
    let found = match &arguments.dirs[..] {
        [dir] => match existing(dir)? {
            DataDirectory::Member(directory) => member::dump(&directory, |record| print(&record))?,
            DataDirectory::Plain(directory) => member::plain_dump(&directory, |record| print(&record))?,
        },
        dirs => {
            let (directories, damaged) = members(dirs)?;
            let mut found = member::cluster::dump(&directories, |record| print(&record))?;
            found.damaged.extend(damaged);
            found
        }
    };
    out.flush()?;
    progress.finish();
    if found.unsettled > 0 {
        tell(format_args!(
            "fawn: {} of the writes are only in the log: this node did not know whether all replicas have them",
            found.unsettled
        ));
    }
    if found.gathered > 0 {
        tell(format_args!(
            "fawn: {} of the records are not in the newest log of their range, and come from another node: a weak \
            cluster acknowledges writes that only one node has; in a strong one, these writes were not acknowledged",
            found.gathered
        ));
    }
    if found.expired > 0 {
        tell(format_args!(
            "fawn: records left out because they have expired by this machine's clock ({}): {}; set the clock if it \
            is wrong",
            fawn_tls::certificate::date(i64::from(unix_now())),
            found.expired
        ));
    }
    for range in &found.left_out {
        tell(format_args!(
            "fawn: the dump is not complete: this node was still copying range {range}; dump another replica, which \
            has all of it"
        ));
    }
    if found.missing > 0 {
        tell(format_args!(
            "fawn: the dump is not complete: {} parts of the keys are in none of these directories; give those of \
            all nodes",
            found.missing
        ));
    }
    // Of a cluster, other nodes may have all of it.
    let verb = if arguments.dirs.len() > 1 { "may not be" } else { "is not" };
    for what in &found.damaged {
        tell(format_args!("fawn: the dump {verb} complete: {what}"));
    }
    if let Some(lost) = &found.lost {
        tell(format_args!("fawn: the dump is not complete: {lost}"));
    }
    Ok(if found.is_complete() { CommandStatus::Done } else { CommandStatus::Missing })
}

/// The directories of a cluster's nodes, and what is wrong with those that are damaged.
fn members(dirs: &[PathBuf]) -> anyhow::Result<(Vec<MemberDirectory>, Vec<String>)> {
    let (mut directories, mut damaged) = (Vec::new(), Vec::new());
    for dir in dirs {
        match existing(dir) {
            Ok(DataDirectory::Member(directory)) => directories.push(directory),
            Ok(DataDirectory::Plain(_)) => {
                bail!("{} belongs to no cluster: dump it with a separate command", dir.display())
            }
            Err(error) if matches!(error.downcast_ref(), Some(DirectoryError::Damaged { .. })) => {
                damaged.push(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    match damaged.pop() {
        Some(what) if directories.is_empty() => bail!(what),
        last => damaged.extend(last),
    }
    Ok((directories, damaged))
}

#[cfg(test)]
mod tests {
    use fawn_store::flash::FileId;

    use super::*;

    #[test]
    fn damaged_pages_that_follow_each_other_are_one_line() {
        let damage = |file: u64, page: u64, what: &str| {
            let (file, offset) = (FileId::Segment(file), page * PAGE_BYTES as u64);
            Damage { file, offset, what: what.to_owned() }
        };
        let all = [(2, 0, "a"), (2, 1, "a"), (2, 2, "a"), (2, 3, "b"), (2, 5, "b"), (4, 6, "b")];
        let all = all.map(|(file, page, what)| damage(file, page, what));
        let joined: Vec<(u64, u64)> =
            runs(&all).iter().map(|(first, pages)| (first.offset / PAGE_BYTES as u64, *pages)).collect();
        assert_eq!(joined, [(0, 3), (3, 1), (5, 1), (6, 1)]);
    }
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn space_on_the_device_is_what_is_allocated_of_segments_alone() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| std::fs::File::create(dir.path().join(name)).unwrap();
        let segment = make("segment-0000000000000002");
        segment.set_len(8 << 20).unwrap();
        segment.write_all_at(&[1; 4096], 1 << 20).unwrap();
        segment.sync_all().unwrap();
        make("commit-log").write_all_at(&vec![1; 1 << 20], 0).unwrap();
        let bytes = segment_device_bytes(dir.path()).unwrap();
        assert!((4096..1 << 20).contains(&bytes), "{bytes}");
    }
}
