//! Traces that are computed: uniform, Zipf, sequential, and what the Gordon paper describes (ASPLOS 2009, §4.2).

use fawn_workload::Draw;
use thiserror::Error;

use super::request::{Access, BlockRequest};

/// Bytes of the paper's regions: an access to their first 8 KB is followed by one to the other 120 KB.
const REGION_BYTES: u64 = 128 << 10;

/// Bytes of the first access to a region.
const REGION_HEAD_BYTES: u64 = 8 << 10;

/// Where accesses go, and how large they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AddressPattern {
    /// Any place, each alike, aligned to `least_bytes`. Sizes are its multiples up to `most_bytes`, each alike.
    Uniform {
        /// The smallest access, in bytes.
        least_bytes: u64,
        /// The largest access, in bytes.
        most_bytes: u64,
    },
    /// Places by Zipf's law, all of one size and aligned to it. Popular places are spread over the device.
    Zipf {
        /// Bytes of an access.
        bytes: u64,
        /// The law's exponent, above 0.
        exponent: f64,
    },
    /// One place after another, from the beginning again after the last.
    Sequential {
        /// Bytes of an access.
        bytes: u64,
    },
    /// The paper's pairs: 8 KB at a multiple of 128 KB, then the other 120 KB.
    Pairs {
        /// Whether regions follow each other. Otherwise each is drawn, all alike.
        is_sequential: bool,
    },
}

/// When accesses are issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// All at time 0.
    Together,
    /// One every so many nanoseconds.
    Every(u64),
    /// At random (a Poisson process), with this mean in nanoseconds between two of them.
    Poisson(f64),
}

/// A trace to be computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracePattern {
    /// Where accesses go.
    pub addresses: AddressPattern,
    /// When they are issued.
    pub arrivals: Arrivals,
    /// The share of reads, from 0 to 1. Both accesses of a pair are of one kind.
    pub read_share: f64,
    /// Bytes of the device.
    pub capacity_bytes: u64,
    /// How many accesses.
    pub requests: u64,
    /// Equal seeds give equal traces.
    pub seed: u64,
}

/// Why a pattern has no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// An access may be larger than the device, or empty.
    #[error("accesses must have between 1 byte and the device's capacity")]
    Size,
    /// The share of reads is no share.
    #[error("the share of reads must be between 0 and 1")]
    Share,
    /// Zipf's law has no such exponent.
    #[error("the exponent of Zipf's law must be above 0 and finite")]
    Exponent,
    /// Poisson's process has no such mean.
    #[error("the mean time between accesses must be at least 0 and finite")]
    Mean,
}

impl TracePattern {
    /// Whether its accesses go all over a device of so many bytes. The last bytes may be fewer than an access.
    pub fn covers(&self, device_bytes: u64) -> bool {
        self.capacity_bytes + self.capacity_bytes / 100 >= device_bytes
    }

    /// The traces behind Figure 4: 200,000 random accesses of 2 to 256 KB, all reads or all writes.
    pub fn paper_random(access: Access, capacity_bytes: u64, seed: u64) -> Self {
        let addresses = AddressPattern::Uniform { least_bytes: 2 << 10, most_bytes: 256 << 10 };
        let read_share = f64::from(u8::from(access == Access::Read));
        Self { addresses, arrivals: Arrivals::Together, read_share, capacity_bytes, requests: 200_000, seed }
    }

    /// The pattern of the paper's applications: pairs of 8 KB and 120 KB in regions that follow each other.
    pub fn paper_pairs(read_share: f64, capacity_bytes: u64, requests: u64, seed: u64) -> Self {
        let addresses = AddressPattern::Pairs { is_sequential: true };
        Self { addresses, arrivals: Arrivals::Together, read_share, capacity_bytes, requests, seed }
    }

    /// The trace.
    ///
    /// # Errors
    /// What of the pattern makes no sense.
    pub fn trace(&self) -> Result<SyntheticTrace, PatternError> {
        let (least, most, granule) = match self.addresses {
            AddressPattern::Uniform { least_bytes, most_bytes } => (least_bytes, most_bytes, least_bytes),
            AddressPattern::Zipf { bytes, .. } | AddressPattern::Sequential { bytes } => (bytes, bytes, bytes),
            AddressPattern::Pairs { .. } => (REGION_BYTES, REGION_BYTES, REGION_BYTES),
        };
        if least == 0 || least > most || most > self.capacity_bytes {
            return Err(PatternError::Size);
        }
        if !(0.0..=1.0).contains(&self.read_share) {
            return Err(PatternError::Share);
        }
        let slots = self.capacity_bytes / granule;
        let addresses = match self.addresses {
            AddressPattern::Zipf { exponent, .. } => {
                if !(exponent > 0.0 && exponent.is_finite()) {
                    return Err(PatternError::Exponent);
                }
                Draw::zipf(slots, exponent, self.seed)
            }
            _ => Draw::uniform(slots, self.seed),
        };
        if let Arrivals::Poisson(mean_ns) = self.arrivals
            && !(mean_ns >= 0.0 && mean_ns.is_finite())
        {
            return Err(PatternError::Mean);
        }
        // Other numbers than those of the addresses.
        let choices = Draw::uniform(1, self.seed ^ 0x9e37_79b9_7f4a_7c15);
        let pattern = *self;
        Ok(SyntheticTrace { pattern, slots, addresses, choices, issued: 0, time_ns: 0.0, region: (0, Access::Read) })
    }
}

/// The accesses of a [`TracePattern`].
pub struct SyntheticTrace {
    pattern: TracePattern,
    /// Places that an access may begin at.
    slots: u64,
    addresses: Draw,
    choices: Draw,
    issued: u64,
    /// Of a Poisson process: when the last access was issued.
    time_ns: f64,
    /// Of a pair: its region's first byte and the kind of both accesses.
    region: (u64, Access),
}

impl SyntheticTrace {
    fn access(&mut self) -> Access {
        // Shares are above 0 and at most 1.
        if self.choices.share() <= self.pattern.read_share { Access::Read } else { Access::Write }
    }

    fn time_ns(&mut self) -> u64 {
        match self.pattern.arrivals {
            Arrivals::Together => 0,
            Arrivals::Every(interval_ns) => interval_ns.saturating_mul(self.issued),
            Arrivals::Poisson(mean_ns) => {
                self.time_ns -= mean_ns * self.choices.share().ln();
                self.time_ns as u64
            }
        }
    }

    /// The kind of the next access, its first byte and its size.
    fn extent(&mut self) -> (Access, u64, u64) {
        match self.pattern.addresses {
            AddressPattern::Uniform { least_bytes, most_bytes } => {
                let access = self.access();
                let units = 1 + self.choices.below(most_bytes / least_bytes);
                // The access ends on the device.
                let slot = self.addresses.below(self.slots - units + 1);
                (access, slot * least_bytes, units * least_bytes)
            }
            AddressPattern::Zipf { bytes, .. } => (self.access(), self.addresses.draw() * bytes, bytes),
            AddressPattern::Sequential { bytes } => (self.access(), self.issued % self.slots * bytes, bytes),
            AddressPattern::Pairs { is_sequential } => {
                if self.issued.is_multiple_of(2) {
                    let next = self.issued / 2 % self.slots;
                    let region = if is_sequential { next } else { self.addresses.draw() };
                    self.region = (region * REGION_BYTES, self.access());
                    (self.region.1, self.region.0, REGION_HEAD_BYTES)
                } else {
                    (self.region.1, self.region.0 + REGION_HEAD_BYTES, REGION_BYTES - REGION_HEAD_BYTES)
                }
            }
        }
    }
}

impl Iterator for SyntheticTrace {
    type Item = BlockRequest;

    fn next(&mut self) -> Option<BlockRequest> {
        if self.issued == self.pattern.requests {
            return None;
        }
        let (access, offset, bytes) = self.extent();
        let time_ns = self.time_ns();
        self.issued += 1;
        Some(BlockRequest { time_ns, device: 0, access, offset, bytes, response_ns: None })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.pattern.requests - self.issued).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}
