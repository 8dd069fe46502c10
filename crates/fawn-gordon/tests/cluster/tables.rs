//! A node's trace as a recording by the second.

use fawn_gordon::node::workloads::{TABLE_2, TraceShape, synthetic};
use fawn_gordon::node::{ClusterTrace, CpuCalibration, ResourceSample, TraceColumn, read_node_trace, write_node_trace};
use proptest::prelude::*;

fn recording(rest: &str) -> String {
    format!("fawn recording 1\nperiod_ms 1000\n{rest}")
}

fn read(rest: &str) -> (Vec<ResourceSample>, std::collections::BTreeMap<TraceColumn, String>) {
    read_node_trace(recording(rest).as_bytes()).unwrap()
}

#[test]
fn what_is_written_is_read_again() {
    let trace = synthetic(&TABLE_2[2], &TraceShape::fitted(), 4, 3);
    for node in &trace.nodes {
        let text = write_node_trace(node, &trace.sources);
        let (samples, sources) = read_node_trace(text.as_bytes()).unwrap();
        assert_eq!((&samples, &sources), (node, &trace.sources));
    }
}

#[test]
fn a_column_that_is_absent_was_not_measured() {
    let (samples, sources) =
        read("column instructions from perf\ncolumn cache_misses not measured\nsamples\n0 5\n1000 7\n");
    assert_eq!((samples.len(), samples[1].instructions), (2, 7.0));
    assert_eq!(sources[&TraceColumn::Instructions], "perf");
    assert!(!sources.contains_key(&TraceColumn::CacheMisses) && !sources.contains_key(&TraceColumn::DiskReads));
}

#[test]
fn an_empty_input_is_said_to_be_empty() {
    let error = read_node_trace(&b""[..]).unwrap_err().to_string();
    assert!(error.starts_with("line 1: the input is empty; a recording begins with"), "{error}");
}

#[test]
fn values_that_some_samples_lack_are_told_with_the_source() {
    let (samples, sources) = read("column disk_reads from diskstats\nsamples\n0 5\n1000 -\n2000 7\n");
    assert_eq!(samples.iter().map(|sample| sample.disk_reads).collect::<Vec<_>>(), [5.0, 0.0, 7.0]);
    assert_eq!(sources[&TraceColumn::DiskReads], "diskstats; no value in 1 of 3 samples");
}

#[test]
fn samples_of_any_length_are_given_to_seconds_by_their_parts() {
    let text = "fawn recording 1\nperiod_ms 500\ncolumn disk_reads from x\nsamples\n0 1\n500 2\n1000 3\n1500 40\n";
    let reads = |text: &str| -> Vec<f64> {
        read_node_trace(text.as_bytes()).unwrap().0.iter().map(|sample| sample.disk_reads).collect()
    };
    assert_eq!(reads(text), [3.0, 43.0]);
    // A sample lasts until the next one, and the last one a period.
    assert_eq!(reads(&recording("column disk_reads from x\nsamples\n0 8\n4000 9\n")), [2.0, 2.0, 2.0, 2.0, 9.0]);
    assert_eq!(reads(&recording("column disk_reads from x\nsamples\n500 8\n")), [4.0, 4.0]);
    assert_eq!(reads(&recording("samples\n")), [0.0; 0]);
}

#[test]
fn a_clusters_column_was_measured_on_every_node() {
    let a = read("column instructions from perf\ncolumn disk_reads from diskstats\nsamples\n0 5 3\n");
    let b = read("column instructions from cpu.stat\nsamples\n0 7\n1000 8\n");
    let trace = ClusterTrace::of_nodes("two", [a, b]);
    assert_eq!((trace.nodes.len(), trace.seconds()), (2, 2));
    assert_eq!(trace.sources.len(), 1);
    assert_eq!(trace.sources[&TraceColumn::Instructions], "perf; cpu.stat");
    assert_eq!(trace.nodes[0][0].disk_reads, 0.0, "what only one node knows is not known of the cluster");
    assert_eq!(ClusterTrace::of_nodes("none", []).unmeasured().len(), 8);
}

#[test]
fn processor_time_stands_for_instructions_where_no_counter_is() {
    let calibration = CpuCalibration { instructions_per_cycle: 1.2, hz: 2.5e9 };
    let mut trace = ClusterTrace::of_nodes("one", [read("column cpu_seconds from /proc/stat\nsamples\n0 0.5\n")]);
    assert!(trace.unmeasured().contains(&TraceColumn::Instructions));
    assert!(trace.calibrate(&calibration) && trace.nodes[0][0].instructions == 1.5e9);
    assert_eq!(trace.sources[&TraceColumn::Instructions], "processor time at 1.2 instructions per cycle and 2.5 GHz");
    assert!(!trace.calibrate(&calibration), "what was counted is not replaced");
    assert!(!trace.unmeasured().contains(&TraceColumn::CpuSeconds), "it takes no time of its own");
}

#[test]
fn damage_is_named_with_its_line() {
    for (text, line, what) in [
        ("", 2, "the head has no end"),
        ("column cycles from x\n", 3, "no such column"),
        ("column disk_reads from x\nsamples\n\n0 1 2\n", 6, "another number of values"),
        ("column disk_reads from x\nsamples\n0 -1\n", 5, "from 0 to 10^18"),
        ("column disk_reads from x\nsamples\n0 NaN\n", 5, "from 0 to 10^18"),
        ("column disk_reads from x\nsamples\n1000 1\n1000 2\n", 6, "comes twice or late"),
        ("column disk_reads from x\nsamples\n0 1\n99999999999 2\n", 6, "more than an hour after"),
        ("column disk_reads from x\nsamples\nx 1\n", 5, "its time is no number"),
    ] {
        let error = read_node_trace(recording(text).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(what) && error.starts_with(&format!("line {line}:")), "{text:?}: {error}");
    }
    let hours = (0..2402_u64).map(|hour| format!("{} 1\n", hour * 3_600_000)).collect::<Vec<_>>().concat();
    let long = recording(&format!("column disk_reads from x\nsamples\n{hours}"));
    assert!(read_node_trace(long.as_bytes()).unwrap_err().to_string().contains("at most 100 days"));
    let slow = "fawn recording 1\nperiod_ms 3600001\nsamples\n";
    assert!(read_node_trace(slow.as_bytes()).unwrap_err().to_string().contains("longer than an hour"));
    assert!(read_node_trace(&b"second,disk_reads\n0,1\n"[..]).unwrap_err().to_string().contains("fawn recording 1"));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_node_trace(&bytes[..]);
    }

    #[test]
    fn no_damage_to_a_trace_makes_the_reader_panic(
        changes in prop::collection::vec((0usize..200, any::<u8>()), 1..6)
    ) {
        let head = "column disk_reads from diskstats\ncolumn instructions from perf\nsamples\n";
        let mut text = recording(&format!("{head}0 1 2\n1000 3 4\n7000 5 6e9\n")).into_bytes();
        for (at, byte) in changes {
            let at = at % text.len();
            text[at] = byte;
        }
        let _ = read_node_trace(&text[..]);
    }
}
