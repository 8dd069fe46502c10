//! Measurements on simulated devices: a workload or a trace in, a report with its tables out.
//!
//! * [`workload`]: the requests that a measurement issues. [`address_map`]: a trace's addresses on a device of another size.
//!   [`scan`]: what a trace amounts to, damage included.
//! * [`flash`]: an FTL on its array. [`steady`]: the state that it begins with. [`power_cut`]: what recovery takes and finds.
//! * [`disk`]: a disk. [`seek_checks`]: seek times beside published ones.
//! * [`report`]: what all reports have. [`device_report`]: that of any device. [`tables`]: reports as tables, alone or beside each
//!   other.

pub mod address_map;
pub mod device_report;
pub mod disk;
pub mod flash;
pub mod power_cut;
pub mod report;
pub mod scan;
pub mod seek_checks;
pub mod steady;
pub mod tables;
pub mod workload;

pub use address_map::AddressMap;
pub use device_report::DeviceReport;
pub use disk::{DiskMeasurement, DiskReport};
pub use flash::{FlashMeasurement, FlashReport, MeasurementError};
pub use report::{EnergyReport, LatencySummary, PartShare, ResourceShare};
pub use scan::{TraceScan, TraceSelection};
pub use workload::{Pacing, RequestSupply, WithDiscards};
