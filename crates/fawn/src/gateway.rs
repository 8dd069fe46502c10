//! `fawn gateway`: a process that serves one other client protocol alone, in front of a cluster or of a directory of its own.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::node::{self, FrontendArguments, MemberArguments};
use crate::observe::ObserveArguments;
use crate::outcome::{CommandStatus, UsageError};
use crate::resources::{check_memory, cores, host_name, parse_threads};
use crate::serve;
use crate::serve::arguments::{ClientsArguments, ServeArguments, parse_item_size};
use crate::values::{AckMode, FileMode, Size, Span, number, parse_listen};

/// Arguments of `fawn gateway`.
#[derive(Debug, Args)]
pub struct GatewayArguments {
    /// What is served.
    #[command(subcommand)]
    pub command: GatewayCommand,
}

/// The protocols.
#[derive(Debug, Subcommand)]
pub enum GatewayCommand {
    /// Serve HTTP alone: keys as resources, with conditions, ranges and batches
    Http(Box<HttpArguments>),
}

/// Arguments of `fawn gateway http`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --manager the process is a front-end of that cluster and keeps no data. With --dir it is a server with that \
data directory. `fawn serve`, `fawn node` and `fawn frontend` serve HTTP beside memcached's protocol with --http.

Once connections are accepted, the process prints `fawn: serving http on ADDR:PORT`. The key `a b` is at \
/v1/keys/a%20b: GET, HEAD, PUT and DELETE. An address beyond the loopback needs --auth-file and --tls-cert, or \
--insecure if the network itself is trusted.")]
pub struct HttpArguments {
    /// Address to listen on; port 0 picks a free port; may be given several times
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    pub listen: Vec<String>,
    /// Addresses of managers of the cluster to serve, separated by commas
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',', value_parser = parse_listen, conflicts_with = "dir")]
    pub manager: Vec<String>,
    /// Data directory to serve, which no other process has open; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Name in the cluster, permanent [default: the machine's, and -http]
    #[arg(long, value_name = "NAME", conflicts_with = "dir")]
    pub name: Option<String>,
    /// Address for the other processes of the cluster; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = parse_listen)]
    pub cluster_listen: String,
    /// Address at which the others reach this process [default: that of --cluster-listen]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen, conflicts_with = "dir")]
    pub advertise: Option<String>,
    /// Directory of certificates from `fawn certs` for the cluster's traffic
    #[arg(long, value_name = "DIR", conflicts_with = "dir")]
    pub certs: Option<PathBuf>,
    /// DRAM for the value cache in front of a cluster; 0 for none [default: as of `fawn frontend`]
    #[arg(long, value_name = "SIZE", conflicts_with = "dir")]
    pub cache: Option<Size>,
    /// DRAM for index, buffers and record cache of --dir, at least 8M per thread [default: as of `fawn serve`]
    #[arg(long, value_name = "SIZE", conflicts_with = "manager")]
    pub memory: Option<Size>,
    /// Event loops, each with its own core [default: one per available core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Largest item, at most 128M; the value, the key and 63 bytes count
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_item_size)]
    pub max_item_size: Size,
    /// File of user:password lines; clients must then authenticate, by Basic or Bearer
    #[arg(long, value_name = "FILE")]
    pub auth_file: Option<PathBuf>,
    /// Certificate chain (PEM); the address then accepts HTTPS only
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
    /// Listen beyond the loopback without authentication or TLS
    #[arg(long)]
    pub insecure: bool,
    #[command(flatten)]
    pub observe: ObserveArguments,
}

impl GatewayArguments {
    /// Refuses what each flag alone cannot know.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let GatewayCommand::Http(arguments) = &self.command;
        check_memory(arguments.memory, arguments.threads.unwrap_or_else(cores))
    }
}

impl HttpArguments {
    fn clients(&self) -> ClientsArguments {
        ClientsArguments {
            listen: Vec::new(),
            redis: Vec::new(),
            http: self.listen.clone(),
            unix: None,
            unix_mode: FileMode(0o700),
            max_item_size: self.max_item_size,
            auth_file: self.auth_file.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            max_connections: self.max_connections,
            idle_timeout: self.idle_timeout,
            no_flush: true,
        }
    }
}

/// Serves until a signal asks to stop.
pub fn run(arguments: &GatewayArguments) -> anyhow::Result<CommandStatus> {
    let GatewayCommand::Http(arguments) = &arguments.command;
    let clients = arguments.clients();
    if let Some(dir) = &arguments.dir {
        return serve::run(&ServeArguments {
            dir: dir.clone(),
            memory: arguments.memory,
            miss_filter: false,
            ack: AckMode::Durable,
            threads: arguments.threads,
            nodes: None,
            replicas: None,
            consistency: None,
            manager_address: None,
            clients,
            insecure: arguments.insecure,
            observe: arguments.observe.clone(),
        });
    }
    if arguments.manager.is_empty() {
        return Err(UsageError("say what to serve: --manager ADDR:PORT or --dir DIR".to_owned()).into());
    }
    node::run_frontend(&FrontendArguments {
        member: MemberArguments {
            manager: arguments.manager.clone(),
            name: Some(arguments.name.clone().unwrap_or_else(|| format!("{}-http", host_name()))),
            cluster_listen: arguments.cluster_listen.clone(),
            advertise: arguments.advertise.clone(),
            machine: None,
            domain: None,
            cache: arguments.cache,
            threads: arguments.threads,
            certs: arguments.certs.clone(),
            insecure: arguments.insecure,
            observe: arguments.observe.clone(),
            clients,
        },
    })
}
