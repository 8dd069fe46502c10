//! Runs whose time and energy a pencil gives.

use std::collections::BTreeMap;

use fawn_gordon::node::{
    AccessRate, ClusterModel, ClusterTrace, DeviceWatts, MemoryModel, NodeDesign, NodeResource, NodeStorage,
    ProcessorModel, ResourceSample, TraceColumn, WattRange,
};

/// 1 G instructions, 100 MB of disk and 50 MB of network per second; round watts.
pub fn design() -> NodeDesign {
    let rate = AccessRate { bytes_per_second: 100e6, seconds_per_access: 0.01 };
    NodeDesign {
        name: "plain".to_owned(),
        processor: ProcessorModel {
            name: "plain".to_owned(),
            instructions_per_cycle: 1.0,
            rated_hz: 1e9,
            watts: WattRange::new(10.0, 30.0),
            volts: None,
            price_dollars: Some(100.0),
        },
        processors: 1,
        hz: 1e9,
        memory: MemoryModel {
            bytes: Some(2e9),
            watts: WattRange::new(2.0, 4.0),
            bytes_per_second: 6.4e9,
            price_dollars: Some(20.0),
        },
        storage: NodeStorage {
            name: "disk".to_owned(),
            devices: 1,
            read: rate,
            write: rate,
            watts: DeviceWatts { idle: 5.0, read: 7.0, write: 9.0 },
            watts_controller: WattRange::default(),
            price_dollars: Some(50.0),
        },
        network_bytes_per_second: 50e6,
        overhead_share: 0.0,
        base_price_dollars: Some(30.0),
        notes: Vec::new(),
    }
}

/// A trace of these nodes whose every column was measured.
pub fn trace(nodes: Vec<Vec<ResourceSample>>) -> ClusterTrace {
    let sources: BTreeMap<_, _> = TraceColumn::ALL.into_iter().map(|column| (column, "a test".to_owned())).collect();
    ClusterTrace { name: "test".to_owned(), sources, nodes }
}

pub fn cpu(seconds: f64) -> ResourceSample {
    ResourceSample { instructions: seconds * 1e9, ..ResourceSample::default() }
}

pub fn disk(seconds: f64) -> ResourceSample {
    // Half of the time transfers, half of it waits for accesses.
    let (bytes, accesses) = (seconds * 50e6, seconds * 50.0);
    ResourceSample { disk_read_bytes: bytes, disk_reads: accesses, ..ResourceSample::default() }
}

#[test]
fn a_sample_takes_as_long_as_its_slowest_resource() {
    let sample = ResourceSample { instructions: 0.4e9, network_out_bytes: 30e6, ..disk(0.5) };
    let run = ClusterModel::sync().run(&trace(vec![vec![sample]]), &design());
    assert!((run.seconds - 0.6).abs() < 1e-12, "{run:?}");
    let activity = run.activity;
    assert!((activity.processor - 2.0 / 3.0).abs() < 1e-12 && (activity.network - 1.0).abs() < 1e-12, "{activity:?}");
    assert!((activity.storage - 5.0 / 6.0).abs() < 1e-12 && activity.memory == 0.0, "{activity:?}");
    // The network is full; the disk is busy for five sixths and the processor for two thirds.
    assert_eq!(run.busy.by_set[1 << NodeResource::Network as usize], run.seconds);
    let joules = run.joules;
    assert!((joules.processor - (10.0 * 0.6 + 20.0 * 0.4)).abs() < 1e-12);
    assert!((joules.storage - (5.0 * 0.6 + 2.0 * 0.5)).abs() < 1e-12);
    assert!((joules.memory - 2.0 * 0.6).abs() < 1e-12, "no misses, so that memory is idle: {joules:?}");
}

#[test]
fn a_barrier_costs_the_sum_of_the_slowest_and_no_barrier_the_slowest_sum() {
    let nodes = vec![vec![cpu(1.0), cpu(0.2)], vec![cpu(0.1), cpu(0.7)]];
    let trace = trace(nodes);
    let (sync, nosync) = (ClusterModel::sync(), ClusterModel::nosync());
    let (slow, fast) = (sync.run(&trace, &design()), nosync.run(&trace, &design()));
    assert!((slow.seconds - 1.7).abs() < 1e-12 && (fast.seconds - 1.2).abs() < 1e-12);
    assert!((slow.busy.waiting - 0.9).abs() < 1e-12 && fast.busy.waiting == 0.0);
    // Waiting draws idle power until the own last sample ends.
    let idle = 10.0 + 2.0 + 5.0;
    let expected = |on: f64| idle * on + 20.0 * 2.0;
    assert!((slow.joules.total() - expected(1.2 + 1.7)).abs() < 1e-9, "{:?}", slow.joules);
    assert!((fast.joules.total() - expected(1.2 + 0.8)).abs() < 1e-9);
}

#[test]
fn a_node_without_work_left_is_off_unless_it_stays_on() {
    let trace = trace(vec![vec![cpu(1.0)], vec![cpu(1.0), cpu(1.0), cpu(1.0)]]);
    let off = ClusterModel::sync().run(&trace, &design());
    let on = ClusterModel { power_down: false, ..ClusterModel::sync() }.run(&trace, &design());
    assert_eq!((off.seconds, off.on_seconds, on.on_seconds), (3.0, 4.0, 6.0));
    assert!((on.joules.total() - off.joules.total() - 2.0 * 17.0).abs() < 1e-9);
    assert!((off.joules_staying_on - on.joules.total()).abs() < 1e-9, "a run says what switching off has saved");
    assert!((off.average_watts() - off.joules.total() / 6.0).abs() < 1e-12, "off counts in the average");
}

#[test]
fn work_that_arrives_as_recorded_takes_at_least_as_long_as_it_did() {
    // The first node keeps up; the second has a second's work of 1.5 s, and catches up.
    let trace = trace(vec![vec![cpu(0.25), cpu(0.0), cpu(0.25)], vec![cpu(1.5), cpu(0.1)]]);
    let model = ClusterModel::nosync().with_pace(true);
    let run = model.run(&trace, &design());
    assert_eq!((run.seconds, model.seconds(&trace, &design(), Some(NodeResource::Processor))), (3.0, 3.0));
    assert_eq!(run.on_seconds, 3.0 + 2.0, "a node is on for as long as it was recorded");
    assert!((run.joules.total() - (17.0 * 5.0 + 20.0 * 2.1)).abs() < 1e-9, "{:?}", run.joules);
    let slow = NodeDesign { hz: 0.1e9, ..design() };
    assert!((model.run(&trace, &slow).seconds - 16.0).abs() < 1e-9, "one that is too slow falls behind");
    assert!(model.run(&trace, &slow).seconds > ClusterModel::nosync().run(&trace, &design()).seconds);
}

#[test]
fn a_timeline_names_what_is_busy_second_by_second() {
    let trace = trace(vec![vec![cpu(1.0), disk(0.5), cpu(0.0)], vec![cpu(0.5)]]);
    let timeline = ClusterModel::sync().timeline(&trace, &design());
    let round = |seconds: f64| (seconds * 1e9).round() / 1e9;
    let busy: Vec<_> = timeline.iter().map(|second| (second.nodes, second.busy, round(second.slowest_s))).collect();
    let (processor, storage) = (Some(NodeResource::Processor), Some(NodeResource::Storage));
    assert_eq!(busy, [(2, processor, 1.0), (1, storage, 0.5), (0, None, 0.0)]);
    assert_eq!((timeline[0].processor, timeline[1].storage, round(timeline[1].finished_s)), (1.0, 1.0, 1.5));
    assert_eq!(timeline[1].waited_s, 0.0, "the first node was the slowest");
}

#[test]
fn p_processors_divide_processor_time_and_leave_disk_time() {
    let trace = trace(vec![vec![ResourceSample { instructions: 1e9, ..disk(0.3) }]]);
    let seconds = |processors: u32| ClusterModel::nosync().run(&trace, &NodeDesign { processors, ..design() }).seconds;
    assert_eq!((seconds(1), seconds(2)), (1.0, 0.5));
    assert!((seconds(4) - 0.3).abs() < 1e-12, "the disk limits: {}", seconds(4));
}

#[test]
fn disks_share_bytes_and_accesses() {
    let mut two = design();
    two.storage.devices = 2;
    let trace = trace(vec![vec![disk(1.0)]]);
    let run = ClusterModel::sync().run(&trace, &two);
    assert!((run.seconds - 0.5).abs() < 1e-12);
    assert!((run.joules.storage - 2.0 * 7.0 * 0.5).abs() < 1e-9, "both read: {:?}", run.joules);
}

#[test]
fn overhead_is_its_share_of_all_power() {
    let design = NodeDesign { overhead_share: 0.25, ..design() };
    let run = ClusterModel::sync().run(&trace(vec![vec![cpu(1.0)]]), &design);
    assert!((run.joules.overhead - run.joules.total() * 0.25).abs() < 1e-9);
    assert!((design.watts().active - (30.0 + 4.0 + 9.0) / 0.75).abs() < 1e-9);
}

#[test]
fn the_overheads_share_is_measured_at_rest_and_applies_under_load() {
    // A server that draws 100 W at rest, 70 W of it in known components, and 120 W on average.
    assert_eq!(NodeDesign::measured_overhead_share(100.0, 70.0, 120.0), 0.25);
}

#[test]
fn what_nobody_measured_is_named_and_takes_no_time() {
    let mut trace = trace(vec![vec![cpu(1.0)]]);
    trace.sources.remove(&TraceColumn::CacheMisses);
    trace.sources.remove(&TraceColumn::NetworkInBytes);
    let run = ClusterModel::sync().run(&trace, &design());
    assert_eq!(run.unmeasured, [TraceColumn::CacheMisses, TraceColumn::NetworkInBytes]);
    assert!((run.joules.memory - 4.0).abs() < 1e-9, "memory follows the processor: {:?}", run.joules);
}

#[test]
fn an_infinite_resource_leaves_the_time_of_the_others() {
    let trace = trace(vec![vec![ResourceSample { instructions: 0.9e9, ..disk(0.5) }]]);
    let seconds = |infinite| ClusterModel::sync().seconds(&trace, &design(), infinite);
    assert_eq!(seconds(None), 0.9);
    assert!((seconds(Some(NodeResource::Processor)) - 0.5).abs() < 1e-12);
    assert_eq!(seconds(Some(NodeResource::Storage)), 0.9);
}

#[test]
fn a_price_is_the_sum_of_parts_and_unknown_if_one_is() {
    let mut design = design();
    design.storage.devices = 3;
    assert_eq!(design.price_dollars(), Some(100.0 + 150.0 + 20.0 + 30.0));
    design.memory.price_dollars = None;
    assert_eq!(design.price_dollars(), None);
}
