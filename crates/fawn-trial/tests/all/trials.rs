//! Whole trials, short ones.

use std::process::{Command, Output};

use crate::fawn;

/// Runs a trial in a directory that goes away; its summary as JSON.
fn trial(arguments: &[&str]) -> (Output, serde_json::Value) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fawn-trial"));
    command.arg("--fawn").arg(fawn()).arg("--dir").arg(dir.path().join("trial")).arg("--json").args(arguments);
    let output = command.output().unwrap();
    let summary = serde_json::from_slice(&output.stdout);
    let summary = summary.unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    (output, summary)
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    format!("{out}\n{err}")
}

#[test]
fn one_process_survives_what_can_go_wrong_with_it() {
    let (output, summary) = trial(&["--shape", "single", "--minutes", "0.5", "--seed", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(summary["faults"].as_array().unwrap().len() >= 3, "{}", text(&output));
    assert!(summary["operations"]["answered"].as_u64().unwrap() > 1000, "{}", text(&output));
}

/// Most of what can go wrong with a cluster, once each.
const FAULTS: &str = "kill,pause,partition,one-way,lossy,leader,leader-join,restart-all";

#[test]
fn a_cluster_survives_what_can_go_wrong_with_it() {
    let (output, summary) = trial(&["--minutes", "0.7", "--seed", "1", "--faults", FAULTS]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(summary["faults"].as_array().unwrap().len() >= 3, "{}", text(&output));
    assert!(summary["operations"]["answered"].as_u64().unwrap() > 1000, "{}", text(&output));
}

#[test]
fn a_cluster_on_the_loopback_survives_cuts_too() {
    let arguments = ["--loopback", "--minutes", "0.4", "--seed", "2", "--faults", "kill,partition,one-way,slow"];
    let (output, summary) = trial(&[&arguments[..], &["--nodes", "3", "--fronts", "1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(summary["hosts"], "the loopback");
    assert!(!summary["faults"].as_array().unwrap().is_empty(), "{}", text(&output));
}

#[test]
fn what_was_acknowledged_in_memory_alone_is_found_lost_after_a_kill() {
    let (output, summary) =
        trial(&["--shape", "single", "--ack", "memory", "--faults", "kill", "--minutes", "0.3", "--seed", "2"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let violations = summary["violations"].as_array().unwrap();
    assert!(violations.iter().any(|violation| violation["what"].as_str().unwrap().contains("nothing explains")));
    assert!(!violations[0]["history"].as_array().unwrap().is_empty(), "{}", text(&output));
}

#[test]
fn a_plan_is_told_without_running_anything() {
    let plan = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fawn-trial"));
        command.args(["--plan", "--minutes", "60", "--seed", "9"]).output().unwrap()
    };
    let text = String::from_utf8(plan().stdout).unwrap();
    assert!(text.lines().count() > 200 && text.contains("restart-all"), "{text}");
    assert_eq!(text.into_bytes(), plan().stdout);
}
