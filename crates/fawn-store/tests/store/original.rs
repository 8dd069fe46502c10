//! What the 2010 release of FAWN got wrong, row by row; this store must not.

use fawn_ring::{Interval, Key};
use fawn_sim::flash::{Operation, PowerCut};
use fawn_sim::store::{Extras, Machine};
use fawn_store::flash::{FileId, Flash};

use crate::common::{machine, tiny, value};

fn put_all(machine: &mut Machine, prefix: &str, numbers: std::ops::Range<u64>, len: usize) {
    for number in numbers {
        machine.put(format!("{prefix}{number}").as_bytes(), &value(number, len)).unwrap();
    }
}

/// "No fsync anywhere; a kill after a checkpoint loses every later put, and new puts overwrite them."
#[test]
fn a_kill_after_a_seal_loses_no_later_put_and_new_puts_overwrite_none() {
    let mut machine = machine(1);
    put_all(&mut machine, "before", 0..200, 80);
    machine.seal().unwrap();
    machine.settle();
    put_all(&mut machine, "after", 0..20, 80);
    machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap();
    put_all(&mut machine, "new", 0..20, 80);
    machine.restart().after_power_cut(PowerCut::Lost, 0).unwrap();
    for (prefix, count) in [("before", 200), ("after", 20), ("new", 20)] {
        for number in 0..count {
            let found = machine.get(format!("{prefix}{number}").as_bytes()).unwrap();
            assert_eq!(&*found.expect("every acknowledged put is there").value, value(number, 80));
        }
    }
}

/// "Checkpoint overwritten in place; old file unlinked before the new one is renamed."
#[test]
fn the_manifest_is_replaced_atomically_and_a_whole_one_is_there_at_every_moment() {
    let mut replaced = false;
    for points in 0..400 {
        let mut machine = machine(2);
        put_all(&mut machine, "key", 0..60, 80);
        machine.restart().stop();
        machine.flash().start_trace();
        machine.flash().crash_after(points);
        if machine.restart().reopen().is_ok() {
            for number in 0..60u64 {
                if machine.issue_put(&number.to_le_bytes(), &[1; 100], Extras::default()).is_err() {
                    break;
                }
                (0..10).for_each(|_| machine.turn());
            }
        }
        if !machine.is_down() {
            assert!(replaced, "a manifest was replaced in the course of the trace");
            return;
        }
        let is_manifest = |operation: &Operation| matches!(operation, Operation::Remove { file: FileId::Manifest(_) });
        replaced |= machine.flash().take_trace().iter().any(is_manifest);
        for (seed, cut) in [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn, PowerCut::Torn].into_iter().enumerate() {
            machine
                .fork_after_power_cut(cut, seed as u64)
                .unwrap_or_else(|why| panic!("write point {points}, {cut:?} {seed}: {why}"));
        }
    }
    panic!("the trace has fewer than 400 write points");
}

/// "The index cannot grow: puts are refused from 42 % load."
#[test]
fn the_index_grows_from_a_few_keys_to_many_and_refuses_none() {
    let mut options = tiny();
    (options.slices, options.slice_bytes) = (1, 64 << 20);
    let mut machine = Machine::new(options, 3).unwrap();
    for number in 0..20_000u64 {
        machine.issue_put(format!("key-{number}").as_bytes(), b"v", Extras::default()).unwrap();
        machine.turn();
    }
    machine.seal().unwrap();
    machine.settle();
    let stats = machine.stats();
    assert!(stats.index.slots >= 20_000, "{stats:?}");
    for number in 0..20_000u64 {
        assert!(machine.get(format!("key-{number}").as_bytes()).unwrap().is_some(), "key-{number}");
    }
}

/// "One key inserted and deleted 2,048 times fills a table."
#[test]
fn one_key_inserted_and_deleted_2048_times_takes_no_more_room_than_once() {
    let mut machine = machine(4);
    put_all(&mut machine, "other", 0..50, 20);
    machine.seal().unwrap();
    machine.settle();
    let before = machine.stats();
    for round in 0..2048u64 {
        machine.put(b"key", &value(round, 30)).unwrap();
        assert!(machine.delete(b"key").unwrap());
    }
    machine.settle();
    assert_eq!(machine.get(b"key").unwrap(), None);
    let after = machine.stats();
    let bound = before.index.slots + (after.maintenance.seals - before.maintenance.seals);
    assert!(after.index.slots <= bound, "a seal adds one slot for the key at most: {} of {bound}", after.index.slots);
    machine.seal().unwrap();
    assert!(machine.compact_and_wait());
    machine.settle();
    assert_eq!(machine.stats().index.slots, 50, "a merge leaves nothing of the key");
    machine.put(b"key", b"at last").unwrap();
    put_all(&mut machine, "other", 0..50, 20);
}

/// "Lookup compares no key lengths: a key that is a prefix of another reads the other's value."
#[test]
fn a_key_that_is_a_prefix_of_another_never_reads_the_others_value() {
    let mut machine = machine(5);
    let name = vec![b'a'; 250];
    for len in (2..=250).step_by(2) {
        machine.put(&name[..len], &value(len as u64, 40)).unwrap();
    }
    for round in 0..3 {
        for len in 1..=250usize {
            let found = machine.get(&name[..len]).unwrap().map(|item| item.value.to_vec());
            assert_eq!(found, (len % 2 == 0).then(|| value(len as u64, 40)), "round {round}, length {len}");
        }
        match round {
            0 => machine.seal().unwrap(),
            _ => assert!(machine.compact_and_wait()),
        }
        machine.settle();
    }
}

/// "Compaction never starts by itself."
#[test]
fn compaction_starts_by_itself_and_keeps_space_within_twice_the_live_data() {
    let mut options = tiny();
    (options.segment_bytes, options.slice_bytes, options.log_pages) = (32 << 10, 64 << 10, 32);
    let mut machine = Machine::new(options, 6).unwrap();
    machine.settle();
    let live = 2000 * 256;
    for round in 0..12u64 {
        for number in 0..2000u64 {
            machine.issue_put(format!("key-{number:04}").as_bytes(), &value(round, 220), Extras::default()).unwrap();
            (0..2).for_each(|_| machine.turn());
        }
    }
    machine.settle();
    let stats = machine.stats();
    assert!(stats.maintenance.merges > 0, "nobody asked for a merge");
    let files = machine.flash().list().unwrap();
    let segments = files.iter().filter(|(file, _)| matches!(file, FileId::Segment(_))).count();
    assert!(stats.sealed.bytes < 2 * live, "{segments} segments hold {} bytes for {live} live", stats.sealed.bytes);
    let on_flash = machine.flash().used_bytes();
    let fixed = 2 * (1 << 20) + (32 << 12);
    assert!(on_flash < 2 * live + live / 2 + fixed, "{on_flash} bytes on flash for {live} live");
}

/// "Compaction … drops the range bounds."
#[test]
fn compaction_and_restarts_keep_the_bounds_of_ranges_and_slices() {
    let mut machine = machine(7);
    put_all(&mut machine, "key", 0..300, 80);
    for number in [3u64, 77, 150] {
        machine.split_range(format!("key{number}").as_bytes());
        machine.settle();
    }
    let bounds = |machine: &mut Machine| machine.store().ranges().intervals().collect::<Vec<Interval>>();
    let before = bounds(&mut machine);
    assert_eq!(before.len(), 4);
    assert!(machine.compact_and_wait());
    assert_eq!(bounds(&mut machine), before);
    machine.restart().after_clean_stop().unwrap();
    assert_eq!(bounds(&mut machine), before);
    machine.restart().after_power_cut(PowerCut::Torn, 1).unwrap();
    assert_eq!(bounds(&mut machine), before);
    assert_eq!((before[0].low, before[3].high), (Key::MIN, Key::MAX));
    for interval in before {
        machine.scan(interval, 1000).unwrap().unwrap();
    }
}

/// "Compaction … frees a store under its readers."
#[test]
fn compaction_frees_nothing_under_a_reader() {
    let mut machine = machine(8);
    put_all(&mut machine, "key", 0..200, 100);
    machine.seal().unwrap();
    machine.restart().stop();
    machine.restart().reopen().unwrap();
    machine.settle();
    // Readers that have planned their read and are slow to carry it out.
    let mut held = Vec::new();
    let now = machine.now();
    for number in 0..200u64 {
        let name = format!("key{number}").into_bytes();
        let key = machine.store().options().secret.position(&name);
        match machine.store().lookup(&key, &name, now) {
            fawn_store::Lookup::Read(read) => held.push((name, key, value(number, 100), read)),
            other => panic!("a sealed record is read from flash: {other:?}"),
        }
    }
    for round in 0..5u64 {
        for number in 0..200u64 {
            machine.issue_put(format!("key{number}").as_bytes(), &value(1000 + round, 100), Extras::default()).unwrap();
            machine.turn();
        }
        assert!(machine.compact_and_wait());
    }
    let space_held = machine.flash().used_bytes();
    for (name, key, old, read) in held {
        let mut pages = fawn_store::page::PageBuf::zeroed(read.count as usize);
        machine.flash().read(read.file, read.first, pages.pages_mut()).expect("pages under a reader stay");
        match machine.store().finish(read, pages.pages_mut(), &key, &name, now) {
            fawn_store::FinishedRead::Found(record) => {
                assert_eq!(record.value, old, "the version that was newest then");
            }
            other => panic!("{other:?}"),
        }
    }
    machine.settle();
    assert!(machine.flash().used_bytes() < space_held, "once the readers are gone, so are the files");
}

/// "Split fails after a delete of an out-of-range key."
#[test]
fn a_range_splits_after_deletes_of_keys_that_are_not_there_or_not_in_it() {
    let mut machine = machine(9);
    put_all(&mut machine, "key", 0..100, 50);
    machine.split_range(b"key50");
    machine.settle();
    for number in 0..100u64 {
        assert!(machine.delete(format!("absent{number}").as_bytes()).unwrap());
    }
    machine.split_range(b"absent7");
    machine.split_range(b"absent70");
    machine.settle();
    assert_eq!(machine.store().ranges().intervals().count(), 4);
    machine.seal().unwrap();
    machine.split_range(b"key3");
    machine.settle();
    assert!(machine.compact_and_wait());
    machine.merge_some_ranges();
    machine.settle();
    assert_eq!(machine.store().ranges().intervals().count(), 4);
    machine.restart().after_power_cut(PowerCut::Torn, 0).unwrap();
    assert_eq!(machine.store().ranges().intervals().count(), 4);
    for number in 0..100u64 {
        assert!(machine.get(format!("key{number}").as_bytes()).unwrap().is_some());
        assert_eq!(machine.get(format!("absent{number}").as_bytes()).unwrap(), None);
    }
}

/// "Not-found and empty value look the same."
#[test]
fn not_found_and_an_empty_value_differ_everywhere() {
    let mut machine = machine(10);
    machine.put(b"empty", b"").unwrap();
    let check = |machine: &mut Machine| {
        assert_eq!(machine.get(b"empty").unwrap().expect("an empty value is found").value.len(), 0);
        assert_eq!(machine.get(b"absent").unwrap(), None);
    };
    check(&mut machine);
    machine.seal().unwrap();
    machine.settle();
    check(&mut machine);
    machine.restart().after_clean_stop().unwrap();
    check(&mut machine);
    assert!(machine.compact_and_wait());
    check(&mut machine);
    let scanned = machine.scan(Interval::ALL, 1000).unwrap().unwrap();
    assert_eq!(scanned.len(), 1);
}

/// "Three system calls a get where one would do."
#[test]
fn a_get_of_a_sealed_record_is_one_read_of_the_device() {
    let mut machine = machine(11);
    put_all(&mut machine, "key", 0..500, 100);
    machine.seal().unwrap();
    machine.restart().stop();
    machine.restart().reopen().unwrap();
    machine.settle();
    let before = machine.flash().counters();
    for number in 0..500u64 {
        assert!(machine.get(format!("key{number}").as_bytes()).unwrap().is_some());
    }
    let reads = machine.flash().counters().reads - before.reads;
    assert!((490..=510).contains(&reads), "{reads} reads for 500 gets");
}
