//! What a phase of a sort took.

use fawn_machine::process::Transfers;
use fawn_meter::Meter;

use super::error::SortError;
use crate::cost::{Cost, CostMeter};

/// A phase under way.
pub struct PhaseMeter {
    name: &'static str,
    cost: CostMeter,
    transfers: Option<Transfers>,
}

/// What a phase took.
#[derive(Clone, Debug)]
pub struct SortPhase {
    /// What was done.
    pub name: &'static str,
    /// Time and energy.
    pub cost: Cost,
    /// Bytes read from and written to devices; `None`: the system does not say.
    pub transfers: Option<(u64, u64)>,
}

impl PhaseMeter {
    /// Begins a phase.
    ///
    /// # Errors
    /// The meter cannot be read.
    pub fn start(name: &'static str, meter: Option<&Meter>) -> Result<Self, SortError> {
        Ok(Self { name, transfers: Transfers::now(), cost: CostMeter::start(meter)? })
    }

    /// Ends it.
    ///
    /// # Errors
    /// The meter cannot be read any more.
    pub fn stop(self) -> Result<SortPhase, SortError> {
        let cost = self.cost.stop()?;
        let transfers = Transfers::now().zip(self.transfers).map(|(now, before)| now.since(before));
        Ok(SortPhase { name: self.name, cost, transfers })
    }
}
