//! The command line of the built program: exit codes, and errors that are one sentence.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, PipeWriter, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A seed whose run is short and right.
const SEED: &str = "1";

fn xtask(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments.split_whitespace()).current_dir(root());
    command
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Exit code, standard output and standard error.
fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The one sentence that refuses a command line.
#[track_caller]
fn refused(arguments: &str) -> String {
    let (code, stdout, stderr) = run(&mut xtask(arguments));
    assert_eq!(code, Some(2), "{arguments}: {stdout}{stderr}");
    assert!(stdout.is_empty(), "{arguments}: {stdout}");
    assert!(stderr.starts_with("xtask: ") && stderr.trim_end().lines().count() == 1, "{arguments}: {stderr}");
    stderr
}

#[test]
fn help_is_no_error_at_any_level() {
    for task in ["", "tidy", "sim", "fuzz", "porcupine", "ci"] {
        let (code, stdout, stderr) = run(&mut xtask(&format!("{task} --help")));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{task}");
        assert!(stdout.contains("Usage: cargo xtask"), "{task}: {stdout}");
    }
    let (_, help, _) = run(&mut xtask("sim --help"));
    for form in ["--seeds FROM..TO [--weak]", "--planted BUG --script FILE [--trace]", "--scale NODES,"] {
        assert!(help.contains(&format!("cargo xtask sim {form}")), "{form}: {help}");
    }
}

#[test]
fn what_belongs_to_no_form_is_refused() {
    for arguments in
        ["", "simulate", "tidy now", "sim", "sim --from 3", "sim --trace", "sim --seed", "sim --seeds 0..5 7"]
    {
        let sentence = refused(arguments);
        assert!(sentence.contains("--help"), "{arguments}: {sentence}");
    }
    for other in ["--scale 10", "--pauses", "--scenario merge", "--script x", "--planted NoFence"] {
        let sentence = refused(&format!("sim {other} --weak"));
        assert!(sentence.contains("--weak does not apply to --"), "{other}: {sentence}");
    }
    for arguments in [
        "sim --seed 1 --trace --shrink",
        "sim --seeds 0..5 --seed 1",
        "sim --seeds 0..5 --trace",
        "sim --seeds 0..5 --twice 0..5",
        "sim --seeds 0..5 --minutes 1",
        "sim --script x --seed 1",
        "sim --scenario merge --shrink",
        "sim --planted all --seed 1",
        "sim --planted all --script x",
        "sim --planted NoFence --script x --shrink",
        "sim --planted NoFence --seeds 0..5",
        "sim --planted NoFence --seed 1 --minutes 1",
    ] {
        let sentence = refused(arguments);
        assert!(sentence.contains(" not apply to "), "{arguments}: {sentence}");
    }
    for arguments in ["sim --seed 1 --seed 2", "sim --seed 1 --trace --trace", "fuzz --executions 1 --executions 2"] {
        let sentence = refused(arguments);
        assert!(sentence.contains("multiple times"), "{arguments}: {sentence}");
    }
    for arguments in [
        "fuzz",
        "fuzz --input 00",
        "fuzz --target message --input 00 --executions 5",
        "fuzz --target message --input 0",
        "fuzz --target nothing --executions 5",
        "porcupine --seed 1 --from 2",
    ] {
        refused(arguments);
    }
}

#[test]
fn ranges_and_numbers_that_mean_nothing_are_refused() {
    for arguments in [
        "sim --seeds 5..0",
        "sim --seeds 5..5",
        "sim --seeds 5",
        "sim --seeds 5..x",
        "sim --seeds 0..18446744073709551616",
        "sim --twice 3..0",
        "sim --pauses --seeds 5..1",
        "sim --seed -1",
        "sim --minutes 0",
        "sim --minutes 9999999999999999999",
        "sim --planted all --minutes 9999999999999999999",
        "sim --minutes 1 --from 18446744073709551615",
        "sim --scale 0",
        "sim --scale 1",
        "sim --scale 2",
        "sim --scale 10,,20",
        "sim --scale 4294967296",
        "sim --scale 100000000",
        "fuzz --executions 0",
        "fuzz --from 18446744073709551615 --executions 100",
        "porcupine --histories 0",
        "porcupine --seed 18446744073709551615",
    ] {
        refused(arguments);
    }
}

#[test]
fn the_last_seeds_that_there_are_run_and_end() {
    let (code, stdout, stderr) = run(&mut xtask("sim --seeds 18446744073709551614..18446744073709551615"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("seeds                      1  (0 violated)\n"), "{stdout}");
}

#[test]
fn a_seed_its_script_and_many_seeds_print_one_table() {
    let names = |stdout: &str| -> Vec<String> {
        let from = stdout.find("seeds  ").expect("a table");
        let digit = |c: char| c.is_ascii_digit();
        stdout[from..]
            .lines()
            .map(|line| line.replace(digit, "").split_whitespace().next().unwrap_or("").to_owned())
            .collect()
    };
    let (code, one, stderr) = run(&mut xtask(&format!("sim --seed {SEED}")));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(one.starts_with("seed 1\nplan nodes=") && !one.contains(['[', '{']), "{one}");
    let (_, many, _) = run(&mut xtask("sim --seeds 1..2"));
    assert_eq!(names(&one), names(&many));

    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("a.script");
    std::fs::write(&script, "plan nodes=3\nat 1000000 crash 1 500000 9\n").unwrap();
    let (code, written, stderr) = run(xtask("sim --script a.script").current_dir(folder.path()));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(names(&written), names(&many));
}

#[test]
fn a_script_that_is_none_is_refused_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wrong.script"), "seed 1\nhello\n").unwrap();
    for form in ["", "--planted NoFence "] {
        let (code, _, stderr) = run(xtask(&format!("sim {form}--script wrong.script")).current_dir(folder.path()));
        assert_eq!((code, stderr.as_str()), (Some(1), "xtask: wrong.script, line 2: no line begins with `hello`\n"));
        let (code, _, stderr) = run(xtask(&format!("sim {form}--script none.script")).current_dir(folder.path()));
        assert_eq!(code, Some(1));
        assert!(stderr.starts_with("xtask: cannot read none.script: ") && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
fn a_scenario_runs_from_any_directory() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = run(xtask("sim --scenario fig7_put").current_dir(folder.path()));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains(" -> "), "{stdout}");
}

#[test]
fn an_unknown_name_is_told_with_those_that_are_known() {
    let scenario = refused("sim --scenario nothing");
    assert!(scenario.contains("no scenario nothing") && scenario.contains("fig7_put, fig8_join_as_head"), "{scenario}");
    let bug = refused("sim --planted Nothing");
    assert!(bug.contains("all, or one of ") && bug.contains("NoFence"), "{bug}");
}

/// The end of a pipe that nobody reads.
fn closed() -> PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_closed_pipe_ends_it_without_a_word() {
    for arguments in ["sim --seed 1", "sim --seeds 1..3", "sim --help", "sim --scenario fig7_put"] {
        let (code, _, stderr) = run(xtask(arguments).stdout(closed()));
        assert_eq!((code, stderr.as_str()), (Some(141), ""), "{arguments}");
    }
}

#[test]
fn a_trace_that_nobody_reads_changes_nothing() {
    let (code, stdout, _) = run(xtask("sim --seed 1 --trace").stderr(closed()));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("(0 violated)"), "{stdout}");
}

#[test]
fn a_full_disk_is_one_sentence() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for arguments in ["sim --seeds 1..2", "sim --help"] {
        let (code, _, stderr) = run(xtask(arguments).stdout(full()));
        assert_eq!(code, Some(1), "{arguments}: {stderr}");
        assert!(stderr.starts_with("xtask: cannot write to standard output: "), "{arguments}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    }
}

#[test]
fn ctrl_c_ends_with_what_came_of_it_so_far() {
    let mut child = xtask("sim --seeds 0..100000000").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !catches_ctrl_c(child.id()) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert!(first.starts_with("seeds "), "{first}");
    stdout.read_to_string(&mut String::new()).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.starts_with("xtask: stopped after ") && stderr.lines().count() == 1, "{stderr}");
}

/// Whether a process has a handler for SIGINT, which is the second lowest bit.
fn catches_ctrl_c(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a process has such a line");
    u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
}
