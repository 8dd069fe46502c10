//! A node's trace as text.

use fawn_gordon::node::workloads::{TABLE_2, TraceShape, synthetic};
use fawn_gordon::node::{ClusterTrace, CpuCalibration, TraceColumn, read_node_trace, write_node_trace};
use proptest::prelude::*;

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
    let text = "# instructions: perf\nsecond,instructions,disk_reads\n0,5,0\n3,7,1\n";
    let (samples, sources) = read_node_trace(text.as_bytes()).unwrap();
    assert_eq!(samples.len(), 4, "seconds without a line did nothing");
    assert_eq!((samples[3].instructions, samples[1].instructions), (7.0, 0.0));
    assert_eq!(sources[&TraceColumn::Instructions], "perf");
    assert_eq!(sources[&TraceColumn::DiskReads], "no source given");
    assert!(!sources.contains_key(&TraceColumn::CacheMisses));
}

#[test]
fn a_clusters_column_was_measured_on_every_node() {
    let read = |text: &str| read_node_trace(text.as_bytes()).unwrap();
    let a = read("# instructions: perf\nsecond,instructions,disk_reads\n0,5,3\n");
    let b = read("# instructions: cpu.stat\nsecond,instructions\n0,7\n1,8\n");
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
    let mut trace = ClusterTrace::of_nodes("one", [read_node_trace(&b"second,cpu_seconds\n0,0.5\n"[..]).unwrap()]);
    assert!(trace.unmeasured().contains(&TraceColumn::Instructions));
    assert!(trace.calibrate(&calibration) && trace.nodes[0][0].instructions == 1.5e9);
    assert_eq!(trace.sources[&TraceColumn::Instructions], "processor time at 1.2 instructions per cycle and 2.5 GHz");
    assert!(!trace.calibrate(&calibration), "what was counted is not replaced");
    assert!(!trace.unmeasured().contains(&TraceColumn::CpuSeconds), "it takes no time of its own");
}

#[test]
fn damage_is_named_with_its_line() {
    for (text, line, what) in [
        ("", 1, "no head"),
        ("instructions\n", 1, "first column must be `second`"),
        ("second\n", 1, "no column besides"),
        ("second,cycles\n", 1, "`cycles` is no column"),
        ("second,disk_reads,disk_reads\n", 1, "comes twice"),
        ("second,disk_reads\n\n# x\n0,\n", 4, "`` is no value of disk_reads"),
        ("second,disk_reads\n0,-1\n", 2, "from 0 to 10^18"),
        ("second,disk_reads\n0,NaN\n", 2, "from 0 to 10^18"),
        ("second,disk_reads\n0,1,2\n", 2, "more cells"),
        ("second,disk_reads\n1,1\n1,2\n", 3, "comes twice or late"),
        ("second,disk_reads\n0,1\n99999999999,2\n", 3, "more than 3600 after"),
        ("second,disk_reads\nx,1\n", 2, "`x` is no second"),
    ] {
        let error = read_node_trace(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(what) && error.starts_with(&format!("line {line}:")), "{text:?}: {error}");
    }
    let long = format!("second,disk_reads\n0,{}\n", "1".repeat(5000));
    assert!(read_node_trace(long.as_bytes()).unwrap_err().to_string().contains("more than 4096 bytes"));
    assert!(read_node_trace(&[0xff, b'\n'][..]).unwrap_err().to_string().contains("not UTF-8"));
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
        let mut text = b"# disk_reads: diskstats\nsecond,disk_reads,instructions\n0,1,2\n1,3,4\n7,5,6e9\n".to_vec();
        for (at, byte) in changes {
            let at = at % text.len();
            text[at] = byte;
        }
        let _ = read_node_trace(&text[..]);
    }
}
