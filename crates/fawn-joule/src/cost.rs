//! What a stretch of work costs: wall time, CPU time of this process, and joules where there is a meter.

use std::time::Instant;

use fawn_machine::process::cpu_us;
use fawn_meter::{Energy, Meter, MeterError, Metering, start, stop, write_row};
use serde_json::{Map, Value, json};

/// What a stretch of work cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Wall time, seconds.
    pub seconds: f64,
    /// CPU time of all threads of this process, seconds.
    pub cpu_seconds: f64,
    /// Joules of the machine; `None`: no meter was read.
    pub energy: Option<Energy>,
}

/// A stretch of work under way.
pub struct CostMeter {
    metering: Option<Metering>,
    began: Instant,
    cpu_us: f64,
}

impl CostMeter {
    /// Begins a stretch, which `meter` meters, if there is one.
    ///
    /// # Errors
    /// The meter cannot be read.
    pub fn start(meter: Option<&Meter>) -> Result<Self, MeterError> {
        let metering = start(meter)?;
        Ok(Self { metering, began: Instant::now(), cpu_us: cpu_us() })
    }

    /// Ends it.
    ///
    /// # Errors
    /// The meter cannot be read any more.
    pub fn stop(self) -> Result<Cost, MeterError> {
        let (seconds, cpu_seconds) = (self.began.elapsed().as_secs_f64(), (cpu_us() - self.cpu_us) / 1e6);
        Ok(Cost { seconds, cpu_seconds, energy: stop(self.metering)? })
    }
}

impl Cost {
    /// The figures of a report's row for `work` units of work: `seconds`, `cpu_seconds`, `work_a_second`, and those of
    /// [`write_row`], in which an operation is a unit of work.
    pub fn write(&self, row: &mut Map<String, Value>, work: f64) {
        let rate = work / self.seconds.max(1e-9);
        row.insert("seconds".to_owned(), json!(self.seconds));
        row.insert("cpu_seconds".to_owned(), json!(self.cpu_seconds));
        row.insert("work_a_second".to_owned(), json!(rate));
        let cpu_us = (work > 0.0).then(|| self.cpu_seconds * 1e6 / work);
        write_row(row, self.energy.as_ref(), rate, cpu_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_a_meter_has_work_a_cpu_second_and_no_joules() {
        let cost = Cost { seconds: 2.0, cpu_seconds: 4.0, energy: None };
        let mut row = Map::new();
        cost.write(&mut row, 100.0);
        assert_eq!(row["work_a_second"], 50.0);
        assert_eq!(row["operations_a_cpu_second"], 25.0);
        assert!(row.keys().all(|name| !name.contains("joule")), "{row:?}");
    }

    #[test]
    fn a_stretch_counts_the_cpu_time_of_this_process() {
        let meter = CostMeter::start(None).unwrap();
        let mut sum = 0u64;
        while meter.began.elapsed().as_millis() < 20 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let cost = meter.stop().unwrap();
        assert!(cost.seconds >= 0.02 && cost.cpu_seconds > 0.0, "{cost:?}");
    }
}
