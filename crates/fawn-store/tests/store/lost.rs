//! Merges over pages that cannot be read: what was in them is lost and told, and nothing else is; what is written anew heals.

use std::collections::BTreeSet;

use fawn_ring::Interval;
use fawn_sim::random::Random;
use fawn_sim::store::{Extras, Failure, Machine};
use fawn_store::check::check;
use fawn_store::flash::{FileId, Flash};
use fawn_store::manifest::VERSION;
use fawn_store::page::{PAGE_BYTES, PageBuf};
use fawn_store::segment::Footer;
use fawn_store::{Options, Trouble};

use crate::common::{for_seeds, number, tiny, value};

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
        match machine.get_unchecked(&name) {
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

/// Merges until nothing fails any more: what the device does not read is taken for lost when it has not for a while.
fn compact_over_damage(machine: &mut Machine) {
    for _ in 0..20 {
        let failures = machine.stats().merge_failures;
        compact(machine);
        if machine.stats().merge_failures == failures {
            break;
        }
    }
}

#[test]
fn merges_carry_damage_on_and_what_is_written_anew_heals_it() {
    let lost = std::sync::atomic::AtomicU64::new(0);
    for_seeds("damage under merges", 0, number("FAWN_LOST_SEEDS", 300), |seed| {
        let mut random = Random::new(seed);
        let drain = *random.pick(&[Some(true), Some(false)]);
        let mut machine = store(Options { drain, miss_filter: random.below(3) == 0, ..tiny() }, &mut random);
        let pages = data_pages(&machine);
        // What the device does not read may pass; bytes that are wrong do not.
        let fails = random.below(3) == 0;
        for _ in 0..=random.below(3) {
            damage(&machine, *random.pick(&pages), fails, &mut random);
        }
        let before = unreadable(&mut machine);
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
        assert_eq!(unreadable(&mut machine), before);

        compact_over_damage(&mut machine);
        let stats = machine.stats();
        assert!(fails || stats.merge_failures == 0, "{stats:?}");
        let after = unreadable(&mut machine);
        assert!(after.is_subset(&before), "more is lost: {:?}", after.difference(&before));
        let told: u64 = std::iter::from_fn(|| machine.store().take_trouble())
            .map(|trouble| match trouble {
                Trouble::Lost(lost) => lost.records,
                Trouble::CannotMerge(_) if fails => 0,
                other => panic!("{other}"),
            })
            .sum();
        assert_eq!(told, stats.lost_records);
        assert!(after.len() as u64 <= told, "{after:?} are lost, and {told} are told");
        lost.fetch_add(after.len() as u64, std::sync::atomic::Ordering::Relaxed);
        machine.flash().clear_faults();
        // Once it was merged, the damage is only in the records that say so.
        let found = check(machine.flash(), |_, _| {}).unwrap();
        assert!(found.lost >= after.len() as u64 && (found.lost == 0) == found.damage.is_empty(), "{found:?}");
        let scanned = machine.scan(Interval::ALL, 1 << 20);
        assert_eq!(scanned.is_err(), found.lost > 0, "a scan passes over nothing in silence: {scanned:?}");

        // They are carried on from merge to merge, and over a restart.
        compact(&mut machine);
        machine.clean_stop();
        machine.reopen().unwrap();
        machine.settle();
        assert_eq!(unreadable(&mut machine), after);
        assert_eq!(machine.stats().lost_records, 0, "they were told before");

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
    assert_eq!(version(&machine), VERSION - 1, "older releases read it");
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

#[test]
fn what_the_device_fails_to_read_for_a_while_is_not_lost() {
    let mut random = Random::new(8);
    let mut machine = store(Options { drain: Some(true), ..tiny() }, &mut random);
    let pages = data_pages(&machine);
    for page in &pages {
        damage(&machine, *page, true, &mut random);
    }
    for _ in 0..4 {
        compact(&mut machine);
    }
    let stats = machine.stats();
    assert!(stats.merge_failures > 4 && stats.lost_records == 0, "{stats:?}");
    machine.flash().clear_faults();
    compact(&mut machine);
    assert_eq!(unreadable(&mut machine), BTreeSet::new());
    assert_eq!(check(machine.flash(), |_, _| {}).unwrap().lost, 0);
}

#[test]
fn a_device_that_fails_at_many_pages_fails_the_merge_and_loses_nothing() {
    let mut machine = Machine::new(Options { slices: 1, slice_bytes: 1 << 20, ..tiny() }, 5).unwrap();
    for key in 0..200 {
        machine.issue_put(&name(key), &value(key, 2000), Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
    compact(&mut machine);
    let pages = data_pages(&machine);
    assert!(pages.len() > 90);
    for (file, page) in pages {
        machine.flash().make_unreadable(file, page..page + 1);
    }
    compact_over_damage(&mut machine);
    let stats = machine.stats();
    assert!(stats.merge_failures > 0 && stats.lost_records == 0, "{stats:?}");
    assert!(matches!(machine.store().take_trouble(), Some(Trouble::CannotMerge(_))));
    machine.flash().clear_faults();
    machine.settle();
    assert_eq!(unreadable(&mut machine), BTreeSet::new());
}
