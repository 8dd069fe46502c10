//! `fawn bench paper` and `fawn bench node` as a user runs them. That all experiments work is what `cargo xtask bench-small` tries.

use std::path::Path;

use serde_json::Value;

use crate::server::{Run, fawn};

fn paper(arguments: &[&str]) -> Run {
    fawn(&[&["bench", "paper"], arguments].concat())
}

#[track_caller]
fn json(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_list_has_every_paper() {
    let run = paper(&["list"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for what in ["sosp-table-1", "dht-figure-10", "energy-table-1", "FAWN-DHT", "Figure 14", "full, s"] {
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
    let list = json(&paper(&["list", "--json"]));
    let list = list.as_array().unwrap();
    assert!(list.len() >= 26 && list.iter().all(|it| it["scales"]["small"]["rows"].as_u64().unwrap() > 0), "{list:?}");
}

#[test]
fn an_experiment_becomes_a_page_a_table_and_json_and_is_told_again() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    let arguments = ["sosp-figure-10", "dht-sizing", "--scale", "tiny", "--json"];
    let places = ["--dir", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let first = json(&paper(&[&arguments[..], &places].concat()));
    let experiments = first["experiments"].as_array().unwrap();
    let names: Vec<_> = experiments.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sosp-figure-10", "dht-sizing"]);
    let rows = experiments[0]["finding"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 9);
    for row in rows {
        let (gets, puts) = (row["gets_a_second"].as_f64().unwrap(), row["puts_a_second"].as_f64().unwrap());
        let share = puts / (gets + puts);
        // A put that is due may wait for the end.
        assert!((share - row["put_share"].as_f64().unwrap()).abs() < 0.05, "{row}");
    }
    assert!(first["machine"]["cores"].as_u64().unwrap() > 0, "{first}");
    assert!(first["program"]["command"].as_str().unwrap().starts_with("fawn bench paper sosp-figure-10"), "{first}");
    assert!(!data.join("data").exists(), "what was measured on is gone");
    let page = read(&out.join("index.html"));
    for what in ["<svg", "id=\"sosp-figure-10\"", "only tries whether", "191,520.000", "2008 to 2010"] {
        assert!(page.contains(what), "{what}");
    }
    assert_eq!(
        serde_json::from_str::<Value>(&read(&out.join("paper.json"))).unwrap()["experiments"],
        first["experiments"]
    );
    let csv = read(&out.join("sosp-figure-10.csv"));
    assert!(
        csv.starts_with("who,put_share,") && csv.lines().filter(|line| line.starts_with("measured,")).count() == 9,
        "{csv}"
    );
    assert!(read(&out.join("dht-sizing.csv")).contains("\ncomputed,back-ends a front-end,115,"));
    let again = json(&paper(&[&arguments[..], &places].concat()));
    assert_eq!(again["experiments"], first["experiments"], "what was measured is told again");
    let anew = json(&paper(&[&arguments[..], &places, &["--again"]].concat()));
    assert_ne!(anew["experiments"][0]["finding"], first["experiments"][0]["finding"], "it is measured anew");
}

#[test]
fn a_server_and_a_cluster_are_measured_and_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let arguments = ["dht-table-2", "dht-figure-6", "--scale", "tiny", "--json", "--dir", data.to_str().unwrap()];
    let found = json(&paper(&arguments));
    let rows = |at: usize| found["experiments"][at]["finding"]["rows"].as_array().unwrap().clone();
    assert_eq!((rows(0).len(), rows(1).len()), (2, 2), "{found}");
    for row in rows(0) {
        assert!(row["queries_a_second"].as_f64().unwrap() > 0.0 && row["queries_a_joule"].is_null(), "{row}");
        assert!(row["queries_a_cpu_second"].as_f64().unwrap() > 0.0, "{row}");
    }
    let notes = found["experiments"][0]["finding"]["notes"].to_string();
    assert!(notes.contains("there is no power meter"), "{notes}");
    let nodes: Vec<_> = rows(1).iter().map(|row| row["nodes"].as_u64().unwrap()).collect();
    assert_eq!(nodes, [1, 2]);
    let mut names: Vec<_> = std::fs::read_dir(&data).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["paper.json", "report"]);
    // Processes name their directory.
    let text = data.display().to_string();
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&text)
    });
    assert_eq!(left.count(), 0, "no process is left");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["paper", "sosp-table-1"][..], "--dir"),
        (&["paper", "sosp-table-99", "--dir", "x"], "sosp-table-1"),
        (&["paper", "all", "--dir", "x", "--scale", "huge"], "small"),
        (&["node", "--memory", "1M"], "8M or more"),
        (&["node", "--data", "64M", "--memory", "64M"], "4 times as much"),
        (&["node", "--data", "1K"], "32M or more"),
    ] {
        let run = fawn(&[&["bench"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(says), "{arguments:?}: {run:?}");
    }
    std::fs::write(dir.path().join("mine"), "x").unwrap();
    let run = paper(&["dht-cache", "--dir", dir.path().to_str().unwrap()]);
    assert!(run.code == 1 && run.stderr.contains("choose an empty or a new directory"), "{run:?}");
    let data = dir.path().join("new");
    let run = paper(&["sosp-bdb", "--dir", data.to_str().unwrap(), "--peer-program", "no-such-program"]);
    assert!(run.code == 1 && run.stderr.contains("peers/Cargo.toml") && !data.exists(), "{run:?}");
}

#[test]
fn this_machine_is_measured_for_a_plan() {
    let dir = tempfile::tempdir().unwrap();
    let (place, file) = (dir.path().join("place"), dir.path().join("node.toml"));
    let run = fawn(&[
        "bench",
        "node",
        "--dir",
        place.to_str().unwrap(),
        "--data",
        "32M",
        "--memory",
        "8M",
        "--time",
        "100ms",
        "--name",
        "mine",
        "--watts-stress",
        "9.5",
        "--out",
        file.to_str().unwrap(),
        "--json",
    ]);
    let figures = json(&run);
    for name in ["gb", "read_4k_per_second", "puts_per_second", "network_gets_per_second", "cpu_us_a_put"] {
        assert!(figures[name].as_f64().unwrap() > 0.0, "{name}: {figures}");
    }
    assert!(figures["watts_idle"].is_null() && figures["watts_stress"]["watts"] == 9.5, "{figures}");
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "nothing is left");
    let text = read(&file);
    assert!(text.contains("# measured: ") && text.contains("# declared by who measured"), "{text}");
    let plan = fawn(&["plan", "--data", "1TB", "--rate", "10k", "--node", file.to_str().unwrap(), "--json"]);
    let plan = json(&plan);
    let unranked = plan["unranked"].to_string();
    assert!(unranked.contains("\"mine\""), "its price is unknown, and so it is not ranked: {unranked}");
}
