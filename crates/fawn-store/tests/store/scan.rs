//! Scans in many small parts: each goes on where the last one ended, whatever comes between.

use std::collections::BTreeMap;

use fawn_ring::Interval;
use fawn_sim::store::{Extras, Machine};
use fawn_store::Options;
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::PAGE_BYTES;
use fawn_store::record::Record;

use crate::common::{for_seeds, scan_part, tiny, value};

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

/// A scan of everything.
struct ScanCase {
    bytes: usize,
    keys: Interval,
    /// Value of each key, and how often it was found.
    found: BTreeMap<Vec<u8>, (Vec<u8>, u32)>,
}

impl ScanCase {
    /// One in parts of at least `bytes`.
    fn new(bytes: usize) -> Self {
        Self { bytes, keys: Interval::ALL, found: BTreeMap::new() }
    }

    /// Goes on by a part; whether there is more.
    fn go_on(&mut self, machine: &mut Machine) -> bool {
        let part = scan_part(machine, self.keys, self.bytes);
        let mut records = &part.records[..];
        while !records.is_empty() {
            let (record, len) = Record::decode(records).unwrap();
            let entry = self.found.entry(record.key.to_vec()).or_insert((Vec::new(), 0));
            *entry = (record.value.to_vec(), entry.1 + 1);
            records = &records[len..];
        }
        if let Some(next) = part.next {
            self.keys.low = next;
        }
        part.next.is_some()
    }

    /// Goes to its end: what was found.
    fn finish(mut self, machine: &mut Machine) -> BTreeMap<Vec<u8>, (Vec<u8>, u32)> {
        while self.go_on(machine) {}
        self.found
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
    assert_eq!(machine.stats().maintenance.merges, 0);
    let files = machine.flash().list().unwrap();
    let pages: u64 = files.iter().filter(|(file, _)| matches!(file, FileId::Segment(_))).map(|(_, pages)| pages).sum();
    for bytes in [1, PAGE_BYTES] {
        let before = machine.flash().counters().pages_read;
        assert_eq!(ScanCase::new(bytes).finish(&mut machine).len() as u64, KEYS);
        let read = machine.flash().counters().pages_read - before;
        assert!(read <= pages, "parts of {bytes} bytes: {read} pages were read, of {pages}");
    }
    // Several at a time do not disturb each other.
    let before = machine.flash().counters().pages_read;
    let mut scans: Vec<ScanCase> = [1, 700, PAGE_BYTES].map(ScanCase::new).into();
    let mut found = Vec::new();
    while !scans.is_empty() {
        scans.retain_mut(|scan| {
            let goes_on = scan.go_on(&mut machine);
            if !goes_on {
                found.push(scan.found.len() as u64);
            }
            goes_on
        });
    }
    assert_eq!(found, [KEYS; 3]);
    let read = machine.flash().counters().pages_read - before;
    assert!(read <= 3 * pages, "three at a time: {read} pages were read, of {pages}");
}

#[test]
fn a_scan_finds_each_key_once_though_seals_and_merges_come_between() {
    for_seeds("scan", 0, 16, |seed| {
        let mut machine = Machine::new(tiny(), seed).unwrap();
        put_all(&mut machine, 1, |_| true);
        let (mut number, mut version) = (seed, 1);
        let mut scans = [ScanCase::new(500), ScanCase::new(1500)];
        let mut goes_on = [true; 2];
        while goes_on.contains(&true) {
            for (scan, goes_on) in scans.iter_mut().zip(&mut goes_on) {
                *goes_on = *goes_on && scan.go_on(&mut machine);
            }
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            match number >> 60 {
                0..5 => {}
                5..10 => {
                    version += 1;
                    put_all(&mut machine, version, |key| (key ^ number >> 40).is_multiple_of(3));
                }
                _ => {
                    machine.compact_and_wait();
                    machine.settle();
                }
            }
        }
        for scan in scans {
            assert_eq!(scan.found.len() as u64, KEYS);
            for (key, (found, times)) in scan.found {
                assert_eq!(times, 1, "{}", String::from_utf8_lossy(&key));
                assert!((1..=version).any(|version| value(version, 100) == found));
            }
        }
        // At rest it finds the newest.
        for (key, (found, _)) in ScanCase::new(500).finish(&mut machine) {
            assert_eq!(machine.restart().get(&key).unwrap().map(|item| item.value), Some(found.into()));
        }
    });
}
