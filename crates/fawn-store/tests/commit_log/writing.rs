//! The writer: room, gates, wrapping.

use fawn_check::random::Random;
use fawn_store::flash::{FileId, Flash};
use fawn_store::log::{Entry, LogFull, LogPosition};

use crate::harness::{Logger, record, replay, writer};

#[test]
fn a_log_reads_back_over_many_laps_and_openings() {
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let mut log = Logger::create(random.within(12, 64));
        for step in 0..600 {
            let _ = log.append_random(random);
            if random.chance(1, 3) {
                log.commit().unwrap();
            }
            if random.chance(1, 20) || log.writer.free_pages() < 8 {
                log.commit().unwrap();
                log.seal();
            }
            if random.chance(1, 50) {
                log.commit().unwrap();
                let end = log.writer.position();
                let is_clean = random.chance(1, 2);
                log.expected.clean_end = is_clean.then_some(end.page);
                let found = log.reopen();
                assert_eq!((found.end, found.torn), (end, None), "step {step}");
            }
        }
        assert!(log.writer.position().page > 3 * log.ring_pages, "the ring wraps");
    }
}

#[test]
fn a_batch_never_runs_past_the_end_of_the_file() {
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let ring_pages = random.within(4, 40);
        let mut log = writer(ring_pages, 1, 0, LogPosition::default());
        for _ in 0..200 {
            let len = random.below(ring_pages / 2 * 4096 - 200) as usize;
            let crate::harness::Owned::Record(bytes) = record(1, &vec![1; len]) else { panic!("a record") };
            log.append(1, &Entry::Record(&bytes)).expect("half a ring fits an empty one");
            let mut batches = 0;
            while let Some(batch) = log.take() {
                assert!(batch.first + batch.pages.len() as u64 <= ring_pages);
                log.written(batch.gate, batch.pages);
                batches += 1;
            }
            assert!(batches > 0, "the batch is not empty");
            log.recycle_to(log.position().page);
        }
    }
}

#[test]
fn what_ends_at_the_start_of_an_empty_log_outlives_a_batch_that_is_torn() {
    // Batches of three pages in a ring of eight: each third one goes to the next lap.
    let mut log = Logger::create(8);
    let mut leading = 0;
    for _ in 0..24 {
        log.seal();
        assert!(log.append_record(3 * 4096 - 200));
        let mut batch = log.writer.take().unwrap();
        if batch.pages.len() == 1 {
            leading += 1;
            assert_eq!(batch.gate, log.writer.durable(), "it is nobody's gate");
            log.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages()).unwrap();
            log.writer.written(batch.gate, batch.pages);
            batch = log.writer.take().unwrap();
        }
        // Only its last page is written.
        let flash = log.flash.clone();
        let last = batch.pages.len() - 1;
        flash.write(FileId::CommitLog, batch.first + last as u64, &batch.pages.pages()[last..]).unwrap();
        assert_eq!(replay(&flash, 8, log.expected).unwrap().1, []);
        log.flash.write_durably(FileId::CommitLog, batch.first, batch.pages.pages()).unwrap();
        log.writer.written(batch.gate, batch.pages);
        assert_eq!(replay(&log.flash, 8, log.expected).unwrap().1.len(), 1);
    }
    assert!(leading > 4, "{leading}");
}

#[test]
fn appends_go_on_while_a_batch_is_in_flight() {
    let mut log = writer(64, 1, 0, LogPosition::default());
    assert_eq!(log.append(1, &Entry::Flush { watermark: 1 }), Ok(1));
    assert_eq!(log.append(1, &Entry::Flush { watermark: 2 }), Ok(1));
    let first = log.take().unwrap();
    assert_eq!((first.gate, log.durable(), log.gate()), (1, 0, 2));
    assert_eq!(log.append(1, &Entry::Flush { watermark: 3 }), Ok(2));
    log.written(first.gate, first.pages);
    assert_eq!(log.durable(), 1);
    let second = log.take().unwrap();
    assert_eq!((second.gate, second.first), (2, 1));
    log.written(second.gate, second.pages);
    assert_eq!(log.durable(), 2);
    assert!(log.take().is_none());
}

#[test]
fn a_full_ring_refuses_until_it_is_recycled() {
    let mut log = Logger::create(8);
    let mut batches = 0;
    while log.append_record(3000) {
        log.commit().unwrap();
        batches += 1;
    }
    assert_eq!((batches, log.writer.free_pages()), (8, 0));
    assert_eq!(log.writer.append(1, &Entry::Flush { watermark: 0 }), Err(LogFull::Ring));
    assert!(log.writer.take().is_none() && log.writer.take_mark().is_none());
    assert_eq!(log.reopen().batches, 8, "a ring that is full to the last page reads back");
    log.seal();
    assert_eq!(log.writer.free_pages(), 8);
    assert!(log.append_record(3000));
    assert_eq!(log.writer.free_pages(), 7);
}

#[test]
fn a_refused_entry_changes_nothing() {
    let mut log = Logger::create(8);
    assert!(log.append_record(12_000));
    let pending = log.writer.pending_bytes();
    assert!(!log.append_record(12_000), "half the ring is the longest batch");
    assert_eq!(log.writer.pending_bytes(), pending);
    log.commit().unwrap();
    assert_eq!(log.reopen().entries, 1);
}

#[test]
fn the_largest_record_fits_a_batch_and_its_buffer_is_given_back() {
    let mut log = Logger::create(3 * 8300);
    let len = 32 << 20;
    assert!(log.append_record(len));
    assert_eq!(log.writer.append(1, &Entry::Flush { watermark: 0 }), Err(LogFull::Batch));
    log.commit().unwrap();
    assert!(log.append_record(10));
    let small = log.writer.take().unwrap();
    log.flash.write_durably(FileId::CommitLog, small.first, small.pages.pages()).unwrap();
    assert!(small.pages.len() == 1);
    log.writer.written(small.gate, small.pages);
    assert_eq!(log.reopen().entries, 2);
    let crate::harness::Owned::Record(bytes) = record(1, &vec![0; 64 << 20]) else { panic!("a record") };
    assert_eq!(log.writer.append(1, &Entry::Record(&bytes)), Err(LogFull::TooLarge));
}
