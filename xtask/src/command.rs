//! The command line: every task and its arguments.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use fawn_sim::cluster::injected_bugs::Bug;
use fawn_sim::fuzz::{TARGETS, from_hex};

use crate::ended::TaskEnd;
use crate::sim_syntax;
use crate::tell::say;

/// Nodes of a cluster of `--scale`: three copies want three nodes, and more than the most want days and all memory.
const NODES: Range<u64> = 3..10_001;

/// Minutes of a long run: a year at most.
const MINUTES: Range<u64> = 1..525_601;

/// Histories that are held in memory at a time.
const HISTORIES: Range<u64> = 1..10_000_001;

/// FAWN's development tasks.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", arg_required_else_help = false, max_term_width = 120)]
struct Xtask {
    #[command(subcommand)]
    task: Task,
}

/// A task.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Check format, lints, documentation and the project's rules
    Tidy(TidyArguments),
    /// Simulate clusters with faults of all kinds
    Sim(SimArguments),
    /// Feed damaged inputs to every decoder
    Fuzz(FuzzArguments),
    /// Compare our linearizability checker with Porcupine
    Porcupine(PorcupineArguments),
    /// Run a cluster's processes, break things, and check what clients saw
    Trial(TrialArguments),
    /// Run the papers' experiments at a small scale, and check the completeness of the report
    BenchSmall(BenchArguments),
    /// Run every test, then tidy
    Ci,
}

/// What to check.
#[derive(Debug, Default, Args)]
pub struct TidyArguments {
    /// Check the project's rules alone, which takes seconds
    #[arg(long)]
    pub rules: bool,
    /// Write xtask/exceptions.toml as it has to be now, keep its reasons, and print how long its lists are
    #[arg(long, conflicts_with = "rules")]
    pub renew_exceptions: bool,
}

/// What to simulate; [`sim_syntax::RULES`] says what goes together.
#[derive(Debug, Args)]
#[command(override_usage = sim_syntax::usage())]
#[allow(clippy::struct_excessive_bools)] // each is a flag
pub struct SimArguments {
    /// Run these seeds (TO excluded), and print a summary
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    pub seeds: Option<Range<u64>>,
    /// Run seeds for this many minutes, and fail if a path was rarely taken
    #[arg(long, value_name = "M", value_parser = minutes)]
    pub minutes: Option<u64>,
    /// With --minutes: the first seed [default: 0]
    #[arg(long, value_name = "SEED", value_parser = number)]
    pub from: Option<u64>,
    /// Run one seed
    #[arg(long, value_name = "N", value_parser = number)]
    pub seed: Option<u64>,
    /// Run the script of a file, as printed by --shrink
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Run a script of the simulator's test data, and print its result
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Print every event of one run to standard error
    #[arg(long)]
    pub trace: bool,
    /// Shrink the failing run of a seed, and print it as a script
    #[arg(long)]
    pub shrink: bool,
    /// Run seeds twice, and compare their traces
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    pub twice: Option<Range<u64>>,
    /// Plant a bug, or each of them for 15 minutes or --minutes, and search for it
    #[arg(long, value_name = "all|BUG", value_parser = planted)]
    pub planted: Option<PlantedBugs>,
    /// Measure the cost of changes in clusters of this many nodes, 3 to 10000
    #[arg(long, value_name = "NODES,…", value_parser = sizes)]
    pub scale: Option<Sizes>,
    /// Measure how long changes stop writes, in 300 seeds or --seeds
    #[arg(long)]
    pub pauses: bool,
    /// With --seeds, --seed, --minutes or --twice: clusters in the weak mode
    #[arg(long)]
    pub weak: bool,
}

/// What to fuzz.
#[derive(Debug, Args)]
#[command(override_usage = "cargo xtask fuzz --executions N [--target NAME] [--seed S] [--from N]\n       \
    cargo xtask fuzz --target NAME --input HEX")]
pub struct FuzzArguments {
    /// Number of damaged inputs for all targets together
    #[arg(long, value_name = "N", value_parser = some, required_unless_present = "input")]
    pub executions: Option<u64>,
    /// Fuzz one decoder alone
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(TARGETS.iter().map(|target| target.name())))]
    pub target: Option<String>,
    /// Draw the inputs from this seed [default: 1]
    #[arg(long, value_name = "S", value_parser = number)]
    pub seed: Option<u64>,
    /// Begin with the execution of this number [default: 0]
    #[arg(long, value_name = "N", value_parser = number)]
    pub from: Option<u64>,
    /// Run one input, as printed by a failure, and print whether it was decoded
    #[arg(long, value_name = "HEX", value_parser = hex, requires = "target",
        conflicts_with_all = ["executions", "seed", "from"])]
    pub input: Option<String>,
}

/// What to compare.
#[derive(Debug, Args)]
#[command(override_usage = "cargo xtask porcupine [--histories N] [--from SEED]\n       \
    cargo xtask porcupine --seed N")]
pub struct PorcupineArguments {
    /// Number of random histories to compare
    #[arg(long, value_name = "N", value_parser = histories, default_value = "10000")]
    pub histories: u64,
    /// Seed of the first of them
    #[arg(long, value_name = "SEED", value_parser = number, default_value = "0")]
    pub from: u64,
    /// Compare one history, and show it
    #[arg(long, value_name = "N", value_parser = number, conflicts_with_all = ["histories", "from"])]
    pub seed: Option<u64>,
}

/// What to try: `fawn-trial` has the arguments.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, override_usage = "cargo xtask trial [--release] [--upgrade] [ARGUMENTS]")]
pub struct TrialArguments {
    /// Build everything with optimisations, which takes longer
    #[arg(long)]
    pub release: bool,
    /// Build the release before this one as well, and begin with that: see --from
    #[arg(long)]
    pub upgrade: bool,
    /// Arguments of the trial: see its --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<OsString>,
}

/// At which scale to run the papers' experiments.
#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Size of the experiments: tiny, which takes a minute and has meaningless figures, or small
    #[arg(long, value_name = "SCALE", value_parser = ["tiny", "small"], default_value = "small")]
    pub scale: String,
    /// Build with optimisations, without which figures mean little
    #[arg(long)]
    pub release: bool,
    /// The fawn command to try, instead of one that is built first
    #[arg(long, value_name = "PROGRAM", conflicts_with = "release")]
    pub fawn: Option<PathBuf>,
}

/// Numbers of nodes.
#[derive(Clone, Debug)]
pub struct Sizes(pub Vec<u32>);

/// The bugs to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBugs {
    /// All, one after the other.
    All,
    /// One.
    One(Bug),
}

/// The task that the arguments name, the program's name first; `None` when they ask for help, which is printed then.
///
/// # Errors
/// They are wrong, or the help cannot be printed.
pub fn read(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<Option<Task>> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match Xtask::try_parse_from(&arguments) {
        Ok(Xtask { task }) => Ok(Some(task)),
        Err(error) if error.use_stderr() => Err(TaskEnd::Usage(sentence(&error, &arguments)).into()),
        Err(help) => {
            say(help.render().to_string().trim_end())?;
            Ok(None)
        }
    }
}

/// What clap says in paragraphs, as one sentence.
fn sentence(error: &clap::Error, arguments: &[OsString]) -> String {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let words = words.join(" ");
    let command = Xtask::command();
    let task = arguments.get(1).and_then(|name| command.find_subcommand(name));
    let task = task.map(|task| format!(" {}", task.get_name())).unwrap_or_default();
    format!("{}: see cargo xtask{task} --help", words.trim_start_matches("error: "))
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("it is not a number".to_owned());
    }
    digits.parse().map_err(|_| format!("the largest number is {}", u64::MAX))
}

fn within(text: &str, range: &Range<u64>) -> Result<u64, String> {
    let wrong = || format!("it must be {} to {}", range.start, range.end - 1);
    number(text).ok().filter(|number| range.contains(number)).ok_or_else(wrong)
}

fn some(text: &str) -> Result<u64, String> {
    number(text).and_then(|number| if number == 0 { Err("it must be 1 or more".to_owned()) } else { Ok(number) })
}

fn minutes(text: &str) -> Result<u64, String> {
    within(text, &MINUTES)
}

fn histories(text: &str) -> Result<u64, String> {
    within(text, &HISTORIES)
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO, e.g. 0..100")?;
    let range = number(from)?..number(to)?;
    if range.is_empty() { Err("TO must be larger than FROM".to_owned()) } else { Ok(range) }
}

fn sizes(text: &str) -> Result<Sizes, String> {
    let size = |size: &str| within(size, &NODES).map(|size| size as u32);
    let sizes: Result<Vec<u32>, String> = text.split(',').map(size).collect();
    sizes
        .map(Sizes)
        .map_err(|_| format!("write numbers of nodes, {} to {}, separated by commas", NODES.start, NODES.end - 1))
}

fn planted(name: &str) -> Result<PlantedBugs, String> {
    if name == "all" {
        return Ok(PlantedBugs::All);
    }
    let bug = Bug::ALL.iter().find(|bug| format!("{bug:?}") == name);
    let names = || Bug::ALL.iter().map(|bug| format!("{bug:?}")).collect::<Vec<_>>().join(", ");
    bug.map(|bug| PlantedBugs::One(*bug)).ok_or_else(|| format!("write all, or one of {}", names()))
}

fn hex(text: &str) -> Result<String, String> {
    from_hex(text)
        .map(|_| text.to_owned())
        .ok_or_else(|| "write pairs of hexadecimal digits, with dots between parts".to_owned())
}
