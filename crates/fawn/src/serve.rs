//! `fawn serve`: one node.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::Outcome;
use crate::values::{AckMode, FileMode, Size, Span};

/// Arguments of `fawn serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Once connections are accepted, one line `fawn: serving memcached on ADDR:PORT` goes to standard output; the log goes \
to standard error. SIGTERM and SIGINT stop the server cleanly: everything acknowledged is on flash, exit code 0.

A full disk refuses new values; nothing is ever evicted. An address beyond the loopback needs --auth-file and \
--tls-cert, or --insecure where the network itself keeps strangers out.")]
pub struct ServeArguments {
    /// Directory of the data; made when it does not exist
    #[arg(long, value_name = "DIR", default_value = "./fawn-data")]
    pub dir: PathBuf,
    /// Address to listen on; port 0 takes a free port; may be given several times
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:11211")]
    pub listen: Vec<String>,
    /// DRAM for index, buffers and record cache [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// When a write is answered: durable (after the sync that covers it), interval:MS (at once, synced at most MS
    /// milliseconds later) or memory (at once, durable when its segment is sealed)
    #[arg(long, value_name = "MODE", default_value = "durable")]
    pub ack: AckMode,
    /// Listen on this Unix socket, too
    #[arg(long, value_name = "PATH")]
    pub unix: Option<PathBuf>,
    /// Permissions of the Unix socket
    #[arg(long, value_name = "MODE", default_value = "0700", requires = "unix")]
    pub unix_mode: FileMode,
    /// Event loops, each with its own core and share of the keys [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Largest value, at most 128M
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
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub max_connections: u32,
    /// Close connections that were silent for this long [default: never]
    #[arg(long, value_name = "DURATION")]
    pub idle_timeout: Option<Span>,
    /// Refuse clients' `flush_all`, which would empty the store
    #[arg(long)]
    pub no_flush: bool,
    /// Listen beyond the loopback without authentication or TLS
    #[arg(long)]
    pub insecure: bool,
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

/// Serves until a signal asks to stop.
pub fn run(_arguments: &ServeArguments) -> anyhow::Result<Outcome> {
    bail!("this build has no server")
}
