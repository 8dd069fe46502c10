//! The catalogue of today's machines: what is known is used, what is not is said.

use fawn_plan::{Assumptions, Catalogue, Index, MeasuredNode, PurchasePlan, Quantity, Resource};

use crate::{assumptions, plan, workload};

const PI: &str = "Raspberry Pi 5 8 GB + NVMe 1 TB";

/// Today's machines, and Orange Pis of which somebody has said how much DRAM they have.
fn with_orange_pis() -> Catalogue {
    let mut catalogue = Catalogue::built_in("today").unwrap();
    for drive in ["1 TB", "2 TB"] {
        let text =
            format!("name = \"n\"\ndate = \"2026-11-24\"\noption = \"Orange Pi 5 + NVMe {drive}\"\ndram_gib = 8\n");
        MeasuredNode::parse(&text).unwrap().add_to(&mut catalogue).unwrap();
    }
    catalogue
}

fn plan_of(catalogue: &Catalogue) -> PurchasePlan {
    PurchasePlan::of(catalogue, &workload(10e12, 1e6, 3), &assumptions(catalogue))
}

fn warned(plan: &PurchasePlan, what: &str) -> bool {
    plan.warnings.iter().any(|warning| warning.contains(what))
}

#[test]
fn an_option_is_ranked_only_if_price_power_space_reads_network_and_dram_are_known() {
    let plan = plan("today", &workload(10e12, 1e6, 3), 0.75);
    let missing = |name: &str| {
        let found = plan.unranked.iter().find(|it| it.name == name);
        found.unwrap_or_else(|| panic!("{name}")).missing.join(", ")
    };
    assert!(plan.ranked.iter().any(|choice| choice.name == PI));
    assert_eq!(missing("Rock 5B 4 GB + NVMe 1 TB"), "reads a second");
    assert_eq!(missing("AWS i4i.large"), "network rate, DRAM");
    assert_eq!(missing("SR645 2 x EPYC 7763 + PM9A3"), "price, space, network rate, DRAM");
    assert_eq!(missing("AWS i7i.large"), "price, watts, space, network rate, DRAM");
}

#[test]
fn what_is_unknown_old_or_close_is_warned_of() {
    let plan = plan_of(&with_orange_pis());
    for what in [
        "The processor's rate is unknown for all of these machines",
        "A memcached client asks any node",
        "Orange Pi 5 + NVMe 1 TB: as the catalogue has it, without power supply",
        "older than a year at 2026-11-24, the oldest of 2020-05",
        "the prices of Orange Pi 5",
        "The power of the drives of ",
        "$0.15 per kilowatt-hour and a PUE of 1.4 are assumed",
        "the ranges of their prices and power overlap",
    ] {
        assert!(warned(&plan, what), "{what}: {:#?}", plan.warnings);
    }
    assert!(!warned(&plan, "one copy"));
    assert!(warned(&crate::plan("today", &workload(10e12, 1e6, 1), 0.75), "one copy of each value"));
    let unknown = crate::plan("today", &workload(10e12, 1e6, 3), 0.75);
    assert!(warned(&unknown, "Orange Pi 5 + NVMe 2 TB") && warned(&unknown, "might cost less than Raspberry Pi 5"));
}

#[test]
fn a_date_is_that_of_the_source_or_said_to_be_that_of_the_reading() {
    let gathered = "2026-11".parse().unwrap();
    let catalogue = Catalogue::built_in("today").unwrap();
    let of = |name: &str, quantity| {
        let option = catalogue.options.iter().find(|option| option.name == name).unwrap();
        option.figure(quantity).unwrap().clone()
    };
    for figure in catalogue.options.iter().flat_map(|option| option.figures.values()) {
        assert_eq!(figure.date >= gathered, figure.source.contains("as read"), "{figure:?}");
    }
    for (name, quantity, date) in [
        ("Orange Pi 5 + NVMe 1 TB", Quantity::Read4kPerSecond, "2023-06"),
        ("AWS i4i.large", Quantity::Read4kPerSecond, "2022-05-24"),
        ("SR645 2 x EPYC 7763 + PM9A3", Quantity::Read4kPerSecond, "2020-05"),
        ("SR645 2 x EPYC 7763 + PM9A3", Quantity::WattsStress, "2021-03-24"),
    ] {
        assert_eq!(of(name, quantity).date.to_string(), date, "{name}, {quantity}");
    }
}

#[test]
fn reads_that_only_the_bandwidth_bounds_are_said_to_be_a_bound() {
    let plan = plan_of(&with_orange_pis());
    let choice = plan.ranked.iter().find(|choice| choice.name == "Orange Pi 5 + NVMe 1 TB").unwrap();
    let reads = &choice.figures[&Quantity::Read4kPerSecond];
    assert_eq!((reads.low, reads.value, reads.high), (95_000.0, 95_000.0, 95_000.0), "390 MB/s leave room for no more");
    assert!(warned(&plan, "the reads are an upper bound by its bandwidth"), "{:#?}", plan.warnings);
}

#[test]
fn watts_that_are_not_of_the_wall_are_warned_of() {
    let warnings = |scope: &str| {
        let mut catalogue = Catalogue::built_in("today").unwrap();
        let text = format!(
            r#"{{"name": "mine", "date": "2026-11-24", "option": "{PI}",
            "watts_stress": {{"value": 7, "kind": "measured"{scope}}}}}"#
        );
        MeasuredNode::parse(&text).unwrap().add_to(&mut catalogue).unwrap();
        let plan = PurchasePlan::of(&catalogue, &workload(1e12, 1e6, 3), &assumptions(&catalogue));
        plan.warnings.into_iter().filter(|warning| warning.contains("not at the wall")).collect::<Vec<_>>()
    };
    assert_eq!((warnings(""), warnings(r#", "scope": "wall""#)), (vec![], vec![]));
    for (scope, of) in [("board", "of the board,"), ("package", "of the processor alone,")] {
        let seen = warnings(&format!(r#", "scope": "{scope}""#));
        let [warning] = seen.as_slice() else { panic!("{scope}: {seen:?}") };
        assert!(warning.starts_with(&format!("Watts of {PI} are {of}")), "{warning}");
    }
}

#[test]
fn the_same_values_grow_old_with_the_day() {
    let catalogue = Catalogue::built_in("paper-2009").unwrap();
    let at = |today: &str| {
        let assumptions = Assumptions::of(&catalogue, today.parse().unwrap());
        warned(&PurchasePlan::of(&catalogue, &workload(1e12, 1e6, 1), &assumptions), "older than a year")
    };
    assert_eq!((at("2010-10-31"), at("2010-11-01")), (false, true));
}

#[test]
fn dram_decides_how_the_index_finds_records_and_may_ask_for_more_nodes() {
    let of = |data_bytes: f64, value_bytes: f64| {
        let workload = fawn_plan::Workload { value_bytes, ..workload(data_bytes, 1e3, 1) };
        let plan = plan("today", &workload, 0.75);
        plan.ranked.iter().find(|choice| choice.name == PI).unwrap().sizing.clone()
    };
    // 750 GB of 1 KB values a node: 0.7 billion entries, 3.4 GB with an entry each.
    assert_eq!((of(7e12, 1e3).index, of(7e12, 1e3).binds), (Some(Index::Indexed), Resource::Space));
    // Of 100-byte values there are 5.2 billion, which would take 24 GB.
    assert_eq!((of(7e12, 100.0).index, of(7e12, 100.0).binds), (Some(Index::Drained), Resource::Space));
    // Of 8-byte values 14 billion: even half a byte each is more than 6.4 GB.
    assert_eq!((of(7e12, 8.0).index, of(7e12, 8.0).binds), (Some(Index::Drained), Resource::Dram));
}

#[test]
fn a_measured_processor_binds_where_it_is_the_slowest_part() {
    let mut catalogue = Catalogue::built_in("today").unwrap();
    let text = format!(r#"{{"name": "mine", "date": "2026-11-24", "option": "{PI}", "cpu_gets_per_second": 20000}}"#);
    MeasuredNode::parse(&text).unwrap().add_to(&mut catalogue).unwrap();
    let plan = PurchasePlan::of(&catalogue, &workload(1e12, 1e6, 3), &assumptions(&catalogue));
    let choice = plan.ranked.iter().find(|choice| choice.name == PI).unwrap();
    assert_eq!(
        (choice.sizing.binds, choice.sizing.nodes),
        (Resource::Cpu, 67),
        "a million of three quarters of 20,000"
    );
    assert!(choice.unknown.is_empty());
    assert!(!warned(&plan, "for all of these machines") && warned(&plan, "The processor's rate is unknown for"));
}

#[test]
fn a_lost_node_is_copied_by_all_that_are_left() {
    let plan = plan("today", &workload(10e12, 1e6, 3), 0.75);
    let choice = plan.ranked.iter().find(|choice| choice.name == PI).unwrap();
    // 31.3 TB of records in three quarters of a TB each.
    let loss = &choice.loss;
    assert_eq!(choice.sizing.nodes, 42);
    assert!((loss.share - 1.0 / 42.0).abs() < 1e-12 && (loss.capacity_left - 41.0 / 42.0).abs() < 1e-12);
    assert!((loss.bytes - 31.32e12 / 42.0).abs() < 1e6, "{loss:?}");
    // The network bears 117 MB a second, of which copies take 32 MiB.
    let to_one = loss.bytes / f64::from(32 << 20);
    assert!((loss.seconds_to_one.unwrap() - to_one).abs() < 1e-6);
    assert!((loss.seconds_spread.unwrap() - to_one / 41.0).abs() < 1e-6);
    assert!(!loss.is_final && !loss.lacks_nodes);
    // 1 million gets on 41 nodes of 82 thousand.
    assert!((0.29..0.30).contains(&loss.rate_share.unwrap()), "{loss:?}");
}
