//! Paces, splits and tables.

use std::time::Duration;

use fawn_bench::experiments::{PaceExperiment, RestartExperiment, SplitExperiment, TableExperiment};
use fawn_bench::{BenchSession, DeviceReader, Error, Experiment, Setup};
use fawn_report::{BenchReport, Nobody};

use crate::{count, failed, figure, get, measured, setup, versions};

#[test]
fn a_pace_is_kept_at_rest_and_with_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), 10_000);
    let pace = PaceExperiment { percents: vec![20], pairs: 2, time: Duration::from_millis(250), gets_a_put: 1 };
    let report = measured(&setup, &Experiment::Pace(pace.clone()));
    assert_eq!(report.rows.len(), 2);
    let text = |row: usize, name: &str| report.rows[row][name].as_str().unwrap().to_owned();
    assert_eq!((text(0, "what"), text(1, "what")), ("at rest".to_owned(), "overwrites".to_owned()));
    assert_eq!(count(&report, 0, "puts_a_second"), 0);
    // As many as there are gets, but for those that were asked last.
    let (gets, puts) = (figure(&report, 1, "gets_a_second"), figure(&report, 1, "puts_a_second"));
    assert!((0.8..1.01).contains(&(puts / gets)), "{puts} puts, {gets} gets");
    assert_eq!(count(&report, 0, "merges"), 0);
    assert!(count(&report, 1, "merges") > 0, "maintenance is there: {:?}", report.rows[1]);
    for row in 0..2 {
        // What is due is asked, however late; the clock goes on until the last is answered.
        assert!(figure(&report, row, "gets_a_second") <= 1.3 * figure(&report, row, "gets_asked_a_second"));
        assert!(figure(&report, row, "p999_us") <= figure(&report, row, "longest_us") * 1.01);
    }
    assert!(report.rows[0]["p999_over_idle"].is_null() && figure(&report, 1, "p999_over_idle") > 0.0);
    let idle: Vec<bool> = report.timelines.iter().map(|line| line.idle).collect();
    assert_eq!(idle, [true, false, false, true], "they take turns in being the first");
    assert!(report.timelines.iter().all(|line| (2..50).contains(&line.tenths.len())));
    let wrong = failed(&setup, &Experiment::Pace(PaceExperiment { percents: vec![100], ..pace }));
    assert!(matches!(wrong, Error::Unfit(_)), "{wrong}");
}

fn split(rounds: u32) -> SplitExperiment {
    SplitExperiment { depth: 8, gets_a_put: 2, rounds, time: Duration::from_millis(150) }
}

#[test]
fn a_range_is_split_and_merged_beside_gets_and_puts() {
    let dir = tempfile::tempdir().unwrap();
    // One that indexes all of its records, and one that cannot: their slices are cut in either form.
    for (memory, entries) in [(8 << 20, 10_000), (4 << 20, 300_000)] {
        let data = dir.path().join(entries.to_string());
        let setup = Setup { memory, value_bytes: 8, ..setup(&data, entries) };
        let report = measured(&setup, &Experiment::Split(split(2)));
        let whats: Vec<&str> = report.rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
        assert_eq!(whats, ["split at rest", "merge at rest", "before", "split", "apart", "merge"]);
        assert_eq!(report.parameters["draining"], entries > 10_000, "{:?}", report.parameters);
        // Two splits a round cut one slice each.
        let slices = |name: &str| report.parameters[name].as_u64().unwrap();
        assert!(slices("slices_after") >= slices("slices_before") + 4, "{:?}", report.parameters);
        for row in [0, 1] {
            let written = figure(&report, row, "written_bytes");
            assert!((1.0..65536.0).contains(&written), "the manifest alone is written: {:?}", report.rows[row]);
            assert!(figure(&report, row, "cpu_ms") > 0.0 && report.rows[row]["gets"].is_null());
        }
        for row in 2..6 {
            assert!(count(&report, row, "gets") > 10 && count(&report, row, "puts") > 1, "{:?}", report.rows[row]);
            assert!(figure(&report, row, "p999_us") <= figure(&report, row, "longest_us") * 1.01);
        }
        for row in [0, 1, 3, 5] {
            assert!(figure(&report, row, "ms_to_done") > 0.0, "{:?}", report.rows[row]);
        }
        assert!(report.rows[2]["ms_to_done"].is_null() && report.rows[2]["p999_over_before"].is_null());
        let idle: Vec<bool> = report.timelines.iter().map(|line| line.idle).collect();
        assert_eq!(idle, [true, false, true, false].repeat(2));
        assert_eq!(measured(&setup, &Experiment::Split(split(2))), report, "it is told again");
        let again = measured(&Setup { again: true, ..setup }, &Experiment::Split(split(2)));
        assert!(again.parameters["slices_after"].as_u64().unwrap() >= slices("slices_after") + 4, "at other keys");
    }
}

#[test]
fn splits_go_on_where_they_were_interrupted_with_halves_or_without() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), 5000);
    let whole = measured(&setup, &Experiment::Split(split(1)));
    // As an interruption between a split and a merge, after one of three rounds, leaves it.
    let path = dir.path().join("bench.json");
    let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let results = kept["results"].as_object_mut().unwrap();
    let name = results.keys().find(|name| name.starts_with("split")).unwrap().clone();
    results.remove(&name);
    let part = |seconds: f64| {
        let load = serde_json::json!({
            "seconds": seconds, "gets": 7, "puts": 3, "p50_us": 1.0, "p99_us": 1.0, "p999_us": 1.0, "longest_us": 1.0,
            "longest_put_us": 1.0, "timeline": { "name": "noted", "idle": true, "tenths": [] },
            "counts": { "reads": 0, "pages_read": 0, "false_reads": 0, "cache_hits": 0, "batches": 0, "seals": 0,
                        "merges": 77, "written_bytes": 0, "maintenance_read_bytes": 0 },
        });
        serde_json::json!({
            "what": "noted", "done_us": 1.0, "maintenance_cpu_us": null, "cpu_us": null, "written_bytes": null,
            "read_bytes": null, "longest_step_us": 5e9, "longest_step_cpu_us": 1.0, "load": load,
        })
    };
    let next = name.replace("\"rounds\":1", "\"rounds\":2");
    kept["unfinished"][&next] = serde_json::json!([vec![part(1.0); 6]]);
    std::fs::write(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
    let mut session = BenchSession::open(&setup, &Nobody).unwrap();
    session.driver.store().split_range(fawn_ring::Key::lowest_with_prefix(1 << 63));
    while session.driver.store().ranges().intervals().count() < 2 {
        session.driver.poll().unwrap();
        session.driver.wait(Duration::from_millis(1)).unwrap();
    }
    session.close().unwrap();
    let report = measured(&setup, &Experiment::Split(split(2)));
    assert_eq!((count(&report, 3, "rounds"), count(&whole, 3, "rounds")), (2, 1));
    assert_eq!(count(&report, 3, "longest_step_us"), 5_000_000_000, "the noted round counts");
    assert!(count(&report, 3, "merges") >= 77 && report.timelines.len() == 6 + 4, "and one of now");
    measured(&setup, &Experiment::Get(get()));
    assert!(versions(dir.path(), 5000).iter().all(|version| *version >= 1));
    let wrong = failed(&setup, &Experiment::Split(SplitExperiment { gets_a_put: 0, ..split(1) }));
    assert!(matches!(wrong, Error::Unfit(_)), "{wrong}");
}

/// What there is of each experiment of a table.
fn cells(report: &BenchReport) -> Vec<(u64, u64, String)> {
    let number = |row: &serde_json::Map<_, serde_json::Value>, name: &str| row[name].as_u64().unwrap();
    let cell = |row: &serde_json::Map<String, serde_json::Value>| {
        (number(row, "value_bytes"), number(row, "memory"), row["experiment"].as_str().unwrap().to_owned())
    };
    report.rows.iter().map(cell).collect()
}

#[test]
fn a_table_has_every_cell() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), 1);
    let table = TableExperiment {
        value_bytes: vec![8],
        memories: vec![4 << 20, 64 << 20],
        // More entries than 4 MiB can index.
        cell_bytes: 28 * 300_000,
        cell_time: Duration::from_millis(100),
        device: DeviceReader::Own,
    };
    let report = measured(&setup, &Experiment::Table(table.clone()));
    let of = |memory: u64| ["load", "get", "mixed", "overwrite", "absent"].map(|name| (8, memory, name.to_owned()));
    assert_eq!(cells(&report), [of(4 << 20), of(64 << 20)].concat());
    assert!((0..10).all(|row| figure(&report, row, "a_second") > 0.0 && figure(&report, row, "cpu_us") > 0.0));
    assert_eq!(fawn_bench::table(&report).markdown().lines().count(), 2 + 10);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["bench.json"], "cells are deleted behind it");
    assert_eq!(measured(&setup, &Experiment::Table(table)), report, "it is told again");
}

#[test]
fn a_process_that_does_not_load_is_reported_with_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let restart = |at: Vec<u64>| {
        let arguments = vec!["-c".into(), "echo no such luck >&2; exit 3".into()];
        Experiment::Restart(RestartExperiment { at, program: "sh".into(), arguments })
    };
    let error = failed(&setup(dir.path(), 1000), &restart(vec![1 << 20]));
    assert!(matches!(&error, Error::Child(_)) && error.to_string().contains("no such luck"), "{error}");
    let error = failed(&setup(dir.path(), 1000), &restart(vec![2 << 20, 1 << 20]));
    assert!(error.to_string().contains("ascending sizes"), "{error}");
}
