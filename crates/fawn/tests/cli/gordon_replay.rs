//! `fawn gordon replay` as a user runs it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::{Run, fawn, fawn_with_input};

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
        let flushes = output["trace"]["flushes"].as_u64().unwrap();
        let devices = output["devices"].as_array().unwrap();
        let served: Vec<_> = devices.iter().map(|device| device["throughput"]["requests"].as_u64().unwrap()).collect();
        assert!(requests > 0 && served == [requests - flushes, requests], "{name}: {output}");
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
        (&["replay", &msr, "--on", "tape"], 1, "there is no device and no file tape: built in are gordon-slc-40"),
        (&["replay", &msr, "--to", "-"], 2, "name one, e.g. web.trace"),
        (&["replay", &msr, "--to", &msr], 2, "name one, e.g. web.trace"),
        (&["replay", &msr, "--format", "tar"], 2, "possible values: msr"),
        (&["replay", &msr, "--speed", "0"], 2, "e.g. 2 or 0.5"),
        (&["replay", &sample("recording.txt")], 1, "it is a recording by the second"),
    ] {
        let run = fawn(&[&["gordon"], arguments].concat());
        assert!(run.code == code && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
}
