//! No meter, but a model of the machine that somebody declares: watts at rest, watts with all processors busy, and what the
//! device takes for what it does. Between the two, power is taken to rise with CPU use on a straight line. (The ends of FAWN's own
//! nodes are in SOSP'09 §4: 3 W at rest, at most 6 W.)
//!
//! ```toml
//! machine = "Raspberry Pi 4 B, 4 GB, USB SSD"
//! scope = "wall"                        # or "board", "package"
//! source = "measured with a wall meter, five minutes each"
//! date = "2026-11-20"
//! idle_watts = 3.4
//! full_cpu_watts = 6.9
//! accuracy = 0.15                       # optional: a share
//!
//! [device]                              # optional
//! name = "sda"                          # as in /proc/diskstats
//! watts_per_io_a_second = 0.00002      # at least one of the two
//! watts_per_mb_a_second = 0.004        # MB: 1,000,000 bytes
//! ```

use std::path::Path;

use fawn_report::Date;
use serde::Deserialize;

use crate::activity::Use;
use crate::error::MeterError;
use crate::reading::{EnergyPart, Scope};

/// A model, as its file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerModel {
    /// Which machine it is of.
    pub machine: String,
    /// What its watts cover: `package`, `board` or `wall`.
    pub scope: Scope,
    /// Where its figures are from.
    pub source: String,
    /// From when they are.
    pub date: Date,
    /// Watts at rest.
    pub idle_watts: f64,
    /// Watts with all processors busy.
    pub full_cpu_watts: f64,
    /// How far its joules may be off, as a share of them.
    pub accuracy: Option<f64>,
    /// What a device takes beyond that.
    pub device: Option<ModelDevice>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelDevice {
    /// As `/proc/diskstats` has it.
    pub name: String,
    /// Watts for one read or write a second, that is joules for each.
    #[serde(default)]
    pub watts_per_io_a_second: f64,
    /// Watts for a million bytes a second, that is joules for each million.
    #[serde(default)]
    pub watts_per_mb_a_second: f64,
}

impl PowerModel {
    /// Reads a file.
    ///
    /// # Errors
    /// [`MeterError::Model`].
    pub fn read(path: &Path) -> Result<Self, MeterError> {
        let wrong = |reason: String| MeterError::Model { path: path.to_owned(), reason };
        let text = fawn_files::text::read(path)
            .map_err(|error| wrong(format!("cannot be read ({error}): name a file with a model of this machine")))?;
        Self::parse(&text).map_err(wrong)
    }

    /// From the text of a file; what is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        let model: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let at = line.map_or_else(String::new, |line| format!("line {line}: "));
            format!("{at}{}", error.message().replace('\n', " "))
        })?;
        let are_watts = |watts: f64| watts.is_finite() && watts >= 0.0;
        let (idle, busy) = (model.idle_watts, model.full_cpu_watts);
        if !are_watts(idle) || !are_watts(busy) || busy < idle || busy == 0.0 {
            return Err("a machine draws 0 W or more at rest, no less when it is busy, and then more than 0 W: correct idle_watts and \
                full_cpu_watts"
                .to_owned());
        }
        if model.accuracy.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("accuracy is a share from 0 to 1: write 0.1 for 10 %".to_owned());
        }
        if let Some(ModelDevice { watts_per_io_a_second: io, watts_per_mb_a_second: mb, .. }) = model.device.clone()
            && (!are_watts(io) || !are_watts(mb) || io + mb == 0.0)
        {
            return Err(
                "a device draws power for its work: give watts_per_io_a_second or watts_per_mb_a_second, or leave \
                [device] out"
                    .to_owned(),
            );
        }
        Ok(model)
    }

    /// The device's name.
    pub fn device_name(&self) -> Option<&str> {
        self.device.as_ref().map(|device| device.name.as_str())
    }

    /// For people.
    pub fn describe(&self) -> String {
        format!("a model of {} ({}, {})", self.machine, self.source, self.date)
    }

    /// Joules of `seconds` in which so much was used: idle, processors, device.
    pub fn parts(&self, seconds: f64, used: &Use) -> Vec<EnergyPart> {
        let part = |name: &str, joules: f64| EnergyPart { name: name.to_owned(), joules, is_counted: true };
        let cpu = (self.full_cpu_watts - self.idle_watts) * used.cpu_share * seconds;
        let mut parts = vec![part("idle", self.idle_watts * seconds), part("cpu", cpu)];
        if let Some(device) = &self.device {
            let joules =
                device.watts_per_io_a_second * used.operations + device.watts_per_mb_a_second * used.bytes / 1e6;
            parts.push(part(&device.name, joules));
        }
        parts
    }

    /// What a tick of the system's clock is in joules.
    pub fn step_joules(&self, seconds: f64, used: &Use) -> f64 {
        (self.full_cpu_watts - self.idle_watts) * used.cpu_share_step * seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PI: &str = "machine = 'a Pi'\nscope = 'wall'\nsource = 'a wall meter'\ndate = '2026-11-20'\n\
                      idle_watts = 3.0\nfull_cpu_watts = 7.0\n";
    const SSD: &str = "[device]\nname = 'sda'\nwatts_per_io_a_second = 0.0001\nwatts_per_mb_a_second = 0.01\n";

    fn joules(parts: &[EnergyPart]) -> Vec<f64> {
        parts.iter().map(|part| part.joules).collect()
    }

    #[test]
    fn a_model_is_read_in_whatever_encoding_an_editor_has_saved_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.toml");
        let text = format!("\u{feff}{}", PI.replace('\n', " \r\n"));
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [text.into_bytes(), utf16] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(PowerModel::read(&path).unwrap().machine, "a Pi");
        }
    }

    #[test]
    fn joules_are_those_reckoned_by_hand() {
        let model = PowerModel::parse(PI).unwrap();
        let used = Use { cpu_share: 0.25, cpu_share_step: 0.001, operations: 5000.0, bytes: 20e6 };
        // 3 W for 10 s; a quarter of 4 W for 10 s.
        assert_eq!(joules(&model.parts(10.0, &used)), [30.0, 10.0]);
        assert!((model.step_joules(10.0, &used) - 0.04).abs() < 1e-12);
        // 5,000 × 0.0001 J and 20 MB × 0.01 J beside them.
        let with_device = PowerModel::parse(&format!("{PI}{SSD}")).unwrap();
        let found = joules(&with_device.parts(10.0, &used));
        assert!((found[2] - 0.7).abs() < 1e-12 && found[..2] == [30.0, 10.0], "{found:?}");
    }

    #[test]
    fn a_machine_at_rest_takes_its_idle_watts_and_a_busy_one_all() {
        let model = PowerModel::parse(PI).unwrap();
        assert_eq!(joules(&model.parts(2.0, &Use::default())), [6.0, 0.0]);
        assert_eq!(joules(&model.parts(2.0, &Use { cpu_share: 1.0, ..Use::default() })), [6.0, 8.0]);
    }

    #[test]
    fn models_that_cannot_be_are_refused_with_what_to_do() {
        for (text, says) in [
            (PI.replace("full_cpu_watts = 7.0", "full_cpu_watts = 2.0"), "correct idle_watts"),
            (PI.replace("idle_watts = 3.0", "idle_watts = -1.0"), "correct idle_watts"),
            (PI.replace("= 3.0", "= 0").replace("= 7.0", "= 0"), "more than 0 W"),
            (PI.replace("wall'\nsource", "socket'\nsource"), "socket"),
            (PI.replace("source = 'a wall meter'\n", ""), "source"),
            (format!("{PI}watts = 3\n"), "line 7: "),
            (format!("{PI}accuracy = 15\n"), "0.1 for 10 %"),
            (format!("{PI}[device]\nname = 'sda'\n"), "watts_per_io_a_second"),
            ("idle_watts = \n".to_owned(), "line 1: "),
        ] {
            let error = PowerModel::parse(&text).unwrap_err();
            assert!(error.contains(says) && !error.contains('\n'), "{says}: {error}");
        }
    }
}
