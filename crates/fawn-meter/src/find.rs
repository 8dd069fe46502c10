//! What there is on this machine: each meter tried, and the one that `auto` takes.

use std::thread;
use std::time::Duration;

use serde::Serialize;

use crate::choice::MeterChoice;
use crate::hwmon::Sensor;
use crate::meter::{Meter, SystemRoots};
use crate::reading::Scope;

/// How long each is tried.
const TRY: Duration = Duration::from_millis(400);

/// A meter that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeterTrial {
    /// What `--meter` is to say.
    pub meter: String,
    /// Whether it can be used.
    pub usable: bool,
    /// What keeps it from being used, with what to do; null: nothing.
    pub problem: Option<String>,
    /// What it is; null where it cannot be used.
    pub instrument: Option<String>,
    /// What it covers, likewise.
    pub scope: Option<Scope>,
    /// Whether its joules are measured; false: modelled. Null where it cannot be used.
    pub measured: Option<bool>,
    /// What it showed while it was tried; of a model, what that says. Likewise.
    pub watts: Option<f64>,
    /// Its accuracy, as a share; null: nobody states one.
    pub accuracy_share: Option<f64>,
    /// Who states it, or why nobody does; null where it cannot be used.
    pub accuracy_stated_by: Option<String>,
    /// How often it is read, seconds; of a file, how often it is written. Likewise.
    pub period_seconds: Option<f64>,
}

/// Tries every meter that this machine may have: the processor's counters, batteries, power sensors.
pub fn find(machine: &SystemRoots) -> Vec<MeterTrial> {
    let mut choices = vec![MeterChoice::Rapl, MeterChoice::Battery];
    let sensors = Sensor::all(&machine.sys);
    choices.extend(sensors.iter().map(|sensor| MeterChoice::Hwmon(Some(sensor.name()))));
    if sensors.is_empty() {
        choices.push(MeterChoice::Hwmon(None));
    }
    choices.iter().filter_map(|choice| attempt(choice, machine)).collect()
}

/// Tries a meter; `None` where no meter is meant.
pub fn attempt(choice: &MeterChoice, machine: &SystemRoots) -> Option<MeterTrial> {
    let blank = MeterTrial {
        meter: choice.to_string(),
        usable: false,
        problem: None,
        instrument: None,
        scope: None,
        measured: None,
        watts: None,
        accuracy_share: None,
        accuracy_stated_by: None,
        period_seconds: None,
    };
    let meter = match Meter::open(choice, machine) {
        Ok(meter) => meter?,
        Err(error) => return Some(MeterTrial { problem: Some(error.to_string()), ..blank }),
    };
    let metering = meter.start().and_then(|metering| {
        thread::sleep(TRY);
        metering.stop()
    });
    Some(match metering {
        Err(error) => MeterTrial { problem: Some(error.to_string()), ..blank },
        Ok(energy) => MeterTrial {
            usable: true,
            instrument: Some(energy.instrument),
            scope: Some(energy.scope),
            measured: Some(energy.measured),
            watts: Some(energy.watts),
            accuracy_share: energy.uncertainty.stated_share,
            accuracy_stated_by: Some(energy.uncertainty.stated_by),
            period_seconds: Some(meter.info().period.as_secs_f64()).filter(|seconds| *seconds > 0.0),
            ..blank
        },
    })
}
