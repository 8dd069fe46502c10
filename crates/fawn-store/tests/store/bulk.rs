//! Bulk loads: power cut at every write point, kills, what is left on the device.

use std::collections::BTreeMap;

use fawn_sim::flash::{PowerCut, SimFlash};
use fawn_sim::store::{Extras, LoadedRecord, Machine, bulk_load};
use fawn_store::Options;
use fawn_store::flash::{FileId, Flash};
use fawn_store::manifest::Manifest;

use crate::common::{for_seeds, number, tiny, value};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A machine that holds some of the keys `0..held`, stopped.
fn stopped(options: &Options, seed: u64, held: u64) -> (Machine, Contents) {
    let mut machine = Machine::new(options.clone(), seed).unwrap();
    let mut old = Contents::new();
    for number in 0..held {
        let (name, value) = (format!("k{number}").into_bytes(), value(number, 30 + number as usize % 300));
        machine.put(&name, &value).unwrap();
        old.insert(name, value);
        if number % 5 == 4 {
            let name = format!("k{}", number - 2).into_bytes();
            machine.delete(&name).unwrap();
            old.remove(&name);
        }
    }
    machine.restart().stop();
    (machine, old)
}

/// A load of the keys `from..to`, some of them twice, some too large to be kept in line.
fn load(from: u64, to: u64) -> (Vec<LoadedRecord>, Contents) {
    let mut records = Vec::new();
    let mut new = Contents::new();
    for (place, number) in (from..to).chain((from..to).step_by(7)).enumerate() {
        let len = if number % 31 == 5 { 5_000 } else { 40 + place % 250 };
        let (name, value) = (format!("k{number}").into_bytes(), value(1_000_000 + place as u64, len));
        new.insert(name.clone(), value.clone());
        records.push(LoadedRecord { name, value, extras: Extras::default() });
    }
    (records, new)
}

fn contents(machine: &mut Machine, names: impl Iterator<Item = Vec<u8>>) -> Contents {
    names.filter_map(|name| machine.restart().get(&name).unwrap().map(|item| (name, item.value.to_vec()))).collect()
}

/// Each slice that the store had before is as before the load or as after it; whether all are as after it.
fn check_slices(machine: &mut Machine, slices: &[fawn_ring::Interval], old: &Contents, new: &Contents) -> bool {
    let merged: Contents = old.clone().into_iter().chain(new.clone()).collect();
    let found = contents(machine, merged.keys().cloned());
    let secret = machine.store().options().secret;
    let mut loaded = 0;
    for slice in slices {
        let of_slice = |all: &Contents| -> Contents {
            let inside = |name: &[u8]| slice.contains(&secret.position(name));
            all.iter().filter(|(name, _)| inside(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let is_new = of_slice(&found) == of_slice(&merged);
        assert!(is_new || of_slice(&found) == of_slice(old), "a slice is as before a load or as after it");
        loaded += usize::from(is_new);
    }
    loaded == slices.len()
}

fn slices_of(flash: &SimFlash) -> Vec<fawn_ring::Interval> {
    let (_, state) = Manifest::open(flash).unwrap();
    state.slices.iter().map(|slice| slice.interval).collect()
}

/// Data files on the device that no manifest lists.
fn strays(flash: &SimFlash) -> Vec<FileId> {
    let (_, state) = Manifest::open(flash).unwrap();
    let is_listed = |file: &FileId| match file {
        FileId::Segment(number) => state.segments.values().any(|segment| segment.file == *number),
        FileId::Value(number) => state.values.contains_key(number),
        FileId::Manifest(_) | FileId::CommitLog => true,
    };
    flash.list().unwrap().into_iter().map(|(file, _)| file).filter(|file| !is_listed(file)).collect()
}

/// Cuts the power at every write point of a load into a store with `held` keys; returns their number.
fn cut_everywhere(options: &Options, seed: u64, held: u64, batch_bytes: usize) -> u64 {
    let (machine, old) = stopped(options, seed, held);
    let (records, new) = load(held / 2, held / 2 + 90);
    let slices = slices_of(machine.flash());
    let now = machine.now();
    for points in 0.. {
        let flash = machine.flash().clone();
        flash.crash_after(points);
        let result = bulk_load(&flash, options, now, &records, batch_bytes);
        if !flash.has_crashed() {
            result.unwrap();
            flash.power_cut(PowerCut::Kept, 0);
            assert_eq!(strays(&flash), [], "a load that is complete leaves nothing behind");
            return points;
        }
        let whole = result.is_ok();
        for (number, cut) in [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn].into_iter().enumerate() {
            let cut_seed = points * 4 + number as u64;
            let left = flash.clone();
            left.power_cut(cut, cut_seed);
            let mut machine = Machine::on(left, options.clone(), cut_seed, machine.oracle().clone())
                .unwrap_or_else(|error| panic!("write point {points}, {cut:?} {cut_seed}: {error}"));
            assert_eq!(strays(machine.flash()), [], "an opening removes what a load left");
            let all = check_slices(&mut machine, &slices, &old, &new);
            assert!(all || !whole, "a load that was complete is there");
            machine.restart().stop();
            let flash = machine.flash().clone();
            bulk_load(&flash, options, now, &records, batch_bytes).unwrap();
            let mut machine = Machine::on(flash, options.clone(), cut_seed, machine.oracle().clone()).unwrap();
            assert!(check_slices(&mut machine, &slices, &old, &new), "a load that is repeated is complete");
            machine.issue_put(b"k1", b"later", Extras::default()).unwrap();
            machine.sync_log();
            let item = machine.restart().get(b"k1").unwrap().unwrap();
            assert_eq!(&*item.value, b"later", "what is written after a load is newer");
        }
    }
    unreachable!("a load ends")
}

#[test]
fn a_power_cut_at_any_point_of_a_load_leaves_each_slice_as_before_or_as_after_and_a_repeat_completes_it() {
    // Into an empty store, over as much, over more than is loaded; with spools and from memory alone.
    let cases = [(0, 2_000), (0, 1 << 20), (90, 2_000), (500, 3_000), (500, 1 << 20)];
    for_seeds("bulk crash", 0, number("FAWN_CRASH_TRACES", 2).min(5) + 2, |seed| {
        let (held, batch_bytes) = cases[seed as usize % cases.len()];
        let points = cut_everywhere(&tiny(), seed, held, batch_bytes);
        assert!(points > 10, "a load of {points} write points shows little");
    });
}

#[test]
fn a_load_that_fits_no_device_is_refused_and_what_was_there_stays() {
    let (machine, old) = stopped(&tiny(), 3, 90);
    let (records, _) = load(0, 2_000);
    let flash = machine.flash().clone();
    flash.set_capacity(flash.used_bytes() + (200 << 10));
    let error = bulk_load(&flash, &tiny(), machine.now(), &records, 20_000).unwrap_err();
    assert!(error.contains("no space left"), "{error}");
    let slices = slices_of(&flash);
    flash.power_cut(PowerCut::Kept, 1);
    flash.set_capacity(u64::MAX);
    let mut machine = Machine::on(flash, tiny(), 1, machine.oracle().clone()).unwrap();
    let (_, new) = load(0, 2_000);
    assert!(!check_slices(&mut machine, &slices, &old, &new), "something was refused");
}

#[test]
fn a_load_over_what_is_there_merges_it_and_one_of_little_does_not_rewrite_much() {
    let options = Options { segment_bytes: 64 << 10, log_pages: 64, slice_bytes: 64 << 10, ..tiny() };
    let (machine, _) = stopped(&options, 4, 2_000);
    let flash = machine.flash().clone();
    let before = flash.counters().pages_written;
    let (few, _) = load(0, 20);
    let built = bulk_load(&flash, &options, machine.now(), &few, 1 << 20).unwrap();
    assert_eq!(built.merged, 0, "a hundredth of what is there is put beside it");
    let written = flash.counters().pages_written - before;
    assert!(written * 4096 < 400_000, "{written} pages for a few records");
    let (many, _) = load(0, 12_000);
    let built = bulk_load(&flash, &options, machine.now(), &many, 200_000).unwrap();
    assert!(built.merged > 0, "what is there is less than what comes");
    let again = bulk_load(&flash, &options, machine.now(), &many, 200_000).unwrap();
    let (_, state) = Manifest::open(&flash).unwrap();
    let (first, second) = (built.written_bytes, again.written_bytes);
    // Slices this small are an eighth footers and directories; some are cut again.
    assert!(second <= first + first / 8, "{first} bytes the first time, and {second} for the same keys once more");
    let parts: Vec<usize> = state.slices.iter().map(|slice| slice.parts.len()).collect();
    // Where a little less came than is there, the run is put beside it.
    let merged = parts.iter().filter(|parts| **parts == 1).count();
    assert!(parts.iter().all(|parts| *parts <= 2) && merged * 4 > parts.len() * 3, "about one run a slice: {parts:?}");
    assert!(state.slices.len() > 20, "slices are divided as they grow");
}

#[test]
fn a_flush_that_was_scheduled_before_a_load_and_is_due_by_then_does_not_hide_it() {
    let mut machine = Machine::new(tiny(), 6).unwrap();
    machine.put(b"before", b"1").unwrap();
    let due = machine.now() + 3;
    machine.flush_all_at(due).unwrap();
    machine.restart().stop();
    let flash = machine.flash().clone();
    let record = |name: &[u8]| LoadedRecord { name: name.to_vec(), value: b"2".to_vec(), extras: Extras::default() };
    bulk_load(&flash, &tiny(), due + 1, &[record(b"loaded")], 1 << 20).unwrap();
    let mut machine = Machine::on(flash, tiny(), 6, machine.oracle().clone()).unwrap();
    machine.advance_clock(10_000);
    assert_eq!(machine.restart().get(b"before").unwrap(), None);
    assert_eq!(&*machine.restart().get(b"loaded").unwrap().unwrap().value, b"2");
}
