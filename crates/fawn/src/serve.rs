//! `fawn serve`: one node.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use fawn_node::{Limits, ServeOptions, TlsFiles, UnixOptions};
use fawn_store::Ack;

use crate::cluster::arguments::ConsistencyKind;
use crate::local_cluster;
use crate::observe::ObserveArguments;
use crate::outcome::Outcome;
use crate::resources::{self, chosen, cores, default_memory};
use crate::values::{AckMode, FileMode, Size, Span, number};

/// How memcached clients are served.
#[derive(Debug, Args)]
pub struct ClientsArguments {
    /// Address to listen on; port 0 takes a free port; may be given several times
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:11211", value_parser = parse_listen)]
    pub listen: Vec<String>,
    /// Listen on this Unix socket, too
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Permissions of the Unix socket
    #[arg(long, value_name = "MODE", default_value = "0700", requires = "unix")]
    pub unix_mode: FileMode,
    /// Largest item, at most 128M: as memcached counts, the value, its key and 59 bytes (63 with client flags)
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_item_size)]
    pub max_item_size: Size,
    /// File of user:password lines; clients must then authenticate as memcached's -Y wants it
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Certificate chain (PEM); the address then speaks TLS only
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Connections at a time; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = number::<u32>(1..))]
    pub max_connections: u32,
    /// Close connections that were silent for this long; 0 for never [default: never]
    #[arg(long, value_name = "DURATION")]
    pub idle_timeout: Option<Span>,
    /// Refuse clients' `flush_all`, which would empty the store
    #[arg(long)]
    pub no_flush: bool,
}

/// Arguments of `fawn serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Once connections are accepted, one line `fawn: serving memcached on ADDR:PORT` goes to standard output; the log goes \
to standard error. SIGTERM, SIGINT, SIGQUIT and SIGHUP stop the server cleanly: everything acknowledged is on flash, exit \
code 0. Another one, five seconds or more after the first, stops it at once, as a crash would. Under nohup SIGHUP is ignored.

With --nodes the line comes once every key is served, and a second one, `fawn: manager ID ready on ADDR:PORT`, says where \
`fawn status` and more nodes (`fawn node --manager ADDR:PORT`) reach the cluster.

A full disk refuses new values; nothing is ever evicted. A new store preallocates its commit log: a quarter of \
--memory in all, 4M to 256M for each thread. An address beyond the loopback needs --auth-file and \
--tls-cert, or --insecure where the network itself keeps strangers out.")]
pub struct ServeArguments {
    /// Directory of the data; made when it does not exist
    #[arg(long, value_name = "DIR", default_value = "./fawn-data")]
    pub dir: PathBuf,
    /// DRAM for index, buffers and record cache, at least 8M for each thread [default: a quarter of what the
    /// machine, its container and its limits leave]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Keep a filter of the keys on flash where DRAM cannot index every record, 1.2 bytes a record more: absent keys then
    /// cost a read in 250 gets instead of each
    #[arg(long)]
    pub miss_filter: bool,
    /// When a write is answered: durable (after the sync that covers it), interval:MS (at once, synced at most MS
    /// milliseconds later) or memory (at once, durable when its segment is sealed)
    #[arg(long, value_name = "MODE", default_value = "durable")]
    pub ack: AckMode,
    /// Event loops, each with its own core and share of the keys, up to four a core [default: one a core that it may use]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Run a cluster of so many nodes in this process, each in a directory of its own: for trying things out
    #[arg(long, value_name = "N", value_parser = number::<u8>(1..=16))]
    pub nodes: Option<u8>,
    /// Copies that such a cluster keeps of each value, when it begins [default: 1]
    #[arg(long, value_name = "N", requires = "nodes", value_parser = number::<u8>(1..=16))]
    pub replicas: Option<u8>,
    /// What these copies are to each other, for the cluster's whole life: see `fawn manager --help` [default: strong]
    #[arg(long, value_name = "KIND", requires = "nodes")]
    pub consistency: Option<ConsistencyKind>,
    /// Address of such a cluster's manager, for `fawn status` and more nodes; port 0 takes a free port [default: where it was
    /// before, or 127.0.0.1:7400, or a free port if that is taken]
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
fn parse_item_size(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: crate::values::ValueError| error.to_string())?;
    match size.bytes {
        bytes if bytes < 1024 => Err(format!("{size} is too small; choose 1K to 128M")),
        bytes if bytes > LARGEST_ITEM.bytes => Err(format!("{size} is too large; choose 1K to 128M")),
        _ => Ok(size),
    }
}

/// Takes `--listen` when it has the form of an address with a port. Whether there is such a host is seen later.
pub fn parse_listen(text: &str) -> Result<String, String> {
    // As in a list with blanks behind its commas.
    let text = text.trim();
    if text.parse::<u16>().is_ok() {
        return Err(format!("write ADDR:PORT, such as 127.0.0.1:{text}"));
    }
    let well_formed = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bracketed = host.starts_with('[') && host.ends_with(']');
        port.parse::<u16>().is_ok() && !host.is_empty() && !host.contains('/') && (bracketed || !host.contains(':'))
    });
    if well_formed {
        Ok(text.to_owned())
    } else {
        Err("write ADDR:PORT, such as 127.0.0.1:11211 or [::1]:11211".into())
    }
}

/// Event loops for each core beyond which they only take turns.
const THREADS_A_CORE: usize = 4;

/// Parses `--threads`.
pub fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    let most = cores().saturating_mul(NonZeroUsize::new(THREADS_A_CORE).unwrap_or(NonZeroUsize::MIN));
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads <= most => Ok(threads),
        _ => Err(format!("choose 1 to {most}: this machine has {} cores, and more threads only take turns", cores())),
    }
}

/// Least memory of a thread: its open segment, two that are being sealed, and an index.
const LEAST_MEMORY_A_THREAD: u64 = 8 << 20;

impl ServeArguments {
    fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(cores)
    }

    /// The least that `--memory` may be.
    fn least_memory(&self) -> Size {
        let of_node = |nodes| local_cluster::threads_of_each(self.threads(), nodes);
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
            return Err("--nodes answers writes when they are durable on all replicas: leave --ack out".into());
        }
        if let Some(replicas) = self.replicas.filter(|replicas| *replicas > nodes) {
            return Err(format!("--replicas {replicas} needs as many --nodes: there are {nodes}"));
        }
        let least = self.least_memory();
        let Some(memory) = self.memory.filter(|memory| *memory < least) else { return Ok(()) };
        let each = local_cluster::threads_of_each(self.threads(), nodes);
        let fewer = if each.get() > 1 { "--threads" } else { "--nodes" };
        Err(format!(
            "--memory {} is too small for --nodes {nodes} of {}: give --memory {}, or fewer {fewer}",
            memory.flag(),
            counted(each),
            least.flag()
        ))
    }
}

/// `1 thread`, `2 threads`.
fn counted(threads: NonZeroUsize) -> String {
    format!("{threads} thread{}", if threads.get() == 1 { "" } else { "s" })
}

/// The least memory of so many threads.
pub fn least_memory(threads: NonZeroUsize) -> Size {
    Size { bytes: LEAST_MEMORY_A_THREAD * threads.get() as u64 }
}

/// Refuses less memory than so many threads need, whether anybody gave their number or not.
///
/// # Errors
/// What is wrong.
pub fn check_memory(memory: Option<Size>, threads: NonZeroUsize) -> Result<(), String> {
    let least = least_memory(threads);
    let Some(memory) = memory.filter(|memory| *memory < least) else { return Ok(()) };
    let fit = memory.bytes / LEAST_MEMORY_A_THREAD;
    let fewer = if fit > 0 { format!(", or --threads {fit}") } else { String::new() };
    let (memory, threads, least) = (memory.flag(), counted(threads), least.flag());
    Err(format!("--memory {memory} is too small for {threads}: give --memory {least}{fewer}"))
}

/// Parses `--memory` of a single store.
pub fn parse_store_memory(text: &str) -> Result<Size, String> {
    let size: Size = text.parse().map_err(|error: crate::values::ValueError| error.to_string())?;
    let least = Size { bytes: LEAST_MEMORY_A_THREAD };
    if size < least {
        return Err(format!("a store needs {} at least", least.flag()));
    }
    Ok(size)
}

/// Serves until a signal asks to stop.
pub fn run(arguments: &ServeArguments) -> anyhow::Result<Outcome> {
    refuse_file(&arguments.dir)?;
    arguments.observe.log();
    let admin = arguments.observe.open(arguments.insecure)?;
    if let Some(nodes) = arguments.nodes {
        return local_cluster::run(arguments, nodes, admin.as_ref());
    }
    local_cluster::refuse_cluster(&arguments.dir)?;
    let board = admin.as_ref().map(|admin| admin.board.clone());
    fawn_node::serve(&ServeOptions { board, ..options(arguments) }, |addresses| {
        crate::tell::finish();
        let mut out = std::io::stdout().lock();
        for address in addresses {
            // Nobody may be listening; that is no reason to stop.
            let _ = writeln!(out, "fawn: serving memcached on {address}");
        }
        if let Some(admin) = &admin {
            admin.tell(&mut out);
        }
        let _ = out.flush();
    })?;
    Ok(Outcome::Done)
}

impl ClientsArguments {
    /// What they say of a server's options.
    pub fn options(&self, dir: &Path, insecure: bool) -> ServeOptions {
        let files = (self.tls_cert.clone(), self.tls_key.clone());
        ServeOptions {
            listen: self.listen.clone(),
            unix: self.unix.clone().map(|path| UnixOptions { path, mode: self.unix_mode.0 }),
            max_item_bytes: self.max_item_size.bytes as usize,
            auth_file: self.auth_file.clone(),
            tls: if let (Some(cert), Some(key)) = files { Some(TlsFiles { cert, key }) } else { None },
            insecure,
            flush_enabled: !self.no_flush,
            limits: Limits {
                connections: self.max_connections as usize,
                idle_timeout: self.idle_timeout.map(|span| span.0).filter(|span| !span.is_zero()),
                buffered_bytes: resources::buffers(Limits::default().buffered_bytes),
                ..Limits::default()
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
        Some(file) => bail!("{} is a file; --dir needs a directory, or the name of one to be made", file.display()),
        None => Ok(()),
    }
}
