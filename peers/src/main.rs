//! `fawn-peers`: the workloads of `fawn bench store` on other storage engines, with the same keys, values, orders and
//! counters, and a memory cap of the same size.
//!
//! # Layout
//!
//! * [`engine`], [`engines`]: what an engine must do; each engine with its settings.
//! * [`experiments`], [`session`], [`gets`]: what is measured; puts; gets by threads.
//! * [`keeper`], [`pages`]: the page cache's part of the cap.
//! * [`data`], [`tell`]: a directory's notes; how far things are.

mod data;
mod engine;
mod engines;
mod experiments;
mod gets;
mod keeper;
mod pages;
mod session;
mod tell;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::RwLock;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Parser, Subcommand};
use fawn_report::BenchReport;
use fawn_workload::{LEAST_VALUE_BYTES, WriteHistory};

use crate::data::{Notes, EngineDirectory};
use crate::engine::{AckPolicy, Settings};
use crate::engines::EngineKind;
use crate::experiments::PeerExperiment;
use crate::keeper::Keeper;
use crate::session::EngineSession;
use crate::tell::ProgressWriter;

/// Less than this no engine's smallest buffers fit in.
const LEAST_MEMORY: u64 = 4 << 20;

/// Measure another storage engine with the workloads of `fawn bench store`, mostly as its child (`--peers`)
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// What to measure
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put all entries in random order
    Load(Data),
    /// Get random entries
    Get {
        #[command(flatten)]
        data: Data,
        /// Gets in flight: so many threads
        #[arg(long, value_delimiter = ',', default_value = "1,8,32,128", value_parser = clap::value_parser!(u32).range(1..=4096))]
        depths: Vec<u32>,
        /// Rounds; the report has the medians
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
        /// Seconds of each
        #[arg(long, default_value = "2", value_parser = seconds)]
        seconds: Duration,
    },
    /// Overwrite all entries
    Overwrite {
        #[command(flatten)]
        data: Data,
        /// Passes, each with as many puts as there are entries
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        passes: u32,
        /// Draw the entries by Zipf's law with this exponent [default: each once per pass, in random order]
        #[arg(long)]
        zipf: Option<f64>,
        /// Stop after this many seconds, even if passes remain
        #[arg(long, value_parser = seconds)]
        most_seconds: Option<Duration>,
    },
    /// Mix gets and puts
    Mixed {
        #[command(flatten)]
        data: Data,
        /// Gets in flight: so many threads
        #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
        depth: u32,
        /// Gets per put
        #[arg(long, default_value_t = 6)]
        gets_a_put: u64,
        /// Seconds that it takes
        #[arg(long, default_value = "10", value_parser = seconds)]
        seconds: Duration,
    },
    /// Get absent keys
    Absent {
        #[command(flatten)]
        data: Data,
        /// Gets in flight: so many threads
        #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
        depth: u32,
        /// Seconds that it takes
        #[arg(long, default_value = "5", value_parser = seconds)]
        seconds: Duration,
    },
}

/// What every experiment is told.
#[derive(Clone, Debug, Args)]
struct Data {
    /// The engine
    #[arg(long)]
    engine: EngineKind,
    /// Data directory; created if it does not exist
    #[arg(long)]
    dir: PathBuf,
    /// Entries
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    entries: u64,
    /// Bytes of each value, at least 8
    #[arg(long, default_value_t = 256)]
    value_bytes: usize,
    /// Bytes of memory for its caches and buffers, the page cache of its files included, at least 4 MiB
    #[arg(long, default_value_t = 256 << 20)]
    memory: u64,
    /// When to acknowledge puts: durable, interval:MS or memory
    #[arg(long, default_value = "memory")]
    ack: String,
    /// Puts that are made and acknowledged together
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    puts_in_flight: u32,
    /// Bits of a Bloom filter for each key, for engines with filters; 0: none
    #[arg(long, default_value_t = 10.0)]
    bloom_bits: f64,
    /// `load`: delete the data and load anew
    #[arg(long)]
    again: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Tell how far it is on standard error, in lines of `progress DONE TOTAL WHAT`
    #[arg(long)]
    progress: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "give a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let (data, experiment) = match Arguments::parse().command {
        Command::Load(data) => (data, PeerExperiment::Load),
        Command::Get { data, depths, rounds, seconds } => (data, PeerExperiment::Get { depths, rounds, time: seconds }),
        Command::Overwrite { data, passes, zipf, most_seconds } => {
            (data, PeerExperiment::Overwrite { passes, zipf, most_time: most_seconds })
        }
        Command::Mixed { data, depth, gets_a_put, seconds } => {
            (data, PeerExperiment::Mixed { depth, gets_a_put, time: seconds })
        }
        Command::Absent { data, depth, seconds } => (data, PeerExperiment::Absent { depth, time: seconds }),
    };
    match measure(&data, &experiment).and_then(|report| print(&data, &report)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fawn-peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(data: &Data, experiment: &PeerExperiment) -> anyhow::Result<BenchReport> {
    if data.value_bytes < LEAST_VALUE_BYTES {
        bail!("a value holds its version: give --value-bytes {LEAST_VALUE_BYTES} or more");
    }
    if data.memory < LEAST_MEMORY {
        bail!("an engine's buffers take some room: give --memory {LEAST_MEMORY} or more, or a smaller --peer-scale");
    }
    let ack: AckPolicy = data.ack.parse().map_err(anyhow::Error::msg)?;
    let is_load = *experiment == PeerExperiment::Load;
    let empty = Notes {
        engine: data.engine.name().to_owned(),
        entries: data.entries,
        value_bytes: data.value_bytes,
        phases: Vec::new(),
        age: 0,
        load: None,
        is_clean: false,
    };
    let place = EngineDirectory::open(&data.dir, empty, data.again && is_load)?;
    let settings = Settings {
        dir: std::fs::canonicalize(place.data())?,
        entries: data.entries,
        value_bytes: data.value_bytes,
        memory: data.memory,
        ack,
        bloom_bits: data.bloom_bits,
    };
    let engine = data.engine.open(&settings)?;
    let mut session = EngineSession {
        kind: data.engine,
        keeper: Keeper::start(&settings.dir, engine.page_cache()),
        settings,
        ack_name: data.ack.clone(),
        batch: data.puts_in_flight as usize,
        history: RwLock::new(WriteHistory::new(data.entries, place.notes.phases.clone())),
        place,
        engine,
        progress: ProgressWriter::new(data.progress),
    };
    experiments::run(&mut session, experiment)
}

fn print(data: &Data, report: &BenchReport) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if data.json {
        serde_json::to_writer(&mut out, report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", fawn_bench::table(report).markdown())?;
        for note in &report.notes {
            writeln!(out, "note: {note}")?;
        }
    }
    Ok(())
}
