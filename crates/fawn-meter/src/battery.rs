//! A laptop's battery while it is being discharged: then all that the machine draws comes through its gauge.
//!
//! `/sys/class/power_supply` lists batteries and mains. A battery shows `power_now` (microwatts), or `voltage_now` and
//! `current_now` (microvolts, microamperes; some drivers give a discharge a minus). Source: the kernel's
//! `Documentation/ABI/testing/sysfs-class-power`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::MeterError;
use crate::instrument::{Instrument, InstrumentInfo, InstrumentSample};
use crate::integral::decimals;
use crate::reading::{MeterKind, Scope};
use crate::sysfs;

/// Gauges have something new every few seconds.
const PERIOD: Duration = Duration::from_secs(1);

/// All batteries of a machine together.
#[derive(Debug)]
pub struct Battery {
    info: InstrumentInfo,
    batteries: Vec<PathBuf>,
    mains: Vec<PathBuf>,
    decimals: Decimals,
}

/// The most decimals that were seen: a single reading may happen to end with zeros.
#[derive(Debug, Default)]
struct Decimals {
    volts: i32,
    amperes: i32,
}

impl Battery {
    /// Those of the machine whose `/sys` this is.
    ///
    /// # Errors
    /// [`MeterError::Absent`].
    pub fn open(sys: &Path) -> Result<Self, MeterError> {
        let dir = sys.join("class/power_supply");
        let (mut batteries, mut mains, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for name in sysfs::names(&dir) {
            let path = dir.join(&name);
            let word = |file: &str| sysfs::word(&path.join(file)).unwrap_or_default();
            match word("type").as_str() {
                // A mouse has one, too.
                "Battery" if word("scope") != "Device" && word("present") != "0" => {
                    names.push(name);
                    batteries.push(path);
                }
                "Mains" | "USB" => mains.push(path),
                _ => {}
            }
        }
        if batteries.is_empty() {
            return Err(MeterError::Absent(format!(
                "{} has no battery that feeds this machine: choose another meter",
                dir.display()
            )));
        }
        let info = InstrumentInfo {
            kind: MeterKind::Battery,
            scope: Scope::Board,
            instrument: format!("battery {}", names.join(" and ")),
            period: PERIOD,
            stated_share: None,
            stated_by: "the kernel does not report the accuracy of a battery's gauge".to_owned(),
            step_watts: None,
            counter_step: None,
            parts: Vec::new(),
            notes: vec![
                "it counts all that the battery feeds, including the screen; gauges lag by some seconds".to_owned(),
            ],
        };
        Ok(Self { info, batteries, mains, decimals: Decimals::default() })
    }
}

impl Instrument for Battery {
    fn info(&self) -> &InstrumentInfo {
        &self.info
    }

    fn read(&mut self) -> Result<InstrumentSample, MeterError> {
        for mains in &self.mains {
            if sysfs::number_if_there::<u8>(&mains.join("online")).is_some_and(|online| online > 0) {
                let name = mains.file_name().unwrap_or_default().to_string_lossy();
                return Err(MeterError::OnMains(format!("{name} is online")));
            }
        }
        let (mut watts, mut step_watts, mut is_discharged) = (0.0, Some(0.0f64), false);
        for battery in &self.batteries {
            match sysfs::word(&battery.join("status"))?.as_str() {
                "Discharging" => {
                    let (its_watts, its_step) = power(battery, &mut self.decimals)?;
                    watts += its_watts;
                    step_watts = step_watts.zip(its_step).map(|(steps, step)| steps + step);
                    is_discharged = true;
                }
                "Charging" => return Err(MeterError::OnMains("its status is Charging".to_owned())),
                // Of two batteries one rests while the other is used.
                _ => {}
            }
        }
        if !is_discharged {
            return Err(MeterError::OnMains("no status is Discharging".to_owned()));
        }
        Ok(InstrumentSample { watts: Some(watts), step_watts, ..InstrumentSample::default() })
    }
}

/// Watts that a battery gives, and where they are a product their step.
fn power(battery: &Path, seen: &mut Decimals) -> Result<(f64, Option<f64>), MeterError> {
    let millionths = |file: &str| sysfs::number::<i64>(&battery.join(file)).map(|value| value.abs() as f64 / 1e6);
    if battery.join("power_now").exists() {
        return Ok((millionths("power_now")?, None));
    }
    let (volts, amperes) = (millionths("voltage_now")?, millionths("current_now")?);
    seen.volts = seen.volts.max(decimals(volts));
    seen.amperes = seen.amperes.max(decimals(amperes));
    let step = volts * 10f64.powi(-seen.amperes) + amperes * 10f64.powi(-seen.volts);
    Ok((volts * amperes, Some(step)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_product_s_step_is_that_of_both_its_factors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("class/power_supply/BAT0");
        fs::create_dir_all(&path).unwrap();
        for (file, word) in [("type", "Battery"), ("status", "Discharging"), ("voltage_now", "12345000")] {
            fs::write(path.join(file), word).unwrap();
        }
        let mut battery = Battery::open(dir.path()).unwrap();
        // Hundredths of an ampere are what it shows until it shows thousandths.
        for (microamperes, amperes, step) in [(750_000, 0.75, 0.01), (751_000, 0.751, 0.001), (750_000, 0.75, 0.001)] {
            fs::write(path.join("current_now"), microamperes.to_string()).unwrap();
            let sample = battery.read().unwrap();
            let found = (sample.watts.unwrap(), sample.step_watts.unwrap());
            let expected = (12.345 * amperes, 12.345 * step + amperes * 0.001);
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
        }
    }
}
