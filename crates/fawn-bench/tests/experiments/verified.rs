//! A wrong value is noticed, whatever is wrong with it; and directories that are not ours are left alone.

use std::time::{Duration, Instant};

use fawn_bench::lookups::Lookups;
use fawn_bench::{BenchSession, Error, Experiment, Setup};
use fawn_report::Nobody;
use fawn_workload::{key_of, write_value};

use crate::{VALUE_BYTES, db, failed, measured, overwrite, setup};

const ENTRIES: u64 = 500;

fn value(index: u64, version: u32) -> Vec<u8> {
    let mut value = vec![0; VALUE_BYTES];
    write_value(index, version, &mut value);
    value
}

/// Gets one entry.
fn asked(setup: &Setup, index: u64) -> Result<(), Error> {
    let mut session = BenchSession::open(setup, &Nobody)?;
    let mut lookups = Lookups::new(VALUE_BYTES);
    let BenchSession { driver, history, .. } = &mut session;
    lookups.ask(driver, history, &[(index, Instant::now())])?;
    while lookups.under_way() > 0 {
        driver.poll()?;
        // Begins the read, too.
        lookups.take(driver, history, None)?;
        driver.wait(Duration::from_millis(1))?;
    }
    assert_eq!(lookups.answered, 1);
    session.close()
}

/// What a get says when `spoil` has changed the value of entry 77 behind its back.
fn noticed<T>(spoil: impl FnOnce(&fawn_flash::Db, &[u8]) -> T) -> String {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    measured(&setup, &Experiment::Overwrite(overwrite(1)));
    let db = db(dir.path());
    spoil(&db, &key_of(77));
    db.close().unwrap();
    asked(&setup, 78).unwrap();
    match asked(&setup, 77).unwrap_err() {
        Error::Wrong { index: 77, found, expected } => {
            assert_eq!(expected, "version 2 was put last");
            found
        }
        other => panic!("{other}"),
    }
}

#[test]
fn another_entrys_value_is_noticed() {
    let found = noticed(|db, key| db.put(key, &value(78, 2)).unwrap());
    assert_eq!(found, "100 bytes that were never put");
}

#[test]
fn a_flipped_bit_is_noticed() {
    let mut wrong = value(77, 2);
    wrong[VALUE_BYTES - 1] ^= 1;
    assert_eq!(noticed(|db, key| db.put(key, &wrong).unwrap()), "100 bytes that were never put");
}

#[test]
fn a_value_that_is_too_short_is_noticed() {
    let found = noticed(|db, key| db.put(key, &value(77, 2)[..80]).unwrap());
    assert_eq!(found, "80 bytes that were never put");
}

#[test]
fn an_old_version_is_noticed() {
    assert_eq!(noticed(|db, key| db.put(key, &value(77, 1)).unwrap()), "version 1");
}

#[test]
fn a_lost_entry_is_noticed() {
    assert_eq!(noticed(|db, key| assert!(db.delete(key).unwrap())), "nothing");
}

#[test]
fn an_entry_that_was_never_put_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let setup = setup(dir.path(), ENTRIES);
    measured(&setup, &Experiment::Load);
    let db = db(dir.path());
    db.put(&key_of(ENTRIES + 3), &value(ENTRIES + 3, 1)).unwrap();
    db.close().unwrap();
    let ask = |index| asked(&setup, index);
    ask(5).unwrap();
    ask(ENTRIES + 2).unwrap();
    let error = ask(ENTRIES + 3).unwrap_err();
    assert!(matches!(&error, Error::Wrong { expected, .. } if expected == "nothing was put"), "{error}");
}

#[test]
fn data_that_do_not_fit_are_refused_and_deleted_only_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let first = setup(dir.path(), ENTRIES);
    measured(&first, &Experiment::Load);
    let other = setup(dir.path(), ENTRIES + 1);
    let error = failed(&other, &Experiment::Load).to_string();
    assert!(error.contains("holds 500 entries of 100 bytes, not 501") && error.contains("--again"), "{error}");
    let again = Setup { again: true, ..other.clone() };
    measured(&again, &Experiment::Load);
    crate::versions(dir.path(), ENTRIES + 1);
}

#[test]
fn a_directory_that_is_not_ours_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("precious"), "x").unwrap();
    let error = failed(&setup(dir.path(), ENTRIES), &Experiment::Load);
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for wrong in [Setup { entries: 0, ..setup(dir.path(), 1) }, Setup { value_bytes: 7, ..setup(dir.path(), 1) }] {
        assert!(matches!(failed(&wrong, &Experiment::Load), Error::Unfit(_)));
    }
    let large = Setup { value_bytes: 1 << 20, ..setup(dir.path(), 3) };
    let error = failed(&large, &Experiment::Load).to_string();
    assert!(error.contains("in separate files"), "{error}");
}
