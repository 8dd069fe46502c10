//! `--meter` of the benchmarks, and `fawn bench meters`: which meters there are.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use comfy_table::presets;
use fawn_meter::{Meter, MeterChoice, MeterTrial, SystemRoots, attempt, find};
use serde_json::json;

use crate::outcome::{CommandStatus, UsageError};
use crate::tell::{tell, unless_closed};
use crate::values::{Span, parse_share};

/// How energy is metered.
#[derive(Clone, Debug, Args)]
pub struct MeterArguments {
    /// Energy meter: auto, none, rapl, hwmon, hwmon:NAME, battery, shelly:URL, tasmota:URL, csv:FILE or model:FILE
    /// [default: auto, and none if that fails]
    #[arg(long, value_name = "METER")]
    pub meter: Option<MeterChoice>,
    /// Meter the machine at rest for this long first, so that reports also have the joules above idle
    #[arg(long, value_name = "DURATION", default_value = "0")]
    pub meter_idle: Span,
    /// Accuracy of the meter, by its data sheet or a calibration, e.g. 1%
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub meter_accuracy: Option<f64>,
    /// Directory that has this machine's sys and proc, if it is not /
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub meter_root: PathBuf,
}

impl MeterArguments {
    /// The meter, tried; `None`: there is to be none, or there is none. Where nobody has named one, it is what this machine has.
    ///
    /// # Errors
    /// [`UsageError`], or why the one that was named cannot be used.
    pub fn open(&self) -> anyhow::Result<Option<Meter>> {
        self.check().map_err(UsageError)?;
        let machine = SystemRoots::under(&self.meter_root);
        let meter = match &self.meter {
            Some(choice) => Meter::open(choice, &machine)?,
            None => Meter::unasked(&machine),
        };
        if meter.is_none()
            && let Some(absence) = self.absence()
        {
            tell(format_args!("fawn: {absence}"));
        }
        Ok(meter.map(|meter| {
            let meter = meter.at_rest_for(self.meter_idle.0);
            match self.meter_accuracy {
                Some(share) => meter.accurate_to(share),
                None => meter,
            }
        }))
    }

    /// Refuses what each flag alone cannot know.
    fn check(&self) -> Result<(), String> {
        match (&self.meter, self.flag_of_a_meter()) {
            (Some(MeterChoice::None), Some(flag)) => {
                Err(format!("--meter none measures no energy: name a meter, or leave {flag} out"))
            }
            _ => Ok(()),
        }
    }

    /// What is said where there is no meter; `None`: nobody has asked for one.
    fn absence(&self) -> Option<String> {
        let why = "no meter can be read: see `fawn bench meters`";
        match (&self.meter, self.flag_of_a_meter()) {
            (_, Some(flag)) => Some(format!("{flag} has no effect, because {why}")),
            (Some(MeterChoice::Auto), None) => Some(why.to_owned()),
            _ => None,
        }
    }

    /// A flag that was given and says something of the meter, whichever that is.
    fn flag_of_a_meter(&self) -> Option<&'static str> {
        if !self.meter_idle.0.is_zero() {
            return Some("--meter-idle");
        }
        self.meter_accuracy.map(|_| "--meter-accuracy")
    }
}

/// Arguments of `fawn bench meters`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without METER, the command tries what this machine may have: the processor's counters (RAPL), batteries, and power \
sensors (hwmon). It tries plugs, files and models if you name them.

For example:
  fawn bench meters shelly:192.168.1.20 model:pi.toml
The exit code is then 1 if one of them cannot be used.

The scope of a meter says which joules it counts: `package`, the processors alone; `board`, everything behind the \
power supply; `wall`, everything. To meter a Raspberry Pi, a laptop or a server, see operations/energy in the book.")]
pub struct MetersArguments {
    /// Meters to try, as for --meter [default: all of this machine]
    #[arg(value_name = "METER")]
    pub meters: Vec<MeterChoice>,
    /// Directory that has this machine's sys and proc, if it is not /
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub meter_root: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs it.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run_meters(arguments: &MetersArguments) -> anyhow::Result<CommandStatus> {
    let machine = SystemRoots::under(&arguments.meter_root);
    let found = if arguments.meters.is_empty() {
        find(&machine)
    } else {
        arguments.meters.iter().filter_map(|choice| attempt(choice, &machine)).collect()
    };
    let auto = Meter::open(&MeterChoice::Auto, &machine)?.map(|meter| meter.info().instrument.clone());
    if arguments.json {
        let all = json!({ "meters": found, "auto": auto });
        unless_closed(writeln!(std::io::stdout(), "{all}"))?;
    } else {
        unless_closed(print(&found, auto.as_deref())).context("cannot print the meters")?;
    }
    let is_named_and_broken = !arguments.meters.is_empty() && found.iter().any(|found| !found.usable);
    Ok(if is_named_and_broken { CommandStatus::Missing } else { CommandStatus::Done })
}

fn print(found: &[MeterTrial], auto: Option<&str>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING).set_header(["METER", "SCOPE", "NOW", "ACCURACY", "WHAT IT IS"]);
    for found in found.iter().filter(|found| found.usable) {
        let word = if found.measured == Some(false) { " (modelled)" } else { "" };
        table.add_row([
            found.meter.clone(),
            found.scope.map_or_else(String::new, |scope| scope.name().to_owned()),
            found.watts.map_or_else(String::new, |watts| format!("{watts:.2} W{word}")),
            found.accuracy_share.map_or_else(|| "not known".to_owned(), |share| format!("{:.1} %", share * 100.0)),
            found.instrument.clone().unwrap_or_default(),
        ]);
    }
    if table.row_count() > 0 {
        writeln!(out, "{}", table.trim_fmt())?;
    }
    for found in found {
        if let Some(problem) = &found.problem {
            writeln!(out, "{} cannot be used: {problem}", found.meter)?;
        }
    }
    match auto {
        Some(auto) => writeln!(out, "--meter auto, the default, uses {auto}"),
        None => writeln!(
            out,
            "--meter auto finds no meter: name a plug, another meter's file or a model (see operations/energy in \
            the book)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// `--meter` of a machine that has none.
    fn metered(
        meter: Option<MeterChoice>,
        idle: Duration,
        accuracy: Option<f64>,
    ) -> (tempfile::TempDir, MeterArguments) {
        let dir = tempfile::tempdir().unwrap();
        let meter_root = dir.path().to_owned();
        (dir, MeterArguments { meter, meter_idle: Span(idle), meter_accuracy: accuracy, meter_root })
    }

    #[test]
    fn what_is_said_of_no_meter_is_refused() {
        let (rest, none) = (Duration::from_mins(1), Some(MeterChoice::None));
        for (idle, accuracy, flag) in [(rest, None, "--meter-idle"), (Duration::ZERO, Some(0.01), "--meter-accuracy")] {
            let (_dir, arguments) = metered(none.clone(), idle, accuracy);
            let error = arguments.open().unwrap_err();
            let Some(UsageError(what)) = error.downcast_ref() else { panic!("{error}") };
            assert!(what.contains("--meter none") && what.contains(&format!("leave {flag}")), "{what}");
        }
        let (_dir, arguments) = metered(none, Duration::ZERO, None);
        assert!(arguments.open().unwrap().is_none());
    }

    #[test]
    fn what_is_said_of_a_meter_that_is_not_there_is_noted() {
        let absence = |meter: Option<MeterChoice>, idle: Duration, accuracy: Option<f64>| {
            let (_dir, arguments) = metered(meter, idle, accuracy);
            assert!(arguments.open().unwrap().is_none());
            arguments.absence()
        };
        let why = "no meter can be read: see `fawn bench meters`";
        let idle = Some(format!("--meter-idle has no effect, because {why}"));
        assert_eq!(absence(None, Duration::from_mins(1), None), idle);
        assert_eq!(absence(Some(MeterChoice::Auto), Duration::from_mins(1), Some(0.01)), idle);
        let accuracy = Some(format!("--meter-accuracy has no effect, because {why}"));
        assert_eq!(absence(None, Duration::ZERO, Some(0.01)), accuracy);
        // Who has named no meter and said nothing of one is not told that there is none.
        assert_eq!(absence(Some(MeterChoice::Auto), Duration::ZERO, None), Some(why.to_owned()));
        assert_eq!(absence(None, Duration::ZERO, None), None);
    }
}
