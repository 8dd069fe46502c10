//! `--meter` of the benchmarks and `fawn bench meters`, on trees of `/sys` and on a model.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde_json::Value;

use crate::server::{Run, Server, fawn};

fn tree(name: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fawn-meter/testdata").join(name);
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
pub fn model(dir: &Path) -> PathBuf {
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
        "; to 2.0 %, stated by the user; ",
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
    assert!(watts > 3.0 && watts < 7.0 + 1e-9, "{row}");
    assert!((number(row, "modelled_joules") / number(&row["energy"], "seconds") - watts).abs() < 1e-9, "{row}");
}

#[test]
fn what_the_machine_has_is_metered_without_being_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (sensor, nothing) = (tree("pi-ina219"), tree("rails"));
    let of = |data: &str, root: &str| json(&hits(&dir.path().join(data), &["--meter-root", root, "--json"]));
    let report = of("a", &sensor);
    let energy = &report["rows"][0]["energy"];
    assert_eq!((&report["parameters"]["meter"], &energy["scope"]), (&"hwmon".into(), &"board".into()));
    assert!(number(&report["rows"][0], "joules") > 0.0, "{report}");
    // What was measured is told again, and what was loaded serves, whether the meter is still there or not.
    assert_eq!(of("a", &nothing), report);
    let bare = of("b", &nothing);
    assert!(bare["rows"][0].get("joules").is_none() && bare["parameters"]["meter"] == "none", "{bare}");
    assert_eq!(of("b", &sensor), bare);
    let load = |root: &str| {
        let data = dir.path().join("c");
        let fixed = ["bench", "store", "load", "--dir", data.to_str().unwrap(), "--memory", "8M", "--entries", "2k"];
        json(&fawn(&[&fixed[..], &["--meter-root", root, "--json"]].concat()))
    };
    assert_eq!(load(&sensor), load(&nothing));
}

#[test]
fn findings_say_of_what_their_energy_is_how_often_it_was_read_and_how_far_it_may_be_off() {
    let dir = tempfile::tempdir().unwrap();
    let (data, sensor) = (dir.path().join("data"), tree("pi-ina219"));
    let fixed = ["bench", "paper", "dht-table-2", "sosp-figure-12", "--scale", "tiny", "--json"];
    let found = json(&fawn(&[&fixed[..], &["--dir", data.to_str().unwrap(), "--meter-root", &sensor]].concat()));
    for experiment in found["experiments"].as_array().unwrap() {
        let finding = &experiment["finding"];
        assert_eq!(finding["parameters"]["meter"], "hwmon");
        let metered = finding["rows"].as_array().unwrap().iter().filter(|row| row["watts"].is_number());
        assert!(
            metered.clone().count() > 0 && metered.clone().all(|row| row["energy"]["scope"] == "board"),
            "{finding}"
        );
        let notes = finding["notes"].to_string();
        for what in [
            "energy is measured of the board by ina219 sensor hwmon2/power1, read ",
            " times per second; to 3.0 %, TI's data sheet",
            " % open, at most",
            "the energy is that of this machine, including the load generator",
        ] {
            assert!(notes.contains(what), "{what}: {notes}");
        }
    }
}

#[test]
fn counters_that_root_alone_may_read_are_noted_and_are_no_failure() {
    // Not even root may read this one.
    let unreadable = Path::new("/proc/sys/vm/compact_memory");
    if !std::fs::read(unreadable).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let package = dir.path().join("sys/class/powercap/intel-rapl:0");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("name"), "package-0").unwrap();
    std::fs::write(package.join("max_energy_range_uj"), "9000").unwrap();
    std::os::unix::fs::symlink(unreadable, package.join("energy_uj")).unwrap();
    let root = dir.path().to_str().unwrap();
    let run = hits(&dir.path().join("bench"), &["--meter-root", root, "--meter-idle", "1h"]);
    assert!(run.code == 0 && run.stdout.contains("per CPU-s"), "{run:?}");
    let note = "note: RAPL (package-0) should report joules, but could not be read: only root may read ";
    assert!(run.stdout.contains(note), "{run:?}");
    let table = dir.path().join("table");
    let cells = ["--value-bytes", "100", "--memory", "8M", "--cell-bytes", "1M", "--cell-seconds", "100ms", "--json"];
    let fixed = ["bench", "store", "table", "--dir", table.to_str().unwrap(), "--meter-root", root];
    let report = json(&fawn(&[&fixed[..], &cells].concat()));
    assert!(report["notes"].to_string().contains("RAPL (package-0) should report joules"), "{report}");
    if let Some(server) = Server::fawn(&["--threads", "1"]) {
        let quick = ["--load", "--keys", "500", "--time", "100ms", "--warm-up", "0", "--connections", "2", "--json"];
        let fixed = ["bench", "net", server.address.as_str(), "--meter-root", root];
        let report = json(&fawn(&[&fixed[..], &quick].concat()));
        let notes = report["notes"].to_string();
        assert!(notes.contains("RAPL (package-0) should report joules") && !notes.contains("energy is"), "{notes}");
    }
    let run = hits(&dir.path().join("named"), &["--meter-root", root, "--meter", "rapl"]);
    assert!(run.code == 1 && run.stderr.contains("sudo chmod a+r "), "{run:?}");
}

#[test]
fn a_node_s_watts_are_more_than_its_processor_s_and_those_declared_before_those_of_a_meter_that_nobody_named() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let fixed = ["bench", "node", "--dir", place, "--data", "32M", "--memory", "8M", "--time", "100ms", "--json"];
    let watts = |more: &[&str]| {
        let figures = json(&fawn(&[&fixed[..], more].concat()));
        ["watts_idle", "watts_stress"].map(|name| figures[name]["watts"].as_f64().map(|watts| format!("{watts:.2}")))
    };
    let of = |one: &str, other: &str| [one, other].map(|watts| Some(watts.to_owned()));
    let sensor = tree("pi-ina226");
    let metered = ["--meter-root", &sensor, "--meter-idle", "200ms", "--watts-stress", "9.5"];
    assert_eq!(watts(&metered), of("6.03", "9.50"));
    assert_eq!(watts(&[&metered[..], &["--meter", "auto"]].concat()), of("6.03", "6.03"));
    // A counter that moves.
    let package = dir.path().join("sys/class/powercap/intel-rapl:0");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("name"), "package-0").unwrap();
    std::fs::write(package.join("max_energy_range_uj"), "262143328850").unwrap();
    let write = |energy_uj: u64| {
        // In one step, as the kernel's files change.
        std::fs::write(package.join("new"), energy_uj.to_string()).unwrap();
        std::fs::rename(package.join("new"), package.join("energy_uj")).unwrap();
    };
    write(0);
    std::thread::scope(|scope| {
        let (_until_dropped, over) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut joules = 0.0;
            while over.recv_timeout(Duration::from_millis(2)) == Err(RecvTimeoutError::Timeout) {
                joules += 0.01;
                write((joules * 1e6) as u64);
            }
        });
        assert_eq!(watts(&["--meter-root", place]), [None, None]);
        assert!(watts(&["--meter-root", place, "--meter", "rapl"])[1].is_some());
    });
}

#[test]
fn without_a_meter_operations_are_those_of_a_cpu_second() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("bench");
    let report = json(&hits(&data, &["--json", "--meter", "none"]));
    let row = &report["rows"][0];
    assert!(number(row, "operations_a_cpu_second") > 0.0 && row.get("joules").is_none() && row.get("energy").is_none());
    assert_eq!(report["parameters"]["meter"], "none");
    let run = hits(&data, &["--meter", "auto", "--meter-root", &tree("rails")]);
    assert!(run.stderr.contains("no meter can be read: see `fawn bench meters`"), "{run:?}");
    assert!(run.stdout.contains("per CPU-s") && run.stdout.contains("says nothing about joules"), "{run:?}");
    assert!(run.stdout.contains("--meter model:FILE gives modelled joules"), "{run:?}");
    // Who has named no meter is not told that there is none.
    let unasked = hits(&data, &["--meter-root", &tree("rails")]);
    assert!(unasked.stdout == run.stdout && !unasked.stderr.contains("meter"), "{unasked:?}");
}

#[test]
fn a_server_s_operations_a_joule_are_told() {
    let Some(server) = Server::fawn(&["--threads", "1"]) else { return };
    let root = tree("laptop");
    let quick = ["--load", "--keys", "500", "--time", "300ms", "--warm-up", "0", "--connections", "2", "--json"];
    let metered = ["bench", "net", server.address.as_str(), "--meter-root", &root];
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
        "rapl cannot be used: RAPL (package-0) does not change",
        "--meter auto, the default, uses battery BAT0 and BAT1",
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
        (&["--meter", "rapl", "--meter-accuracy", "2"], "e.g. 10%"),
        (&["--meter", "rapl", "--meter-idle", "soon"], "not a duration"),
        (&["--meter", "none", "--meter-idle", "1m"], "leave --meter-idle out"),
    ] {
        let run = hits(&data, arguments);
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    let run = fawn(&["bench", "store", "split", "--dir", "x", "--meter", "rapl"]);
    assert!(run.code == 2 && run.stderr.contains("--meter"), "{run:?}");
}
