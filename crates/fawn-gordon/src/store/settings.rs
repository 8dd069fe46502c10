//! What is run: the workload, the drive, the store.

use std::fmt;

use fawn_report::amount::{digits, percent};
use fawn_store::{OpenError, Options};
use serde::Serialize;

use crate::flash::presets::FlashPreset;
use crate::ftl::FtlError;
use crate::time::SimTime;

/// Bytes of a record beside key and value: what the store's own format takes, and what the two patterns are given.
pub const HEADER_BYTES: u64 = 24;
/// Bytes of a page of a store.
pub const PAGE_BYTES: u64 = 4_096;

/// Who asks for what.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StoreWorkload {
    /// Records that the store holds throughout.
    pub records: u64,
    /// Bytes of each value. Keys have 20.
    pub value_bytes: u32,
    /// Share of gets in what is measured, 0 to 1.
    pub get_share: f64,
    /// Exponent of Zipf's law; none: all records alike.
    pub zipf: Option<f64>,
    /// Puts before the measurement, in multiples of the records: the bound of the warm-up.
    pub warm_up: f64,
    /// Puts in the measurement, in multiples of the records; operations if there are gets alone.
    pub measured: f64,
    /// Requests that are under way at most.
    pub clients: u32,
    /// Operations a second that arrive; none: as fast as the clients are answered.
    pub rate_per_s: Option<f64>,
    /// Processor time of an operation.
    pub cpu: SimTime,
    /// Seeds the draws.
    pub seed: u64,
}

impl Default for StoreWorkload {
    /// 256-byte values, half gets, uniform. A put takes 1 µs of processor time, as its store was measured to take.
    fn default() -> Self {
        Self {
            records: 500_000,
            value_bytes: 256,
            get_share: 0.5,
            zipf: None,
            warm_up: 3.0,
            measured: 1.0,
            clients: 64,
            rate_per_s: None,
            cpu: SimTime::from_us(1),
            seed: 1,
        }
    }
}

impl StoreWorkload {
    /// Bytes that a client hands over with a put.
    pub fn user_bytes(&self) -> u64 {
        fawn_workload::KEY_BYTES as u64 + u64::from(self.value_bytes)
    }

    /// Bytes of a record on flash.
    pub fn record_bytes(&self) -> u64 {
        self.user_bytes() + HEADER_BYTES
    }

    /// Bytes of all records on flash, each once.
    pub fn live_bytes(&self) -> u64 {
        self.records * self.record_bytes()
    }

    /// Whether the numbers make sense.
    ///
    /// # Errors
    /// One of them is out of range.
    pub fn check(&self) -> Result<(), StoreTrialError> {
        let number = |number, value: f64, low: f64, high: f64| {
            if value >= low && value <= high {
                Ok(())
            } else {
                Err(StoreTrialError::Number { number, value, low, high })
            }
        };
        let least_value = fawn_workload::LEAST_VALUE_BYTES as f64;
        number(WorkloadNumber::Records, self.records as f64, 1_000.0, 1e9)?;
        number(WorkloadNumber::ValueBytes, f64::from(self.value_bytes), least_value, 65_536.0)?;
        number(WorkloadNumber::GetShare, self.get_share, 0.0, 1.0)?;
        number(WorkloadNumber::WarmUp, self.warm_up, 0.0, 1_000.0)?;
        number(WorkloadNumber::Measured, self.measured, 0.01, 1_000.0)?;
        number(WorkloadNumber::Clients, f64::from(self.clients), 1.0, 65_536.0)?;
        number(WorkloadNumber::ZipfExponent, self.zipf.unwrap_or(1.0), 0.01, 10.0)?;
        number(WorkloadNumber::Rate, self.rate_per_s.unwrap_or(1.0), 0.001, 1e9)
    }
}

/// The drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveSettings {
    /// Timings and shape.
    pub preset: FlashPreset,
    /// Bytes that the host sees, about: the design is scaled to them.
    pub bytes: u64,
    /// Share of the flash that the host does not see, 0 to 1 exclusive.
    pub spare_factor: f64,
    /// Whether the file system tells the drive what it has freed. Without it every page has been written once before.
    pub trim: bool,
    /// Rated erases of each block; `None` is not known.
    pub rated_erases: Option<u32>,
}

impl DriveSettings {
    /// A drive of this preset with its own spare factor, and erases where its source states them.
    pub fn of(preset: FlashPreset, bytes: u64) -> Self {
        let FlashPreset { spare_factor, rated_erases, .. } = preset;
        Self { preset, bytes, spare_factor, trim: true, rated_erases }
    }
}

/// What stores the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum StoreDesign {
    /// FAWN's store, in so many bytes of DRAM.
    Fawn {
        /// Budget of indexes, buffers and cache.
        memory_bytes: u64,
    },
    /// Records at fixed places in pages that are read, changed and written in place.
    PageStore,
    /// A log-structured merge tree with leveled compaction.
    Lsm {
        /// Bytes of the table in memory, and of each file.
        memtable_bytes: u64,
    },
}

impl StoreDesign {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fawn { .. } => "FAWN",
            Self::PageStore => "pages in place",
            Self::Lsm { .. } => "LSM tree",
        }
    }
}

/// Options of FAWN's store with this budget. Segments have 256 KiB at least: a small store of a simulation has small buffers.
pub fn store_options(memory_bytes: u64) -> Options {
    let mut options = Options::new(fawn_ring::Secret([7; 32]), memory_bytes);
    options.segment_bytes = (memory_bytes / 16).clamp(256 << 10, 64 << 20) as usize;
    options.slice_bytes = (memory_bytes / 4).clamp(2 << 20, 128 << 20);
    options
}

/// A number of a [`StoreWorkload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadNumber {
    /// [`StoreWorkload::records`].
    Records,
    /// [`StoreWorkload::value_bytes`].
    ValueBytes,
    /// [`StoreWorkload::get_share`].
    GetShare,
    /// [`StoreWorkload::warm_up`].
    WarmUp,
    /// [`StoreWorkload::measured`].
    Measured,
    /// [`StoreWorkload::clients`].
    Clients,
    /// [`StoreWorkload::zipf`].
    ZipfExponent,
    /// [`StoreWorkload::rate_per_s`].
    Rate,
}

impl fmt::Display for WorkloadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Records => "the number of records",
            Self::ValueBytes => "the number of bytes of a value",
            Self::GetShare => "the share of gets",
            Self::WarmUp => "the number of puts per record before the measurement",
            Self::Measured => "the number of measured puts per record",
            Self::Clients => "the number of clients",
            Self::ZipfExponent => "the exponent of Zipf's law",
            Self::Rate => "the number of operations per second",
        })
    }
}

/// A store that took no more puts on a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckTrial {
    /// The store.
    pub design: StoreDesign,
    /// Bytes of DRAM for each record, if the store has a share of memory.
    pub memory_per_record: Option<f64>,
    /// The drive's spare factor.
    pub spare_factor: f64,
    /// Why it takes no more.
    pub why: String,
}

impl fmt::Display for StuckTrial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.design.name())?;
        if let Some(bytes) = self.memory_per_record {
            write!(f, " with {} B of memory per record", digits(bytes))?;
        }
        let spare = percent(self.spare_factor);
        write!(f, " has no row at {spare} spare: the store takes no more puts: {}", self.why)
    }
}

/// A trial that cannot be had, or that failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreTrialError {
    /// A number of the workload is out of range.
    #[error("{number} is {value}; it must be from {low} to {high}")]
    Number {
        /// Which.
        number: WorkloadNumber,
        /// Its value.
        value: f64,
        /// What it must be at least.
        low: f64,
        /// And at most.
        high: f64,
    },
    /// The records do not fit the drive.
    #[error("{needed} bytes of records and logs do not fit a drive of {bytes} bytes")]
    TooSmall {
        /// Bytes that the store needs at least.
        needed: u64,
        /// Bytes of the drive.
        bytes: u64,
    },
    /// The log of the LSM tree does not fit the drive.
    #[error("{needed} bytes of the LSM tree's log do not fit a drive of {bytes} bytes")]
    Log {
        /// Bytes of the log.
        needed: u64,
        /// Bytes of the drive.
        bytes: u64,
    },
    /// The drive's capacity is none that can be simulated.
    #[error("a drive of {bytes} bytes cannot be simulated, only one of {low} to {high}")]
    Drive {
        /// Bytes that it would have.
        bytes: u64,
        /// The fewest.
        low: u64,
        /// The most.
        high: u64,
    },
    /// The FTL.
    #[error("the drive cannot be simulated: {0}")]
    Ftl(#[from] FtlError),
    /// The store does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store refuses puts, and nothing that is under way will change that.
    #[error("the store takes no more puts: {0}")]
    Stuck(String),
    /// No store took all puts.
    #[error("{}", .0.iter().map(|stuck| format!("{stuck}.")).collect::<Vec<_>>().join(" "))]
    NoRow(Vec<StuckTrial>),
    /// What was read is not what was written.
    #[error("record {index} has version {found:?}, and version {expected} was written: this is a bug")]
    Wrong {
        /// The record.
        index: u64,
        /// The version that was found.
        found: Option<u32>,
        /// The version that was acknowledged last.
        expected: u32,
    },
    /// Flash or store failed otherwise.
    #[error("the store stopped: {0}")]
    Stopped(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_range_is_named() {
        let workload = StoreWorkload { get_share: 1.5, ..StoreWorkload::default() };
        assert_eq!(workload.check().unwrap_err().to_string(), "the share of gets is 1.5; it must be from 0 to 1");
        assert!(StoreWorkload::default().check().is_ok());
    }
}
