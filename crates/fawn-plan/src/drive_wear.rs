//! How long drives last under puts: what the store and a drive's own cleaning write for each record, against a drive's rating.
//!
//! The amplification is that of this store's code on a simulated drive ([`MEASURED`]), not of the drive at hand.

use serde::Serialize;

use crate::Index;

/// What is written for each byte of a record that is put.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredAmplification {
    /// How records are found.
    pub index: Index,
    /// Share of the drive's space that all records take, each once.
    pub full: f64,
    /// Bytes that the store writes to the drive.
    pub store: f64,
    /// Bytes that the drive programs for each of those.
    pub ftl: f64,
}

const fn measured(index: Index, full: f64, store: f64, ftl: f64) -> MeasuredAmplification {
    MeasuredAmplification { index, full, store, ftl }
}

/// From `cargo run --release -p fawn-gordon --example store_tables -- indexed`, and `drained`: 256-byte values, uniform overwrites,
/// 7 % spare flash, TRIM, a small drive. A large store that drains writes less.
pub const MEASURED: [MeasuredAmplification; 8] = [
    measured(Index::Indexed, 0.30, 3.387, 1.178),
    measured(Index::Indexed, 0.45, 3.336, 1.829),
    measured(Index::Indexed, 0.60, 4.542, 2.059),
    measured(Index::Indexed, 0.75, 5.528, 5.558),
    measured(Index::Drained, 0.30, 13.808, 1.063),
    measured(Index::Drained, 0.45, 13.883, 1.063),
    measured(Index::Drained, 0.60, 13.840, 1.063),
    measured(Index::Drained, 0.75, 14.095, 1.082),
];

/// Of a drive as full as this, between two that were measured; `None` if it is fuller than any.
pub fn amplification(index: Index, full: f64) -> Option<(f64, f64)> {
    let of_index = || MEASURED.iter().filter(|it| it.index == index);
    let above = of_index().find(|it| it.full >= full)?;
    let below = of_index().rfind(|it| it.full <= full).unwrap_or(above);
    let way = if above.full > below.full { (full - below.full) / (above.full - below.full) } else { 0.0 };
    let between = |from: f64, to: f64| from + way * (to - from);
    Some((between(below.store, above.store), between(below.ftl, above.ftl)))
}

/// How the drives of a node wear.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriveWear {
    /// Puts a second that a node takes, copies for others included.
    pub puts_a_node: f64,
    /// How the store finds records, of which the amplification is.
    pub index: Index,
    /// Share of a node's space that records take, each once.
    pub full: f64,
    /// Bytes that the store writes for each byte of a record; `None` if the drives are fuller than was measured.
    pub store_amplification: Option<f64>,
    /// Bytes that the drives program for each of those.
    pub ftl_amplification: Option<f64>,
    /// Bytes a second that the drives of a node program.
    pub programmed_bytes_per_second: Option<f64>,
    /// Bytes that the drives of a node may be written, by their maker; `None` is not known.
    pub rating_bytes: Option<f64>,
    /// Years until that is used up, at the least; `None` is not known.
    pub years: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_measurements_lies_what_lies_between() {
        for pair in MEASURED.windows(2).filter(|pair| pair[0].index == pair[1].index) {
            let [below, above] = [pair[0], pair[1]];
            assert!(below.full < above.full);
            assert_eq!(amplification(below.index, below.full), Some((below.store, below.ftl)));
            let (store, ftl) = amplification(below.index, f64::midpoint(below.full, above.full)).unwrap();
            assert!((store - f64::midpoint(below.store, above.store)).abs() < 1e-9);
            assert!((ftl - f64::midpoint(below.ftl, above.ftl)).abs() < 1e-9);
        }
        let first = MEASURED[0];
        assert_eq!(amplification(first.index, 0.01), Some((first.store, first.ftl)));
        assert_eq!(amplification(Index::Drained, 0.99), None, "fuller than any that was measured");
    }
}
