//! Each experiment on a few thousand entries: what is counted is right, and what is wrong is noticed.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod energy;
mod figures;
mod interrupted;
mod longer;
mod peers;
mod verified;

use std::path::Path;
use std::time::Duration;

use fawn_bench::experiments::{AbsentExperiment, GetExperiment, HitExperiment, MixedExperiment, OverwriteExperiment};
use fawn_bench::{DeviceReader, Error, Experiment, Setup, run};
use fawn_flash::{Ack, Db, DbOptions};
use fawn_report::{BenchReport, Nobody};
use fawn_workload::version_of;

/// Segments of 1 MiB.
const MEMORY: u64 = 8 << 20;
const VALUE_BYTES: usize = 100;

fn setup(dir: &Path, entries: u64) -> Setup {
    Setup {
        dir: dir.to_owned(),
        entries,
        value_bytes: VALUE_BYTES,
        memory: MEMORY,
        miss_filter: false,
        ack: Ack::Memory,
        puts_in_flight: 1024,
        depth: 32,
        again: false,
        meter: None,
    }
}

fn get() -> GetExperiment {
    GetExperiment { depths: vec![1, 8], rounds: 2, time: Duration::from_millis(30), device: DeviceReader::Own }
}

fn hit() -> HitExperiment {
    HitExperiment { keys: 50, rounds: 2, time: Duration::from_millis(30) }
}

fn overwrite(passes: u32) -> OverwriteExperiment {
    OverwriteExperiment { passes, zipf: None, most_time: None }
}

fn mixed() -> MixedExperiment {
    MixedExperiment { depth: 16, gets_a_put: 6, time: Duration::from_millis(200) }
}

fn absent() -> AbsentExperiment {
    AbsentExperiment { depth: 16, time: Duration::from_millis(50) }
}

fn measured(setup: &Setup, experiment: &Experiment) -> BenchReport {
    run(setup, experiment, &Nobody).unwrap()
}

fn failed(setup: &Setup, experiment: &Experiment) -> Error {
    run(setup, experiment, &Nobody).unwrap_err()
}

/// A figure of the only row, or of this one.
#[track_caller]
fn figure(report: &BenchReport, row: usize, name: &str) -> f64 {
    let value = report.rows[row].get(name).unwrap_or_else(|| panic!("{name} is in {:?}", report.rows[row]));
    value.as_f64().unwrap_or_else(|| panic!("{name} is {value}"))
}

/// The same, where it is a number of things.
#[track_caller]
fn count(report: &BenchReport, row: usize, name: &str) -> u64 {
    figure(report, row, name) as u64
}

/// The store, opened by other means than the benchmark's.
fn db(dir: &Path) -> Db {
    Db::open(dir.join("data"), DbOptions { memory: MEMORY, ..DbOptions::default() }).unwrap()
}

/// The version of every entry, each of which must be there.
fn versions(dir: &Path, entries: u64) -> Vec<u32> {
    let db = db(dir);
    assert_eq!(db.scan().map(Result::unwrap).count() as u64, entries, "there is nothing else");
    let version = |index| {
        let value =
            db.get(&fawn_workload::key_of(index)).unwrap().unwrap_or_else(|| panic!("entry {index} is missing"));
        assert_eq!(value.len(), VALUE_BYTES);
        version_of(index, &value).unwrap()
    };
    let versions = (0..entries).map(version).collect();
    db.close().unwrap();
    versions
}
