//! Arguments of `fawn serve`, and the options of a server that follow from them.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fawn_node::{ServeLimits, ServeOptions, TlsFiles, UnixOptions};
use fawn_store::Ack;

use crate::consistency::ConsistencyKind;
use crate::observe::ObserveArguments;
use crate::resources::{self, check_memory, chosen, cores, counted, default_memory, least_memory, parse_threads};
use crate::values::{AckMode, FileMode, Size, Span, ValueError, number, parse_listen};

/// Where memcached clients are served by default.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:11211";

/// How memcached clients are served.
#[derive(Debug, Args)]
pub struct ClientsArguments {
    /// Address to listen on; port 0 picks a free port; may be given several times
    #[arg(long, value_name = "ADDR:PORT", default_value = DEFAULT_LISTEN, value_parser = parse_listen)]
    pub listen: Vec<String>,
    /// Also serve clients of Redis on this address; port 0 picks a free port; may be given several times
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub redis: Vec<String>,
    /// Also serve HTTP on this address: keys at /v1/keys/KEY; port 0 picks a free port; may be given several times
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub http: Vec<String>,
    /// Also listen on this Unix socket
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Permissions of the Unix socket
    #[arg(long, value_name = "MODE", default_value = "0700", requires = "unix")]
    pub unix_mode: FileMode,
    /// Largest item, at most 128M; as in memcached, an item is the value, the key and 59 bytes (63 with client flags)
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_item_size)]
    pub max_item_size: Size,
    /// File of user:password lines; clients must then authenticate, as with memcached's -Y
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Certificate chain (PEM); the address then accepts TLS only
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Maximum number of open connections; the server refuses further ones
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = number::<u32>(1..))]
    pub max_connections: u32,
    /// Close connections that are idle for this long; 0 for never [default: never]
    #[arg(long, value_name = "DURATION")]
    pub idle_timeout: Option<Span>,
    /// Refuse the client command `flush_all`, which would empty the store
    #[arg(long)]
    pub no_flush: bool,
}

/// Arguments of `fawn serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Once connections are accepted, the server prints a line for each address to standard output: `fawn: serving \
memcached on ADDR:PORT`, or `redis` or `http`. The log goes to standard error. SIGTERM, SIGINT, SIGQUIT and SIGHUP stop the server cleanly: every \
acknowledged write is on flash, and the exit code is 0. A second signal, five seconds or more after the first, \
stops it at once, like a crash. Under nohup the server ignores SIGHUP.

With --nodes the server prints the line once every key is served. A second line, `fawn: manager ID ready on \
ADDR:PORT`, gives the address for `fawn status` and for more nodes (`fawn node --manager ADDR:PORT`).

If the disk is full, the server refuses new values; it never evicts any. A new store preallocates its commit log: a \
quarter of --memory in all, 4M to 256M per thread. An address beyond the loopback needs --auth-file and --tls-cert, \
or --insecure if the network itself is trusted.")]
pub struct ServeArguments {
    /// Data directory; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "./fawn-data")]
    pub dir: PathBuf,
    /// DRAM for index, buffers and record cache, at least 8M per thread [default: a quarter of what the machine, its
    /// container and its limits leave]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Filter out lookups of absent keys where DRAM cannot index every record: one flash read per 250 such gets
    /// instead of one each, for 1.2 bytes per record
    #[arg(long)]
    pub miss_filter: bool,
    /// When to acknowledge a write: durable (after its sync), interval:MS (at once, synced within MS milliseconds) or
    /// memory (at once, durable when its segment is sealed)
    #[arg(long, value_name = "MODE", default_value = "durable")]
    pub ack: AckMode,
    /// Event loops, each with its own core and share of the keys, up to four per core [default: one per available
    /// core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Run a cluster of this many nodes in this process, each in its own directory: for trying things out
    #[arg(long, value_name = "N", value_parser = number::<u8>(1..=16))]
    pub nodes: Option<u8>,
    /// Copies of each value in such a cluster, at its creation [default: 1]
    #[arg(long, value_name = "N", requires = "nodes", value_parser = number::<u8>(1..=16))]
    pub replicas: Option<u8>,
    /// Consistency of these copies, fixed for the cluster's life: see `fawn manager --help` [default: strong]
    #[arg(long, value_name = "KIND", requires = "nodes")]
    pub consistency: Option<ConsistencyKind>,
    /// Address of such a cluster's manager, for `fawn status` and more nodes; port 0 picks a free port [default: the
    /// last one, else 127.0.0.1:7400, else a free port]
    #[arg(long, value_name = "ADDR:PORT", requires = "nodes", value_parser = parse_listen)]
    pub manager_address: Option<String>,
    #[command(flatten)]
    pub clients: ClientsArguments,
    /// Listen beyond the loopback without authentication or TLS
    #[arg(long)]
    pub insecure: bool,
    #[command(flatten)]
    pub observe: ObserveArguments,
}

/// The largest value that the formats allow.
const LARGEST_ITEM: Size = Size { bytes: 128 << 20 };

/// Parses `--max-item-size`.
pub fn parse_item_size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: ValueError| error.to_string())?;
    match size.bytes {
        bytes if bytes < 1024 => Err(format!("{size} is too small; choose 1K to 128M")),
        bytes if bytes > LARGEST_ITEM.bytes => Err(format!("{size} is too large; choose 1K to 128M")),
        _ => Ok(size),
    }
}

impl ServeArguments {
    fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(cores)
    }

    /// The least that `--memory` may be.
    fn least_memory(&self) -> Size {
        let of_node = |nodes| threads_of_each(self.threads(), nodes);
        let each = least_memory(self.nodes.map_or(self.threads(), of_node));
        Size { bytes: each.bytes * self.nodes.map_or(1, u64::from) }
    }

    /// Refuses what each flag alone cannot know.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let Some(nodes) = self.nodes else { return check_memory(self.memory, self.threads()) };
        if self.ack != AckMode::Durable {
            return Err("--nodes acknowledges writes when they are durable on all replicas: leave --ack out".into());
        }
        if let Some(replicas) = self.replicas.filter(|replicas| *replicas > nodes) {
            return Err(format!("--replicas {replicas} needs at least as many --nodes, but there are {nodes}"));
        }
        let least = self.least_memory();
        let Some(memory) = self.memory.filter(|memory| *memory < least) else { return Ok(()) };
        let each = threads_of_each(self.threads(), nodes);
        let fewer = if each.get() > 1 { "--threads" } else { "--nodes" };
        Err(format!(
            "--memory {} is too small for --nodes {nodes} of {}: give --memory {}, or fewer {fewer}",
            memory.flag(),
            counted(each),
            least.flag()
        ))
    }
}

impl ClientsArguments {
    /// Whether nothing is said of where clients connect.
    pub fn are_default(&self) -> bool {
        self.listen == [DEFAULT_LISTEN] && self.redis.is_empty() && self.http.is_empty() && self.unix.is_none()
    }

    /// What they say of a server's options.
    pub fn options(&self, dir: &Path, insecure: bool) -> ServeOptions {
        let files = (self.tls_cert.clone(), self.tls_key.clone());
        ServeOptions {
            listen: self.listen.clone(),
            redis: self.redis.clone(),
            http: self.http.clone(),
            unix: self.unix.clone().map(|path| UnixOptions { path, mode: self.unix_mode.0 }),
            max_item_bytes: self.max_item_size.bytes as usize,
            auth_file: self.auth_file.clone(),
            tls: if let (Some(cert), Some(key)) = files { Some(TlsFiles { cert, key }) } else { None },
            insecure,
            flush_enabled: !self.no_flush,
            limits: ServeLimits {
                connections: self.max_connections as usize,
                idle_timeout: self.idle_timeout.map(|span| span.0).filter(|span| !span.is_zero()),
                buffered_bytes: resources::buffers(ServeLimits::default().buffered_bytes),
                ..ServeLimits::default()
            },
            ..ServeOptions::new(dir)
        }
    }
}

/// The node's options. What was not given is derived from the machine.
pub fn options(arguments: &ServeArguments) -> ServeOptions {
    ServeOptions {
        threads: arguments.threads(),
        memory_bytes: arguments.memory.unwrap_or_else(|| default_memory(arguments.least_memory())).bytes,
        miss_filter: arguments.miss_filter,
        ack: match arguments.ack {
            AckMode::Durable => Ack::Durable,
            AckMode::Interval { ms } => Ack::Interval { ms },
            AckMode::Memory => Ack::Memory,
        },
        chosen: chosen(arguments.memory, arguments.threads),
        ..arguments.clients.options(&arguments.dir, arguments.insecure)
    }
}

/// Refuses a data directory that is a file, or lies below one.
pub fn refuse_file(dir: &Path) -> anyhow::Result<()> {
    match dir.ancestors().find(|part| part.is_file()) {
        Some(file) => bail!("{} is a file: give --dir a directory, or the name of one to create", file.display()),
        None => Ok(()),
    }
}

/// Event loops of each of so many nodes.
pub fn threads_of_each(threads: NonZeroUsize, nodes: u8) -> NonZeroUsize {
    NonZeroUsize::new(threads.get() / usize::from(nodes)).unwrap_or(NonZeroUsize::MIN)
}
