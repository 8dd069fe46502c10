//! `fawn gordon disk`: a disk.

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use fawn_gordon::disk::presets::{self, DiskPreset};
use fawn_gordon::disk::{BufferModel, QueuePolicy, SeekCurve};
use fawn_gordon::measure::DiskMeasurement;
use fawn_gordon::measure::seek_checks::{self, seek_checks};
use fawn_gordon::measure::tables::{self, Sheet, beside};
use serde_json::json;

use super::disk_notes::{self, PAPER_DISK};
use super::output::{bar, print, print_json};
use super::replay::{self, TraceArguments};
use super::workload::{WorkloadArguments, WorkloadReport};
use crate::outcome::{CommandStatus, UsageError};
use crate::tell::unless_closed;
use crate::values::number;

/// Arguments of `fawn gordon disk`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = "\
The model: seek times by distance, rotation by angle, zones, a buffer that reads ahead and writes behind, and a queue. \
Presets are described with their sources by --presets. --seeks prints the seek times beside published ones, and ends \
with exit code 1 if one differs.

Without --trace the workload is computed. Energy is modelled: the power of the disk times the time for which its \
head works.

For example:
  fawn gordon disk --reads 100% --requests 5k --outstanding 1
  fawn gordon disk --disk hp-97560 --seeks
  fawn gordon disk --trace web.csv")]
pub struct DiskArguments {
    /// Preset
    #[arg(long, value_name = "NAME", default_value = PAPER_DISK, value_parser = preset_names(), help_heading = "The disk")]
    pub disk: String,
    /// Revolutions per minute
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_000_000), help_heading = "The disk")]
    pub rpm: Option<u32>,
    /// Seek times of a data sheet in milliseconds, to the next track, on average and over all: SINGLE,MEAN,FULL
    #[arg(long, value_name = "MS", value_parser = parse_seeks, help_heading = "The disk")]
    pub seek_ms: Option<(f64, f64, f64)>,
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

fn preset_names() -> PossibleValuesParser {
    PossibleValuesParser::new(presets::named().into_iter().map(|preset| preset.name))
}

fn parse_seeks(text: &str) -> Result<(f64, f64, f64), String> {
    let times: Option<Vec<f64>> = text.split(',').map(|time| time.trim().parse().ok()).collect();
    match times.as_deref() {
        Some(&[single, mean, full]) if 0.0 < single && single <= mean && mean <= full && full <= 1e6 => {
            Ok((single, mean, full))
        }
        _ => Err("write three times in ascending order, e.g. 0.8,8.5,17".to_owned()),
    }
}

impl DiskArguments {
    fn preset(&self) -> anyhow::Result<DiskPreset> {
        let mut preset = presets::preset(&self.disk).context("clap has checked the preset's name")?;
        let model = &mut preset.model;
        model.rpm = self.rpm.unwrap_or(model.rpm);
        if let Some((single_ms, mean_ms, full_ms)) = self.seek_ms {
            let cylinders = model.zones.iter().map(|zone| zone.cylinders).sum();
            model.seek = SeekCurve::ThreePoints { cylinders, single_ms, mean_ms, full_ms };
        }
        model.queue.depth = self.queue_depth.unwrap_or(model.queue.depth);
        model.queue.policy = self.policy.map_or(model.queue.policy, QueuePolicy::from);
        if self.no_buffer {
            model.buffer = BufferModel::default();
        }
        Ok(preset)
    }

    fn is_changed(&self) -> bool {
        let numbers = self.rpm.is_some() || self.seek_ms.is_some() || self.queue_depth.is_some();
        numbers || self.policy.is_some() || self.no_buffer
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
    let preset = arguments.preset()?;
    if arguments.seeks {
        let checks = seek_checks(&preset.model);
        let table = seek_checks::table(&checks);
        let line = format!("{}: {}", preset.model.name, preset.model.source);
        unless_closed(if arguments.json { print_json(&checks) } else { print(&[line], &[table], &[]) })?;
        let differs = checks.iter().any(|check| check.agrees == Some(false));
        return Ok(if differs { CommandStatus::Missing } else { CommandStatus::Done });
    }
    if let Some(file) = &arguments.trace_file {
        return replay::on_disk(file, &arguments.trace, preset, arguments.outstanding as usize, arguments.json);
    }
    let changed = if arguments.is_changed() { "; changed" } else { "" };
    let head = format!("{}: {}{changed}", preset.model.name, preset.model.source);
    let measurement = DiskMeasurement::new(preset.model, preset.power)
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
        assert_eq!(parse_seeks("0.8, 8.5,17"), Ok((0.8, 8.5, 17.0)));
        for wrong in ["", "1,2", "3,2,1", "0,1,2", "a,b,c"] {
            assert!(parse_seeks(wrong).is_err(), "{wrong}");
        }
    }
}
