//! Storage as the simulators rate it, and what of Figures 4 and 5 follows from the stated pattern of accesses.

use fawn_gordon::node::workloads::{NODES, TraceShape, suite};
use fawn_gordon::survey::simulated::{self, Figure4Row, figure_4, figure_5};
use fawn_gordon::survey::table6::DESIGNS;
use fawn_gordon::survey::{SurveyReport, SurveySettings, paper};
use fawn_report::Nobody;

fn within(value: f64, expected: f64, percent: f64) {
    assert!((value / expected - 1.0).abs() * 100.0 <= percent, "{value} is not {expected} within {percent} %");
}

/// Bypass and combining join the pairs. Regions that are overwritten anywhere make the array clean, as often as its spare share
/// of a quarter asks for: that is what an access of a write adds.
#[test]
fn the_simulated_array_has_the_stated_rates_and_only_cleaning_adds_to_them() {
    let (simulated, stated) = (simulated::flash().unwrap(), paper::flash());
    for (rate, stated) in [(simulated.read, stated.read), (simulated.write, stated.write)] {
        within(rate.bytes_per_second, stated.bytes_per_second, 5.0);
    }
    assert!(simulated.read.seconds_per_access < 5e-6, "{simulated:?}");
    assert!((100e-6..300e-6).contains(&simulated.write.seconds_per_access), "{simulated:?}");
}

/// The survey's disk was chosen by hand: 80 MB/s, and 2 ms an access. The simulator gives nearly the same bandwidth, and
/// more for reads and less for writes, which the buffer puts in order.
#[test]
fn the_simulated_disk_has_nearly_the_rates_that_were_chosen_by_hand() {
    let (simulated, stated) = (simulated::disk(), paper::disk());
    within(simulated.read.bytes_per_second, stated.read.bytes_per_second, 5.0);
    within(simulated.write.bytes_per_second, stated.write.bytes_per_second, 10.0);
    assert!((2.5e-3..3.5e-3).contains(&simulated.read.seconds_per_access), "{simulated:?}");
    assert!((1.5e-3..2.5e-3).contains(&simulated.write.seconds_per_access), "{simulated:?}");
}

/// With the stated rates the set has four Atoms and four Core 2. With cleaning in the flash's rates, two Core 2 are in it as
/// well, as in the paper's.
#[test]
fn with_simulated_rates_two_core_2_are_among_the_best_as_in_the_paper() {
    let traces = suite(&TraceShape::fitted(), NODES, 1);
    let designs = simulated::space().unwrap().designs();
    let report = SurveyReport::of(&designs, &traces, &SurveySettings::default(), &Nobody).unwrap();
    let best: Vec<&str> = report.best().into_iter().map(|point| point.name.as_str()).collect();
    assert_eq!(best, ["4 Atom 1.9 GHz, 1 flash array", DESIGNS[3], DESIGNS[5]]);
    assert_eq!(designs.len(), paper::CONFIGURATIONS);
}

#[test]
fn figure_4_transfers_of_32_and_128_kb_are_alike_until_the_page_exceeds_32_kb() {
    let rows = figure_4(&[32, 64], &[32, 128]).unwrap();
    let of = |page_kib, transfer_kib, joins| -> Figure4Row {
        let is_it = |row: &&Figure4Row| (row.page_kib, row.transfer_kib, row.joins) == (page_kib, transfer_kib, joins);
        *rows.iter().find(|row| row.is_sequential && is_it(row)).unwrap()
    };
    within(of(32, 32, false).write_mb_per_second, of(32, 128, false).write_mb_per_second, 3.0);
    assert!(of(64, 32, false).write_mb_per_second < 0.6 * of(64, 128, false).write_mb_per_second);
    // Combining nearly eliminates the effect for sequential accesses.
    within(of(64, 32, true).write_mb_per_second, of(64, 128, true).write_mb_per_second, 3.0);
    let random = |joins| {
        let mut found = rows.iter().filter(|row| !row.is_sequential && (row.page_kib, row.transfer_kib) == (64, 32));
        found.find(|row| row.joins == joins).unwrap().read_mb_per_second
    };
    within(random(true), random(false), 3.0);
}

/// The paper has 1.1 to 6.3 times for all applications with bypass and combining. By the stated pattern alone, and with 32
/// requests at a time, super-pages of 8 KB are busy on all buses already: 64 KB give 1.07 to 1.4 times.
#[test]
fn figure_5_pages_of_64_kb_are_faster_for_every_workload_with_bypass_and_combining() {
    let rows = figure_5(&[64], true).unwrap();
    assert_eq!(rows.len(), 8, "seven workloads and their average");
    for row in &rows {
        assert!((1.05..1.45).contains(&row.relative), "{row:?}");
    }
    let of = |workload: &str| rows.iter().find(|row| row.workload == workload).unwrap().relative;
    assert!(of("Grep (simple)") > of("RandomWriter"), "reads gain more than writes");
}

/// Documented difference: without bypass the paper has four workloads that gain (Index, Identity, `RandomWriter`, Sort): those
/// that write most. By the stated pattern none can: half of the accesses are 8 KB, for each of which the rest of the super-page
/// is read, or read and programmed again. So those that write most lose most.
#[test]
fn figure_5_no_workload_gains_without_bypass_and_writers_lose_most() {
    let rows = figure_5(&[64], false).unwrap();
    assert!(rows.iter().all(|row| row.relative < 1.0), "{rows:?}");
    let of = |workload: &str| rows.iter().find(|row| row.workload == workload).unwrap().relative;
    assert!(of("RandomWriter") < of("Sort") && of("Sort") < of("Grep (simple)"));
}
