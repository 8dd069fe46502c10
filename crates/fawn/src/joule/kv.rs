//! `fawn joule kv`: queries to servers of keys and values, and quality of service, for each joule.

pub mod servers;

use std::fs;
use std::io::Write;
use std::num::{NonZeroU16, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use fawn_bench::children;
use fawn_joule::kv::curve::KvFindings;
use fawn_joule::kv::{KvPlan, output, run as measure};
use fawn_loadgen::phase::raise_descriptor_limit;
use fawn_loadgen::{Distribution, HotKeys, LoadPlan, LoadTarget, Mix};
use fawn_meter::Meter;
use fawn_transfer::client::Address;
use servers::{OwnServers, ServerShape};

use super::energy::EnergyArguments;
use super::output::{SuiteOutputArguments, print, working_directory};
use crate::bench::net::{ProtocolChoice, check_value, is_of_this_machine, parse_server, resolve};
use crate::bench::output::Bar;
use crate::connect::ConnectArguments;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::{CommandStatus, UsageError};
use crate::output_file::{check_output, create};
use crate::progress::TerminalBar;
use crate::resources::{check_memory, cores, least_memory};
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::{Count, Size, Span, number, parse_depth, parse_share, parse_wait};

/// Shares of the capacity, unless others are given.
pub const LOADS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// Objectives, microseconds, unless others are given.
pub const OBJECTIVES_US: &[u64] = &[100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];
/// The data of servers that are stopped are gone within this time.
const CLEARED_WITHIN: Duration = Duration::from_secs(10);
/// How often it is tried.
const LOOK: Duration = Duration::from_millis(20);
/// Requests in flight on a connection of an open loop.
pub const OPEN_DEPTH: u32 = 32;

/// Arguments of `fawn joule kv`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --servers, the command starts a server of this program on a free port of the loopback, or with --nodes a \
cluster, with its data below --dir. It stops the servers and removes the data at the end. With --servers, the keys stay \
on these.

The command sets all keys, and finds the capacity by a closed loop: each connection keeps --depth requests in flight. \
Then open loops ask shares of it, the --loads. Requests come at random times, answered or not, and latencies count from \
these times, so that a slow server does not hide its queue. Each value that is read is verified.

Quality of service is the number of right answers within an objective, divided by joules. Late, wrong and missing \
answers count nothing, and their joules count. Without a meter the divisor is the CPU time of the servers, and the \
output says so. Where servers of others are measured, --server-pid names their processes.

For example:
  fawn joule kv --page kv.html
  fawn joule kv --nodes 3 --replicas 2 --sets 0.1 --meter-idle 30s
  fawn joule kv --servers 192.168.1.31:11211,192.168.1.32:11211 --meter shelly:192.168.1.20

Load generator and servers share this machine unless --servers are elsewhere. The exit code is 1 if an answer was \
wrong. See operations/joules in the book.")]
pub struct KvArguments {
    /// Measure servers that run already: HOST:PORT (an IPv6 address in brackets) or unix:PATH, any that speak memcached's
    /// protocol or Redis's (--protocol resp)
    #[arg(long, value_name = "ADDR", value_delimiter = ',', value_parser = parse_server, hide_env = true)]
    pub servers: Vec<Address>,
    /// Processes of --servers, on this machine, whose CPU time is counted; separated by commas
    #[arg(long, value_name = "PID", value_delimiter = ',', value_parser = number::<u32>(1..), requires = "servers",
        hide_env = true)]
    pub server_pid: Vec<u32>,
    /// Nodes to start; more than one are a cluster with a manager
    #[arg(long, value_name = "N", default_value = "1", value_parser = number::<u32>(1..=16), hide_env = true)]
    pub nodes: u32,
    /// Copies of each key in a cluster that is started
    #[arg(long, value_name = "N", default_value = "1", value_parser = number::<u32>(1..=7), hide_env = true)]
    pub replicas: u32,
    /// Memory of each server that is started; keys beyond it come from flash
    #[arg(long, value_name = "SIZE", default_value = "64M", hide_env = true)]
    pub memory: Size,
    /// Event loops of a server that is started [default: the cores that the generator leaves, at least 1, as far as
    /// --memory has 8M for each]
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=256), hide_env = true)]
    pub server_threads: Option<u16>,
    /// Directory on the disk to measure, for the data of servers that are started
    #[arg(long, value_name = "DIR", default_value = ".", hide_env = true)]
    pub dir: PathBuf,
    /// Number of keys
    #[arg(long, value_name = "N", default_value = "1M")]
    pub keys: Count,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "256")]
    pub value_size: Size,
    /// Share of sets among the requests, e.g. 0.1 or 10%
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse_share)]
    pub sets: f64,
    /// Key distribution: uniform, zipf, zipf:EXPONENT, latest, hot or hot:KEYS:SHARE
    #[arg(long, value_name = "LAW", default_value = "uniform")]
    pub distribution: Distribution,
    /// Event loops of the load generator, each with its share of the connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u16>(1..=256))]
    pub threads: u16,
    /// Connections of all loops together
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u32>(1..=60_000))]
    pub connections: u32,
    /// Requests in flight on each connection, when the capacity is measured
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_depth())]
    pub depth: u32,
    /// Commands to send: get and set (text), mg and ms (meta), or GET and SET of Redis (resp)
    #[arg(long, default_value = "text")]
    pub protocol: ProtocolChoice,
    /// Loads, as shares of the capacity up to 200% [default: 10% to 100% in steps of 10%]
    #[arg(long, value_name = "SHARE", value_delimiter = ',', value_parser = parse_load, hide_env = true)]
    pub loads: Vec<f64>,
    /// Duration of the measurement of each point
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_wait)]
    pub time: Span,
    /// Duration of the same load before each measurement
    #[arg(long, value_name = "DURATION", default_value = "500ms")]
    pub warm_up: Span,
    /// Objectives: answers within these count [default: 100us to 100ms in steps of 1, 2 and 5]
    #[arg(long, value_name = "DURATION", value_delimiter = ',', value_parser = parse_objective, hide_env = true)]
    pub objectives: Vec<Duration>,
    /// User name, for servers with an authentication file
    #[arg(long, value_name = "NAME", requires_all = ["password_file", "servers"])]
    pub user: Option<String>,
    /// File whose first line is the user's password
    #[arg(long, value_name = "FILE", requires = "user")]
    pub password_file: Option<PathBuf>,
    /// Give up if a server accepts no connection, or nothing of the keys that are set first, for this long
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub timeout: Span,
    /// Write the figures as comma-separated values
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub energy: EnergyArguments,
    #[command(flatten)]
    pub output: SuiteOutputArguments,
}

/// Parses a load: a share of the capacity.
fn parse_load(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match share {
        Ok(share) if (0.001..=2.0).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is not a load; write a share of the capacity from 0.1% to 200%, e.g. 0.3 or 30%")),
    }
}

/// Parses an objective, which may be shorter than a millisecond.
fn parse_objective(text: &str) -> Result<Duration, String> {
    let of_us = text.strip_suffix("us").and_then(|number| number.trim_end().parse::<u64>().ok());
    let parsed = match of_us {
        Some(us) => Some(Duration::from_micros(us)),
        None => text.parse::<Span>().ok().map(|span| span.0),
    };
    parsed.filter(|objective| (Duration::from_micros(1)..=Duration::from_mins(1)).contains(objective)).ok_or_else(
        || format!("`{text}` is not an objective; write a duration from 1us to 1m, e.g. 200us, 1ms or 0.1s"),
    )
}

/// Measures.
///
/// # Errors
/// [`UsageError`], and what ends a run.
pub fn run(arguments: &KvArguments) -> anyhow::Result<CommandStatus> {
    arguments.check().map_err(UsageError)?;
    arguments.output.check([])?;
    if let Some(file) = &arguments.csv {
        check_output(file, "--csv", arguments.output.page.as_deref())?;
    }
    raise_descriptor_limit(arguments.connections as usize)?;
    let meter = arguments.energy.open()?;
    let bar = Bar(TerminalBar::parts());
    let findings = if arguments.servers.is_empty() {
        let dir = working_directory(&arguments.dir)?;
        let path = dir.path().to_owned();
        tell_how_to_go_on(&bar.0, "nothing was kept, run the same command again", move || clear(&path))?;
        unless_interrupted(measure_own(arguments, dir.path(), meter, &bar))
    } else {
        tell_how_to_go_on(&bar.0, "no results are kept, but keys that were set stay on the servers", || {})?;
        measure_others(arguments, meter, &bar)
    };
    bar.0.finish();
    let findings = findings?;
    arguments.write(&findings)
}

/// Servers were told to end, as this process is about to.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What a measurement came to. One that failed because servers were told to end says nothing of it: this process is about to end.
pub fn unless_interrupted<T>(result: anyhow::Result<T>) -> anyhow::Result<T> {
    while result.is_err() && IS_INTERRUPTED.load(Ordering::Relaxed) {
        thread::park();
    }
    result
}

/// Ends servers that were started, and removes their data: for a process that is about to end.
pub fn clear(dir: &Path) {
    IS_INTERRUPTED.store(true, Ordering::Relaxed);
    children::ask_all_to_stop();
    // Servers that are about to end may still write.
    let began = Instant::now();
    while dir.exists() && began.elapsed() < CLEARED_WITHIN {
        // What remains is in a directory whose name says whose it is.
        let _ = fs::remove_dir_all(dir);
        thread::sleep(LOOK);
    }
}

/// Starts servers, measures them, and stops them.
///
/// # Errors
/// They cannot be started or stopped, and what ends a run.
pub fn measure_own(arguments: &KvArguments, dir: &Path, meter: Option<Meter>, bar: &Bar) -> anyhow::Result<KvFindings> {
    let shape = arguments.shape();
    let mut own = OwnServers::start(shape, dir)?;
    let plan = arguments.plan((own.targets(), own.pids(), shape.describe()), None, meter);
    let measured = measure(&plan, bar);
    // A connection that broke says less than a server that has ended.
    own.check_runs()?;
    let findings = measured?;
    own.stop()?;
    Ok(findings)
}

fn measure_others(arguments: &KvArguments, meter: Option<Meter>, bar: &Bar) -> anyhow::Result<KvFindings> {
    let targets = arguments.servers.iter().map(resolve).collect::<anyhow::Result<Vec<_>>>()?;
    // What this machine draws says nothing of a server elsewhere.
    let is_here = targets.iter().all(is_of_this_machine);
    let meter = meter.filter(|meter| meter.is_asked() || is_here);
    let connect = ConnectArguments {
        tls_ca: None,
        tls_name: None,
        user: arguments.user.clone(),
        password_file: arguments.password_file.clone(),
        timeout: arguments.timeout,
    };
    let secret = match arguments.servers.first() {
        Some(server) => connect.endpoint(server.clone()).secret()?,
        None => None,
    };
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let servers = (targets, arguments.server_pid.clone(), names.join(", "));
    Ok(measure(&arguments.plan(servers, secret, meter), bar)?)
}

/// How much is measured on a server that is started.
#[derive(Clone, Copy, Debug)]
pub struct KvExtent {
    /// Keys.
    pub keys: u64,
    /// Memory of the server, bytes.
    pub memory: u64,
    /// Of each point.
    pub time: Duration,
    /// Shares of the capacity.
    pub loads: &'static [f64],
}

impl KvArguments {
    /// As who types none but these: gets of 256 bytes from a server of this program.
    pub fn own_server(extent: KvExtent, energy: EnergyArguments, output: SuiteOutputArguments) -> Self {
        let KvExtent { keys, memory, time, loads } = extent;
        Self {
            servers: Vec::new(),
            server_pid: Vec::new(),
            nodes: 1,
            replicas: 1,
            memory: Size { bytes: memory },
            server_threads: None,
            dir: PathBuf::new(),
            keys: Count(keys),
            value_size: Size { bytes: 256 },
            sets: 0.0,
            distribution: Distribution::Uniform,
            threads: 1,
            connections: 32,
            depth: 1,
            protocol: ProtocolChoice::Text,
            loads: loads.to_vec(),
            time: Span(time),
            warm_up: Span(time / 6),
            objectives: Vec::new(),
            user: None,
            password_file: None,
            timeout: Span(Duration::from_secs(10)),
            csv: None,
            energy,
            output,
        }
    }

    /// Refuses what does not go together.
    fn check(&self) -> Result<(), String> {
        check_value(self.value_size).map_err(|why| why.replace("--value-bytes", "--value-size"))?;
        if self.keys.0 == 0 {
            return Err("there is no key to ask for: give --keys 1 or more".into());
        }
        if let Distribution::Hot { keys: HotKeys::Count(hot), .. } = self.distribution
            && hot > self.keys.0
        {
            return Err("there are fewer --keys than popular keys: give more, or hot:KEYS:SHARE with fewer".into());
        }
        if u32::from(self.threads) > self.connections {
            return Err("each loop needs a connection: give at least as many --connections as --threads".into());
        }
        if self.servers.is_empty() {
            let threads = if self.nodes > 1 { 1 } else { self.shape().threads };
            let threads = NonZeroUsize::from(NonZeroU16::new(threads).unwrap_or(NonZeroU16::MIN));
            check_memory(Some(self.memory), threads).map_err(|why| why.replace("--threads", "--server-threads"))?;
        }
        if self.replicas > self.nodes {
            return Err("each copy is on a node of its own: give at least as many --nodes as --replicas".into());
        }
        if self.nodes > 1 && !self.servers.is_empty() {
            return Err("--nodes are started, and --servers run already: leave one of them out".into());
        }
        if self.protocol == ProtocolChoice::Resp && self.servers.is_empty() {
            return Err(
                "the servers that this command starts speak memcached's protocol: give --servers that speak resp"
                    .into(),
            );
        }
        if self.energy.watts.is_some() && self.loads().len() > 1 {
            return Err("--watts is what the plug showed under one load: give one load, e.g. --loads 100%".into());
        }
        Ok(())
    }

    fn loads(&self) -> Vec<f64> {
        if self.loads.is_empty() { LOADS.to_vec() } else { self.loads.clone() }
    }

    fn shape(&self) -> ServerShape {
        let left = cores().get().saturating_sub(self.threads.into()).max(1);
        let fit = (self.memory.bytes / least_memory(NonZeroUsize::MIN).bytes).clamp(1, 256);
        let threads = self.server_threads.unwrap_or(left.min(fit as usize) as u16);
        ServerShape { nodes: self.nodes, replicas: self.replicas, memory: self.memory.bytes, threads }
    }

    /// What is measured on these servers: addresses, processes, a name for people.
    fn plan(
        &self,
        (targets, server_pids, servers): (Vec<LoadTarget>, Vec<u32>, String),
        secret: Option<String>,
        meter: Option<Meter>,
    ) -> KvPlan {
        let mut objectives = self.objectives.clone();
        if objectives.is_empty() {
            objectives = OBJECTIVES_US.iter().map(|us| Duration::from_micros(*us)).collect();
        }
        objectives.sort_unstable();
        objectives.dedup();
        let load = LoadPlan {
            targets,
            threads: self.threads.into(),
            connections: self.connections as usize,
            depth: self.depth as usize,
            protocol: self.protocol.into(),
            keys: self.keys.0,
            value_bytes: self.value_size.bytes as usize,
            mix: Mix::of_sets(self.sets),
            distribution: self.distribution,
            workload: None,
            time: self.time.0,
            operations: None,
            warm_up: self.warm_up.0,
            pace: None,
            load: true,
            load_rate: None,
            server_pids,
            secret,
            timeout: self.timeout.0,
            calibrate: false,
            meter,
        };
        let open_depth = self.depth.max(OPEN_DEPTH) as usize;
        KvPlan { load, open_depth, loads: self.loads(), objectives, servers }
    }

    fn write(&self, findings: &KvFindings) -> anyhow::Result<CommandStatus> {
        let report = &findings.report;
        if let Some(file) = &self.csv {
            let written = create(file, "--csv", [])?.write_all(output::csv(report).as_bytes());
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        self.output.write_page(|origin| output::page(report, origin))?;
        unless_closed(if self.output.json {
            print_json(report)
        } else {
            let heading = output::service_heading(report);
            let tables = [
                ("Latency by load", output::latencies(report)),
                ("Answers and cost by load", output::answers(report)),
                (heading.as_str(), output::service(report)),
            ];
            print(&tables, &report.notes)
        })?;
        Ok(tell_faults(findings))
    }
}

/// Says what was wrong with answers, if anything was.
pub fn tell_faults(findings: &KvFindings) -> CommandStatus {
    let Some((count, first)) = &findings.fault else { return CommandStatus::Done };
    tell(format_args!("fawn: {count} answers were wrong, the first: {first}"));
    CommandStatus::Missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_objectives_are_read_or_refused_with_what_is_accepted() {
        assert_eq!([parse_load("30%"), parse_load("0.3"), parse_load("150%")], [Ok(0.3), Ok(0.3), Ok(1.5)]);
        for text in ["0", "300%", "-1", "much"] {
            assert!(parse_load(text).unwrap_err().contains("e.g. 0.3 or 30%"), "{text}");
        }
        let us = |text| parse_objective(text).map(|objective| objective.as_micros());
        assert_eq!([us("200us"), us("1ms"), us("0.1s")], [Ok(200), Ok(1000), Ok(100_000)]);
        for text in ["0us", "0", "2m", "1.5us", "soon"] {
            assert!(us(text).unwrap_err().contains("e.g. 200us"), "{text}");
        }
    }
}
