//! What the copies of a value are to each other, as flags and tables have it.

use clap::ValueEnum;
use fawn_kv::ids::Consistency;

/// What the copies of a value are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConsistencyKind {
    /// A write is acknowledged when all copies have it, in one order
    Strong,
    /// Each copy is written independently, and one of them answers reads
    Weak,
}

impl From<ConsistencyKind> for Consistency {
    fn from(kind: ConsistencyKind) -> Self {
        match kind {
            ConsistencyKind::Strong => Self::Chain,
            ConsistencyKind::Weak => Self::Weak,
        }
    }
}

/// What the copies of a value are to each other.
pub fn consistency_told(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Chain => "strong",
        Consistency::Weak => "weak",
    }
}
