//! Paces and tables.

use std::time::Duration;

use fawn_bench::experiments::{Pace, Restart, Table};
use fawn_bench::{Device, Error, Experiment, Report};

use crate::{count, failed, figure, measured, setup};

#[test]
fn a_pace_is_kept_at_rest_and_with_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), 10_000);
    let pace = Pace { percents: vec![20], pairs: 2, time: Duration::from_millis(250), gets_a_put: 1 };
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
    let wrong = failed(&setup, &Experiment::Pace(Pace { percents: vec![100], ..pace }));
    assert!(matches!(wrong, Error::Unfit(_)), "{wrong}");
}

/// What there is of each experiment of a table.
fn cells(report: &Report) -> Vec<(u64, u64, String)> {
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
    let table = Table {
        value_bytes: vec![8],
        memories: vec![4 << 20, 64 << 20],
        // More entries than 4 MiB can index.
        cell_bytes: 28 * 300_000,
        cell_time: Duration::from_millis(100),
        device: Device::Own,
    };
    let report = measured(&setup, &Experiment::Table(table.clone()));
    let of = |memory: u64| ["load", "get", "mixed", "overwrite", "absent"].map(|name| (8, memory, name.to_owned()));
    assert_eq!(cells(&report), [of(4 << 20), of(64 << 20)].concat());
    assert!((0..10).all(|row| figure(&report, row, "a_second") > 0.0 && figure(&report, row, "cpu_us") > 0.0));
    assert_eq!(report.markdown().lines().count(), 2 + 10);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["bench.json"], "cells are deleted behind it");
    assert_eq!(measured(&setup, &Experiment::Table(table)), report, "it is told again");
}

#[test]
fn a_process_that_does_not_load_is_reported_with_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let restart = |at: Vec<u64>| {
        let arguments = vec!["-c".into(), "echo no such luck >&2; exit 3".into()];
        Experiment::Restart(Restart { at, program: "sh".into(), arguments })
    };
    let error = failed(&setup(dir.path(), 1000), &restart(vec![1 << 20]));
    assert!(matches!(&error, Error::Child(_)) && error.to_string().contains("no such luck"), "{error}");
    let error = failed(&setup(dir.path(), 1000), &restart(vec![2 << 20, 1 << 20]));
    assert!(error.to_string().contains("rising"), "{error}");
}
