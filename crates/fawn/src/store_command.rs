//! `fawn store`: a look into a store that no process has open.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use fawn_flash::{Caching, Db, DbOptions, Directory, Files, MemberDirectory, Stats};
use fawn_store::Written;
use fawn_store::check;
use fawn_store::flash::FlashError;
use fawn_store::manifest::ManifestError;
use fawn_store::page::PAGE_BYTES;
use serde_json::{Value, json};

use crate::Outcome;
use crate::command::Format;
use crate::progress::Progress;
use crate::records::Record;
use crate::tell::unless_closed;

mod member;

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
    /// Read everything and report damage with its file and byte offset; exit code 1 when there is any
    Check(StoreDirectory),
    /// Print what the store holds: records, bytes, segments, index size
    Stats(StoreDirectory),
    /// Print every live record as jsonl, as `fawn load` reads it
    Dump(StoreDirectory),
}

/// A store's directory.
#[derive(Debug, Args)]
pub struct StoreDirectory {
    /// Directory of the data, as given to `fawn serve --dir` or `fawn node --dir`
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs one of the subcommands.
///
/// # Errors
/// When the directory cannot be opened or read.
pub fn run(arguments: &StoreArguments) -> anyhow::Result<Outcome> {
    match &arguments.command {
        StoreCommand::Check(directory) => check(directory),
        StoreCommand::Stats(directory) => stats(directory),
        StoreCommand::Dump(directory) => dump(directory),
    }
}

/// A directory of either kind.
enum Held {
    Plain(Directory),
    Member(MemberDirectory),
}

impl Held {
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

    fn files(&self, index: usize) -> Result<Files, FlashError> {
        match self {
            Self::Plain(directory) => directory.files(index, Caching::Auto),
            Self::Member(directory) => directory.files(index, Caching::Auto),
        }
    }
}

/// The directory, which must exist: looking at a store makes none.
fn existing(path: &Path) -> anyhow::Result<Held> {
    if !path.join("FORMAT").is_file() {
        bail!(
            "{} holds no FAWN data: give the directory that `fawn serve --dir` or `fawn node --dir` was given",
            path.display()
        );
    }
    Ok(if MemberDirectory::is_member(path)? {
        Held::Member(MemberDirectory::open(path, 1)?)
    } else {
        Held::Plain(Directory::open(path, 1)?)
    })
}

fn check(arguments: &StoreDirectory) -> anyhow::Result<Outcome> {
    let directory = existing(&arguments.dir)?;
    let mut reports = Vec::new();
    let mut damaged = false;
    for index in 0..directory.stores() {
        let progress = Progress::bytes(None);
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
    Ok(if damaged { Outcome::Missing } else { Outcome::Done })
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
        "bytes": found.bytes,
        "log_entries": found.log_entries,
        "torn_bytes": found.torn_bytes,
        "values": found.values,
        "torn_commit": found.torn_commit,
        "clean": found.clean,
    })
}

fn print_findings(directory: &Held, index: usize, found: &check::Findings) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for damage in &found.damage {
        let path = directory.store_path(index).join(damage.file.to_string());
        writeln!(out, "{}: damaged at byte {}: {}", path.display(), damage.offset, damage.what)?;
    }
    writeln!(
        out,
        "store {index}: {} records of {} bytes in {} segments, {} log entries, {} large values, {}; {}",
        found.records,
        found.bytes,
        found.segments,
        found.log_entries,
        found.values,
        match (found.clean, found.torn_commit) {
            (true, _) => "stopped cleanly",
            (false, false) => "not stopped cleanly: the log is replayed at the next start",
            (false, true) =>
                "not stopped cleanly, in the midst of a commit of the manifest: the log is replayed at the next start",
        },
        match found.damage.len() {
            0 => "no damage".to_owned(),
            1 => "1 place damaged".to_owned(),
            places => format!("{places} places damaged"),
        },
    )
}

/// Opens the stores of a plain directory as `fawn serve` does.
fn open(path: &Path) -> anyhow::Result<Db> {
    let options = DbOptions { memory: u64::MAX / 4, segment_bytes: 16 << 20, ..DbOptions::default() };
    Ok(Db::open(path, options)?)
}

/// The figures of every store, all indexes loaded.
fn figures(path: &Path) -> anyhow::Result<Vec<Stats>> {
    match existing(path)? {
        Held::Member(directory) => member::stats(&directory),
        Held::Plain(directory) => {
            drop(directory);
            let db = open(path)?;
            let figures = loop {
                let figures = db.stats();
                if figures.sum(|store| store.slices - store.slices_loaded) == 0 {
                    break figures;
                }
                std::thread::sleep(Duration::from_millis(10));
            };
            db.close()?;
            Ok(figures.stores)
        }
    }
}

fn stats(arguments: &StoreDirectory) -> anyhow::Result<Outcome> {
    let stores = figures(&arguments.dir)?;
    let sum = |figure: fn(&Stats) -> u64| stores.iter().map(figure).sum::<u64>();
    let rows: [(&str, u64); 21] = [
        ("entries", sum(|store| store.entries)),
        ("buffered_entries", sum(|store| store.buffered_entries)),
        ("index_slots", sum(|store| store.index_slots)),
        ("index_bytes", sum(|store| store.index_bytes)),
        ("index_table_bytes", sum(|store| store.index_bytes - store.directory_bytes - store.filter_bytes)),
        ("index_directory_bytes", sum(|store| store.directory_bytes)),
        ("index_filter_bytes", sum(|store| store.filter_bytes)),
        ("open_index_bytes", sum(|store| store.open_index_bytes)),
        ("slices", sum(|store| store.slices)),
        ("segments", sum(|store| store.segments)),
        ("live_bytes", sum(|store| store.live_bytes)),
        ("sealed_records", sum(|store| store.sealed_records)),
        ("sealed_bytes", sum(|store| store.sealed_bytes)),
        ("garbage_bytes", sum(|store| store.garbage_bytes)),
        ("segment_file_bytes", sum(|store| store.segment_file_bytes)),
        ("log_bytes", sum(|store| store.log_bytes)),
        ("user_bytes_written", sum(|store| store.written.user)),
        ("log_bytes_written", sum(|store| store.written.log)),
        ("sealed_bytes_written", sum(|store| store.written.sealed)),
        ("merged_bytes_written", sum(|store| store.written.merged)),
        ("device_free_bytes", stores.first().map_or(0, |store| store.device_free_bytes)),
    ];
    let sealed = sum(|store| store.entries - store.buffered_entries.min(store.entries)).max(1);
    let written = stores.iter().fold(Written::default(), |all, store| all.plus(&store.written));
    let indexed = stores.iter().map(|store| store.phi * store.sealed_records as f64).sum::<f64>();
    let ratios = [
        ("index_bytes_per_entry", sum(|store| store.index_bytes) as f64 / sealed as f64),
        ("phi", if indexed == 0.0 { 1.0 } else { indexed / sum(|store| store.sealed_records).max(1) as f64 }),
        ("write_amplification", written.amplification()),
    ];
    let mode = if stores.iter().any(|store| store.draining) { "drained" } else { "indexed" };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let mut object: serde_json::Map<String, Value> =
            rows.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        object.extend(ratios.map(|(name, ratio)| (name.to_owned(), Value::from(ratio))));
        object.insert("mode".to_owned(), Value::from(mode));
        writeln!(out, "{}", Value::Object(object))?;
    } else {
        for (name, value) in rows {
            writeln!(out, "{name:<24} {value:>16}")?;
        }
        for (name, ratio) in ratios {
            writeln!(out, "{name:<24} {ratio:>16.3}")?;
        }
        writeln!(out, "{:<24} {mode:>16}", "mode")?;
    }
    Ok(Outcome::Done)
}

fn dump(arguments: &StoreDirectory) -> anyhow::Result<Outcome> {
    let progress = Progress::records(None);
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
    match existing(&arguments.dir)? {
        Held::Member(directory) => member::dump(&directory, |record| print(&record))?,
        Held::Plain(directory) => {
            drop(directory);
            let db = open(&arguments.dir)?;
            for pair in db.scan_items() {
                let (key, item) = pair?;
                let (flags, exptime) = (item.extras.flags, item.extras.expiry);
                print(&Record { key, value: item.value, flags, exptime, cas: 0 })?;
            }
            db.close()?;
        }
    }
    out.flush()?;
    progress.finish();
    Ok(Outcome::Done)
}
