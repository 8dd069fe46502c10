//! A plug that somebody reads by hand: no meter reads it, and its watts are told on the command line.

use std::time::Duration;

use crate::error::MeterError;
use crate::instrument::InstrumentInfo;
use crate::integral::decimals;
use crate::reading::{Idle, MeterKind, Scope};

/// What a plug at the wall showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandReading {
    /// Watts while the work ran.
    pub watts: f64,
    /// Watts while the machine did nothing, if somebody looked.
    pub idle_watts: Option<f64>,
}

impl HandReading {
    /// Refuses what no plug shows.
    pub(super) fn check(&self) -> Result<(), MeterError> {
        let wrong = |what: &str| Err(MeterError::Absent(what.to_owned()));
        if !(self.watts.is_finite() && self.watts > 0.0) {
            return wrong("a machine that works draws more than 0 W: correct the watts that the plug showed");
        }
        match self.idle_watts {
            Some(idle) if !(idle.is_finite() && idle >= 0.0 && idle <= self.watts) => wrong(
                "a machine at rest draws 0 W or more, and no more than when it works: correct the watts that the plug showed",
            ),
            _ => Ok(()),
        }
    }

    /// What is said of the plug.
    pub(super) fn info(&self) -> InstrumentInfo {
        InstrumentInfo {
            kind: MeterKind::Hand,
            scope: Scope::Wall,
            instrument: format!("a plug that showed {} W", self.watts),
            period: Duration::ZERO,
            stated_share: None,
            stated_by: "the plug's data sheet is unknown".to_owned(),
            step_watts: Some(step(self.watts)),
            counter_step: None,
            parts: Vec::new(),
            notes: vec![
                "plug read by hand: each row has the same watts times its own time, so run loads that differ by \
                 themselves"
                    .to_owned(),
            ],
        }
    }

    /// The machine at rest.
    pub(super) fn idle(&self) -> Option<Idle> {
        self.idle_watts.map(|watts| Idle { watts, seconds: 0.0, uncertainty_watts: step(watts) / 2.0 })
    }
}

/// The step of a display that shows this.
fn step(watts: f64) -> f64 {
    10f64.powi(-decimals(watts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;

    #[test]
    fn joules_of_a_plug_read_by_hand_are_its_watts_times_the_time() {
        let meter = Meter::by_hand(HandReading { watts: 7.5, idle_watts: Some(3.0) }).unwrap();
        let metering = meter.start().unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let energy = metering.stop().unwrap();
        assert!((energy.joules - 7.5 * energy.seconds).abs() < 1e-9 && energy.seconds >= 0.005, "{energy:?}");
        assert!((energy.dynamic_joules.unwrap() - 4.5 * energy.seconds).abs() < 1e-9, "{energy:?}");
        // A display with one decimal is off by half of its step, and the plug's own error is not known.
        assert!((energy.uncertainty.resolution_joules - 0.05 * energy.seconds).abs() < 1e-12, "{energy:?}");
        assert_eq!((energy.measured, energy.kind, energy.uncertainty.joules), (false, MeterKind::Hand, None));
        assert_eq!(energy.to_string(), "read by hand, not metered, at the wall from a plug that showed 7.5 W");
        assert!(meter.owed_rest().is_zero() && meter.rest().is_ok());
    }

    #[test]
    fn watts_that_no_plug_shows_are_refused() {
        for (watts, idle_watts) in [(0.0, None), (f64::NAN, None), (5.0, Some(6.0)), (5.0, Some(-1.0))] {
            let error = Meter::by_hand(HandReading { watts, idle_watts }).unwrap_err().to_string();
            assert!(error.contains("correct the watts"), "{error}");
        }
    }
}
