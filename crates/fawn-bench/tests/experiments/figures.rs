//! What is counted.

use fawn_bench::Experiment;
use fawn_bench::experiments::OverwriteExperiment;
use fawn_flash::Ack;

use crate::{absent, count, failed, figure, get, hit, measured, mixed, overwrite, setup, versions};

const ENTRIES: u64 = 20_000;

#[test]
fn a_load_puts_every_entry_once_and_is_told_again() {
    for ack in [Ack::Memory, Ack::Durable] {
        let dir = tempfile::tempdir().unwrap();
        let setup = fawn_bench::Setup { ack, ..setup(dir.path(), ENTRIES) };
        let report = measured(&setup, &Experiment::Load);
        assert_eq!(count(&report, 0, "puts"), ENTRIES);
        // Once as a segment and, when durable, once in the log, with headers and padding.
        let written = figure(&report, 0, "store_written_over_user");
        let expected = if ack == Ack::Memory { 1.0..2.0 } else { 2.0..4.0 };
        assert!(expected.contains(&written), "{ack:?}: {written}");
        assert!(figure(&report, 0, "cpu_us_a_put") > figure(&report, 0, "generator_cpu_us"));
        let memory = report.memory.as_ref().unwrap();
        assert!(memory.entries.abs_diff(ENTRIES) < ENTRIES / 100, "{memory:?}");
        assert!((2.0..10.0).contains(&memory.index_bytes_an_entry), "{memory:?}");
        assert_eq!(measured(&setup, &Experiment::Load), report, "it is told again");
        assert!(versions(dir.path(), ENTRIES).iter().all(|version| *version == 1));
    }
}

#[test]
fn gets_take_one_read_each_and_stand_beside_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    let report = measured(&setup, &Experiment::Get(get()));
    assert_eq!(report.rows.len(), 2);
    for (row, depth) in [1, 8].into_iter().enumerate() {
        assert_eq!(count(&report, row, "depth"), depth);
        assert!((1.0..1.1).contains(&figure(&report, row, "reads_a_get")), "{:?}", report.rows[row]);
        // Records lie across the borders of pages.
        assert!((1.0..1.3).contains(&figure(&report, row, "pages_a_get")), "{:?}", report.rows[row]);
        let ratio = figure(&report, row, "reads_a_second") / figure(&report, row, "device_reads_a_second");
        assert!(ratio > 0.0 && figure(&report, row, "ratio") > 0.0);
        assert!(figure(&report, row, "p50_us") <= figure(&report, row, "p999_us"));
        assert_eq!(report.rows[row]["ratios"].as_array().unwrap().len(), 2);
    }
    assert_eq!(measured(&setup, &Experiment::Get(get())), report, "it is told again");
    let again = fawn_bench::Setup { again: true, ..setup.clone() };
    assert_ne!(measured(&again, &Experiment::Get(get())), report, "it is measured anew");
    measured(&setup, &Experiment::Overwrite(overwrite(1)));
    assert_ne!(measured(&setup, &Experiment::Get(get())).rows, report.rows, "the data are others now");
}

#[test]
fn a_hot_set_is_answered_from_dram() {
    let dir = tempfile::tempdir().unwrap();
    let report = measured(&setup(dir.path(), 3000), &Experiment::Hit(hit()));
    assert!(figure(&report, 0, "from_dram") > 0.99, "{:?}", report.rows);
    assert!(figure(&report, 0, "gets") > 100.0);
}

#[test]
fn overwrites_write_every_entry_once_a_pass() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    let report = measured(&setup, &Experiment::Overwrite(overwrite(3)));
    assert_eq!(report.rows.len(), 3);
    for row in 0..3 {
        assert_eq!(count(&report, row, "puts"), ENTRIES);
        assert!((1.0..12.0).contains(&figure(&report, row, "most_space_over_live")), "{:?}", report.rows[row]);
    }
    let merges: f64 = (0..3).map(|row| figure(&report, row, "merges")).sum();
    assert!(merges > 0.0, "three passes make garbage that is merged: {:?}", report.rows);
    assert!(versions(dir.path(), ENTRIES).iter().all(|version| *version == 4));
}

#[test]
fn skewed_overwrites_leave_most_entries_alone() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    let zipf = OverwriteExperiment { zipf: Some(0.99), ..overwrite(1) };
    let report = measured(&setup, &Experiment::Overwrite(zipf));
    assert_eq!(count(&report, 0, "puts"), ENTRIES);
    let versions = versions(dir.path(), ENTRIES);
    let overwritten = versions.iter().filter(|version| **version == 2).count();
    assert!((1000..8000).contains(&overwritten), "{overwritten}");
    assert_eq!(versions.iter().filter(|version| **version == 1).count() + overwritten, ENTRIES as usize);
    // What may have either version is taken in either.
    measured(&setup, &Experiment::Get(get()));
    let wrong = failed(&setup, &Experiment::Overwrite(OverwriteExperiment { zipf: Some(0.0), ..overwrite(1) }));
    assert!(wrong.to_string().contains("--zipf 0.99"), "{wrong}");
}

#[test]
fn gets_and_puts_come_in_the_proportion_that_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    let report = measured(&setup, &Experiment::Mixed(mixed()));
    let (gets, puts) = (figure(&report, 0, "gets"), figure(&report, 0, "puts"));
    assert!(puts > 10.0 && (gets / puts - 6.0).abs() < 1.0 + 400.0 / puts, "{gets} gets, {puts} puts");
    // Everything that was put is known, so that the values of later gets are exact.
    measured(&setup, &Experiment::Get(get()));
    let versions = versions(dir.path(), ENTRIES);
    assert_eq!(versions.iter().map(|version| u64::from(*version - 1)).sum::<u64>(), puts as u64);
}

#[test]
fn absent_keys_take_next_to_no_reads() {
    let dir = tempfile::tempdir().unwrap();
    let report = measured(&setup(dir.path(), ENTRIES), &Experiment::Absent(absent()));
    assert!(figure(&report, 0, "reads_a_get") < 0.05, "{:?}", report.rows);
    assert!(figure(&report, 0, "gets") > 100.0);
}

#[test]
fn absent_keys_take_a_read_each_where_memory_cannot_index_all_and_next_to_none_with_filters() {
    let dir = tempfile::tempdir().unwrap();
    let without = fawn_bench::Setup { value_bytes: 8, memory: 4 << 20, ..setup(dir.path(), 300_000) };
    let with = fawn_bench::Setup { miss_filter: true, ..without.clone() };
    // The same files serve both ways.
    let reads = |setup| {
        let report = measured(setup, &Experiment::Absent(absent()));
        assert!(figure(&report, 0, "gets") > 100.0 && report.memory.as_ref().unwrap().phi.unwrap() < 0.5);
        (figure(&report, 0, "reads_a_get"), report)
    };
    let (of_each, report) = reads(&without);
    assert!((0.99..1.01).contains(&of_each), "{:?}", report.rows);
    assert!(report.rows[0]["filter_bits_a_record"].is_null() && report.memory.unwrap().filter_bytes == 0);
    for _ in 0..2 {
        let (of_each, report) = reads(&with);
        assert!((0.001..0.012).contains(&of_each), "{:?}", report.rows);
        assert!((0.001..0.008).contains(&figure(&report, 0, "filter_false_positives")), "{:?}", report.rows);
        assert!((9.0..11.0).contains(&figure(&report, 0, "filter_bits_a_record")), "{:?}", report.rows);
        // Once as built after a restart, once by merges.
        measured(&with, &Experiment::Overwrite(overwrite(1)));
    }
    measured(&with, &Experiment::Get(get()));
}

#[test]
fn what_memory_cannot_index_is_loaded_too_and_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let small = fawn_bench::Setup { value_bytes: 8, memory: 4 << 20, ..setup(dir.path(), 300_000) };
    let report = measured(&small, &Experiment::Load);
    let memory = report.memory.as_ref().unwrap();
    assert!(memory.entries > 299_000 && memory.phi.unwrap() < 0.5, "{memory:?}");
    assert!(memory.index_bytes < 300_000 && figure(&report, 0, "merges") > 0.0, "{memory:?}");
}
