//! `--meter` of the benchmarks and `fawn bench meters`, on recorded trees of `/sys` and on a model.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::{Run, Server, fawn};

fn tree(name: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fawn-bench/testdata/energy").join(name);
    assert!(dir.is_dir(), "{}", dir.display());
    dir.to_str().unwrap().to_owned()
}

/// Gets of a few hot entries of a small store in `dir`.
fn hits(dir: &Path, more: &[&str]) -> Run {
    let fixed = ["bench", "store", "hit", "--dir", dir.to_str().unwrap(), "--memory", "8M", "--entries", "2k"];
    fawn(&[&fixed, &["--rounds", "2", "--time", "50ms"][..], more].concat())
}

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of}"))
}

/// A model of this machine, whose `/proc` it reads.
fn model(dir: &Path) -> PathBuf {
    let file = dir.join("model.toml");
    let text = "machine = 'a machine'\nscope = 'wall'\nsource = 'a guess'\ndate = '2026-11-24'\nidle_watts = 3\nfull_cpu_watts = 7\n";
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn measured_joules_are_told_with_their_scope_and_uncertainty() {
    let dir = tempfile::tempdir().unwrap();
    let root = tree("pi-ina219");
    let metered = ["--meter", "hwmon", "--meter-root", &root, "--meter-idle", "200ms", "--meter-accuracy", "2%"];
    let report = json(&hits(&dir.path().join("bench"), &[&metered[..], &["--json"]].concat()));
    let (row, energy) = (&report["rows"][0], &report["rows"][0]["energy"]);
    assert_eq!(
        (&energy["measured"], &energy["kind"], &energy["scope"]),
        (&true.into(), &"hwmon".into(), &"board".into())
    );
    assert!((number(energy, "watts") - 3.622).abs() < 1e-6 && number(row, "joules") > 0.0, "{energy}");
    // Two percent, and a milliwatt of steps.
    let expected = 0.02 * number(energy, "joules") + 0.001 * number(energy, "seconds");
    assert!((number(&energy["uncertainty"], "joules") - expected).abs() < 1e-9, "{energy}");
    assert_eq!(energy["uncertainty"]["stated_share"], 0.02);
    // The tree draws as much at rest.
    assert!((number(&energy["idle"], "watts") - 3.622).abs() < 1e-6 && number(energy, "dynamic_joules").abs() < 1e-6);
    assert!(number(row, "operations_a_joule") > 0.0 && report["parameters"]["meter"] == "hwmon", "{report}");
    let table = hits(&dir.path().join("bench"), &metered).stdout;
    for what in [
        "± J",
        "per J",
        "note: energy is measured of the board by ina219 sensor hwmon2/power1, read ",
        "; to 2.0 %, stated by who measured; ",
    ] {
        assert!(table.contains(what), "{what}: {table}");
    }
}

#[test]
fn a_model_s_joules_are_marked_wherever_they_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let meter = format!("model:{}", model(dir.path()).display());
    let run = hits(&dir.path().join("bench"), &["--meter", &meter]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.contains("note: energy is modelled, not measured, at the wall by a model of a machine"),
        "{run:?}"
    );
    let header = run.stdout.lines().next().unwrap();
    assert!(header.contains("modelled J") && header.contains("per modelled J"), "{header}");
    for what in ["  J ", " ± J", "  W ", "  per J"] {
        assert!(!header.contains(what), "`{what}`: {header}");
    }
    let report = json(&hits(&dir.path().join("bench"), &["--meter", &meter, "--json"]));
    let row = &report["rows"][0];
    assert!(row.get("joules").is_none() && row["energy"]["measured"] == false, "{row}");
    let watts = number(row, "modelled_watts");
    // One thread is busy of however many there are.
    assert!(watts > 3.0 && watts <= 7.0, "{row}");
    assert!((number(row, "modelled_joules") / number(&row["energy"], "seconds") - watts).abs() < 1e-9, "{row}");
}

#[test]
fn without_a_meter_operations_are_those_of_a_cpu_second() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("bench");
    let report = json(&hits(&data, &["--json"]));
    let row = &report["rows"][0];
    assert!(number(row, "operations_a_cpu_second") > 0.0 && row.get("joules").is_none() && row.get("energy").is_none());
    assert_eq!(report["parameters"]["meter"], "none");
    let run = hits(&data, &["--meter", "auto", "--meter-root", &tree("rails")]);
    assert!(run.stderr.contains("there is no meter that can be read; `fawn bench meters` says why"), "{run:?}");
    assert!(run.stdout.contains("per CPU-s") && run.stdout.contains("says nothing of joules"), "{run:?}");
}

#[test]
fn a_server_s_operations_a_joule_are_told() {
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let root = tree("laptop");
    let quick = ["--load", "--keys", "500", "--time", "300ms", "--warm-up", "0", "--connections", "2", "--json"];
    let metered = ["bench", "net", server.address.as_str(), "--meter", "auto", "--meter-root", &root];
    let report = json(&fawn(&[&metered[..], &quick[..]].concat()));
    for row in report["rows"].as_array().unwrap() {
        let expected = number(row, "operations_a_second") / 8.35;
        assert!((number(row, "operations_a_joule") / expected - 1.0).abs() < 1e-6, "{row}");
        assert_eq!(row["energy"]["kind"], "battery");
    }
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("of the generator, and of no server elsewhere") && notes.contains("battery BAT0 and BAT1"),
        "{notes}"
    );
}

#[test]
fn meters_are_listed_with_what_keeps_them_from_being_used() {
    let listed = |name: &str, more: &[&str]| fawn(&[&["bench", "meters", "--meter-root", &tree(name)], more].concat());
    let run = listed("laptop", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    for what in [
        "battery",
        "8.35 W",
        "rapl cannot be used: RAPL (package-0) does not move",
        "--meter auto takes battery BAT0 and BAT1",
        "hwmon cannot be used: ",
    ] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    let report = json(&listed("pi-ina226", &["--json"]));
    let meters = report["meters"].as_array().unwrap();
    let of = |name: &str| {
        meters.iter().find(|found| found["meter"] == name).unwrap_or_else(|| panic!("no {name}: {report}"))
    };
    let sensor = of("hwmon:hwmon1/power1");
    assert_eq!(
        (&sensor["usable"], &sensor["scope"], &sensor["problem"]),
        (&true.into(), &"board".into(), &Value::Null)
    );
    assert!((number(sensor, "watts") - 6.031_25).abs() < 1e-6 && sensor["period_seconds"] == 0.141, "{sensor}");
    assert!(of("rapl")["problem"].as_str().unwrap().contains("load the module intel_rapl_msr"), "{report}");
    assert_eq!(report["auto"], "ina226 sensor hwmon1/power1");

    let dir = tempfile::tempdir().unwrap();
    let model = format!("model:{}", model(dir.path()).display());
    let run = fawn(&["bench", "meters", &model]);
    assert!(run.code == 0 && run.stdout.contains("W (modelled)"), "{run:?}");
    let run = listed("intel", &["hwmon:ina219", "rapl"]);
    assert!(run.code == 1 && run.stdout.contains("hwmon:ina219 cannot be used: "), "{run:?}");
}

#[test]
fn a_meter_that_cannot_be_used_ends_the_command_before_anything_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("bench");
    let run = hits(&data, &["--meter", "rapl", "--meter-root", &tree("pi-ina219")]);
    assert!(
        run.code == 1 && run.stderr.contains("has no counter of a processor's package") && !data.exists(),
        "{run:?}"
    );
    for (arguments, says) in [
        (&["--meter", "watt"][..], "shelly:URL"),
        (&["--meter", "shelly:https://plug"], "not a plug's address"),
        (&["--meter", "rapl", "--meter-accuracy", "2"], "such as 10%"),
        (&["--meter", "rapl", "--meter-idle", "soon"], "not a duration"),
    ] {
        let run = hits(&data, arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = fawn(&["bench", "store", "split", "--dir", "x", "--meter", "rapl"]);
    assert!(run.code == 2 && run.stderr.contains("--meter"), "{run:?}");
}
