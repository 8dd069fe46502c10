//! Power sensors that the kernel has a driver for: INA219, INA226 and their like on the supply of a small board, a server's
//! ACPI power meter, power supplies.
//!
//! `/sys/class/hwmon/hwmonN` is a device with a `name`. A sensor of it shows power (`powerN_input` or `powerN_average`,
//! microwatts), energy (`energyN_input`, microjoules) or both; where a device shows neither, volts and amperes of a channel are
//! multiplied (`inN_input`, `currN_input`, millivolts and milliamperes). Source: the kernel's
//! `Documentation/hwmon/sysfs-interface.rst`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::MeterError;
use crate::instrument::{CounterStep, Instrument, InstrumentInfo, InstrumentSample};
use crate::reading::{MeterKind, Scope};
use crate::sysfs;

/// How often a sensor is read at most.
const LEAST_PERIOD: Duration = Duration::from_millis(100);
/// And at least, whatever its driver says.
const MOST_PERIOD: Duration = Duration::from_secs(1);
/// Channels of a device at most.
const CHANNELS: u32 = 16;

/// What is known of a chip that is put where a whole board or machine is fed.
struct Chip {
    name: &'static str,
    /// What its power's step follows from: the step of its shunt voltage, microvolts, and how many steps of current make one of
    /// power, as the kernel's driver `ina2xx` calibrates it.
    steps: Option<(f64, f64)>,
    accuracy: Option<f64>,
    stated_by: &'static str,
}

/// Accuracies are those of current and bus voltage over temperature, from Texas Instruments' data sheets, and one percent for the
/// shunt.
const CHIPS: &[Chip] = &[
    Chip {
        name: "ina219",
        steps: Some((10.0, 20.0)),
        accuracy: Some(0.03),
        stated_by: "TI's data sheet SBOS448: 1 % of current, 1 % of voltage; and 1 % of the shunt",
    },
    Chip {
        name: "ina226",
        steps: Some((2.5, 25.0)),
        accuracy: Some(0.012),
        stated_by: "TI's data sheet SBOS547: 0.1 % of current, 0.1 % of voltage, offsets aside; and 1 % of the shunt",
    },
    Chip {
        name: "power_meter",
        steps: None,
        accuracy: None,
        stated_by: "the kernel does not report the accuracy of the firmware's power meter",
    },
];

/// Chips that show a processor's power, not a board's.
const OF_PROCESSORS: &[&str] = &["amd_energy", "fam15h_power"];
/// A chip with three channels of volts and amperes. Beyond these its driver shows volts of the shunts, and sums.
const INA3221: &str = "ina3221";
const INA3221_CHANNELS: u32 = 3;
/// Its steps of a channel's volts, and of the microvolts of its shunt (TI's data sheet SBOS576).
const INA3221_STEPS: (f64, f64) = (0.008, 40.0);
/// The kernel shows volts and amperes in thousandths.
const THOUSANDTH: f64 = 0.001;
/// Drivers of cards and disks, whose sensors are of these alone.
const OF_PARTS: &[&str] = &["amdgpu", "nouveau", "i915", "xe", "nvme"];

/// How a sensor is read.
#[derive(Clone, Debug, PartialEq)]
enum Shows {
    Power { watts: Option<PathBuf>, joules: Option<PathBuf> },
    VoltsAndAmperes { volts: PathBuf, amperes: PathBuf },
}

/// A sensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// `hwmon2`.
    dir: String,
    /// `ina219`.
    chip: String,
    /// `power1`.
    channel: String,
    label: Option<String>,
    path: PathBuf,
    shows: Shows,
}

impl Sensor {
    /// All sensors of power of the machine whose `/sys` this is.
    pub fn all(sys: &Path) -> Vec<Self> {
        let dir = sys.join("class/hwmon");
        sysfs::names(&dir).iter().flat_map(|name| Self::of_device(&dir, name)).collect()
    }

    fn of_device(dir: &Path, name: &str) -> Vec<Self> {
        let path = dir.join(name);
        let Ok(chip) = sysfs::word(&path.join("name")) else { return Vec::new() };
        if OF_PARTS.contains(&chip.as_str()) {
            return Vec::new();
        }
        let file = |name: String| Some(path.join(name)).filter(|path| path.exists());
        let sensor = |channel: String, shows: Shows| Self {
            dir: name.to_owned(),
            chip: chip.clone(),
            label: sysfs::word(&path.join(format!("{channel}_label"))).ok(),
            channel,
            path: path.clone(),
            shows,
        };
        let mut sensors = Vec::new();
        for n in 1..=CHANNELS {
            let watts = file(format!("power{n}_input")).or_else(|| file(format!("power{n}_average")));
            let joules = file(format!("energy{n}_input"));
            if watts.is_some() || joules.is_some() {
                let channel = format!("{}{n}", if watts.is_some() { "power" } else { "energy" });
                sensors.push(sensor(channel, Shows::Power { watts, joules }));
            }
        }
        if sensors.is_empty() {
            let channels = if chip == INA3221 { INA3221_CHANNELS } else { CHANNELS };
            for n in 1..=channels {
                let both = file(format!("in{n}_input")).zip(file(format!("curr{n}_input")));
                if let Some((volts, amperes)) = both {
                    sensors.push(sensor(format!("in{n}"), Shows::VoltsAndAmperes { volts, amperes }));
                }
            }
        }
        sensors
    }

    /// The one that is meant by `name`: a chip, `hwmonN`, a label, or one of the first two with a channel, `ina219/power1`. The
    /// only one there is where there is no name.
    ///
    /// # Errors
    /// [`MeterError::Absent`], [`MeterError::Ambiguous`].
    pub fn choose(sys: &Path, name: Option<&str>) -> Result<Self, MeterError> {
        let all = Self::all(sys);
        let list = |sensors: &[Self]| sensors.iter().map(Self::name).collect::<Vec<_>>().join(", ");
        let meant: Vec<Self> =
            all.iter().filter(|sensor| name.is_none_or(|name| sensor.is_called(name))).cloned().collect();
        match (<[Self; 1]>::try_from(meant), name) {
            (Ok([sensor]), _) => Ok(sensor),
            (Err(meant), _) if meant.len() > 1 => {
                let name = name.map_or_else(|| "hwmon".to_owned(), |name| format!("hwmon:{name}"));
                Err(MeterError::Ambiguous { name, choices: list(&meant) })
            }
            (Err(_), Some(name)) if !all.is_empty() => {
                Err(MeterError::Absent(format!("no power sensor is called {name}: choose one of {}", list(&all))))
            }
            (Err(_), _) => Err(MeterError::Absent(format!(
                "{} has no power sensor: load the driver of the connected one, or choose another meter",
                sys.join("class/hwmon").display()
            ))),
        }
    }

    /// A name that no other has.
    pub fn name(&self) -> String {
        format!("{}/{}", self.dir, self.channel)
    }

    /// What it is, for people.
    pub fn describe(&self) -> String {
        let label = self.label.as_ref().map_or_else(String::new, |label| format!(" \"{label}\""));
        format!("{} sensor {}{label}", self.chip, self.name())
    }

    /// Whether it may be taken without being asked for by name.
    pub fn is_of_board(&self) -> bool {
        self.known().is_some()
    }

    fn is_called(&self, name: &str) -> bool {
        let plain = [&self.chip, &self.dir].iter().any(|own| *own == name);
        plain
            || self.label.as_deref() == Some(name)
            || self.name() == name
            || format!("{}/{}", self.chip, self.channel) == name
    }

    fn known(&self) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.name == self.chip)
    }

    /// The step of its power, where the chip and its shunt are known.
    fn step_watts(&self) -> Option<f64> {
        let (step_uv, currents) = self.known()?.steps?;
        let shunt_uohm: f64 = sysfs::number_if_there(&self.path.join("shunt_resistor")).filter(|ohm| *ohm > 0.0)?;
        Some(step_uv / shunt_uohm * currents)
    }

    /// The steps of its volts and amperes, where these are multiplied: the chip's, or those of the files.
    fn factor_steps(&self) -> (f64, f64) {
        if self.chip != INA3221 {
            return (THOUSANDTH, THOUSANDTH);
        }
        let (volts, shunt_uv) = INA3221_STEPS;
        let shunt = self.path.join(format!("shunt{}_resistor", self.channel.trim_start_matches("in")));
        let shunt_uohm = sysfs::number_if_there::<f64>(&shunt).filter(|uohm| *uohm > 0.0);
        (volts, shunt_uohm.map_or(THOUSANDTH, |uohm| (shunt_uv / uohm).max(THOUSANDTH)))
    }

    /// How often it has something new to show.
    fn period(&self) -> Duration {
        let ms = |file: &str| sysfs::number_if_there(&self.path.join(file));
        let interval = ms("update_interval").or_else(|| ms(&format!("{}_average_interval", self.channel)));
        interval.map_or(LEAST_PERIOD, Duration::from_millis).clamp(LEAST_PERIOD, MOST_PERIOD)
    }
}

/// A sensor that is read.
#[derive(Debug)]
pub struct Hwmon {
    info: InstrumentInfo,
    shows: Shows,
    /// Of volts and amperes.
    factor_steps: (f64, f64),
}

impl Hwmon {
    /// This one.
    pub fn open(sensor: &Sensor) -> Self {
        let period = sensor.period();
        let (stated_share, stated_by) = match sensor.known() {
            Some(chip) => (chip.accuracy, chip.stated_by.to_owned()),
            None => (None, format!("the accuracy of {} is unknown", sensor.chip)),
        };
        let has_counter = matches!(&sensor.shows, Shows::Power { joules: Some(_), .. });
        let lag_seconds = period.as_secs_f64();
        let mut notes = vec!["a sensor covers only what is wired behind it".to_owned()];
        if let Shows::VoltsAndAmperes { .. } = sensor.shows {
            notes.push("watts are volts times amperes, read one after the other".to_owned());
        }
        let is_processor = OF_PROCESSORS.contains(&sensor.chip.as_str());
        let info = InstrumentInfo {
            kind: MeterKind::Hwmon,
            scope: if is_processor { Scope::Package } else { Scope::Board },
            instrument: sensor.describe(),
            period,
            stated_share,
            stated_by,
            step_watts: sensor.step_watts(),
            counter_step: has_counter.then_some(CounterStep { joules: 1e-6, lag_seconds }),
            parts: Vec::new(),
            notes,
        };
        Self { info, shows: sensor.shows.clone(), factor_steps: sensor.factor_steps() }
    }
}

impl Instrument for Hwmon {
    fn info(&self) -> &InstrumentInfo {
        &self.info
    }

    fn read(&mut self) -> Result<InstrumentSample, MeterError> {
        let millionths = |path: &PathBuf| sysfs::number::<i64>(path).map(|value| value as f64 / 1e6);
        match &self.shows {
            Shows::Power { watts, joules } => {
                let (watts, joules) = (watts.as_ref().map(millionths), joules.as_ref().map(millionths));
                Ok(InstrumentSample {
                    watts: watts.transpose()?,
                    counted_joules: joules.transpose()?,
                    ..InstrumentSample::default()
                })
            }
            Shows::VoltsAndAmperes { volts, amperes } => {
                let thousandths = |path: &PathBuf| sysfs::number::<i64>(path).map(|value| value as f64 / 1e3);
                let (volts, amperes) = (thousandths(volts)?, thousandths(amperes)?);
                let (volt_step, ampere_step) = self.factor_steps;
                let step = volts.abs() * ampere_step + amperes.abs() * volt_step;
                Ok(InstrumentSample {
                    watts: Some(volts * amperes),
                    step_watts: Some(step),
                    ..InstrumentSample::default()
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A `/sys` with a device that has these files, and its sensors.
    fn sensors(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<Sensor>) {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("class/hwmon/hwmon3");
        fs::create_dir_all(&device).unwrap();
        for (file, word) in files {
            fs::write(device.join(file), word).unwrap();
        }
        let sensors = Sensor::all(dir.path());
        (dir, sensors)
    }

    #[test]
    fn volts_of_a_shunt_and_a_sum_of_amperes_are_no_sensor() {
        let channels = |chip: &str| {
            let files = [("name", chip), ("in3_input", "5000"), ("curr3_input", "100")];
            let beyond = [("in4_input", "4"), ("curr4_input", "300")];
            let (_dir, sensors) = sensors(&[&files[..], &beyond].concat());
            sensors.iter().map(Sensor::name).collect::<Vec<_>>()
        };
        assert_eq!(channels("ina3221"), ["hwmon3/in3"]);
        assert_eq!(channels("another"), ["hwmon3/in3", "hwmon3/in4"]);
    }

    #[test]
    fn a_product_s_step_is_that_of_both_its_factors() {
        let step = |chip: &str| {
            let files = [("name", chip), ("in1_input", "5008"), ("curr1_input", "404"), ("shunt1_resistor", "10000")];
            let (_dir, sensors) = sensors(&files);
            let sample = Hwmon::open(&sensors[0]).read().unwrap();
            assert!((sample.watts.unwrap() - 2.023_232).abs() < 1e-9);
            sample.step_watts.unwrap()
        };
        // Thousandths of both.
        assert!((step("another") - (5.008 + 0.404) * 0.001).abs() < 1e-9);
        // 8 mV, and 40 uV over 0.01 ohm: 4 mA.
        assert!((step("ina3221") - (5.008 * 0.004 + 0.404 * 0.008)).abs() < 1e-9);
    }
}
