//! What a catalogue can say of a machine or a drive. Names have their unit last.

use std::fmt;

use serde::{Deserialize, Serialize};

/// No value of a machine that there is lies beyond these, but for prices of 0; what is worked out from them stays a number.
pub(crate) const LEAST: f64 = 0.001;
pub(crate) const MOST: f64 = 1e12;

/// What a catalogue can say of a machine or a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// What it costs to buy.
    PriceDollars,
    /// What it costs to rent, energy included.
    RentDollarsHour,
    /// Power that it takes at rest, at the wall unless its figure has another scope.
    WattsIdle,
    /// Power that it takes when it is busy, at the wall unless its figure has another scope.
    WattsStress,
    /// What its network carries each way, in 10^6 bits a second.
    NetworkMbit,
    /// DRAM, in 2^30 bytes.
    DramGib,
    /// Space for records, in 10^9 bytes.
    Gb,
    /// Random reads of 4 KiB a second; of a machine what its slot lets a drive do.
    #[serde(rename = "read_4k_per_second")]
    Read4kPerSecond,
    /// Queries a second of the whole node, as a source states them; counts instead of all reads.
    QueriesPerSecond,
    /// Gets a second from flash that the processor has time for when nothing else is in the way.
    CpuGetsPerSecond,
    /// Nodes that have room in a rack.
    NodesPerRack,
    /// Bytes that a drive may be written by its maker's warranty (TBW), in 10^12.
    TbWritten,
}

impl Quantity {
    /// In words, for warnings.
    pub fn words(self) -> &'static str {
        match self {
            Self::PriceDollars => "price",
            Self::RentDollarsHour => "rent",
            Self::WattsIdle => "watts at rest",
            Self::WattsStress => "watts",
            Self::NetworkMbit => "network rate",
            Self::DramGib => "DRAM",
            Self::Gb => "space",
            Self::Read4kPerSecond => "reads a second",
            Self::QueriesPerSecond => "queries a second",
            Self::CpuGetsPerSecond => "CPU limit",
            Self::NodesPerRack => "nodes a rack",
            Self::TbWritten => "endurance",
        }
    }

    /// Whether it is power.
    pub(crate) fn is_watts(self) -> bool {
        matches!(self, Self::WattsIdle | Self::WattsStress)
    }

    /// Whether it may be 0.
    pub(crate) fn may_be_nothing(self) -> bool {
        matches!(self, Self::PriceDollars | Self::RentDollarsHour)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
