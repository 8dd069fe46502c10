//! `fawn plan`: how many nodes of which kind a cluster needs, and what they cost.
//!
//! Arguments and files are here, the models in `fawn-plan`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use comfy_table::CellAlignment;
use fawn_plan::amount::{parse_bytes, parse_price, parse_pue, parse_rate, parse_share, parse_watts, parse_years};
use fawn_plan::paper::{self, PaperTable};
use fawn_plan::tables::{flips, losses, marks, question, ranking, unranked_lines, wear, wear_notes};
use fawn_plan::{Assumptions, Catalogue, Date, Map, MeasuredNode, PurchasePlan, Workload};
use fawn_report::TextTable;
use fawn_report::amount::digits;

use crate::outcome::{CommandStatus, UsageError};
use crate::output_file::{check_output, create};
use crate::table::{print_json, terminal};
use crate::tell::unless_closed;
use crate::values::number;

/// Arguments of `fawn plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
In this command KB, MB, GB and TB are powers of 1000, as disks are sold; KiB, MiB, GiB and TiB are powers of 1024.

Every value of a catalogue has a source, a date and a kind (measured, vendor, derived or declared). Missing values \
are unknown. An option with unknown values, like most of `today`, is not ranked, but the plan reports how many \
nodes it needs at least. The rate of a processor is known only for machines that were measured (--node FILE). \
Without that, a node's rate is the limit of its device and its network.

--util affects the plan alone. A node uses its own --memory, or a quarter of the machine's DRAM by default. The \
table has the DRAM that the index of a node takes: give the node that much --memory, and some for buffers.

The first option is the cheapest over the years, if nodes are always busy. For catalogue files, node files, models \
and their limits, see reference/planning in the book.")]
pub struct PlanArguments {
    /// Bytes of all values together, each counted once, e.g. 10TB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, required_unless_present = "paper")]
    pub data: Option<f64>,
    /// Gets per second at most, e.g. 1M
    #[arg(long, value_name = "RATE", value_parser = parse_rate, required_unless_present = "paper")]
    pub rate: Option<f64>,
    /// Puts per second all the time, to add the years of the drives
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub put_rate: Option<f64>,
    /// Bytes that each drive without a rating in the catalogue may be written, by its maker (TBW), e.g. 600TB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "put_rate")]
    pub tbw: Option<f64>,
    /// Bytes per value
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1KB")]
    pub value: f64,
    /// Copies of each value
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1..=MOST_REPLICAS))]
    pub replicas: u32,
    /// Maximum use of a node's space, rate and DRAM, from 0.1%
    #[arg(long, value_name = "PERCENT", value_parser = parse_share, default_value = "75%")]
    pub util: f64,
    /// Dollars per kilowatt-hour [default: the catalogue's, else 0.15]
    #[arg(long, value_name = "DOLLARS", value_parser = parse_price)]
    pub kwh: Option<f64>,
    /// Watts of the building per watt of a node (PUE) [default: the catalogue's, else 1.4]
    #[arg(long, value_name = "RATIO", value_parser = parse_pue)]
    pub pue: Option<f64>,
    /// Years of operation to pay for
    #[arg(long, value_name = "YEARS", value_parser = parse_years, default_value = "3")]
    pub years: f64,
    /// Power of a rack
    #[arg(long, value_name = "WATTS", value_parser = parse_watts, default_value = "8kW")]
    pub rack_watts: f64,
    /// Ports of a switch
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = number::<u32>(2..=4096))]
    pub switch_ports: u32,
    /// Nodes to choose from: today, paper-2009 (its table), paper-2009-stated (its text), or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "today")]
    pub catalog: String,
    /// Measurements of a node, as TOML or JSON; repeat it for several nodes, each of another option
    #[arg(long, value_name = "FILE")]
    pub node: Vec<PathBuf>,
    /// Date for the age of values [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub date: Option<Date>,
    /// Write an HTML page with the whole plan and a map of the cheapest options by data and rate
    #[arg(long, value_name = "FILE", hide_env = true)]
    pub html: Option<PathBuf>,
    /// Recompute the papers' tables of cost, energy and size instead of planning; of the other flags only --json
    /// applies, and --html is refused
    #[arg(long, value_name = "TABLE", hide_env = true, conflicts_with = "html", value_parser = paper_tables())]
    pub paper: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// As many as a cluster can have.
const MOST_REPLICAS: u64 = fawn_kv::manager::MOST_REPLICAS as u64;

/// Every table of the papers.
const ALL: &str = "all";

fn paper_tables() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once(ALL).chain(paper::tables().into_iter().map(|table| table.name)))
}

/// Plans, or recomputes the papers' tables.
///
/// # Errors
/// A file cannot be read, understood or written; no cluster holds what is asked for.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<CommandStatus> {
    if let Some(name) = &arguments.paper {
        let tables = paper::tables().into_iter().filter(|table| name == ALL || name == table.name);
        unless_closed(print_papers(&tables.collect::<Vec<_>>(), arguments.json))?;
        return Ok(CommandStatus::Done);
    }
    let (Some(data_bytes), Some(gets_per_second)) = (arguments.data, arguments.rate) else {
        unreachable!("clap has asked for --data and --rate");
    };
    let inputs = || arguments.node.iter().map(PathBuf::as_path).chain([Path::new(&arguments.catalog)]);
    if let Some(file) = &arguments.html {
        check_output(file, "--html", inputs())?;
    }
    let (value_bytes, replicas) = (arguments.value, arguments.replicas);
    let workload = Workload { data_bytes, gets_per_second, value_bytes, replicas };
    let mut catalogue = catalogue(&arguments.catalog)?;
    workload.check(catalogue.model).map_err(|error| UsageError(error.to_string()))?;
    let mut notes = Vec::new();
    for file in &arguments.node {
        notes.extend(add_node(&mut catalogue, file, value_bytes)?);
    }
    let assumptions = arguments.assumptions(&catalogue)?;
    let mut plan = PurchasePlan::of(&catalogue, &workload, &assumptions);
    plan.warnings.extend(notes);
    if let Some(puts) = arguments.put_rate {
        plan = plan.with_puts(puts, arguments.tbw.map(|bytes| bytes / 1e12));
    }
    if let Some(file) = &arguments.html {
        let page = fawn_plan::page(&plan, Map::of(&catalogue, &workload, &assumptions).as_ref());
        let written = create(file, "--html", inputs())?.write_all(page.as_bytes());
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    unless_closed(if arguments.json { print_json(&plan) } else { print(&plan) })?;
    Ok(if plan.ranked.is_empty() { CommandStatus::Missing } else { CommandStatus::Done })
}

impl PlanArguments {
    fn assumptions(&self, catalogue: &Catalogue) -> anyhow::Result<Assumptions> {
        let today = match self.date {
            Some(date) => date,
            None => today()?,
        };
        let usual = Assumptions::of(catalogue, today);
        Ok(Assumptions {
            utilisation: self.util,
            kwh_dollars: self.kwh.unwrap_or(usual.kwh_dollars),
            pue: self.pue.unwrap_or(usual.pue),
            kwh_is_assumed: self.kwh.is_none() && usual.kwh_is_assumed,
            pue_is_assumed: self.pue.is_none() && usual.pue_is_assumed,
            years: self.years,
            rack_watts: self.rack_watts,
            switch_ports: self.switch_ports,
            today,
        })
    }
}

fn today() -> anyhow::Result<Date> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let today = since.and_then(|since| Date::of_unix_days(since.as_secs() / 86_400));
    today.context("the clock of this machine is wrong: give the date with --date YYYY-MM-DD")
}

/// A catalogue that is built in, or that of a file.
///
/// # Errors
/// There is neither, or the file cannot be used.
pub fn catalogue(name: &str) -> anyhow::Result<Catalogue> {
    if let Some(built_in) = Catalogue::built_in(name) {
        return Ok(built_in);
    }
    let text = fawn_files::text::read(Path::new(name)).with_context(|| {
        let known = Catalogue::names().collect::<Vec<_>>().join(", ");
        format!("cannot read the catalogue {name} (built in are {known})")
    })?;
    Catalogue::parse(&text).with_context(|| format!("cannot use the catalogue {name}"))
}

/// Puts a node's file into the catalogue; says what is to be known about it.
fn add_node(catalogue: &mut Catalogue, file: &Path, value_bytes: f64) -> anyhow::Result<Option<String>> {
    let told = file.display();
    let text = fawn_files::text::read(file).with_context(|| format!("cannot read {told}"))?;
    let node = MeasuredNode::parse(&text).with_context(|| format!("cannot use {told}"))?;
    let option = node.add_to(catalogue).with_context(|| format!("cannot use {told}"))?;
    let other = node.value_bytes.filter(|measured| measured.to_bits() != value_bytes.to_bits());
    Ok(other.map(|measured| {
        format!(
            "{option} was measured with values of {measured} bytes; the plan assumes the same rates for {value_bytes}."
        )
    }))
}

fn print(plan: &PurchasePlan) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", question(plan))?;
    writeln!(out, "{}: {}", plan.catalogue, plan.title)?;
    if !plan.ranked.is_empty() {
        writeln!(out, "\n{}", table(&ranking(plan)))?;
        writeln!(out, "\nOne node, and the effect of losing it:\n\n{}", table(&losses(plan)))?;
        for mark in marks(plan) {
            writeln!(out, "{mark}")?;
        }
        if plan.puts_per_second.is_some() {
            writeln!(out, "\nYears of the drives:\n\n{}", table(&wear(plan)))?;
            for note in wear_notes(plan) {
                writeln!(out, "{note}")?;
            }
        }
    }
    for flip in flips(plan) {
        writeln!(out, "\n{flip}")?;
    }
    if !plan.unranked.is_empty() {
        writeln!(out, "\nNot ranked, with the unknown values and the least number of nodes:")?;
        for line in unranked_lines(plan) {
            writeln!(out, "  {line}")?;
        }
    }
    if !plan.warnings.is_empty() {
        writeln!(out)?;
    }
    plan.warnings.iter().try_for_each(|warning| writeln!(out, "note: {warning}"))
}

/// Its first column is text.
fn table(rows: &TextTable) -> String {
    terminal(rows, CellAlignment::Left)
}

fn print_papers(tables: &[PaperTable], json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, tables)?;
        return writeln!(out);
    }
    for (at, it) in tables.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}: {}\n", it.name, it.title)?;
        let rows = it.cells.iter().map(|cell| {
            let verdict = match cell.agrees {
                Some(true) => "",
                Some(false) => "differs",
                None => "not printed",
            };
            let printed = cell.printed.unwrap_or_default().to_owned();
            let note = cell.note.unwrap_or_default().to_owned();
            vec![cell.what.clone(), printed, digits_of(cell.recomputed), verdict.to_owned(), note]
        });
        let head = ["", "printed", "recomputed", "", ""].map(str::to_owned).to_vec();
        writeln!(out, "{}", table(&TextTable { head, rows: rows.collect(), text: vec![3, 4] }))?;
    }
    Ok(())
}

/// More digits than are printed, to compare with.
fn digits_of(value: f64) -> String {
    if value >= 1000.0 {
        format!("{value:.1}")
    } else if value >= 1.0 {
        format!("{value:.2}")
    } else {
        digits(value)
    }
}
