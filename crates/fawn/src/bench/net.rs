//! `fawn bench net`: what a server does, over a network; and `fawn bench net-null`, the server that does nothing.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use fawn_loadgen::{Distribution, Findings, HotKeys, Mix, NullServer, Pace, Plan, Protocol, Spacing, Target, Workload};
use fawn_transfer::client::Address;

use super::energy::MeterArguments;
use super::{Bar, print, print_json};
use crate::command::ConnectArguments;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::tell::{tell, unless_closed};
use crate::values::{Count, Size, Span, number, parse_share, parse_socket, parse_wait};

/// Most operations a second that may be due.
const MOST_RATE: u64 = 10_000_000;
/// Least and most bytes of a value.
const VALUE_BYTES: std::ops::RangeInclusive<u64> = 8..=128 << 20;

/// Arguments of `fawn bench net`.
#[derive(Debug, Args)]
#[command(after_help = "\
Any server that speaks memcached's text or meta protocol can be measured. As fast as it goes (a closed loop) is the default: each \
connection has --depth requests in flight, and an answer makes room for the next. With --rate operations come by the clock (an \
open loop), and a latency counts from when its operation was due, so that what waits for a server that is slow is not hidden.

Keys have 20 bytes, and 16 of them look like chance: the popular keys of a distribution lie anywhere. A value tells its key and \
its version, and does not compress. Every value that is read is looked at: it must have been written for its key, and must not be older than the \
last set of its key that was acknowledged when the get was sent, where this generator is the only one that sets. Misses are \
counted apart. --load makes sets again that were refused, while some are taken. The exit code is 1 when a value was wrong, or an \
operation was refused.

Distributions:
  uniform           all keys alike
  zipf[:EXPONENT]   by Zipf's law; the exponent is 0.99 if none is given
  latest            gets prefer what was set last; sets go through all keys
  hot[:KEYS:SHARE]  KEYS, a number or a percentage of all, get SHARE of the
                    operations; 1% get 99% if nothing is given

The last is the skew of FAWN's technical report (figure 10): at a bias of 99% there, 1% of the keys are selected 99% of the time, \
so that a bias of B% is hot:(100-B)%:B%.

CPU time is the measure that a busy machine changes least. --server-pid tells the server's for each operation, beside the \
generator's own and, to see whether others were busy, the whole machine's. --calibrate does the same against a server that does \
nothing, which tells how much more the generator could ask: its headroom. `fawn bench net-null` is that server, to \
be measured like any other.

--meter tells joules, and operations for each: of a plug or a file, those of whatever is behind the meter; of rapl, hwmon, battery \
and model, those of this machine, the generator included. `fawn bench meters` lists what can be metered here. Without one, `per CPU-s` \
is operations for each second of the server's CPU time (--server-pid).

For example:
  fawn bench net 127.0.0.1:11211 --load --depth 16 --puts 10%
  fawn bench net 127.0.0.1:11211 --server-pid $(pidof fawn | tr ' ' ,)
  fawn bench net 127.0.0.1:11211 --rate 50k --distribution zipf --json")]
pub struct NetBenchArguments {
    /// Servers of one store or cluster: HOST:PORT (an IPv6 address in brackets) or unix:PATH; connections go to all in turn
    #[arg(value_name = "ADDR", value_delimiter = ',', required_unless_present = "calibrate", value_parser = parse_server)]
    pub servers: Vec<Address>,
    /// Keys; where there are sets, the generator holds 8 bytes for each
    #[arg(long, value_name = "N", default_value = "1M")]
    pub keys: Count,
    /// Bytes of each value, at least 8
    #[arg(long, value_name = "BYTES", default_value = "256")]
    pub value_bytes: Size,
    /// Share of the operations that are sets, such as 0.1 or 10%
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse_share)]
    pub puts: f64,
    /// Which keys: uniform, zipf, zipf:EXPONENT, latest, hot or hot:KEYS:SHARE
    #[arg(long, value_name = "LAW", default_value = "uniform")]
    pub distribution: Distribution,
    /// How long is measured; 0 with --load: the load alone
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub time: Span,
    /// How long the same is done before
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
    /// Connections, of all loops together
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u32>(1..=60_000))]
    pub connections: u32,
    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::depth())]
    pub depth: u32,
    /// Which commands are sent: get and set (text), or mg and ms (meta)
    #[arg(long, default_value = "text")]
    pub protocol: ProtocolChoice,
    /// Operations a second, come what may [default: as fast as they are answered]
    #[arg(long, value_name = "N")]
    pub rate: Option<Count>,
    /// Times between the operations of --rate
    #[arg(long, default_value = "poisson")]
    pub spacing: SpacingChoice,
    /// Set every key first, as fast as the sets are acknowledged; the keys stay in the server
    #[arg(long, hide_env = true)]
    pub load: bool,
    /// Sets a second of --load [default: as fast as they are acknowledged]
    #[arg(long, value_name = "N")]
    pub load_rate: Option<Count>,
    /// Processes of the servers, on this machine, whose CPU time is told; several have commas between them
    #[arg(long, value_name = "PID", value_delimiter = ',', hide_env = true, value_parser = number::<u32>(1..))]
    pub server_pid: Vec<u32>,
    /// User name, for a server with an authentication file
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub user: Option<String>,
    /// File whose first line is the user's password
    #[arg(long, value_name = "FILE", requires = "user")]
    pub password_file: Option<PathBuf>,
    /// Give up when a server does not let us connect, or answers nothing, for this long
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub timeout: Span,
    /// Measure the generator first, as fast as it goes, against a server that does nothing; without ADDR, only that
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
}

/// The times between operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpacingChoice {
    /// Exponential, as of many clients that know nothing of each other
    Poisson,
    /// All the same
    Fixed,
}

/// Arguments of `fawn bench net-null`.
#[derive(Debug, Args)]
#[command(after_help = "\
It answers every get with one value, and every set with the word that it was stored. What it costs is the floor of every \
server that waits with epoll, and nobody who measures it measures more than the loopback. Its value is always that of \
the first key: give `fawn bench net` --keys 1, or it finds all others wrong.")]
pub struct NetNullArguments {
    /// Address; port 0 takes a free one
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
            return Err("there is nothing to ask for without a key: give --keys 1 or more".into());
        }
        if let Distribution::Hot { keys: HotKeys::Count(hot), .. } = self.distribution
            && hot > self.keys.0
        {
            return Err("there are fewer --keys than popular ones: give more, or hot:KEYS:SHARE of fewer".into());
        }
        if self.time.0.is_zero() && !self.generator.load && !self.servers.is_empty() {
            return Err("nothing would be measured: give --time 1s or more, or --load".into());
        }
        Ok(())
    }

    fn load(&self) -> Load {
        Load {
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

/// What is asked for, and for how long: what [`GeneratorArguments`] do not say of a [`Plan`], by its names.
#[derive(Clone, Copy, Debug)]
pub struct Load {
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
            return Err("nothing would ever be due: give --rate and --load-rate 1 or more, or leave them out".into());
        }
        if [self.rate, self.load_rate].iter().flatten().any(|rate| rate.0 > MOST_RATE) {
            return Err("nothing is asked so often by one generator: give --rate and --load-rate 10M at most".into());
        }
        if self.load_rate.is_some() && !self.load {
            return Err("nothing is loaded: give --load, or leave --load-rate out".into());
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
    pub fn run(&self, servers: &[Address], load: Load) -> anyhow::Result<(Findings, Outcome)> {
        let bar = Bar(Progress::parts());
        tell_how_to_go_on(&bar.0, "nothing is kept, but what was set is on the servers", || {})?;
        let findings = fawn_loadgen::run(&self.plan(servers, load)?, &bar);
        bar.0.finish();
        let findings = findings?;
        unless_closed(if self.json {
            print_json(&findings.report)
        } else {
            print(&findings.report, &fawn_loadgen::table(&findings.report))
        })?;
        let mut outcome = Outcome::Done;
        for (faults, what) in [(&findings.wrong, "values were wrong"), (&findings.refused, "operations were refused")] {
            if let Some(first) = &faults.first {
                tell(format_args!("fawn: {} {what}, the first: {first}", faults.count));
                outcome = Outcome::Missing;
            }
        }
        Ok((findings, outcome))
    }

    fn plan(&self, servers: &[Address], load: Load) -> anyhow::Result<Plan> {
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
        Ok(Plan {
            targets,
            threads: self.threads.into(),
            connections: self.connections as usize,
            depth: self.depth as usize,
            protocol: match self.protocol {
                ProtocolChoice::Text => Protocol::Text,
                ProtocolChoice::Meta => Protocol::Meta,
            },
            keys: load.keys,
            value_bytes: load.value_bytes,
            mix: load.mix,
            distribution: load.distribution,
            workload: load.workload,
            time: load.time,
            operations: load.operations,
            warm_up: load.warm_up,
            pace: self.rate.map(|rate| Pace { rate: rate.0 as f64, spacing }),
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
        return Err("a number is no address: write HOST:PORT, and several processes as `--server-pid 1,2`".to_owned());
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
    Err("a value tells its version, and servers take no more than 128M: give --value-bytes from 8 to 128M".into())
}

/// Whether it is known to be on this machine.
fn is_of_this_machine(target: &Target) -> bool {
    match target {
        Target::Unix(_) => true,
        Target::Tcp { addresses, .. } => addresses.iter().all(|address| address.ip().is_loopback()),
    }
}

/// Looks its name up.
fn resolve(address: &Address) -> anyhow::Result<Target> {
    match address {
        Address::Unix(path) => Ok(Target::Unix(path.clone())),
        Address::Tcp { host, port } => {
            let found = (host.as_str(), *port).to_socket_addrs();
            let addresses = found.with_context(|| format!("cannot find the address of {host}"))?.collect();
            Ok(Target::Tcp { name: address.to_string(), addresses })
        }
    }
}

/// Runs it.
///
/// # Errors
/// What [`fawn_loadgen::LoadgenError`] says.
pub fn run(arguments: &NetBenchArguments) -> anyhow::Result<Outcome> {
    let (_, outcome) = arguments.generator.run(&arguments.servers, arguments.load())?;
    Ok(outcome)
}

/// Serves nothing until it is killed.
///
/// # Errors
/// What [`fawn_loadgen::LoadgenError`] says.
pub fn run_null(arguments: &NetNullArguments) -> anyhow::Result<Outcome> {
    let server = NullServer::bind(arguments.listen, arguments.value_bytes.bytes as usize)?;
    let address = server.address()?;
    unless_closed(writeln!(std::io::stdout(), "fawn: doing nothing for memcached clients on {address}"))?;
    server.run(&AtomicBool::new(false))?;
    Ok(Outcome::Done)
}
