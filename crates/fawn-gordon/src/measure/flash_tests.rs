//! Measurements of a flash array agree with what the library's own tests have.

use fawn_report::Nobody;

use super::*;
use crate::flash::presets::preset;
use crate::ftl::Stripe;
use crate::measure::tables::{Sheet, beside, power_cut};
use crate::trace::Arrivals;

fn model(blocks: u32) -> FlashModel {
    let mut model: FlashModel = preset("gordon-slc-133").unwrap().into();
    model.design.geometry.blocks_per_plane = blocks;
    model
}

fn pattern(addresses: AddressPattern, capacity_bytes: u64, read_share: f64, requests: u64) -> TracePattern {
    TracePattern { addresses, arrivals: Arrivals::Together, read_share, capacity_bytes, requests, seed: 3 }
}

fn uniform(bytes: u64) -> AddressPattern {
    AddressPattern::Uniform { least_bytes: bytes, most_bytes: bytes }
}

fn measured(
    model: FlashModel,
    settings: FtlSettings,
    choice: WarmUpChoice,
    pattern_of: impl Fn(u64) -> TracePattern,
) -> FlashReport {
    let mut measurement = FlashMeasurement::new(model, settings, false).unwrap();
    let pattern = pattern_of(measurement.capacity_bytes());
    measurement.warm_up(choice, Some(&pattern), &Nobody).unwrap();
    measurement.run(pattern.trace().unwrap(), pattern.requests, Pacing::Saturated, &Nobody).unwrap()
}

#[test]
fn the_paper_s_array_reads_900_mb_a_second_and_says_what_is_busiest() {
    let settings = FtlSettings { spare_factor: 0.2, ..FtlSettings::gordon() };
    let report = measured(model(64), settings, WarmUpChoice::Auto, |capacity| {
        pattern(AddressPattern::Sequential { bytes: 256 << 10 }, capacity, 1.0, 2_000)
    });
    assert!((report.bytes_per_s / 900e6 - 1.0).abs() < 0.05, "{}", report.bytes_per_s);
    assert_eq!(report.first_state.way, "sequential");
    assert!(report.resources[0].resource.contains("bus"), "{:?}", report.resources);
    assert_eq!(report.write_amplification, None);
    let mean: f64 = report.latency_parts.iter().map(|part| part.mean_us).sum();
    assert!((mean / report.latency.unwrap().mean_us - 1.0).abs() < 1e-6);
    // 64 dies of 3 mW at rest and 40 mW at work.
    let watts = report.energy.as_ref().unwrap().modelled_w;
    assert!((0.192..2.56).contains(&watts), "{watts}");
    let table = beside(&[Sheet::of_flash(&report)]);
    assert!(table.rows.iter().any(|row| row[0] == "bandwidth" && row[1].ends_with("MB/s")), "{table:?}");
}

#[test]
fn flushes_are_counted_as_requests() {
    let model = model(64);
    let mut measurement =
        FlashMeasurement::new(model, FtlSettings { spare_factor: 0.2, ..FtlSettings::gordon() }, false).unwrap();
    measurement.warm_up(WarmUpChoice::Empty, None, &Nobody).unwrap();
    // A trace may give a flush any extent.
    let requests = (0..300).map(|at| BlockRequest {
        time_ns: 0,
        device: 0,
        access: if at % 3 == 2 { Access::Flush } else { Access::Write },
        offset: if at % 3 == 2 { u64::MAX } else { at * 65_536 },
        bytes: if at % 3 == 2 { 0 } else { 65_536 },
        response_ns: None,
    });
    let report = measurement.run(requests, 300, Pacing::Saturated, &Nobody).unwrap();
    let Throughput { requests, writes, flushes, elapsed_s, .. } = report.throughput;
    assert_eq!((requests, writes, flushes), (300, 200, 100));
    assert!((report.requests_per_s - 300.0 / elapsed_s).abs() < 1e-6, "{report:?}");
    let table = beside(&[Sheet::of_flash(&report)]);
    assert!(table.rows.contains(&vec!["reads, writes, discards, flushes".to_owned(), "0, 200, 0, 100".to_owned()]));
}

#[test]
fn write_amplification_stands_beside_theory_where_theory_has_any() {
    let mut model: FlashModel = preset("mqsim-default").unwrap().into();
    model.design.geometry.page_bytes = 4_096;
    model.design.geometry.blocks_per_plane = 128;
    model.design.geometry.pages_per_block = 64;
    let settings = FtlSettings { queue_depth: 256, ..FtlSettings::plain(Stripe::SINGLE, 0.2) };
    let run = |choice, settings| {
        measured(model.clone(), settings, choice, |capacity| pattern(uniform(4_096), capacity, 0.0, 300_000))
    };
    let closed = run(WarmUpChoice::Auto, settings);
    assert_eq!(closed.first_state.way, "closed-form");
    let filled = run(WarmUpChoice::Fill(4), settings);
    assert_eq!((filled.first_state.way, filled.first_state.passes), ("bounded-fill", 5));
    for report in [closed, filled] {
        let amplification = report.write_amplification.unwrap();
        let theory = amplification.theory.unwrap();
        assert!((amplification.pages_per_page / theory - 1.0).abs() < 0.05, "{amplification:?}");
        assert!((amplification.bytes_per_byte / amplification.pages_per_page_with_summaries - 1.0).abs() < 0.01);
        assert_eq!(report.wear.years_at_this_rate, None, "the source states no erases");
    }
    let mut cost_benefit = settings;
    cost_benefit.cleaning.policy = CleaningPolicy::CostBenefit;
    let amplification = run(WarmUpChoice::Fill(1), cost_benefit).write_amplification.unwrap();
    assert_eq!(amplification.theory, None);
    assert!(amplification.theory_source.contains("cost-benefit"));
}

#[test]
fn the_first_state_follows_the_workload() {
    let settings = FtlSettings { spare_factor: 0.25, ..FtlSettings::gordon() };
    let way = |addresses: AddressPattern, reads: f64| {
        let report =
            measured(model(32), settings, WarmUpChoice::Auto, |capacity| pattern(addresses, capacity, reads, 200));
        (report.first_state.way, report.first_state.passes)
    };
    assert_eq!(way(AddressPattern::Sequential { bytes: 65_536 }, 0.0), ("bounded-fill", 2));
    assert_eq!(way(AddressPattern::Pairs { is_sequential: false }, 0.5), ("bounded-fill", 4));
    assert_eq!(way(uniform(65_536), 1.0), ("sequential", 1));
}

#[test]
fn a_closed_form_without_spare_blocks_is_refused() {
    let mut measurement =
        FlashMeasurement::new(model(8), FtlSettings { spare_factor: 0.6, ..FtlSettings::gordon() }, true);
    let measurement = measurement.as_mut().unwrap();
    let error = measurement.warm_up(WarmUpChoice::ClosedForm, None, &Nobody).unwrap_err();
    assert!(error.to_string().contains("choose a fill"), "{error}");
}

#[test]
fn recovery_after_a_power_cut_finds_all_that_was_acknowledged() {
    for (seed, warm_up) in [(1, WarmUpChoice::Auto), (2, WarmUpChoice::Empty), (3, WarmUpChoice::Sequential)] {
        let settings = FtlSettings { spare_factor: 0.25, write_points_per_set: 2, seed, ..FtlSettings::gordon() };
        let mut measurement = FlashMeasurement::new(model(32), settings, true).unwrap();
        let pattern = pattern(uniform(65_536), measurement.capacity_bytes(), 0.2, 20_000);
        measurement.warm_up(warm_up, Some(&pattern), &Nobody).unwrap();
        let requests = crate::measure::workload::WithDiscards::new(pattern.trace().unwrap(), 0.1);
        let report = measurement.cut_power(requests, 5_000).unwrap();
        assert_eq!(report.pages_lost, 0, "{report:?}");
        assert!(report.acknowledged >= 5_000 && report.under_way > 0 && report.recovery_s > 0.0, "{report:?}");
        assert!(report.recovery.summaries > 0 && report.recovery.found > 0);
        assert_eq!(power_cut(&report).rows.len(), 12);
    }
}
