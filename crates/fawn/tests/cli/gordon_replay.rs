//! `fawn gordon replay` as a user runs it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::{Run, fawn, fawn_command, fawn_with_input};

/// Smaller than the preset, so that it is quick.
const ARRAY: &str = "name = \"array\"\npreset = \"gordon-slc-133\"\nblocks_per_plane = 32\nspare_factor = 0.25\n";

fn sample(name: &str) -> String {
    format!("{}/../fawn-gordon/testdata/traces/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn array(dir: &Path) -> PathBuf {
    let file = dir.join("array.toml");
    std::fs::write(&file, ARRAY).unwrap();
    file
}

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

#[test]
fn a_trace_of_each_format_is_served_by_devices_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let array = array(dir.path());
    for (name, format) in [
        ("msr.csv", "msr"),
        ("alibaba.csv", "alibaba"),
        ("tencent.csv", "tencent"),
        ("spc.spc", "spc"),
        ("fiu.blkparse", "fiu"),
        ("disksim.trace", "disksim"),
        ("blkparse.txt", "blkparse"),
        ("fio2.iolog", "fio-v2"),
        ("fio3.iolog", "fio-v3"),
        ("compact.trace", "compact"),
    ] {
        let on = ["--on", array.to_str().unwrap(), "--on", "sata-1tb-2008", "--json"];
        let output = json(&fawn(&[&["gordon", "replay", &sample(name)], &on[..]].concat()));
        assert_eq!(output["trace"]["format"], format, "{name}");
        let requests = output["trace"]["requests"].as_u64().unwrap();
        let flushes = &output["trace"]["flushes"];
        let devices = output["devices"].as_array().unwrap();
        let served: Vec<_> = devices.iter().map(|device| device["throughput"]["requests"].as_u64().unwrap()).collect();
        assert!(requests > 0 && served == [requests, requests], "{name}: {output}");
        assert!(devices.iter().all(|device| device["throughput"]["flushes"] == *flushes), "{name}: {output}");
        assert_eq!((&devices[0]["kind"], &devices[1]["kind"]), (&"flash".into(), &"disk".into()));
    }
}

#[test]
fn damaged_lines_are_counted_and_told_with_their_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("web.csv");
    let text = std::fs::read_to_string(sample("msr.csv")).unwrap();
    std::fs::write(&file, text.replacen('\n', "\nnonsense\n", 1)).unwrap();
    let run = fawn(&["gordon", "replay", file.to_str().unwrap(), "--on", "sata-1tb-2008"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("web.csv: line 2: it has 1 fields"), "{run:?}");
    for what in ["1 damaged", "recorded", "addresses up to", "modelled: 9 W at rest"] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
}

#[test]
fn a_trace_without_a_request_is_refused() {
    let trace = sample("msr.csv");
    for (arguments, says) in [
        (["--volume", "nosuch"], "has no request of volume nosuch: leave --volume out"),
        (["--format", "alibaba"], "has no request of format alibaba: name another one with --format"),
    ] {
        let run = fawn(&[&["gordon", "replay", &trace, "--on", "sata-1tb-2008"], &arguments[..]].concat());
        assert!(run.code == 1 && run.stderr.contains(says) && run.stdout.is_empty(), "{arguments:?}: {run:?}");
    }
}

#[test]
fn a_trace_is_converted_and_the_compact_one_gives_the_same_result() {
    let dir = tempfile::tempdir().unwrap();
    let compact = dir.path().join("web.trace");
    let compact = compact.to_str().unwrap();
    let run = fawn(&["gordon", "replay", &sample("msr.csv"), "--to", compact]);
    assert!(
        run.code == 0 && run.stdout.contains("in the compact format") && !run.stdout.contains("bandwidth"),
        "{run:?}"
    );
    let on = |file: &str| {
        let output = json(&fawn(&["gordon", "replay", file, "--on", "sata-2tb-2010", "--json"]));
        output["devices"][0]["latency"].clone()
    };
    assert_eq!(on(&sample("msr.csv")), on(compact));
    // Cut off, it is told, and what there was is reported.
    let bytes = std::fs::read(compact).unwrap();
    std::fs::write(compact, &bytes[..bytes.len() - 8]).unwrap();
    let cut = fawn(&["gordon", "replay", compact, "--on", "sata-2tb-2010"]);
    assert!(
        cut.code == 1 && cut.stderr.contains("the trace ends early") && cut.stdout.contains("bandwidth"),
        "{cut:?}"
    );
}

#[test]
fn standard_input_is_read_once_for_several_devices() {
    let dir = tempfile::tempdir().unwrap();
    let array = array(dir.path());
    let text = std::fs::read(sample("msr.csv")).unwrap();
    let arguments = ["gordon", "replay", "-", "--on", array.to_str().unwrap(), "--on", "sata-1tb-2008", "--json"];
    let piped = json(&fawn_with_input(&arguments, &text));
    let mut named = arguments;
    let file = sample("msr.csv");
    named[2] = &file;
    assert_eq!(piped["devices"], json(&fawn(&named))["devices"]);
    let output = json(&fawn_with_input(&["gordon", "disk", "--trace", "-", "--json"], &text));
    assert_eq!(output["devices"][0]["latency"], piped["devices"][1]["latency"]);
}

#[test]
fn time_is_scaled_volumes_are_chosen_and_requests_are_limited() {
    let msr = sample("msr.csv");
    let elapsed = |more: &[&str]| {
        let arguments = [&["gordon", "replay", &msr, "--on", "sata-1tb-2008", "--json"], more].concat();
        let output = json(&fawn(&arguments));
        let disk = &output["devices"][0];
        (disk["throughput"]["requests"].as_u64().unwrap(), disk["throughput"]["elapsed_s"].as_f64().unwrap())
    };
    let (all, seconds) = elapsed(&[]);
    let (_, slower) = elapsed(&["--speed", "0.0001"]);
    assert!(slower > 10.0 * seconds, "{seconds} {slower}");
    assert_eq!(elapsed(&["--limit", "2"]).0, 2);
    let (of_volume, _) = elapsed(&["--volume", "web.0"]);
    assert!(of_volume > 0 && of_volume <= all);
    assert_eq!(elapsed(&["--saturated"]).0, all);
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_can() {
    let msr = sample("msr.csv");
    for (arguments, code, says) in [
        (&["replay", "nowhere.csv"][..], 1, "cannot read nowhere.csv"),
        (
            &["replay", &msr, "--on", "tape"],
            1,
            "there is no device and no file tape: built in are the arrays gordon-slc-40",
        ),
        (&["replay", &msr, "--to", "-"], 2, "--to writes a file: name one"),
        (&["replay", &msr, "--to", "/"], 1, "it is a directory: name a file in it"),
        (&["replay", &msr, "--format", "tar"], 2, "possible values: msr"),
        (&["replay", &msr, "--speed", "0"], 2, "from 0.000001 to 1000000"),
        (
            &["replay", &msr, "--on", "sata-1tb-2008", "--write-points", "2"],
            2,
            "--write-points has no effect without an array",
        ),
        (
            &["replay", &msr, "--on", "gordon-slc-133", "--outstanding", "2"],
            2,
            "--outstanding has no effect without a disk",
        ),
        (&["replay", &msr, "--to", "x", "--seed", "2"], 2, "--seed has no effect without --on"),
        (&["replay", &msr, "--to", "x", "--saturated"], 2, "--saturated has no effect without --on"),
        (&["replay", &msr, "--saturated", "--speed", "2"], 2, "--speed has no effect with --saturated"),
        (&["replay", &msr, "--format", "msr", "--disksim-time", "ns"], 2, "--disksim-time has no effect on traces"),
        (
            &["replay", &msr, "--format", "msr", "--blkparse-event", "issue"],
            2,
            "--blkparse-event has no effect on traces",
        ),
        (&["replay", &sample("recording.txt")], 1, "it is a recording by the second"),
        (&["replay", "/dev/null"], 1, "/dev/null is empty: "),
    ] {
        let run = fawn(&[&["gordon"], arguments].concat());
        assert!(run.code == code && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}

#[test]
fn a_trace_is_never_overwritten_by_its_own_conversion() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let text = std::fs::read(sample("msr.csv")).unwrap();
    std::fs::write(path("web.csv"), &text).unwrap();
    std::os::unix::fs::symlink("web.csv", path("soft.csv")).unwrap();
    std::fs::hard_link(path("web.csv"), path("hard.csv")).unwrap();
    for (from, to) in
        [("web.csv", "web.csv"), ("web.csv", "soft.csv"), ("hard.csv", "web.csv"), ("web.csv", "./web.csv")]
    {
        let run = fawn(&["gordon", "replay", &path(from), "--to", &path(to)]);
        assert!(run.code == 2 && run.stderr.contains("would overwrite"), "{from} {to}: {run:?}");
        assert_eq!(std::fs::read(path("web.csv")).unwrap(), text, "{from} {to}");
    }
    let input = std::fs::File::open(path("web.csv")).unwrap();
    let run: Run =
        fawn_command(&["gordon", "replay", "-", "--to", &path("hard.csv")]).stdin(input).output().unwrap().into();
    assert!(run.code == 2 && run.stderr.contains("would overwrite standard input"), "{run:?}");
    assert_eq!(std::fs::read(path("web.csv")).unwrap(), text);
    // Nor is a device's file.
    let array = array(dir.path());
    let array = array.to_str().unwrap();
    let run = fawn(&["gordon", "replay", &path("web.csv"), "--on", array, "--to", array]);
    assert!(run.code == 2 && run.stderr.contains("would overwrite"), "{run:?}");
    assert_eq!(std::fs::read_to_string(array).unwrap(), ARRAY);
}

#[test]
fn a_disk_of_ones_own_stands_beside_an_array_of_ones_own() {
    let dir = tempfile::tempdir().unwrap();
    let array = array(dir.path());
    let disk = dir.path().join("disk.toml");
    std::fs::write(&disk, "name = \"my disk\"\npreset = \"sata-1tb-2008\"\nrpm = 5400\n").unwrap();
    let msr = sample("msr.csv");
    let on = |disk: &str| {
        let arguments = ["gordon", "replay", &msr, "--on", array.to_str().unwrap(), "--on", disk, "--json"];
        json(&fawn(&arguments))["devices"].clone()
    };
    let (own, preset) = (on(disk.to_str().unwrap()), on("sata-1tb-2008"));
    assert_eq!((&own[1]["name"], &own[1]["kind"]), (&"my disk".into(), &"disk".into()));
    assert_eq!(own[0], preset[0]);
    let mean = |devices: &Value| devices[1]["latency"]["mean_us"].as_f64().unwrap();
    assert!(mean(&own) > mean(&preset), "it turns more slowly");
    std::fs::write(&disk, "preset = \"sata-1tb-2008\"\nrpm = 0\n").unwrap();
    let run = fawn(&["gordon", "replay", &msr, "--on", disk.to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("`rpm` must be from 1 to 1000000"), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
}

#[test]
fn an_option_of_another_format_is_told_where_the_format_is_found_out() {
    let run = fawn(&["gordon", "replay", &sample("msr.csv"), "--on", "sata-1tb-2008", "--disksim-time", "ns"]);
    assert!(
        run.code == 0 && run.stderr.contains("--disksim-time has no effect, as the trace is of the format msr"),
        "{run:?}"
    );
    let run = fawn(&["gordon", "replay", &sample("disksim.trace"), "--on", "sata-1tb-2008", "--disksim-time", "ns"]);
    assert!(run.code == 0 && !run.stderr.contains("no effect"), "{run:?}");
}
