//! SOSP 2009, Figure 16: the cheapest system by data and rate, computed from Table 4.

use crate::finding::Finding;

/// Computes it.
pub fn finding() -> Finding {
    let mut finding = crate::cost::finding(&fawn_plan::paper::solution_space());
    let map = fawn_plan::paper::solution_map();
    finding.pictures.push(map.picture());
    let numbers = map.shares.iter().enumerate().map(|(at, share)| format!("{} {}", at + 1, share.name));
    finding.note(format!("on the map: {}", numbers.collect::<Vec<_>>().join(", ")));
    finding.note("the paper draws this figure without numbers, and so prints no cell");
    finding
}
