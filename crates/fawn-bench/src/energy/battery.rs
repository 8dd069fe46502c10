//! A laptop's battery while it is being discharged: then all that the machine draws comes through its gauge.
//!
//! `/sys/class/power_supply` lists batteries and mains. A battery shows `power_now` (microwatts), or `voltage_now` and
//! `current_now` (microvolts, microamperes; some drivers give a discharge a minus). Source: the kernel's
//! `Documentation/ABI/testing/sysfs-class-power`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::MeterError;
use super::gauge::{Gauge, Sample, Sheet};
use super::reading::{Kind, Scope};
use super::sysfs;

/// Gauges have something new every few seconds.
const PERIOD: Duration = Duration::from_secs(1);

/// All batteries of a machine together.
#[derive(Debug)]
pub struct Battery {
    sheet: Sheet,
    batteries: Vec<PathBuf>,
    mains: Vec<PathBuf>,
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
        let sheet = Sheet {
            kind: Kind::Battery,
            scope: Scope::Board,
            instrument: format!("battery {}", names.join(" and ")),
            period: PERIOD,
            stated_share: None,
            stated_by: "the kernel does not show how accurate a battery's gauge is".to_owned(),
            step_watts: None,
            counter_step: None,
            parts: Vec::new(),
            notes: vec![
                "it has all that the battery feeds, the screen included; gauges lag by some seconds".to_owned(),
            ],
        };
        Ok(Self { sheet, batteries, mains })
    }
}

impl Gauge for Battery {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self) -> Result<Sample, MeterError> {
        for mains in &self.mains {
            if sysfs::number_if_there::<u8>(&mains.join("online")).is_some_and(|online| online > 0) {
                let name = mains.file_name().unwrap_or_default().to_string_lossy();
                return Err(MeterError::OnMains(format!("{name} is online")));
            }
        }
        let (mut watts, mut is_discharged) = (0.0, false);
        for battery in &self.batteries {
            match sysfs::word(&battery.join("status"))?.as_str() {
                "Discharging" => {
                    watts += power(battery)?;
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
        Ok(Sample { watts: Some(watts), ..Sample::default() })
    }
}

/// Watts that a battery gives.
fn power(battery: &Path) -> Result<f64, MeterError> {
    let (power, current) = (battery.join("power_now"), battery.join("current_now"));
    if power.exists() {
        return sysfs::number::<i64>(&power).map(|microwatts| microwatts.abs() as f64 / 1e6);
    }
    let volts = sysfs::number::<i64>(&battery.join("voltage_now"))? as f64 / 1e6;
    Ok(volts * sysfs::number::<i64>(&current)?.abs() as f64 / 1e6)
}
