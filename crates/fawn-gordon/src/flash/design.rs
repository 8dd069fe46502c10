//! A geometry with its timings.

use serde::{Deserialize, Serialize};

use super::geometry::Geometry;
use super::timing::{BusTiming, CellTiming, DieOptions};

/// All that an array's simulation needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlashDesign {
    /// How many of what.
    pub geometry: Geometry,
    /// Time in the cells.
    pub cells: CellTiming,
    /// Time on the buses.
    pub bus: BusTiming,
    /// What the dies can do.
    pub die: DieOptions,
}
