//! The command line: every subcommand with its arguments.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use fawn_transfer::client::{Address, Endpoint};
use fawn_transfer::redis::RedisSource;
use fawn_transfer::{Format, OnError};

use crate::bench::BenchArguments;
use crate::certs::CertsArguments;
use crate::cluster::arguments::{
    ClusterArguments, ManagerArguments, NodeArguments, RebalanceArguments, StatusArguments,
};
use crate::config::{ConfigArguments, Problem};
use crate::connect::ConnectArguments;
use crate::gateway::GatewayArguments;
use crate::gordon::GordonArguments;
use crate::joule::JouleArguments;
use crate::node::FrontendArguments;
use crate::plan::PlanArguments;
use crate::resources::{check_memory, cores, default_memory, least_memory, parse_threads};
use crate::serve::arguments::ServeArguments;
use crate::store_command::StoreArguments;
use crate::values::{Size, Span, number, parse_listen, parse_redis};

/// A log-structured flash key-value store that speaks memcached's protocol.
#[derive(Debug, Parser)]
#[command(
    name = "fawn",
    version,
    after_help = "\
Exit codes: 0 success, 1 failure or not found, 2 invalid command line. A load, dump or benchmark that is \
interrupted exits with 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).
Every flag is also an environment variable and a key of a configuration file. For example, `fawn serve \
--max-item-size 2M` is FAWN_SERVE_MAX_ITEM_SIZE=2M, or FAWN_MAX_ITEM_SIZE for every command with that flag. `fawn \
config show serve` lists them.
Sizes take K, M, G or T (powers of 1024; in `fawn plan`, powers of 1000). Counts, e.g. `--keys 1M` and `--rate \
50k`, take K, M or G (powers of 1000). Durations take ms, s, m, h or d."
)]
pub struct Fawn {
    /// Configuration file: flags under `[serve]` etc., or before all tables for every command
    #[arg(long, value_name = "FILE", global = true, env = "FAWN_CONFIG")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What is typed: arguments of the command that are neither from the environment nor from a file.
    #[arg(skip)]
    pub typed: Vec<String>,
    /// The words of the command, such as `bench` and `store`.
    #[arg(skip)]
    pub words: Vec<String>,
    /// What is set in the environment and means nothing.
    #[arg(skip)]
    pub warnings: Vec<Problem>,
}

impl Fawn {
    /// An error about arguments, with the usage of the command that they are of.
    pub fn misused(&self, what: &str) -> clap::Error {
        let mut root = Self::command();
        root.build();
        let mut command = &mut root;
        for word in &self.words {
            command = command.find_subcommand_mut(word).expect("it was parsed");
        }
        command.error(ErrorKind::ValueValidation, what)
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a store to memcached clients
    Serve(Box<ServeArguments>),
    /// Run a node of a cluster, which keeps data and serves memcached clients
    Node(Box<NodeArguments>),
    /// Run a front-end of a cluster, which serves memcached clients and keeps no data
    Frontend(Box<FrontendArguments>),
    /// Run a process that serves another client protocol alone: HTTP
    Gateway(GatewayArguments),
    /// Run a manager (membership and chain configuration)
    Manager(Box<ManagerArguments>),
    /// Show cluster status
    Status(StatusArguments),
    /// Change a cluster's settings
    Cluster(ClusterArguments),
    /// Show what would move if members left
    Rebalance(RebalanceArguments),
    /// Load records from a file, a pipe or a running memcached into a server, or into a data directory offline
    Load(Box<LoadArguments>),
    /// Write every record of a server or a cluster to a file or a pipe
    Dump(DumpArguments),
    /// Print the values of keys
    Get(GetArguments),
    /// Store one value
    Set(SetArguments),
    /// Delete keys
    Delete(DeleteArguments),
    /// Inspect a data directory while no server runs
    Store(StoreArguments),
    /// Benchmark the storage engine on this machine, or any server over the network
    Bench(BenchArguments),
    /// Compute how many nodes a cluster needs, and what they cost
    Plan(Box<PlanArguments>),
    /// Simulate flash, disks and whole nodes, and record this machine for it
    Gordon(GordonArguments),
    /// Measure what this machine does per joule: sort, search, compute
    Joule(JouleArguments),
    /// Create, show and renew the certificates of a cluster
    Certs(CertsArguments),
    /// Check the configuration file and the environment, or show the resulting settings
    Config(ConfigArguments),
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    Man(ManArguments),
}

impl Command {
    /// Refuses what each flag alone cannot know.
    ///
    /// # Errors
    /// What is wrong with the flags together.
    pub fn check(&self, typed: &[String]) -> Result<(), String> {
        match self {
            Self::Serve(arguments) => arguments.check(),
            Self::Node(arguments) if arguments.command.is_none() => arguments.run.check(),
            Self::Gateway(arguments) => arguments.check(),
            Self::Load(arguments) => arguments.check(typed),
            Self::Dump(arguments) => arguments.check(typed),
            Self::Manager(arguments) => arguments.check(),
            Self::Bench(arguments) => arguments.check(),
            Self::Gordon(arguments) => arguments.check(typed),
            _ => Ok(()),
        }
    }
}

/// A server to talk to, for the commands with one server.
#[derive(Clone, Debug, Args)]
pub struct ServerArguments {
    /// Server: HOST:PORT, or the path of a Unix socket
    #[arg(long, value_name = "ADDR", env = "FAWN_SERVER", default_value = "127.0.0.1:11211")]
    pub to: Address,
    #[command(flatten)]
    pub connect: ConnectArguments,
}

impl ServerArguments {
    /// The server to connect to.
    pub fn endpoint(&self) -> Endpoint {
        self.connect.endpoint(self.to.clone())
    }
}

/// How records are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatChoice {
    /// key TAB value, one record per line, with \t \n \r \\ \xHH escapes; no flags, no expiry
    Tsv,
    /// one JSON object per line, which also carries binary keys and values, flags and expiry
    Jsonl,
}

/// What `load` does with a line that it cannot load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnErrorChoice {
    /// Report it and stop before it
    Stop,
    /// Report it and continue with the next
    Skip,
}

impl From<FormatChoice> for Format {
    fn from(choice: FormatChoice) -> Self {
        match choice {
            FormatChoice::Tsv => Self::Tsv,
            FormatChoice::Jsonl => Self::Jsonl,
        }
    }
}

impl From<OnErrorChoice> for OnError {
    fn from(choice: OnErrorChoice) -> Self {
        match choice {
            OnErrorChoice::Stop => Self::Stop,
            OnErrorChoice::Skip => Self::Skip,
        }
    }
}

/// Arguments of `fawn load`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = "\
Each line is one record. Blank lines are ignored. Files are UTF-8, with or without a byte order mark; \
lines end with LF or CRLF.
  tsv    key TAB value; in either, \\t \\n \\r \\\\ and \\xHH name a byte
  jsonl  {\"key\": \"a\", \"value\": \"b\", \"flags\": 0, \"exptime\": 1900000000, \"cas\": 7}
         key_base64 and value_base64 carry bytes that are not UTF-8; exptime is
         in Unix seconds, 0 for never; a record with cas gets this number, any
         other one that the server chooses

Keys are 1 to 250 bytes without blanks and control characters. A key_base64 may hold any bytes, and so may a tsv \
key that escapes its blanks and control characters, e.g. two\\x20words; with --binary-keys, so may every key. The \
load sends such keys base64-encoded (meta protocol, flag b). They are at most 186 bytes, or 250 without blanks, \
line feeds and zero bytes. With --bulk they are at most 65535 bytes.

While a file is loaded, FILE.fawn-resume records how much of it the server has acknowledged. After an interruption, \
run the same command again: the load continues there, unless the file has changed before that place. A complete \
load removes this state.

With --bulk the records go into the data directory --dir, sorted, at the rate of the device, and without merges \
afterwards. No server may have the directory open; the load creates it if it does not exist. Records that do not \
fit --memory are spooled there first, so keep free space of up to twice the size of the records. Records that the \
directory already holds stay, unless the load has the same keys. After an interruption, run the load again from the \
beginning: until it is complete, each part of the keys is as before or as after. A bad line stops the load before \
it changes anything.

From Redis or Valkey, --from-redis copies a running server and --from-rdb loads the file that SAVE or BGSAVE writes \
(up to Redis 7.2 and Valkey 8). Strings and hashes of one database are loaded with their expiries, rounded up to \
seconds. Everything else is left out and counted: keys of other types, with one example per type; keys that are empty \
or too long; values that are too large; keys of other databases. If keys of this database were left out, the exit \
code is 1, unless --on-error skip is given. A broken connection to Redis is made again, and the copy goes on. A \
damaged RDB file is refused before anything of it is loaded; one from a pipe is loaded while it is read.")]
pub struct LoadArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// Format of the records [default: by the file's name, else jsonl]
    #[arg(long)]
    pub format: Option<FormatChoice>,
    /// Copy every record of this running memcached instead of reading a file
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["format", "resume", "restart", "no_resume", "binary_keys"])]
    pub from_memcached: Option<Address>,
    /// Copy the strings and hashes of this running Redis or Valkey instead of reading a file
    #[arg(
        long,
        value_name = "ADDR",
        value_parser = parse_redis,
        conflicts_with_all = ["format", "resume", "restart", "no_resume", "binary_keys", "from_memcached"]
    )]
    pub from_redis: Option<Address>,
    /// Load the strings and hashes of this RDB file of Redis or Valkey; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "binary_keys", "from_memcached", "from_redis"])]
    pub from_rdb: Option<PathBuf>,
    #[command(flatten)]
    pub redis: RedisArguments,
    /// What to do with a bad line, or with a value that is too large for the server
    #[arg(long, value_name = "ACTION", default_value = "stop")]
    pub on_error: OnErrorChoice,
    /// Also accept keys with blanks, control characters or any other bytes
    #[arg(long)]
    pub binary_keys: bool,
    /// File that records the progress of the load [default: FILE.fawn-resume]
    #[arg(long, value_name = "STATE")]
    pub resume: Option<PathBuf>,
    /// Load from the beginning even if an earlier load was interrupted
    #[arg(long)]
    pub restart: bool,
    /// Do not record the progress of the load
    #[arg(long, conflicts_with_all = ["resume", "restart"])]
    pub no_resume: bool,
    /// Connections to the server; each key always uses the same one, so that its last line wins
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u16>(1..=256))]
    pub connections: u16,
    #[command(flatten)]
    pub bulk: BulkArguments,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// File to load; - for standard input
    #[arg(
        value_name = "FILE",
        required_unless_present_any = ["from_memcached", "from_redis", "from_rdb"],
        conflicts_with_all = ["from_memcached", "from_redis", "from_rdb"]
    )]
    pub file: Option<PathBuf>,
}

/// A load from Redis.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "each has the name of its option")]
pub struct RedisArguments {
    /// With --from-redis or --from-rdb: the number of the database, as SELECT takes it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>(0..=i32::MAX as u64))]
    pub from_database: u32,
    /// With --from-redis: name of an ACL user [default: the default user]
    #[arg(long, value_name = "NAME", requires = "from_password_file")]
    pub from_user: Option<String>,
    /// With --from-redis: file whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub from_password_file: Option<PathBuf>,
    /// With --from-redis: speak TLS and trust the certificates in this PEM file
    #[arg(long, value_name = "FILE")]
    pub from_tls_ca: Option<PathBuf>,
    /// With --from-redis: name that its certificate must carry [default: the host of the address]
    #[arg(long, value_name = "NAME", requires = "from_tls_ca")]
    pub from_tls_name: Option<String>,
}

impl RedisArguments {
    /// The Redis at `address`, which may be silent for so long.
    pub fn source(&self, address: Address, timeout: Span) -> RedisSource {
        // A password without a name is the default user's.
        let user = self.from_password_file.is_some().then(|| self.from_user.clone().unwrap_or_default());
        let connect = ConnectArguments {
            tls_ca: self.from_tls_ca.clone(),
            tls_name: self.from_tls_name.clone(),
            user,
            password_file: self.from_password_file.clone(),
            timeout,
        };
        RedisSource { endpoint: connect.endpoint(address), database: self.from_database }
    }
}

/// A load into a directory.
#[derive(Debug, Args)]
pub struct BulkArguments {
    /// Load into the data directory --dir, which no server has open, instead of into a server
    #[arg(long, conflicts_with_all = ["from_memcached", "from_redis"])]
    pub bulk: bool,
    /// With --bulk: the data directory, as for `fawn serve --dir`; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// With --bulk: DRAM for sorting, at least 8M per thread [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// With --bulk: stores of a new directory, one per thread of `fawn serve` [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<NonZeroUsize>,
}

/// Arguments of `fawn load` that are for servers alone.
const LOADING_SERVERS: &[&str] =
    &["to", "tls_ca", "tls_name", "user", "password_file", "timeout", "connections", "resume", "restart", "no_resume"];

/// Those that are for a running Redis alone.
const READING_REDIS: &[&str] = &["from_user", "from_password_file", "from_tls_ca", "from_tls_name"];

/// Those that are for directories alone.
const LOADING_DIRECTORIES: &[&str] = &["dir", "memory", "threads"];

impl LoadArguments {
    fn check(&self, typed: &[String]) -> Result<(), String> {
        let is_typed = |id: &&&str| typed.iter().any(|typed| typed == **id);
        let (others, why) = if self.bulk.bulk {
            (LOADING_SERVERS, "applies only to a load into a server: leave it out, or leave out --bulk")
        } else {
            (LOADING_DIRECTORIES, "applies only to a load into a directory: add --bulk")
        };
        let option = |id: &str| format!("--{}", id.replace('_', "-"));
        if let Some(id) = others.iter().find(is_typed) {
            return Err(format!("{} {why}", option(id)));
        }
        if let Some(id) = READING_REDIS.iter().find(is_typed).filter(|_| self.from_redis.is_none()) {
            return Err(format!("{} applies only to a load from a running Redis: add --from-redis ADDR", option(id)));
        }
        let is_from_redis = self.from_redis.is_some() || self.from_rdb.is_some();
        if let Some(id) = ["from_database"].iter().find(is_typed).filter(|_| !is_from_redis) {
            return Err(format!("{} applies only to a load from Redis: add --from-redis or --from-rdb", option(id)));
        }
        if !self.bulk.bulk {
            return Ok(());
        }
        let Some(dir) = &self.bulk.dir else {
            return Err("--bulk needs a target directory: give --dir DIR".into());
        };
        // Of a directory that exists the stores are as many as there are.
        if self.bulk.threads.is_none() && dir.join("FORMAT").exists() {
            return Ok(());
        }
        check_memory(self.bulk.memory, self.bulk.threads())
    }
}

impl BulkArguments {
    /// Stores of a directory that is made.
    pub fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(cores)
    }

    /// DRAM to use.
    pub fn memory(&self) -> Size {
        self.memory.unwrap_or_else(|| default_memory(least_memory(self.threads())))
    }
}

/// Arguments of `fawn dump`.
#[derive(Debug, Args)]
#[command(after_help = "\
The dump writes FILE.part and renames it to FILE when it is complete. If FILE is a symbolic link, both names are in \
the directory that it points to. If --from and --manager are both set, the one on the command line wins; if neither \
is on the command line, --manager wins. jsonl carries flags and expiry; tsv does not.

In the dump of a server, records that are written, changed or deleted meanwhile may or may not appear. In the dump \
of a cluster (--manager), each range appears as of one record of its log, and with every write that was \
acknowledged before the dump began. --verbose and --json report these records. jsonl also carries cas numbers.

If the dump of a cluster is interrupted, run the same command again: it continues, and says so. Ranges that were \
complete keep their state. The dump still has every write that was acknowledged before its first start. \
FILE.fawn-dump records the progress, and FILE.spool holds records that are not sorted yet; only you may read these \
two. Your umask decides who may read FILE. A dump of a cluster to - or to a pipe keeps unsorted records, up to \
whole ranges, in an unnamed file in TMPDIR (/tmp). If that is in memory, set TMPDIR to a directory on a disk.")]
pub struct DumpArguments {
    /// Server: HOST:PORT, or the path of a Unix socket
    #[arg(long, value_name = "ADDR", env = "FAWN_SERVER", default_value = "127.0.0.1:11211")]
    pub from: Address,
    #[command(flatten)]
    pub connect: ConnectArguments,
    /// Dump the cluster of these managers from its nodes: ADDR:PORT,ADDR:PORT
    #[arg(long = "manager", value_name = "ADDR", value_delimiter = ',', value_parser = parse_listen)]
    pub managers: Vec<String>,
    #[command(flatten)]
    pub certs: crate::cluster::CertsArguments,
    /// Start the dump of a cluster from the beginning, even if an earlier one was interrupted
    #[arg(long, hide_env = true)]
    pub restart: bool,
    /// Format of the records [default: by the file's name, else jsonl]
    #[arg(long)]
    pub format: Option<FormatChoice>,
    /// Connections that fetch values
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u16>(1..=256))]
    pub connections: u16,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// With --manager: also print the log record as of which each range is dumped
    #[arg(long)]
    pub verbose: bool,
    /// File to write; - for standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `fawn dump` that are for servers alone.
const OF_SERVERS: &[&str] = &["tls_ca", "tls_name", "user", "password_file", "timeout", "connections"];

/// Those that are for clusters alone.
const OF_CLUSTERS: &[&str] = &["restart", "certs", "verbose"];

impl DumpArguments {
    /// What to say of a format that nobody has named, where the file's name looks like another one.
    pub fn format_in_doubt(&self) -> Option<String> {
        let extension = self.file.extension().filter(|_| self.format.is_none())?.to_str()?.to_ascii_lowercase();
        let is_other = ["csv", "txt", "tab", "xls", "xlsx"].contains(&extension.as_str());
        let file = self.file.display();
        is_other.then(|| {
            format!(
                "{file} is written as jsonl, since its name does not end with .tsv; choose another format with \
                --format"
            )
        })
    }

    /// Whether a cluster is meant, not a server: what is typed counts before what is configured.
    pub fn is_of_cluster(&self, typed: &[String]) -> bool {
        !self.managers.is_empty() && !typed.iter().any(|id| id == "from")
    }

    fn check(&self, typed: &[String]) -> Result<(), String> {
        let is_typed = |id: &&&str| typed.iter().any(|typed| typed == **id);
        if ["from", "managers"].iter().all(|id| is_typed(&id)) {
            return Err("--from dumps a server and --manager dumps a cluster: give one of them".into());
        }
        let (others, why) = if self.is_of_cluster(typed) {
            (
                OF_SERVERS,
                "applies only to the dump of a server, but managers are given or configured: name the server with \
                --from",
            )
        } else {
            (OF_CLUSTERS, "applies only to the dump of a cluster: give --manager, and leave out --from")
        };
        match others.iter().find(is_typed) {
            Some(id) => Err(format!("--{} {why}", id.replace('_', "-"))),
            None => Ok(()),
        }
    }
}

/// Arguments of `fawn get`.
#[derive(Debug, Args)]
pub struct GetArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// Print only the values, with nothing between or after them
    #[arg(long, conflicts_with = "json")]
    pub raw: bool,
    /// Print one JSON object per key, with flags and expiry, as `fawn dump` does
    #[arg(long)]
    pub json: bool,
    /// Keys; the exit code is 1 if one of them is not found
    #[arg(value_name = "KEY", required = true)]
    pub keys: Vec<String>,
}

/// Arguments of `fawn set`.
#[derive(Debug, Args)]
pub struct SetArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// Client flags to store with the value
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>(..))]
    pub flags: u32,
    /// Expire the value after this long, until 2106 at most [default: never]
    #[arg(long, value_name = "DURATION")]
    pub expire: Option<Span>,
    /// Key
    pub key: String,
    /// Value; - reads it from standard input
    pub value: String,
}

/// Arguments of `fawn delete`.
#[derive(Debug, Args)]
pub struct DeleteArguments {
    #[command(flatten)]
    pub server: ServerArguments,
    /// Keys; the exit code is 1 if one of them is not found
    #[arg(value_name = "KEY", required = true)]
    pub keys: Vec<String>,
}

/// Arguments of `fawn completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// Shell to complete for
    pub shell: clap_complete::Shell,
}

/// Arguments of `fawn man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write one page per subcommand into this directory, instead of one to standard output
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Fawn::command().debug_assert();
    }

    #[test]
    fn no_sentence_of_the_help_is_broken_before_the_width_breaks_it() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for (line, next) in help.lines().zip(help.lines().skip(1)) {
                let is_broken = line.len() > 80 && !next.is_empty() && !line.ends_with('.');
                assert!(!is_broken, "{}: {line:?} goes on in another line", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Fawn::command());
    }

    /// What libraries say of values, without a word of what is right.
    const RIDDLES: &[&str] = &[
        "invalid digit",
        "too large to fit",
        "too small to fit",
        "cannot parse",
        "invalid float",
        "invalid socket",
        "invalid IP",
        "is not in ",
        "would be zero",
        "premature end",
        "invalid character",
        "invalid utf",
    ];

    #[test]
    fn every_flag_says_what_it_takes_when_it_is_given_something_else() {
        fn check(command: &clap::Command, words: &mut Vec<String>) {
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                for value in ["", "x", "-1", "1.5.5", "nan", "99999999999999999999999", "a:b:c"] {
                    let value = arg.get_long().map_or(value.to_owned(), |long| format!("--{long}={value}"));
                    let said =
                        command.clone().try_get_matches_from(["fawn", &value]).err().map(|error| error.to_string());
                    let said = said.unwrap_or_default();
                    let riddle = RIDDLES.iter().find(|riddle| said.contains(**riddle));
                    assert_eq!(riddle, None, "fawn {} {value}: {said}", words.join(" "));
                }
            }
            for sub in command.get_subcommands() {
                words.push(sub.get_name().to_owned());
                check(sub, words);
                words.pop();
            }
        }
        let mut root = Fawn::command();
        root.build();
        check(&root, &mut Vec::new());
    }

    #[test]
    fn load_takes_one_source() {
        let parse = |line: &str| Fawn::try_parse_from(line.split(' '));
        assert!(parse("fawn load x.jsonl").is_ok());
        assert!(parse("fawn load --to [::1]:11211 -").is_ok());
        assert!(parse("fawn load --from-memcached localhost").is_ok());
        assert!(parse("fawn load").is_err());
        assert!(parse("fawn load --from-memcached localhost x.jsonl").is_err());
        assert!(parse("fawn load --from-redis localhost --from-database 3 --from-password-file f").is_ok());
        assert!(parse("fawn load --from-rdb dump.rdb --resume state").is_ok());
        assert!(parse("fawn load --from-rdb dump.rdb --bulk --dir d").is_ok());
        for wrong in ["x.jsonl", "--from-rdb x", "--from-memcached m", "--resume s", "--bulk", "--from-user u"] {
            assert!(parse(&format!("fawn load --from-redis localhost {wrong}")).is_err(), "{wrong}");
        }
        assert!(parse("fawn load --connections 0 x.jsonl").is_err());
    }

    #[test]
    fn a_wrong_size_is_answered_with_a_right_one() {
        let error = Fawn::try_parse_from(["fawn", "serve", "--memory", "lots"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("e.g. 512M or 1.5GiB"), "{error}");
    }
}
