//! Arguments of the commands about a cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fawn_kv::ids::{Ack, Consistency, Rules};
use fawn_kv::manager::{Leases, MOST_REPLICAS, Settings};
use fawn_tls::directory::operator;
use fawn_tls::{Material, TlsError};

use crate::consistency::ConsistencyKind;
use crate::node::RunArguments;
use crate::observe::ObserveArguments;
use crate::values::{Span, number, parse_listen, parse_wait};

/// Where managers listen by default.
pub const MANAGER: &str = "127.0.0.1:7400";

/// How to reach the managers.
#[derive(Clone, Debug, Args)]
pub struct ManagersArguments {
    /// Addresses of one or more managers: ADDR:PORT,ADDR:PORT
    #[arg(long = "manager", value_name = "ADDR", default_value = MANAGER, value_delimiter = ',', value_parser = parse_listen)]
    pub managers: Vec<String>,
    /// Give up if no leading manager answers for this long [default: 10s; 3s if nothing listens]
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    pub timeout: Option<Span>,
    #[command(flatten)]
    pub certs: CertsArguments,
}

/// Certificates for links of a cluster.
#[derive(Clone, Debug, Args)]
pub struct CertsArguments {
    /// Directory of certificates from `fawn certs`: ca.pem, NAME.pem and NAME-key.pem; without it, links are not
    /// protected
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

/// Arguments of `fawn manager`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
When the manager accepts calls, it prints one line `fawn: manager ID ready on ADDR:PORT` to standard output. The \
log goes to standard error.

A group of one begins by itself. To begin with several managers, start each with the same --peers; the group begins \
once all are up. To add a manager later, start it with an empty --dir and --join. A manager whose directory is lost \
comes back the same way, and takes the place of the one at its address. A manager that keeps its directory and \
changes its address reports the new one to the others.

A manager that finds damage in its files does not start: empty its --dir, and it joins the others again. Never \
restore an older copy of a --dir: such a manager could vote twice in one term. A manager whose device is full \
waits; the others lead meanwhile.

If more than half of the managers are lost for good, `fawn manager recover` continues with one that is left. If all \
are lost, `fawn manager restore` creates one from a file of `fawn manager backup`.

--replicas, --ack, --min-write-replicas and --spread-reads apply at the creation of the cluster; `fawn cluster set` \
changes them later.

--consistency applies at the creation of the cluster and cannot be changed. In a weak cluster each copy is written \
independently, and one of them answers reads. After a failure, acknowledged writes can be lost and older values can \
come back. A weak cluster accepts set, delete, get, touch and flush_all. It refuses commands that depend on the \
current value, e.g. cas, add and incr."
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
    /// Directory of the manager's log; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "./fawn-manager")]
    pub dir: PathBuf,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = MANAGER, value_parser = parse_listen)]
    pub listen: String,
    /// Address at which other processes reach it [default: the one it listens on]
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub advertise: Option<String>,
    /// Addresses of all managers of the initial group, including this one
    #[arg(long, value_name = "ADDR", value_delimiter = ',', conflicts_with = "join", value_parser = parse_listen)]
    pub peers: Vec<String>,
    /// Addresses of managers of the group to join
    #[arg(long, value_name = "ADDR", value_delimiter = ',', value_parser = parse_listen)]
    pub join: Vec<String>,
    /// Members of each chain
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1..=MOST_REPLICAS as u64))]
    pub replicas: u32,
    /// When to acknowledge a write
    #[arg(long, value_name = "WHEN", default_value = "durable")]
    pub ack: ChainAck,
    /// Least number of members with which a chain accepts writes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u8>(1..=MOST_REPLICAS as u64))]
    pub min_write_replicas: u8,
    /// Let all members of a chain but archives answer gets, not only the last of them
    #[arg(long)]
    pub spread_reads: bool,
    /// Consistency of the copies of a value, fixed for the cluster's life [default: strong]
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
            return Err("in a weak cluster only the owner of a key answers gets: leave out --spread-reads, or use \
                --consistency strong"
                .to_owned());
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
    /// Add the manager that runs at ADDR with an empty directory to the group
    Add(AddManagerArguments),
    /// Remove a manager from the group
    Remove(RemoveManagerArguments),
    /// Continue with one manager alone after a majority of them is lost for good
    Recover(RecoverArguments),
    /// Write the managers' whole state into a file, while they serve
    Backup(BackupArguments),
    /// Create the directory of a manager from a backup, after all managers are lost for good
    Restore(RestoreArguments),
}

/// Arguments of `fawn manager backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command writes a temporary file beside FILE and renames it to FILE when it is complete, so that the same \
command can run again. The file has the secret that decides where keys lie, and only its owner may read it. It has \
no values: nodes have those.

Make a backup after each change of the cluster (a node or manager joins, leaves or is replaced), and regularly, and \
keep it on another machine. With three managers on different machines it is unlikely that you will need it.")]
pub struct BackupArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// File to write; - for standard output; a device or a pipe is written in place
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `fawn manager restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Use this only when all managers are lost for good; while one of them is left, `fawn manager recover` loses less. \
Then start a manager on the directory at an address where the nodes look for one, and others with an empty --dir \
and --join. Nodes that run continue with it by themselves. Each range waits until all nodes of its chain are back \
(with --do-not-wait, until one is).

The limits are those of `fawn manager recover --help`, for all decisions after the backup. If the chain of a range \
has changed since, the range continues from the longest log among the nodes of its chain at that time. If its \
present chain has none of them, all writes acknowledged since are lost. A range that was split or merged since \
stays out of service, and members that joined since are refused: read their data with `fawn store dump`. The new \
manager skips the numbers of a million decisions: do not restore a backup that is older than that.

Without a backup, stop all nodes, print the contents of all their directories with one `fawn store dump`, and load \
that into a new cluster.")]
pub struct RestoreArguments {
    /// Directory of the new manager; created if it does not exist
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Let a range continue with any one node of its chain that is back, and lose newer writes that only the others
    /// have
    #[arg(long, hide_env = true)]
    pub do_not_wait: bool,
    /// Confirm that all managers are lost for good, or will start only with empty directories
    #[arg(long, required = true, hide_env = true)]
    pub managers_are_lost: bool,
    /// The backup; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `fawn manager add`.
#[derive(Debug, Args)]
pub struct AddManagerArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Address that it listens on
    #[arg(value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub address: String,
}

/// Arguments of `fawn manager remove`.
#[derive(Debug, Args)]
pub struct RemoveManagerArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Its address or its number, as in `fawn status`
    #[arg(value_name = "ADDR:PORT|ID")]
    pub which: String,
}

/// Arguments of `fawn manager recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
Use this only when more than half of the managers are lost for good. Run it on the one that is left, or on the one \
whose log is longest (the command prints the number of entries). Stop that manager first. Afterwards start it as \
usual, and others with an empty --dir and --join.

It keeps the cluster, its keys, its members, and every decision that this manager knew of. No number that the lost \
managers may have assigned is assigned again: no cas, no epoch.

Its cost: nodes begin new lives. Each range waits, for at least one lease, until every node of its chain is back. \
With --do-not-wait one of them is enough, and newer writes that only the others have are lost.

Its limits: decisions that only the lost managers had are gone. If no member of a range's present chain is known to \
this manager, the range continues from the members that it knew, and writes acknowledged since are lost. A range \
that was split or merged meanwhile stays out of service; its nodes keep its data, and `fawn store dump` reads them. \
Set the latest settings again, and add the latest members again: one that only the lost managers knew stops, and \
says so. Keep its directory, and let the member join under another name with another directory.

Never start one of the lost managers again with its old directory: two groups of one cluster would contradict each \
other.")]
pub struct RecoverArguments {
    /// Directory of the manager to continue with; it must not run
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Let a range continue with any one node of its chain that is back, and lose newer writes that only the others
    /// have
    #[arg(long, hide_env = true)]
    pub do_not_wait: bool,
    /// Confirm that the other managers are lost for good, or will start only with empty directories
    #[arg(long, required = true, hide_env = true)]
    pub others_are_lost: bool,
}

/// Arguments of `fawn status`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = "\
The first line lists all problems. A member's figures are current: a silent or stopped member has none.

--check is for scripts. It prints one line to standard output: `ok: …` with exit code 0, or `not ok: …` with the \
reasons and exit code 1. With --json it prints the whole status, with the verdict and the reasons as `healthy` and \
`lacks`; the exit code is that of --check. If no manager answers, the exit code is 1, too.")]
pub struct StatusArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// Print the whole status as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print the status repeatedly
    #[arg(long)]
    pub watch: bool,
    /// Interval between two prints
    #[arg(long, value_name = "DURATION", default_value = "1s", requires = "watch", value_parser = parse_wait)]
    pub every: Span,
    /// Also print each range
    #[arg(long)]
    pub ranges: bool,
    /// Print only one line, and exit with 1 if there is a problem
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
    /// Move the data of a member to others, so that it can be removed
    Drain(DrainArguments),
    /// Remove a member that is gone for good; its name is never used again
    Remove(RemoveArguments),
}

/// Arguments of `fawn node drain`.
#[derive(Debug, Args)]
pub struct DrainArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// The member's name, as in `fawn status`
    pub name: String,
    /// Cancel the drain: the member stays
    #[arg(long, hide_env = true)]
    pub undo: bool,
    /// Do not wait until the others have all of its data
    #[arg(long, conflicts_with = "undo")]
    pub no_wait: bool,
}

/// Arguments of `fawn node remove`.
#[derive(Debug, Args)]
pub struct RemoveArguments {
    #[command(flatten)]
    pub managers: ManagersArguments,
    /// The member's name, as in `fawn status`
    pub name: String,
    /// Remove it even if it lives or has data that others lack; ranges of which it alone has the latest data go out of
    /// service
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
    /// Plan as if these members left
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
    /// Change settings while the cluster serves; settings that are not named stay
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
    /// Members of each chain
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MOST_REPLICAS as u64))]
    pub replicas: Option<u32>,
    /// When to acknowledge a write
    #[arg(long, value_name = "WHEN")]
    pub ack: Option<ChainAck>,
    /// Least number of members with which a chain accepts writes
    #[arg(long, value_name = "N", value_parser = number::<u8>(1..=MOST_REPLICAS as u64))]
    pub min_write_replicas: Option<u8>,
    /// Whether all members of a chain but archives answer gets, not only the last of them
    #[arg(long, value_name = "BOOL")]
    pub spread_reads: Option<bool>,
    /// Records of a range that a member may hold unsynced
    #[arg(long, value_name = "N", value_parser = number::<u32>(0..))]
    pub unsynced: Option<u32>,
}
