//! Laws of the cluster simulator: the estimate lies between the paper's bounds, whatever the traces.

use fawn_gordon::node::workloads::{TraceShape, suite};
use fawn_gordon::node::{ClusterModel, ClusterTrace, NodeResource, ResourceSample};
use proptest::prelude::*;

use crate::by_hand::{design, trace};

fn sample() -> impl Strategy<Value = ResourceSample> {
    (0.0..2e9, 0.0..2e8, 0.0..2e8, 0.0..1e8, 0.0..100.0).prop_map(|(instructions, read, write, network, accesses)| {
        ResourceSample {
            instructions,
            cpu_seconds: instructions / 1e9,
            cache_misses: instructions / 100.0,
            network_in_bytes: network,
            network_out_bytes: network / 2.0,
            disk_read_bytes: read,
            disk_write_bytes: write,
            disk_reads: accesses,
            disk_writes: accesses / 3.0,
        }
    })
}

fn traces() -> impl Strategy<Value = ClusterTrace> {
    prop::collection::vec(prop::collection::vec(sample(), 0..12), 1..6).prop_map(trace)
}

/// Sums in another order may differ in their last bits.
fn at_most(a: f64, b: f64) -> bool {
    a <= b * (1.0 + 1e-12)
}

proptest! {
    #[test]
    fn time_grows_from_no_barrier_to_a_barrier_after_each_sample(trace in traces()) {
        let seconds = |lead| ClusterModel { lead, ..ClusterModel::sync() }.run(&trace, &design()).seconds;
        let mut after = seconds(Some(0));
        prop_assert_eq!(after, ClusterModel::sync().run(&trace, &design()).seconds);
        for lead in 1..14 {
            let ahead = seconds(Some(lead));
            prop_assert!(at_most(ahead, after), "{lead}: {ahead} {after}");
            after = ahead;
        }
        prop_assert_eq!(after, seconds(None), "a lead beyond the trace is no barrier");
        prop_assert_eq!(after, ClusterModel::nosync().run(&trace, &design()).seconds);
    }

    #[test]
    fn the_estimate_lies_between_the_lower_bound_and_work_that_never_overlaps(
        trace in traces(), lead in 0u32..8, in_flight in 1u32..9,
    ) {
        let seconds = |model: ClusterModel| model.run(&trace, &design()).seconds;
        let estimate = seconds(ClusterModel::estimate(lead, in_flight));
        prop_assert!(at_most(seconds(ClusterModel::nosync()), estimate));
        prop_assert!(at_most(estimate, seconds(ClusterModel::estimate(0, 1))));
        // With one request in flight and a barrier, samples are sums of times.
        let rates = fawn_gordon::node::NodeRates::of(&design());
        let mut serial = 0.0;
        for second in 0..trace.seconds() {
            let sums = trace.nodes.iter().filter_map(|node| node.get(second)).map(|it| rates.demand(it, true).sum());
            serial += sums.fold(0.0, f64::max);
        }
        prop_assert!((seconds(ClusterModel::estimate(0, 1)) - serial).abs() <= 1e-9 * serial.max(1.0));
    }

    #[test]
    fn an_estimate_with_very_many_requests_lies_between_the_papers_bounds(trace in traces(), lead in 0u32..8) {
        let seconds = |model: ClusterModel| model.run(&trace, &design()).seconds;
        let estimate = seconds(ClusterModel::estimate(lead, 4000));
        prop_assert!(at_most(seconds(ClusterModel::nosync()), estimate));
        // Mean-value analysis reaches perfect overlap in the limit only.
        prop_assert!(estimate <= seconds(ClusterModel::sync()) * 1.001);
    }

    #[test]
    fn no_resource_works_for_longer_than_nodes_are_on(trace in traces(), lead in 0u32..4) {
        let model = ClusterModel { lead: Some(lead), ..ClusterModel::sync() };
        let run = model.run(&trace, &design());
        let idle = design().watts().idle * run.on_seconds;
        let most = design().watts().active * run.on_seconds;
        prop_assert!(run.joules.total() >= idle - 1e-6 && run.joules.total() <= most + 1e-6);
        prop_assert!(run.on_seconds <= run.seconds * run.nodes as f64 + 1e-9);
        let spent: f64 = run.busy.by_set.iter().sum::<f64>() + run.busy.waiting;
        prop_assert!((spent - run.on_seconds).abs() <= 1e-9 * spent.max(1.0), "{} {}", spent, run.on_seconds);
    }

    #[test]
    fn a_faster_resource_never_takes_longer(trace in traces(), lead in 0u32..4) {
        let model = ClusterModel { lead: Some(lead), ..ClusterModel::sync() };
        let all = model.seconds(&trace, &design(), None);
        prop_assert_eq!(all, model.run(&trace, &design()).seconds);
        for resource in NodeResource::ALL {
            prop_assert!(at_most(model.seconds(&trace, &design(), Some(resource)), all));
        }
    }
}

#[test]
fn the_estimate_of_the_papers_workloads_lies_between_its_bounds_or_says_why() {
    let design = fawn_gordon::survey::paper::max_efficiency();
    for trace in suite(&TraceShape::fitted(), 32, 1) {
        let seconds = |model: ClusterModel| model.run(&trace, &design).seconds;
        let (lower, upper) = (seconds(ClusterModel::nosync()), seconds(ClusterModel::sync()));
        let overlapping = seconds(ClusterModel { in_flight: None, ..ClusterModel::estimate(10, 4) });
        assert!(lower <= overlapping && overlapping <= upper, "{}", trace.name);
        // Imperfect overlap may exceed the paper's upper bound, which assumes a perfect one.
        let estimate = seconds(ClusterModel::estimate(10, 4));
        assert!(overlapping <= estimate && estimate <= seconds(ClusterModel::estimate(0, 1)), "{}", trace.name);
    }
}
