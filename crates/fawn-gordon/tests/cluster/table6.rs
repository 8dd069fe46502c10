//! Table 6. Its traces are lost, so that its ratios are compared, and only within bands. What its own inputs contradict
//! is asserted as a difference.

use fawn_gordon::survey::paper;
use fawn_gordon::survey::table6::{BoundPair, PRINTED, rows};
use fawn_gordon::survey::tables::table_6;

use crate::survey::survey;

fn off(ours: BoundPair, printed: BoundPair) -> f64 {
    let off = |a: f64, b: f64| (a / b - 1.0).abs();
    off(ours.nosync, printed.nosync).max(off(ours.sync, printed.sync))
}

#[test]
fn the_printed_ratios_agree_with_each_other() {
    for row in &PRINTED {
        // Power over that of MinP-disk: one value of MinP-disk in every row, but for rounding.
        for (watts, ratio, expected) in
            [(row.watts.sync, row.watts_ratio.sync, 12.2), (row.watts.nosync, row.watts_ratio.nosync, 4.32)]
        {
            assert!((watts / ratio / expected - 1.0).abs() < 0.015, "{row:?}");
        }
        // Performance per watt is speed over power, relative to one design: MaxE-disk's own ratio.
        let constant = |efficiency: f64, watts: f64, speed: f64| speed / (efficiency * watts);
        let sync = constant(row.efficiency_ratio.sync, row.watts.sync, row.speedup.sync);
        let nosync = constant(row.efficiency_ratio.nosync, row.watts.nosync, row.speedup.nosync);
        // The speeds of Atoms have two digits only.
        let tolerance = if row.speedup.sync < 0.2 { 0.07 } else { 0.02 };
        assert!((sync / 0.0151 - 1.0).abs() < tolerance, "{}: {sync}", row.label);
        assert!((nosync / 0.0280 - 1.0).abs() < tolerance, "{}: {nosync}", row.label);
    }
}

/// Our traces are fitted to these speeds (see `node::workloads`), with seven processor activities and nine constants for
/// 24 figures.
#[test]
fn speeds_of_our_survey_are_within_12_percent_of_the_printed_ones() {
    for (ours, printed) in rows(survey()).unwrap().into_iter().zip(PRINTED) {
        assert!(off(ours.speedup, printed.speedup) < 0.12, "{}: {:?}", ours.design, ours.speedup);
    }
}

#[test]
fn efficiencies_of_one_processor_are_within_20_percent_of_the_printed_ones() {
    for (ours, printed) in rows(survey()).unwrap().into_iter().zip(PRINTED).take(3) {
        let efficiency = off(ours.efficiency_ratio, printed.efficiency_ratio);
        assert!(efficiency < 0.20, "{}: {:?}", ours.design, ours.efficiency_ratio);
    }
}

/// Documented difference. From two to four Core 2 the printed average power grows by 30.3 W a core. Table 3's core draws
/// 20.8 W when fully active, and 28.7 W with its share of the overhead, which would be no average but the most. Our nodes
/// with several cores draw less, and are more efficient than the printed ones by so much.
#[test]
fn several_core_2_draw_more_in_print_than_table_3_allows() {
    let per_core = (PRINTED[5].watts.sync - PRINTED[3].watts.sync) / 2.0;
    let most = paper::core2().watts.active / (1.0 - paper::OVERHEAD_SHARE);
    assert!((per_core - 30.3).abs() < 0.1 && (most - 28.7).abs() < 0.1 && per_core > most);
    for (ours, printed) in rows(survey()).unwrap().into_iter().zip(PRINTED).skip(3) {
        for (ours, printed, most) in [
            (ours.efficiency_ratio.sync / printed.efficiency_ratio.sync, 1.0, 1.8),
            (ours.efficiency_ratio.nosync / printed.efficiency_ratio.nosync, 1.0, 1.8),
            (printed.watts.sync / ours.watts.sync, 1.0, 1.6),
            (printed.watts.nosync / ours.watts.nosync, 1.0, 1.6),
        ] {
            assert!(ours > printed && ours < most, "{ours}");
        }
    }
}

/// Documented difference. Watts of the smallest designs do not follow from Table 3 either: memory, flash and controller
/// at rest alone draw more than the printed average of `MinP`, before any overhead. So nodes must be off for much of the time
/// even with a barrier after each sample. Ours are off after their last sample, and still draw more.
#[test]
fn the_printed_watts_of_one_atom_are_below_what_table_3_draws_at_rest() {
    let storage = paper::max_efficiency().storage;
    let parts = paper::memory().watts.idle + storage.watts.idle + storage.watts_controller.idle;
    assert!((parts - 4.052).abs() < 1e-9);
    assert!(PRINTED[0].watts.sync < parts && PRINTED[0].watts.nosync < parts);
    for (ours, printed) in rows(survey()).unwrap().iter().zip(&PRINTED) {
        let ratio = ours.watts.sync / printed.watts.sync;
        assert!((0.6..1.5).contains(&ratio), "{}: {:?}", ours.design, ours.watts);
        // Nodes that are done early are off, and without barriers they are done earlier.
        assert!(ours.watts.sync > ours.watts.nosync);
    }
}

#[test]
fn table_6_is_shown_with_the_paper_above_ours() {
    let table = table_6(&rows(survey()).unwrap());
    assert_eq!(table.rows.len(), 12);
    assert_eq!(table.rows[0][2], "1.43 3.91");
}
