//! A store with too little DRAM to index every record.

use fawn_sim::flash::SimFlash;
use fawn_store::flash::Flash;
use fawn_store::page::PageBuf;
use fawn_store::{Ack, FinishedRead, Lookup, Options, Read, Stats};

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
    assert!(
        after.reads.reads - before.reads.reads <= gets + gets / 100,
        "{} reads for {gets} gets",
        after.reads.reads - before.reads.reads
    );
}

fn is_small(stats: &Stats) {
    assert!(stats.index.draining && stats.index.phi < 0.3, "{stats:?}");
    assert!(stats.index.bytes <= stats.index.limit * 9 / 8, "{stats:?}");
    assert!(stats.index.bytes < RECORDS, "under a byte a record: {stats:?}");
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
            assert!(stats.index.bytes <= stats.index.limit * 9 / 8, "the index is held small under puts: {stats:?}");
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
    assert!(
        !stats.index.draining && stats.index.phi > 0.999_999 && stats.maintenance.merges == 0,
        "everything is indexed: {stats:?}"
    );
    check(&mut bare, 11, 0);
    let before = bare.store.stats().reads.reads;
    for n in 0..1000 {
        assert_eq!(bare.get(format!("absent-{n}").as_bytes()), None);
    }
    let stats = bare.store.stats();
    assert!(stats.reads.reads - before < 20, "an absent key costs no read where all is indexed: {stats:?}");
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
        if passed.is_none() && n % 64 == 0 && bare.store.stats().index.draining {
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
    assert!(!stats.index.draining && stats.index.phi > 0.999_999, "what is left is indexed whole: {stats:?}");
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
    assert_eq!((bare.store.stats().entries, bare.store.stats().sealed.records), (0, 0));
}

#[test]
fn what_is_written_again_after_a_flush_counts_once() {
    let mut bare = loaded();
    bare.store.flush_all(0, NOW).unwrap();
    for n in 0..RECORDS / 2 {
        bare.put(&name(n), &n.to_le_bytes());
    }
    bare.seal();
    let entries = bare.store.stats().entries;
    assert!(entries.abs_diff(RECORDS / 2) < RECORDS / 20, "{entries} of {}", RECORDS / 2);
}

/// A get of a record that is under way, and its number.
type Planned = (u64, Read);

/// Begins a get of `key-n`; `None` when DRAM answers it.
fn plan(bare: &mut Bare, n: u64) -> Option<Planned> {
    let (key, name) = (bare.store.options().secret.position(&name(n)), name(n));
    match bare.store.lookup(&key, &name, NOW) {
        Lookup::Read(read) => Some((n, read)),
        _ => None,
    }
}

/// Carries gets out that were planned before: each finds its record.
fn carry_out(bare: &mut Bare, planned: Vec<Planned>) {
    for (n, mut read) in planned {
        let (key, name) = (bare.store.options().secret.position(&name(n)), name(n));
        loop {
            let mut pages = PageBuf::zeroed(read.count as usize);
            bare.flash.read(read.file, read.first, pages.pages_mut()).expect("pages under a reader stay");
            match bare.store.finish(read, pages.pages_mut(), &key, &name, NOW) {
                FinishedRead::Found(record) => break assert_eq!(record.value, n.to_le_bytes(), "key-{n}"),
                FinishedRead::Read(next) => read = next,
                other => panic!("key-{n}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_slice_with_a_base_is_cut_and_ranges_are_joined_under_readers() {
    let mut bare = loaded();
    let name_at = |n: u64| name(n * 7919 % RECORDS);
    for n in 0..RECORDS / 20 {
        bare.put(&name_at(n), &(n * 7919 % RECORDS).to_le_bytes());
    }
    bare.seal();
    for round in 0..6 {
        let before = bare.store.stats();
        // Gets that are planned before the cut and carried out after it.
        let planned: Vec<Planned> = (0..400).filter_map(|n| plan(&mut bare, n * 370 + round)).collect();
        assert!(planned.len() > 300, "most are read from flash: {}", planned.len());
        let at = bare.store.options().secret.position(&name(round * 1000));
        bare.store.split_range(at);
        bare.put(b"beside", &round.to_le_bytes());
        bare.settle();
        let stats = bare.store.stats();
        assert!(stats.index.draining && bare.store.ranges().intervals().count() == 2, "{stats:?}");
        assert_eq!((stats.index.slices, stats.index.slices_loaded), (before.index.slices + 1, before.index.slices + 1));
        assert!(
            (stats.index.phi - before.index.phi).abs() < 0.01,
            "both halves have their base: {before:?}, then {stats:?}"
        );
        assert!(stats.entries.abs_diff(before.entries) < RECORDS / 100, "{before:?}, then {stats:?}");
        carry_out(&mut bare, planned);
        check(&mut bare, 97, 0);
        if round % 2 == 1 {
            bare.store.compact();
            bare.settle();
            check(&mut bare, 89, 0);
        }
        let planned: Vec<Planned> = (0..400).filter_map(|n| plan(&mut bare, n * 370 + round)).collect();
        bare.store.merge_ranges(at).unwrap();
        bare.settle();
        assert_eq!(bare.store.ranges().intervals().count(), 1);
        carry_out(&mut bare, planned);
        check(&mut bare, 83, 0);
    }
    is_small(&bare.store.stats());
    let mut bare = Bare::on(bare.flash, options(MEMORY));
    bare.settle();
    check(&mut bare, 13, 0);
}

#[test]
fn merges_are_as_urgent_as_puts_make_them_and_seals_when_somebody_waits() {
    let mut bare = loaded();
    bare.settle();
    assert!(!bare.store.upkeep().is_cleaning());
    assert!(bare.store.urgency() <= 0.0, "nothing is to be done");
    // A merge begins that nobody waits for.
    let mut overwritten = 0;
    while !bare.store.upkeep().is_cleaning() {
        bare.put(&name(overwritten * 7 % RECORDS), b"again");
        overwritten += 1;
        if overwritten % 500 == 0 {
            bare.store.seal().unwrap();
            while !bare.store.upkeep().is_cleaning() && bare.pump() {}
        }
    }
    let (mut least, before) = (1.0f64, bare.store.stats().maintenance.merges);
    while bare.store.upkeep().is_cleaning() && bare.store.stats().maintenance.merges < before + 3 {
        bare.pump();
        least = least.min(bare.store.urgency());
    }
    assert!(least < 0.5, "what merges free is not used: {least}");
    // What puts use of that makes it urgent.
    while !bare.store.upkeep().is_cleaning() || bare.store.urgency() < 0.9 {
        bare.put(&name(overwritten * 7 % RECORDS), b"again");
        overwritten += 1;
        assert!(overwritten < 10 * RECORDS, "{:?}", bare.store.stats());
    }
    bare.settle();
    assert!(bare.store.urgency() <= 0.0);
    // Buffers that are full are urgent, one that is being sealed beside an empty one is not.
    bare.store.seal().unwrap();
    bare.put(&name(0), b"once more");
    bare.store.seal().unwrap();
    assert!(bare.store.urgency() >= 1.0, "two wait for their seals");
    bare.settle();
    assert!(bare.store.urgency() <= 0.0);
    bare.put(&name(0), b"once more");
    bare.store.seal().unwrap();
    assert!(bare.store.urgency() < 0.1, "{}", bare.store.urgency());
    let key = bare.store.options().secret.position(&name(1));
    while bare.store.append(&key, fawn_store::Write::value(&name(1), &[7; 1000]), NOW).is_ok() {}
    assert!(bare.store.urgency() >= 1.0, "a put waits");
}

#[test]
fn the_record_cache_takes_what_indexes_and_buffers_leave_from_the_first_read_on() {
    const BUDGET: u64 = 32 << 20;
    // Three buffers and their indexes: half of the budget.
    let mut bare =
        Bare::new(Options { segment_bytes: 4 << 20, log_pages: 4096, memory: BUDGET, ..tiny_with(Ack::Memory) });
    for n in 0..120_000 {
        bare.put(&name(n), &[7; 150]);
    }
    bare.seal();
    for n in 0..120_000 {
        assert!(bare.get(&name(n)).is_some());
    }
    let stats = bare.store.stats();
    let left = BUDGET - (15 << 20) - stats.index.bytes;
    assert!((left / 2..=left).contains(&stats.cache.bytes), "{} of {left}", stats.cache.bytes);
    // What was taken by the index since, the cache gives back.
    for n in 0..600_000 {
        bare.put(&name(RECORDS + n), b"");
    }
    bare.seal();
    let stats = bare.store.stats();
    let left = BUDGET - (15 << 20) - stats.index.bytes;
    assert!(stats.cache.bytes <= left, "{} of {left}", stats.cache.bytes);
}
