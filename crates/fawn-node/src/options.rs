//! What a node is started with.

use fawn_admin::Board;
use fawn_store::Ack;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Connections that may wait to be accepted.
pub const BACKLOG: i32 = 1024;

/// Where clients reach a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAddress {
    /// What they speak: `memcached`, `redis` or `http`.
    pub protocol: &'static str,
    /// The address with its real port, or the path of a Unix socket.
    pub address: String,
}

impl ClientAddress {
    /// The line that a process prints once it serves clients there.
    pub fn ready_line(&self) -> String {
        format!("fawn: serving {} on {}", self.protocol, self.address)
    }
}

/// Everything `serve` needs to know.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Directory of the stores; made if it does not exist.
    pub dir: PathBuf,
    /// TCP addresses, `HOST:PORT` each; port 0 takes a free one.
    pub listen: Vec<String>,
    /// TCP addresses for clients of Redis, in the same form.
    pub redis: Vec<String>,
    /// TCP addresses for clients of HTTP, in the same form.
    pub http: Vec<String>,
    /// A Unix socket to listen on as well.
    pub unix: Option<UnixOptions>,
    /// Event loops, one a core.
    pub threads: NonZeroUsize,
    /// Bytes of DRAM for index, buffers and record cache of all stores.
    pub memory_bytes: u64,
    /// Whether stores that cannot index every record keep filters, so that most absent keys cost no read.
    pub miss_filter: bool,
    /// When a put is answered.
    pub ack: Ack,
    /// Largest value, in bytes (1 MiB by default, 128 MiB at most).
    pub max_item_bytes: usize,
    /// File of `user:password` lines; clients must then authenticate as memcached's `-Y` has it.
    pub auth_file: Option<PathBuf>,
    /// Certificate and key; TCP connections are then TLS.
    pub tls: Option<TlsFiles>,
    /// Listen outside loopback although TLS or authentication is missing.
    pub insecure: bool,
    /// Whether clients may `flush_all`.
    pub flush_enabled: bool,
    /// What hostile and broken clients may use up.
    pub limits: ServeLimits,
    /// Where the admin port finds what it tells.
    pub board: Option<Board>,
    /// Where figures come from, for the log.
    pub chosen: SettingOrigins,
}

/// Who has chosen what a process runs with, in words for its log.
#[derive(Clone, Debug)]
pub struct SettingOrigins {
    /// Its memory: what it was derived from, and of which limit.
    pub memory: String,
    /// Its threads.
    pub threads: String,
}

impl Default for SettingOrigins {
    fn default() -> Self {
        Self { memory: "given".to_owned(), threads: "given".to_owned() }
    }
}

impl ServeOptions {
    /// Serving `dir` on memcached's port on loopback, with one thread, 64 MiB and durable answers.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            listen: vec!["127.0.0.1:11211".into()],
            redis: Vec::new(),
            http: Vec::new(),
            unix: None,
            threads: NonZeroUsize::MIN,
            memory_bytes: 64 << 20,
            miss_filter: false,
            ack: Ack::Durable,
            max_item_bytes: 1 << 20,
            auth_file: None,
            tls: None,
            insecure: false,
            flush_enabled: true,
            limits: ServeLimits::default(),
            board: None,
            chosen: SettingOrigins::default(),
        }
    }
}

/// A Unix socket.
#[derive(Clone, Debug)]
pub struct UnixOptions {
    /// Its path; a stale socket there is replaced, a live one is not.
    pub path: PathBuf,
    /// Its permission bits, such as `0o700`.
    pub mode: u32,
}

/// PEM files for TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain, leaf first.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Bounds on what clients may use up. Beyond them they wait or are refused; nothing grows without bound.
#[derive(Clone, Copy, Debug)]
pub struct ServeLimits {
    /// Connections at a time; more are told `ERROR Too many open connections`.
    pub connections: usize,
    /// A connection that sends nothing for this long, with nothing owed to it, is closed. `None`: never.
    pub idle_timeout: Option<Duration>,
    /// A connection that takes less than a quarter of the answers that wait for it within this time, or leaves a TLS
    /// handshake or a command unfinished for this long, is closed.
    pub stall_timeout: Duration,
    /// A connection that has not finished its TLS handshake or authenticated, where it must, within this time is closed.
    pub stranger_timeout: Duration,
    /// Bytes of answers that one connection may have waiting before its requests are no longer read.
    pub output_bytes: usize,
    /// Bytes up to which the answer to a get of several keys is decided before its first byte leaves; at most an eighth
    /// of the answers that a loop may buffer.
    pub whole_answer_bytes: usize,
    /// Bytes of requests (those in flight included) and answers buffered for all connections together.
    pub buffered_bytes: usize,
    /// Requests in flight (waiting for flash or another core) for all connections together.
    pub requests_in_flight: usize,
    /// TLS handshake steps a loop does in one turn.
    pub handshakes_a_turn: usize,
    /// How long a stopping node waits for its clients to take their last answers.
    pub stop_timeout: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            idle_timeout: None,
            stall_timeout: Duration::from_mins(1),
            stranger_timeout: Duration::from_secs(10),
            output_bytes: 1 << 20,
            whole_answer_bytes: 64 << 20,
            buffered_bytes: 512 << 20,
            requests_in_flight: 16_384,
            handshakes_a_turn: 2,
            stop_timeout: Duration::from_secs(10),
        }
    }
}
