//! An instrument that can be read at any moment.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::MeterError;
use crate::reading::{MeterKind, Scope};

/// What an instrument is, and how well it shows what it measures.
#[derive(Clone, Debug, PartialEq)]
pub struct InstrumentInfo {
    /// Of which kind.
    pub kind: MeterKind,
    /// What it covers.
    pub scope: Scope,
    /// Its name, for people.
    pub instrument: String,
    /// How often it is read.
    pub period: Duration,
    /// Its accuracy as a share of what it shows; none: nobody states one.
    pub stated_share: Option<f64>,
    /// Who states it, or why nobody does.
    pub stated_by: String,
    /// The step of its watts; none: each sample has its own, or it is that of the last decimal that it shows.
    pub step_watts: Option<f64>,
    /// The step of its counter; none: the largest that is seen while it is read.
    pub counter_step: Option<CounterStep>,
    /// Its parts, in the order of [`InstrumentSample::part_joules`], and whether each is in the sum.
    pub parts: Vec<(String, bool)>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// How fine a counter of energy is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterStep {
    /// What it counts in, joules.
    pub joules: f64,
    /// How old it may be when it is read, seconds.
    pub lag_seconds: f64,
}

/// What an instrument shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstrumentSample {
    /// Power, watts; none: it shows none.
    pub watts: Option<f64>,
    /// The step of these watts, where they are a product; none: [`InstrumentInfo`] has it, or their last decimal.
    pub step_watts: Option<f64>,
    /// Energy since some moment that stays the same, joules; none: it counts none.
    pub counted_joules: Option<f64>,
    /// The same of each part.
    pub part_joules: Vec<f64>,
}

/// An instrument.
pub trait Instrument: fmt::Debug + Send {
    /// What it is.
    fn info(&self) -> &InstrumentInfo;

    /// What it shows now.
    ///
    /// # Errors
    /// What keeps it from being read.
    fn read(&mut self) -> Result<InstrumentSample, MeterError>;
}

/// Where an instrument stays open while it is not read, so that it is opened once. Clones are of the same place.
#[derive(Clone, Debug, Default)]
pub struct OpenInstrument(Arc<Mutex<Option<Box<dyn Instrument>>>>);

impl OpenInstrument {
    /// Takes the instrument that is there; `None`: there is none, or somebody reads it.
    pub fn take(&self) -> Option<Box<dyn Instrument>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Leaves an instrument there.
    pub fn put(&self, instrument: Box<dyn Instrument>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(instrument);
    }
}
