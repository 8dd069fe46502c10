//! A store with too little DRAM to index every record.

use fawn_sim::flash::SimFlash;
use fawn_store::{Ack, Options, Stats};

use crate::bare::{Bare, NOW};
use crate::common::tiny_with;

/// Index entries of so many records would take half as much again as all of the memory.
const RECORDS: u64 = 150_000;
const MEMORY: u64 = 512 << 10;

fn options(memory: u64) -> Options {
    Options {
        segment_bytes: 32 << 10,
        log_pages: 64,
        slices: 4,
        slice_bytes: 2 << 20,
        memory,
        ..tiny_with(Ack::Memory)
    }
}

fn name(n: u64) -> Vec<u8> {
    format!("key-{n}").into_bytes()
}

fn loaded() -> Bare {
    let mut bare = Bare::new(options(MEMORY));
    for n in 0..RECORDS {
        bare.put(&name(n), &n.to_le_bytes());
    }
    bare.seal();
    bare
}

/// Every `step`th key has the value `n + added`, with one read each.
fn check(bare: &mut Bare, step: usize, added: u64) {
    let (before, mut gets) = (bare.store.stats(), 0);
    for n in (0..RECORDS).step_by(step) {
        let found = bare.get(&name(n)).unwrap_or_else(|| panic!("key-{n} is gone: {:?}", bare.store.stats()));
        assert_eq!(found.0, (n + added).to_le_bytes(), "key-{n}");
        gets += 1;
    }
    let after = bare.store.stats();
    assert!(after.reads - before.reads <= gets + gets / 100, "{} reads for {gets} gets", after.reads - before.reads);
}

fn is_small(stats: &Stats) {
    assert!(stats.draining && stats.phi < 0.3, "{stats:?}");
    assert!(stats.index_bytes <= stats.index_limit * 9 / 8, "{stats:?}");
    assert!(stats.index_bytes < RECORDS, "under a byte a record: {stats:?}");
}

#[test]
fn records_beyond_what_dram_can_index_are_found_with_one_read_each_and_overwritten() {
    let mut bare = loaded();
    is_small(&bare.store.stats());
    check(&mut bare, 7, 0);
    for n in 0..RECORDS {
        bare.put(&name(n), &(n + 1).to_le_bytes());
        if n % 1000 == 0 {
            let stats = bare.store.stats();
            assert!(stats.index_bytes <= stats.index_limit * 9 / 8, "the index is held small under puts: {stats:?}");
        }
    }
    bare.seal();
    let stats = bare.store.stats();
    is_small(&stats);
    assert!(stats.entries.abs_diff(RECORDS) < RECORDS / 20, "overwrites are told from inserts: {stats:?}");
    check(&mut bare, 7, 1);
    for n in 0..2000 {
        assert_eq!(bare.get(format!("absent-{n}").as_bytes()), None);
    }
}

#[test]
fn a_restart_takes_the_mode_that_its_memory_calls_for_on_the_same_files() {
    let bare = loaded();
    let mut bare = Bare::on(bare.flash, options(MEMORY));
    bare.settle();
    is_small(&bare.store.stats());
    check(&mut bare, 11, 0);
    let mut bare = Bare::on(bare.flash, options(16 << 20));
    bare.settle();
    let stats = bare.store.stats();
    assert!(!stats.draining && stats.phi > 0.999_999 && stats.merges == 0, "everything is indexed: {stats:?}");
    check(&mut bare, 11, 0);
    let before = bare.store.stats().reads;
    for n in 0..1000 {
        assert_eq!(bare.get(format!("absent-{n}").as_bytes()), None);
    }
    let stats = bare.store.stats();
    assert!(stats.reads - before < 20, "an absent key costs no read where all is indexed: {stats:?}");
    let mut bare = Bare::on(bare.flash, options(MEMORY));
    bare.settle();
    is_small(&bare.store.stats());
    check(&mut bare, 11, 0);
}

#[test]
fn a_store_that_outgrows_its_memory_passes_over_and_one_that_shrinks_comes_back() {
    let mut bare = Bare::on(SimFlash::new(1), options(MEMORY));
    let mut passed = None;
    for n in 0..RECORDS {
        bare.put(&name(n), &n.to_le_bytes());
        if passed.is_none() && bare.store.stats().draining {
            passed = Some(n);
        }
    }
    let passed = passed.expect("the memory cannot index all");
    assert!(passed > 20_000, "memory for 60,000 entries is used before: passed over at {passed}");
    bare.seal();
    is_small(&bare.store.stats());
    check(&mut bare, 13, 0);
    for n in 5000..RECORDS {
        bare.delete(&name(n));
    }
    bare.seal();
    bare.store.compact();
    bare.settle();
    let stats = bare.store.stats();
    assert!(!stats.draining && stats.phi > 0.999_999, "what is left is indexed whole: {stats:?}");
    assert!(stats.entries.abs_diff(5000) < 50, "{stats:?}");
    for n in 0..6000 {
        assert_eq!(bare.get(&name(n)).is_some(), n < 5000);
    }
}

#[test]
fn a_flush_leaves_no_keys_while_merges_drop_them() {
    let mut bare = loaded();
    bare.store.flush_all(0, NOW).unwrap();
    assert_eq!(bare.store.stats().entries, 0);
    bare.store.compact();
    while bare.pump() {
        let stats = bare.store.stats();
        assert!(stats.entries < RECORDS / 50, "what is flushed and not merged yet is none: {stats:?}");
    }
    assert_eq!((bare.store.stats().entries, bare.store.stats().sealed_records), (0, 0));
}
