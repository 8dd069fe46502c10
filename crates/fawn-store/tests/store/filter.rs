//! Filters over the bases of a drained store.

use fawn_store::{Ack, Options, Stats};

use crate::bare::Bare;
use crate::common::tiny_with;

const RECORDS: u64 = 100_000;
/// Absent keys that are asked for.
const ABSENT: u64 = 20_000;

/// Room for all filters, or not, by the memory.
fn options(memory: u64) -> Options {
    Options {
        segment_bytes: 32 << 10,
        log_pages: 64,
        slices: 4,
        slice_bytes: 1 << 20,
        memory,
        drain: Some(true),
        miss_filter: true,
        ..tiny_with(Ack::Memory)
    }
}

const ROOM: u64 = 2 << 20;

fn name(n: u64) -> Vec<u8> {
    format!("key-{n}").into_bytes()
}

fn loaded(memory: u64) -> Bare {
    let mut bare = Bare::new(options(memory));
    for n in 0..RECORDS {
        bare.put(&name(n), &n.to_le_bytes());
    }
    bare.seal();
    bare.store.compact();
    bare.settle();
    bare
}

/// Every seventh key has the value `n + added`, with one read each.
fn check_present(bare: &mut Bare, added: u64) {
    let before = bare.store.stats();
    let asked: Vec<u64> = (0..RECORDS).step_by(7).collect();
    for n in &asked {
        let found = bare.get(&name(*n)).unwrap_or_else(|| panic!("key-{n} is gone: {:?}", bare.store.stats()));
        assert_eq!(found.0, (n + added).to_le_bytes(), "key-{n}");
    }
    let (reads, gets) = (bare.store.stats().reads.reads - before.reads.reads, asked.len() as u64);
    assert!(reads <= gets + gets / 100, "{reads} reads for {gets} gets");
}

/// Reads that an absent key takes on average.
fn reads_an_absent_key(bare: &mut Bare) -> f64 {
    let before = bare.store.stats();
    for n in 0..ABSENT {
        assert_eq!(bare.get(format!("absent-{n}").as_bytes()), None);
    }
    let after = bare.store.stats();
    let judged = (after.reads.filter_refused + after.reads.filter_passed)
        - (before.reads.filter_refused + before.reads.filter_passed);
    assert!(judged <= ABSENT, "no lookup is judged twice");
    (after.reads.reads - before.reads.reads) as f64 / ABSENT as f64
}

fn has_all_filters(stats: &Stats) {
    assert!(stats.index.draining && stats.index.phi < 0.3, "{stats:?}");
    let bytes = stats.index.filter_bytes as f64 / RECORDS as f64;
    assert!((1.0..1.45).contains(&bytes), "{bytes} bytes a record: {stats:?}");
    assert!(stats.index.bytes >= stats.index.filter_bytes + stats.index.directory_bytes, "{stats:?}");
    assert!(stats.index.bytes <= stats.index.limit * 9 / 8, "{stats:?}");
}

#[test]
fn an_absent_key_costs_next_to_no_read_and_a_present_one_the_one_that_it_did() {
    let mut bare = loaded(ROOM);
    has_all_filters(&bare.store.stats());
    check_present(&mut bare, 0);
    assert!(reads_an_absent_key(&mut bare) < 0.007, "{:?}", bare.store.stats());
    let stats = bare.store.stats();
    assert!(stats.reads.filter_refused > ABSENT * 99 / 100 && stats.reads.filter_passed > 20, "{stats:?}");
    // What is overwritten, deleted and new is newer than the filters, or what they are built of.
    for n in 0..RECORDS {
        bare.put(&name(n), &(n + 1).to_le_bytes());
    }
    bare.seal();
    has_all_filters(&bare.store.stats());
    check_present(&mut bare, 1);
    assert!(reads_an_absent_key(&mut bare) < 0.01, "{:?}", bare.store.stats());
    let mut without = Bare::on(bare.flash, Options { miss_filter: false, ..options(ROOM) });
    without.settle();
    assert!(reads_an_absent_key(&mut without) > 0.99);
    let stats = without.store.stats();
    assert_eq!((stats.index.filter_bytes, stats.reads.filter_refused, stats.reads.filter_passed), (0, 0, 0));
}

#[test]
fn reads_of_absent_keys_count_for_no_hit() {
    let mut bare = Bare::new(Options { miss_filter: false, ..options(ROOM) });
    for n in 0..RECORDS {
        bare.put(&name(n), &n.to_le_bytes());
    }
    bare.seal();
    bare.store.compact();
    bare.settle();
    let before = bare.store.stats();
    assert!(reads_an_absent_key(&mut bare) > 0.99);
    let after = bare.store.stats();
    assert_eq!((after.reads.hits, after.reads.hit_reads), (before.reads.hits, before.reads.hit_reads));
    check_present(&mut bare, 0);
    let after = bare.store.stats();
    let (hits, reads) = (after.reads.hits - before.reads.hits, after.reads.hit_reads - before.reads.hit_reads);
    assert!(hits > RECORDS / 8 && reads >= hits && reads <= hits + hits / 100, "{reads} reads of {hits} hits");
}

#[test]
fn a_restart_builds_the_filters_again_without_writing() {
    let bare = loaded(ROOM);
    let mut bare = Bare::on(bare.flash, options(ROOM));
    bare.settle();
    let stats = bare.store.stats();
    has_all_filters(&stats);
    assert_eq!(stats.maintenance.merges, 0);
    check_present(&mut bare, 0);
    assert!(reads_an_absent_key(&mut bare) < 0.007, "{:?}", bare.store.stats());
    // Where everything is indexed, there is no base.
    let mut bare = Bare::on(bare.flash, Options { drain: Some(false), ..options(16 << 20) });
    bare.settle();
    assert_eq!(bare.store.stats().index.filter_bytes, 0);
    assert!(reads_an_absent_key(&mut bare) < 0.01);
}

#[test]
fn the_halves_of_a_slice_share_its_filter_and_its_bytes_count_once() {
    let mut bare = loaded(ROOM);
    let before = bare.store.stats();
    for n in 0..40 {
        let at = bare.store.options().secret.position(&name(n));
        bare.store.split_range(at);
        bare.settle();
    }
    let stats = bare.store.stats();
    assert_eq!(stats.index.slices, before.index.slices + 40);
    // Each slice's part is rounded up.
    assert!(stats.index.filter_bytes - before.index.filter_bytes <= stats.index.slices, "{before:?}, {stats:?}");
    check_present(&mut bare, 0);
    assert!(reads_an_absent_key(&mut bare) < 0.007, "{stats:?}");
    bare.store.compact();
    bare.settle();
    has_all_filters(&bare.store.stats());
    check_present(&mut bare, 0);
    assert!(reads_an_absent_key(&mut bare) < 0.007, "{stats:?}");
}

#[test]
fn a_slice_whose_newest_parts_alone_are_merged_keeps_its_filter() {
    let mut bare = loaded(ROOM);
    let before = bare.store.stats();
    for round in 0..400u64 {
        bare.put(&name(3), &round.to_le_bytes());
        bare.seal();
    }
    let stats = bare.store.stats();
    assert!(stats.maintenance.merges > before.maintenance.merges, "the slots of one key pile up: {stats:?}");
    has_all_filters(&stats);
    assert!(reads_an_absent_key(&mut bare) < 0.01, "{stats:?}");
    assert_eq!(bare.get(&name(3)).unwrap().0, 399u64.to_le_bytes());
}

#[test]
fn where_memory_has_no_room_for_all_filters_slices_go_without_and_puts_go_on() {
    // A quarter of it is the index's: a byte a record, of which tables and directories take half.
    let mut bare = loaded(400 << 10);
    for added in [0, 1] {
        let stats = bare.store.stats();
        assert!(
            stats.index.filter_bytes > 0 && stats.index.filter_bytes < RECORDS * 9 / 10,
            "some have one: {stats:?}"
        );
        assert!(stats.index.bytes <= stats.index.limit * 9 / 8, "{stats:?}");
        check_present(&mut bare, added);
        let reads = reads_an_absent_key(&mut bare);
        assert!((0.1..0.95).contains(&reads), "{reads} reads an absent key: {stats:?}");
        for n in 0..RECORDS {
            bare.put(&name(n), &(n + 1).to_le_bytes());
        }
        bare.seal();
    }
    let mut again = Bare::on(bare.flash, options(400 << 10));
    again.settle();
    let stats = again.store.stats();
    assert!(stats.index.bytes <= stats.index.limit * 9 / 8, "{stats:?}");
    assert!(stats.index.filter_bytes > 0 && stats.index.filter_bytes < RECORDS * 9 / 10, "some have one: {stats:?}");
    check_present(&mut again, 1);
}

#[test]
fn a_store_drains_at_the_size_at_which_it_would_without_filters() {
    let passes_at = |miss_filter| {
        let mut bare = Bare::new(Options { drain: None, miss_filter, ..options(1 << 20) });
        let passed = (0..RECORDS).find(|n| {
            bare.put(&name(*n), &n.to_le_bytes());
            n % 64 == 0 && bare.store.stats().index.draining
        });
        passed.expect("the memory cannot index all")
    };
    assert_eq!(passes_at(true), passes_at(false));
}
