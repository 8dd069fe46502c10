//! The command line of a trial.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};

use crate::fault::FaultKind;

/// Run a cluster's processes, inject faults, and check what clients saw.
#[derive(Clone, Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // each is a flag
#[command(name = "fawn-trial", bin_name = "cargo xtask trial", max_term_width = 120)]
pub struct Arguments {
    /// Inject faults for this many minutes; a fraction, e.g. 0.5, is allowed
    #[arg(long, value_name = "N", default_value = "2", value_parser = minutes)]
    pub minutes: Duration,
    /// Draw faults and load from this seed [default: the time of day]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Only these faults, separated by commas; none for no faults [default: all]
    #[arg(long, value_name = "FAULT,…", value_parser = kinds)]
    pub faults: Option<Kinds>,
    /// Instead, kill this many nodes, one after the other, and report how long keys were unavailable. Every key has
    /// one client that reads it and one that writes it, 20 times per second. The trial kills a node only when every
    /// range is at full strength
    #[arg(long, value_name = "N", conflicts_with_all = ["faults", "minutes", "plan"])]
    pub kills: Option<u32>,
    /// Shape to run: a cluster of processes, or one `fawn serve`
    #[arg(long, value_name = "SHAPE", default_value = "cluster")]
    pub shape: TrialShape,
    /// Consistency of the cluster. For a weak one the trial checks three things: clients see only written values, the
    /// cluster is in order while nothing fails (--faults none), and the final writes are visible everywhere
    #[arg(long, value_name = "KIND", default_value = "strong")]
    pub consistency: Consistency,
    /// How large it is.
    #[command(flatten)]
    pub sizes: TrialSizes,
    /// The fawn command [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    pub fawn: Option<PathBuf>,
    /// Begin with this fawn command, of an older release, except for one node. A process that is killed comes back
    /// upgraded; others join upgraded, or are restarted for it at the end. Then all processes must speak a newer
    /// version
    #[arg(long, value_name = "FILE", conflicts_with = "kills")]
    pub from: Option<PathBuf>,
    /// Directory of logs and data, which must not exist; a good run removes it unless you name one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Stay on the loopback, even if namespaces are available
    #[arg(long)]
    pub loopback: bool,
    /// When to acknowledge writes: passed on to `fawn serve`
    #[arg(long, value_name = "MODE", default_value = "durable")]
    pub ack: String,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the plan of faults, and end
    #[arg(long)]
    pub plan: bool,
    /// Internal: this is the process inside the namespaces
    #[arg(long, hide = true)]
    pub inside: bool,
}

/// How large the trial is.
#[derive(Clone, Copy, Debug, Args)]
pub struct TrialSizes {
    /// Processes that keep data
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=40))]
    pub nodes: u8,
    /// Of these nodes, the first that many are archives: they keep copies that others answer reads of
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=39))]
    pub archives: u8,
    /// Managers
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=7))]
    pub managers: u8,
    /// Front-ends
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub fronts: u8,
    /// Copies of every record
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=9))]
    pub replicas: u8,
    /// Clients, each with one operation at a time
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: u16,
    /// Operations per second of all clients together, at most
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub rate: u32,
    /// Keys in use at a time
    #[arg(long, value_name = "N", default_value_t = 240, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub keys: u32,
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrialShape {
    /// Managers, nodes and front-ends, each a process on a host of its own.
    Cluster,
    /// One `fawn serve`.
    Single,
}

/// What the copies of a record are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Consistency {
    /// One order of writes.
    Strong,
    /// Each copy is written independently.
    Weak,
}

/// Kinds of faults.
#[derive(Clone, Debug)]
pub struct Kinds(pub Vec<FaultKind>);

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| (0.01..=100_000.0).contains(minutes));
    minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0)).ok_or_else(|| "it must be 0.01 to 100000".to_owned())
}

fn kinds(text: &str) -> Result<Kinds, String> {
    if text == "none" {
        return Ok(Kinds(Vec::new()));
    }
    let kind = |name: &str| FaultKind::ALL.into_iter().find(|kind| kind.name() == name);
    let names = || FaultKind::ALL.map(FaultKind::name).join(", ");
    let found: Option<Vec<FaultKind>> = text.split(',').map(kind).collect();
    found.map(Kinds).ok_or_else(|| format!("write none, or some of {}", names()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn faults_are_named_and_minutes_may_be_fractions() {
        let parse = |line: &str| Arguments::try_parse_from(line.split(' '));
        let arguments = parse("trial --minutes 0.5 --faults kill,pause").unwrap();
        assert_eq!(arguments.minutes, Duration::from_secs(30));
        assert_eq!(arguments.faults.unwrap().0, [FaultKind::Kill, FaultKind::Pause]);
        assert!(parse("trial --faults none").unwrap().faults.unwrap().0.is_empty());
        assert!(parse("trial --faults fire").unwrap_err().to_string().contains("write none, or some of kill"));
        assert!(parse("trial --minutes 0").is_err());
        assert_eq!(parse("trial --kills 5").unwrap().kills, Some(5));
        assert!(parse("trial --kills 5 --faults pause").is_err());
    }
}
