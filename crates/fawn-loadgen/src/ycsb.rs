//! The core workloads of YCSB: Cooper et al., "Benchmarking cloud serving systems with YCSB" (2010), table 2, and the files
//! `workloads/workloada` to `workloadf` of its repository, where F is.
//!
//! What is theirs: the shares of the operations; Zipf's law with 0.99 over the records, the popular ones scattered; in D, reads by
//! Zipf's law of how lately a record was inserted, among those whose insert was acknowledged; keys in hashed order; a
//! read-modify-write that reads, then writes, and is not atomic.
//!
//! What differs, or is left open there and decided here:
//!
//! * A record's ten fields of 100 bytes are one value of 1,000, without names or marks between them. A read asks for all of
//!   it (`readallfields=true`, as in the files). An update writes all of it. YCSB's own updates write one field
//!   (`writeallfields=false`), which a store of plain values cannot: YCSB's memcached binding sends a value with that field
//!   alone, so that records shrink, and its binding for `RocksDB` reads the record first, so that A is another workload. With one write an
//!   update, records keep their size.
//! * An insert is a set, so that D can be run again on the same records.
//! * YCSB draws popular records by the hash of a rank among 10^16, modulo the records: the first gets 3.8 % of the reads
//!   whatever their number. Here ranks are those of the records, as the paper has it: of a million the first gets 6.5 %.
//! * Workload E scans, which memcached's protocol has no word for.

use std::str::FromStr;

use crate::choice::{Distribution, EXPONENT};
use crate::mix::Mix;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Update heavy: 50 % reads, 50 % updates; Zipf's law.
    A,
    /// Read mostly: 95 % reads, 5 % updates; Zipf's law.
    B,
    /// Read only; Zipf's law.
    C,
    /// Read latest: 95 % reads, 5 % inserts; what was inserted last is read most.
    D,
    /// Read-modify-write: 50 % reads, 50 % read-modify-writes; Zipf's law.
    F,
}

/// Why there is no such workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// E.
    #[error("workload E scans ranges of keys, and memcached's protocol has no scan: choose A, B, C, D or F")]
    Scans,
    /// None of YCSB's.
    #[error("`{0}` is not a core workload of YCSB; write A, B, C, D or F")]
    Unknown(String),
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        match text {
            "A" | "a" => Ok(Self::A),
            "B" | "b" => Ok(Self::B),
            "C" | "c" => Ok(Self::C),
            "D" | "d" => Ok(Self::D),
            "E" | "e" => Err(WorkloadError::Scans),
            "F" | "f" => Ok(Self::F),
            _ => Err(WorkloadError::Unknown(text.to_owned())),
        }
    }
}

impl Workload {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }

    /// Its shares; an update is a set, a read-modify-write a modify.
    pub fn mix(self) -> Mix {
        match self {
            Self::A => Mix::of_sets(0.5),
            Self::B => Mix::of_sets(0.05),
            Self::C => Mix::default(),
            Self::D => Mix { inserts: 0.05, ..Mix::default() },
            Self::F => Mix { modifies: 0.5, ..Mix::default() },
        }
    }

    /// Which records are asked for.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::A | Self::B | Self::C | Self::F => Distribution::Zipf(EXPONENT),
            Self::D => Distribution::Latest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_that_were_published() {
        for (name, gets, sets, inserts, modifies) in [
            ("A", 0.5, 0.5, 0.0, 0.0),
            ("b", 0.95, 0.05, 0.0, 0.0),
            ("C", 1.0, 0.0, 0.0, 0.0),
            ("d", 0.95, 0.0, 0.05, 0.0),
            ("F", 0.5, 0.0, 0.0, 0.5),
        ] {
            let workload: Workload = name.parse().unwrap();
            assert_eq!(workload.name(), name.to_uppercase());
            let mix = workload.mix();
            assert_eq!(mix, Mix { sets, inserts, modifies }, "{name}");
            assert!((mix.gets() - gets).abs() < 1e-9, "{name}");
        }
    }

    #[test]
    fn scans_are_refused_and_so_is_what_nobody_published() {
        assert_eq!("E".parse::<Workload>(), Err(WorkloadError::Scans));
        for text in ["", "G", "AB", "workloada"] {
            assert_eq!(text.parse::<Workload>(), Err(WorkloadError::Unknown(text.to_owned())));
        }
    }
}
