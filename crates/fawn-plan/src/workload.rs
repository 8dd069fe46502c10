//! What is asked of a cluster, and under which circumstances.

use serde::Serialize;

use crate::store::{ITEM_BYTES, KEY_BYTES};
use crate::{Catalogue, CatalogueModel, Date, PlanError};

/// What is asked of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// Bytes of all values together, each counted once; above 0.
    pub data_bytes: f64,
    /// Gets a second, spread evenly over the nodes; above 0.
    pub gets_per_second: f64,
    /// Bytes of a value; above 0.
    pub value_bytes: f64,
    /// Copies of each value, each on another node; at least 1.
    pub replicas: u32,
}

impl Workload {
    /// Copies of all records together.
    pub fn entries(&self) -> f64 {
        self.data_bytes / self.value_bytes * f64::from(self.replicas)
    }

    /// Refuses what no cluster can hold.
    ///
    /// # Errors
    /// A value is larger than all of the data, or than this store's largest.
    pub fn check(&self, model: CatalogueModel) -> Result<(), PlanError> {
        if self.value_bytes > self.data_bytes {
            return Err(PlanError::Workload(
                "a value is larger than all values together: give a larger --data or a smaller --value",
            ));
        }
        if model == CatalogueModel::Fawn && self.value_bytes + KEY_BYTES > ITEM_BYTES {
            return Err(PlanError::Workload("an item, including its key, has at most 128 MiB: give a smaller --value"));
        }
        Ok(())
    }
}

/// What is reckoned with beside the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Assumptions {
    /// How much of a node's space, rates and DRAM may be in use, above 0 and up to 1. What is left is for garbage, peaks
    /// and failures.
    pub utilisation: f64,
    /// Dollars a kilowatt-hour.
    pub kwh_dollars: f64,
    /// Power usage effectiveness: watts that the building takes for a watt of a node, at least 1.
    pub pue: f64,
    /// Whether nobody has said the price of energy, neither the user nor the catalogue.
    pub kwh_is_assumed: bool,
    /// Whether nobody has said the power usage effectiveness.
    pub pue_is_assumed: bool,
    /// Years that are paid for, above 0. A year has 8,760 hours.
    pub years: f64,
    /// Watts that a rack can supply.
    pub rack_watts: f64,
    /// Ports of a switch, at least 2; one of them goes up where there are several switches.
    pub switch_ports: u32,
    /// The day to tell the age of figures by.
    pub today: Date,
}

/// Dollars a kilowatt-hour where neither the user nor the catalogue says so.
pub const KWH_DOLLARS: f64 = 0.15;

/// Power usage effectiveness where neither says so.
pub const PUE: f64 = 1.4;

/// Hours of a year.
const YEAR_HOURS: f64 = 8760.0;

impl Assumptions {
    /// What is reckoned with unless told otherwise: 75 % in use, three years, the catalogue's prices of energy, racks of
    /// 8 kW and switches of 48 ports.
    pub fn of(catalogue: &Catalogue, today: Date) -> Self {
        Self {
            utilisation: 0.75,
            kwh_dollars: catalogue.kwh_dollars.as_ref().map_or(KWH_DOLLARS, |figure| figure.value),
            pue: catalogue.pue.as_ref().map_or(PUE, |figure| figure.value),
            kwh_is_assumed: catalogue.kwh_dollars.is_none(),
            pue_is_assumed: catalogue.pue.is_none(),
            years: 3.0,
            rack_watts: 8000.0,
            switch_ports: 48,
            today,
        }
    }

    /// Hours that are paid for.
    pub fn hours(&self) -> f64 {
        self.years * YEAR_HOURS
    }

    /// Dollars for a watt of a node over the years.
    pub fn watt_dollars(&self) -> f64 {
        self.hours() / 1000.0 * self.kwh_dollars * self.pue
    }
}
