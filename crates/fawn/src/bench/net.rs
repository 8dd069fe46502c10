//! `fawn bench net`: what a server does, over a network; and `fawn bench net-null`, the server that does nothing.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use fawn_loadgen::{
    Distribution, Findings, HotKeys, LoadPace, LoadPlan, LoadProtocol, LoadTarget, Mix, NullServer, Spacing, Workload,
};
use fawn_transfer::client::Address;

use super::energy::MeterArguments;
use super::output::{Bar, print};
use crate::connect::ConnectArguments;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::{tell, unless_closed};
use crate::values::{Count, Size, Span, number, parse_depth, parse_share, parse_socket, parse_wait};

/// Most operations a second that may be due.
const MOST_RATE: u64 = 10_000_000;
/// Least and most bytes of a value.
const VALUE_BYTES: std::ops::RangeInclusive<u64> = 8..=128 << 20;

/// Arguments of `fawn bench net`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server may be any that speaks memcached's text or meta protocol, or Redis's. By default the load is a closed loop: each \
connection keeps --depth requests in flight, and each reply makes room for the next. With --rate it is an open \
loop: operations follow the clock, and a latency counts from when its operation was due. So a slow server does not \
hide its queue.

Keys have 20 bytes, 16 of them pseudo-random, so that the popular keys of a distribution lie anywhere. Each value \
encodes its key and its version, and does not compress. The generator verifies every value that it reads: it must \
be one of this key. It must not be older than the last set of the key that was acknowledged when the get was sent, \
as long as this generator alone sets keys. Misses count separately. --load retries refused sets as long as the \
server accepts others. The exit code is 1 if a value was wrong or an operation was refused.

Distributions:
  uniform           all keys alike
  zipf[:EXPONENT]   by Zipf's law; the exponent is 0.99 if none is given
  latest            gets prefer what was set last; sets go through all keys
  hot[:KEYS:SHARE]  KEYS, a number or a percentage of all, get SHARE of the
                    operations; 1% get 99% if nothing is given

hot is the skew of FAWN's technical report (figure 10). At a bias of 99% there, 1% of the keys get 99% of the \
operations. A bias of B% is hot:(100-B)%:B%.

CPU time is the measure that a busy machine changes least. --server-pid reports the server's CPU time per \
operation, beside the generator's own. It also reports the whole machine's, to show whether other processes were \
busy. --calibrate runs the same load against a server that does nothing. The ratio is the headroom: how much more \
load the generator could make. `fawn bench net-null` is that server as a command of its own.

--meter reports joules, and operations per joule. A plug or a file counts everything behind the meter. rapl, hwmon, \
battery and model count this machine, the generator included. `fawn bench meters` lists the meters of this machine. \
Without a meter, `per CPU-s` is operations per second of the server's CPU time (--server-pid).

For example:
  fawn bench net 127.0.0.1:11211 --load --depth 16 --puts 10%
  fawn bench net 127.0.0.1:11211 --server-pid $(pidof fawn | tr ' ' ,)
  fawn bench net 127.0.0.1:11211 --rate 50k --distribution zipf --json")]
pub struct NetBenchArguments {
    /// Servers of one store or cluster: HOST:PORT (an IPv6 address in brackets) or unix:PATH; connections go
    /// round-robin to all
    #[arg(value_name = "ADDR", value_delimiter = ',', required_unless_present = "calibrate", value_parser = parse_server)]
    pub servers: Vec<Address>,
    /// Number of keys; with sets, the generator needs 8 bytes of DRAM per key
    #[arg(long, value_name = "N", default_value = "1M")]
    pub keys: Count,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "256")]
    pub value_bytes: Size,
    /// Share of sets among the operations, e.g. 0.1 or 10%
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse_share)]
    pub puts: f64,
    /// Key distribution: uniform, zipf, zipf:EXPONENT, latest, hot or hot:KEYS:SHARE
    #[arg(long, value_name = "LAW", default_value = "uniform")]
    pub distribution: Distribution,
    /// Duration of the measurement; 0 with --load for the load alone
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub time: Span,
    /// Duration of the same load before the measurement
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub warm_up: Span,
    #[command(flatten)]
    pub generator: GeneratorArguments,
}

/// What every load is told.
#[derive(Debug, Args)]
pub struct GeneratorArguments {
    /// Event loops, each with its share of the connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u16>(1..=256))]
    pub threads: u16,
    /// Connections of all loops together
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u32>(1..=60_000))]
    pub connections: u32,
    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_depth())]
    pub depth: u32,
    /// Commands to send: get and set (text), mg and ms (meta), or GET and SET of Redis (resp)
    #[arg(long, default_value = "text")]
    pub protocol: ProtocolChoice,
    /// Operations per second, however fast the server replies [default: as fast as it replies]
    #[arg(long, value_name = "N")]
    pub rate: Option<Count>,
    /// Intervals between the operations of --rate
    #[arg(long, default_value = "poisson")]
    pub spacing: SpacingChoice,
    /// Set every key first, as fast as the server acknowledges; the keys stay in the server
    #[arg(long, hide_env = true)]
    pub load: bool,
    /// Sets per second of --load [default: as fast as the server acknowledges]
    #[arg(long, value_name = "N")]
    pub load_rate: Option<Count>,
    /// Processes of the servers, on this machine, whose CPU time is reported; separated by commas
    #[arg(long, value_name = "PID", value_delimiter = ',', hide_env = true, value_parser = number::<u32>(1..))]
    pub server_pid: Vec<u32>,
    /// User name, for a server with an authentication file
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub user: Option<String>,
    /// File whose first line is the user's password
    #[arg(long, value_name = "FILE", requires = "user")]
    pub password_file: Option<PathBuf>,
    /// Give up if a server accepts no connection, or sends no reply, for this long
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub timeout: Span,
    /// First measure the generator at full speed against a server that does nothing; without ADDR, only that
    #[arg(long, hide_env = true)]
    pub calibrate: bool,
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which commands are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolChoice {
    /// get and set
    Text,
    /// mg and ms
    Meta,
    /// GET and SET of Redis, for any server that speaks its protocol
    Resp,
}

impl From<ProtocolChoice> for LoadProtocol {
    fn from(choice: ProtocolChoice) -> Self {
        match choice {
            ProtocolChoice::Text => Self::Text,
            ProtocolChoice::Meta => Self::Meta,
            ProtocolChoice::Resp => Self::Resp,
        }
    }
}

/// The times between operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpacingChoice {
    /// Exponential, as from many independent clients
    Poisson,
    /// Constant
    Fixed,
}

/// Arguments of `fawn bench net-null`.
#[derive(Debug, Args)]
#[command(after_help = "The server answers every get with one value, and every set with STORED. Its cost is the \
    lower bound for any server that waits with epoll: whoever measures it measures the loopback. Its value is \
    always that of the first key: give `fawn bench net` --keys 1, or it reports all others as wrong.")]
pub struct NetNullArguments {
    /// Address; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = parse_socket)]
    pub listen: SocketAddr,
    /// Bytes of the value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "256")]
    pub value_bytes: Size,
}

impl NetBenchArguments {
    /// Refuses what does not go together.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        check_value(self.value_bytes)?;
        self.generator.check(&self.servers)?;
        if self.keys.0 == 0 {
            return Err("there is no key to ask for: give --keys 1 or more".into());
        }
        if let Distribution::Hot { keys: HotKeys::Count(hot), .. } = self.distribution
            && hot > self.keys.0
        {
            return Err("there are fewer --keys than popular keys: give more, or hot:KEYS:SHARE with fewer".into());
        }
        if self.time.0.is_zero() && !self.generator.load && !self.servers.is_empty() {
            return Err("there is nothing to measure: give --time 1s or more, or --load".into());
        }
        Ok(())
    }

    fn load(&self) -> RequestedLoad {
        RequestedLoad {
            keys: self.keys.0,
            value_bytes: self.value_bytes.bytes as usize,
            mix: Mix::of_sets(self.puts),
            distribution: self.distribution,
            workload: None,
            time: self.time.0,
            warm_up: self.warm_up.0,
            operations: None,
        }
    }
}

/// What is asked for, and for how long: what [`GeneratorArguments`] do not say of a [`LoadPlan`], by its names.
#[derive(Clone, Copy, Debug)]
pub struct RequestedLoad {
    pub keys: u64,
    pub value_bytes: usize,
    pub mix: Mix,
    pub distribution: Distribution,
    pub workload: Option<Workload>,
    pub time: Duration,
    pub warm_up: Duration,
    pub operations: Option<u64>,
}

impl GeneratorArguments {
    /// Refuses what does not go together.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, servers: &[Address]) -> Result<(), String> {
        if u32::from(self.threads) > self.connections {
            return Err("each loop needs a connection: give at least as many --connections as --threads".into());
        }
        if [self.rate, self.load_rate].contains(&Some(Count(0))) {
            return Err(
                "no operation would ever be due: give --rate and --load-rate 1 or more, or leave them out".into()
            );
        }
        if [self.rate, self.load_rate].iter().flatten().any(|rate| rate.0 > MOST_RATE) {
            return Err("one generator cannot send that many: give --rate and --load-rate 10M at most".into());
        }
        if self.load_rate.is_some() && !self.load {
            return Err("--load-rate needs a load: give --load, or leave --load-rate out".into());
        }
        if self.load && servers.is_empty() {
            return Err("there is no server to load: name one, or leave --load out".into());
        }
        Ok(())
    }

    /// Puts a load on servers, and tells what came of it.
    ///
    /// # Errors
    /// What [`fawn_loadgen::LoadgenError`] says.
    pub fn run(&self, servers: &[Address], load: RequestedLoad) -> anyhow::Result<(Findings, CommandStatus)> {
        let bar = Bar(TerminalBar::parts());
        tell_how_to_go_on(&bar.0, "no results are kept, but keys that were set stay on the servers", || {})?;
        let findings = fawn_loadgen::run(&self.plan(servers, load)?, &bar);
        bar.0.finish();
        let findings = findings?;
        unless_closed(if self.json {
            print_json(&findings.report)
        } else {
            print(&findings.report, &fawn_loadgen::table(&findings.report))
        })?;
        let mut outcome = CommandStatus::Done;
        for (faults, what) in [(&findings.wrong, "values were wrong"), (&findings.refused, "operations were refused")] {
            if let Some(first) = &faults.first {
                tell(format_args!("fawn: {} {what}, the first: {first}", faults.count));
                outcome = CommandStatus::Missing;
            }
        }
        Ok((findings, outcome))
    }

    fn plan(&self, servers: &[Address], load: RequestedLoad) -> anyhow::Result<LoadPlan> {
        let connect = ConnectArguments {
            tls_ca: None,
            tls_name: None,
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            timeout: self.timeout,
        };
        let secret = match servers.first() {
            Some(server) => connect.endpoint(server.clone()).secret()?,
            None => None,
        };
        let spacing = match self.spacing {
            SpacingChoice::Poisson => Spacing::Poisson,
            SpacingChoice::Fixed => Spacing::Fixed,
        };
        let targets = servers.iter().map(resolve).collect::<anyhow::Result<Vec<_>>>()?;
        // What this machine draws says nothing of a server elsewhere.
        let is_here = targets.iter().all(is_of_this_machine);
        Ok(LoadPlan {
            targets,
            threads: self.threads.into(),
            connections: self.connections as usize,
            depth: self.depth as usize,
            protocol: self.protocol.into(),
            keys: load.keys,
            value_bytes: load.value_bytes,
            mix: load.mix,
            distribution: load.distribution,
            workload: load.workload,
            time: load.time,
            operations: load.operations,
            warm_up: load.warm_up,
            pace: self.rate.map(|rate| LoadPace { rate: rate.0 as f64, spacing }),
            load: self.load,
            load_rate: self.load_rate.map(|rate| rate.0 as f64),
            server_pids: self.server_pid.clone(),
            secret,
            timeout: self.timeout.0,
            calibrate: self.calibrate,
            meter: self.meter.open()?.filter(|meter| meter.is_asked() || is_here),
        })
    }
}

impl NetNullArguments {
    /// Refuses what cannot be meant.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        check_value(self.value_bytes)
    }
}

/// Parses the address of a server. A number alone is taken for one of several processes that blanks have cut off.
pub fn parse_server(text: &str) -> Result<Address, String> {
    if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) {
        return Err(
            "a process ID is not an address: write HOST:PORT, and several processes as `--server-pid 1,2`".to_owned()
        );
    }
    text.parse::<Address>().map_err(|error| error.to_string())
}

/// Refuses sizes of values that a generator or a server cannot do with.
///
/// # Errors
/// What is wrong.
pub fn check_value(size: Size) -> Result<(), String> {
    if VALUE_BYTES.contains(&size.bytes) {
        return Ok(());
    }
    Err("a value holds its version, and servers accept at most 128M: give --value-bytes from 8 to 128M".into())
}

/// Whether it is known to be on this machine.
pub fn is_of_this_machine(target: &LoadTarget) -> bool {
    match target {
        LoadTarget::Unix(_) => true,
        LoadTarget::Tcp { addresses, .. } => addresses.iter().all(|address| address.ip().is_loopback()),
    }
}

/// Looks its name up.
///
/// # Errors
/// It has no address.
pub fn resolve(address: &Address) -> anyhow::Result<LoadTarget> {
    match address {
        Address::Unix(path) => Ok(LoadTarget::Unix(path.clone())),
        Address::Tcp { host, port } => {
            let found = (host.as_str(), *port).to_socket_addrs();
            let addresses = found.with_context(|| format!("cannot find the address of {host}"))?.collect();
            Ok(LoadTarget::Tcp { name: address.to_string(), addresses })
        }
    }
}

/// Runs it.
///
/// # Errors
/// What [`fawn_loadgen::LoadgenError`] says.
pub fn run(arguments: &NetBenchArguments) -> anyhow::Result<CommandStatus> {
    let (_, outcome) = arguments.generator.run(&arguments.servers, arguments.load())?;
    Ok(outcome)
}

/// Serves nothing until it is killed.
///
/// # Errors
/// What [`fawn_loadgen::LoadgenError`] says.
pub fn run_null(arguments: &NetNullArguments) -> anyhow::Result<CommandStatus> {
    let server = NullServer::bind(arguments.listen, arguments.value_bytes.bytes as usize)?;
    let address = server.address()?;
    unless_closed(writeln!(std::io::stdout(), "fawn: doing nothing for memcached clients on {address}"))?;
    server.run(&AtomicBool::new(false))?;
    Ok(CommandStatus::Done)
}
