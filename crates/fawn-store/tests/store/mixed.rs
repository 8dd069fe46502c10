//! Files of several times, or of several stores, in one directory: what does not belong together is refused by name, nothing
//! is answered from it, and nothing is changed.

use std::collections::BTreeSet;

use fawn_check::random::Random;
use fawn_ring::Secret;
use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_sim::store::{Extras, Machine};
use fawn_store::check::check;
use fawn_store::flash::{FileId, Flash};
use fawn_store::log::LogError;
use fawn_store::page::PageBuf;
use fawn_store::{Ack, OpenError, Options, Store};

use crate::common::{for_seeds, number, tiny, tiny_with, value};

fn put(machine: &mut Machine, keys: std::ops::Range<u64>, seed: u64) {
    for number in keys {
        machine.put(format!("key-{number}").as_bytes(), &value(number + seed, 60)).unwrap();
    }
    machine.settle();
}

fn contents(flash: &SimFlash, which: impl Fn(FileId) -> bool) -> Vec<(FileId, Vec<u8>)> {
    let files: BTreeSet<_> = flash.list().unwrap().into_iter().filter(|(file, _)| which(*file)).collect();
    let read = |(file, pages): (FileId, u64)| {
        let mut buffer = PageBuf::zeroed(pages as usize);
        flash.read(file, 0, buffer.pages_mut()).unwrap();
        (file, buffer.bytes().to_vec())
    };
    files.into_iter().map(read).collect()
}

/// A copy of `to` with files of `from` in the place of its own.
fn mixed(to: &SimFlash, from: &SimFlash, which: impl Fn(FileId) -> bool) -> SimFlash {
    let mixed = to.clone();
    mixed.power_cut(PowerCut::Kept, 1);
    for (file, _) in mixed.list().unwrap().into_iter().filter(|(file, _)| which(*file)) {
        mixed.remove(file).unwrap();
    }
    for (file, pages) in from.list().unwrap().into_iter().filter(|(file, _)| which(*file)) {
        let mut buffer = PageBuf::zeroed(pages as usize);
        from.read(file, 0, buffer.pages_mut()).unwrap();
        mixed.create(file, pages).unwrap();
        mixed.write(file, 0, buffer.pages()).unwrap();
        mixed.sync(file).unwrap();
    }
    mixed.sync_names().unwrap();
    mixed
}

fn is_log(file: FileId) -> bool {
    file == FileId::CommitLog
}

fn is_manifest(file: FileId) -> bool {
    matches!(file, FileId::Manifest(_))
}

/// The store refuses to open, a check names the same file, and nothing was changed. Returns what was said.
fn refused(flash: &SimFlash, options: Options, case: &str) -> OpenError {
    let before = contents(flash, |_| true);
    let error = Store::open(options, flash, 1).map(|(_, _, opening)| opening).expect_err(case);
    assert!(contents(flash, |_| true) == before, "{case}: nothing is changed");
    let found = check(flash, |_, _| {}).map_or(1, |found| found.damage.len());
    assert!(found > 0, "{case}: a check finds it");
    error
}

/// The commit log is the one that is told to be older.
fn log_refused(flash: &SimFlash, options: Options, case: &str) {
    match refused(flash, options, case) {
        OpenError::Log(error @ LogError::OlderLog { .. }) => {
            assert!(error.to_string().starts_with("commit-log is older than manifest-0"), "{error}");
        }
        other => panic!("{case}: {other:?}"),
    }
}

/// The manifest is the one that is told to be older.
fn manifest_refused(flash: &SimFlash, options: Options, case: &str) {
    match refused(flash, options, case) {
        OpenError::Log(error @ LogError::OlderManifest { .. }) => {
            assert!(error.to_string().starts_with("manifest-0"), "{error}");
        }
        other => panic!("{case}: {other:?}"),
    }
}

#[test]
fn an_older_log_put_back_after_a_kill_is_refused() {
    // With none, few and many writes in the earlier run, and up to several laps of the ring in the later one.
    for earlier in [0, 5, 60] {
        for later in [0, 1, 5, 40, 100, 400, 900] {
            let mut machine = Machine::new(tiny(), 4).unwrap();
            put(&mut machine, 0..earlier, 0);
            machine.restart().stop();
            let old = machine.flash().clone();
            machine.restart().reopen().unwrap();
            put(&mut machine, 0..later, 100);
            let case = format!("{earlier} writes, then {later}");
            log_refused(&mixed(machine.flash(), &old, is_log), tiny(), &case);
            // Put back, the right one has everything.
            machine.restart().after_power_cut(PowerCut::Lost, 1).unwrap();
        }
    }
}

#[test]
fn an_older_log_put_back_after_a_clean_stop_is_refused() {
    for later in [1, 40, 400] {
        let mut machine = Machine::new(tiny(), 4).unwrap();
        put(&mut machine, 0..5, 0);
        machine.restart().stop();
        let old = machine.flash().clone();
        machine.restart().reopen().unwrap();
        put(&mut machine, 0..later, 100);
        machine.restart().stop();
        refused(&mixed(machine.flash(), &old, is_log), tiny(), &format!("{later} writes"));
    }
}

#[test]
fn a_log_from_before_a_seal_is_refused() {
    for first in 0..200 {
        let mut machine = Machine::new(tiny(), 5).unwrap();
        put(&mut machine, 0..first, 0);
        let old = machine.flash().clone();
        put(&mut machine, 0..3, 1);
        machine.seal().unwrap();
        machine.settle();
        log_refused(&mixed(machine.flash(), &old, is_log), tiny(), &format!("{first} writes before"));
    }
}

#[test]
fn an_older_manifest_beside_a_newer_log_is_refused() {
    for is_clean in [false, true] {
        for later in [1, 5, 40, 400, 900] {
            let mut machine = Machine::new(tiny(), 6).unwrap();
            put(&mut machine, 0..5, 0);
            if is_clean {
                machine.restart().stop();
            }
            let old = machine.flash().clone();
            machine.restart().reopen().unwrap();
            put(&mut machine, 0..later, 100);
            let case = format!("clean: {is_clean}, {later} writes");
            manifest_refused(&mixed(machine.flash(), &old, is_manifest), tiny(), &case);
            machine.restart().stop();
            manifest_refused(&mixed(machine.flash(), &old, is_manifest), tiny(), &format!("{case}, then a clean stop"));
            machine.restart().reopen().unwrap();
            machine.restart().check().unwrap();
        }
    }
}

#[test]
fn an_older_manifest_is_refused_where_nothing_is_logged() {
    let memory = || tiny_with(Ack::Memory);
    let mut machine = Machine::new(memory(), 6).unwrap();
    put(&mut machine, 0..5, 0);
    machine.restart().stop();
    let old = machine.flash().clone();
    machine.restart().reopen().unwrap();
    for _ in 0..3 {
        machine.advance_clock(1000);
        machine.settle();
    }
    put(&mut machine, 0..5, 100);
    machine.restart().stop();
    manifest_refused(&mixed(machine.flash(), &old, is_manifest), memory(), "memory");
}

#[test]
fn files_of_another_store_with_the_same_secret_are_refused() {
    let made = |index: u32, seed: u64, keys: u64| {
        let mut machine = Machine::new(Options { index, count: 2, ..tiny() }, seed).unwrap();
        // The same keys, numbers and sizes: only the values differ.
        put(&mut machine, 0..40, keys);
        machine.seal().unwrap();
        machine.settle();
        put(&mut machine, 0..4, keys);
        machine.flash().clone()
    };
    let (one, twin, other) = (made(0, 1, 0), made(0, 1, 1), made(1, 1, 2));
    let options = || Options { index: 0, count: 2, ..tiny() };
    for (from, name) in [(&twin, "twin"), (&other, "other store")] {
        refused(&mixed(&one, from, is_log), options(), &format!("the log of a {name}"));
        refused(&mixed(&one, from, is_manifest), options(), &format!("the manifest of a {name}"));
        for (file, _) in contents(&one, |file| matches!(file, FileId::Segment(_))) {
            match refused(&mixed(&one, from, |other| other == file), options(), name) {
                OpenError::Damage(damage) => assert_eq!(damage.file, file, "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    let secret = Secret([8; 32]);
    let error = Store::open(Options { secret, ..options() }, &one, 1).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("manifest-0"), "{error}");
}

/// Copies that were taken while a store ran, each file put back after a kill much later, in turn: what opens has everything
/// that was acknowledged.
#[test]
fn an_older_copy_of_any_file_is_refused_or_loses_nothing() {
    for_seeds("older copies", 0, number("FAWN_MIXED_SEEDS", 30), |seed| {
        let random = &mut Random::new(seed);
        let mut machine = Machine::new(tiny(), seed).unwrap();
        let mut copies: Vec<(SimFlash, usize)> = Vec::new();
        let runs = random.within(2, 4) as usize;
        for run in 0..runs {
            for _ in 0..random.below(12) {
                let many = random.below(60);
                put(&mut machine, 0..many, random.below(1000));
                if random.chance(1, 4) {
                    machine.seal().unwrap();
                    machine.settle();
                }
                if random.chance(1, 2) {
                    copies.push((machine.flash().clone(), run));
                }
            }
            if random.chance(1, 2) {
                machine.restart().stop();
                copies.push((machine.flash().clone(), run));
            }
            if run + 1 < runs {
                machine.restart().reopen().unwrap();
            }
        }
        // The last run has written something.
        machine.flash().power_cut(PowerCut::Lost, seed);
        machine.restart().reopen().unwrap();
        put(&mut machine, 0..3, 5000);
        for (copy, run) in &copies {
            log_refused(&mixed(machine.flash(), copy, is_log), tiny(), &format!("seed {seed}: a log of run {run}"));
            refused(
                &mixed(machine.flash(), copy, is_manifest),
                tiny(),
                &format!("seed {seed}: a manifest of run {run}"),
            );
            // A segment never changes, but for what is given back to the device.
            for (file, _) in contents(machine.flash(), |file| matches!(file, FileId::Segment(_))) {
                if copy.list().unwrap().iter().any(|(copied, _)| *copied == file) {
                    let flash = mixed(machine.flash(), copy, |other| other == file);
                    let opened = Machine::on(flash, tiny(), seed, machine.oracle().clone());
                    opened.unwrap().restart().check().unwrap();
                }
            }
        }
        machine.restart().after_power_cut(PowerCut::Torn, seed).unwrap();
    });
}

#[test]
fn an_opening_takes_one_sync_for_its_page_and_a_put_none() {
    let mut machine = Machine::new(tiny(), 8).unwrap();
    put(&mut machine, 0..3, 0);
    machine.restart().stop();
    machine.restart().reopen().unwrap();
    let before = machine.flash().counters();
    for number in 0..5 {
        machine.put(format!("key-{number}").as_bytes(), b"1").unwrap();
    }
    let after = machine.flash().counters();
    assert_eq!((after.syncs - before.syncs, after.writes - before.writes), (5, 5), "a sync for each put, as always");

    machine.restart().stop();
    let before = machine.flash().counters();
    machine.restart().reopen().unwrap();
    let after = machine.flash().counters();
    // The manifest that was found is synced, then the page, then the new manifest.
    assert_eq!((after.syncs - before.syncs, after.writes - before.writes), (3, 2));
}

#[test]
fn extras_are_kept_over_openings_that_are_cut_short() {
    let mut machine = Machine::new(tiny(), 9).unwrap();
    for round in 0..40 {
        machine.issue_put(b"key", &value(round, 60), Extras::default()).unwrap();
        machine.sync_log();
        machine.restart().after_two_power_cuts(PowerCut::Torn, round, round % 9).unwrap();
    }
}
