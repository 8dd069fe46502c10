//! Arguments of the commands about a cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fawn_kv::ids::{Ack, Consistency, Rules};
use fawn_kv::manager::{Leases, MOST_REPLICAS, Settings};
use fawn_tls::directory::operator;
use fawn_tls::{Material, TlsError};

use crate::node::RunArguments;
use crate::observe::ObserveArguments;
use crate::serve::parse_listen;
use crate::values::{Span, number, parse_wait};

/// Where managers listen by default.
pub const MANAGER: &str = "127.0.0.1:7400";

/// How to reach the managers.
#[derive(Clone, Debug, Args)]
pub struct ManagersArguments {
    /// Managers to ask, one or more of them: ADDR:PORT,ADDR:PORT
    #[arg(long = "manager", value_name = "ADDR", default_value = MANAGER, value_delimiter = ',', value_parser = parse_listen)]
    pub managers: Vec<String>,
    /// Give up when none that leads has answered for this long [default: 10s; 3s where nobody listens]
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    pub timeout: Option<Span>,
    #[command(flatten)]
    pub certs: CertsArguments,
}

/// Certificates for links of a cluster.
#[derive(Clone, Debug, Args)]
pub struct CertsArguments {
    /// Directory of certificates that `fawn certs` made: ca.pem, NAME.pem and NAME-key.pem; without it, nothing protects
    /// what is said
    #[arg(long, value_name = "DIR")]
    pub certs: Option<PathBuf>,
}

impl CertsArguments {
    /// The files of somebody who has this name in the directory.
    pub fn material(&self, name: &str) -> Option<Material> {
        self.certs.as_deref().map(|dir| Material::in_dir(dir, name))
    }

    /// The files of the operator whose directory it is.
    pub fn operator(&self) -> Result<Option<Material>, TlsError> {
        self.certs.as_deref().map(operator).transpose()
    }
}

/// When the members of a chain acknowledge a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChainAck {
    /// When every member has synced it
    Durable,
    /// When every member has it in memory
    Replicated,
}

impl From<ChainAck> for Ack {
    fn from(ack: ChainAck) -> Self {
        match ack {
            ChainAck::Durable => Self::Durable,
            ChainAck::Replicated => Self::Replicated,
        }
    }
}

/// What the copies of a value are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConsistencyKind {
    /// A write is acknowledged when all copies have it, in one order
    Strong,
    /// Each copy is written by itself, and one of them answers
    Weak,
}

impl From<ConsistencyKind> for Consistency {
    fn from(kind: ConsistencyKind) -> Self {
        match kind {
            ConsistencyKind::Strong => Self::Chain,
            ConsistencyKind::Weak => Self::Weak,
        }
    }
}

/// Arguments of `fawn manager`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Once it takes calls, one line `fawn: manager ID ready on ADDR:PORT` goes to standard output; the log goes to standard error.

A group of one begins by itself. To begin with several, start each with the same --peers; all have to be there once. To \
add one later, start it with an empty --dir and --join. A manager whose directory is lost comes back the same way: it \
takes the place of the one that had its address. One whose address changes, and keeps its directory, tells the others.

A manager that finds damage in its files does not start: empty its --dir, and it joins the others again. Never put an older copy \
of a --dir back, as such a manager could vote twice in one term. While its device is full it waits; others lead meanwhile.

If more than half of the managers are lost for good, `fawn manager recover` goes on with one that is left; if all are, `fawn manager \
restore` makes one from what `fawn manager backup` has written.

--replicas, --ack, --min-write-replicas and --spread-reads count when the cluster begins; later `fawn cluster set` changes \
them.

--consistency counts when the cluster begins, and nothing changes it later. In a weak cluster each copy is written by \
itself and one of them answers: after a failure, acknowledged writes can be lost and older values come back. It takes set, \
delete, get, touch and flush_all; it refuses what depends on the value that is there, such as cas, add and incr."
)]
pub struct ManagerArguments {
    #[command(subcommand)]
    pub command: Option<ManagerCommand>,
    #[command(flatten)]
    pub run: RunManagerArguments,
}

impl ManagerArguments {
    /// Refuses what each flag alone cannot know.
    ///
    /// # Errors
    /// What no cluster could begin with.
    pub fn check(&self) -> Result<(), String> {
        match self.command {
            None => self.run.check(),
            Some(_) => Ok(()),
        }
    }
}

/// Arguments of a manager that runs.
#[derive(Debug, Args)]
pub struct RunManagerArguments {
    /// Directory of its log; made when it does not exist
    #[arg(long, value_name = "DIR", default_value = "./fawn-manager")]
    pub dir: PathBuf,
    /// Address to listen on; port 0 takes a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = MANAGER, value_parser = parse_listen)]
    pub listen: String,
    /// Address at which others reach it [default: where it listens]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub advertise: Option<String>,
    /// All managers that the group is to begin with, this one too
    #[arg(long, value_name = "ADDR", value_delimiter = ',', conflicts_with = "join", value_parser = parse_listen)]
    pub peers: Vec<String>,
    /// Managers of a group that it is to join
    #[arg(long, value_name = "ADDR", value_delimiter = ',', value_parser = parse_listen)]
    pub join: Vec<String>,
    /// Members that each chain is to have
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1..=MOST_REPLICAS as u64))]
    pub replicas: u32,
    /// When a write is answered
    #[arg(long, value_name = "WHEN", default_value = "durable")]
    pub ack: ChainAck,
    /// A chain with fewer members takes no writes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u8>(1..=MOST_REPLICAS as u64))]
    pub min_write_replicas: u8,
    /// Let all members of a chain answer gets, not the last one alone
    #[arg(long)]
    pub spread_reads: bool,
    /// What the copies of a value are to each other, for the cluster's whole life [default: strong]
    #[arg(long, value_name = "KIND")]
    pub consistency: Option<ConsistencyKind>,
    /// Name of its files in --certs
    #[arg(long, value_name = "NAME", default_value = "manager")]
    pub name: String,
    #[command(flatten)]
    pub certs: CertsArguments,
    /// Listen beyond the loopback without TLS
    #[arg(long)]
    pub insecure: bool,
    #[command(flatten)]
    pub observe: ObserveArguments,
}

impl RunManagerArguments {
    fn check(&self) -> Result<(), String> {
        if self.consistency == Some(ConsistencyKind::Weak) && self.spread_reads {
            return Err("in a weak cluster the owner of a key alone answers gets: leave out --spread-reads, or use --consistency strong".to_owned());
        }
        self.settings().check().map_err(|error| error.to_string())
    }

    /// What a cluster begins with.
    pub fn settings(&self) -> Settings {
        let rules = Rules {
            ack: self.ack.into(),
            min_write_replicas: self.min_write_replicas,
            spread_reads: self.spread_reads,
            consistency: self.consistency.map_or(Consistency::Chain, Into::into),
            ..Rules::default()
        };
        Settings { replicas: self.replicas, first_nodes: 1, rules, leases: Leases::default() }
    }
}

/// What is below `fawn manager`.
#[derive(Debug, Subcommand)]
pub enum ManagerCommand {
    /// Take a manager into the group that runs at ADDR with an empty directory
    Add(AddManagerArguments),
    /// Take a manager out of the group
    Remove(RemoveManagerArguments),
    /// Go on with one manager alone after a majority of them is lost for good
    Recover(RecoverArguments),
    /// Write all that the managers have decided into a file, while they serve
    Backup(BackupArguments),
    /// Make the directory of a manager from a backup, after all managers are lost for good
    Restore(RestoreArguments),
}

/// Arguments of `fawn manager backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file is written under another name beside FILE and renamed when it is complete, so that the same command can run again. It has the \
secret that says where keys lie, and only its owner may read it. It has no values: nodes have those.

Make a backup after each change of the cluster (a node or manager that joins, leaves or is replaced), and now and then, and keep \
it on another machine. Three managers on different machines make it unlikely that it is ever needed.")]
pub struct BackupArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// File to write; - is standard output, and a device or a pipe is written into
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `fawn manager restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Use it only when all managers are lost for good; while one of them is left, `fawn manager recover` loses less. Then start a \
manager on the directory, where nodes look for one, and others with an empty --dir and --join. Nodes that run go on with it by \
themselves; each range waits until all nodes that were in its chain are back (with --do-not-wait: until one is).

What it cannot promise is what `fawn manager recover --help` says, for all that was decided since the backup was made. A range \
whose chain has changed since goes on from the longest log among the nodes that were in it at that time; if none of them is \
in its chain any more, what was acknowledged since is lost. A range that was cut or joined to another since waits for ever, and \
members that joined since are refused: `fawn store dump` reads what they have. Numbers are skipped for a million decisions: a backup \
that is older than those must not be restored.

Without a backup: stop all nodes, print what their directories hold with `fawn store dump`, all directories in one command, and \
load that into a new cluster.")]
pub struct RestoreArguments {
    /// Directory of the new manager; made when it does not exist
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Let ranges go on with any node of their chains that is back, and lose what the others have beyond it
    #[arg(long, hide_env = true)]
    pub do_not_wait: bool,
    /// All managers are lost for good, or will be started with empty directories alone
    #[arg(long, required = true, hide_env = true)]
    pub managers_are_lost: bool,
    /// The backup; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `fawn manager add`.
#[derive(Debug, Args)]
pub struct AddManagerArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Where it listens
    #[arg(value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub address: String,
}

/// Arguments of `fawn manager remove`.
#[derive(Debug, Args)]
pub struct RemoveManagerArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Its address or its number, as `fawn status` has them
    #[arg(value_name = "ADDR:PORT|ID")]
    pub which: String,
}

/// Arguments of `fawn manager recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
Use it only when more than half of the managers are lost for good, on the one that is left, or on the one of those left \
whose log is longest (each prints how many entries it has). Stop it before. Afterwards start it as ever, and others with \
an empty --dir and --join.

What it keeps: the cluster, its keys, its members, and all that this manager had heard was decided. No number that may \
have been given out by the lost ones is given out again: not a cas, not an epoch.

What it costs: nodes begin new lives, and each range waits, for a lease at least, until every node that was in its chain \
is back; with --do-not-wait one of them is enough, and what the others have beyond it is lost.

What it cannot promise: decisions that only the lost ones had are gone. A range whose chain has no member any more that \
this manager knew goes on from what these had: what was acknowledged since is lost. A range that was cut or joined to \
another waits for ever; its nodes keep its data, and `fawn store dump` reads them. Settings that came last have \
to be set again, and members to be added: one that the lost managers had let in stops, and says so. Keep its directory, \
and let it join under another name with another one.

Never start one of the lost managers again with its old directory: two groups of one cluster would contradict each other.")]
pub struct RecoverArguments {
    /// Directory of the manager that goes on; it must not run
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Let ranges go on with any node of their chains that is back, and lose what the others have beyond it
    #[arg(long, hide_env = true)]
    pub do_not_wait: bool,
    /// The other managers are lost for good, or will be started with empty directories alone
    #[arg(long, required = true, hide_env = true)]
    pub others_are_lost: bool,
}

/// Arguments of `fawn status`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = "\
The first line says what is not as it should be. Figures of a member are of now: one that is silent or stopped has none.

--check is for scripts: one line on standard output, `ok: …` and exit code 0, or `not ok: …` with the reasons and exit code 1. \
With --json it prints the whole status, and the exit code is that of --check. No answer is exit code 1, too.")]
pub struct StatusArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Print all that is known, as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print it again and again
    #[arg(long)]
    pub watch: bool,
    /// How often
    #[arg(long, value_name = "DURATION", default_value = "1s", requires = "watch", value_parser = parse_wait)]
    pub every: Span,
    /// Print each range, too
    #[arg(long)]
    pub ranges: bool,
    /// Print a line only, and end with 1 if something is not as it should be
    #[arg(long, conflicts_with_all = ["watch", "ranges"])]
    pub check: bool,
}

/// Arguments of `fawn node`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NodeArguments {
    #[command(subcommand)]
    pub command: Option<NodeCommand>,
    #[command(flatten)]
    pub run: RunArguments,
}

/// What is below `fawn node` beside running one.
#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    /// Let others have what a member has, so that it can be removed
    Drain(DrainArguments),
    /// Forget a member that is gone for good; nobody gets its name again
    Remove(RemoveArguments),
}

/// Arguments of `fawn node drain`.
#[derive(Debug, Args)]
pub struct DrainArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// The member, as `fawn status` has it
    pub name: String,
    /// It is to stay after all
    #[arg(long, hide_env = true)]
    pub undo: bool,
    /// Do not wait until it has nothing left that is needed
    #[arg(long, conflicts_with = "undo")]
    pub no_wait: bool,
}

/// Arguments of `fawn node remove`.
#[derive(Debug, Args)]
pub struct RemoveArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// The member, as `fawn status` has it
    pub name: String,
    /// Even if it lives, or has data that others lack: nobody serves ranges that it alone has the latest data of
    #[arg(long, hide_env = true)]
    pub force: bool,
}

/// Arguments of `fawn rebalance`.
#[derive(Debug, Args)]
pub struct RebalanceArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Print what would change; a cluster rebalances by itself
    #[arg(long, required = true, hide_env = true)]
    pub dry_run: bool,
    /// As if these members left
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `fawn cluster`.
#[derive(Debug, Args)]
pub struct ClusterArguments {
    #[command(subcommand)]
    pub command: ClusterCommand,
}

/// What is below `fawn cluster`.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Change settings while it serves; those that are not named stay
    Set(SetClusterArguments),
}

/// Arguments of `fawn cluster set`.
#[derive(Debug, Args)]
pub struct SetClusterArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    #[command(flatten)]
    pub new: NewSettingsArguments,
}

/// Settings that are to be changed.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct NewSettingsArguments {
    /// Members that each chain is to have
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MOST_REPLICAS as u64))]
    pub replicas: Option<u32>,
    /// When a write is answered
    #[arg(long, value_name = "WHEN")]
    pub ack: Option<ChainAck>,
    /// A chain with fewer members takes no writes
    #[arg(long, value_name = "N", value_parser = number::<u8>(1..=MOST_REPLICAS as u64))]
    pub min_write_replicas: Option<u8>,
    /// Whether all members of a chain answer gets, not the last one alone
    #[arg(long, value_name = "BOOL")]
    pub spread_reads: Option<bool>,
    /// Records of a range that a member may have yet to sync
    #[arg(long, value_name = "N", value_parser = number::<u32>(0..))]
    pub unsynced: Option<u32>,
}
