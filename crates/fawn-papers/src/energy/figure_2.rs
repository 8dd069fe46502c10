//! e-Energy 2010, Figure 2: efficiency of processors with a tenth of a watt of fixed power.

use fawn_joule::fixed::PAPER_FIXED_WATTS;
use fawn_joule::fixed::catalogue::PointCatalogue;
use fawn_joule::fixed::efficiency::{lost_share, with_fixed_power};
use serde_json::json;

use crate::finding::{Axis, Chart, Finding, RowOrigin};

/// Computes it.
pub fn finding() -> Finding {
    let mut finding = Finding::of(&[
        ("point", "processor or machine", None),
        ("fixed", "fixed power", None),
        ("mips", "MIPS", Some(0)),
        ("watts", "W", Some(4)),
        ("mips_a_watt", "MIPS per watt", Some(1)),
        ("lost_share", "share lost", Some(4)),
        ("source", "source", None),
    ]);
    finding.state = RowOrigin::Computed;
    let catalogue = PointCatalogue::built_in();
    for (fixed, watts) in [("no fixed power", 0.0), ("0.1 W of fixed power", PAPER_FIXED_WATTS)] {
        for point in &catalogue.points {
            finding.row(json!({
                "point": point.name,
                "fixed": fixed,
                "mips": point.mips,
                "watts": point.watts + watts,
                "mips_a_watt": with_fixed_power(point.mips, point.mips / point.watts, watts),
                "lost_share": lost_share(point.watts, watts),
                "source": point.source,
            }));
        }
    }
    for (point, mips_a_watt) in
        [("in-order cores, as the text states", 1000.0), ("multi-GHz quad-cores, as the text states", 100.0)]
    {
        finding.printed(json!({ "point": point, "fixed": "no fixed power", "mips_a_watt": mips_a_watt }));
    }
    let axes = (Axis::log("mips", "MIPS"), Axis::log("mips_a_watt", "MIPS per watt"));
    finding.charts.push(Chart::points("efficiency with fixed power", axes.0, axes.1).by("fixed"));
    finding.note(
        "the paper draws its points without numbers, so these are others, each with its source; `fawn joule fixed` takes your \
         own, and measures this machine",
    );
    finding.note("the text's two figures are bounds: more than 1,000 MIPS per watt, and about 100");
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_a_watt_takes_all_from_the_slowest_and_nothing_from_the_fastest() {
        let finding = finding();
        let half = finding.rows.len() / 2;
        let of = |at: usize, name: &str| finding.rows[at][name].as_f64().unwrap();
        assert!(of(half, "lost_share") > 0.99 && of(2 * half - 1, "lost_share") < 0.001);
        let best = (half..2 * half).max_by(|one, other| of(*one, "mips_a_watt").total_cmp(&of(*other, "mips_a_watt")));
        assert!((half + 1..2 * half - 2).contains(&best.unwrap()), "the best is in the middle");
    }
}
