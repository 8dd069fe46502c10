//! `fawn gordon record` as a user runs it.

use std::path::Path;
use std::process::Stdio;

use fawn_gordon::node::read_node_trace;
use fawn_gordon::trace::TraceColumn;
use serde_json::Value;

use crate::server::{fawn, fawn_command, wait_for};

#[test]
fn a_machine_is_recorded_by_the_second_and_each_column_has_its_source() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    let name = file.to_str().unwrap();
    let arguments =
        ["gordon", "record", name, "--seconds", "900ms", "--period", "200ms", "--interface", "lo", "--json"];
    let run = fawn(&[&arguments[..], &["--name", "this one"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&summary["machine"], &summary["period_ms"]), (&"this one".into(), &200.into()));
    assert!((1..=5).contains(&summary["samples"].as_u64().unwrap()), "{summary}");
    assert_eq!(summary["columns"]["cpu_seconds"]["source"], "/proc/stat");
    assert_eq!(summary["columns"]["network_in_bytes"]["source"], "/proc/net/dev (lo)");
    let instructions = &summary["columns"]["instructions"];
    assert!(instructions["source"].is_string() || instructions["not_measured"].is_string(), "{summary}");

    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("fawn recording 1\nmachine this one\nperiod_ms 200\n"), "{text}");
    let (samples, sources) = read_node_trace(text.as_bytes()).unwrap();
    assert_eq!(samples.len(), 1);
    assert!(samples[0].cpu_seconds > 0.0 && sources.contains_key(&TraceColumn::CpuSeconds));
    let measured = text.lines().any(|line| line.starts_with("column instructions from perf_event_open"));
    assert_eq!(sources.contains_key(&TraceColumn::Instructions), measured, "what is absent is not measured: {text}");
}

#[test]
fn a_command_is_recorded_until_it_ends_and_its_failure_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    let name = file.to_str().unwrap();
    let run = fawn(&["gordon", "record", name, "--period", "50ms", "--", "sleep", "0.3"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("cpu_seconds") && run.stdout.contains("/proc/stat"), "{run:?}");
    assert!(std::fs::read_to_string(&file).unwrap().lines().count() > 15);
    let run = fawn(&["gordon", "record", name, "--", "false"]);
    assert!(run.code == 1 && run.stderr.contains("the recording is whole"), "{run:?}");
    let run = fawn(&["gordon", "record", name, "--", "there-is-no-such-program"]);
    assert!(run.code == 1 && run.stderr.contains("cannot start there-is-no-such-program"), "{run:?}");
}

#[test]
fn ctrl_c_ends_a_recording_that_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    let mut command = fawn_command(&["gordon", "record", file.to_str().unwrap(), "--period", "20ms"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("three samples", || {
        let text = std::fs::read_to_string(&file).ok()?;
        (text.split_once("samples\n")?.1.lines().count() >= 3).then_some(())
    });
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    read_node_trace(std::fs::read(&file).unwrap().as_slice()).unwrap();
}

/// Where tracefs is and this runs as root, requests are recorded; elsewhere the command says what to do.
#[test]
fn requests_are_recorded_or_the_reason_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (file, trace) = (dir.path().join("here.recording"), dir.path().join("here.trace"));
    let (file, trace) = (file.to_str().unwrap(), trace.to_str().unwrap());
    // Something that reaches a disk, if the directory lies on one.
    let write = format!("dd if=/dev/zero of={}/data bs=64k count=16 conv=fsync", dir.path().display());
    let arguments = ["gordon", "record", file, "--requests", trace, "--json", "--", "sh", "-c", &write];
    let run = fawn(&arguments);
    let has_tracefs = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .iter()
        .any(|root| Path::new(root).join("instances").is_dir());
    if !(has_tracefs && rustix::process::geteuid().is_root()) {
        assert!(run.code == 1 && run.stderr.contains("requests cannot be recorded"), "{run:?}");
        return;
    }
    assert_eq!(run.code, 0, "{run:?}");
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    let requests = summary["requests"]["requests"].as_u64().unwrap();
    let replayed = fawn(&["gordon", "replay", trace, "--on", "sata-1tb-2008", "--json"]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    let output: Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(output["trace"]["requests"], requests);
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    let name = file.to_str().unwrap();
    for (arguments, code, says) in [
        (&["--interface", "wire7"][..], 1, "there is no network interface wire7: there are "),
        (&["--disk", "tape7"], 1, "/proc/diskstats has no disk tape7"),
        (&["--cgroup", "no/such/group"], 1, "there is no control group no/such/group"),
        (&["--period", "1ms"], 2, "from 10ms to 1h"),
        (&["--requests", name], 2, "name another one"),
    ] {
        let run = fawn(&[&["gordon", "record", name, "--seconds", "1s"], arguments].concat());
        assert!(run.code == code && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}
