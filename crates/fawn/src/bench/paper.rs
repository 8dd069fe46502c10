//! `fawn bench paper`: the experiments of the papers on this machine, as a page, tables and JSON.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use comfy_table::presets;
use fawn_bench::{DeviceReader, Peers, children};
use fawn_papers::finding::RowOrigin;
use fawn_papers::{Again, ExperimentEntry, GordonTraces, LIST, MachineInfo, Program, ResultCache, Scale, Tools};
use serde_json::json;

use super::energy::MeterArguments;
use super::output::Bar;
use crate::interrupt::tell_how_to_go_on;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::tell::{tell, unless_closed};

/// Every experiment.
const ALL: &str = "all";

/// Arguments of `fawn bench paper`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Each experiment repeats what a table or a figure of a paper shows. It reports the paper's own figures beside, which \
are of other machines, of 2008 to 2010. `fawn bench paper list` names the experiments.

Those of the FAWN papers measure this machine. Those of the Gordon paper simulate, or compute from the paper's own \
inputs: they do not depend on the machine. Its workloads are recordings, or synthetic if there are none; the output \
says which. --traces chooses.

DIR keeps all results, and the command prints them again without measuring: an interruption costs only the \
experiment that was running. Running experiments keep their data below DIR, and remove them afterwards: at full \
scale up to 30 GB at a time. Clusters are processes of this program, on free ports of the loopback.

--out gets index.html (a self-contained page), a CSV per experiment, and paper.json with all results and the \
machine. The report has every result of this scale that DIR keeps, also of experiments that you did not name. It \
replaces an existing report, and removes that one's other CSVs.

Every value that is read is verified. Without a power meter (--meter), the report has operations per second of CPU \
time instead of queries per joule, and says so.

For example:
  fawn bench paper all --dir ./paper --scale small
  fawn bench paper sosp-figure-10 dht-figure-9 --dir ./paper --scale full --out ./results"
)]
pub struct PaperArguments {
    #[command(subcommand)]
    pub command: Option<PaperCommand>,
    #[command(flatten)]
    pub run: RunPaperArguments,
}

/// What is below `fawn bench paper`.
#[derive(Debug, Subcommand)]
pub enum PaperCommand {
    /// List all experiments: name, source, duration
    List(ListArguments),
}

/// Arguments of `fawn bench paper list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of experiments.
#[derive(Debug, Args)]
pub struct RunPaperArguments {
    /// Experiments, or all
    #[arg(value_name = "NAME", required = true, value_parser = names())]
    pub names: Vec<String>,
    /// Directory for the data and the results; created if it does not exist
    #[arg(long, value_name = "DIR", required = true, hide_env = true)]
    pub dir: Option<PathBuf>,
    /// Size of the stores and duration of the measurements
    #[arg(long, default_value = "small")]
    pub scale: ScaleChoice,
    /// Directory for the page, the tables and the JSON [default: report, in DIR]
    #[arg(long, value_name = "DIR", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Measure again instead of printing earlier results
    #[arg(long, hide_env = true)]
    pub again: bool,
    /// Program that measures other engines [default: fawn-peers, beside this program or in PATH]
    #[arg(long, value_name = "PATH", hide_env = true)]
    pub peer_program: Option<PathBuf>,
    /// Workloads of the Gordon paper: recorded, synthetic, or a directory that integrations/hadoop/record has made
    /// [default: recorded, which are in results/gordon-traces, if that is here; else synthetic]
    #[arg(long, value_name = "recorded|synthetic|DIR", hide_env = true)]
    pub traces: Option<PathBuf>,
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How large experiments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleChoice {
    /// Only checks that everything works: its figures mean nothing
    Tiny,
    /// A few seconds each, for a first look
    Small,
    /// The papers' sizes on one node; clusters are smaller, as each experiment says
    Full,
}

impl From<ScaleChoice> for Scale {
    fn from(choice: ScaleChoice) -> Self {
        match choice {
            ScaleChoice::Tiny => Self::Tiny,
            ScaleChoice::Small => Self::Small,
            ScaleChoice::Full => Self::Full,
        }
    }
}

fn names() -> clap::builder::PossibleValuesParser {
    std::iter::once(ALL).chain(LIST.iter().map(|entry| entry.name)).collect::<Vec<_>>().into()
}

/// This very program, and how it was called.
pub fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("FAWN_COMMIT").to_owned(),
        command: std::iter::once("fawn".to_owned())
            .chain(std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// What experiments use: this very program for servers.
///
/// # Errors
/// The system does not tell where this program is; a program or a meter that was named cannot be used.
pub fn tools(peers: Option<&std::path::Path>, meter: &MeterArguments) -> anyhow::Result<Tools> {
    let fawn = std::env::current_exe().context("cannot find the path of this program to start servers")?;
    let path = std::env::var_os("PATH");
    let found = Peers::find(peers, Some(&fawn), path.as_deref());
    // One that is named must be there.
    let peers = if peers.is_some() { Some(found?) } else { found.ok() };
    let traces = GordonTraces::Synthetic;
    Ok(Tools { fawn, peers, device: DeviceReader::installed(), meter: meter.open()?, traces })
}

/// The workloads of the Gordon paper that a flag means.
fn traces(chosen: Option<&Path>) -> anyhow::Result<GordonTraces> {
    let folder = match chosen {
        None => return Ok(GordonTraces::usual()),
        Some(word) if word == Path::new("synthetic") => return Ok(GordonTraces::Synthetic),
        Some(word) if word == Path::new("recorded") => Path::new(GordonTraces::FOLDER),
        Some(folder) => folder,
    };
    if !GordonTraces::are_in(folder) {
        bail!(
            "{} has no recordings: name a directory with an index.json of integrations/hadoop/record, or give --traces synthetic",
            folder.display()
        );
    }
    Ok(GordonTraces::Recorded(folder.to_owned()))
}

/// Runs experiments, or lists them.
///
/// # Errors
/// What [`fawn_papers::Error`] says.
pub fn run(arguments: &PaperArguments) -> anyhow::Result<CommandStatus> {
    if let Some(PaperCommand::List(list)) = &arguments.command {
        unless_closed(if list.json { list_json() } else { list_text() })?;
        return Ok(CommandStatus::Done);
    }
    let arguments = &arguments.run;
    let Some(dir) = &arguments.dir else { bail!("name a directory for the data: --dir DIR") };
    let is_asked = |entry: &ExperimentEntry| arguments.names.iter().any(|name| name == ALL || name == entry.name);
    let entries: Vec<&ExperimentEntry> = LIST.iter().filter(|entry| is_asked(entry)).collect();
    let traces = traces(arguments.traces.as_deref())?;
    let tools = Tools { traces, ..tools(arguments.peer_program.as_deref(), &arguments.meter)? };
    let (program, scale) = (program(), arguments.scale.into());
    let again = if arguments.again { Again::Measure } else { Again::Tell };
    let mut keeper = ResultCache::open(dir)?;
    let bar = Bar(TerminalBar::parts());
    let with = if arguments.again { " without --again" } else { "" };
    tell_how_to_go_on(&bar.0, format!("run the same command again{with} to continue"), children::ask_all_to_stop)?;
    let done = fawn_papers::run(&mut keeper, &entries, scale, (&tools, &program, again), &bar);
    bar.0.finish();
    done?;
    // The files have all that there is of this scale, so that one experiment alone, measured anew, leaves the page whole.
    let kept: Vec<_> = LIST.iter().filter_map(|entry| Some((entry, keeper.get(entry.name, scale)?))).collect();
    let found: Vec<_> = kept.iter().filter(|(entry, _)| is_asked(entry)).copied().collect();
    let machine = MachineInfo::here(dir);
    let out = arguments.out.clone().unwrap_or_else(|| dir.join("report"));
    let removed = fawn_papers::write(&out, &machine, &program, scale, &kept)?;
    if !removed.is_empty() {
        tell(format_args!("fawn: removed files of the previous report in {}: {}", out.display(), removed.join(", ")));
    }
    if let Some(meter) = tools.meter.as_ref().filter(|meter| meter.is_asked()) {
        let instrument = &meter.info().instrument;
        for (entry, kept) in &found {
            if let Some(other) = kept.finding.metered_otherwise(instrument) {
                let name = entry.name;
                tell(format_args!(
                    "fawn: {name} is printed as measured before, metered by {other}: --again measures it with \
                    {instrument}"
                ));
            }
        }
    }
    unless_closed(if arguments.json {
        writeln!(std::io::stdout(), "{}", fawn_papers::json(&machine, &program, scale, &found))
    } else {
        print(&found, &out.join("index.html"))
    })?;
    Ok(CommandStatus::Done)
}

fn print(found: &[(&ExperimentEntry, &fawn_papers::StoredFinding)], page: &std::path::Path) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING).set_header(["experiment", "", "rows", "s", "of"]);
    for (entry, kept) in found {
        let (rows, seconds) = (kept.finding.rows.len().to_string(), format!("{:.1}", kept.seconds));
        table.add_row([entry.name, kept.finding.who(), &rows, &seconds, &kept.date]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    let traces: BTreeSet<&str> =
        found.iter().filter_map(|(_, kept)| kept.finding.parameters.get("traces")?.as_str()).collect();
    for traces in traces {
        writeln!(out, "the workloads of the Gordon paper: {traces}")?;
    }
    for (entry, kept) in found {
        if let RowOrigin::Skipped(why) = &kept.finding.state {
            writeln!(out, "note: {} was skipped: {why}", entry.name)?;
        }
    }
    writeln!(out, "the page: {}", page.display())
}

fn list_text() -> std::io::Result<()> {
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING).set_header(["name", "paper", "", "what", "small, s", "full, s"]);
    for entry in LIST {
        let seconds = |scale| entry.seconds(scale).to_string();
        table.add_row([
            entry.name,
            entry.paper.title(),
            entry.place,
            entry.what,
            &seconds(Scale::Small),
            &seconds(Scale::Full),
        ]);
    }
    writeln!(std::io::stdout(), "{}", table.trim_fmt())
}

fn list_json() -> std::io::Result<()> {
    let entries = LIST.iter().map(|entry| {
        let scales = Scale::ALL
            .map(|scale| (scale.name(), json!({ "seconds": entry.seconds(scale), "rows": entry.rows(scale) })));
        json!({
            "name": entry.name,
            "paper": entry.paper,
            "place": entry.place,
            "what": entry.what,
            "scales": scales.into_iter().map(|(name, of)| (name.to_owned(), of)).collect::<serde_json::Map<_, _>>(),
        })
    });
    writeln!(std::io::stdout(), "{}", serde_json::Value::from(entries.collect::<Vec<_>>()))
}
