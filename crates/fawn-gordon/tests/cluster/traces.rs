//! The synthetic traces have the properties that the paper states.

use fawn_gordon::node::workloads::{BYTES_PER_ACCESS, NODES, TABLE_2, TraceShape, suite, synthetic};

#[test]
fn table_2_has_seven_workloads_and_their_traces_its_bytes() {
    assert_eq!(TABLE_2.len(), 7, "the eighth line of Figure 5's legend is the average");
    for (trace, workload) in suite(&TraceShape::fitted(), NODES, 1).iter().zip(TABLE_2) {
        let totals = trace.totals();
        assert_eq!((trace.nodes.len(), trace.name.as_str()), (32, workload.name));
        for (is, should) in [(totals.disk_read_bytes, workload.read_mb), (totals.disk_write_bytes, workload.write_mb)] {
            assert!((is / 1e6 / should - 1.0).abs() < 1e-9, "{}: {is} {should}", workload.name);
        }
        let bytes = totals.disk_read_bytes + totals.disk_write_bytes;
        assert!((bytes / totals.disk_accesses / BYTES_PER_ACCESS - 1.0).abs() < 1e-9);
        assert!(trace.unmeasured().is_empty());
        assert!(trace.sources.values().all(|source| source.starts_with("synthetic")));
    }
}

#[test]
fn no_processor_executes_more_than_the_collecting_machine_can() {
    for trace in suite(&TraceShape::fitted(), NODES, 1) {
        for sample in trace.nodes.iter().flatten() {
            assert!(sample.instructions <= 3.6e9 && sample.disk_read_bytes >= 0.0);
        }
    }
}

#[test]
fn the_collecting_machines_disks_could_move_the_bytes_in_the_traces_time() {
    // Eight servers with one disk each, four nodes on each (§5.1), at the survey's own rates.
    let disk = fawn_gordon::survey::paper::disk();
    for trace in suite(&TraceShape::fitted(), NODES, 1) {
        let totals = trace.totals();
        let bytes = totals.disk_read_bytes + totals.disk_write_bytes;
        let seconds = disk.read.seconds(bytes, totals.disk_accesses) / 8.0;
        assert!(seconds <= trace.seconds() as f64, "{}: {seconds} of {}", trace.name, trace.seconds());
    }
}

#[test]
fn equal_seeds_give_equal_traces_and_others_do_not() {
    let shape = TraceShape::fitted();
    let trace = |seed| synthetic(&TABLE_2[6], &shape, 8, seed);
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}

/// A server of 1 KB values under a steady load, recorded for a minute.
#[test]
fn a_recorded_server_keeps_up_on_every_machine_of_today() {
    use fawn_gordon::node::{ClusterTrace, CpuCalibration, NodeResource, read_node_trace};
    use fawn_gordon::survey::catalogue::{SurveyRatings, designs};
    use fawn_gordon::survey::{SurveyReport, SurveySettings};

    let recording = include_bytes!("../../testdata/recordings/server.recording");
    let mut trace = ClusterTrace::of_nodes("server", [read_node_trace(&recording[..]).unwrap()]);
    assert!(trace.calibrate(&CpuCalibration { instructions_per_cycle: 1.5, hz: 4.3e9 }));
    assert_eq!((trace.seconds(), trace.unmeasured().len()), (60, 3));
    let catalogue = fawn_plan::Catalogue::built_in("today").unwrap();
    let settings = SurveySettings { paced: true, ..SurveySettings::default() };
    let (designs, _) = designs(&catalogue, &SurveyRatings::today());
    let report = SurveyReport::of(&designs, &[trace], &settings, &fawn_report::Nobody).unwrap();
    for summary in &report.summaries {
        assert_eq!(summary.seconds.sync, 60.0, "{}", summary.name);
        // What the pace hides: the processors limit.
        assert!(summary.busy.saving > 0.3 && summary.busy.resource == NodeResource::Processor, "{summary:?}");
    }
    let joules = |at: usize| report.summaries[at].joules.sync;
    assert!(joules(2) < joules(0), "a Compute Module draws less at rest than a Raspberry Pi");
}
