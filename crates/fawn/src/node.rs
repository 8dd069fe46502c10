//! `fawn node` and `fawn frontend`: the processes of a cluster beside its managers.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use fawn_kv::manager::roster::NodeClass;
use fawn_node::ServeOptions;
use fawn_node::cluster::{ClusterOptions, serve_members};
use fawn_tls::Material;

use crate::observe::ObserveArguments;
use crate::outcome::{CommandStatus, UsageError};
use crate::resources::{
    self, check_memory, chosen, cores, default_cache, default_memory, host_name, least_memory, parse_threads,
};
use crate::serve::arguments::{ClientsArguments, refuse_file};
use crate::values::{Size, Span, ValueError, number, parse_listen};

/// Bytes a second that are copied where nothing is said: a quarter of a gigabit network.
pub const COPY_BYTES_PER_S: u64 = 32 << 20;

/// The longest rest of an archive.
const MOST_REST: Duration = Duration::from_hours(1);

/// The least that may be said.
const LEAST_COPY_RATE: u64 = 64 << 10;

/// How a process finds its cluster, and others find it.
#[derive(Debug, Args)]
pub struct MemberArguments {
    /// Addresses of managers, separated by commas; one that answers is enough
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',', value_parser = parse_listen)]
    pub manager: Vec<String>,
    /// Name in the cluster, permanent [default: the machine's]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Address for the other processes of the cluster; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7401", value_parser = parse_listen)]
    pub cluster_listen: String,
    /// Address at which the others reach this process [default: that of --cluster-listen]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub advertise: Option<String>,
    /// Name of the machine, if several processes share one: the replicas of a range are on different machines
    /// [default: the process's name]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Failure domain of the machine, e.g. its rack: replicas are in different domains if there are enough
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,
    /// DRAM for the front-end's value cache; 0 for none [default: 64M, or an eighth of the DRAM of machine or
    /// container if that is less]
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Size>,
    /// Event loops, each with its own core [default: one per available core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Directory of certificates from `fawn certs`: ca.pem, NAME.pem and NAME-key.pem; encrypts and authenticates all
    /// traffic inside the cluster
    #[arg(long, value_name = "DIR")]
    pub certs: Option<PathBuf>,
    /// Listen beyond the loopback without TLS and authentication
    #[arg(long)]
    pub insecure: bool,
    #[command(flatten)]
    pub observe: ObserveArguments,
    #[command(flatten)]
    pub clients: ClientsArguments,
}

/// What a node keeps copies for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClassArgument {
    /// To answer reads
    Serving,
    /// To restore data: other nodes answer reads while one of them has the data
    Archive,
}

impl From<ClassArgument> for NodeClass {
    fn from(class: ClassArgument) -> Self {
        match class {
            ClassArgument::Serving => Self::Serving,
            ClassArgument::Archive => Self::Archive,
        }
    }
}

/// Arguments of `fawn node`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Data directory; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "./fawn-data")]
    pub dir: PathBuf,
    /// What the node keeps copies for, permanent; an archive serves no clients, and may have a slow disk
    #[arg(long, value_enum, value_name = "CLASS", default_value = "serving")]
    pub class: ClassArgument,
    /// How long an archive may let its drive rest between syncs, 0 to 1h: records of that time are synced by the nodes
    /// that serve them alone
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_rest)]
    pub rest: Span,
    /// DRAM for index, buffers and record cache, at least 8M per thread [default: a quarter of what the machine, its
    /// container and its limits leave]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Filter out lookups of absent keys where DRAM cannot index every record: one flash read per 250 such gets
    /// instead of one each, for 1.2 bytes per record
    #[arg(long)]
    pub miss_filter: bool,
    /// Virtual IDs of each event loop on the ring; more of them spread the keys more evenly [default: by the machine's
    /// DRAM, 2 to 8]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1024))]
    pub virtual_ids: Option<u32>,
    /// Maximum rate of copies from other nodes, in bytes per second, when the node joins or replaces a failed one;
    /// clients get the rest of network and disk
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = parse_copy_rate)]
    pub copy_rate: Size,
    /// Do not serve memcached clients
    #[arg(long, conflicts_with_all = ["listen", "redis", "http", "unix"])]
    pub no_clients: bool,
    #[command(flatten)]
    pub member: MemberArguments,
}

impl RunArguments {
    /// Refuses what each flag alone cannot know.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let clients = &self.member.clients;
        if self.class == ClassArgument::Archive && !clients.are_default() {
            return Err("an archive serves no clients: leave out --listen, --redis, --http and --unix".to_owned());
        }
        if self.class != ClassArgument::Archive && !self.rest.0.is_zero() {
            return Err("only an archive may rest: give --class archive, or leave out --rest".to_owned());
        }
        check_memory(self.memory, self.member.threads.unwrap_or_else(cores))
    }
}

/// Arguments of `fawn frontend`.
#[derive(Debug, Args)]
pub struct FrontendArguments {
    #[command(flatten)]
    pub member: MemberArguments,
}

/// Runs a node until a signal asks to stop.
pub fn run(arguments: &RunArguments) -> anyhow::Result<CommandStatus> {
    let member = &arguments.member;
    member.observe.log();
    let threads = member.threads.unwrap_or_else(cores);
    refuse_file(&arguments.dir)?;
    let mut options = options(member, &arguments.dir)?;
    options.node = arguments.class.into();
    options.rest = arguments.rest.0;
    options.serve.memory_bytes = arguments.memory.unwrap_or_else(|| default_memory(least_memory(threads))).bytes;
    options.serve.chosen = chosen(arguments.memory, member.threads);
    options.serve.miss_filter = arguments.miss_filter;
    options.copy_bytes_per_s = arguments.copy_rate.bytes;
    options.virtual_ids = arguments.virtual_ids.unwrap_or_else(|| default_virtual_ids(threads));
    if arguments.no_clients || arguments.class == ClassArgument::Archive {
        options.is_front = false;
        (options.serve.listen, options.serve.redis, options.serve.unix) = (Vec::new(), Vec::new(), None);
        options.serve.http = Vec::new();
    }
    serve("node", options, &member.observe)
}

/// Runs a front-end until a signal asks to stop.
pub fn run_frontend(arguments: &FrontendArguments) -> anyhow::Result<CommandStatus> {
    arguments.member.observe.log();
    let mut options = options(&arguments.member, Path::new("."))?;
    options.serve.chosen = chosen(None, arguments.member.threads);
    serve("frontend", options, &arguments.member.observe)
}

fn serve(what: &str, mut options: ClusterOptions, observe: &ObserveArguments) -> anyhow::Result<CommandStatus> {
    let admin = observe.open(options.serve.insecure)?;
    options.serve.board = admin.as_ref().map(|admin| admin.board.clone());
    serve_members(std::slice::from_ref(&options), |clients, cluster| {
        crate::tell::finish();
        let mut out = std::io::stdout().lock();
        for address in clients {
            // Nobody may be listening; that is no reason to stop.
            let _ = writeln!(out, "{}", address.ready_line());
        }
        let _ = writeln!(out, "fawn: {what} {} ready on {}", options.name, cluster.join(", "));
        if let Some(admin) = &admin {
            admin.tell(&mut out);
        }
        let _ = out.flush();
    })?;
    Ok(CommandStatus::Done)
}

fn options(arguments: &MemberArguments, dir: &Path) -> anyhow::Result<ClusterOptions> {
    if arguments.manager.is_empty() {
        return Err(UsageError("name a manager of the cluster: --manager ADDR:PORT".to_owned()).into());
    }
    let name = arguments.name.clone().unwrap_or_else(host_name);
    Ok(ClusterOptions {
        certificates: arguments.certs.as_deref().map(|dir| Material::in_dir(dir, &name)),
        serve: ServeOptions {
            threads: arguments.threads.unwrap_or_else(cores),
            chosen: chosen(None, arguments.threads),
            ..arguments.clients.options(dir, arguments.insecure)
        },
        name,
        managers: arguments.manager.clone(),
        cluster_listen: arguments.cluster_listen.clone(),
        advertise: arguments.advertise.clone(),
        machine: arguments.machine.clone(),
        domain: arguments.domain.clone(),
        virtual_ids: 1,
        node: NodeClass::None,
        rest: Duration::ZERO,
        is_front: true,
        cache_bytes: arguments.cache.map_or_else(default_cache, |cache| cache.bytes),
        copy_bytes_per_s: COPY_BYTES_PER_S,
    })
}

fn parse_copy_rate(text: &str) -> Result<Size, String> {
    let rate: Size = text.parse().map_err(|error: ValueError| error.to_string())?;
    if rate.bytes < LEAST_COPY_RATE {
        return Err(format!("copies would never finish: give at least {}", Size { bytes: LEAST_COPY_RATE }));
    }
    Ok(rate)
}

/// Of each event loop: two for every 2 GiB of its share of the machine's DRAM, from 2 to 8.
fn default_virtual_ids(threads: NonZeroUsize) -> u32 {
    let share = resources::memory().amount / threads.get() as u64;
    (2 * (share >> 31) as u32).clamp(2, 8)
}

fn parse_rest(text: &str) -> Result<Span, String> {
    let rest: Span = text.parse().map_err(|error: ValueError| error.to_string())?;
    if rest.0 > MOST_REST {
        return Err(format!(
            "give at most {}h: what an archive has yet to sync is at risk",
            MOST_REST.as_secs() / 3600
        ));
    }
    Ok(rest)
}
