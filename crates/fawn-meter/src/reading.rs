//! What comes of metering a stretch of work.

use std::fmt;

pub use fawn_report::Scope;
use serde::{Deserialize, Serialize};

/// By what kind of meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterKind {
    /// The processor's own counters (powercap).
    Rapl,
    /// A power sensor on the board, or of a power supply (hwmon).
    Hwmon,
    /// The gauge of a battery that is being discharged.
    Battery,
    /// A Shelly plug.
    Shelly,
    /// A plug with Tasmota.
    Tasmota,
    /// A file that another meter has written.
    Csv,
    /// No meter: a declared model of the machine.
    Model,
    /// No meter: watts that somebody read off a plug.
    Hand,
}

impl MeterKind {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rapl => "rapl",
            Self::Hwmon => "hwmon",
            Self::Battery => "battery",
            Self::Shelly => "shelly",
            Self::Tasmota => "tasmota",
            Self::Csv => "csv",
            Self::Model => "model",
            Self::Hand => "hand",
        }
    }

    /// Whether it is of the machine that reads it, whatever is measured there; others are of what is behind them.
    pub fn is_of_this_machine(self) -> bool {
        matches!(self, Self::Rapl | Self::Hwmon | Self::Battery | Self::Model)
    }

    /// Whether an instrument measured its joules during the work.
    pub fn is_measured(self) -> bool {
        self.prefix().is_empty()
    }

    /// What precedes `joules` and `watts` in the names of its figures; nothing if they were measured.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Model => "modelled_",
            Self::Hand => "hand_read_",
            _ => "",
        }
    }
}

/// How far joules may be off: bounds, but for sampling, which is twice a standard error, and more where there are gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uncertainty {
    /// Of the instrument, as a share of what it shows; null: nobody states one.
    pub stated_share: Option<f64>,
    /// Who states it, or why nobody does.
    pub stated_by: String,
    /// What the steps of its readings or of its counter hide, joules.
    pub resolution_joules: f64,
    /// What may have happened between its readings: twice the standard error of the mean power, and for each gap its time times
    /// the difference of the most and the least power, joules; 0 of a counter.
    pub sampling_joules: f64,
    /// All of it, joules; null where the instrument's own is not known: then it is at least the two before.
    pub joules: Option<f64>,
}

impl Uncertainty {
    /// Of `joules`.
    pub fn of(joules: f64, stated: (Option<f64>, &str), resolution_joules: f64, sampling_joules: f64) -> Self {
        Self {
            stated_share: stated.0,
            stated_by: stated.1.to_owned(),
            resolution_joules,
            sampling_joules,
            joules: stated.0.map(|share| share * joules.abs() + resolution_joules + sampling_joules),
        }
    }
}

/// What a machine draws while nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Idle {
    /// On average.
    pub watts: f64,
    /// For so long it was measured; 0: a model says so.
    pub seconds: f64,
    /// How far `watts` may be off by resolution and sampling; the instrument's own is the same as under load.
    pub uncertainty_watts: f64,
}

/// A part of what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyPart {
    /// As the kernel or the model calls it.
    pub name: String,
    /// Its joules.
    pub joules: f64,
    /// Whether it is in the sum; what is not is a part of another part, or overlaps with it.
    pub is_counted: bool,
}

/// What was drawn while something was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// All of it. Measured only if `measured` says so.
    pub joules: f64,
    /// Whether it was measured; false: modelled, or read by hand.
    pub measured: bool,
    /// By what.
    pub kind: MeterKind,
    /// The instrument, for people.
    pub instrument: String,
    /// What is in it.
    pub scope: Scope,
    /// For so long.
    pub seconds: f64,
    /// Joules over seconds.
    pub watts: f64,
    /// Unix time at which it began; of stretches put together, the first.
    pub began_unix_seconds: f64,
    /// Readings that it is made of.
    pub samples: u64,
    /// Readings a second.
    pub samples_a_second: f64,
    /// The longest time between two of them.
    pub longest_gap_seconds: f64,
    /// Whether it is the difference of a counter of energy; false: readings of power, integrated.
    pub is_counter: bool,
    /// How far it may be off.
    pub uncertainty: Uncertainty,
    /// What the machine draws at rest; null: not measured.
    pub idle: Option<Idle>,
    /// Joules above those of a machine at rest for the same time; null without `idle`.
    pub dynamic_joules: Option<f64>,
    /// How far these may be off; null where that of `joules` is not known.
    pub dynamic_uncertainty_joules: Option<f64>,
    /// What the instrument tells of its parts; empty where it tells none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<EnergyPart>,
    /// What else there is to say of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Energy {
    /// With what the machine draws at rest.
    #[must_use]
    pub fn above(mut self, idle: Option<Idle>) -> Self {
        self.idle = idle;
        self.dynamic_joules = idle.map(|idle| self.joules - idle.watts * self.seconds);
        self.dynamic_uncertainty_joules = idle.and_then(|idle| {
            // An instrument that shows too much shows too much of both.
            let own = self.uncertainty.stated_share? * self.dynamic_joules?.abs();
            let of_joules = self.uncertainty.resolution_joules + self.uncertainty.sampling_joules;
            Some(own + of_joules + idle.uncertainty_watts * self.seconds)
        });
        self
    }

    /// Joules above rest, if they are more than what readings of both may be off by.
    pub fn clear_dynamic_joules(&self) -> Option<f64> {
        let readings = self.uncertainty.resolution_joules + self.uncertainty.sampling_joules;
        let off = readings + self.idle?.uncertainty_watts * self.seconds;
        self.dynamic_joules.filter(|joules| *joules > off)
    }

    /// What steps and sampling leave open, as a share of the joules.
    pub fn open_share(&self) -> f64 {
        (self.uncertainty.resolution_joules + self.uncertainty.sampling_joules) / self.joules.abs().max(1e-9)
    }

    /// Adds another stretch, measured by the same meter.
    pub fn add(&mut self, more: &Self) {
        assert_eq!((self.kind, self.scope), (more.kind, more.scope), "stretches of one meter are added");
        self.joules += more.joules;
        self.seconds += more.seconds;
        self.watts = self.joules / self.seconds.max(1e-9);
        self.samples += more.samples;
        self.samples_a_second = self.samples as f64 / self.seconds.max(1e-9);
        self.longest_gap_seconds = self.longest_gap_seconds.max(more.longest_gap_seconds);
        self.is_counter &= more.is_counter;
        let (own, its) = (&self.uncertainty, &more.uncertainty);
        self.uncertainty = Uncertainty::of(
            self.joules,
            (own.stated_share, &own.stated_by),
            own.resolution_joules + its.resolution_joules,
            own.sampling_joules.hypot(its.sampling_joules),
        );
        for part in &more.parts {
            match self.parts.iter_mut().find(|own| own.name == part.name) {
                Some(own) => own.joules += part.joules,
                None => self.parts.push(part.clone()),
            }
        }
        for note in &more.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        *self = self.clone().above(self.idle);
    }
}

impl fmt::Display for Energy {
    /// How it came about, in a line: `measured at the wall by …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, by) = match self.kind {
            MeterKind::Model => ("modelled, not measured,", "by"),
            MeterKind::Hand => ("read by hand, not metered,", "from"),
            _ => ("measured", "by"),
        };
        let at = match self.scope {
            Scope::Package => "of the processor's package",
            Scope::Board => "of the board",
            Scope::Wall => "at the wall",
        };
        write!(f, "{word} {at} {by} {}", self.instrument)
    }
}
