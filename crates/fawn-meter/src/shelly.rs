//! Shelly plugs: the first generation (`/meter/0`, or `meters` of `/status`) and those after it (`/rpc/Switch.GetStatus`).
//!
//! Energy is counted in watt-minutes by the first, in watt-hours by the others. How often a plug brings its counter up to date
//! is not documented, so its steps are watched. Source: Shelly's API documentation of both.

use std::time::Duration;

use serde_json::Value;

use crate::error::MeterError;
use crate::http::{HttpReply, Plug};
use crate::instrument::{Instrument, InstrumentInfo, InstrumentSample};
use crate::reading::{MeterKind, Scope};

/// Plugs have something new about once a second.
const PERIOD: Duration = Duration::from_secs(1);

/// Where a plug of each kind says what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    /// The first generation.
    Meter,
    /// The first generation, where there is no path for a meter alone.
    Status,
    /// The second and later ones.
    Rpc,
}

impl Speech {
    fn path(self) -> &'static str {
        match self {
            Self::Meter => "/meter/0",
            Self::Status => "/status",
            Self::Rpc => "/rpc/Switch.GetStatus?id=0",
        }
    }
}

/// A plug; of several channels the first.
#[derive(Debug)]
pub struct Shelly {
    info: InstrumentInfo,
    plug: Plug,
    speech: Speech,
}

impl Shelly {
    /// The one at `base`, `http://HOST[:PORT]`.
    ///
    /// # Errors
    /// As [`Plug::get`]; it does not say which generation it is.
    pub fn open(base: &str) -> Result<Self, MeterError> {
        let plug = Plug::new(base, "a Shelly plug that meters");
        let about = plug.must_get("/shelly")?;
        let (model, speech) =
            match (about.get("gen").and_then(Value::as_u64), about.get("type").and_then(Value::as_str)) {
                (Some(2..), _) => (about["model"].as_str().unwrap_or("of a later generation").to_owned(), Speech::Rpc),
                (None | Some(1), Some(model)) => {
                    let has_meter = matches!(plug.get(Speech::Meter.path())?, HttpReply::Json(_));
                    (model.to_owned(), if has_meter { Speech::Meter } else { Speech::Status })
                }
                _ => return Err(plug.odd("/shelly", "without its generation")),
            };
        let info = InstrumentInfo {
            kind: MeterKind::Shelly,
            scope: Scope::Wall,
            instrument: format!("Shelly {model} at {}", plug.base()),
            period: PERIOD,
            stated_share: None,
            stated_by: "the plug does not report its accuracy; its data sheet may".to_owned(),
            step_watts: None,
            counter_step: None,
            parts: Vec::new(),
            notes: vec!["a plug covers all devices that are plugged into it".to_owned()],
        };
        Ok(Self { info, plug, speech })
    }
}

impl Instrument for Shelly {
    fn info(&self) -> &InstrumentInfo {
        &self.info
    }

    fn read(&mut self) -> Result<InstrumentSample, MeterError> {
        let path = self.speech.path();
        let answer = self.plug.must_get(path)?;
        let number = |pointer| self.plug.number(path, &answer, pointer);
        let at = if self.speech == Speech::Status { "/meters/0" } else { "" };
        if answer.pointer(&format!("{at}/is_valid")) == Some(&Value::Bool(false)) {
            return Err(self.plug.odd(path, "that its reading is not valid"));
        }
        let (watts, counted_joules) = match self.speech {
            Speech::Meter | Speech::Status => {
                (number(&format!("{at}/power"))?, number(&format!("{at}/total")).map(|minutes| minutes * 60.0))
            }
            Speech::Rpc => (number("/apower")?, number("/aenergy/total").map(|hours| hours * 3600.0)),
        };
        // A meter without a counter serves as well.
        Ok(InstrumentSample { watts: Some(watts), counted_joules: counted_joules.ok(), ..InstrumentSample::default() })
    }
}
