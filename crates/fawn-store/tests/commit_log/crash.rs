//! Power cuts.

use fawn_check::random::Random;
use fawn_sim::flash::{Fault, PowerCut};
use fawn_store::flash::{FileId, Flash};
use fawn_store::page::Page;

use crate::harness::{Logger, replay};

const CUTS: [PowerCut; 3] = [PowerCut::Lost, PowerCut::Kept, PowerCut::Torn];

/// Appends, commits and seals at random until the device fails or `steps` are done.
fn run(log: &mut Logger, random: &mut Random, steps: u64) {
    for _ in 0..steps {
        if !log.append_random(random) || random.chance(1, 4) {
            if log.commit().is_err() {
                return;
            }
            if random.chance(1, 12) || log.writer.free_pages() < log.ring_pages / 3 {
                log.seal();
            }
        }
    }
}

#[test]
fn what_is_recovered_is_a_prefix_with_everything_acknowledged() {
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let mut log = Logger::create(random.within(16, 70));
        for _ in 0..8 {
            log.flash.crash_after(random.below(120));
            run(&mut log, random, 400);
            log.power_cut(*random.pick(&CUTS), random.word());
        }
    }
}

#[test]
fn power_may_be_cut_at_every_write_point() {
    let workload = |log: &mut Logger| run(log, &mut Random::new(5), 150);
    let mut whole = Logger::create(40);
    let before = whole.flash.counters().write_points;
    workload(&mut whole);
    let points = whole.flash.counters().write_points - before;
    assert!(points > 60, "the workload has many write points: {points}");
    for point in 0..points {
        for seed in 0..12 {
            let mut log = Logger::create(40);
            log.flash.crash_after(point);
            workload(&mut log);
            log.power_cut(CUTS[seed % 3], seed as u64);
            // Recovery itself is cut too, then all goes on.
            log.flash.crash_after(point % 3);
            let _ = replay(&log.flash, log.ring_pages, log.expected);
            log.power_cut(CUTS[seed % 3], seed as u64);
            run(&mut log, &mut Random::new(seed as u64), 30);
            log.power_cut(PowerCut::Torn, seed as u64);
        }
    }
}

#[test]
fn what_a_killed_process_left_is_durable_once_it_is_read() {
    for operations in 0..60 {
        for seed in 0..10 {
            let mut log = Logger::create(40);
            log.operations_left = operations;
            run(&mut log, &mut Random::new(seed), 400);
            log.operations_left = u64::MAX;
            let read = log.reopen();
            let after = log.power_cut(PowerCut::Lost, seed);
            assert_eq!((after.end, after.entries), (read.end, read.entries));
            run(&mut log, &mut Random::new(seed), 30);
            log.power_cut(PowerCut::Torn, seed);
        }
    }
}

#[test]
fn any_pages_of_the_last_batch_may_be_lost() {
    // The second lap runs over a first one of the same layout, so that what is lost shows older batches.
    let mut log = Logger::create(12);
    for _ in 0..2 {
        for pages in [1usize, 2, 5] {
            assert!(log.append_record(pages * 4096 - 200));
            log.commit().unwrap();
        }
        log.seal();
        assert!(log.append_record(100));
        log.commit().unwrap();
    }
    log.seal();
    let end = log.writer.position().page;
    assert!(log.append_record(4 * 4096 - 200));
    let batch = log.writer.take().unwrap();
    let pages = batch.pages.pages();
    assert_eq!((pages.len(), batch.first), (4, end % 12));
    for kept in 0..1u32 << pages.len() {
        let flash = log.flash.clone();
        for (number, page) in pages.iter().enumerate().filter(|(number, _)| kept >> number & 1 == 1) {
            flash.write(FileId::CommitLog, batch.first + number as u64, std::slice::from_ref(page)).unwrap();
        }
        let (found, entries) = replay(&flash, 12, log.expected).unwrap();
        let is_whole = kept == 0b1111;
        assert_eq!(entries.len(), usize::from(is_whole), "pages {kept:04b}");
        assert_eq!(found.end.page, if is_whole { end + 4 } else { end });
        let is_seen = kept & 1 == 1 && !is_whole;
        assert_eq!(found.torn.map(|torn| (torn.pages, torn.bytes)), is_seen.then_some((4, 4 * 4096)));
    }
}

#[test]
fn equal_batches_of_earlier_laps_never_parse() {
    // Every lap writes the same bytes to the same places; only the chain tells them apart.
    for batches in 0..40 {
        let mut log = Logger::create(16);
        for _ in 0..batches {
            assert!(log.append(1, crate::harness::record(1, &[7; 5000])));
            log.commit().unwrap();
            if log.writer.free_pages() < 4 {
                log.seal();
            }
        }
        let end = log.writer.position();
        assert_eq!(log.reopen().end, end);
    }
}

#[test]
fn batches_of_an_earlier_opening_never_parse() {
    // Openings that all go on from the same place, over what the others left there.
    let mut log = Logger::create(16);
    assert!(log.append_record(10));
    log.commit().unwrap();
    let end = log.writer.position();
    for opening in 0..50 {
        let found = log.power_cut(PowerCut::Torn, opening);
        assert_eq!((found.end, found.entries), (end, 1));
        // A batch of one to three pages that becomes whole but for its first page.
        assert!(log.append_record(3000 * (1 + opening as usize % 3)));
        let batch = log.writer.take().unwrap();
        log.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages()).unwrap();
        log.flash.write_durably(FileId::CommitLog, batch.first, &[Page::zeroed()]).unwrap();
    }
}

#[test]
fn what_a_failed_sync_only_showed_is_durable_after_recovery() {
    let mut seen = 0;
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let mut log = Logger::create(40);
        run(&mut log, random, 20);
        log.commit().unwrap();
        let acknowledged = log.appended.len() as u64;
        assert!(log.append_record(9000));
        log.flash.inject(Fault::Sync { nth: 0 });
        assert!(log.commit().is_err());
        // The process restarts, the machine does not; what was read is served, and built on.
        let first = log.reopen();
        seen += first.entries - acknowledged;
        let second = log.power_cut(PowerCut::Lost, seed);
        assert_eq!((second.entries, second.end), (first.entries, first.end));
    }
    assert!(seen > 10, "the batch that was in flight is often seen: {seen}");
}
