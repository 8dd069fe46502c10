//! Merges over pages that cannot be read: what was in them is lost and told, and nothing else is; what is written anew heals.

use std::collections::BTreeSet;

use fawn_check::random::Random;
use fawn_ring::Interval;
use fawn_sim::store::{Extras, Failure, Machine};
use fawn_store::check::check;
use fawn_store::flash::{FileId, Flash};
use fawn_store::manifest::VERSION;
use fawn_store::page::{PAGE_BYTES, PageBuf};
use fawn_store::record::Record;
use fawn_store::segment::Footer;
use fawn_store::{Options, Refusal, Trouble};

use crate::common::{for_seeds, number, scan_part, tiny, value};

fn name(number: u64) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

/// A store with several versions of most keys in several segments, and with deleted keys.
fn store(options: Options, random: &mut Random) -> Machine {
    let mut machine = Machine::new(options, random.below(1 << 40)).unwrap();
    for round in 0..4 {
        for key in 0..200 {
            let len = random.below(160) as usize;
            match random.below(12) {
                0..5 => {
                    machine.issue_put(&name(key), &value(round * 1000 + key, len), Extras::default()).unwrap();
                }
                5 => {
                    machine.issue_delete(&name(key)).unwrap();
                }
                _ => {}
            }
        }
        if round == 1 && random.below(2) == 0 {
            machine.flush_all().unwrap();
        }
        machine.seal().unwrap();
        machine.settle();
        if random.below(3) == 0 {
            assert!(machine.compact_and_wait());
            machine.settle();
        }
    }
    machine
}

/// The data pages of all segments.
fn data_pages(machine: &Machine) -> Vec<(FileId, u64)> {
    let files = machine.flash().list().unwrap();
    let pages = files.into_iter().filter_map(|(file, pages)| match file {
        FileId::Segment(number) => {
            let footer = Footer::read(machine.flash(), number, pages).unwrap();
            Some((0..footer.data_pages).map(move |page| (file, page)))
        }
        _ => None,
    });
    pages.flatten().collect()
}

/// The device fails to read a page, or reads what is wrong.
fn damage(machine: &Machine, (file, page): (FileId, u64), fails: bool, random: &mut Random) {
    if fails {
        machine.flash().make_unreadable(file, page..page + 1);
    } else {
        machine.flash().flip_bit(file, page * PAGE_BYTES as u64 + random.below(PAGE_BYTES as u64), 3);
    }
}

/// Reads every key: what is told is right. Those that cannot be read.
fn unreadable(machine: &mut Machine) -> BTreeSet<Vec<u8>> {
    let alive = machine.oracle().alive(machine.now());
    let names: Vec<Vec<u8>> = (0..200).map(name).collect();
    let mut unreadable = BTreeSet::new();
    for name in names {
        match machine.restart().get(&name) {
            Ok(found) => assert_eq!(found.as_ref(), alive.get(&name), "{:?}", String::from_utf8_lossy(&name)),
            Err(Failure::Damaged(_) | Failure::Flash(_)) => drop(unreadable.insert(name)),
        }
    }
    unreadable
}

fn compact(machine: &mut Machine) {
    assert!(machine.compact_and_wait());
    machine.settle();
}

fn wait(machine: &mut Machine, seconds: u64) {
    for _ in 0..seconds {
        machine.advance_clock(1000);
        machine.settle();
    }
}

/// Merges until nothing fails any more: what the device does not read is taken for lost when it has not for a while.
fn compact_over_damage(machine: &mut Machine) {
    for _ in 0..20 {
        let failures = machine.stats().maintenance.merge_failures;
        compact(machine);
        if machine.stats().maintenance.merge_failures == failures {
            break;
        }
        wait(machine, 41);
    }
}

#[test]
fn merges_carry_damage_on_and_what_is_written_anew_heals_it() {
    let lost = std::sync::atomic::AtomicU64::new(0);
    for_seeds("damage under merges", 0, number("FAWN_LOST_SEEDS", 120), |seed| {
        let mut random = Random::new(seed);
        let drain = *random.pick(&[Some(true), Some(false)]);
        let mut machine = store(Options { drain, miss_filter: random.below(3) == 0, ..tiny() }, &mut random);
        let pages = data_pages(&machine);
        // What the device does not read may pass; bytes that are wrong do not.
        let fails = random.below(3) == 0;
        for _ in 0..=random.below(3) {
            damage(&machine, *random.pick(&pages), fails, &mut random);
        }
        let (merges, before) = (machine.stats().maintenance.merges, unreadable(&mut machine));
        // What is written meanwhile is newer, be it in the buffers or sealed.
        let rewritten: BTreeSet<Vec<u8>> = before.iter().filter(|_| random.below(4) == 0).cloned().collect();
        for name in &rewritten {
            machine.issue_put(name, b"anew", Extras::default()).unwrap();
        }
        if random.below(2) == 0 {
            machine.seal().unwrap();
            machine.settle();
        }
        let before: BTreeSet<_> = before.difference(&rewritten).cloned().collect();
        let still = unreadable(&mut machine);
        assert!(still.is_subset(&before));
        // A merge finds out of what the damage holds no newest version.
        assert!(still == before || machine.stats().maintenance.merges > merges);

        compact_over_damage(&mut machine);
        let stats = machine.stats();
        assert!(fails || stats.maintenance.merge_failures == 0, "{stats:?}");
        let after = unreadable(&mut machine);
        assert!(after.is_subset(&before), "more is lost: {:?}", after.difference(&before));
        let told: u64 = std::iter::from_fn(|| machine.store().reports().take_trouble())
            .map(|trouble| match trouble {
                Trouble::Lost(lost) => lost.records,
                Trouble::CannotMerge(_) if fails => 0,
                other => panic!("{other}"),
            })
            .sum();
        assert_eq!(told, stats.maintenance.lost_records);
        assert!(after.len() as u64 <= told, "{after:?} are lost, and {told} are told");
        lost.fetch_add(after.len() as u64, std::sync::atomic::Ordering::Relaxed);
        machine.flash().clear_faults();
        // Once it was merged, the damage is only in the records that say so. The scan seals what is in the buffers.
        machine.seal().unwrap();
        machine.settle();
        compact(&mut machine);
        let found = check(machine.flash(), |_, _| {}).unwrap();
        assert!(found.lost >= after.len() as u64 && (found.lost == 0) == found.damage.is_empty(), "{found:?}");
        let scanned = machine.scan(Interval::ALL, 1 << 20);
        assert_eq!(scanned.is_err(), found.lost > 0, "a scan passes over nothing in silence: {scanned:?}");

        // They are carried on from merge to merge, and over a restart.
        compact(&mut machine);
        machine.restart().stop();
        machine.restart().reopen().unwrap();
        machine.settle();
        assert_eq!(unreadable(&mut machine), after);
        assert_eq!(machine.stats().maintenance.lost_records, 0, "they were told before");

        for key in 0..200 {
            if random.below(3) > 0 {
                machine.issue_put(&name(key), &value(key, 50), Extras::default()).unwrap();
            } else {
                machine.issue_delete(&name(key)).unwrap();
            }
        }
        machine.seal().unwrap();
        machine.settle();
        assert_eq!(unreadable(&mut machine), BTreeSet::new());
        compact(&mut machine);
        assert_eq!(unreadable(&mut machine), BTreeSet::new());
        let found = check(machine.flash(), |_, _| {}).unwrap();
        assert_eq!((found.lost, &*found.damage), (0, &[][..]));
        machine.scan(Interval::ALL, 1000).unwrap().unwrap();
    });
    assert!(lost.into_inner() > 0, "something was lost");
}

/// The version of the manifest's newest frame.
fn version(machine: &Machine) -> u16 {
    let files = machine.flash().list().unwrap();
    let newest = files.into_iter().filter(|(file, _)| matches!(file, FileId::Manifest(_))).max();
    let (file, length) = newest.unwrap();
    let mut buffer = PageBuf::zeroed(length as usize);
    machine.flash().read(file, 0, buffer.pages_mut()).unwrap();
    let frames = buffer.pages().iter().filter(|page| page.0[..4] == *b"fwnM");
    let versions = frames.map(|page| u16::from_le_bytes([page.0[8], page.0[9]]));
    versions.max().unwrap()
}

#[test]
fn what_was_lost_before_everything_was_flushed_is_gone() {
    let mut random = Random::new(3);
    let mut machine = store(Options { drain: Some(true), ..tiny() }, &mut random);
    compact(&mut machine);
    let page = data_pages(&machine)[0];
    damage(&machine, page, false, &mut random);
    compact(&mut machine);
    assert_eq!(version(&machine), VERSION, "older releases would not know what was lost");
    assert!(!unreadable(&mut machine).is_empty());
    machine.flush_all().unwrap();
    assert_eq!(unreadable(&mut machine), BTreeSet::new());
    compact(&mut machine);
    assert_eq!(check(machine.flash(), |_, _| {}).unwrap().lost, 0);
}

/// A store of one slice in one segment of more than 90 data pages.
fn store_of_a_segment(seed: u64) -> Machine {
    let options = Options { slices: 1, slice_bytes: 1 << 20, drain: Some(true), ..tiny() };
    let mut machine = Machine::new(options, seed).unwrap();
    for key in 0..200 {
        machine.issue_put(&name(key), &value(key, 2000), Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    compact(&mut machine);
    assert!(data_pages(&machine).len() > 90);
    machine
}

#[test]
fn what_the_device_fails_to_read_is_lost_after_many_merges_and_minutes() {
    // Merges by hand, one a second, beside those that are tried again; seconds to wait; whether anything is lost then.
    for (merges, seconds, is_lost) in [(100, 0, false), (1, 590, false), (1, 640, true)] {
        let mut machine = store_of_a_segment(8);
        let (file, page) = data_pages(&machine)[20];
        machine.flash().make_unreadable(file, page..page + 2);
        for _ in 0..merges {
            compact(&mut machine);
            wait(&mut machine, 1);
        }
        wait(&mut machine, seconds);
        let stats = machine.stats();
        assert!(
            stats.maintenance.merge_failures >= 16 && (stats.maintenance.lost_records > 0) == is_lost,
            "{merges}, {seconds} s: {stats:?}"
        );
        machine.flash().clear_faults();
        compact(&mut machine);
        assert_eq!(unreadable(&mut machine).is_empty(), !is_lost);
    }
}

#[test]
fn a_page_that_was_read_meanwhile_is_not_lost() {
    let mut machine = store_of_a_segment(9);
    let pages = data_pages(&machine);
    let (file, page) = pages[20];
    let fail = |machine: &Machine, page: u64| machine.flash().make_unreadable(file, page..page + 1);
    for round in 0..60 {
        // Each of two pages can be read now and then; at others the device fails by and by.
        machine.flash().clear_faults();
        if round % 12 != 0 {
            fail(&machine, page);
        }
        if round % 12 != 1 {
            fail(&machine, page + 2);
        }
        fail(&machine, page + 4 + round % 40);
        compact(&mut machine);
        wait(&mut machine, 50);
    }
    let stats = machine.stats();
    assert!(stats.maintenance.merge_failures >= 60 && stats.maintenance.lost_records == 0, "{stats:?}");
    machine.flash().clear_faults();
    compact(&mut machine);
    assert_eq!(unreadable(&mut machine), BTreeSet::new());
}

#[test]
fn a_page_that_is_read_while_another_keeps_the_merge_in_doubt_begins_anew() {
    let mut machine = store_of_a_segment(11);
    let (file, _) = data_pages(&machine)[0];
    machine.flash().make_unreadable(file, 10..11);
    for round in 0..17 {
        if round == 8 {
            machine.flash().make_unreadable(file, 50..51);
        }
        compact(&mut machine);
        wait(&mut machine, 40);
    }
    // The one that would be lost by now is read, the other is not.
    machine.flash().clear_faults();
    machine.flash().make_unreadable(file, 50..51);
    compact(&mut machine);
    machine.flash().clear_faults();
    machine.flash().make_unreadable(file, 10..11);
    compact(&mut machine);
    assert_eq!(machine.stats().maintenance.lost_records, 0);
    machine.flash().clear_faults();
    compact(&mut machine);
    assert_eq!(unreadable(&mut machine), BTreeSet::new());
}

#[test]
fn of_many_pages_that_fail_only_those_are_lost_that_always_did() {
    let mut machine = store_of_a_segment(10);
    let (file, _) = data_pages(&machine)[0];
    machine.flash().make_unreadable(file, 10..11);
    compact(&mut machine);
    wait(&mut machine, 595);
    // The merge that takes the page for lost comes upon another one.
    machine.flash().make_unreadable(file, 50..51);
    wait(&mut machine, 10);
    for _ in 0..4 {
        compact(&mut machine);
    }
    assert_eq!(machine.stats().maintenance.lost_records, 0, "it waits for the other");
    machine.flash().clear_faults();
    machine.flash().make_unreadable(file, 10..11);
    compact(&mut machine);
    let lost = machine.stats().maintenance.lost_records;
    assert!((1..=6).contains(&lost), "the records in page 10 alone: {lost}");
    assert_eq!(unreadable(&mut machine).len() as u64, lost);
}

#[test]
fn a_device_that_fails_at_most_pages_loses_nothing_however_long() {
    let mut machine = store_of_a_segment(5);
    for (file, page) in data_pages(&machine) {
        machine.flash().make_unreadable(file, page..page + 1);
    }
    for _ in 0..40 {
        compact(&mut machine);
        wait(&mut machine, 40);
    }
    let stats = machine.stats();
    assert!(stats.maintenance.merge_failures > 30 && stats.maintenance.lost_records == 0, "{stats:?}");
    assert!(matches!(machine.store().reports().take_trouble(), Some(Trouble::CannotMerge(_))));
    machine.flash().clear_faults();
    machine.settle();
    assert_eq!(unreadable(&mut machine), BTreeSet::new());
}

#[test]
fn a_hole_of_many_pages_is_merged_over_and_told_to_the_record() {
    let options = Options { slices: 1, slice_bytes: 4 << 20, drain: Some(true), ..tiny() };
    let mut machine = Machine::new(options, 4).unwrap();
    for key in 0..1000 {
        machine.issue_put(&name(key), &value(key, 1000), Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    compact(&mut machine);
    let pages = data_pages(&machine);
    assert!(pages.len() > 240);
    for (file, page) in &pages[40..140] {
        machine.flash().flip_bit(*file, page * PAGE_BYTES as u64 + 100, 1);
    }
    let before = check(machine.flash(), |_, _| {}).unwrap();
    assert_eq!(before.damage.len(), 100);
    let dumped = all_parts(&mut machine);
    assert_eq!((dumped.0 + dumped.1, dumped.1), (1000, before.lost));
    compact(&mut machine);
    let stats = machine.stats();
    assert_eq!((stats.maintenance.merge_failures, stats.maintenance.lost_records), (0, before.lost));
    let unreadable = (0..1000).filter(|key| machine.restart().get(&name(*key)).is_err()).count();
    assert_eq!(unreadable as u64, before.lost);
    assert_eq!(check(machine.flash(), |_, _| {}).unwrap().lost, before.lost);
}

/// Scans everything in small parts: how many records it finds, and how many it tells as lost.
fn all_parts(machine: &mut Machine) -> (u64, u64) {
    let (mut found, mut lost, mut from) = (0, 0, Interval::ALL);
    loop {
        let part = scan_part(machine, from, 1);
        lost += part.lost.map_or(0, |lost| lost.records);
        let mut bytes = &part.records[..];
        while !bytes.is_empty() {
            bytes = &bytes[Record::decode(bytes).unwrap().1..];
            found += 1;
        }
        match part.next {
            Some(next) => from = Interval::new(next, Interval::ALL.high),
            None => return (found, lost),
        }
    }
}

#[test]
fn an_older_version_that_is_lost_is_not_missed_wherever_a_part_of_a_scan_begins() {
    let options = Options { slices: 1, slice_bytes: 1 << 20, ..tiny() };
    let mut machine = Machine::new(options, 6).unwrap();
    for round in 0..2 {
        for key in 0..20 {
            machine.issue_put(&name(key), &value(round, 300), Extras::default()).unwrap();
        }
        machine.seal().unwrap();
        machine.settle();
    }
    let (file, _) = data_pages(&machine)[0];
    for page in data_pages(&machine).into_iter().filter(|(other, _)| *other == file) {
        machine.flash().flip_bit(page.0, page.1 * PAGE_BYTES as u64 + 100, 1);
    }
    assert_eq!(all_parts(&mut machine), (20, 0), "the newer version of each can be read");
}

#[test]
fn what_cannot_be_merged_keeps_nothing_waiting_on_a_full_device() {
    let options = Options { segment_bytes: 64 << 10, log_pages: 128, slices: 4, slice_bytes: 256 << 10, ..tiny() };
    let mut machine = Machine::new(options, 1).unwrap();
    machine.settle();
    let put = |machine: &mut Machine, key: u64| machine.put(&name(key), &value(key, 900));
    for key in (0..1000).chain(0..1000) {
        put(&mut machine, key).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    compact(&mut machine);
    let merges = machine.stats().maintenance.merges;
    // What one slice holds of the first page that the device fails to read can not be merged; new keys fill the rest.
    let pages = data_pages(&machine);
    machine.flash().make_unreadable(pages[0].0, 0..1);
    let capacity = machine.flash().used_bytes() + (6 << 20);
    machine.flash().set_capacity(capacity);
    // Overwriting makes garbage in all slices, that of the stuck one grows until the device is full.
    let refusal = (0..200_000u64).find_map(|number| put(&mut machine, number % 1000).err());
    assert_eq!(refusal, Some(Refusal::NoSpace), "{:?}", machine.stats());
    let stats = machine.stats();
    assert!(stats.maintenance.merges > merges + 8, "the others were merged meanwhile: {stats:?}");
    assert!(stats.maintenance.merge_failures > 0, "{stats:?}");
    machine.flash().clear_faults();
    wait(&mut machine, 40);
    machine.settle();
    for key in 0..1000 {
        put(&mut machine, key).unwrap();
    }
}

#[test]
fn what_others_have_dropped_keeps_nobody_busy_though_a_stuck_slice_still_holds_it() {
    let options = Options { segment_bytes: 64 << 10, log_pages: 128, slices: 4, slice_bytes: 1 << 20, ..tiny() };
    let mut machine = Machine::new(options, 1).unwrap();
    let expiry = machine.now() + 10;
    for key in 0..3000 {
        let extras = if key < 2500 { Extras { expiry, ..Extras::default() } } else { Extras::default() };
        machine.issue_put(&name(key), &value(key, 900), extras).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    let (file, _) = data_pages(&machine)[0];
    machine.flash().make_unreadable(file, 0..1);
    wait(&mut machine, 100);
    let stats = machine.stats();
    assert!(stats.maintenance.merge_failures > 0 && stats.maintenance.merges >= 3, "{stats:?}");
    let used = machine.flash().used_bytes();
    machine.flash().set_capacity(used);
    wait(&mut machine, 60);
    assert!(machine.stats().maintenance.merges <= stats.maintenance.merges + 4, "{stats:?}: {:?}", machine.stats());
    assert_eq!(machine.put(&name(7), &value(7, 900)).unwrap_err(), Refusal::NoSpace);
    machine.flash().set_capacity(used + (20 << 20));
    machine.advance_clock(1000);
    machine.settle();
    for key in 5000..7000 {
        machine.put(&name(key), &value(key, 900)).unwrap();
    }
    machine.flash().clear_faults();
    wait(&mut machine, 40);
    assert!(machine.stats().live_bytes < 3 << 20, "{:?}", machine.stats());
}
