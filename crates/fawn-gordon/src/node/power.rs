//! Power: each component draws its idle power, and the difference to its active power in proportion to its activity
//! (Gordon §5.2).

use serde::{Deserialize, Serialize};

/// Power of a component, at rest and at full activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WattRange {
    /// Watts at rest.
    pub idle: f64,
    /// Watts at full activity.
    pub active: f64,
}

impl WattRange {
    /// A component with these watts at rest and at full activity.
    pub const fn new(idle: f64, active: f64) -> Self {
        Self { idle, active }
    }

    /// Watts at an activity from 0 to 1: P = idle × (1 − activity) + active × activity.
    pub fn at(self, activity: f64) -> f64 {
        self.idle * (1.0 - activity) + self.active * activity
    }

    /// Joules over `on` seconds, of which it is busy for `busy`.
    pub fn joules(self, on: f64, busy: f64) -> f64 {
        self.idle * on + (self.active - self.idle) * busy
    }

    /// So many such components.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self { idle: self.idle * count, active: self.active * count }
    }
}

/// Joules by component, of a node or of all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ComponentJoules {
    /// Processors.
    pub processor: f64,
    /// Memory.
    pub memory: f64,
    /// Disks, or flash with its controller.
    pub storage: f64,
    /// Everything else in the node: board, power supply, fans, network.
    pub overhead: f64,
}

impl ComponentJoules {
    /// All components together.
    pub fn total(&self) -> f64 {
        self.processor + self.memory + self.storage + self.overhead
    }

    /// Adds another's joules.
    pub fn add(&mut self, other: &Self) {
        self.processor += other.processor;
        self.memory += other.memory;
        self.storage += other.storage;
        self.overhead += other.overhead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_goes_evenly_from_rest_to_full_activity() {
        let disk = WattRange::new(9.0, 13.0);
        assert_eq!((disk.at(0.0), disk.at(0.5), disk.at(1.0)), (9.0, 11.0, 13.0));
        assert_eq!(disk.joules(10.0, 5.0), 10.0 * disk.at(0.5));
    }
}
