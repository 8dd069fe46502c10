//! `fawn gordon cost`: what storing, copying and moving data costs.

use std::io::{self, Write};

use clap::Args;
use comfy_table::CellAlignment;
use fawn_gordon::survey::cost::copies::{CopiedData, SleepingServer};
use fawn_gordon::survey::cost::petabyte::servers;
use fawn_gordon::survey::cost::report::{CostQuestion, CostReport};
use fawn_gordon::survey::cost::slices::SliceJob;
use fawn_gordon::survey::cost::tables;
use fawn_plan::amount::{parse_bytes, parse_mbit};
use fawn_report::amount::{counted, digits};

use super::designs::{RatingArguments, TODAY};
use super::refusal::of_schedule;
use super::typed::TypedFlags;
use crate::outcome::{CommandStatus, UsageError};
use crate::plan::catalogue;
use crate::table::{print_json, terminal};
use crate::tell::unless_closed;
use crate::values::{Span, decimal, number, parse_share};

/// The most disks of a server.
const MOST_DISKS: u64 = 1000;

/// Arguments of `fawn gordon cost`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command answers three questions of the Gordon paper (ASPLOS 2009, section 6), on its parts and prices and on \
those of a catalogue: what storing --data costs in memory, flash and disks (its tables 7 and 8); what one copy in \
flash and the others on sleeping disks save in energy, and how long a lost node takes to recover; and how long a \
slice of a cluster loads, computes and stores a job, one after the other or overlapped. Each copy is on another node \
or server.

Here KB, MB, GB and TB are powers of 1000. Disk servers are those of the paper's table 8, with 16 SATA disks of \
1.5 TB. The paper has no watts of a sleeping server, no time to wake one up and no rate of losses: their defaults \
are assumptions. Energy is modelled.")]
pub struct CostArguments {
    /// Bytes of one copy of the data [default: the paper's petabyte, 2^20 GB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1048576GB", hide_default_value = true)]
    pub data: f64,
    /// Copies of the data
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::<u32>(1..=64))]
    pub copies: u32,
    /// Bytes that change per day; they wait in flash until the disk servers wake up
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub changed_per_day: Option<f64>,
    /// Times per day that the disk servers wake up to take what has changed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u32>(0..=86_400))]
    pub wakes_per_day: u32,
    /// Watts of a disk server asleep, from 0 to 1000000: an assumption
    #[arg(long, value_name = "WATTS", default_value = "5", value_parser = decimal(0.0..=1e6))]
    pub sleep_watts: f64,
    /// Time until a disk server serves after it is woken up: an assumption
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub wake_time: Span,
    /// Disks of a disk server
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = number::<u32>(1..=MOST_DISKS))]
    pub disks: u32,
    /// Share of flash nodes that are lost per year: an assumption, after the 2 to 4 % of disks that are replaced
    #[arg(long, value_name = "SHARE", default_value = "4%", value_parser = parse_share)]
    pub losses: f64,
    /// How busy flash nodes are while they store data, for their watts
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse_share)]
    pub activity: f64,
    /// Nodes of a slice
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = number::<u32>(1..=1_000_000))]
    pub slice_nodes: u32,
    /// 10^6 bits per second between a slice and the data warehouse: the paper's two links of 1 Gbit/s
    #[arg(long, value_name = "MBIT", default_value = "2000", value_parser = parse_mbit)]
    pub link_mbit: f64,
    /// Bytes that a job loads
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "5TB")]
    pub job_input: f64,
    /// Bytes that a job stores in the end [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub job_output: Option<f64>,
    /// Bytes of scratch space of a job [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub job_scratch: Option<f64>,
    /// Time that a job computes [default: 4 s per gigabyte that it loads, as in the paper]
    #[arg(long, value_name = "DURATION")]
    pub job_time: Option<Span>,
    /// Catalogue: today, paper-2009, paper-2009-stated, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = TODAY)]
    pub catalog: String,
    #[command(flatten)]
    pub ratings: RatingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Seconds per gigabyte that a job computes if nobody says for how long (Gordon §6.3).
const SECONDS_PER_GB: f64 = 4.0;

/// Prints what it costs.
///
/// # Errors
/// A catalogue or ratings cannot be read or used, or disk servers have too little time.
pub fn run(arguments: &CostArguments) -> anyhow::Result<CommandStatus> {
    let catalogue = catalogue(&arguments.catalog)?;
    let SleepingServer { watts_awake, watts_asleep, .. } = arguments.question().server;
    if watts_asleep > watts_awake {
        let awake = digits(watts_awake);
        let what =
            format!("--sleep-watts is {watts_asleep}, and a server awake draws {awake} W: give no more than that");
        return Err(UsageError(what).into());
    }
    let report = CostReport::of(&arguments.question(), &catalogue, &arguments.ratings.ratings(&catalogue)?)
        .map_err(|error| of_schedule(&error))?;
    unless_closed(if arguments.json { print_json(&report) } else { print(&report) })?;
    Ok(CommandStatus::Done)
}

/// Flags of what goes to sleeping disks.
const OF_SLEEPING_COPIES: &[&str] =
    &["changed_per_day", "wakes_per_day", "sleep_watts", "wake_time", "disks", "losses"];

impl CostArguments {
    /// Refuses flags without an effect.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if self.copies > 1 { Ok(()) } else { typed.refuse(OF_SLEEPING_COPIES, "with one copy, none of which sleeps") }
    }

    fn question(&self) -> CostQuestion {
        let [_, _, _, sata] = servers();
        let disk = fawn_gordon::survey::paper::disk();
        let network = fawn_gordon::survey::paper::reference().network_bytes_per_second;
        let server = fawn_gordon::survey::cost::petabyte::StorageServer { media: self.disks, ..sata };
        let compute = self.job_time.map_or(self.job_input / 1e9 * SECONDS_PER_GB, |span| span.0.as_secs_f64());
        CostQuestion {
            data: CopiedData {
                bytes: self.data,
                copies: self.copies,
                changed_bytes_per_day: self.changed_per_day.unwrap_or(0.0),
                wakes_per_day: f64::from(self.wakes_per_day),
            },
            server: SleepingServer {
                watts_asleep: self.sleep_watts,
                wake_seconds: self.wake_time.0.as_secs_f64(),
                ..SleepingServer::of(&server, disk.read.bytes_per_second, network)
            },
            losses_per_year: self.losses,
            activity: self.activity,
            slice_nodes: self.slice_nodes,
            link_bytes_per_second: self.link_mbit * 1e6 / 8.0,
            job: SliceJob {
                input_bytes: self.job_input,
                output_bytes: self.job_output.unwrap_or(0.0),
                scratch_bytes: self.job_scratch.unwrap_or(0.0),
                compute_seconds: compute,
            },
        }
    }
}

fn print(report: &CostReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let table = |rows| terminal(&rows, CellAlignment::Left);
    let bytes = fawn_report::amount::exact::bytes(report.question.data.bytes);
    writeln!(out, "Parts (Gordon, table 7):\n\n{}\n", table(tables::table_7()))?;
    writeln!(out, "{bytes} on servers full of one medium (table 8):\n\n{}\n", table(tables::table_8(&report.table_8)))?;
    writeln!(
        out,
        "{bytes} on nodes of `{}`:\n\n{}\n",
        report.catalogue,
        table(tables::catalogue(&report.catalogue_costs))
    )?;
    let copies = counted(report.question.data.copies.into(), "copy", "copies");
    writeln!(out, "{copies} of it (section 6.1):\n\n{}\n", table(tables::nodes_copies(&report.nodes)))?;
    let nodes = counted(report.question.slice_nodes.into(), "node", "nodes");
    writeln!(out, "Jobs on a slice of {nodes} (section 6.3):\n\n{}\n", table(tables::nodes_slices(&report.nodes)))?;
    writeln!(
        out,
        "A job that computes for {} s per gigabyte or longer hides the load of the next.",
        fawn_report::amount::digits(report.hiding_seconds_per_gb)
    )?;
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    fawn_gordon::survey::tables::left_out(&report.left_out).iter().try_for_each(|line| writeln!(out, "note: {line}"))
}
