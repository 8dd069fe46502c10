//! What an array has done, how busy it was, and the energy that this took.

use serde::{Deserialize, Serialize};

use super::command::CommandKind;
use crate::time::SimTime;

/// Commands by kind, each die's counted by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCounts {
    /// Reads.
    pub reads: u64,
    /// Programs.
    pub programs: u64,
    /// Erases.
    pub erases: u64,
    /// Copy-backs.
    pub copy_backs: u64,
    /// Interruptions of programs and erases.
    #[serde(default)]
    pub suspensions: u64,
}

impl CommandCounts {
    pub(super) fn count(&mut self, kind: CommandKind) {
        match kind {
            CommandKind::Read => self.reads += 1,
            CommandKind::Program => self.programs += 1,
            CommandKind::Erase => self.erases += 1,
            CommandKind::CopyBack => self.copy_backs += 1,
        }
    }
}

/// What an array has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayUsage {
    /// Simulated time.
    pub elapsed: SimTime,
    /// Commands that are finished.
    pub counts: CommandCounts,
    /// For how long each bus was held.
    pub bus_busy: Vec<SimTime>,
    /// Data bytes that each bus carried.
    pub bus_bytes: Vec<u64>,
    /// For how long each die's cells worked.
    pub die_busy: Vec<SimTime>,
}

/// Power of one die.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiePower {
    /// Watts while nothing is done.
    pub idle_w: f64,
    /// Watts while the cells work.
    pub active_w: f64,
}

impl DiePower {
    /// A die of 4 GB SLC flash (Gordon, Table 3).
    pub const GORDON_SLC: Self = Self { idle_w: 0.003, active_w: 0.04 };
}

fn share(busy: &[SimTime], elapsed: SimTime) -> f64 {
    if elapsed == SimTime::ZERO || busy.is_empty() {
        return 0.0;
    }
    busy.iter().map(|time| time.seconds()).sum::<f64>() / (elapsed.seconds() * busy.len() as f64)
}

impl ArrayUsage {
    /// Share of time for which buses were held, over all of them: 0 to 1.
    pub fn bus_utilisation(&self) -> f64 {
        share(&self.bus_busy, self.elapsed)
    }

    /// Share of time for which cells worked, over all dies: 0 to 1.
    pub fn die_utilisation(&self) -> f64 {
        share(&self.die_busy, self.elapsed)
    }

    /// Energy of the dies in joules. The activity factor of the power model is the share of time in which the cells work.
    pub fn energy_j(&self, power: DiePower) -> f64 {
        let busy: f64 = self.die_busy.iter().map(|time| time.seconds()).sum();
        let all = self.elapsed.seconds() * self.die_busy.len() as f64;
        (all - busy) * power.idle_w + busy * power.active_w
    }
}
