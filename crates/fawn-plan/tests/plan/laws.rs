//! What holds for whatever is asked.

use fawn_plan::{Assumptions, Catalogue, Flip, Map, PurchasePlan, Workload};
use proptest::prelude::*;

use crate::assumptions;

/// Any workload up to the edges of the map and beyond.
fn workloads() -> impl Strategy<Value = Workload> {
    let log = |from: f64, to: f64| (from..to).prop_map(|power| 10f64.powf(power));
    (log(6.0, 17.0), log(0.0, 10.0), log(0.0, 7.0), 1..6_u32).prop_map(
        |(data_bytes, gets_per_second, value_bytes, replicas)| Workload {
            data_bytes,
            gets_per_second,
            value_bytes,
            replicas,
        },
    )
}

fn catalogues() -> impl Strategy<Value = Catalogue> {
    prop::sample::select(Catalogue::names().collect::<Vec<_>>()).prop_map(|name| Catalogue::built_in(name).unwrap())
}

/// Nodes of each option, ranked or not.
fn nodes(plan: &PurchasePlan) -> Vec<(String, u64)> {
    let ranked = plan.ranked.iter().map(|it| (it.name.clone(), it.sizing.nodes));
    let mut all: Vec<_> = ranked.chain(plan.unranked.iter().map(|it| (it.name.clone(), it.least_nodes))).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn more_of_anything_never_needs_fewer_nodes(catalogue in catalogues(), workload in workloads(), by in 1.0..20.0_f64) {
        let assumptions = assumptions(&catalogue);
        let less = nodes(&PurchasePlan::of(&catalogue, &workload, &assumptions));
        let more = [
            Workload { data_bytes: workload.data_bytes * by, ..workload },
            Workload { gets_per_second: workload.gets_per_second * by, ..workload },
            Workload { replicas: workload.replicas + 1, ..workload },
        ];
        for workload in more {
            for (less, more) in less.iter().zip(nodes(&PurchasePlan::of(&catalogue, &workload, &assumptions))) {
                prop_assert!(more.1 >= less.1, "{less:?} {more:?}");
            }
        }
        let fuller = Assumptions { utilisation: assumptions.utilisation / by, ..assumptions };
        for (less, more) in less.iter().zip(nodes(&PurchasePlan::of(&catalogue, &workload, &fuller))) {
            prop_assert!(more.1 >= less.1, "{less:?} {more:?}");
        }
    }

    #[test]
    fn so_many_nodes_hold_and_serve_it_and_one_fewer_does_not(catalogue in catalogues(), workload in workloads()) {
        let assumptions = assumptions(&catalogue);
        for choice in PurchasePlan::of(&catalogue, &workload, &assumptions).ranked {
            let nodes = choice.sizing.nodes as f64;
            prop_assert!(choice.sizing.nodes >= u64::from(workload.replicas));
            for need in &choice.sizing.needs {
                prop_assert!(need.nodes <= nodes * (1.0 + 1e-9), "{need:?} of {nodes}");
            }
            let most = choice.sizing.needs.iter().find(|need| need.resource == choice.sizing.binds).unwrap();
            prop_assert!(choice.sizing.nodes == 1 || most.nodes > (nodes - 1.0) * (1.0 - 1e-9), "{most:?} of {nodes}");
        }
    }

    #[test]
    fn the_cheapest_is_first_and_ranges_hold_what_is_reckoned_with(catalogue in catalogues(), workload in workloads()) {
        let plan = PurchasePlan::of(&catalogue, &workload, &assumptions(&catalogue));
        for pair in plan.ranked.windows(2) {
            prop_assert!(pair[0].cost.total.value <= pair[1].cost.total.value);
        }
        for cost in plan.ranked.iter().map(|choice| choice.cost) {
            prop_assert!(cost.total.low <= cost.total.value && cost.total.value <= cost.total.high, "{cost:?}");
            let sum = cost.capital.value + cost.energy.value + cost.rent.value;
            prop_assert!((sum - cost.total.value).abs() <= 1e-9 * sum, "{cost:?}");
        }
        if let [first, second, ..] = plan.ranked.as_slice() {
            prop_assert_eq!(plan.flip, Some(Flip::between(&first.cost, &second.cost, plan.assumptions.kwh_dollars)));
        }
    }
}

#[test]
fn a_map_says_what_plans_say() {
    let catalogue = Catalogue::built_in("today").unwrap();
    let assumptions = assumptions(&catalogue);
    let workload = crate::workload(1e12, 1e6, 3);
    let map = Map::of(&catalogue, &workload, &assumptions).unwrap();
    for (row, column) in [(0, 0), (0, 100), (40, 50), (80, 0), (80, 100), (17, 83)] {
        let here = Workload {
            data_bytes: fawn_plan::map::column_bytes(column),
            gets_per_second: fawn_plan::map::row_rate(row),
            ..workload
        };
        let best = PurchasePlan::of(&catalogue, &here, &assumptions).ranked[0].cost.total.value;
        let named = &map.names[map.cells[row * fawn_plan::map::COLUMNS + column]];
        let plan = PurchasePlan::of(&catalogue, &here, &assumptions);
        let choice = plan.ranked.iter().find(|choice| choice.name == *named).unwrap();
        assert!((choice.cost.total.value - best).abs() < 1e-6 * best, "{named} at {row}, {column}");
    }
    let total: f64 = map.shares.iter().map(|share| share.share).sum();
    assert!((total - 1.0).abs() < 1e-9);
}
