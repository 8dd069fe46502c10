//! Scans in many small parts: each goes on where the last one ended, whatever comes between.

use std::collections::BTreeMap;

use fawn_ring::Interval;
use fawn_sim::store::{Extras, Machine};
use fawn_store::Options;
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::PAGE_BYTES;
use fawn_store::record::Record;

use crate::common::{for_seeds, tiny, value};

const KEYS: u64 = 800;

fn name(number: u64) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

/// Seals a segment with this version of every key for which `is_in`.
fn put_all(machine: &mut Machine, version: u64, is_in: impl Fn(u64) -> bool) {
    for key in (0..KEYS).filter(|key| is_in(*key)) {
        machine.issue_put(&name(key), &value(version, 100), Extras::default()).unwrap();
    }
    machine.seal().unwrap();
    machine.settle();
}

/// Scans everything in parts of at least `bytes`, with `between` after each; key, value and how often.
fn scan(
    machine: &mut Machine,
    bytes: usize,
    mut between: impl FnMut(&mut Machine),
) -> BTreeMap<Vec<u8>, (Vec<u8>, u32)> {
    let (mut found, mut keys) = (BTreeMap::new(), Interval::ALL);
    loop {
        let now = machine.now();
        machine.store().scan(keys, bytes, now);
        let mut part = None;
        assert!(machine.turn_until(|machine| {
            part = part.take().or_else(|| machine.store().take_scanned());
            part.is_some()
        }));
        let part = part.unwrap();
        assert_eq!(part.error, None);
        let mut records = &part.records[..];
        while !records.is_empty() {
            let (record, len) = Record::decode(records).unwrap();
            let entry = found.entry(record.key.to_vec()).or_insert((Vec::new(), 0));
            *entry = (record.value.to_vec(), entry.1 + 1);
            records = &records[len..];
        }
        match part.next {
            Some(next) => keys = Interval::new(next, keys.high),
            None => return found,
        }
        between(machine);
    }
}

#[test]
fn a_scan_reads_what_there_is_once_however_small_its_parts() {
    // One slice of twenty parts of a few pages each, without garbage.
    let options = Options { segment_bytes: 64 << 10, log_pages: 64, slices: 1, slice_bytes: 64 << 20, ..tiny() };
    let mut machine = Machine::new(options, 1).unwrap();
    for part in 0..20 {
        put_all(&mut machine, part, |key| key % 20 == part);
    }
    assert_eq!(machine.stats().merges, 0);
    let files = machine.flash().list().unwrap();
    let pages: u64 = files.iter().filter(|(file, _)| matches!(file, FileId::Segment(_))).map(|(_, pages)| pages).sum();
    for bytes in [1, PAGE_BYTES] {
        let before = machine.flash().counters().pages_read;
        assert_eq!(scan(&mut machine, bytes, |_| {}).len() as u64, KEYS);
        let read = machine.flash().counters().pages_read - before;
        assert!(read <= pages, "parts of {bytes} bytes: {read} pages were read, of {pages}");
    }
}

#[test]
fn a_scan_finds_each_key_once_though_seals_and_merges_come_between() {
    for_seeds("scan", 0, 16, |seed| {
        let mut machine = Machine::new(tiny(), seed).unwrap();
        put_all(&mut machine, 1, |_| true);
        let (mut number, mut version) = (seed, 1);
        let found = scan(&mut machine, 500, |machine| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match number >> 60 {
                0..5 => {}
                5..10 => {
                    version += 1;
                    put_all(machine, version, |key| (key ^ number >> 40).is_multiple_of(3));
                }
                _ => {
                    machine.compact_and_wait();
                    machine.settle();
                }
            }
        });
        assert_eq!(found.len() as u64, KEYS);
        for (key, (found, times)) in found {
            assert_eq!(times, 1, "{}", String::from_utf8_lossy(&key));
            assert!((1..=version).any(|version| value(version, 100) == found));
        }
        // At rest it finds the newest.
        let all = scan(&mut machine, 500, |_| {});
        for (key, (found, _)) in all {
            assert_eq!(machine.get_unchecked(&key).unwrap().map(|item| item.value), Some(found.into()));
        }
    });
}
