//! A report of any device.

use serde::Serialize;

use super::{DiskReport, FlashReport};

/// The report of any device.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeviceReport {
    /// A flash array.
    Flash(Box<FlashReport>),
    /// A disk.
    Disk(Box<DiskReport>),
}
