//! Processors: instructions per second, and power by frequency and voltage.

use serde::{Deserialize, Serialize};

use super::power::WattRange;

/// The voltages of a processor at the ends of its range of frequencies. Between them voltage grows evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoltageRange {
    /// The lowest frequency.
    pub low_hz: f64,
    /// Volts at the lowest frequency.
    pub low_volts: f64,
    /// The highest frequency.
    pub high_hz: f64,
    /// Volts at the highest frequency.
    pub high_volts: f64,
}

impl VoltageRange {
    /// Volts at a frequency; beyond an end, those of the end.
    pub fn volts(&self, hz: f64) -> f64 {
        if self.high_hz <= self.low_hz {
            return self.high_volts;
        }
        let share = ((hz - self.low_hz) / (self.high_hz - self.low_hz)).clamp(0.0, 1.0);
        self.low_volts + share * (self.high_volts - self.low_volts)
    }
}

/// A kind of processor. Its rate is linear in its frequency (Gordon §5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorModel {
    /// What it is called.
    pub name: String,
    /// Instructions per cycle, of the kind that traces count.
    pub instructions_per_cycle: f64,
    /// The frequency at which `watts` were measured.
    pub rated_hz: f64,
    /// Power at `rated_hz`.
    pub watts: WattRange,
    /// Voltage by frequency; without it the voltage stays.
    #[serde(default)]
    pub volts: Option<VoltageRange>,
    /// Price of one.
    #[serde(default)]
    pub price_dollars: Option<f64>,
}

impl ProcessorModel {
    /// Instructions per second at a frequency.
    pub fn instructions_per_second(&self, hz: f64) -> f64 {
        self.instructions_per_cycle * hz
    }

    /// Power at a frequency. What activity adds to idle power scales with f × V² (dynamic power of CMOS). Idle power
    /// stays: the paper gives one value for each processor. With idle power that scaled as well, slow processors would
    /// be on the paper's Pareto set, and its Core 2 at 2.4 GHz alone are.
    pub fn watts_at(&self, hz: f64) -> WattRange {
        let voltage = self.volts.as_ref().map_or(1.0, |volts| {
            let rated = volts.volts(self.rated_hz);
            if rated > 0.0 { volts.volts(hz) / rated } else { 1.0 }
        });
        let dynamic = (self.watts.active - self.watts.idle) * hz / self.rated_hz * voltage * voltage;
        WattRange::new(self.watts.idle, self.watts.idle + dynamic)
    }
}

/// What turns processor time into instructions where no counter exists: the rate of the recording machine's processor
/// under this workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuCalibration {
    /// Instructions per cycle, measured once with a counter.
    pub instructions_per_cycle: f64,
    /// The processor's frequency while the trace was recorded.
    pub hz: f64,
}

impl CpuCalibration {
    /// Instructions in so many seconds of processor time.
    pub fn instructions(&self, cpu_seconds: f64) -> f64 {
        self.instructions_per_cycle * self.hz * cpu_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::paper::atom;

    #[test]
    fn dynamic_power_scales_with_frequency_and_the_square_of_voltage() {
        let slow = atom().watts_at(0.8e9);
        let expected = 0.16 + 2.24 * (0.8 / 1.9) * (0.75f64 / 1.2).powi(2);
        assert!((slow.active - expected).abs() < 1e-12 && slow.idle == 0.16, "{slow:?}");
        assert_eq!(atom().watts_at(1.9e9), WattRange::new(0.16, 2.4));
        let fixed = ProcessorModel { volts: None, ..atom() };
        assert!((fixed.watts_at(0.95e9).active - (0.16 + 1.12)).abs() < 1e-12);
    }

    #[test]
    fn voltage_is_linear_in_frequency_and_ends_at_its_range() {
        let volts = VoltageRange { low_hz: 0.6e9, low_volts: 0.8, high_hz: 2.4e9, high_volts: 1.6 };
        for (hz, expected) in [(0.1e9, 0.8), (0.6e9, 0.8), (1.5e9, 1.2), (2.4e9, 1.6), (9e9, 1.6)] {
            assert!((volts.volts(hz) - expected).abs() < 1e-12, "{hz}: {}", volts.volts(hz));
        }
    }

    #[test]
    fn processor_time_becomes_instructions_by_the_recording_machines_rate() {
        let calibration = CpuCalibration { instructions_per_cycle: 1.5, hz: 2.4e9 };
        assert_eq!(calibration.instructions(0.5), 1.8e9);
    }
}
