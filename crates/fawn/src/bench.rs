//! `fawn bench store`: what a store does on this machine, without a network. `fawn bench net` is in `net`, `fawn bench ycsb` in
//! `ycsb`, the papers' experiments in `paper`, one's own machine in `node`.

pub mod energy;
pub mod net;
pub mod node;
pub mod output;
pub mod paper;
pub mod ycsb;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use fawn_bench::experiments::{
    AbsentExperiment, GetExperiment, HitExperiment, MixedExperiment, OverwriteExperiment, PaceExperiment,
    RestartExperiment, SplitExperiment, TableExperiment, load_until_killed,
};
use fawn_bench::{DeviceReader, Experiment, Peers, Setup};
use fawn_files::links;
use fawn_report::plot::svg;
use fawn_store::Ack;

use self::energy::{MeterArguments, MetersArguments};
use self::net::{NetBenchArguments, NetNullArguments};
use self::node::NodeBenchArguments;
use self::output::{Bar, print};
use self::paper::PaperArguments;
use self::ycsb::YcsbArguments;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::resources::parse_store_memory;
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::{
    AckMode, Count, Size, Span, number, parse_depth, parse_entries, parse_exponent, parse_value_bytes, parse_wait,
};

/// Arguments of `fawn bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// The subcommands of `fawn bench`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Benchmark the storage engine alone, from one thread, as an event loop drives it
    Store(StoreBenchArguments),
    /// Generate load for any server that speaks memcached's protocol or Redis's
    Net(Box<NetBenchArguments>),
    /// Run the YCSB core workloads A, B, C, D and F against any such server
    Ycsb(Box<YcsbArguments>),
    /// Run a server that does nothing: the lower bound for any memcached server
    NetNull(NetNullArguments),
    /// Repeat the experiments of the FAWN and Gordon papers: a page, tables and JSON
    Paper(Box<PaperArguments>),
    /// Measure this machine for `fawn plan --node`
    Node(NodeBenchArguments),
    /// List the energy meters of this machine, try each, and explain why one cannot be used
    Meters(MetersArguments),
}

impl BenchArguments {
    /// Refuses what each flag alone cannot know.
    ///
    /// # Errors
    /// What is wrong with the flags together.
    pub fn check(&self) -> Result<(), String> {
        match &self.command {
            BenchCommand::Paper(_) | BenchCommand::Meters(_) => Ok(()),
            BenchCommand::Store(arguments) => arguments.command.check(),
            BenchCommand::Node(arguments) => arguments.check(),
            BenchCommand::Net(arguments) => arguments.check(),
            BenchCommand::Ycsb(arguments) => arguments.check(),
            BenchCommand::NetNull(arguments) => arguments.check(),
        }
    }
}

/// Arguments of `fawn bench store`.
#[derive(Debug, Args)]
#[command(after_help = "\
DIR/data is a store like any other, with one event loop. DIR/bench.json describes its contents, keeps all results, \
and records the progress of an interrupted measurement: run the same command again to continue. The command prints \
finished results again without measuring; --again repeats the measurement. It loads the data first if they are \
missing. Remove DIR when you are done.

Keys have 20 bytes, values do not compress, and every value that is read is verified. Reports list the generator's \
own CPU time separately.

To see how a store behaves with little memory, limit the process as well:
  systemd-run --scope -p MemoryMax=512M fawn bench store get --memory 256M …
or, where there is no systemd, as root with cgroup v2:
  mkdir /sys/fs/cgroup/bench; echo 512M > /sys/fs/cgroup/bench/memory.max
  echo $$ > /sys/fs/cgroup/bench/cgroup.procs; fawn bench store get …
The store opens files with O_DIRECT if the file system allows it, so that the page cache answers nothing. Each report says so.

--meter reports joules, and operations per joule; `fawn bench meters` lists the meters of this machine. Without a meter, \
`per CPU-s` is operations per second of CPU time, of all threads and the generator. For more, see operations/energy in the book.

load, get, overwrite, mixed and absent take --peers rocksdb,lmdb,bdb,bdb-btree,fjall,redb. The command then repeats the \
measurement with these storage engines, one after the other, and prints their rows after the store's own. Each gets --memory \
divided by --peer-scale for its caches, its buffers and the page cache of its files. To build fawn-peers, see CONTRIBUTING.md.")]
pub struct StoreBenchArguments {
    /// The experiment.
    #[command(subcommand)]
    pub command: StoreBench,
}

/// The experiments.
#[derive(Debug, Subcommand)]
pub enum StoreBench {
    /// Put all entries in random order: rate, CPU time, bytes written to the device
    Load(LoadArguments),
    /// Get random entries, alternating with reads of the device at the same depth
    Get(GetArguments),
    /// Get a few hot entries that DRAM holds
    Hit(HitArguments),
    /// Overwrite all entries: rate, write amplification, space
    Overwrite(OverwriteArguments),
    /// Mix gets and puts
    Mixed(MixedArguments),
    /// Get absent keys
    Absent(AbsentArguments),
    /// Get at a fixed rate, at rest and during overwrites, seals and merges: latencies from when each get was due
    Pace(PaceArguments),
    /// Split a range at a random key and merge it again, at rest and during gets and puts
    Split(SplitArguments),
    /// Kill a load (kill -9) and reopen the store: time to the first get, time to full speed
    Restart(RestartArguments),
    /// Value sizes by memory budgets, each cell with its own store: load, get, mixed, overwrite, absent
    Table(TableArguments),
    /// What `restart` starts to kill it
    #[command(hide = true)]
    LoadUntilKilled(UntilKilledArguments),
}

/// What every experiment is told.
#[derive(Clone, Debug, Args)]
pub struct PlaceArguments {
    /// Directory for the data and the results; created if it does not exist
    #[arg(long, value_name = "DIR", hide_env = true)]
    pub dir: PathBuf,
    /// Maximum number of puts that await acknowledgement
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = number::<u32>(1..=1_000_000))]
    pub puts_in_flight: u32,
    /// Filter out lookups of absent keys where DRAM cannot index every record: one flash read per 250 such gets
    /// instead of one each, for 1.2 bytes per record
    #[arg(long)]
    pub miss_filter: bool,
    /// Measure again instead of printing earlier results; `load` and `restart` delete the data first
    #[arg(long, hide_env = true)]
    pub again: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What is told to all experiments on one set of data.
#[derive(Clone, Debug, Args)]
pub struct DataArguments {
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Number of entries
    #[arg(long, value_name = "N", default_value = "10M", value_parser = parse_entries)]
    pub entries: Count,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "256", value_parser = parse_value_bytes)]
    pub value_bytes: Size,
    /// Memory of the store, for indexes, write buffers and the record cache, at least 8M
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_store_memory)]
    pub memory: Size,
    /// When to acknowledge puts: durable, interval:MS or memory
    #[arg(long, value_name = "MODE", default_value = "memory")]
    pub ack: AckMode,
}

/// Which other engines are measured beside the store.
#[derive(Clone, Debug, Default, Args)]
pub struct PeerArguments {
    /// Also measure these storage engines with the same workload, each in DIR/peers/ENGINE
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', hide_env = true, value_parser = ["rocksdb", "lmdb", "bdb", "bdb-btree", "fjall", "redb"])]
    pub peers: Vec<String>,
    /// Divide the entries and the memory of the other engines by this number, e.g. 20
    #[arg(long, value_name = "N", default_value_t = 1, requires = "peers", hide_env = true, value_parser = number::<u32>(1..))]
    pub peer_scale: u32,
    /// Program that measures them [default: fawn-peers, beside this program or in PATH]
    #[arg(long, value_name = "PATH", requires = "peers", hide_env = true)]
    pub peer_program: Option<PathBuf>,
}

/// Arguments of `load`.
#[derive(Debug, Args)]
pub struct LoadArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    #[command(flatten)]
    pub peers: PeerArguments,
}

/// Arguments of `get`.
#[derive(Debug, Args)]
pub struct GetArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    #[command(flatten)]
    pub peers: PeerArguments,
    /// Gets in flight
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,8,32,128", value_parser = parse_depth())]
    pub depths: Vec<u32>,
    /// Rounds of store and device; the report has the medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<u32>(1..=1000))]
    pub rounds: u32,
    /// Duration of each round, for the store and for the device
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_wait)]
    pub time: Span,
    /// Program that reads the device
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
}

/// Who reads the device beside the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// fio if it is installed
    Auto,
    /// fio
    Fio,
    /// This program
    Own,
}

/// Arguments of `hit`.
#[derive(Debug, Args)]
pub struct HitArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Number of hot entries
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_entries)]
    pub keys: Count,
    /// Rounds; the report has the median
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<u32>(1..=1000))]
    pub rounds: u32,
    /// Duration of each round
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_wait)]
    pub time: Span,
}

/// Arguments of `overwrite`.
#[derive(Debug, Args)]
pub struct OverwriteArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    #[command(flatten)]
    pub peers: PeerArguments,
    /// Passes, each with as many puts as there are entries
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1..=10_000))]
    pub passes: u32,
    /// Draw the entries by Zipf's law with this exponent, e.g. 0.99 [default: each once per pass, in random order]
    #[arg(long, value_name = "EXPONENT", value_parser = parse_exponent)]
    pub zipf: Option<f64>,
    /// Stop after this long, even if passes remain
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    pub time: Option<Span>,
}

/// Arguments of `mixed`.
#[derive(Debug, Args)]
pub struct MixedArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    #[command(flatten)]
    pub peers: PeerArguments,
    /// Gets in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = parse_depth())]
    pub depth: u32,
    /// Gets per put
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = number::<u32>(1..))]
    pub gets_a_put: u32,
    /// Duration of the measurement
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub time: Span,
}

/// Arguments of `absent`.
#[derive(Debug, Args)]
pub struct AbsentArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    #[command(flatten)]
    pub peers: PeerArguments,
    /// Gets in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = parse_depth())]
    pub depth: u32,
    /// Duration of the measurement
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_wait)]
    pub time: Span,
}

/// Arguments of `pace`.
#[derive(Debug, Args)]
pub struct PaceArguments {
    #[command(flatten)]
    pub data: DataArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Loads, in percent of the store's maximum rate just before
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "50,80", value_parser = number::<u8>(1..100))]
    pub shares: Vec<u8>,
    /// Pairs of one interval at rest and one with overwrites, per load
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1..=1000))]
    pub pairs: u32,
    /// Duration of an interval
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub time: Span,
    /// Gets per overwrite
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = number::<u32>(1..))]
    pub gets_a_put: u32,
    /// Plot the latencies of each tenth of a second into this file (SVG)
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub plot: Option<PathBuf>,
}

/// Arguments of `split`.
#[derive(Debug, Args)]
pub struct SplitArguments {
    #[command(flatten)]
    pub data: DataArguments,
    /// Gets in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = parse_depth())]
    pub depth: u32,
    /// Gets per put
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = number::<u32>(1..))]
    pub gets_a_put: u32,
    /// Rounds of one split and one merge; the report has the medians
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<u32>(1..=1000))]
    pub rounds: u32,
    /// Duration of gets and puts before each split and before each merge
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_wait)]
    pub time: Span,
    /// Plot the latencies of each tenth of a second into this file (SVG)
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub plot: Option<PathBuf>,
}

/// Arguments of `restart`.
#[derive(Debug, Args)]
pub struct RestartArguments {
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Bytes of keys and values at which the load is killed, ascending
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "1G,2G")]
    pub at: Vec<Size>,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "256", value_parser = parse_value_bytes)]
    pub value_bytes: Size,
    /// Memory of the store, at least 8M
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_store_memory)]
    pub memory: Size,
    /// When to acknowledge puts: durable, interval:MS or memory
    #[arg(long, value_name = "MODE", default_value = "durable")]
    pub ack: AckMode,
}

/// Arguments of the process that is killed.
#[derive(Debug, Args)]
pub struct UntilKilledArguments {
    #[command(flatten)]
    pub data: DataArguments,
    /// Entries after which to say so
    #[arg(value_name = "N", value_parser = number::<u64>(..))]
    pub until: u64,
}

/// Arguments of `table`.
#[derive(Debug, Args)]
pub struct TableArguments {
    #[command(flatten)]
    pub place: PlaceArguments,
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "64,256,1K", value_parser = parse_value_bytes)]
    pub value_bytes: Vec<Size>,
    /// Memory of the store, at least 8M
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "64M,256M", value_parser = parse_store_memory)]
    pub memory: Vec<Size>,
    /// Size of keys and values per cell
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    pub cell_bytes: Size,
    /// Duration of each experiment of a cell, except the load
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_wait)]
    pub cell_seconds: Span,
    /// When to acknowledge puts: durable, interval:MS or memory
    #[arg(long, value_name = "MODE", default_value = "memory")]
    pub ack: AckMode,
    /// Program that reads the device
    #[arg(long, default_value = "auto")]
    pub device: DeviceChoice,
}

/// Gets in flight of experiments that do not say.
const DEPTH: u32 = 256;

/// Runs it.
///
/// # Errors
/// What [`fawn_bench::Error`] and [`fawn_loadgen::LoadgenError`] say.
pub fn run(arguments: &BenchArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        BenchCommand::Store(arguments) => run_store(arguments),
        BenchCommand::Net(arguments) => net::run(arguments),
        BenchCommand::Ycsb(arguments) => ycsb::run(arguments),
        BenchCommand::NetNull(arguments) => net::run_null(arguments),
        BenchCommand::Paper(arguments) => paper::run(arguments),
        BenchCommand::Node(arguments) => node::run(arguments),
        BenchCommand::Meters(arguments) => energy::run_meters(arguments),
    }
}

fn run_store(arguments: &StoreBenchArguments) -> anyhow::Result<CommandStatus> {
    let (place, mut setup, experiment) = match &arguments.command {
        StoreBench::LoadUntilKilled(it) => {
            load_until_killed(&it.data.setup(1), it.until)?;
            return Ok(CommandStatus::Done);
        }
        StoreBench::Load(load) => (&load.data.place, load.data.setup(1), Experiment::Load),
        StoreBench::Get(get) => {
            let (depths, device) = (get.depths.clone(), get.device.device());
            let depth = depths.iter().copied().max().unwrap_or(1);
            let experiment = GetExperiment { depths, rounds: get.rounds, time: get.time.0, device };
            (&get.data.place, get.data.setup(depth), Experiment::Get(experiment))
        }
        StoreBench::Hit(hit) => {
            let experiment = HitExperiment { keys: hit.keys.0, rounds: hit.rounds, time: hit.time.0 };
            (&hit.data.place, hit.data.setup(DEPTH), Experiment::Hit(experiment))
        }
        StoreBench::Overwrite(overwrite) => {
            let most_time = overwrite.time.map(|time| time.0);
            let experiment = OverwriteExperiment { passes: overwrite.passes, zipf: overwrite.zipf, most_time };
            (&overwrite.data.place, overwrite.data.setup(1), Experiment::Overwrite(experiment))
        }
        StoreBench::Mixed(it) => {
            let experiment = MixedExperiment { depth: it.depth, gets_a_put: it.gets_a_put.into(), time: it.time.0 };
            (&it.data.place, it.data.setup(it.depth), Experiment::Mixed(experiment))
        }
        StoreBench::Absent(it) => {
            let experiment = AbsentExperiment { depth: it.depth, time: it.time.0 };
            (&it.data.place, it.data.setup(it.depth), Experiment::Absent(experiment))
        }
        StoreBench::Pace(pace) => {
            let percents = pace.shares.iter().copied().map(u32::from).collect();
            let gets_a_put = pace.gets_a_put.into();
            let experiment = PaceExperiment { percents, pairs: pace.pairs, time: pace.time.0, gets_a_put };
            (&pace.data.place, pace.data.setup(DEPTH), Experiment::Pace(experiment))
        }
        StoreBench::Split(it) => {
            let (gets_a_put, time) = (it.gets_a_put.into(), it.time.0);
            let experiment = SplitExperiment { depth: it.depth, gets_a_put, rounds: it.rounds, time };
            (&it.data.place, it.data.setup(it.depth), Experiment::Split(experiment))
        }
        StoreBench::Restart(restart) => (&restart.place, restart.setup(), Experiment::Restart(restart.experiment()?)),
        StoreBench::Table(table) => (&table.place, table.setup(), Experiment::Table(table.experiment())),
    };
    let peers = arguments.command.with_peers().map(|(_, peers)| peers.peers()).transpose()?.flatten();
    setup.meter = arguments.command.meter().map(MeterArguments::open).transpose()?.flatten();
    let bar = Bar(TerminalBar::parts());
    let again = if place.again {
        "run the same command again without --again to continue"
    } else {
        "run the same command again to continue"
    };
    tell_how_to_go_on(&bar.0, again, || {})?;
    let report = match &peers {
        Some(peers) => peers.run(&setup, &experiment, &bar),
        None => fawn_bench::run(&setup, &experiment, &bar),
    };
    bar.0.finish();
    let report = report?;
    let plot = match &arguments.command {
        StoreBench::Pace(pace) => pace.plot.as_ref().map(|file| (file, "with overwrites, seals and merges")),
        StoreBench::Split(split) => split.plot.as_ref().map(|file| (file, "a split or a merge of ranges")),
        _ => None,
    };
    if let Some((file, shaded)) = plot {
        let plot = svg(&report.timelines, shaded);
        let written = links::refuse_directory(file).and_then(|()| std::fs::write(file, plot));
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    unless_closed(match experiment {
        _ if place.json => print_json(&report),
        Experiment::Table(_) => write!(std::io::stdout(), "{}", fawn_bench::table(&report).markdown()),
        _ => print(&report, &fawn_bench::table(&report)),
    })?;
    Ok(CommandStatus::Done)
}

impl StoreBench {
    /// How energy is metered; `split` and `restart` measure moments, which are too short for a meter.
    fn meter(&self) -> Option<&MeterArguments> {
        match self {
            Self::Load(it) => Some(&it.meter),
            Self::Get(it) => Some(&it.meter),
            Self::Hit(it) => Some(&it.meter),
            Self::Overwrite(it) => Some(&it.meter),
            Self::Mixed(it) => Some(&it.meter),
            Self::Absent(it) => Some(&it.meter),
            Self::Pace(it) => Some(&it.meter),
            Self::Table(it) => Some(&it.meter),
            Self::Split(_) | Self::Restart(_) | Self::LoadUntilKilled(_) => None,
        }
    }

    /// Refuses what each flag alone cannot know.
    fn check(&self) -> Result<(), String> {
        if let Self::Restart(restart) = self
            && !restart.at.is_sorted()
        {
            return Err("give ascending sizes, e.g. --at 1G,2G".to_owned());
        }
        match self.with_peers() {
            Some((data, peers)) if !peers.peers.is_empty() => {
                Peers::check_memory(data.memory.bytes, peers.peer_scale.into()).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }

    /// The data, and which other engines are measured on them, too.
    fn with_peers(&self) -> Option<(&DataArguments, &PeerArguments)> {
        match self {
            Self::Load(it) => Some((&it.data, &it.peers)),
            Self::Get(it) => Some((&it.data, &it.peers)),
            Self::Overwrite(it) => Some((&it.data, &it.peers)),
            Self::Mixed(it) => Some((&it.data, &it.peers)),
            Self::Absent(it) => Some((&it.data, &it.peers)),
            Self::Hit(_)
            | Self::Pace(_)
            | Self::Split(_)
            | Self::Restart(_)
            | Self::Table(_)
            | Self::LoadUntilKilled(_) => None,
        }
    }
}

impl PeerArguments {
    fn peers(&self) -> anyhow::Result<Option<Peers>> {
        if self.peers.is_empty() {
            return Ok(None);
        }
        let (own, path) = (std::env::current_exe().ok(), std::env::var_os("PATH"));
        let program = Peers::find(self.peer_program.as_deref(), own.as_deref(), path.as_deref())?;
        Ok(Some(Peers { engines: self.peers.clone(), scale: self.peer_scale.into(), program }))
    }
}

impl DeviceChoice {
    fn device(self) -> DeviceReader {
        match self {
            Self::Auto => DeviceReader::installed(),
            Self::Fio => DeviceReader::Fio,
            Self::Own => DeviceReader::Own,
        }
    }
}

impl PlaceArguments {
    fn setup(&self, ack: AckMode) -> Setup {
        Setup {
            dir: self.dir.clone(),
            entries: 1,
            value_bytes: 256,
            memory: 256 << 20,
            miss_filter: self.miss_filter,
            ack: match ack {
                AckMode::Durable => Ack::Durable,
                AckMode::Interval { ms } => Ack::Interval { ms },
                AckMode::Memory => Ack::Memory,
            },
            puts_in_flight: self.puts_in_flight as usize,
            depth: DEPTH,
            again: self.again,
            meter: None,
        }
    }
}

impl DataArguments {
    fn setup(&self, depth: u32) -> Setup {
        Setup {
            entries: self.entries.0,
            value_bytes: self.value_bytes.bytes as usize,
            memory: self.memory.bytes,
            depth,
            ..self.place.setup(self.ack)
        }
    }
}

impl RestartArguments {
    fn setup(&self) -> Setup {
        let value_bytes = self.value_bytes.bytes as usize;
        Setup {
            entries: RestartExperiment::entries(&self.sizes(), value_bytes),
            value_bytes,
            memory: self.memory.bytes,
            ..self.place.setup(self.ack)
        }
    }

    fn sizes(&self) -> Vec<u64> {
        self.at.iter().map(|size| size.bytes).collect()
    }

    /// With this very program as the one to be killed.
    fn experiment(&self) -> anyhow::Result<RestartExperiment> {
        let setup = self.setup();
        let program = std::env::current_exe().context("cannot find the path of this program to start it again")?;
        let mut arguments: Vec<OsString> = ["bench", "store", "load-until-killed"].map(OsString::from).to_vec();
        for (flag, value) in [
            ("--dir", setup.dir.clone().into_os_string()),
            ("--entries", setup.entries.to_string().into()),
            ("--value-bytes", setup.value_bytes.to_string().into()),
            ("--memory", setup.memory.to_string().into()),
            ("--ack", setup.ack_name().into()),
            ("--puts-in-flight", setup.puts_in_flight.to_string().into()),
        ] {
            arguments.extend([OsString::from(flag), value]);
        }
        arguments.extend(setup.miss_filter.then(|| OsString::from("--miss-filter")));
        Ok(RestartExperiment { at: self.sizes(), program, arguments })
    }
}

impl TableArguments {
    fn setup(&self) -> Setup {
        self.place.setup(self.ack)
    }

    fn experiment(&self) -> TableExperiment {
        TableExperiment {
            value_bytes: self.value_bytes.iter().map(|size| size.bytes as usize).collect(),
            memories: self.memory.iter().map(|size| size.bytes).collect(),
            cell_bytes: self.cell_bytes.bytes,
            cell_time: self.cell_seconds.0,
            device: self.device.device(),
        }
    }
}
