//! What was interrupted goes on, and what a crash may have undone is not taken for wrong.

use fawn_bench::{BenchSession, Experiment, Setup};
use fawn_flash::Ack;
use fawn_report::Nobody;

use crate::{count, figure, get, measured, mixed, overwrite, setup, versions};

const ENTRIES: u64 = 30_000;

/// Makes this many puts, notes how far it came, and goes away as a crash does.
fn crash(setup: &Setup, puts: u64) {
    let mut session = BenchSession::open(setup, &Nobody).unwrap();
    session.put_many(puts, |_, _| Ok(true)).unwrap();
    session.note_data(false).unwrap();
}

#[test]
fn a_load_goes_on_where_it_was() {
    for ack in [Ack::Memory, Ack::Durable] {
        let dir = tempfile::tempdir().unwrap();
        let setup = Setup { ack, ..setup(dir.path(), ENTRIES) };
        crash(&setup, 25_000);
        let report = measured(&setup, &Experiment::Load);
        let puts = figure(&report, 0, "puts");
        // In memory up to a segment of 1 MiB is lost, and as much that is being sealed.
        let most = if ack == Ack::Memory { ENTRIES as f64 - 5000.0 } else { 5000.0 };
        assert!((5000.0..=most).contains(&puts), "{ack:?}: {puts}");
        assert!(versions(dir.path(), ENTRIES).iter().all(|version| *version == 1));
    }
}

#[test]
fn entries_that_a_crash_may_have_undone_are_taken_in_either_version() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    measured(&setup, &Experiment::Load);
    crash(&setup, 20_000);
    measured(&setup, &Experiment::Get(get()));
    measured(&setup, &Experiment::Mixed(mixed()));
    measured(&setup, &Experiment::Overwrite(overwrite(1)));
    measured(&setup, &Experiment::Get(get()));
    assert!(versions(dir.path(), ENTRIES).iter().all(|version| *version > 1));
}

#[test]
fn what_is_put_after_a_settled_part_of_a_pass_may_be_found_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    measured(&setup, &Experiment::Load);
    let mut session = BenchSession::open(&setup, &Nobody).unwrap();
    session.put_many(5_000, |_, _| Ok(true)).unwrap();
    session.settle().unwrap();
    session.put_many(24_000, |_, _| Ok(true)).unwrap();
    drop(session);
    measured(&setup, &Experiment::Get(get()));
}

#[test]
fn gets_go_on_with_the_rounds_that_are_left() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    let whole = measured(&setup, &Experiment::Get(get()));
    // As an interruption after three of four rounds leaves it.
    let path = dir.path().join("bench.json");
    let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let results = kept["results"].as_object_mut().unwrap();
    let name = results.keys().find(|name| name.starts_with("get")).unwrap().clone();
    results.remove(&name);
    let usage = serde_json::json!({
        "seconds": 1.0, "cpu_us": 7e6, "read_bytes": 4_096_000, "write_bytes": 0,
        "counts": { "reads": 1000, "pages_read": 1000, "false_reads": 0, "cache_hits": 0, "batches": 0, "seals": 0,
                    "merges": 0, "written_bytes": 0, "maintenance_read_bytes": 0 },
    });
    let round = |depth: u32| {
        serde_json::json!({
            "depth": depth, "gets": 1000, "from_dram": 0, "usage": usage, "p50_us": 1.0, "p99_us": 1.0, "p999_us": 1.0,
            "device": { "reads_a_second": 500.0, "cpu_us_a_read": 1.0 },
        })
    };
    kept["unfinished"][&name] = serde_json::json!([round(1), round(8), round(1)]);
    std::fs::write(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
    let report = measured(&setup, &Experiment::Get(get()));
    assert_ne!(report.rows, whole.rows);
    assert_eq!((count(&report, 0, "gets"), count(&report, 0, "ratio")), (2000, 2), "both rounds are the noted ones");
    assert_eq!(count(&report, 0, "cpu_us_a_get"), 7000);
    assert_eq!(report.rows[1]["ratios"].as_array().unwrap().len(), 2, "one noted round and one of now");
}
