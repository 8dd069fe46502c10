//! `fawn gordon record` as a user runs it.

use std::path::Path;
use std::process::{Command, Stdio};

use fawn_gordon::node::read_node_trace;
use fawn_gordon::trace::TraceColumn;
use rustix::process::{Pid, Signal, kill_process};
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
fn a_recording_has_a_name_or_that_of_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    for blank in ["", " "] {
        let run = fawn(&["gordon", "record", file.to_str().unwrap(), "--seconds", "1", "--name", blank]);
        assert!(run.code == 2 && run.stderr.contains("write a name that is not blank"), "{run:?}");
        assert!(!file.exists());
    }
}

#[test]
fn a_recording_that_ends_soon_has_a_sample() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("short.recording");
    let run = fawn(&["gordon", "record", file.to_str().unwrap(), "--seconds", "5ms"]);
    assert!(run.code == 0 && run.stdout.contains("short.recording: 1 sample of "), "{run:?}");
    assert_eq!(samples(&file), 1, "{run:?}");
}

/// Samples of a recording so far.
fn samples(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_once("samples\n").map_or(0, |(_, samples)| samples.lines().count())
}

/// Waits for more samples than there are.
fn wait_for_samples(file: &Path) {
    let before = samples(file);
    wait_for("three samples", || (samples(file) >= before + 3).then_some(()));
}

#[test]
fn a_signal_ends_a_recording_that_is_whole() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("here.recording");
        let mut command = fawn_command(&["gordon", "record", file.to_str().unwrap(), "--period", "20ms"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_samples(&file);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal:?}");
        read_node_trace(std::fs::read(&file).unwrap().as_slice()).unwrap();
    }
}

#[test]
fn a_hangup_that_nohup_ignores_does_not_end_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" gordon record \"$1\" --period 20ms", env!("CARGO_BIN_EXE_fawn")]);
    let mut child = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_samples(&file);
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    wait_for_samples(&file);
    assert_eq!(child.try_wait().unwrap(), None, "it goes on");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    read_node_trace(std::fs::read(&file).unwrap().as_slice()).unwrap();
}

#[test]
fn a_recording_and_its_requests_are_two_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("old.recording"), "an old one").unwrap();
    std::os::unix::fs::symlink("old.recording", path("soft")).unwrap();
    std::fs::hard_link(path("old.recording"), path("hard")).unwrap();
    for requests in ["soft", "hard", "old.recording", "./old.recording"] {
        let run = fawn(&["gordon", "record", &path("old.recording"), "--seconds", "1s", "--requests", &path(requests)]);
        assert!(run.code == 2 && run.stderr.contains("name another file"), "{requests}: {run:?}");
        assert_eq!(std::fs::read_to_string(path("old.recording")).unwrap(), "an old one", "{requests}");
    }
    let run = fawn(&["gordon", "record", dir.path().to_str().unwrap(), "--seconds", "1s"]);
    assert!(run.code == 1 && run.stderr.contains("it is a directory: name a file in it"), "{run:?}");
}

#[test]
fn what_a_command_prints_is_kept_out_of_json() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    let run = fawn(&["gordon", "record", file.to_str().unwrap(), "--json", "--", "echo", "hello"]);
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str::<Value>(&run.stdout).unwrap();
    assert!(run.stderr.contains("hello"), "{run:?}");
}

/// A control group of this test, where this runs as root and there are groups.
struct TestGroup {
    dir: std::path::PathBuf,
    name: String,
}

impl TestGroup {
    fn create() -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let parent = if root.join("cgroup.controllers").exists() { root.to_owned() } else { root.join("cpuacct") };
        let name = format!("fawn-record-test-{}", std::process::id());
        let dir = parent.join(&name);
        std::fs::create_dir(&dir).ok()?;
        Some(Self { dir, name })
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// Processor time is the group's, and a disk that is named as the machine's own is read from `/proc`.
#[test]
fn a_group_has_its_own_processor_time_beside_all_that_its_device_does() {
    let stats = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let Some(device) = stats.lines().find_map(|line| line.split_ascii_whitespace().nth(2)) else {
        eprintln!("skipped: /proc/diskstats has no disk");
        return;
    };
    let Some(group) = TestGroup::create() else {
        eprintln!("skipped: no control group can be made; run this as root where /sys/fs/cgroup is mounted");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.recording");
    // The command joins the group and computes; what this test does beside it is not in the group.
    let procs = group.dir.join("cgroup.procs");
    let spin = format!("echo $$ > {} && timeout 0.6 sh -c 'while :; do :; done'; true", procs.display());
    let arguments = ["gordon", "record", file.to_str().unwrap(), "--cgroup", &group.name, "--device", device, "--json"];
    let run = fawn(&[&arguments[..], &["--period", "100ms", "--", "sh", "-c", &spin]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    let columns = &summary["columns"];
    let cpu_source = columns["cpu_seconds"]["source"].as_str().unwrap();
    assert!(cpu_source.contains(&group.name), "{summary}");
    let seconds = columns["cpu_seconds"]["sum"].as_f64().unwrap();
    assert!(seconds > 0.01 && seconds < 5.0, "{summary}");
    for column in ["disk_read_bytes", "disk_write_bytes", "disk_reads", "disk_writes"] {
        assert_eq!(columns[column]["source"], format!("/proc/diskstats ({device})"), "{summary}");
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!("column disk_writes from /proc/diskstats ({device})")), "{text}");
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
        assert!(!Path::new(file).exists(), "no recording is begun, or replaced, in vain");
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
    std::fs::write(&file, "yesterday's").unwrap();
    for (arguments, code, says) in [
        (&["--interface", "wire7"][..], 1, "there is no network interface wire7: there are "),
        (&["--disk", "tape7"], 1, "/proc/diskstats has no disk tape7"),
        (&["--device", "tape7"], 1, "/proc/diskstats has no disk tape7"),
        (&["--device", "tape7", "--disk", "tape7"], 2, "cannot be used with"),
        (&["--cgroup", "no/such/group"], 1, "there is no control group no/such/group"),
        (&["--period", "1ms"], 2, "from 10ms to 1h"),
        (&["--requests", name], 2, "name another file"),
        (&["--requests", "/"], 1, "it is a directory: name a file in it"),
        (&["--requests", "-"], 2, "--requests writes a file: name one"),
        (&["--", "/no/such/program"], 1, "cannot start /no/such/program"),
    ] {
        let run = fawn(&[&["gordon", "record", name, "--seconds", "1s"], arguments].concat());
        assert!(run.code == code && run.stderr.contains(says), "{arguments:?}: {run:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "yesterday's", "{arguments:?}");
    }
}
