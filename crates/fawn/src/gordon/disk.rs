//! `fawn gordon disk`: a disk.

use clap::{Args, ValueEnum};
use fawn_gordon::disk::presets::{self, DiskPreset};
use fawn_gordon::disk::{BufferValues, DiskValues, PoweredDisk, QueuePolicy, check_seeks};
use fawn_gordon::measure::DiskMeasurement;
use fawn_gordon::measure::seek_checks::{self, seek_checks};
use fawn_gordon::measure::tables::{self, Sheet, beside};
use serde_json::json;

use super::disk_files;
use super::disk_notes::{self, PAPER_DISK};
use super::output::{bar, print};
use super::replay::{self, TraceArguments};
use super::typed::TypedFlags;
use super::workload::{WorkloadArguments, WorkloadReport};
use crate::outcome::{CommandStatus, UsageError};
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::number;

/// Arguments of `fawn gordon disk`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = "\
The model: seek times by distance, rotation by angle, zones, a buffer that reads ahead and writes behind, and a queue. \
Presets are described with their sources by --presets. A file has the values of a disk, in TOML or JSON, and may \
begin with a preset; see nodes/disk in the book. --seeks prints the seek times beside published ones, and ends \
with exit code 1 if one differs.

Without --trace the workload is computed. Energy is modelled: the power of the disk times the time for which its \
head works.

For example:
  fawn gordon disk --reads 100% --requests 5k --outstanding 1
  fawn gordon disk --disk hp-97560 --seeks
  fawn gordon disk --trace web.csv")]
pub struct DiskArguments {
    /// Preset (`--presets` lists them), or a TOML or JSON file; the flags below change its values
    #[arg(long, value_name = "NAME|FILE", default_value = PAPER_DISK, help_heading = "The disk")]
    pub disk: String,
    /// Revolutions per minute
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_000_000), help_heading = "The disk")]
    pub rpm: Option<u32>,
    /// Seek times of a data sheet in milliseconds, to the next track, on average and over all: SINGLE,MEAN,FULL
    #[arg(long, value_name = "MS", value_parser = parse_seeks, help_heading = "The disk")]
    pub seek_ms: Option<[f64; 3]>,
    /// Commands that the disk takes at a time
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=65_536), help_heading = "The disk")]
    pub queue_depth: Option<u32>,
    /// Which of them is served first
    #[arg(long, value_name = "POLICY", help_heading = "The disk")]
    pub policy: Option<PolicyChoice>,
    /// Leave the buffer out
    #[arg(long, help_heading = "The disk")]
    pub no_buffer: bool,
    /// Requests that the host keeps at the disk, where they have no times
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number::<u32>(1..=65_536))]
    pub outstanding: u32,
    #[command(flatten)]
    pub workload: WorkloadArguments,
    /// Serve the requests of this block trace instead of a computed workload; - for standard input
    #[arg(long = "trace", value_name = "FILE", hide_env = true, help_heading = "A trace")]
    pub trace_file: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub trace: TraceArguments,
    /// Print the seek times beside published ones
    #[arg(long, hide_env = true, conflicts_with = "presets", help_heading = "What to do")]
    pub seeks: bool,
    /// List the presets with their sources
    #[arg(long, hide_env = true, help_heading = "What to do")]
    pub presets: bool,
    /// Print JSON
    #[arg(long, help_heading = "What to do")]
    pub json: bool,
}

/// Which command a disk serves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PolicyChoice {
    /// The one that came first
    FirstCome,
    /// The one with the fewest cylinders to cross
    ShortestSeek,
    /// The one that the head reaches first, rotation included
    ShortestPositioning,
}

impl From<PolicyChoice> for QueuePolicy {
    fn from(choice: PolicyChoice) -> Self {
        match choice {
            PolicyChoice::FirstCome => Self::FirstCome,
            PolicyChoice::ShortestSeek => Self::ShortestSeek,
            PolicyChoice::ShortestPositioning => Self::ShortestPositioning,
        }
    }
}

fn parse_seeks(text: &str) -> Result<[f64; 3], String> {
    let times: Option<Vec<f64>> = text.split(',').map(|time| time.trim().parse().ok()).collect();
    match times.as_deref() {
        Some(&[single, mean, full]) => {
            let right = check_seeks(single, mean, full).map(|()| [single, mean, full]);
            right.map_err(|range| format!("write {range}"))
        }
        _ => Err("write three times in ascending order, e.g. 0.8,8.5,17".to_owned()),
    }
}

impl DiskArguments {
    /// Refuses flags without an effect.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if self.presets {
            return typed.refuse_all::<Self>(&["presets", "json"], "with --presets");
        }
        if self.seeks {
            return typed.refuse_all::<Self>(&["seeks", "disk", "seek_ms", "json"], "with --seeks");
        }
        if self.trace_file.is_some() {
            typed.refuse_all::<WorkloadArguments>(&[], "with --trace")?;
            return self.trace.check(typed);
        }
        typed.refuse_all::<TraceArguments>(&[], "without --trace")?;
        if self.workload.rate.is_some() {
            typed.refuse(&["outstanding"], "with --rate")?;
        }
        self.workload.check(typed)
    }

    fn disk(&self) -> anyhow::Result<PoweredDisk> {
        let values = DiskValues {
            rpm: self.rpm,
            seek_ms: self.seek_ms,
            queue_depth: self.queue_depth,
            policy: self.policy.map(QueuePolicy::from),
            buffer: if self.no_buffer { BufferValues::none() } else { BufferValues::default() },
            ..DiskValues::default()
        };
        let changed = values.change(&disk_files::disk(&self.disk)?);
        changed.map_err(|error| UsageError(format!("the disk cannot be simulated: {error}")).into())
    }
}

/// Simulates a disk.
///
/// # Errors
/// The disk or the workload cannot be, or the trace cannot be read.
pub fn run(arguments: &DiskArguments) -> anyhow::Result<CommandStatus> {
    if arguments.presets {
        return list(arguments.json);
    }
    let PoweredDisk { model, power } = arguments.disk()?;
    if arguments.seeks {
        let checks = seek_checks(&model);
        let table = seek_checks::table(&checks);
        let line = format!("{}: {}", model.name, model.source);
        unless_closed(if arguments.json { print_json(&checks) } else { print(&[line], &[table], &[]) })?;
        let differs = checks.iter().any(|check| check.agrees == Some(false));
        return Ok(if differs { CommandStatus::Missing } else { CommandStatus::Done });
    }
    if let Some(file) = &arguments.trace_file {
        let disk = PoweredDisk { model, power };
        return replay::on_disk(file, &arguments.trace, disk, arguments.outstanding as usize, arguments.json);
    }
    let head = format!("{}: {}", model.name, model.source);
    let measurement = DiskMeasurement::new(model, power)
        .map_err(|error| UsageError(format!("the disk cannot be simulated: {error}")))?;
    let workload = &arguments.workload;
    let pattern = workload.pattern(measurement.capacity_bytes())?;
    let bar = bar()?;
    let (pacing, outstanding) = (workload.pacing(), arguments.outstanding as usize);
    let report = measurement.run(workload.requests(&pattern)?, pattern.requests, pacing, outstanding, &bar)?;
    bar.0.finish();
    unless_closed(if arguments.json {
        print_json(&WorkloadReport { workload: workload.line(&pattern), report: &report })
    } else {
        print(&[head, workload.line(&pattern)], &[beside(&[Sheet::of_disk(&report)])], &disk_notes::notes(&report))
    })?;
    Ok(CommandStatus::Done)
}

fn list(is_json: bool) -> anyhow::Result<CommandStatus> {
    let presets = presets::named();
    let entry = |preset: &DiskPreset| {
        let power = preset.power.as_ref().map(|power| json!({ "watts": power.watts, "source": power.source }));
        json!({
            "name": preset.name,
            "model": preset.model.name,
            "source": preset.model.source,
            "rpm": preset.model.rpm,
            "queue_depth": preset.model.queue.depth,
            "power": power,
        })
    };
    unless_closed(if is_json {
        print_json(&presets.iter().map(entry).collect::<Vec<_>>())
    } else {
        print(&[], &[tables::disk_presets(&presets)], &[])
    })?;
    Ok(CommandStatus::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seek_times_are_three_in_ascending_order() {
        assert_eq!(parse_seeks("0.8, 8.5,17"), Ok([0.8, 8.5, 17.0]));
        for wrong in ["", "1,2", "3,2,1", "0,1,2", "a,b,c", "1,1,10", "NaN,1,2", "1,8.5,1e9"] {
            assert!(parse_seeks(wrong).is_err(), "{wrong}");
        }
    }
}
