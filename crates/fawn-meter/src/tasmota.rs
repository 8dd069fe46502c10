//! Plugs with Tasmota: `Status 8`, the sensors, among them `ENERGY` with watts (`Power`) and kilowatt-hours (`Total`).
//!
//! Watts come without decimals unless `WattRes` asks for some, and the counter has three unless `EnergyRes` does. A plug with
//! several channels lists their watts; they are added up. Source: Tasmota's documentation of commands.

use std::time::Duration;

use serde_json::Value;

use crate::error::MeterError;
use crate::http::Plug;
use crate::instrument::{Instrument, InstrumentInfo, InstrumentSample};
use crate::reading::{MeterKind, Scope};

const PERIOD: Duration = Duration::from_secs(1);
const PATH: &str = "/cm?cmnd=Status%208";

/// A plug.
#[derive(Debug)]
pub struct Tasmota {
    info: InstrumentInfo,
    plug: Plug,
}

impl Tasmota {
    /// The one at `base`, `http://HOST[:PORT]`.
    pub fn open(base: &str) -> Self {
        let plug = Plug::new(base, "a plug with Tasmota that meters");
        let info = InstrumentInfo {
            kind: MeterKind::Tasmota,
            scope: Scope::Wall,
            instrument: format!("Tasmota at {}", plug.base()),
            period: PERIOD,
            stated_share: None,
            stated_by: "it depends on the calibration of the plug".to_owned(),
            step_watts: None,
            counter_step: None,
            parts: Vec::new(),
            notes: vec!["a plug covers all devices that are plugged into it".to_owned()],
        };
        Self { info, plug }
    }
}

impl Instrument for Tasmota {
    fn info(&self) -> &InstrumentInfo {
        &self.info
    }

    fn read(&mut self) -> Result<InstrumentSample, MeterError> {
        let answer = self.plug.must_get(PATH)?;
        // Older ones warn instead of refusing.
        if answer.get("WARNING").and_then(Value::as_str).is_some_and(|warning| warning.contains("password")) {
            return Err(MeterError::Password(self.plug.base().to_owned()));
        }
        let power = "/StatusSNS/ENERGY/Power";
        let watts = match answer.pointer(power) {
            Some(Value::Array(channels)) if channels.iter().all(Value::is_number) => {
                channels.iter().filter_map(Value::as_f64).sum()
            }
            _ => self.plug.number(PATH, &answer, power)?,
        };
        let hours = self.plug.number(PATH, &answer, "/StatusSNS/ENERGY/Total").ok();
        Ok(InstrumentSample {
            watts: Some(watts),
            counted_joules: hours.map(|kwh| kwh * 3.6e6),
            ..InstrumentSample::default()
        })
    }
}
